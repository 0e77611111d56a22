/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/grpc/rpc/frame_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define MAX 100000

/* What a reader made of some bytes. */
typedef struct {
    ab_buf data; /* of messages, each followed by "|" */
    ab_buf control;
    ab_err e;
    const char *why;
} result;

static void note(result *r, const ab_rpc_frame *frame)
{
    if (frame->bytes.ptr == NULL)
        return;
    if (frame->opcode == AB_RPC_FRAME_BINARY) {
        ab_buf_put(&r->data, frame->bytes);
        if (frame->ends)
            ab_buf_putc(&r->data, '|');
        return;
    }
    ab_buf_printf(&r->control, "%d:", (int)frame->opcode);
    ab_buf_put(&r->control, frame->bytes);
    ab_buf_putc(&r->control, '|');
}

/* In pieces of `step` bytes. */
static void read_in(result *r, bool masked, const void *bytes, size_t len, size_t step)
{
    ab_rpc_frames f;
    ab_rpc_frames_init(&f, masked, MAX);
    *r = (result){.e = AB_ERR_OK};
    ab_buf_init(&r->data, MAX * 2);
    ab_buf_init(&r->control, 1000);
    char *copy = malloc(len + 1);
    memcpy(copy, bytes, len);
    for (size_t at = 0; at < len && r->e == AB_ERR_OK;) {
        size_t taken = 0;
        size_t n = len - at < step ? len - at : step;
        ab_rpc_frame frame;
        r->e = ab_rpc_frames_feed(&f, copy + at, n, &taken, &frame, &r->why);
        at += taken;
        if (r->e == AB_ERR_OK)
            note(r, &frame);
    }
    free(copy);
}

static void result_fini(result *r)
{
    ab_buf_fini(&r->data);
    ab_buf_fini(&r->control);
}

static void expect(bool masked, const void *bytes, size_t len, const char *data,
                   const char *control)
{
    const size_t steps[] = {1, 3, len};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        result r;
        read_in(&r, masked, bytes, len, steps[i]);
        assert_int_equal(r.e, AB_ERR_OK);
        assert_true(ab_str_is(ab_buf_str(&r.data), data));
        assert_true(ab_str_is(ab_buf_str(&r.control), control));
        result_fini(&r);
    }
}

static void expect_failure(bool masked, const void *bytes, size_t len, uint16_t code)
{
    const size_t steps[] = {1, len};
    for (size_t i = 0; i < 2; i++) {
        result r;
        read_in(&r, masked, bytes, len, steps[i]);
        assert_int_not_equal(r.e, AB_ERR_OK);
        assert_int_equal(ab_rpc_frames_close_code(r.e), code);
        assert_non_null(r.why);
        result_fini(&r);
    }
}

#define BYTES(text) text, sizeof(text) - 1

/* ---- the examples of RFC 6455, section 5.7; those of text as binary ---- */

static void an_unmasked_message_in_one_frame_is_read(void **state)
{
    (void)state;
    expect(false, BYTES("\x82\x05Hello"), "Hello|", "");
}

static void a_masked_message_in_one_frame_is_read(void **state)
{
    (void)state;
    expect(true, BYTES("\x82\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), "Hello|", "");
}

static void a_message_in_fragments_is_read(void **state)
{
    (void)state;
    expect(false, BYTES("\x02\x03Hel\x80\x02lo"), "Hello|", "");
}

static void a_ping_and_a_masked_pong_are_read(void **state)
{
    (void)state;
    expect(false, BYTES("\x89\x05Hello"), "", "9:Hello|");
    expect(true, BYTES("\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), "", "10:Hello|");
}

static void expect_long(const char *head, size_t head_len, size_t len)
{
    char *bytes = calloc(1, head_len + len);
    result r;
    memcpy(bytes, head, head_len);
    read_in(&r, false, bytes, head_len + len, 1000);
    assert_int_equal(r.e, AB_ERR_OK);
    assert_int_equal(r.data.len, len + 1);
    result_fini(&r);
    free(bytes);
}

static void lengths_of_two_and_of_eight_bytes_are_read(void **state)
{
    (void)state;
    expect_long(BYTES("\x82\x7e\x01\x00"), 256);
    expect_long(BYTES("\x82\x7f\0\0\0\0\0\1\0\0"), 65536);
}

/* ---- what the examples leave out ---- */

static void control_frames_come_between_fragments(void **state)
{
    (void)state;
    expect(false, BYTES("\x02\x03Hel\x89\x01x\x80\x02lo\x82\x01y"), "Hello|y|", "9:x|");
}

static void messages_and_fragments_may_be_empty(void **state)
{
    (void)state;
    expect(false, BYTES("\x82\x00\x02\x00\x00\x00\x80\x01z"), "|z|", "");
    expect(true, BYTES("\x82\x80\1\2\3\4\x89\x80\1\2\3\4"), "|", "9:|");
}

static void what_must_be_masked_is_and_nothing_else(void **state)
{
    (void)state;
    expect_failure(true, BYTES("\x82\x05Hello"), AB_RPC_CLOSE_PROTOCOL);
    expect_failure(false, BYTES("\x82\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"),
                   AB_RPC_CLOSE_PROTOCOL);
}

static void reserved_bits_and_opcodes_are_refused(void **state)
{
    (void)state;
    expect_failure(false, BYTES("\xc2\x01x"), AB_RPC_CLOSE_PROTOCOL);
    expect_failure(false, BYTES("\x92\x01x"), AB_RPC_CLOSE_PROTOCOL);
    expect_failure(false, BYTES("\x83\x01x"), AB_RPC_CLOSE_PROTOCOL);
    expect_failure(false, BYTES("\x8b\x01x"), AB_RPC_CLOSE_PROTOCOL);
}

static void control_frames_are_whole_and_short(void **state)
{
    (void)state;
    expect_failure(false, BYTES("\x09\x01x"), AB_RPC_CLOSE_PROTOCOL);
    expect_failure(false, BYTES("\x89\x7e\x00\x7e"), AB_RPC_CLOSE_PROTOCOL);
}

static void fragments_belong_to_a_message(void **state)
{
    (void)state;
    expect_failure(false, BYTES("\x80\x01x"), AB_RPC_CLOSE_PROTOCOL);
    expect_failure(false, BYTES("\x02\x01x\x82\x01y"), AB_RPC_CLOSE_PROTOCOL);
    expect_failure(false, BYTES("\x82\x01x\x80\x01y"), AB_RPC_CLOSE_PROTOCOL);
}

static void text_is_refused_as_the_wrong_kind(void **state)
{
    (void)state;
    expect_failure(false, BYTES("\x81\x05Hello"), AB_RPC_CLOSE_KIND);
}

static void lengths_have_their_shortest_form(void **state)
{
    (void)state;
    expect_failure(false, BYTES("\x82\x7e\x00\x7d"), AB_RPC_CLOSE_PROTOCOL);
    expect_failure(false, BYTES("\x82\x7f\0\0\0\0\0\0\xff\xff"), AB_RPC_CLOSE_PROTOCOL);
}

static void a_message_past_the_limit_is_refused_before_it_comes(void **state)
{
    (void)state;
    expect_failure(false, BYTES("\x82\x7f\0\0\0\0\0\1\x86\xa1"), AB_RPC_CLOSE_TOO_BIG);
    expect_failure(false, BYTES("\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff"), AB_RPC_CLOSE_TOO_BIG);
    expect_failure(false, BYTES("\x02\x01x\x80\x7f\0\0\0\0\0\1\x86\xa0"), AB_RPC_CLOSE_TOO_BIG);
}

/* ---- sending ---- */

static void expect_head(uint64_t len, const uint8_t *key, const char *bytes, size_t count)
{
    uint8_t head[AB_RPC_FRAME_HEAD];
    assert_int_equal(ab_rpc_frame_head(head, AB_RPC_FRAME_BINARY, len, key), count);
    assert_memory_equal(head, bytes, count);
}

static void heads_have_the_shortest_length_and_the_key(void **state)
{
    (void)state;
    const uint8_t key[] = {1, 2, 3, 4};
    expect_head(125, NULL, BYTES("\x82\x7d"));
    expect_head(126, NULL, BYTES("\x82\x7e\x00\x7e"));
    expect_head(65535, NULL, BYTES("\x82\x7e\xff\xff"));
    expect_head(65536, NULL, BYTES("\x82\x7f\0\0\0\0\0\1\0\0"));
    expect_head(5, key, BYTES("\x82\x85\1\2\3\4"));
    expect_head(65536, key, BYTES("\x82\xff\0\0\0\0\0\1\0\0\1\2\3\4"));
}

static void a_payload_is_masked_piece_by_piece(void **state)
{
    (void)state;
    const uint8_t key[] = {0x37, 0xfa, 0x21, 0x3d};
    uint8_t bytes[] = {'H', 'e', 'l', 'l', 'o'};
    ab_rpc_frame_mask(bytes, 3, key, 0);
    ab_rpc_frame_mask(bytes + 3, 2, key, 3);
    assert_memory_equal(bytes, "\x7f\x9f\x4d\x51\x58", 5);
}

static void what_is_put_is_read(void **state)
{
    (void)state;
    const uint8_t key[] = {0x37, 0xfa, 0x21, 0x3d};
    ab_buf out;
    ab_buf_init(&out, 1000);
    ab_rpc_frame_put(&out, AB_RPC_FRAME_BINARY, AB_STR("Hello"), key);
    ab_rpc_frame_put(&out, AB_RPC_FRAME_PING, AB_STR("x"), key);
    expect(true, out.ptr, out.len, "Hello|", "9:x|");
    ab_buf_fini(&out);
}

static void a_close_carries_its_code(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 1000);
    ab_rpc_frame_put_close(&out, AB_RPC_CLOSE_TOO_BIG, "no", NULL);
    assert_true(ab_str_eq(ab_buf_str(&out), AB_STR("\x88\x04\x03\xf1no")));
    assert_int_equal(ab_rpc_frame_close_code(AB_STR("\x03\xf1no")), AB_RPC_CLOSE_TOO_BIG);
    assert_int_equal(ab_rpc_frame_close_code(AB_STR("")), AB_RPC_CLOSE_NONE);
    assert_int_equal(ab_rpc_frame_close_code(AB_STR("\x03")), AB_RPC_CLOSE_PROTOCOL);
    ab_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unmasked_message_in_one_frame_is_read),
        cmocka_unit_test(a_masked_message_in_one_frame_is_read),
        cmocka_unit_test(a_message_in_fragments_is_read),
        cmocka_unit_test(a_ping_and_a_masked_pong_are_read),
        cmocka_unit_test(lengths_of_two_and_of_eight_bytes_are_read),
        cmocka_unit_test(control_frames_come_between_fragments),
        cmocka_unit_test(messages_and_fragments_may_be_empty),
        cmocka_unit_test(what_must_be_masked_is_and_nothing_else),
        cmocka_unit_test(reserved_bits_and_opcodes_are_refused),
        cmocka_unit_test(control_frames_are_whole_and_short),
        cmocka_unit_test(fragments_belong_to_a_message),
        cmocka_unit_test(text_is_refused_as_the_wrong_kind),
        cmocka_unit_test(lengths_have_their_shortest_form),
        cmocka_unit_test(a_message_past_the_limit_is_refused_before_it_comes),
        cmocka_unit_test(heads_have_the_shortest_length_and_the_key),
        cmocka_unit_test(a_payload_is_masked_piece_by_piece),
        cmocka_unit_test(what_is_put_is_read),
        cmocka_unit_test(a_close_carries_its_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
