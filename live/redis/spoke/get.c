/* SPDX-License-Identifier: Apache-2.0
 *
 * Values by one connection, in the order in which they were asked for. A value is passed on as it
 * comes; of what its stream does not take yet, HELD bytes are kept, and then the connection is
 * paused until it does: the values behind it wait. Each stream has a deadline that its principal
 * keeps, and the value of a stream that is over is read and dropped.
 */
#include "live/redis/spoke/spoke_priv.h"

#include <stdio.h>
#include <stdlib.h>

#define CHUNK (16u * 1024) /* that a stream takes at once */
#define HELD  (512u * 1024)

/* One key that is wanted: waiting -> sent -> replied. */
typedef struct {
    ab_link link; /* in a list of ab_redis_values */
    ab_redis_values *values;
    ab_live_stream *stream; /* NULL: over */
    bool is_sent;           /* its reply follows */
    bool is_replied;
    bool is_answered; /* the stream, with a value */
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

/* The redis is read as long as the value that it is at is taken. */
static void pace(ab_redis_values *v)
{
    const want *w = first_of(&v->sent);
    ab_redis_client_pause(v->client, w != NULL && w->rest.len >= HELD);
}

static void on_room(void *arg)
{
    want *w = arg;
    ab_redis_values *v = w->values;
    send_rest(w);
    if (w->is_replied)
        end_if_given(w);
    pace(v);
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    want *w = arg;
    ab_redis_values *v = w->values;
    (void)code;
    (void)err;
    w->stream = NULL;
    ab_buf_fini(&w->rest);
    if (w->is_replied || !w->is_sent)
        free_want(w);
    pace(v);
}

static const ab_live_handler handler = {.on_room = on_room, .on_over = on_over};

static void set_replied(want *w)
{
    w->is_replied = true;
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
    ab_live_field field = {AB_STR("content-length"), ab_str_of(text)};
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

static void on_reply(void *arg, const ab_resp_piece *piece)
{
    ab_redis_values *v = arg;
    want *w = first_of(&v->sent);
    ab_str bytes = piece->bytes;
    if (w == NULL)
        return;
    if (piece->begins && !begin_value(w, &bytes)) {
        answer_no_value(w, bytes);
        return;
    }
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
    pace(v);
}

static void send_waiting(ab_redis_values *v)
{
    for (want *w = first_of(&v->waiting); w != NULL; w = first_of(&v->waiting)) {
        ab_str args[] = {AB_STR("GET"), {w->key, w->key_len}};
        ab_redis_client_send(v->client, args, 2);
        w->is_sent = true;
        ab_list_append(&v->sent, &w->link);
    }
}

static void on_up(void *arg)
{
    send_waiting(arg);
}

static bool on_down(void *arg, const ab_error *why)
{
    ab_redis_values *v = arg;
    ab_error text = *why;
    ab_error_prefix(&text, "its redis cannot be reached");
    AB_DEBUG(v->log, LIVE, "cannot reach redis", AB_KV("error", (const char *)why->text));
    ab_list_move_all(&v->waiting, &v->sent);
    for (want *w = first_of(&v->sent); w != NULL; w = first_of(&v->sent))
        refuse(w, 503, ab_str_of(text.text));
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
    if (ab_redis_client_is_up(v->client))
        send_waiting(v);
    else
        ab_redis_client_need(v->client);
    return AB_ERR_OK;
}

ab_err ab_redis_spoke_get_init(ab_redis_values *v, uv_loop_t *loop, ab_log *log,
                               const ab_redis_address *redis, ab_error *err)
{
    *v = (ab_redis_values){.log = log};
    ab_link_init(&v->waiting);
    ab_link_init(&v->sent);
    ab_link_init(&v->replied);
    return ab_redis_client_new(loop, log, redis, &ops, v, &v->client, err);
}

void ab_redis_spoke_get_fini(ab_redis_values *v)
{
    if (v->client == NULL)
        return;
    ab_list_move_all(&v->waiting, &v->sent);
    ab_list_move_all(&v->replied, &v->sent);
    for (want *w = first_of(&v->sent); w != NULL; w = first_of(&v->sent)) {
        if (w->stream != NULL)
            give_up(w);
        free_want(w);
    }
    ab_redis_client_close(v->client);
}
