/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages that OpenSSL would decrypt and that nobody who seals writes: each is a real seal with
 * one thing changed.
 */
#include "base/core/base64.h"
#include "base/crypto/seal_priv.h"
#include "tests/unit/base/crypto/made_cert.h"

#include <openssl/cms.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define AES    "\x60\x86\x48\x01\x65\x03\x04\x01" /* 2.16.840.1.101.3.4.1, a digit follows */
#define KEY    "one recipient by RSA-OAEP or by ECDH with AES-256 key wrap"
#define CIPHER "not encrypted with AES-256-GCM"

static ab_buf sealed_for(const char *type)
{
    static const ab_seal_binding west = {
        {"west", 4}, {"Secret/argocd/repo", 18}, {"7.000000000012", 14}, {"c0ffee", 6}};
    made_cert made = make_cert(&(made_cert_spec){.type = type, .name = "west"});
    ab_seal_recipient *recipient = NULL;
    ab_error err = {0};
    ab_buf text;
    ab_buf der;
    ab_buf_init(&text, 1 << 20);
    ab_buf_init(&der, 1 << 20);
    if (ab_seal_recipient_new(ab_str_of(made.cert), AB_STR_NONE, NULL, "west", &recipient, &err) !=
            AB_ERR_OK ||
        ab_seal(recipient, &west, AB_STR("{}"), &text, &err) != AB_ERR_OK)
        fail_msg("%s: %s", type, err.text);
    assert_true(ab_base64_decode(ab_buf_str(&text), &der));
    ab_seal_recipient_free(recipient);
    made_cert_free(&made);
    ab_buf_fini(&text);
    return der;
}

static void assert_fault(ab_buf *der, const char *words)
{
    const char *fault = ab_seal_form_fault(ab_buf_str(der));
    if (fault == NULL || strstr(fault, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", fault == NULL ? "no fault" : fault, words);
    ab_buf_fini(der);
}

/* Where `what` is in the message, which has it once. */
static char *find(ab_buf *der, const char *what, size_t len)
{
    char *at = memmem(der->ptr, der->len, what, len);
    assert_non_null(at);
    assert_null(memmem(at + 1, der->len - (size_t)(at + 1 - der->ptr), what, len));
    return at;
}

static void assert_fault_with(const char *type, const char *what, size_t len, char last,
                              const char *words)
{
    ab_buf der = sealed_for(type);
    find(&der, what, len)[len - 1] = last;
    assert_fault(&der, words);
}

static void what_was_sealed_has_no_fault(void **state)
{
    (void)state;
    static const char *const types[] = {"RSA-2048", "EC-P-256", "EC-P-521"};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        ab_buf der = sealed_for(types[i]);
        assert_null(ab_seal_form_fault(ab_buf_str(&der)));
        ab_buf_fini(&der);
    }
}

static void another_key_wrap_is_refused(void **state)
{
    (void)state;
    assert_fault_with("EC-P-256", AES "\x2d", 9, 0x30, KEY); /* with padding */
    assert_fault_with("EC-P-256", AES "\x2d", 9, 0x19, KEY); /* of AES-192 */
    /* None at all. */
    ab_buf der = sealed_for("EC-P-256");
    *find(&der, "\x30\x0b\x06\x09" AES "\x2d", 13) = 0x31;
    assert_fault(&der, KEY);
}

static void another_cipher_is_refused(void **state)
{
    (void)state;
    assert_fault_with("EC-P-256", AES "\x2e", 9, 0x2b, CIPHER); /* OFB: nothing compares the tag */
    assert_fault_with("RSA-2048", AES "\x2e", 9, 0x06, CIPHER); /* GCM of AES-128 */
    assert_fault_with("RSA-2048", AES "\x2e", 9, 0x2f, CIPHER); /* CCM */
}

static void another_nonce_or_size_of_tag_is_refused(void **state)
{
    (void)state;
    ab_buf der = sealed_for("EC-P-256");
    char *parameters = find(&der, "\x30\x11\x04\x0c", 4);
    parameters[3] = 11;
    memmove(parameters + 15, parameters + 16, 3); /* the size of the tag */
    assert_fault(&der, CIPHER);
    assert_fault_with("EC-P-256", "\x30\x11\x04", 3, 0x24, CIPHER);
    assert_fault_with("EC-P-256", "\x02\x01\x10\x80", 3, 0x04, CIPHER);
}

/* The element whose identifier is here gets a byte more. */
static void lengthen(ab_buf *der, size_t at)
{
    size_t last = at + 1;
    if ((der->ptr[last] & 0x80) != 0)
        last += der->ptr[last] & 0x7f;
    assert_int_not_equal((unsigned char)der->ptr[last], 0x7f);
    assert_int_not_equal((unsigned char)der->ptr[last], 0xff);
    der->ptr[last]++;
}

/* ContentInfo, its [0] and the AuthEnvelopedData, whose lengths have two bytes. */
static void lengthen_message(ab_buf *der)
{
    static const size_t at[] = {0, 17, 21};
    for (size_t i = 0; i < 3; i++) {
        assert_memory_equal(der->ptr + at[i] + 1, "\x82", 1);
        lengthen(der, at[i]);
    }
}

/* 16 is its first byte, and not its value. */
static void a_size_of_tag_of_two_bytes_is_refused(void **state)
{
    (void)state;
    static const char data[] = "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01"; /* pkcs7-data */
    ab_buf der = sealed_for("RSA-2048");
    size_t content = (size_t)(find(&der, data, 11) - der.ptr);
    size_t size = (size_t)(find(&der, "\x02\x01\x10", 3) - der.ptr);
    ab_buf_putc(&der, '\0');
    memmove(der.ptr + size + 3, der.ptr + size + 2, der.len - size - 3);
    der.ptr[size + 1] = 2;
    der.ptr[size + 2] = 0x10;
    der.ptr[size + 3] = 0;
    lengthen_message(&der);
    assert_memory_equal(der.ptr + content - 3, "\x30\x81", 2);
    lengthen(&der, content - 3);  /* EncryptedContentInfo */
    lengthen(&der, content + 11); /* its algorithm */
    lengthen(&der, content + 24); /* the parameters */
    assert_fault(&der, CIPHER);
}

static void another_padding_of_rsa_is_refused(void **state)
{
    (void)state;
    assert_fault_with("RSA-2048", "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x07", 9, 0x01, KEY);
    /* The mask generation function becomes a source of the label. */
    ab_buf der = sealed_for("RSA-2048");
    *find(&der, "\xa1\x1a\x30\x18", 4) = (char)0xa2;
    assert_fault(&der, KEY);
}

static void a_tag_in_pieces_is_refused(void **state)
{
    (void)state;
    ab_buf der = sealed_for("EC-P-256");
    assert_memory_equal(der.ptr + der.len - 18, "\x04\x10", 2);
    der.ptr[der.len - 18] = 0x24;
    assert_fault(&der, "tag of the sealed payload is truncated");
}

static void address(CMS_ContentInfo *cms, const char *type, const char *name)
{
    bool rsa = type[0] == 'R';
    made_cert made = make_cert(&(made_cert_spec){.type = type, .name = name});
    BIO *pem = BIO_new_mem_buf(made.cert, -1);
    X509 *cert = PEM_read_bio_X509(pem, NULL, NULL, NULL);
    CMS_RecipientInfo *to = CMS_add1_recipient_cert(cms, cert, rsa ? CMS_KEY_PARAM : 0);
    assert_non_null(to);
    if (rsa)
        assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(CMS_RecipientInfo_get0_pkey_ctx(to),
                                                      RSA_PKCS1_OAEP_PADDING),
                         1);
    X509_free(cert);
    BIO_free(pem);
    made_cert_free(&made);
}

static CMS_ContentInfo *addressed_to(const char *type, const char *first, const char *second)
{
    CMS_ContentInfo *cms = CMS_AuthEnvelopedData_create_ex(EVP_aes_256_gcm(), NULL, NULL);
    address(cms, type, first);
    if (second != NULL)
        address(cms, type, second);
    BIO *content = BIO_new_mem_buf("{}", 2);
    assert_int_equal(CMS_final(cms, content, NULL, CMS_BINARY), 1);
    BIO_free(content);
    return cms;
}

static ab_buf der_of(CMS_ContentInfo *cms)
{
    unsigned char *bytes = NULL;
    int len = i2d_CMS_ContentInfo(cms, &bytes);
    assert_true(len > 0);
    ab_buf der;
    ab_buf_init(&der, 1 << 20);
    ab_buf_put(&der, (ab_str){(const char *)bytes, (size_t)len});
    OPENSSL_free(bytes);
    CMS_ContentInfo_free(cms);
    return der;
}

static void a_second_recipient_is_refused(void **state)
{
    (void)state;
    static const char *const types[] = {"EC-P-256", "RSA-2048"};
    for (size_t i = 0; i < 2; i++) {
        ab_buf one = der_of(addressed_to(types[i], "west", NULL));
        assert_null(ab_seal_form_fault(ab_buf_str(&one)));
        ab_buf_fini(&one);
        ab_buf two = der_of(addressed_to(types[i], "west", "east"));
        assert_fault(&two, KEY);
    }
}

static void attributes_are_refused(void **state)
{
    (void)state;
    ab_buf der = sealed_for("RSA-2048");
    lengthen_message(&der);
    lengthen_message(&der);
    ab_buf_put(&der, (ab_str){"\xa2\x00", 2});
    assert_fault(&der, "has attributes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_sealed_has_no_fault),
        cmocka_unit_test(another_key_wrap_is_refused),
        cmocka_unit_test(another_cipher_is_refused),
        cmocka_unit_test(another_nonce_or_size_of_tag_is_refused),
        cmocka_unit_test(a_size_of_tag_of_two_bytes_is_refused),
        cmocka_unit_test(another_padding_of_rsa_is_refused),
        cmocka_unit_test(a_tag_in_pieces_is_refused),
        cmocka_unit_test(a_second_recipient_is_refused),
        cmocka_unit_test(attributes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
