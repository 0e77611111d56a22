/* SPDX-License-Identifier: Apache-2.0 */
#include "store/kubernetes/access/exec_credential.h"
#include "base/core/rfc3339.h"
#include "base/json/document.h"
#include "store/kubernetes/access/access_cert.h"
#include "store/kubernetes/access/access_file.h"

#include <stdlib.h>
#include <string.h>

/* Three files, escaped. */
#define OUTPUT_MAX (8 * (size_t)AB_KUBE_FILE_MAX)

void ab_kube_credential_fini(ab_kube_credential *c)
{
    ab_kube_wipe(c->token);
    ab_kube_wipe(c->cert);
    ab_kube_wipe(c->key);
    *c = (ab_kube_credential){0};
}

static ab_err take(const cJSON *status, const char *name, char **out, ab_error *err)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(status, name);
    if (v == NULL || cJSON_IsNull(v) || ab_doc_is(status, name, ""))
        return AB_ERR_OK;
    if (!cJSON_IsString(v))
        return ab_fail(err, AB_ERR_UNAVAILABLE, "its %s is not a string", name);
    *out = strdup(v->valuestring);
    return *out != NULL ? AB_ERR_OK : ab_fail(err, AB_ERR_NOMEM, "out of memory for %s", name);
}

/* As Kubernetes writes times. */
static bool read_time(const char *text, int64_t *out_us)
{
    int64_t seconds;
    int32_t nanos;
    if (!ab_rfc3339_parse(ab_str_of(text), &seconds, &nanos))
        return false;
    *out_us = seconds * 1000000;
    return true;
}

static ab_err read_until(const cJSON *status, int64_t *out_us, ab_error *err)
{
    char *text = NULL;
    *out_us = INT64_MAX;
    ab_err e = take(status, "expirationTimestamp", &text, err);
    if (e == AB_ERR_OK && text != NULL && !read_time(text, out_us))
        e = ab_fail(err, AB_ERR_UNAVAILABLE, "its expirationTimestamp is not an RFC 3339 time");
    free(text);
    return e;
}

static ab_err read_status(const cJSON *status, ab_kube_credential *out, ab_error *err)
{
    ab_err e = read_until(status, &out->until_us, err);
    if (e == AB_ERR_OK)
        e = take(status, "token", &out->token, err);
    if (e == AB_ERR_OK)
        e = take(status, "clientCertificateData", &out->cert, err);
    if (e == AB_ERR_OK)
        e = take(status, "clientKeyData", &out->key, err);
    if (e != AB_ERR_OK)
        return e;
    if ((out->cert == NULL) != (out->key == NULL))
        return ab_fail(err, AB_ERR_UNAVAILABLE, "it returned a %s without a %s",
                       out->cert == NULL ? "key" : "certificate",
                       out->cert == NULL ? "certificate" : "key");
    if (out->token == NULL && out->cert == NULL)
        return ab_fail(err, AB_ERR_DENIED, "it returned no credentials");
    return AB_ERR_OK;
}

ab_err ab_kube_credential_read(ab_str json, const char *api, ab_kube_credential *out, ab_error *err)
{
    cJSON *doc = NULL;
    ab_kube_credential read = {0};
    ab_err e = ab_doc_parse(json, OUTPUT_MAX, &doc, NULL);
    if (e == AB_ERR_NOMEM)
        return ab_fail(err, e, "out of memory for what it printed");
    if (e != AB_ERR_OK)
        return ab_fail(err, AB_ERR_UNAVAILABLE, "its output is not JSON");
    if (!ab_doc_is(doc, "kind", "ExecCredential") || !ab_doc_is(doc, "apiVersion", api))
        e = ab_fail(err, AB_ERR_UNAVAILABLE, "its output is not an ExecCredential of %s", api);
    else
        e = read_status(cJSON_GetObjectItemCaseSensitive(doc, "status"), &read, err);
    cJSON_Delete(doc);
    if (e == AB_ERR_OK)
        *out = read;
    else
        ab_kube_credential_fini(&read);
    return e;
}
