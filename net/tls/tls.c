/* SPDX-License-Identifier: Apache-2.0 */
#include "net/tls/tls.h"

#include "base/crypto/certificate.h"
#include "base/crypto/pem.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

/* From the socket at once: some records. */
#define READ_AHEAD (64u * 1024)
/* Of a peer's subject, in an error. */
#define SUBJECT_MAX 200

enum { CA, CERT, KEY };

static const unsigned char h2[] = {2, 'h', '2'};
static const unsigned char http1[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

/* Settings of the library that hold for every connection; what depends on the settings of the user
 * follows. */
static void set_constants(SSL_CTX *ctx)
{
    SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(ctx, 0);
    /* Idle connections hold no buffers; what is written may lie elsewhere when it is tried again.
     */
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
    SSL_CTX_set_read_ahead(ctx, 1);
    SSL_CTX_set_default_read_buffer_len(ctx, READ_AHEAD);
}

static bool select_name(const unsigned char *name, const unsigned char **out,
                        unsigned char *out_len, const unsigned char *in, unsigned in_len)
{
    unsigned len = name[0] + 1U;
    for (unsigned at = 0; at < in_len; at += in[at] + 1U) {
        if (in_len - at >= len && memcmp(in + at, name, len) == 0) {
            *out = in + at + 1;
            *out_len = name[0];
            return true;
        }
    }
    return false;
}

static int select_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned in_len, void *arg)
{
    (void)ssl;
    const ab_tls_context *s = arg;
    if ((!s->http1 && select_name(h2, out, out_len, in, in_len)) ||
        ((s->websocket || s->http1) && select_name(http1, out, out_len, in, in_len)))
        return SSL_TLSEXT_ERR_OK;
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* A key with a passphrase is not asked about on a terminal. */
static int no_passphrase(char *buf, int size, int rwflag, void *arg)
{
    (void)buf;
    (void)size;
    (void)rwflag;
    (void)arg;
    return 0;
}

static ab_err fail_openssl(ab_error *err, const char *what, const char *file)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = code == 0 ? NULL : ERR_reason_error_string(code);
    ab_fail(err, AB_ERR_CONFIG, "%s %s: %s", what, file == NULL ? "" : file,
            reason == NULL ? "rejected by OpenSSL" : reason);
    ERR_clear_error();
    return AB_ERR_CONFIG;
}

/* A key of the certificate's kind is compared with it when it is read. One of another kind is kept
 * beside it, and is only found to have no certificate. */
static bool is_mismatch(unsigned long code)
{
    int reason = ERR_GET_REASON(code);
    return (ERR_GET_LIB(code) == ERR_LIB_X509 && reason == X509_R_KEY_VALUES_MISMATCH) ||
           (ERR_GET_LIB(code) == ERR_LIB_SSL && reason == SSL_R_NO_CERTIFICATE_ASSIGNED);
}

static ab_err fail_key(ab_error *err, const char *key, const char *cert)
{
    if (!is_mismatch(ERR_peek_last_error()))
        return fail_openssl(err, "private key", key);
    ERR_clear_error();
    return ab_fail(err, AB_ERR_CONFIG,
                   "the private key in %s does not belong to the certificate in %s: use the key "
                   "that the certificate was issued for, or renew the certificate (again, if a "
                   "renewal was killed)",
                   key, cert);
}

static ab_err load_trust(const ab_tls_context *s, SSL_CTX *ctx, ab_error *err)
{
    const char *ca = s->files[CA];
    if (ca != NULL && SSL_CTX_load_verify_locations(ctx, ca, NULL) != 1)
        return fail_openssl(err, "trusted certificates", ca);
    if (ca == NULL && !s->server && SSL_CTX_set_default_verify_paths(ctx) != 1)
        return fail_openssl(err, "trusted certificates of the system", NULL);
    if (!s->server || s->client_cert == AB_TLS_CLIENT_CERT_NONE)
        return AB_ERR_OK;
    if (ca == NULL)
        return ab_fail(err, AB_ERR_CONFIG, "cannot verify client certificates without a CA");
    /* Clients pick their certificate by these names. */
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(ca);
    if (names == NULL)
        return fail_openssl(err, "trusted certificates", ca);
    SSL_CTX_set_client_CA_list(ctx, names);
    return AB_ERR_OK;
}

static ab_err load_own(const ab_tls_context *s, SSL_CTX *ctx, ab_error *err)
{
    const char *cert = s->files[CERT];
    const char *key = s->files[KEY];
    if (cert == NULL && key == NULL && !s->server)
        return AB_ERR_OK;
    if (cert == NULL || key == NULL)
        return ab_fail(err, AB_ERR_CONFIG, "a certificate and its key are needed");
    if (SSL_CTX_use_certificate_chain_file(ctx, cert) != 1)
        return fail_openssl(err, "certificate", cert);
    if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(ctx) != 1)
        return fail_key(err, key, cert);
    return AB_ERR_OK;
}

static ab_err set_strength(const ab_tls_context *s, SSL_CTX *ctx, ab_error *err)
{
    bool old = s->min_version != NULL && strcmp(s->min_version, "1.2") == 0;
    if (!old && s->min_version != NULL && strcmp(s->min_version, "1.3") != 0)
        return ab_fail(err, AB_ERR_CONFIG, "TLS version \"%s\": only 1.2 and 1.3 are supported",
                       s->min_version);
    if (SSL_CTX_set_min_proto_version(ctx, old ? TLS1_2_VERSION : TLS1_3_VERSION) != 1)
        return fail_openssl(err, "TLS version", s->min_version);
    if (s->ciphers == NULL)
        return AB_ERR_OK;
    /* The suites of 1.3 have names of their own, and a list apart. */
    bool is_13 = strncmp(s->ciphers, "TLS_", 4) == 0;
    if (!is_13 && !old)
        return ab_fail(err, AB_ERR_CONFIG,
                       "ciphers %s: only TLS 1.3 is enabled, whose ciphers begin with TLS_",
                       s->ciphers);
    if ((is_13 ? SSL_CTX_set_ciphersuites(ctx, s->ciphers)
               : SSL_CTX_set_cipher_list(ctx, s->ciphers)) != 1)
        return fail_openssl(err, "ciphers", s->ciphers);
    return AB_ERR_OK;
}

static void set_verify(const ab_tls_context *s, SSL_CTX *ctx)
{
    int mode = SSL_VERIFY_PEER;
    if (s->server && s->client_cert == AB_TLS_CLIENT_CERT_NONE)
        mode = SSL_VERIFY_NONE;
    if (s->server && s->client_cert == AB_TLS_CLIENT_CERT_REQUIRE)
        mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    SSL_CTX_set_verify(ctx, mode, NULL);
}

static ab_err set_alpn(ab_tls_context *s, SSL_CTX *ctx)
{
    int rc = 0;
    if (s->server)
        SSL_CTX_set_alpn_select_cb(ctx, select_protocol, s);
    else if (s->websocket)
        rc = SSL_CTX_set_alpn_protos(ctx, http1, sizeof(http1));
    else if (!s->unnamed)
        rc = SSL_CTX_set_alpn_protos(ctx, h2, sizeof(h2));
    return rc == 0 ? AB_ERR_OK : AB_ERR_NOMEM;
}

static ab_err set_up(ab_tls_context *s, SSL_CTX *ctx, ab_error *err)
{
    set_constants(ctx);
    SSL_CTX_set_default_passwd_cb(ctx, no_passphrase);
    set_verify(s, ctx);
    ab_err e = set_alpn(s, ctx);
    if (e == AB_ERR_OK)
        e = set_strength(s, ctx, err);
    if (e == AB_ERR_OK)
        e = load_trust(s, ctx, err);
    if (e == AB_ERR_OK)
        e = load_own(s, ctx, err);
    return e;
}

bool ab_tls_context_is_stale(ab_tls_context *s)
{
    return ab_file_stamps_changed(&s->seen);
}

ab_err ab_tls_context_reload(ab_tls_context *s, ab_error *err)
{
    if (s->insecure)
        return AB_ERR_OK;
    SSL_CTX *ctx = SSL_CTX_new(s->server ? TLS_server_method() : TLS_client_method());
    if (ctx == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for TLS");
    ab_err e = set_up(s, ctx, err);
    if (e != AB_ERR_OK) {
        SSL_CTX_free(ctx);
        return e;
    }
    SSL_CTX_free(s->ctx);
    s->ctx = ctx;
    s->reloads++;
    return AB_ERR_OK;
}

/* As the handshake has done it, with other authorities. */
bool ab_tls_context_trusts(const ab_tls_context *s, SSL *ssl)
{
    X509 *cert = ssl == NULL ? NULL : SSL_get0_peer_certificate(ssl);
    if (cert == NULL || s->ctx == NULL)
        return true;
    X509_STORE_CTX *v = X509_STORE_CTX_new();
    bool is = v != NULL &&
              X509_STORE_CTX_init(v, SSL_CTX_get_cert_store(s->ctx), cert,
                                  SSL_get_peer_cert_chain(ssl)) == 1 &&
              X509_STORE_CTX_set_default(v, s->server ? "ssl_client" : "ssl_server") == 1 &&
              X509_VERIFY_PARAM_set1(X509_STORE_CTX_get0_param(v), SSL_get0_param(ssl)) == 1 &&
              X509_verify_cert(v) == 1;
    X509_STORE_CTX_free(v);
    ERR_clear_error();
    return is;
}

static bool copy_text(const char *text, char **out)
{
    *out = text == NULL ? NULL : strdup(text);
    return text == NULL || *out != NULL;
}

ab_err ab_tls_context_init(ab_tls_context *s, const ab_tls *tls, bool server, const char *host,
                           ab_error *err)
{
    *s = (ab_tls_context){.server = server,
                          .insecure = tls->insecure,
                          .websocket = tls->websocket,
                          .http1 = tls->http1,
                          .unnamed = tls->unnamed,
                          .client_cert = tls->client_cert};
    const char *name = tls->server_name == NULL ? host : tls->server_name;
    if (!copy_text(tls->ca, &s->files[CA]) || !copy_text(tls->cert, &s->files[CERT]) ||
        !copy_text(tls->key, &s->files[KEY]) || !copy_text(tls->min_version, &s->min_version) ||
        !copy_text(tls->ciphers, &s->ciphers) || !copy_text(name, &s->server_name))
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for TLS");
    for (size_t i = 0; i < AB_TLS_FILES && !s->insecure; i++)
        ab_file_stamps_add(&s->seen, s->files[i]);
    return ab_tls_context_reload(s, err);
}

/* ---- texts instead of files ---- */

static ab_err trust_text(SSL_CTX *ctx, ab_str ca, ab_error *err)
{
    STACK_OF(X509) *certs = NULL;
    if (ca.ptr == NULL)
        return SSL_CTX_set_default_verify_paths(ctx) == 1
                   ? AB_ERR_OK
                   : fail_openssl(err, "trusted certificates of the system", NULL);
    ab_err e = ab_pem_certs(ca, &certs);
    if (e != AB_ERR_OK)
        return ab_fail(err, e == AB_ERR_NOMEM ? e : AB_ERR_CONFIG,
                       "the CA is not a PEM file of certificates");
    bool ok = true;
    for (int i = 0; i < sk_X509_num(certs); i++)
        ok = ok && X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), sk_X509_value(certs, i)) == 1;
    sk_X509_pop_free(certs, X509_free);
    return ok ? AB_ERR_OK : fail_openssl(err, "trusted certificates", NULL);
}

static bool use_chain(SSL_CTX *ctx, STACK_OF(X509) * certs)
{
    bool ok = SSL_CTX_use_certificate(ctx, sk_X509_value(certs, 0)) == 1;
    for (int i = 1; i < sk_X509_num(certs); i++)
        ok = ok && SSL_CTX_add1_chain_cert(ctx, sk_X509_value(certs, i)) == 1;
    return ok;
}

static ab_err use_texts(SSL_CTX *ctx, ab_str cert, ab_str key, ab_error *err)
{
    STACK_OF(X509) *certs = NULL;
    EVP_PKEY *pkey = NULL;
    if (cert.ptr == NULL && key.ptr == NULL)
        return AB_ERR_OK;
    ab_err e = ab_pem_certs(cert, &certs);
    if (e == AB_ERR_OK)
        e = ab_pem_key(key, &pkey);
    bool ok = e == AB_ERR_OK && use_chain(ctx, certs) && SSL_CTX_use_PrivateKey(ctx, pkey) == 1 &&
              SSL_CTX_check_private_key(ctx) == 1;
    EVP_PKEY_free(pkey);
    sk_X509_pop_free(certs, X509_free);
    if (e == AB_ERR_NOMEM)
        return ab_fail(err, e, "out of memory for TLS");
    return ok ? AB_ERR_OK : fail_openssl(err, "client certificate and its key", NULL);
}

ab_err ab_tls_context_init_texts(ab_tls_context *s, const ab_tls_texts *texts, ab_error *err)
{
    *s = (ab_tls_context){.websocket = true, .server_name = strdup(texts->server_name)};
    s->min_version = strdup("1.2");
    s->ctx = SSL_CTX_new(TLS_client_method());
    if (s->ctx == NULL || s->min_version == NULL || s->server_name == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for TLS");
    set_constants(s->ctx);
    set_verify(s, s->ctx);
    ab_err e = set_alpn(s, s->ctx);
    if (e == AB_ERR_OK)
        e = set_strength(s, s->ctx, err);
    if (e == AB_ERR_OK)
        e = trust_text(s->ctx, texts->ca, err);
    return e == AB_ERR_OK ? use_texts(s->ctx, texts->cert, texts->key, err) : e;
}

ab_err ab_tls_check(const ab_tls *tls, bool server, ab_error *err)
{
    ab_tls_context s;
    ab_err e = ab_tls_context_init(&s, tls, server, "", err);
    ab_tls_context_fini(&s);
    return e;
}

void ab_tls_context_fini(ab_tls_context *s)
{
    for (size_t i = 0; i < AB_TLS_FILES; i++)
        free(s->files[i]);
    free(s->min_version);
    free(s->ciphers);
    free(s->server_name);
    SSL_CTX_free(s->ctx);
    *s = (ab_tls_context){0};
}

/* An address has no name to be sent, and is looked for in the certificate as an address. */
static bool expect_server(const ab_tls_context *s, SSL *ssl)
{
    unsigned char address[sizeof(struct in6_addr)];
    if (inet_pton(AF_INET, s->server_name, address) == 1 ||
        inet_pton(AF_INET6, s->server_name, address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), s->server_name) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set_tlsext_host_name(ssl, s->server_name) == 1 &&
           SSL_set1_host(ssl, s->server_name) == 1;
}

SSL *ab_tls_context_open(const ab_tls_context *s, int fd)
{
    SSL *ssl = SSL_new(s->ctx);
    if (ssl == NULL)
        return NULL;
    if (SSL_set_fd(ssl, fd) != 1 || (!s->server && !expect_server(s, ssl))) {
        SSL_free(ssl);
        return NULL;
    }
    if (s->server)
        SSL_set_accept_state(ssl);
    else
        SSL_set_connect_state(ssl);
    return ssl;
}

/* The alerts of RFC 8446 by which a peer says that it takes no certificate like ours. */
static bool is_about_our_certificate(unsigned long code)
{
    int alert = ERR_GET_REASON(code) - SSL_AD_REASON_OFFSET;
    return ERR_GET_LIB(code) == ERR_LIB_SSL &&
           ((alert >= SSL_AD_BAD_CERTIFICATE && alert <= SSL_AD_CERTIFICATE_UNKNOWN) ||
            alert == SSL_AD_UNKNOWN_CA || alert == SSL_AD_CERTIFICATE_REQUIRED);
}

/* What was wrong with the peer's certificate. Its chain is kept though it was refused. */
static void explain_refused(const SSL *ssl, const char *reason, ab_error *err, const char *what)
{
    STACK_OF(X509) *chain = SSL_get0_verified_chain(ssl);
    ab_buf subject = ab_buf_up_to(SUBJECT_MAX);
    if (chain == NULL || sk_X509_num(chain) == 0 ||
        ab_certificate_subject(sk_X509_value(chain, 0), &subject) != AB_ERR_OK)
        ab_fail(err, AB_ERR_UNAVAILABLE, "%s: %s", what, reason);
    else
        ab_fail(err, AB_ERR_UNAVAILABLE, "%s: the certificate of %.*s is refused: %s", what,
                AB_STR_ARG(ab_buf_str(&subject)), reason);
    ab_buf_fini(&subject);
}

void ab_tls_context_explain(const SSL *ssl, ab_error *err, const char *what)
{
    unsigned long code = ERR_peek_error();
    const char *reason = code == 0 ? NULL : ERR_reason_error_string(code);
    long verified = SSL_get_verify_result(ssl);
    if (verified != X509_V_OK)
        explain_refused(ssl, X509_verify_cert_error_string(verified), err, what);
    else
        ab_fail(err, AB_ERR_UNAVAILABLE, "%s: %s%s", what,
                is_about_our_certificate(code) ? "the other side refuses our certificate: " : "",
                reason == NULL ? "connection closed" : reason);
    ERR_clear_error();
}
