/* SPDX-License-Identifier: Apache-2.0 */
#include "live/gopeer/wire/side.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_bytes(const ab_buf *out, const char *bytes, size_t len)
{
    assert_int_equal(out->len, len);
    assert_memory_equal(out->ptr, bytes, len);
}

static void messages_are_written_as_go_writes_them(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 4096);
    ab_gopeer_side_message m = {.uuid = AB_STR("u"), .data = AB_STR("x\n"), .eof = true};
    ab_gopeer_wire_put_side(AB_SIDE_LOGS, &m, &out);
    assert_bytes(&out, "\x0a\1u\x12\2x\n\x18\1", 9);
    ab_buf_clear(&out);
    m = (ab_gopeer_side_message){
        .uuid = AB_STR("u"), .stream = AB_STR("stdin"), .resize = true, .rows = 24, .cols = 80};
    ab_gopeer_wire_put_side(AB_SIDE_TERMINAL, &m, &out);
    assert_bytes(&out, "\x0a\1u\x1a\5stdin\x20\1\x28\x18\x30\x50", 16);
    ab_buf_clear(&out);
    ab_gopeer_wire_put_logs_end(AB_STR("u"), &out);
    assert_bytes(&out, "\x0a\1u\x10\xc8\1", 6);
    ab_buf_fini(&out);
}

static void messages_are_read_by_kind(void **state)
{
    (void)state;
    ab_pb_arena arena;
    ab_gopeer_side_message m;
    ab_str bytes = {"\x0a\1u\x22\4oops", 9};
    ab_err e = ab_gopeer_wire_read_side(AB_SIDE_LOGS, bytes, &arena, &m);
    assert_int_equal(e, AB_ERR_OK);
    assert_true(ab_str_is(m.uuid, "u") && ab_str_is(m.error, "oops") && !m.eof);
    assert_non_null(m.data.ptr);
    ab_pb_arena_fini(&arena);
    bytes = (ab_str){"\x0a\1u\x12\1y\x38\1", 8};
    e = ab_gopeer_wire_read_side(AB_SIDE_TERMINAL, bytes, &arena, &m);
    assert_int_equal(e, AB_ERR_OK);
    assert_true(ab_str_is(m.data, "y") && m.eof && !m.resize);
    ab_pb_arena_fini(&arena);
    bytes = (ab_str){"\x0a\1u\x20\1\x28\x18\x30\x50", 9};
    e = ab_gopeer_wire_read_side(AB_SIDE_TERMINAL, bytes, &arena, &m);
    assert_int_equal(e, AB_ERR_OK);
    assert_true(m.resize && m.rows == 24 && m.cols == 80);
    ab_pb_arena_fini(&arena);
    e = ab_gopeer_wire_read_side(AB_SIDE_LOGS, (ab_str){"\x0a\5u", 3}, &arena, &m);
    assert_int_equal(e, AB_ERR_PARSE);
    ab_pb_arena_fini(&arena);
}

static void a_message_that_is_too_long_is_not_read(void **state)
{
    (void)state;
    ab_pb_arena arena;
    ab_gopeer_side_message m;
    ab_buf long_one;
    ab_buf_init(&long_one, 2u * AB_GOPEER_SIDE_MAX);
    m = (ab_gopeer_side_message){.uuid = AB_STR("u")};
    assert_true(ab_buf_extend(&long_one, AB_GOPEER_SIDE_MAX + 1) != NULL);
    ab_err e = ab_gopeer_wire_read_side(AB_SIDE_LOGS, ab_buf_str(&long_one), &arena, &m);
    assert_int_equal(e, AB_ERR_TOOBIG);
    ab_pb_arena_fini(&arena);
    ab_buf_fini(&long_one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_written_as_go_writes_them),
        cmocka_unit_test(messages_are_read_by_kind),
        cmocka_unit_test(a_message_that_is_too_long_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
