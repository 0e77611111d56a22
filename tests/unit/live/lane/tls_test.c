/* SPDX-License-Identifier: Apache-2.0
 *
 * Our end against a plain OpenSSL at the other one, which shows what it likes. The contexts leave
 * everything open that OpenSSL leaves open.
 */
#include "live/lane/tls.h"

#include "base/crypto/pem.h"
#include "tests/unit/base/crypto/made_cert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    made_cert ca, other_ca, own, theirs, strange;
    SSL_CTX *ctx[2]; /* ours, of the other end */
    ab_live_tls *tls;
    SSL *ssl; /* the other end's, with buffers as ours */
    ab_error err;
    size_t plain; /* bytes that came here */
} fixture;

/* @param own  NULL: none to show */
static SSL_CTX *make_context(const fixture *f, const made_cert *own)
{
    STACK_OF(X509) *certs = NULL;
    EVP_PKEY *key = NULL;
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    assert_int_equal(ab_pem_certs(ab_str_of(f->ca.cert), &certs), AB_ERR_OK);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), sk_X509_value(certs, 0));
    sk_X509_pop_free(certs, X509_free);
    if (own == NULL)
        return ctx;
    assert_int_equal(ab_pem_certs(ab_str_of(own->cert), &certs), AB_ERR_OK);
    assert_int_equal(ab_pem_key(ab_str_of(own->key), &key), AB_ERR_OK);
    assert_int_equal(SSL_CTX_use_certificate(ctx, sk_X509_value(certs, 0)), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(ctx, key), 1);
    sk_X509_pop_free(certs, X509_free);
    EVP_PKEY_free(key);
    return ctx;
}

static ab_err on_plain(void *arg, ab_str bytes)
{
    ((fixture *)arg)->plain += bytes.len;
    return AB_ERR_OK;
}

/* What the other end has written comes here. */
static ab_err carry_in(fixture *f)
{
    char *bytes = NULL;
    long len = BIO_get_mem_data(SSL_get_wbio(f->ssl), &bytes);
    ab_err e = ab_live_tls_receive(f->tls, (ab_str){bytes, (size_t)len}, on_plain, f, &f->err);
    (void)BIO_reset(SSL_get_wbio(f->ssl));
    return e;
}

static void carry_out(fixture *f)
{
    ab_buf out;
    ab_buf_init(&out, (size_t)1024 * 1024);
    if (ab_live_tls_take(f->tls, &out))
        assert_int_equal(BIO_write(SSL_get_rbio(f->ssl), out.ptr, (int)out.len), out.len);
    ab_buf_fini(&out);
}

/* The other end sends a word as soon as it may. @return of our end */
static ab_err shake_hands(fixture *f)
{
    char byte = 0;
    bool said = false;
    ab_err e = AB_ERR_OK;
    for (int i = 0; i < 10 && e == AB_ERR_OK; i++) {
        if (SSL_do_handshake(f->ssl) == 1 && !said)
            said = SSL_write(f->ssl, "word", 4) == 4;
        e = carry_in(f);
        carry_out(f);
    }
    assert_true(SSL_read(f->ssl, &byte, 1) <= 0); /* a ticket would be taken */
    return e;
}

/* @param client  our end is the principal. @param shown  NULL: no certificate */
static void begin(fixture *f, bool client, const made_cert *shown, int version)
{
    f->ctx[0] = make_context(f, &f->own);
    f->ctx[1] = make_context(f, shown);
    assert_int_equal(SSL_CTX_set_max_proto_version(f->ctx[1], version), 1);
    assert_int_equal(ab_live_tls_new(f->ctx[0], client, &f->tls), AB_ERR_OK);
    f->ssl = SSL_new(f->ctx[1]);
    SSL_set_bio(f->ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    if (client)
        SSL_set_accept_state(f->ssl);
    else
        SSL_set_connect_state(f->ssl);
}

static void end(fixture *f)
{
    ab_live_tls_free(f->tls);
    SSL_free(f->ssl);
    SSL_CTX_free(f->ctx[0]);
    SSL_CTX_free(f->ctx[1]);
}

static void is_refused(fixture *f, bool client, const made_cert *shown, int version)
{
    begin(f, client, shown, version);
    assert_int_equal(shake_hands(f), AB_ERR_DENIED);
    assert_memory_equal(f->err.text, "TLS handshake failed", 20);
    assert_false(ab_live_tls_is_up(f->tls));
    assert_int_equal(f->plain, 0);
    end(f);
}

/* ----- life ----- */

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    made_cert_spec spec = {.type = "EC-P-256", .name = "ca", .ca = true};
    f->ca = make_cert(&spec);
    f->other_ca = make_cert(&spec);
    spec = (made_cert_spec){.type = "EC-P-256", .name = "w1", .issuer = &f->ca};
    f->own = make_cert(&spec);
    f->theirs = make_cert(&spec);
    spec.issuer = &f->other_ca;
    f->strange = make_cert(&spec);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    made_cert_free(&f->ca);
    made_cert_free(&f->other_ca);
    made_cert_free(&f->own);
    made_cert_free(&f->theirs);
    made_cert_free(&f->strange);
    free(f);
    return 0;
}

/* ----- tests ----- */

static void who_shows_a_certificate_of_the_authority_is_let_in_and_cannot_resume(void **state)
{
    fixture *f = *state;
    for (int client = 0; client < 2; client++) {
        f->plain = 0;
        begin(f, client, &f->theirs, TLS1_3_VERSION);
        assert_int_equal(shake_hands(f), AB_ERR_OK);
        assert_true(ab_live_tls_is_up(f->tls));
        assert_int_equal(f->plain, 4);
        assert_non_null(ab_live_tls_peer(f->tls));
        if (!client)
            assert_int_equal(SSL_SESSION_is_resumable(SSL_get0_session(f->ssl)), 0);
        end(f);
    }
}

static void who_shows_no_certificate_is_refused(void **state)
{
    is_refused(*state, false, NULL, TLS1_3_VERSION);
}

static void who_shows_one_of_another_authority_is_refused(void **state)
{
    fixture *f = *state;
    is_refused(f, false, &f->strange, TLS1_3_VERSION);
    is_refused(f, true, &f->strange, TLS1_3_VERSION);
}

static void who_speaks_tls_1_2_is_refused(void **state)
{
    fixture *f = *state;
    is_refused(f, false, &f->theirs, TLS1_2_VERSION);
    is_refused(f, true, &f->theirs, TLS1_2_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            who_shows_a_certificate_of_the_authority_is_let_in_and_cannot_resume, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(who_shows_no_certificate_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_shows_one_of_another_authority_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(who_speaks_tls_1_2_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
