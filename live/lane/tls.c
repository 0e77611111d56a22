/* SPDX-License-Identifier: Apache-2.0 */
#include "live/lane/tls.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#define RECORD_MAX (16 * 1024)

struct ab_live_tls {
    SSL *ssl;
    BIO *in, *out; /* of ssl */
    bool up;
};

static bool set_up(ab_live_tls *t, SSL_CTX *ctx, bool client)
{
    t->ssl = SSL_new(ctx);
    t->in = BIO_new(BIO_s_mem());
    t->out = BIO_new(BIO_s_mem());
    if (t->ssl == NULL || t->in == NULL || t->out == NULL ||
        SSL_set_min_proto_version(t->ssl, TLS1_3_VERSION) != 1 ||
        SSL_set_purpose(t->ssl, X509_PURPOSE_ANY) != 1 || SSL_set_num_tickets(t->ssl, 0) != 1) {
        BIO_free(t->in);
        BIO_free(t->out);
        return false;
    }
    SSL_set_bio(t->ssl, t->in, t->out);
    SSL_set_verify(t->ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    if (client)
        SSL_set_connect_state(t->ssl);
    else
        SSL_set_accept_state(t->ssl);
    return true;
}

ab_err ab_live_tls_new(SSL_CTX *ctx, bool client, ab_live_tls **out)
{
    ab_live_tls *t = calloc(1, sizeof(*t));
    if (t == NULL || !set_up(t, ctx, client)) {
        ab_live_tls_free(t);
        ERR_clear_error();
        return AB_ERR_NOMEM;
    }
    *out = t;
    return AB_ERR_OK;
}

void ab_live_tls_free(ab_live_tls *t)
{
    if (t == NULL)
        return;
    SSL_free(t->ssl);
    free(t);
}

static ab_err explain(const ab_live_tls *t, ab_error *err)
{
    unsigned long code = ERR_peek_error();
    long verified = SSL_get_verify_result(t->ssl);
    const char *reason = code == 0 ? NULL : ERR_reason_error_string(code);
    if (verified != X509_V_OK)
        reason = X509_verify_cert_error_string(verified);
    ERR_clear_error();
    return ab_fail(err, AB_ERR_DENIED, "TLS handshake failed: %s",
                   reason == NULL ? "it was ended" : reason);
}

/* Nothing was written or read, only for want of bytes. */
static bool waits(const ab_live_tls *t, int rc)
{
    int why = SSL_get_error(t->ssl, rc);
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
}

static ab_err shake_hands(ab_live_tls *t, ab_error *err)
{
    ERR_clear_error();
    int rc = SSL_do_handshake(t->ssl);
    t->up = rc == 1;
    return rc == 1 || waits(t, rc) ? AB_ERR_OK : explain(t, err);
}

static ab_err read_all(ab_live_tls *t, ab_err (*on_plain)(void *arg, ab_str bytes), void *arg,
                       ab_error *err)
{
    char plain[RECORD_MAX];
    ab_err e = AB_ERR_OK;
    while (e == AB_ERR_OK) {
        ERR_clear_error();
        int n = SSL_read(t->ssl, plain, sizeof(plain));
        if (n <= 0)
            return waits(t, n) ? AB_ERR_OK : explain(t, err);
        e = on_plain(arg, (ab_str){plain, (size_t)n});
    }
    return e;
}

ab_err ab_live_tls_receive(ab_live_tls *t, ab_str bytes,
                           ab_err (*on_plain)(void *arg, ab_str bytes), void *arg, ab_error *err)
{
    size_t written = 0;
    if (bytes.len > 0 && BIO_write_ex(t->in, bytes.ptr, bytes.len, &written) != 1)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for TLS");
    ab_err e = t->up ? AB_ERR_OK : shake_hands(t, err);
    return e == AB_ERR_OK && t->up ? read_all(t, on_plain, arg, err) : e;
}

bool ab_live_tls_is_up(const ab_live_tls *t)
{
    return t->up;
}

const X509 *ab_live_tls_peer(const ab_live_tls *t)
{
    return SSL_get0_peer_certificate(t->ssl);
}

bool ab_live_tls_is_trusted(const ab_live_tls *t, const ab_tls_context *tls)
{
    return ab_tls_context_trusts(tls, t->ssl);
}

/* A record at a time: the context may be set so. */
ab_err ab_live_tls_send(ab_live_tls *t, ab_str bytes)
{
    size_t written = 0;
    ERR_clear_error();
    for (size_t done = 0; done < bytes.len; done += written) {
        if (SSL_write_ex(t->ssl, bytes.ptr + done, bytes.len - done, &written) != 1) {
            ERR_clear_error();
            return AB_ERR_DENIED;
        }
    }
    return AB_ERR_OK;
}

bool ab_live_tls_take(ab_live_tls *t, ab_buf *out)
{
    char *bytes = NULL;
    long len = BIO_get_mem_data(t->out, &bytes);
    if (len <= 0)
        return false;
    ab_buf_put(out, (ab_str){bytes, (size_t)len});
    (void)BIO_reset(t->out);
    return true;
}
