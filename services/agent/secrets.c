/* SPDX-License-Identifier: Apache-2.0 */
#include "services/agent/secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PEM_MAX ((size_t)1024 * 1024)

static ab_err read_all(int fd, const char *path, ab_buf *out, ab_error *err)
{
    char piece[4096];
    ssize_t n;
    while ((n = read(fd, piece, sizeof(piece))) > 0)
        ab_buf_put(out, (ab_str){piece, (size_t)n});
    int error = errno;
    explicit_bzero(piece, sizeof(piece));
    if (n < 0)
        return ab_fail_errno(err, AB_ERR_CONFIG, error, "%s", path);
    if (ab_buf_status(out) != AB_ERR_OK)
        return ab_fail(err, AB_ERR_CONFIG, "%s is too long for a certificate or key", path);
    return AB_ERR_OK;
}

static ab_err read_pem(const char *path, ab_buf *out, ab_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return ab_fail_errno(err, AB_ERR_CONFIG, errno, "%s", path);
    ab_err e = read_all(fd, path, out, err);
    close(fd);
    return e;
}

static ab_err load(const char *certificate, const char *key, ab_agent_secrets *out, ab_error *err)
{
    ab_buf cert_pem, key_pem;
    ab_buf_init(&cert_pem, PEM_MAX);
    ab_buf_init(&key_pem, PEM_MAX);
    ab_err e = read_pem(certificate, &cert_pem, err);
    if (e == AB_ERR_OK)
        e = read_pem(key, &key_pem, err);
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
        certificate = ab_config_str(config, "kafka.tls.cert");
        key = ab_config_str(config, "kafka.tls.key");
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
