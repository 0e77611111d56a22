/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of certificates, which may hold more than that.
 */
#include "base/crypto/pem.h"

#include "tests/unit/base/crypto/made_cert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static made_cert one, two;

static int make_certs(void **state)
{
    (void)state;
    one = make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "one"});
    two = make_cert(&(made_cert_spec){.type = "RSA-2048", .name = "two"});
    return 0;
}

static int free_certs(void **state)
{
    (void)state;
    made_cert_free(&one);
    made_cert_free(&two);
    return 0;
}

static void certificates_are_copied_and_nothing_else(void **state)
{
    char text[16384], expected[8192];
    ab_buf out;
    (void)state;
    ab_buf_init(&out, sizeof(text));
    snprintf(text, sizeof(text), "# of one\n%s%s\nfriendlyName: x\n%s%s", one.key, one.cert,
             two.cert, two.key);
    snprintf(expected, sizeof(expected), "%s%s", one.cert, two.cert);
    assert_int_equal(ab_pem_copy_certs(ab_str_of(text), &out), AB_ERR_OK);
    assert_string_equal(out.ptr, expected);
    ab_buf_fini(&out);
}

static void without_a_certificate_there_is_no_copy(void **state)
{
    ab_buf out;
    (void)state;
    ab_buf_init(&out, 8192);
    ab_buf_puts(&out, "before");
    assert_int_equal(ab_pem_copy_certs(ab_str_of(one.key), &out), AB_ERR_PARSE);
    assert_int_equal(ab_pem_copy_certs(AB_STR(""), &out), AB_ERR_PARSE);
    assert_string_equal(out.ptr, "before");
    ab_buf_fini(&out);
}

static void a_copy_that_has_no_room_says_so(void **state)
{
    ab_buf out;
    (void)state;
    ab_buf_init(&out, 16);
    assert_int_equal(ab_pem_copy_certs(ab_str_of(one.cert), &out), AB_ERR_TOOBIG);
    ab_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(certificates_are_copied_and_nothing_else),
        cmocka_unit_test(without_a_certificate_there_is_no_copy),
        cmocka_unit_test(a_copy_that_has_no_room_says_so),
    };
    return cmocka_run_group_tests(tests, make_certs, free_certs);
}
