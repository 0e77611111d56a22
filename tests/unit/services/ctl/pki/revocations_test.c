/* SPDX-License-Identifier: Apache-2.0
 *
 * What is changed in a list of revoked certificates, and what is left alone.
 */
#include "services/ctl/pki/revocations.h"

#include "base/crypto/revoked.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define A    "AA" REST
#define B    "BB" REST
#define REST "00000000000000000000000000000000000000000000000000000000000000"

static uint8_t a[AB_FINGERPRINT_BYTES] = {0xaa}, b[AB_FINGERPRINT_BYTES] = {0xbb};

static void assert_drops(const char *text, const uint8_t *hash, size_t count, const char *left)
{
    ab_buf out;
    ab_buf_init(&out, 4096);
    assert_int_equal(ab_revocations_drop(ab_str_of(text), hash, &out), count);
    assert_true(ab_str_is(ab_buf_str(&out), left));
    ab_buf_fini(&out);
}

static void an_entry_is_added_behind_all_else(void **state)
{
    (void)state;
    ab_buf text;
    ab_buf_init(&text, 4096);
    ab_revocations_add(&text, a, "CN=w1, revoked today");
    assert_string_equal(text.ptr, "# argobusctl: CN=w1, revoked today\n" A "\n");
    ab_buf_clear(&text);
    ab_buf_puts(&text, "# without a line end");
    ab_revocations_add(&text, b, "x");
    assert_string_equal(text.ptr, "# without a line end\n# argobusctl: x\n" B "\n");
    assert_true(ab_revocations_has(ab_buf_str(&text), b));
    assert_false(ab_revocations_has(ab_buf_str(&text), a));
    ab_buf_fini(&text);
}

static void an_entry_is_found_in_every_form(void **state)
{
    (void)state;
    uint8_t hash[AB_FINGERPRINT_BYTES];
    assert_true(ab_fingerprint_parse(AB_STR("aa" REST), hash));
    assert_memory_equal(hash, a, sizeof(hash));
    assert_true(ab_fingerprint_parse(AB_STR("sha256 Fingerprint=" A), hash));
    assert_false(ab_fingerprint_parse(AB_STR("# " A), hash));
    assert_false(ab_fingerprint_parse(AB_STR("# was=" A), hash));
    assert_false(ab_fingerprint_parse(AB_STR("w1.crt"), hash));
    assert_false(ab_fingerprint_parse(AB_STR(A "\n" B), hash));
    assert_true(ab_revocations_has(AB_STR("  aa" REST "  \r\n"), a));
}

static void an_entry_goes_with_its_note_and_nothing_else(void **state)
{
    (void)state;
    assert_drops("# mine\n" A "\n# argobusctl: x\n" B "\n# end", b, 1, "# mine\n" A "\n# end");
    assert_drops("# mine\n" A "\n# argobusctl: x\n" B "\n", a, 1,
                 "# mine\n# argobusctl: x\n" B "\n");
    assert_drops(A "\n" A "\n" B, a, 2, B);
    assert_drops("# argobusctl: x\n\n" A "\n", a, 1, "# argobusctl: x\n\n");
    assert_drops(A "\n", b, 0, A "\n");
    assert_drops("", b, 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_is_added_behind_all_else),
        cmocka_unit_test(an_entry_is_found_in_every_form),
        cmocka_unit_test(an_entry_goes_with_its_note_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
