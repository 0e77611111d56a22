/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's subscription to an agent's channel: a stream on which the agent sends each message as
 * a bulk string. Messages say that something changed, so of several that wait for a client the last
 * one counts, and one is made up after a time in which some may have been missed. An agent that is
 * away is asked again, for as long as the client is subscribed.
 */
#include "live/redis/front/front_priv.h"

#define SUBS_MAX       1000 /* of one connection; go-redis opens one for each */
#define RETRY_FIRST_MS 1000
#define RETRY_MAX_MS   15000

static void retry_later(ab_redis_sub *s)
{
    ab_redis_front *f = s->conn->front;
    s->was_lost = true;
    ab_buf_fini(&s->in);
    s->frames = (ab_resp_replies){0};
    s->retry_ms = ab_redis_front_now_ms(f) + ab_backoff_next(&s->backoff);
    ab_list_append(&f->retries, &s->retry);
}

static void tell(ab_redis_sub *s, ab_str message)
{
    ab_buf_clear(&s->message);
    ab_buf_put(&s->message, message);
    ab_list_append(&s->conn->told, &s->told);
}

static void on_answer(void *arg, int status, const ab_http_field *fields, size_t count)
{
    ab_redis_sub *s = arg;
    (void)fields;
    (void)count;
    if (status != 200) {
        ab_live_stream_cancel(s->stream);
        s->stream = NULL;
        retry_later(s);
        return;
    }
    ab_backoff_reset(&s->backoff);
    if (!s->was_lost)
        return;
    s->was_lost = false;
    tell(s, AB_STR(""));
    s->conn->ops->go_on(s->conn);
}

/* @return PARSE: not what an agent of ours sends */
static ab_err read_messages(ab_redis_sub *s)
{
    ab_resp_piece piece;
    const char *why;
    ab_str all = ab_buf_str(&s->in);
    size_t used = 0;
    do {
        ab_str rest = {all.ptr + used, all.len - used};
        ab_err e = ab_resp_replies_next(&s->frames, rest, &piece, &why);
        char type = '$';
        ab_str value = AB_STR("");
        if (e != AB_ERR_OK || (piece.bytes.len > 0 && !(piece.begins && piece.ends)))
            return AB_ERR_PARSE;
        used += piece.bytes.len;
        bool has = ab_resp_take(&piece.bytes, &type, &value);
        if (type != '$' || value.ptr == NULL)
            return AB_ERR_PARSE;
        if (has)
            tell(s, value);
    } while (used < all.len && piece.begins);
    memmove(s->in.ptr, s->in.ptr + used, all.len - used);
    s->in.len -= used;
    return AB_ERR_OK;
}

static void on_data(void *arg, ab_str bytes)
{
    ab_redis_sub *s = arg;
    ab_live_stream_consumed(s->stream, bytes.len);
    ab_buf_put(&s->in, bytes);
    if (ab_buf_status(&s->in) != AB_ERR_OK || read_messages(s) != AB_ERR_OK) {
        ab_live_stream_cancel(s->stream);
        s->stream = NULL;
        retry_later(s);
    }
    s->conn->ops->go_on(s->conn);
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    ab_redis_sub *s = arg;
    (void)code;
    (void)err;
    s->stream = NULL;
    retry_later(s);
}

/* The agent ends it when it has lost its redis. */
static void on_end(void *arg)
{
    ab_redis_sub *s = arg;
    ab_live_stream_cancel(s->stream);
    on_over(s, AB_ERR_OK, NULL);
}

static const ab_live_handler handler = {
    .on_answer = on_answer,
    .on_data = on_data,
    .on_end = on_end,
    .on_over = on_over,
};

static void ask_agent(ab_redis_sub *s)
{
    ab_redis_front *f = s->conn->front;
    ab_error err = {0};
    ab_str agent = ab_redis_route_find(&f->o.agents, s->channel);
    ab_link_remove(&s->retry);
    const ab_redis_ask ask = {agent, "SUBSCRIBE", s->channel, 0, &handler, s};
    if (agent.ptr == NULL || ab_redis_front_ask(f, &ask, &s->stream, &err) != AB_ERR_OK) {
        s->stream = NULL;
        retry_later(s);
    }
}

void ab_redis_front_sub_begin(ab_redis_conn *c, ab_str channel)
{
    if (channel.ptr == NULL || ab_redis_route_find(&c->front->o.agents, channel).ptr == NULL)
        return;
    if (c->subs == NULL)
        c->subs = ab_map_new();
    if (c->subs == NULL || ab_map_count(c->subs) >= SUBS_MAX) {
        c->ops->end(c);
        return;
    }
    ab_redis_sub *s = ab_map_make(c->subs, channel, sizeof(*s));
    if (s == NULL || s->conn != NULL)
        return;
    s->conn = c;
    s->channel = ab_map_at(s).key;
    ab_link_init(&s->retry);
    ab_link_init(&s->told);
    ab_buf_init(&s->in, 2 * (size_t)AB_RESP_WHOLE_MAX);
    ab_buf_init(&s->message, AB_RESP_WHOLE_MAX);
    ab_backoff_init(&s->backoff, RETRY_FIRST_MS, RETRY_MAX_MS);
    ab_metric_add(c->front->subscriptions, 1);
    ask_agent(s);
}

static void end_sub(ab_redis_conn *c, ab_redis_sub *s)
{
    if (s->stream != NULL)
        ab_live_stream_cancel(s->stream);
    ab_link_remove(&s->retry);
    ab_link_remove(&s->told);
    ab_buf_fini(&s->in);
    ab_buf_fini(&s->message);
    ab_map_drop(c->subs, s);
    ab_metric_add(c->front->subscriptions, -1);
}

void ab_redis_front_sub_end(ab_redis_conn *c, ab_str channel)
{
    ab_redis_sub *s = c->subs == NULL ? NULL : ab_map_find(c->subs, channel);
    if (s != NULL)
        end_sub(c, s);
}

void ab_redis_front_sub_end_all(ab_redis_conn *c)
{
    if (c->subs == NULL)
        return;
    for (ab_map_iter i = ab_map_first(c->subs); i.entry != NULL; i = ab_map_first(c->subs))
        end_sub(c, i.value);
    ab_map_free(c->subs, NULL);
    c->subs = NULL;
}

void ab_redis_front_sub_deliver(ab_redis_conn *c)
{
    ab_buf *out = ab_redis_wire_out(c->client);
    while (ab_link_is_in_use(&c->told) && !c->in_reply && !c->is_discarding &&
           !ab_redis_wire_is_full(c->client)) {
        ab_redis_sub *s = AB_LINK_OF(ab_list_pop(&c->told), ab_redis_sub, told);
        ab_resp_put_head(out, c->is_resp3 ? '>' : '*', 3);
        ab_resp_put_bulk(out, AB_STR("message"));
        ab_resp_put_bulk(out, s->channel);
        ab_resp_put_bulk(out, ab_buf_str(&s->message));
        ab_buf_clear(&s->message);
    }
}

void ab_redis_front_sub_retry(ab_redis_front *front, int64_t now_ms)
{
    ab_link due;
    ab_link_init(&due);
    for (ab_list_iter i = ab_list_first(&front->retries); i.link != NULL; ab_list_next(&i)) {
        ab_redis_sub *s = AB_LINK_OF(i.link, ab_redis_sub, retry);
        if (s->retry_ms <= now_ms)
            ab_list_append(&due, &s->retry);
    }
    while (ab_link_is_in_use(&due))
        ask_agent(AB_LINK_OF(due.next, ab_redis_sub, retry));
}
