/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the data of an argocd-agent's event of live access.
 */
#include "live/gopeer/wire.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_str text = size == 0 ? AB_STR("") : (ab_str){(const char *)data, size};
    ab_error err = {0};
    int status = 0;
    ab_buf resource;
    ab_buf_init(&resource, 1024u * 1024);
    ab_err e = ab_gopeer_wire_read_response(text, &status, &resource, &err);
    assert(e != AB_ERR_OK || (status >= 200 && status <= 599));
    ab_buf_clear(&resource);
    ab_gopeer_redis_response said;
    e = ab_gopeer_wire_read_redis(text, &said, &resource, &err);
    assert(e != AB_ERR_OK || said.what <= AB_GOPEER_REDIS_MESSAGE);
    ab_buf_fini(&resource);
    return 0;
}
