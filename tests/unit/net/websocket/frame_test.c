/* SPDX-License-Identifier: Apache-2.0 */
#include "net/websocket/frame.h"

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

static void note(result *r, const ab_websocket_frame *frame)
{
    if (frame->bytes.ptr == NULL)
        return;
    if (frame->opcode == WSLAY_BINARY_FRAME) {
        ab_buf_put(&r->data, frame->bytes);
        if (frame->ends)
            ab_buf_putc(&r->data, '|');
        return;
    }
    ab_buf_printf(&r->control, "%d:", (int)frame->opcode);
    ab_buf_put(&r->control, frame->bytes);
    ab_buf_putc(&r->control, '|');
}

/* All that is in one piece. */
static void read_piece(ab_websocket_frames *f, ab_str piece, result *r)
{
    ab_websocket_frame frame;
    ab_websocket_frames_feed(f, piece);
    do {
        r->e = ab_websocket_frames_next(f, &frame, &r->why);
        if (r->e == AB_ERR_OK)
            note(r, &frame);
    } while (r->e == AB_ERR_OK && frame.bytes.ptr != NULL);
}

/* In pieces of `step` bytes. */
static void read_in(result *r, bool server, const void *bytes, size_t len, size_t step)
{
    ab_websocket_frames f;
    assert_int_equal(ab_websocket_frames_init(&f, server, MAX), AB_ERR_OK);
    *r = (result){.e = AB_ERR_OK};
    ab_buf_init(&r->data, MAX * 2);
    ab_buf_init(&r->control, 1000);
    for (size_t at = 0; at < len && r->e == AB_ERR_OK; at += step)
        read_piece(&f, (ab_str){(const char *)bytes + at, len - at < step ? len - at : step}, r);
    ab_websocket_frames_fini(&f);
}

static void result_fini(result *r)
{
    ab_buf_fini(&r->data);
    ab_buf_fini(&r->control);
}

static void expect(bool server, const void *bytes, size_t len, const char *data,
                   const char *control)
{
    const size_t steps[] = {1, 3, len};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        result r;
        read_in(&r, server, bytes, len, steps[i]);
        assert_int_equal(r.e, AB_ERR_OK);
        assert_true(ab_str_is(ab_buf_str(&r.data), data));
        assert_true(ab_str_is(ab_buf_str(&r.control), control));
        result_fini(&r);
    }
}

static void expect_failure(bool server, const void *bytes, size_t len, uint16_t code)
{
    const size_t steps[] = {1, len};
    for (size_t i = 0; i < 2; i++) {
        result r;
        read_in(&r, server, bytes, len, steps[i]);
        assert_int_not_equal(r.e, AB_ERR_OK);
        assert_int_equal(ab_websocket_frames_close_code(r.e), code);
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
    expect_failure(true, BYTES("\x82\x05Hello"), WSLAY_CODE_PROTOCOL_ERROR);
    expect_failure(false, BYTES("\x82\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"),
                   WSLAY_CODE_PROTOCOL_ERROR);
}

static void reserved_bits_and_opcodes_are_refused(void **state)
{
    (void)state;
    expect_failure(false, BYTES("\xc2\x01x"), WSLAY_CODE_PROTOCOL_ERROR);
    expect_failure(false, BYTES("\x92\x01x"), WSLAY_CODE_PROTOCOL_ERROR);
    expect_failure(false, BYTES("\x83\x01x"), WSLAY_CODE_PROTOCOL_ERROR);
    expect_failure(false, BYTES("\x8b\x01x"), WSLAY_CODE_PROTOCOL_ERROR);
}

static void control_frames_are_whole_and_short(void **state)
{
    (void)state;
    expect_failure(false, BYTES("\x09\x01x"), WSLAY_CODE_PROTOCOL_ERROR);
    expect_failure(false, BYTES("\x89\x7e\x00\x7e"), WSLAY_CODE_PROTOCOL_ERROR);
}

static void fragments_belong_to_a_message(void **state)
{
    (void)state;
    expect_failure(false, BYTES("\x80\x01x"), WSLAY_CODE_PROTOCOL_ERROR);
    expect_failure(false, BYTES("\x02\x01x\x82\x01y"), WSLAY_CODE_PROTOCOL_ERROR);
    expect_failure(false, BYTES("\x82\x01x\x80\x01y"), WSLAY_CODE_PROTOCOL_ERROR);
}

static void text_is_refused_as_the_wrong_kind(void **state)
{
    (void)state;
    expect_failure(false, BYTES("\x81\x05Hello"), WSLAY_CODE_UNSUPPORTED_DATA);
}

static void lengths_have_their_shortest_form(void **state)
{
    (void)state;
    expect_failure(false, BYTES("\x82\x7e\x00\x7d"), WSLAY_CODE_PROTOCOL_ERROR);
    expect_failure(false, BYTES("\x82\x7f\0\0\0\0\0\0\xff\xff"), WSLAY_CODE_PROTOCOL_ERROR);
    expect_failure(false, BYTES("\x82\x7f\x80\0\0\0\0\1\0\0"), WSLAY_CODE_PROTOCOL_ERROR);
}

/* With the first byte of the frame that passes it. */
static void a_message_past_the_limit_is_refused_before_it_comes(void **state)
{
    (void)state;
    expect_failure(false, BYTES("\x82\x7f\0\0\0\0\0\1\x86\xa1x"), WSLAY_CODE_MESSAGE_TOO_BIG);
    expect_failure(false, BYTES("\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xffx"),
                   WSLAY_CODE_MESSAGE_TOO_BIG);
    expect_failure(false, BYTES("\x02\x01x\x80\x7f\0\0\0\0\0\1\x86\xa0x"),
                   WSLAY_CODE_MESSAGE_TOO_BIG);
}

static void the_limit_is_that_of_each_message(void **state)
{
    (void)state;
    static char bytes[2 * (10 + 65536)];
    result r;
    memcpy(bytes, "\x82\x7f\0\0\0\0\0\1\0\0", 10);
    memcpy(bytes + 10 + 65536, bytes, 10);
    read_in(&r, false, bytes, sizeof(bytes), sizeof(bytes));
    assert_int_equal(r.e, AB_ERR_OK);
    assert_int_equal(r.data.len, 2 * (65536 + 1));
    result_fini(&r);
}

static void a_control_frame_that_came_in_two_buffers_is_whole(void **state)
{
    (void)state;
    char bytes[4090 + 15] = "\x82\x7e\x0f\xf6"; /* libwslay holds 4096 bytes: 6 of the ping */
    memcpy(bytes + 4090, "\x89\x0dHello, again.", 15);
    result r;
    read_in(&r, false, bytes, sizeof(bytes), sizeof(bytes));
    assert_int_equal(r.e, AB_ERR_OK);
    assert_int_equal(r.data.len, 4086 + 1);
    assert_true(ab_str_is(ab_buf_str(&r.control), "9:Hello, again.|"));
    result_fini(&r);
}

/* ---- sending ---- */

static void expect_head(uint64_t len, const char *bytes, size_t count)
{
    uint8_t head[AB_WEBSOCKET_FRAME_HEAD];
    ab_websocket_frames f;
    assert_int_equal(ab_websocket_frames_init(&f, true, MAX), AB_ERR_OK);
    assert_int_equal(ab_websocket_frames_begin(&f, head, len), count);
    assert_memory_equal(head, bytes, count);
    ab_websocket_frames_fini(&f);
}

static void heads_have_the_shortest_length(void **state)
{
    (void)state;
    expect_head(125, BYTES("\x82\x7d"));
    expect_head(126, BYTES("\x82\x7e\x00\x7e"));
    expect_head(65535, BYTES("\x82\x7e\xff\xff"));
    expect_head(65536, BYTES("\x82\x7f\0\0\0\0\0\1\0\0"));
}

/* A message of 10,000 bytes, of which some are written, then a ping, then the rest. */
static void expect_message_in_pieces(bool server)
{
    static uint8_t bytes[AB_WEBSOCKET_FRAME_HEAD + 10000];
    ab_websocket_frames f;
    ab_buf ping;
    result r;
    ab_buf_init(&ping, 100);
    assert_int_equal(ab_websocket_frames_init(&f, server, MAX), AB_ERR_OK);
    size_t head = ab_websocket_frames_begin(&f, bytes, 10000);
    assert_int_equal(head, server ? 4 : 8);
    memset(bytes + head, 'x', 10000);
    ab_websocket_frames_go_on(&f, bytes + head, 7);
    assert_int_equal(ab_websocket_frame_put(&ping, WSLAY_PING, AB_STR("y"), server), AB_ERR_OK);
    ab_websocket_frames_go_on(&f, bytes + head + 7, 9993);
    read_in(&r, !server, bytes, head + 10000, 4000);
    assert_int_equal(r.e, AB_ERR_OK);
    assert_int_equal(r.data.len, 10001);
    for (size_t i = 0; i < 10000; i++)
        assert_int_equal(r.data.ptr[i], 'x');
    result_fini(&r);
    read_in(&r, !server, ping.ptr, ping.len, 1);
    assert_true(ab_str_is(ab_buf_str(&r.control), "9:y|"));
    result_fini(&r);
    ab_websocket_frames_fini(&f);
    ab_buf_fini(&ping);
}

static void a_message_is_written_piece_by_piece(void **state)
{
    (void)state;
    expect_message_in_pieces(true);
    expect_message_in_pieces(false);
}

static void a_client_masks_each_frame_by_another_key(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 100);
    for (int i = 0; i < 2; i++)
        assert_int_equal(ab_websocket_frame_put(&out, WSLAY_PING, AB_STR("Hello"), false),
                         AB_ERR_OK);
    assert_int_equal(out.len, 2 * 11);
    assert_memory_equal(out.ptr, "\x89\x85", 2);
    assert_memory_not_equal(out.ptr + 2, out.ptr + 13, 4);
    ab_buf_fini(&out);
}

static void what_is_put_is_read(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 1000);
    assert_int_equal(ab_websocket_frame_put(&out, WSLAY_BINARY_FRAME, AB_STR("Hello"), false),
                     AB_ERR_OK);
    assert_int_equal(ab_websocket_frame_put(&out, WSLAY_PING, AB_STR("x"), false), AB_ERR_OK);
    expect(true, out.ptr, out.len, "Hello|", "9:x|");
    ab_buf_fini(&out);
}

static void what_has_no_room_is_not_put(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 16);
    assert_int_equal(ab_websocket_frame_put(&out, WSLAY_PING, AB_STR("Hello"), true),
                     AB_ERR_TOOBIG);
    assert_int_equal(out.len, 0);
    ab_buf_fini(&out);
}

static void a_close_carries_its_code(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 1000);
    assert_int_equal(ab_websocket_frame_put_close(&out, WSLAY_CODE_MESSAGE_TOO_BIG, "no", true),
                     AB_ERR_OK);
    assert_true(ab_str_eq(ab_buf_str(&out), AB_STR("\x88\x04\x03\xf1no")));
    assert_int_equal(ab_websocket_frame_close_code(AB_STR("\x03\xf1no")),
                     WSLAY_CODE_MESSAGE_TOO_BIG);
    assert_int_equal(ab_websocket_frame_close_code(AB_STR("")), WSLAY_CODE_NO_STATUS_RCVD);
    assert_int_equal(ab_websocket_frame_close_code(AB_STR("\x03")), WSLAY_CODE_PROTOCOL_ERROR);
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
        cmocka_unit_test(the_limit_is_that_of_each_message),
        cmocka_unit_test(a_control_frame_that_came_in_two_buffers_is_whole),
        cmocka_unit_test(heads_have_the_shortest_length),
        cmocka_unit_test(a_message_is_written_piece_by_piece),
        cmocka_unit_test(a_client_masks_each_frame_by_another_key),
        cmocka_unit_test(what_is_put_is_read),
        cmocka_unit_test(what_has_no_room_is_not_put),
        cmocka_unit_test(a_close_carries_its_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
