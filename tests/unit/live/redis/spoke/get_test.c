/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of the agent's redis whose streams do not take them: clients and streams are fakes.
 */
#include "live/redis/spoke/spoke_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define CLIENTS_MAX 4
#define PIECE       (64u * 1024)
#define PIECES      64 /* of a value */

struct ab_redis_client {
    const ab_redis_client_ops *ops;
    void *arg;
    size_t asked; /* commands that were sent on it */
    bool paused;
};

struct ab_live_stream {
    const ab_live_handler *handler;
    void *arg;
    size_t room; /* bytes that it takes */
    size_t taken;
    bool is_ended;
    bool is_cancelled;
};

static ab_redis_client clients[CLIENTS_MAX];
static size_t made;
static size_t attempts; /* to make another one */
static bool unreadable; /* its certificates */

ab_err __wrap_ab_redis_client_new(uv_loop_t *loop, ab_log *log, const ab_redis_address *address,
                                  const ab_redis_client_ops *ops, void *arg, ab_redis_client **out,
                                  ab_error *err);
ab_err __wrap_ab_redis_client_another(const ab_redis_client *c, void *arg, ab_redis_client **out,
                                      ab_error *err);
void __wrap_ab_redis_client_close(ab_redis_client *c);
void __wrap_ab_redis_client_need(ab_redis_client *c);
void __wrap_ab_redis_client_drop(ab_redis_client *c);
bool __wrap_ab_redis_client_is_up(const ab_redis_client *c);
void __wrap_ab_redis_client_send(ab_redis_client *c, const ab_str *args, size_t count);
void __wrap_ab_redis_client_pause(ab_redis_client *c, bool paused);
void __wrap_ab_live_stream_serve(ab_live_stream *s, const ab_live_handler *handler, void *arg);
ab_err __wrap_ab_live_stream_answer(ab_live_stream *s, int status, const ab_http_field *fields,
                                    size_t count);
ab_err __wrap_ab_live_stream_send(ab_live_stream *s, ab_str bytes);
void __wrap_ab_live_stream_end(ab_live_stream *s);
void __wrap_ab_live_stream_cancel(ab_live_stream *s);

ab_err __wrap_ab_redis_client_new(uv_loop_t *loop, ab_log *log, const ab_redis_address *address,
                                  const ab_redis_client_ops *ops, void *arg, ab_redis_client **out,
                                  ab_error *err)
{
    (void)loop;
    (void)log;
    (void)address;
    (void)err;
    assert_true(made < CLIENTS_MAX);
    clients[made] = (ab_redis_client){.ops = ops, .arg = arg};
    *out = &clients[made++];
    return AB_ERR_OK;
}

ab_err __wrap_ab_redis_client_another(const ab_redis_client *c, void *arg, ab_redis_client **out,
                                      ab_error *err)
{
    attempts++;
    if (unreadable)
        return AB_ERR_CONFIG;
    return __wrap_ab_redis_client_new(NULL, NULL, NULL, c->ops, arg, out, err);
}

void __wrap_ab_redis_client_close(ab_redis_client *c)
{
    assert_non_null(c);
}

void __wrap_ab_redis_client_need(ab_redis_client *c)
{
    fail_msg("%s", c == NULL ? "no client" : "it is up");
}

void __wrap_ab_redis_client_drop(ab_redis_client *c)
{
    c->paused = false;
}

bool __wrap_ab_redis_client_is_up(const ab_redis_client *c)
{
    return c != NULL;
}

void __wrap_ab_redis_client_send(ab_redis_client *c, const ab_str *args, size_t count)
{
    assert_int_equal(count, 2);
    assert_true(ab_str_is(args[0], "GET"));
    c->asked++;
}

void __wrap_ab_redis_client_pause(ab_redis_client *c, bool paused)
{
    c->paused = paused;
}

void __wrap_ab_live_stream_serve(ab_live_stream *s, const ab_live_handler *handler, void *arg)
{
    s->handler = handler;
    s->arg = arg;
}

ab_err __wrap_ab_live_stream_answer(ab_live_stream *s, int status, const ab_http_field *fields,
                                    size_t count)
{
    (void)s;
    (void)fields;
    assert_int_equal(count, 1);
    assert_int_equal(status, 200);
    return AB_ERR_OK;
}

ab_err __wrap_ab_live_stream_send(ab_live_stream *s, ab_str bytes)
{
    if (s->room < bytes.len)
        return AB_ERR_FULL;
    s->room -= bytes.len;
    s->taken += bytes.len;
    return AB_ERR_OK;
}

void __wrap_ab_live_stream_end(ab_live_stream *s)
{
    s->is_ended = true;
}

void __wrap_ab_live_stream_cancel(ab_live_stream *s)
{
    s->is_cancelled = true;
}

static ab_redis_values values;

static int setup(void **state)
{
    (void)state;
    made = attempts = 0;
    unreadable = false;
    return ab_redis_spoke_get_init(&values, NULL, NULL, NULL, NULL) == AB_ERR_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ab_redis_spoke_get_fini(&values);
    return 0;
}
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static void ask(ab_live_stream *s, const char *key)
{
    assert_int_equal(ab_redis_spoke_get(&values, s, ab_str_of(key)), AB_ERR_OK);
}

/* The next piece of a value of so many. @return false: the client was paused, nothing came */
static bool reply(ab_redis_client *c, size_t piece, size_t pieces)
{
    static char bytes[PIECE + 32];
    if (c->paused)
        return false;
    int head = piece == 0 ? snprintf(bytes, sizeof(bytes), "$%zu\r\n", (size_t)PIECE * pieces) : 0;
    memset(bytes + head, 'v', PIECE);
    memcpy(bytes + head + PIECE, "\r\n", 2);
    bool ends = piece == pieces - 1;
    c->ops->on_reply(c->arg,
                     &(ab_resp_piece){.bytes = {bytes, (size_t)head + PIECE + (ends ? 2 : 0)},
                                      .begins = piece == 0,
                                      .ends = ends});
    return true;
}

static void reply_until_paused(ab_redis_client *c, size_t *piece)
{
    while (*piece < PIECES && reply(c, *piece, PIECES))
        ++*piece;
}

static void over(ab_live_stream *s)
{
    s->handler->on_over(s->arg, AB_ERR_OK, NULL);
}

static void what_follows_a_slow_value_is_asked_for_by_another_connection(void **state)
{
    ab_live_stream slow = {0}, other = {.room = PIECE};
    size_t piece = 0;
    (void)state;
    ask(&slow, "slow");
    ask(&other, "other");
    assert_int_equal(clients[0].asked, 2);
    reply_until_paused(&clients[0], &piece);
    assert_true(clients[0].paused && piece < PIECES);
    assert_int_equal(attempts, 1);
    assert_int_equal(clients[1].asked, 1);
    assert_true(reply(&clients[1], 0, 1));
    assert_true(other.is_ended);
    assert_int_equal(other.taken, PIECE);
    over(&other);
}

/* As long as its certificates cannot be read, which each attempt does. */
static void a_connection_that_cannot_be_made_is_tried_once_for_a_value(void **state)
{
    ab_live_stream slow = {0}, other = {.room = PIECE};
    size_t piece = 0;
    (void)state;
    unreadable = true;
    ask(&slow, "slow");
    ask(&other, "other");
    while (piece < PIECES) {
        reply_until_paused(&clients[0], &piece);
        slow.room = PIECE;
        slow.handler->on_room(slow.arg);
    }
    assert_int_equal(attempts, 1);
    slow.room = (size_t)PIECE * PIECES;
    slow.handler->on_room(slow.arg);
    assert_true(slow.is_ended);
    assert_int_equal(slow.taken, PIECE * PIECES);
    over(&slow);
    assert_true(reply(&clients[0], 0, 1)); /* it has waited */
    assert_int_equal(other.taken, PIECE);
    over(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_follows_a_slow_value_is_asked_for_by_another_connection),
        TEST(a_connection_that_cannot_be_made_is_tried_once_for_a_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
