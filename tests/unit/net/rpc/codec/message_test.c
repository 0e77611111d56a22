/* SPDX-License-Identifier: Apache-2.0 */
#include "net/rpc/codec/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define MAX 1000

typedef struct {
    ab_rpc_budget budget;
    size_t allowance;
    ab_rpc_reader reader;
} fixture;

static int begin(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    f->budget.max = 50000;
    f->allowance = SIZE_MAX;
    ab_rpc_reader_init(&f->reader, &f->budget, &f->allowance, MAX);
    *state = f;
    return 0;
}

static int end(void **state)
{
    fixture *f = *state;
    ab_rpc_reader_fini(&f->reader);
    assert_int_equal(f->budget.used, 0);
    free(f);
    return 0;
}

static ab_err feed(fixture *f, const void *bytes, size_t len, ab_str *message)
{
    const char *why = NULL;
    ab_str in = {bytes, len};
    return ab_rpc_reader_feed(&f->reader, &in, message, &why);
}

static size_t make(uint8_t *out, size_t room, const char *text, bool compress)
{
    size_t len = strlen(text);
    z_stream *z = NULL;
    /* As two parts: of a message that ends in lent bytes. */
    const ab_str parts[] = {{text, len / 3}, {text + len / 3, len - len / 3}};
    if (compress)
        len = ab_rpc_compress(&z, parts, out + AB_RPC_PREFIX, room - AB_RPC_PREFIX);
    else
        memcpy(out + AB_RPC_PREFIX, text, len);
    ab_rpc_prefix_put(out, compress, len);
    ab_rpc_compress_free(z);
    return AB_RPC_PREFIX + len;
}

static void a_message_that_lies_in_one_piece_is_not_copied(void **state)
{
    fixture *f = *state;
    uint8_t bytes[100];
    ab_str message;
    size_t len = make(bytes, sizeof(bytes), "hello", false);
    assert_int_equal(feed(f, bytes, len, &message), AB_ERR_OK);
    assert_ptr_equal(message.ptr, bytes + AB_RPC_PREFIX);
    assert_true(ab_str_is(message, "hello"));
    assert_int_equal(f->budget.used, 0);
}

static void a_message_comes_byte_by_byte(void **state)
{
    fixture *f = *state;
    for (int compress = 0; compress < 2; compress++) {
        uint8_t bytes[100];
        ab_str message = AB_STR_NONE;
        size_t len = make(bytes, sizeof(bytes), "hello", compress == 1);
        f->reader.gzip = true;
        for (size_t i = 0; i < len; i++) {
            assert_null(message.ptr);
            assert_int_equal(ab_rpc_reader_is_amid(&f->reader), i > 0);
            assert_int_equal(feed(f, bytes + i, 1, &message), AB_ERR_OK);
        }
        assert_true(ab_str_is(message, "hello"));
        ab_rpc_reader_next(&f->reader);
        assert_false(ab_rpc_reader_is_amid(&f->reader));
        assert_int_equal(f->budget.used, 0);
    }
}

static void what_is_announced_is_not_allocated(void **state)
{
    fixture *f = *state;
    ab_str message;
    f->reader.max = SIZE_MAX / 2;
    assert_int_equal(feed(f, "\0\xff\xff\xff\xffhello", 10, &message), AB_ERR_OK);
    assert_null(message.ptr);
    assert_int_equal(f->budget.used, 4096);
}

static void a_message_past_the_limit_is_refused_by_its_prefix(void **state)
{
    fixture *f = *state;
    ab_str message;
    assert_int_equal(feed(f, "\0\0\0\x03\xe9", 5, &message), AB_ERR_TOOBIG); /* 1001 */
}

static void a_message_past_the_budget_is_refused(void **state)
{
    fixture *f = *state;
    ab_str message;
    f->budget.max = 4000;
    assert_int_equal(feed(f, "\0\0\0\x03\xe8hello", 10, &message), AB_ERR_OK);
    f->budget.max = 900;
    ab_rpc_reader_next(&f->reader);
    assert_int_equal(feed(f, "\0\0\0\x03\xe8hello", 10, &message), AB_ERR_FULL);
}

static void gzip_may_hold_the_limit_and_no_byte_more(void **state)
{
    fixture *f = *state;
    char text[MAX + 2];
    uint8_t bytes[200];
    ab_str message;
    f->reader.gzip = true;
    memset(text, 'x', sizeof(text));
    text[MAX] = '\0';
    size_t len = make(bytes, sizeof(bytes), text, true);
    assert_int_equal(feed(f, bytes, len, &message), AB_ERR_OK);
    assert_int_equal(message.len, MAX);
    ab_rpc_reader_next(&f->reader);
    text[MAX] = 'x';
    text[MAX + 1] = '\0';
    len = make(bytes, sizeof(bytes), text, true);
    assert_int_equal(feed(f, bytes, len, &message), AB_ERR_TOOBIG);
}

static void no_more_is_inflated_than_is_allowed(void **state)
{
    fixture *f = *state;
    char text[MAX + 1];
    uint8_t bytes[200];
    ab_str message;
    const char *why = NULL;
    f->reader.gzip = true;
    memset(text, 'x', MAX);
    text[MAX] = '\0';
    ab_str in = {(const char *)bytes, make(bytes, sizeof(bytes), text, true)};
    f->allowance = 0;
    for (size_t inflated = 0; inflated < MAX; inflated += 100) {
        assert_int_equal(ab_rpc_reader_feed(&f->reader, &in, &message, &why), AB_ERR_OK);
        assert_null(message.ptr);
        assert_true(in.len > 0);
        assert_int_equal(f->reader.len, inflated);
        assert_int_equal(f->allowance, 0);
        f->allowance = 100;
    }
    assert_int_equal(ab_rpc_reader_feed(&f->reader, &in, &message, &why), AB_ERR_OK);
    f->allowance = 1; /* its end still waits to be read */
    if (message.ptr == NULL)
        assert_int_equal(ab_rpc_reader_feed(&f->reader, &in, &message, &why), AB_ERR_OK);
    assert_true(ab_str_is(message, text));
    assert_int_equal(in.len, 0);
}

static void gzip_that_is_cut_short_is_refused_however_little_is_allowed(void **state)
{
    fixture *f = *state;
    for (size_t allowed = 1; allowed < 20; allowed++) {
        uint8_t bytes[100];
        ab_str message = AB_STR_NONE;
        const char *why = NULL;
        size_t len = make(bytes, sizeof(bytes), "hello, hello, hello", true) - 1;
        ab_err e = AB_ERR_OK;
        ab_rpc_prefix_put(bytes, true, len - AB_RPC_PREFIX);
        f->reader.gzip = true;
        ab_str in = {(const char *)bytes, len};
        for (size_t turn = 0; turn < 30 && e == AB_ERR_OK; turn++) {
            f->allowance = allowed;
            e = ab_rpc_reader_feed(&f->reader, &in, &message, &why);
            assert_null(message.ptr);
        }
        assert_int_equal(e, AB_ERR_PARSE);
        ab_rpc_reader_next(&f->reader);
    }
}

static void what_does_not_become_smaller_is_not_compressed(void **state)
{
    (void)state;
    uint8_t out[5];
    z_stream *z = NULL;
    const ab_str parts[] = {AB_STR("hello"), AB_STR_NONE};
    assert_int_equal(ab_rpc_compress(&z, parts, out, sizeof(out)), 0);
    ab_rpc_compress_free(z);
}

#define WITH_READER(name) cmocka_unit_test_setup_teardown(name, begin, end)

static void an_unfinished_gzip_counts_what_it_holds(void **state)
{
    fixture *f = *state;
    uint8_t bytes[200];
    ab_str message;
    f->reader.gzip = true;
    size_t len = make(bytes, sizeof(bytes), "hello hello hello hello hello hello", true);
    assert_int_equal(feed(f, bytes, len - 1, &message), AB_ERR_OK);
    assert_null(message.ptr);
    assert_true(f->budget.used >= 32 * 1024);
    ab_rpc_reader_next(&f->reader);
    assert_int_equal(f->budget.used, 0);
    f->budget.max = 16 * 1024;
    assert_int_equal(feed(f, bytes, len, &message), AB_ERR_FULL);
}

static void who_is_alone_gets_a_quarter_and_leaves_room_for_others(void **state)
{
    (void)state;
    ab_rpc_budget all = {.max = 1200, .shared = true};
    ab_rpc_budget one = {.max = SIZE_MAX, .parent = &all};
    ab_rpc_budget conn = {.max = SIZE_MAX, .parent = &one};
    assert_int_equal(ab_rpc_budget_most(&all), 300);
    assert_false(ab_rpc_budget_take(&conn, 401));
    while (ab_rpc_budget_take(&conn, 10)) {
    }
    assert_in_range(conn.used, 290, 310);
    assert_int_equal(all.used, conn.used);
    ab_rpc_budget other = {.max = SIZE_MAX, .parent = &all};
    assert_true(ab_rpc_budget_take(&other, 250));
    ab_rpc_budget_give(&other, 250);
    ab_rpc_budget_give(&conn, conn.used);
    assert_int_equal(all.used, 0);
}

static void many_who_take_all_they_can_leave_some_for_one_more(void **state)
{
    (void)state;
    ab_rpc_budget all = {.max = 1000000, .shared = true};
    ab_rpc_budget hogs[20], late = {.max = SIZE_MAX, .parent = &all};
    for (size_t i = 0; i < 20; i++)
        hogs[i] = (ab_rpc_budget){.max = SIZE_MAX, .parent = &all};
    for (size_t i = 0; i < 20 * 1000; i++)
        (void)!ab_rpc_budget_take(&hogs[i % 20], 100);
    assert_int_equal(ab_rpc_budget_room(&hogs[0]), 0);
    assert_true(ab_rpc_budget_room(&late) >= 1000000 / 24);
}

static void what_a_connection_holds_moves_with_it(void **state)
{
    (void)state;
    ab_rpc_budget all = {.max = 1200, .shared = true};
    ab_rpc_budget address = {.max = SIZE_MAX, .parent = &all};
    ab_rpc_budget agent = {.max = SIZE_MAX, .parent = &all};
    ab_rpc_budget conn = {.max = SIZE_MAX, .parent = &address};
    assert_true(ab_rpc_budget_take(&conn, 100));
    ab_rpc_budget_move(&conn, &agent);
    assert_int_equal(address.used, 0);
    assert_int_equal(agent.used, 100);
    assert_int_equal(all.used, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_READER(a_message_that_lies_in_one_piece_is_not_copied),
        WITH_READER(a_message_comes_byte_by_byte),
        WITH_READER(what_is_announced_is_not_allocated),
        WITH_READER(a_message_past_the_limit_is_refused_by_its_prefix),
        WITH_READER(a_message_past_the_budget_is_refused),
        WITH_READER(gzip_may_hold_the_limit_and_no_byte_more),
        cmocka_unit_test_setup_teardown(no_more_is_inflated_than_is_allowed, begin, end),
        cmocka_unit_test_setup_teardown(gzip_that_is_cut_short_is_refused_however_little_is_allowed,
                                        begin, end),
        cmocka_unit_test(what_does_not_become_smaller_is_not_compressed),
        cmocka_unit_test_setup_teardown(an_unfinished_gzip_counts_what_it_holds, begin, end),
        cmocka_unit_test(who_is_alone_gets_a_quarter_and_leaves_room_for_others),
        cmocka_unit_test(many_who_take_all_they_can_leave_some_for_one_more),
        cmocka_unit_test(what_a_connection_holds_moves_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
