/* SPDX-License-Identifier: Apache-2.0
 *
 * usage: auth_log_in PRINCIPAL.yaml mtls CERT.pem
 *        auth_log_in PRINCIPAL.yaml userpass AGENT.yaml
 *        auth_log_in PRINCIPAL.yaml header VALUE
 *
 * One login at a principal with this configuration, and one call with its token. Prints the agent's
 * name, or why it is refused. TLS is not part of it: the certificate is taken as verified.
 */
#include "auth/auth.h"
#include "auth/file.h"
#include "base/crypto/pem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    ab_auth *auth;
    ab_auth_peer peer;
    ab_str header;
    bool ok;
} attempt;

static size_t get_header(void *arg, const char *name, ab_str *first)
{
    (void)name;
    *first = ((attempt *)arg)->header;
    return first->ptr == NULL ? 0 : 1;
}

static void on_closed(void *arg)
{
    (void)arg;
}

static void on_done(void *arg, ab_err code, const ab_error *err, const ab_auth_grant *grant)
{
    attempt *a = arg;
    ab_auth_identity identity;
    ab_error why = *err;
    if (code == AB_ERR_OK)
        code = ab_auth_verify(a->auth, &a->peer, grant->access, &identity, &why);
    a->ok = code == AB_ERR_OK;
    puts(a->ok ? identity.agent : why.text);
    ab_auth_close(a->auth, on_closed, NULL);
}

static ab_config *load(const char *path)
{
    const ab_config_sources sources = {.file = path};
    ab_config *config = NULL;
    ab_error err = {0};
    if (ab_config_load(&ab_auth_options, 1, &sources, &config, &err) == AB_ERR_OK)
        return config;
    puts(err.text);
    exit(2);
}

static X509 *read_certificate(const char *path)
{
    ab_buf text;
    STACK_OF(X509) *certs = NULL;
    ab_buf_init(&text, 1 << 20);
    if (ab_file_read(path, &text, NULL, NULL) != AB_ERR_OK ||
        ab_pem_certs(ab_buf_str(&text), &certs) != AB_ERR_OK)
        exit(2);
    X509 *cert = sk_X509_shift(certs);
    sk_X509_pop_free(certs, X509_free);
    ab_buf_fini(&text);
    return cert;
}

static bool log_in(attempt *a, ab_config *config, const char *method, const char *what)
{
    uv_loop_t *loop = uv_default_loop();
    ab_metrics *metrics = ab_metrics_new();
    const ab_auth_env env = {
        .loop = loop, .config = config, .metrics = metrics, .clock = &ab_clock_real};
    ab_error err = {0};
    ab_auth_login login = {.method = ab_str_of(method)};
    ab_config *own = strcmp(method, "userpass") == 0 ? load(what) : NULL;
    if (ab_auth_new(&env, &a->auth, &err) != AB_ERR_OK ||
        (own != NULL && ab_auth_login_open(own, &login, &err) != AB_ERR_OK)) {
        puts(err.text);
        exit(2);
    }
    const ab_auth_request request = {.method = login.method,
                                     .mode = AB_STR("managed"),
                                     .credentials = login.credentials,
                                     .credential_count = login.credential_count};
    if (ab_auth_authenticate(a->auth, &a->peer, &request, on_done, a) == AB_ERR_OK)
        (void)uv_run(loop, UV_RUN_DEFAULT);
    ab_auth_login_fini(&login);
    ab_config_free(own);
    ab_auth_free(a->auth);
    ab_metrics_free(metrics);
    (void)uv_loop_close(loop);
    return a->ok;
}

int main(int argc, char **argv)
{
    attempt a = {0};
    if (argc != 4)
        return 2;
    a.peer = (ab_auth_peer){
        .address = "127.0.0.1", .loopback = true, .metadata = get_header, .metadata_arg = &a};
    if (strcmp(argv[2], "mtls") == 0)
        a.peer.certificate = read_certificate(argv[3]);
    if (strcmp(argv[2], "header") == 0)
        a.header = ab_str_of(argv[3]);
    ab_config *config = load(argv[1]);
    bool ok = log_in(&a, config, argv[2], argv[3]);
    X509_free(a.peer.certificate);
    ab_config_free(config);
    return ok ? 0 : 1;
}
