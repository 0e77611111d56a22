/* SPDX-License-Identifier: Apache-2.0 */
#include "services/agent/secrets.h"

#include "services/pem.h"
#include "services/service.h"

#include <stdlib.h>

static ab_err load(const char *certificate, const char *key, ab_agent_secrets *out, ab_error *err)
{
    ab_buf cert_pem, key_pem;
    ab_buf_init(&cert_pem, AB_PEM_MAX);
    ab_buf_init(&key_pem, AB_PEM_MAX);
    ab_err e = ab_pem_read(certificate, &cert_pem, err);
    if (e == AB_ERR_OK)
        e = ab_pem_read(key, &key_pem, err);
    if (e == AB_ERR_OK)
        e = ab_seal_opener_new(ab_buf_str(&cert_pem), ab_buf_str(&key_pem), &out->opener, err);
    ab_buf_wipe(&key_pem);
    if (e == AB_ERR_OK) {
        out->certificate = ab_buf_take(&cert_pem);
        if (out->certificate == NULL)
            e = ab_fail(err, AB_ERR_NOMEM, "out of memory");
    }
    ab_buf_fini(&cert_pem);
    return e;
}

static void warn(ab_log *log, const char *why)
{
    AB_WARN(log, MAIN,
            "credentials of repositories cannot be received: set secrets.certificate and "
            "secrets.key",
            AB_KV("why", why));
}

ab_err ab_agent_secrets_load(const ab_config *config, ab_log *log, ab_agent_secrets *out,
                             ab_error *err)
{
    const char *certificate = ab_config_str(config, "secrets.certificate");
    const char *key = ab_config_str(config, "secrets.key");
    bool own = certificate != NULL || key != NULL;
    ab_error why = {0};
    if (own && (certificate == NULL || key == NULL))
        return ab_fail(err, AB_ERR_CONFIG, "secrets.certificate and secrets.key go together");
    if (!own) {
        certificate = ab_service_tls(config, "cert");
        key = ab_service_tls(config, "key");
    }
    if (certificate == NULL || key == NULL) {
        warn(log, "no certificate");
        return AB_ERR_OK;
    }
    ab_err e = load(certificate, key, out, &why);
    if (e == AB_ERR_OK)
        return AB_ERR_OK;
    ab_agent_secrets_free(out);
    if (own || e == AB_ERR_NOMEM)
        return ab_fail(err, e, "secrets.certificate, secrets.key: %s", why.text);
    warn(log, why.text);
    return AB_ERR_OK;
}

void ab_agent_secrets_free(ab_agent_secrets *s)
{
    ab_seal_opener_free(s->opener);
    free(s->certificate);
    *s = (ab_agent_secrets){0};
}

ab_err ab_agent_secrets_open(void *arg, const ab_seal_binding *binding, ab_str sealed, ab_buf *out,
                             ab_error *err)
{
    return ab_seal_open(arg, binding, sealed, out, err);
}
