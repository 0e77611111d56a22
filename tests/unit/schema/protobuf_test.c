/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/protobuf.h"

#include "schema/proto/argocd_agent.pb-c.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static ab_pb_arena arena;

static int close_arena(void **state)
{
    (void)state;
    ab_pb_arena_fini(&arena);
    return 0;
}

static void what_fits_in_costs_no_allocation(void **state)
{
    (void)state;
    ab_pb_arena_init(&arena, 0);
    for (size_t i = 0; i < AB_PB_ARENA_INLINE / 16; i++) {
        char *at = ab_pb_alloc(&arena, 1);
        assert_non_null(at);
        assert_int_equal((uintptr_t)at % _Alignof(max_align_t), 0);
    }
    assert_null(arena.block);
    assert_null(ab_pb_alloc(&arena, 1));
    assert_int_equal(arena.status, AB_ERR_TOOBIG);
}

static void the_rest_takes_one_block(void **state)
{
    (void)state;
    ab_pb_arena_init(&arena, AB_PB_ARENA_INLINE * 2);
    for (size_t i = 0; i < 3; i++)
        assert_non_null(ab_pb_alloc(&arena, AB_PB_ARENA_INLINE));
    assert_non_null(arena.block);
    assert_null(ab_pb_alloc(&arena, 1));
    assert_int_equal(arena.status, AB_ERR_TOOBIG);
}

static void a_large_part_may_be_taken_out(void **state)
{
    (void)state;
    ab_pb_arena_init(&arena, AB_PB_LARGE);
    char *large = ab_pb_alloc(&arena, AB_PB_LARGE);
    const char *small = ab_pb_alloc(&arena, 8);
    assert_non_null(large);
    assert_true(ab_pb_take(&arena, large));
    assert_false(ab_pb_take(&arena, large));
    assert_false(ab_pb_take(&arena, small));
    assert_false(ab_pb_take(&arena, NULL));
    free(large);
}

static void large_parts_are_bounded(void **state)
{
    (void)state;
    ab_pb_arena_init(&arena, AB_PB_LARGE);
    assert_null(ab_pb_alloc(&arena, AB_PB_LARGE + 1));
    assert_int_equal(arena.status, AB_ERR_TOOBIG);
    for (size_t i = 0; i < AB_PB_LARGE_MAX; i++)
        assert_non_null(ab_pb_alloc(&arena, AB_PB_LARGE));
    assert_null(ab_pb_alloc(&arena, AB_PB_LARGE));
    assert_null(ab_pb_alloc(&arena, SIZE_MAX));
    assert_int_equal(arena.status, AB_ERR_TOOBIG);
}

static void a_wiped_arena_holds_nothing_of_a_password(void **state)
{
    (void)state;
    const ProtobufCMessage *m = NULL;
    ab_pb_arena_init(&arena, 0);
    assert_int_equal(ab_pb_unpack(&arena, &argocdagent__credential__descriptor,
                                  AB_STR("\x0a\x08password\x12\x06hunter"), &m),
                     AB_ERR_OK);
    assert_non_null(memmem(arena.first, sizeof(arena.first), "hunter", 6));
    ab_pb_arena_wipe(&arena);
    assert_null(memmem(arena.first, sizeof(arena.first), "hunter", 6));
}

static void a_head_is_the_message_without_its_end(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 64);
    Argocdagent__Credential m = ARGOCDAGENT__CREDENTIAL__INIT;
    m.key = ab_pb_bytes(AB_STR("k"));
    m.value = ab_pb_bytes(AB_STR("vvv"));
    ab_pb_pack(&m.base, &out);
    assert_true(ab_str_eq(ab_buf_str(&out), AB_STR("\x0a\x01k\x12\x03vvv")));
    ab_buf_clear(&out);
    ab_pb_pack_head(&m.base, ab_pb_str(m.value), &out);
    assert_true(ab_str_eq(ab_buf_str(&out), AB_STR("\x0a\x01k\x12\x03")));
    ab_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_fits_in_costs_no_allocation, close_arena),
        cmocka_unit_test_teardown(the_rest_takes_one_block, close_arena),
        cmocka_unit_test_teardown(a_large_part_may_be_taken_out, close_arena),
        cmocka_unit_test_teardown(large_parts_are_bounded, close_arena),
        cmocka_unit_test(a_wiped_arena_holds_nothing_of_a_password),
        cmocka_unit_test(a_head_is_the_message_without_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
