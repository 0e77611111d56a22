/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crypto/certificate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/x509v3.h>

static void add(X509 *cert, const char *type, const char *value, int len)
{
    X509_NAME *name = X509_get_subject_name(cert);
    assert_int_equal(X509_NAME_add_entry_by_txt(name, type, MBSTRING_UTF8,
                                                (const unsigned char *)value, len, -1, 0),
                     1);
}

static void assert_subject(const X509 *cert, const char *wanted)
{
    ab_buf text;
    ab_buf_init(&text, 4096);
    assert_int_equal(ab_certificate_subject(cert, &text), AB_ERR_OK);
    ab_buf_puts(&text, "");
    assert_string_equal(text.ptr, wanted);
    ab_buf_fini(&text);
}

static void the_subject_is_written_with_the_last_name_first(void **state)
{
    (void)state;
    X509 *cert = X509_new();
    add(cert, "C", "DE", -1);
    add(cert, "O", "Example", -1);
    add(cert, "CN", "w1", -1);
    assert_subject(cert, "CN=w1,O=Example,C=DE");
    X509_free(cert);
}

static void a_value_cannot_look_like_another_name(void **state)
{
    (void)state;
    X509 *cert = X509_new();
    add(cert, "CN", "w1", -1);
    add(cert, "O", "x,CN=w2", -1);
    assert_subject(cert, "O=x\\2CCN\\3Dw2,CN=w1");
    X509_free(cert);
    cert = X509_new();
    add(cert, "O", "x+CN=w2;\"<>\\#", -1);
    assert_subject(cert, "O=x\\2BCN\\3Dw2\\3B\\22\\3C\\3E\\5C#");
    X509_free(cert);
}

static void a_nul_byte_does_not_end_a_value(void **state)
{
    (void)state;
    X509 *cert = X509_new();
    add(cert, "CN", "w1\0.evil", 8);
    assert_subject(cert, "CN=w1\\00.evil");
    X509_free(cert);
}

static void types_without_a_name_are_numbers(void **state)
{
    (void)state;
    X509 *cert = X509_new();
    add(cert, "emailAddress", "CN=w2@example.com", -1);
    add(cert, "UID", " u ", -1);
    assert_subject(cert, "UID=\\20u\\20,1.2.840.113549.1.9.1=CN\\3Dw2@example.com");
    X509_free(cert);
}

static void names_of_one_set_are_joined_by_a_plus(void **state)
{
    (void)state;
    X509 *cert = X509_new();
    add(cert, "CN", "w1", -1);
    X509_NAME *name = X509_get_subject_name(cert);
    assert_int_equal(X509_NAME_add_entry_by_txt(name, "OU", MBSTRING_UTF8,
                                                (const unsigned char *)"edge", -1, -1, -1),
                     1);
    add(cert, "C", "DE", -1);
    assert_subject(cert, "C=DE,OU=edge+CN=w1");
    X509_free(cert);
}

static void no_subject_is_an_empty_text(void **state)
{
    (void)state;
    X509 *cert = X509_new();
    ab_buf text;
    ab_buf_init(&text, 16);
    assert_int_equal(ab_certificate_subject(cert, &text), AB_ERR_OK);
    assert_int_equal(text.len, 0);
    ab_buf_fini(&text);
    X509_free(cert);
}

static void a_subject_past_the_bound_is_an_error(void **state)
{
    (void)state;
    X509 *cert = X509_new();
    ab_buf text;
    ab_buf_init(&text, 4);
    add(cert, "CN", "a-name", -1);
    assert_int_equal(ab_certificate_subject(cert, &text), AB_ERR_TOOBIG);
    ab_buf_fini(&text);
    X509_free(cert);
}

static bool count_uri(void *arg, ab_str uri)
{
    int *count = arg;
    ++*count;
    return ab_str_is(uri, "spiffe://b/w2");
}

static void uris_are_offered_until_one_is_taken(void **state)
{
    (void)state;
    X509 *cert = X509_new();
    X509_EXTENSION *names =
        X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name,
                            "DNS:w0,URI:spiffe://a/w1,URI:spiffe://b/w2,URI:spiffe://c/w3");
    assert_int_equal(X509_add_ext(cert, names, -1), 1);
    int count = 0;
    assert_true(ab_certificate_each_uri(cert, count_uri, &count));
    assert_int_equal(count, 2);
    X509_EXTENSION_free(names);
    X509_free(cert);
}

static void a_certificate_without_uris_offers_none(void **state)
{
    (void)state;
    X509 *cert = X509_new();
    int count = 0;
    assert_false(ab_certificate_each_uri(cert, count_uri, &count));
    assert_int_equal(count, 0);
    X509_free(cert);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_subject_is_written_with_the_last_name_first),
        cmocka_unit_test(a_value_cannot_look_like_another_name),
        cmocka_unit_test(a_nul_byte_does_not_end_a_value),
        cmocka_unit_test(types_without_a_name_are_numbers),
        cmocka_unit_test(names_of_one_set_are_joined_by_a_plus),
        cmocka_unit_test(no_subject_is_an_empty_text),
        cmocka_unit_test(a_subject_past_the_bound_is_an_error),
        cmocka_unit_test(uris_are_offered_until_one_is_taken),
        cmocka_unit_test(a_certificate_without_uris_offers_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
