/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that the operator gives. What is in the certificates is looked at by openssl itself, in
 * tests/integration/ctl/pki_test.py.
 */
#include "services/ctl/pki/sign.h"

#include "services/ctl/pki/key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

static ab_error err;

static ab_err add(int type, const char *list, int expected)
{
    GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
    assert_non_null(names);
    ab_err e = ab_pki_names_add(names, type, list, &err);
    if (e == AB_ERR_OK)
        assert_int_equal(sk_GENERAL_NAME_num(names), expected);
    GENERAL_NAMES_free(names);
    return e;
}

static void lists_of_names_are_taken_apart(void **state)
{
    (void)state;
    assert_int_equal(add(GEN_DNS, NULL, 0), AB_ERR_OK);
    assert_int_equal(add(GEN_DNS, "a.example.com", 1), AB_ERR_OK);
    assert_int_equal(add(GEN_DNS, "a.example.com,localhost,*.example.com", 3), AB_ERR_OK);
    assert_int_equal(add(GEN_IPADD, "10.0.0.1,fd00::1", 2), AB_ERR_OK);
}

static void a_name_that_is_none_is_quoted(void **state)
{
    (void)state;
    assert_int_equal(add(GEN_DNS, "a,,b", 0), AB_ERR_INVALID);
    assert_string_equal(err.text, "--dns: \"\" is not a DNS name");
    assert_int_equal(add(GEN_DNS, "a, b", 0), AB_ERR_INVALID);
    assert_string_equal(err.text, "--dns: \" b\" is not a DNS name");
    assert_int_equal(add(GEN_DNS, "10.0.0.1:8443", 0), AB_ERR_INVALID);
    assert_int_equal(add(GEN_IPADD, "10.0.0", 0), AB_ERR_INVALID);
    assert_string_equal(err.text, "--ip: \"10.0.0\" is not an IP address");
    assert_int_equal(add(GEN_IPADD, "principal", 0), AB_ERR_INVALID);
}

static void an_address_is_not_taken_for_a_dns_name(void **state)
{
    (void)state;
    assert_int_equal(add(GEN_DNS, "10.0.0.1", 0), AB_ERR_INVALID);
    assert_string_equal(err.text, "--dns: \"10.0.0.1\" is not a DNS name: use --ip for addresses");
}

static void a_common_name_has_1_to_64_characters(void **state)
{
    (void)state;
    X509_NAME *name = NULL;
    char text[66];
    memset(text, 'a', sizeof(text));
    text[65] = '\0';
    assert_int_equal(ab_pki_subject_new("", &name, &err), AB_ERR_INVALID);
    assert_int_equal(ab_pki_subject_new(text, &name, &err), AB_ERR_INVALID);
    assert_int_equal(ab_pki_subject_new("\xff", &name, &err), AB_ERR_INVALID);
    assert_int_equal(ab_pki_subject_new(text + 1, &name, &err), AB_ERR_OK);
    X509_NAME_free(name);
}

static X509 *sign_with(int64_t ca_days, int64_t days)
{
    X509_NAME *subject = NULL;
    ab_pki_signer ca = {0};
    X509 *cert = NULL;
    assert_int_equal(ab_pki_subject_new("w1", &subject, &err), AB_ERR_OK);
    assert_int_equal(ab_pki_key_new("ec", &ca.key, &err), AB_ERR_OK);
    ab_pki_request request = {.subject = subject, .usage = AB_PKI_CLIENT, .days = ca_days};
    assert_int_equal(ab_pki_sign_itself(&request, ca.key, &ca.cert, &err), AB_ERR_OK);
    request.days = days;
    assert_int_equal(ab_pki_sign(&request, ca.key, &ca, &cert, &err), AB_ERR_OK);
    if (days > ca_days)
        assert_int_equal(ASN1_TIME_compare(X509_get0_notAfter(cert), X509_get0_notAfter(ca.cert)),
                         0);
    X509_free(ca.cert);
    EVP_PKEY_free(ca.key);
    X509_NAME_free(subject);
    return cert;
}

static void no_certificate_outlives_that_of_its_ca(void **state)
{
    (void)state;
    X509_free(sign_with(10, 11));
}

static void a_certificate_is_good_where_the_clock_is_behind(void **state)
{
    (void)state;
    time_t behind = time(NULL) - (time_t)4 * 60;
    X509 *cert = sign_with(10, 1);
    assert_int_equal(X509_cmp_time(X509_get0_notBefore(cert), &behind), -1);
    X509_free(cert);
}

static void serials_are_random_and_positive(void **state)
{
    (void)state;
    X509 *a = sign_with(10, 1);
    X509 *b = sign_with(10, 1);
    assert_int_not_equal(ASN1_INTEGER_cmp(X509_get0_serialNumber(a), X509_get0_serialNumber(b)), 0);
    assert_int_equal(ASN1_STRING_type(X509_get0_serialNumber(a)), V_ASN1_INTEGER);
    X509_free(a);
    X509_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_names_are_taken_apart),
        cmocka_unit_test(a_name_that_is_none_is_quoted),
        cmocka_unit_test(an_address_is_not_taken_for_a_dns_name),
        cmocka_unit_test(a_common_name_has_1_to_64_characters),
        cmocka_unit_test(no_certificate_outlives_that_of_its_ca),
        cmocka_unit_test(a_certificate_is_good_where_the_clock_is_behind),
        cmocka_unit_test(serials_are_random_and_positive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
