/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/siphash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Of the paper's reference: the key and the bytes count up from 0. */
static const ab_siphash_key counting = {
    {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}};

static uint64_t of_first(size_t len)
{
    char bytes[64];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)i;
    return ab_siphash(&counting, (ab_str){bytes, len});
}

static void it_is_siphash(void **state)
{
    (void)state;
    assert_true(of_first(0) == UINT64_C(0x726fdb47dd0e0e31));
    assert_true(of_first(1) == UINT64_C(0x74f839c593dc67fd));
    assert_true(of_first(8) == UINT64_C(0x93f5f5799a932462));
    assert_true(of_first(15) == UINT64_C(0xa129ca6149be45e5));
    assert_true(ab_siphash(&counting, AB_STR_NONE) == of_first(0));
}

static void another_key_gives_another_hash(void **state)
{
    (void)state;
    const ab_siphash_key *own = ab_siphash_own_key();
    assert_true(own == ab_siphash_own_key());
    assert_true(ab_siphash(own, AB_STR("a")) == ab_siphash(own, AB_STR("a")));
    assert_true(ab_siphash(own, AB_STR("a")) != ab_siphash(&counting, AB_STR("a")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_siphash),
        cmocka_unit_test(another_key_gives_another_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
