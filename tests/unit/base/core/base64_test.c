/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void base64_goes_both_ways(void **state)
{
    (void)state;
    /* RFC 4648 §10, and what needs the last two digits. */
    static const char *const vectors[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xff\xef\xbe", "/+++"},
    };
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        ab_buf b;
        ab_buf_init(&b, 64);
        ab_base64_encode(ab_str_of(vectors[i][0]), &b);
        assert_true(ab_str_is(ab_buf_str(&b), vectors[i][1]));
        ab_buf_clear(&b);
        assert_true(ab_base64_decode(ab_str_of(vectors[i][1]), &b));
        assert_true(ab_str_is(ab_buf_str(&b), vectors[i][0]));
        assert_true(ab_base64_is(ab_str_of(vectors[i][1])));
        ab_buf_fini(&b);
    }
}

static void what_is_no_base64_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"Z",    "Zg",   "Zg=",  "Zg==Zg==", "====",
                                      "=Zg=", "Zh==", "Zm9=", "Zm9v\n",   "Zm9v Zm9",
                                      "Zm-_", "Z===", "Zg=A"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ab_buf b;
        ab_buf_init(&b, 64);
        if (ab_base64_decode(ab_str_of(bad[i]), &b))
            fail_msg("\"%s\" was taken for base64", bad[i]);
        assert_false(ab_base64_is(ab_str_of(bad[i])));
        ab_buf_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base64_goes_both_ways),
        cmocka_unit_test(what_is_no_base64_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
