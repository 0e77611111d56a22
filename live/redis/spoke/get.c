/* SPDX-License-Identifier: Apache-2.0
 *
 * Values by one connection, in the order in which they were asked for. A value is passed on as it
 * comes; of what its stream does not take yet, HELD bytes are kept, and then the connection is
 * paused until it does. From then on the connection is for this value only: what was asked for
 * behind it is asked for again by another one, so that nobody waits for somebody else's stream. Of
 * so many slow values there can be AB_REDIS_SPOKE_SLOW_MAX; then the one of which nothing was taken
 * for longest is broken off. Each stream has a deadline that its principal keeps.
 */
#include "live/redis/spoke/spoke_priv.h"

#include <stdio.h>
#include <stdlib.h>

#define CHUNK (16u * 1024) /* that a stream takes at once */
#define HELD  (512u * 1024)

/* shared -> slow -> idle -> shared. */
typedef struct ab_redis_values_conn {
    ab_link link; /* in a list of ab_redis_values, unless it is the shared one */
    ab_redis_values *values;
    ab_redis_client *client;
    ab_link sent; /* their replies follow in this order */
    bool is_slow; /* the first of them is the only one */
} conn;

/* One key that is wanted: waiting -> sent -> replied. */
typedef struct {
    ab_link link; /* in a list of ab_redis_values, or of a connection */
    ab_redis_values *values;
    conn *conn;             /* by which it was sent, until it is replied to */
    ab_live_stream *stream; /* NULL: over */
    bool is_replied;
    bool is_answered; /* the stream, with a value */
    bool was_full;    /* what is kept of it */
    uint64_t left;    /* bytes of the value that have not come */
    ab_buf rest;      /* came, and the stream takes it later */
    size_t key_len;
    char key[];
} want;

static want *first_of(const ab_link *list)
{
    return ab_link_is_in_use(list) ? AB_LINK_OF(list->next, want, link) : NULL;
}

static void free_want(want *w)
{
    ab_link_remove(&w->link);
    ab_buf_fini(&w->rest);
    free(w);
}

static void give_up(want *w)
{
    ab_live_stream_cancel(w->stream);
    w->stream = NULL;
    ab_buf_fini(&w->rest);
}

/* Send what is kept, as far as the stream takes it. */
static void send_rest(want *w)
{
    size_t at = 0;
    ab_err e = ab_buf_status(&w->rest);
    while (at < w->rest.len && e == AB_ERR_OK) {
        size_t n = w->rest.len - at < CHUNK ? w->rest.len - at : CHUNK;
        e = ab_live_stream_send(w->stream, (ab_str){w->rest.ptr + at, n});
        at += e == AB_ERR_OK ? n : 0;
    }
    if (e != AB_ERR_OK && e != AB_ERR_FULL) {
        give_up(w);
    } else if (at == w->rest.len) {
        ab_buf_fini(&w->rest);
    } else if (at > 0) {
        memmove(w->rest.ptr, w->rest.ptr + at, w->rest.len - at);
        w->rest.len -= at;
    }
}

/* The redis has said all: the stream ends when it has been given all. */
static void end_if_given(want *w)
{
    if (w->stream == NULL)
        free_want(w);
    else if (w->rest.len == 0)
        ab_live_stream_end(w->stream);
}

/* ----- connections ----- */

static void free_conn(conn *c)
{
    ab_link_remove(&c->link);
    ab_redis_client_close(c->client);
    free(c);
}

static conn *new_conn(ab_redis_values *v)
{
    conn *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return NULL;
    c->values = v;
    ab_link_init(&c->link);
    ab_link_init(&c->sent);
    return c;
}

/* One that nobody uses. @return NULL when out of memory, or of certificates */
static conn *take_conn(ab_redis_values *v)
{
    ab_link *link = ab_list_pop(&v->idle);
    if (link != NULL)
        return AB_LINK_OF(link, conn, link);
    conn *c = new_conn(v);
    if (c != NULL && ab_redis_client_another(v->shared->client, c, &c->client, NULL) == AB_ERR_OK)
        return c;
    free(c);
    return NULL;
}

/* Its value is over, and replies that nobody waits for may follow. */
static void retire(conn *c)
{
    ab_redis_client_drop(c->client);
    c->is_slow = false;
    c->values->slow_count--;
    ab_list_append(&c->values->idle, &c->link);
}

static void break_off_stalest(ab_redis_values *v)
{
    conn *c = AB_LINK_OF(v->slow.next, conn, link);
    want *w = first_of(&c->sent);
    if (w->stream != NULL)
        give_up(w);
    free_want(w);
    retire(c);
}

static void send_waiting(ab_redis_values *v)
{
    conn *c = v->shared;
    if (!ab_link_is_in_use(&v->waiting))
        return;
    if (!ab_redis_client_is_up(c->client)) {
        ab_redis_client_need(c->client);
        return;
    }
    for (want *w = first_of(&v->waiting); w != NULL; w = first_of(&v->waiting)) {
        ab_str args[] = {AB_STR("GET"), {w->key, w->key_len}};
        ab_redis_client_send(c->client, args, 2);
        w->conn = c;
        ab_list_append(&c->sent, &w->link);
    }
}

/* The connection is for its first value only. */
static void set_slow(conn *c)
{
    ab_redis_values *v = c->values;
    conn *next = take_conn(v);
    if (next == NULL)
        return; /* the others wait for this value */
    if (v->slow_count == AB_REDIS_SPOKE_SLOW_MAX)
        break_off_stalest(v);
    v->shared = next;
    v->slow_count++;
    c->is_slow = true;
    ab_list_append(&v->slow, &c->link);
    want *first = first_of(&c->sent);
    ab_list_move_all(&c->sent, &v->waiting);
    ab_list_append(&c->sent, &first->link);
    for (ab_list_iter i = ab_list_first(&v->waiting); i.link != NULL; ab_list_next(&i)) {
        want *w = AB_LINK_OF(i.link, want, link);
        w->conn = NULL;
        if (w->stream == NULL)
            free_want(w);
    }
    send_waiting(v);
}

/* The redis is read as long as the value that it is at is taken. */
static void pace(conn *c)
{
    want *w = first_of(&c->sent);
    bool full = w != NULL && w->rest.len >= HELD;
    /* Once for each value: a connection that cannot be made has read its certificates. */
    if (full && !w->was_full) {
        w->was_full = true;
        set_slow(c);
    }
    ab_redis_client_pause(c->client, full);
}

static void on_room(void *arg)
{
    want *w = arg;
    conn *c = w->conn;
    send_rest(w);
    if (w->is_replied) {
        end_if_given(w);
        return;
    }
    if (c == NULL)
        return;
    if (c->is_slow)
        ab_list_append(&c->values->slow, &c->link);
    pace(c);
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    want *w = arg;
    conn *c = w->conn;
    (void)code;
    (void)err;
    w->stream = NULL;
    ab_buf_fini(&w->rest);
    bool is_slow = c != NULL && c->is_slow;
    if (c == NULL || is_slow)
        free_want(w);
    if (is_slow)
        retire(c);
    else if (c != NULL)
        pace(c);
}

static const ab_live_handler handler = {.on_room = on_room, .on_over = on_over};

static void set_replied(want *w)
{
    w->is_replied = true;
    w->conn = NULL;
    ab_list_append(&w->values->replied, &w->link);
}

/* There is no value, or not all of it. */
static void refuse(want *w, int status, ab_str reason)
{
    set_replied(w);
    if (w->stream != NULL && w->is_answered)
        give_up(w);
    else if (w->stream != NULL && !ab_redis_spoke_refuse(w->stream, status, reason))
        w->stream = NULL;
    if (w->stream == NULL)
        free_want(w);
}

/* @return false: the reply is not a value */
static bool begin_value(want *w, ab_str *bytes)
{
    int64_t length = ab_resp_take_length(bytes);
    char text[24];
    if (length < 0)
        return false;
    snprintf(text, sizeof(text), "%lld", (long long)length);
    ab_http_field field = {AB_STR("content-length"), ab_str_of(text)};
    w->left = (uint64_t)length;
    w->is_answered = true;
    if (w->stream != NULL && ab_live_stream_answer(w->stream, 200, &field, 1) != AB_ERR_OK)
        give_up(w);
    return true;
}

static void answer_no_value(want *w, ab_str bytes)
{
    char type = '\0';
    ab_str value = AB_STR("");
    bool taken = ab_resp_take(&bytes, &type, &value);
    if (taken && value.ptr == NULL)
        refuse(w, 404, AB_STR(""));
    else if (taken && type == '-')
        refuse(w, 502, value);
    else
        refuse(w, 502, AB_STR("redis has answered with something else than a value"));
}

static void take_value(want *w, const ab_resp_piece *piece, ab_str bytes)
{
    size_t n = bytes.len < w->left ? bytes.len : (size_t)w->left; /* not the end of line */
    w->left -= n;
    if (w->stream != NULL) {
        ab_buf_put(&w->rest, (ab_str){bytes.ptr, n});
        send_rest(w);
    }
    if (piece->ends) {
        set_replied(w);
        end_if_given(w);
    }
}

static void on_reply(void *arg, const ab_resp_piece *piece)
{
    conn *c = arg;
    want *w = first_of(&c->sent);
    ab_str bytes = piece->bytes;
    if (w == NULL)
        return;
    if (piece->begins && !begin_value(w, &bytes)) {
        answer_no_value(w, bytes);
        return;
    }
    take_value(w, piece, bytes);
    if (c->is_slow && piece->ends)
        retire(c);
    else
        pace(c);
}

static void on_up(void *arg)
{
    const conn *c = arg;
    send_waiting(c->values);
}

static bool on_down(void *arg, const ab_error *why)
{
    conn *c = arg;
    ab_redis_values *v = c->values;
    ab_error text = *why;
    ab_error_prefix(&text, "its redis cannot be reached");
    AB_DEBUG(v->log, LIVE, "cannot reach redis", AB_KV("error", why->text));
    if (!c->is_slow)
        ab_list_move_all(&v->waiting, &c->sent);
    for (want *w = first_of(&c->sent); w != NULL; w = first_of(&c->sent))
        refuse(w, 503, ab_str_of(text.text));
    if (c->is_slow)
        retire(c);
    return false;
}

static const ab_redis_client_ops ops = {on_up, on_reply, on_down};

ab_err ab_redis_spoke_get(ab_redis_values *v, ab_live_stream *s, ab_str key)
{
    want *w = calloc(1, sizeof(*w) + key.len);
    if (w == NULL)
        return AB_ERR_NOMEM;
    w->values = v;
    w->stream = s;
    w->key_len = key.len;
    memcpy(w->key, key.ptr, key.len);
    ab_buf_init(&w->rest, HELD + 4 * (size_t)AB_RESP_WHOLE_MAX);
    ab_link_init(&w->link);
    ab_live_stream_serve(s, &handler, w);
    ab_list_append(&v->waiting, &w->link);
    send_waiting(v);
    return AB_ERR_OK;
}

ab_err ab_redis_spoke_get_init(ab_redis_values *v, uv_loop_t *loop, ab_log *log,
                               const ab_redis_address *redis, ab_error *err)
{
    *v = (ab_redis_values){.log = log};
    ab_link_init(&v->slow);
    ab_link_init(&v->idle);
    ab_link_init(&v->waiting);
    ab_link_init(&v->replied);
    v->shared = new_conn(v);
    if (v->shared == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for redis");
    return ab_redis_client_new(loop, log, redis, &ops, v->shared, &v->shared->client, err);
}

static void free_wants(ab_link *list)
{
    for (want *w = first_of(list); w != NULL; w = first_of(list)) {
        if (w->stream != NULL)
            give_up(w);
        free_want(w);
    }
}

void ab_redis_spoke_get_fini(ab_redis_values *v)
{
    if (v->shared == NULL)
        return;
    ab_list_move_all(&v->slow, &v->idle);
    ab_list_append(&v->idle, &v->shared->link);
    while (ab_link_is_in_use(&v->idle)) {
        conn *c = AB_LINK_OF(v->idle.next, conn, link);
        ab_list_move_all(&c->sent, &v->waiting);
        free_conn(c);
    }
    free_wants(&v->waiting);
    free_wants(&v->replied);
}
