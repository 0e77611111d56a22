/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the body of a refusal, under the HTTP status of its first byte: always an error with
 * a text.
 */
#include "store/kubernetes/status.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int codes[] = {0,   300, 400, 401, 403, 404, 405, 408, 409, 410,
                                412, 413, 415, 418, 422, 429, 500, 503, 504, 999};
    if (size == 0)
        return 0;
    ab_error err = {0};
    ab_kube_why why = AB_KUBE_WHY_OTHER;
    /* Of its own, so that reading past the end is seen. */
    char *body = malloc(size);
    assert(body != NULL);
    memcpy(body, data + 1, size - 1);
    int http = codes[data[0] % (sizeof(codes) / sizeof(codes[0]))];
    ab_err e = ab_kube_status_explain(http, (ab_str){body, size - 1}, "GET a", &why, &err);
    assert(e != AB_ERR_OK && err.code == e);
    assert(strncmp(err.text, "GET a: ", 7) == 0);
    free(body);
    return 0;
}
