/* SPDX-License-Identifier: Apache-2.0 */
#include "services/agent/secrets.h"

#include "base/core/file.h"
#include "base/crypto/pem.h"
#include "services/service.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    char *certificate;
    ab_seal_opener *opener;
} pair;

/* What the principal is told: the file may have the private key in it, too. */
static ab_err copy_certificate(ab_str pem, char **out, ab_error *err)
{
    ab_buf certs = ab_buf_up_to(AB_PEM_MAX);
    ab_err e = ab_pem_copy_certs(pem, &certs);
    *out = e == AB_ERR_OK ? ab_buf_take(&certs) : NULL;
    ab_buf_fini(&certs);
    return *out == NULL ? ab_fail(err, AB_ERR_NOMEM, "out of memory for a certificate") : AB_ERR_OK;
}

/* On failure `out` is as it was. */
static ab_err load(const ab_file_stamps *files, pair *out, ab_error *err)
{
    ab_seal_opener *opener = NULL;
    char *certificate = NULL;
    ab_buf cert_pem = ab_buf_secret_up_to(AB_PEM_MAX);
    ab_buf key_pem = ab_buf_secret_up_to(AB_PEM_MAX);
    ab_err e = ab_file_read_named(files->paths[0], &cert_pem, err);
    if (e == AB_ERR_OK)
        e = ab_file_read_named(files->paths[1], &key_pem, err);
    if (e == AB_ERR_OK)
        e = ab_seal_opener_new(ab_buf_str(&cert_pem), ab_buf_str(&key_pem), &opener, err);
    if (e == AB_ERR_OK)
        e = copy_certificate(ab_buf_str(&cert_pem), &certificate, err);
    if (e == AB_ERR_OK)
        *out = (pair){certificate, opener};
    else
        ab_seal_opener_free(opener);
    ab_buf_wipe(&cert_pem);
    ab_buf_wipe(&key_pem);
    return e;
}

static void warn(ab_log *log, const char *why)
{
    AB_WARN(log, MAIN,
            "cannot receive repository credentials: set secrets.certificate and secrets.key",
            AB_KV("why", why));
}

ab_err ab_agent_secrets_load(const ab_config *config, ab_log *log, ab_agent_secrets *out,
                             ab_error *err)
{
    const char *certificate = ab_config_str(config, "secrets.certificate");
    const char *key = ab_config_str(config, "secrets.key");
    bool own = certificate != NULL || key != NULL;
    ab_error why = {0};
    pair loaded = {0};
    if (own && (certificate == NULL || key == NULL))
        return ab_fail(err, AB_ERR_CONFIG,
                       "secrets.certificate and secrets.key must be set together");
    if (!own) {
        certificate = ab_service_tls(config, "cert");
        key = ab_service_tls(config, "key");
    }
    if (certificate == NULL || key == NULL) {
        warn(log, "no certificate");
        return AB_ERR_OK;
    }
    ab_file_stamps_add(&out->files, certificate);
    ab_file_stamps_add(&out->files, key);
    ab_err e = load(&out->files, &loaded, &why);
    if (e != AB_ERR_OK && (own || e == AB_ERR_NOMEM))
        return ab_fail(err, e, "secrets.certificate, secrets.key: %s", why.text);
    if (e != AB_ERR_OK)
        warn(log, why.text);
    out->certificate = loaded.certificate;
    out->opener = loaded.opener;
    return AB_ERR_OK;
}

ab_err ab_agent_secrets_check(const ab_config *config, ab_error *err)
{
    ab_agent_secrets s = {0};
    if (ab_config_str(config, "secrets.certificate") == NULL &&
        ab_config_str(config, "secrets.key") == NULL)
        return AB_ERR_OK; /* the connection's, which need not do for this */
    ab_err e = ab_agent_secrets_load(config, NULL, &s, err);
    ab_agent_secrets_free(&s);
    return e;
}

bool ab_agent_secrets_renew(ab_agent_secrets *s, ab_log *log)
{
    ab_error why = {0};
    pair loaded = {0};
    if (!ab_file_stamps_changed(&s->files))
        return false;
    if (load(&s->files, &loaded, &why) != AB_ERR_OK) {
        AB_WARN(log, MAIN,
                "cannot load the new certificate for credentials or its key; still using the "
                "previous one",
                AB_KV("why", why.text));
        return false;
    }
    if (s->certificate != NULL && strcmp(s->certificate, loaded.certificate) == 0) {
        ab_seal_opener_free(loaded.opener);
        free(loaded.certificate);
        return false;
    }
    AB_INFO(log, MAIN, "the certificate for credentials changed: telling the principal");
    free(s->certificate);
    s->certificate = loaded.certificate;
    ab_seal_opener_free(s->former);
    s->former = s->opener;
    s->opener = loaded.opener;
    return true;
}

void ab_agent_secrets_free(ab_agent_secrets *s)
{
    ab_seal_opener_free(s->opener);
    ab_seal_opener_free(s->former);
    free(s->certificate);
    *s = (ab_agent_secrets){0};
}

ab_err ab_agent_secrets_open(void *arg, const ab_seal_binding *binding, ab_str sealed, ab_buf *out,
                             ab_error *err)
{
    const ab_agent_secrets *s = arg;
    if (s->opener == NULL)
        return ab_fail(err, AB_ERR_DENIED,
                       "it is sealed, but this agent's certificate or key cannot be used");
    ab_err e = ab_seal_open(s->opener, binding, sealed, out, err);
    if (e == AB_ERR_OK || s->former == NULL)
        return e;
    /* What that says about a former certificate would mislead. */
    return ab_seal_open(s->former, binding, sealed, out, NULL) == AB_ERR_OK ? AB_ERR_OK : e;
}
