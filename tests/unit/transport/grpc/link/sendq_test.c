/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/grpc/link/sendq.h"

#include "schema/attributes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static ab_event *make_event(const char *key, uint64_t version)
{
    ab_event_draft d = {.data = AB_STR("{}")};
    ab_event_set_text(&d, AB_CE_ID, key);
    ab_event_set_text(&d, AB_CE_SOURCE, AB_SOURCE_PRINCIPAL);
    ab_event_set_text(&d, AB_CE_TYPE, "t");
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, key);
    ab_event_set_u64(&d, AB_CE_WRITEREPOCH, 7);
    ab_event_set_u64(&d, AB_CE_OBJVERSION, version);
    ab_event *event = NULL;
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    return event;
}

/* @return the token of what it replaced */
static void *put(ab_grpc_sendq *q, const char *key, uint64_t version, void *token)
{
    void *replaced = NULL;
    ab_event *event = make_event(key, version);
    assert_int_equal(ab_grpc_sendq_put(q, event, token, &replaced), AB_ERR_OK);
    ab_event_unref(event);
    return replaced;
}

/* Sends the next event, which must be this one. */
static void send_next(ab_grpc_sendq *q, const char *key, uint64_t version)
{
    const ab_event *event = ab_grpc_sendq_next(q);
    uint64_t found = 0;
    assert_non_null(event);
    assert_true(ab_str_is(ab_event_attr(event, AB_CE_PARTITIONKEY), key));
    assert_int_equal(ab_event_attr_u64(event, AB_CE_OBJVERSION, &found), AB_ERR_OK);
    assert_int_equal(found, version);
    ab_grpc_sendq_sent(q);
}

static ab_err ack(ab_grpc_sendq *q, const char *key, uint64_t version, void **token)
{
    return ab_grpc_sendq_ack(q, ab_str_of(key), 7, version, token);
}

static int setup(void **state)
{
    static ab_grpc_sendq q;
    *state = &q;
    ab_grpc_sendq_init(&q, NULL);
    return 0;
}

static int teardown(void **state)
{
    ab_grpc_sendq_fini(*state);
    return 0;
}

static void a_waiting_state_is_replaced_by_a_newer_one(void **state)
{
    ab_grpc_sendq *q = *state;
    int token = 0;
    put(q, "app/a", 1, &token);
    put(q, "app/b", 1, NULL);
    assert_ptr_equal(put(q, "app/a", 2, NULL), &token);
    assert_int_equal(q->count, 2);
    send_next(q, "app/a", 2);
    send_next(q, "app/b", 1);
    assert_null(ab_grpc_sendq_next(q));
}

static void what_was_sent_is_not_replaced(void **state)
{
    ab_grpc_sendq *q = *state;
    put(q, "app/a", 1, NULL);
    send_next(q, "app/a", 1);
    assert_null(put(q, "app/a", 2, NULL));
    assert_int_equal(q->count, 2);
    send_next(q, "app/a", 2);
}

static void a_newer_state_is_replaced_also_when_an_older_one_was_acknowledged_since(void **state)
{
    ab_grpc_sendq *q = *state;
    int newer = 0;
    void *token = NULL;
    put(q, "app/a", 1, NULL);
    send_next(q, "app/a", 1);
    put(q, "app/a", 2, &newer);
    assert_int_equal(ack(q, "app/a", 1, &token), AB_ERR_OK);
    assert_ptr_equal(put(q, "app/a", 3, NULL), &newer);
    assert_int_equal(q->count, 1);
    send_next(q, "app/a", 3);
    assert_int_equal(ack(q, "app/a", 3, &token), AB_ERR_OK);
    assert_null(put(q, "app/a", 4, NULL)); /* nothing of this key is known any more */
    send_next(q, "app/a", 4);
}

static void nothing_is_replaced_across_what_keeps_its_place(void **state)
{
    ab_grpc_sendq *q = *state;
    const char *const keys[] = {AB_KEY_COMMAND "1", AB_KEY_ACK "1", AB_KEY_ERROR "app/a",
                                AB_KEY_CONTROL "resync"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        put(q, "app/a", 1, NULL);
        put(q, keys[i], 2, NULL);
        put(q, "app/a", 3, NULL);
        put(q, "app/a", 4, NULL);
        send_next(q, "app/a", 1);
        send_next(q, keys[i], 2);
        send_next(q, "app/a", 4);
        assert_null(ab_grpc_sendq_next(q));
    }
}

static void an_acknowledgement_ends_what_it_names_and_nothing_else(void **state)
{
    ab_grpc_sendq *q = *state;
    int first = 0, second = 0;
    void *token = NULL;
    put(q, "app/a", 1, &first);
    put(q, "app/b", 1, &second);
    assert_int_equal(ack(q, "app/a", 1, &token), AB_ERR_NOTFOUND); /* not sent */
    send_next(q, "app/a", 1);
    send_next(q, "app/b", 1);
    assert_int_equal(ack(q, "app/b", 2, &token), AB_ERR_NOTFOUND);
    assert_int_equal(ab_grpc_sendq_ack(q, AB_STR_NONE, 6, 1, &token), AB_ERR_NOTFOUND);
    assert_int_equal(ack(q, "app/b", 1, &token), AB_ERR_OK);
    assert_ptr_equal(token, &second);
    assert_int_equal(ack(q, "app/b", 1, &token), AB_ERR_NOTFOUND);
    assert_int_equal(q->count, 1);
    assert_int_equal(q->sent, 1);
    assert_int_equal(ack(q, "app/a", 1, &token), AB_ERR_OK);
    assert_int_equal(q->bytes, 0);
}

static void a_new_stream_begins_with_what_was_not_acknowledged(void **state)
{
    ab_grpc_sendq *q = *state;
    void *token = NULL;
    put(q, "cmd/1", 1, NULL);
    put(q, "cmd/2", 2, NULL);
    put(q, "cmd/3", 3, NULL);
    send_next(q, "cmd/1", 1);
    send_next(q, "cmd/2", 2);
    assert_int_equal(ack(q, "cmd/1", 1, &token), AB_ERR_OK);
    ab_grpc_sendq_rewind(q);
    assert_int_equal(q->sent, 0);
    send_next(q, "cmd/2", 2);
    send_next(q, "cmd/3", 3);
}

static void what_is_to_be_sent_again_is_replaced_by_a_newer_state(void **state)
{
    ab_grpc_sendq *q = *state;
    int token = 0;
    put(q, "app/a", 1, &token);
    put(q, "app/b", 2, NULL);
    send_next(q, "app/a", 1);
    send_next(q, "app/b", 2);
    put(q, "app/b", 3, NULL);
    ab_grpc_sendq_rewind(q);
    assert_ptr_equal(put(q, "app/a", 4, NULL), &token);
    put(q, "app/b", 5, NULL); /* instead of the newest, which is not the one that was sent */
    send_next(q, "app/a", 4);
    send_next(q, "app/b", 2);
    send_next(q, "app/b", 5);
    assert_null(ab_grpc_sendq_next(q));
}

static void of_two_that_are_to_be_sent_again_the_newer_is_replaced(void **state)
{
    ab_grpc_sendq *q = *state;
    int first = 0, second = 0;
    put(q, "app/a", 1, &first);
    send_next(q, "app/a", 1);
    put(q, "app/a", 2, &second);
    send_next(q, "app/a", 2);
    ab_grpc_sendq_rewind(q);
    assert_ptr_equal(put(q, "app/a", 3, NULL), &second);
    send_next(q, "app/a", 1);
    send_next(q, "app/a", 3);
}

static void bytes_wait_until_they_are_sent(void **state)
{
    ab_grpc_sendq *q = *state;
    void *token = NULL;
    put(q, "app/a", 1, NULL);
    size_t one = q->waiting_bytes;
    assert_int_equal(one, q->bytes);
    put(q, "app/b", 1, NULL);
    put(q, "app/b", 2, NULL);
    assert_int_equal(q->waiting_bytes, 2 * one);
    send_next(q, "app/a", 1);
    assert_int_equal(q->waiting_bytes, one);
    assert_int_equal(q->bytes, 2 * one);
    ab_grpc_sendq_rewind(q);
    assert_int_equal(q->waiting_bytes, 2 * one);
    send_next(q, "app/a", 1);
    send_next(q, "app/b", 2);
    assert_int_equal(ack(q, "app/b", 2, &token), AB_ERR_OK);
    assert_int_equal(q->waiting_bytes, 0);
    assert_int_equal(q->bytes, one);
}

static void a_state_without_numbers_is_refused(void **state)
{
    ab_grpc_sendq *q = *state;
    ab_event_draft d = {0};
    ab_event_set_text(&d, AB_CE_ID, "x");
    ab_event_set_text(&d, AB_CE_SOURCE, "s");
    ab_event_set_text(&d, AB_CE_TYPE, "t");
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, "app/a");
    ab_event_set_text(&d, AB_CE_WRITEREPOCH, "one");
    ab_event_set_text(&d, AB_CE_OBJVERSION, "1");
    ab_event *event = NULL;
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    void *replaced = NULL;
    assert_int_equal(ab_grpc_sendq_put(q, event, NULL, &replaced), AB_ERR_INVALID);
    assert_int_equal(q->count, 0);
    ab_event_unref(event);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_waiting_state_is_replaced_by_a_newer_one),
        CASE(what_was_sent_is_not_replaced),
        CASE(a_newer_state_is_replaced_also_when_an_older_one_was_acknowledged_since),
        CASE(nothing_is_replaced_across_what_keeps_its_place),
        CASE(an_acknowledgement_ends_what_it_names_and_nothing_else),
        CASE(a_new_stream_begins_with_what_was_not_acknowledged),
        CASE(what_is_to_be_sent_again_is_replaced_by_a_newer_state),
        CASE(of_two_that_are_to_be_sent_again_the_newer_is_replaced),
        CASE(bytes_wait_until_they_are_sent),
        CASE(a_state_without_numbers_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
