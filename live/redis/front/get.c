/* SPDX-License-Identifier: Apache-2.0
 *
 * A key that an agent answers: status 200, content-length and the value, 404 when it has none, and
 * anything else with the reason in the field argobus-error. The value is sent to the client as it
 * comes, and the agent gets credits for what the client has taken.
 */
#include "live/redis/front/front_priv.h"

#include <stdlib.h>

struct ab_redis_get {
    ab_redis_conn *conn; /* NULL: the client has its reply */
    ab_live_stream *stream;
    int64_t begun_ms;
    int status; /* 0: not answered yet */
    uint64_t length;
    uint64_t received;
    size_t owed; /* credits */
    char error[AB_ERROR_TEXT_MAX];
    char agent[AB_REDIS_FRONT_AGENT_MAX + 1];
};

static void note(const ab_redis_get *g, ab_redis_front *f, ab_redis_got got)
{
    ab_metric_add(f->gets[got], 1);
    ab_metric_observe(f->seconds, (double)(ab_redis_front_now_ms(f) - g->begun_ms) / 1000);
}

static void put_error(ab_redis_get *g, const char *reason)
{
    ab_error text = {0};
    ab_fail(&text, AB_ERR_UNAVAILABLE, "agent \"%s\": %s", g->agent, reason);
    ab_resp_put_error(ab_redis_wire_out(g->conn->client), ab_str_of(text.text));
}

static ab_redis_got put_reply(ab_redis_get *g, const char *reason)
{
    ab_redis_conn *c = g->conn;
    if (g->status == 200) {
        ab_redis_wire_put(c->client, AB_STR("\r\n"));
        return AB_REDIS_GOT_VALUE;
    }
    if (g->status == 404) {
        ab_redis_wire_put(c->client, c->is_resp3 ? AB_STR("_\r\n") : AB_STR("$-1\r\n"));
        return AB_REDIS_GOT_NOTHING;
    }
    put_error(g, g->status == 0 ? reason : g->error);
    return AB_REDIS_GOT_ERROR;
}

/* The client gets the end of its reply. A value that stopped short cannot be put right: the
 * connection ends. */
static void finish(ab_redis_get *g, const char *reason)
{
    ab_redis_conn *c = g->conn;
    if (c == NULL)
        return;
    if (g->status == 200 && g->received < g->length) {
        note(g, c->front, AB_REDIS_GOT_ERROR);
        AB_DEBUG(c->front->o.log, LIVE, "value of an agent's key was cut off",
                 AB_KV("agent", g->agent), AB_KV("error", reason));
        c->ops->end(c);
        return;
    }
    note(g, c->front, put_reply(g, reason));
    g->conn = NULL;
    c->get = NULL;
    c->in_reply = false;
    ab_redis_front_expect_done(c);
    c->ops->go_on(c);
}

static void on_answer(void *arg, int status, const ab_http_field *fields, size_t count)
{
    ab_redis_get *g = arg;
    uint64_t length = 0;
    ab_str reason = ab_http_field_find(fields, count, "argobus-error");
    g->status = status;
    snprintf(g->error, sizeof(g->error), "%.*s", AB_STR_ARG(reason));
    if (status != 200)
        return;
    if (ab_str_to_u64(ab_http_field_find(fields, count, "content-length"), &length) != AB_ERR_OK ||
        length > AB_RESP_REPLY_BULK) {
        g->status = 502;
        snprintf(g->error, sizeof(g->error), "the answer has no length");
        return;
    }
    g->length = length;
    g->conn->in_reply = true;
    ab_resp_put_head(ab_redis_wire_out(g->conn->client), '$', length);
}

static void on_data(void *arg, ab_str bytes)
{
    ab_redis_get *g = arg;
    if (g->conn == NULL || g->status != 200) {
        ab_live_stream_consumed(g->stream, bytes.len);
        return;
    }
    ab_redis_conn *c = g->conn;
    if (bytes.len > g->length - g->received) {
        c->ops->close(c);
        return;
    }
    g->received += bytes.len;
    ab_redis_wire_put(c->client, bytes);
    g->owed += bytes.len;
    if (!ab_redis_wire_is_full(c->client))
        ab_redis_front_get_go_on(g);
}

static void on_end(void *arg)
{
    finish(arg, "the agent has not answered");
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    ab_redis_get *g = arg;
    g->stream = NULL;
    finish(g, code == AB_ERR_OK ? "the agent has not answered" : err->text);
    if (g->conn != NULL)
        g->conn->get = NULL;
    free(g);
}

static const ab_live_handler handler = {
    .on_answer = on_answer,
    .on_data = on_data,
    .on_end = on_end,
    .on_over = on_over,
};

void ab_redis_front_get_go_on(ab_redis_get *g)
{
    if (g->owed > 0)
        ab_live_stream_consumed(g->stream, g->owed);
    g->owed = 0;
}

void ab_redis_front_get_cancel(ab_redis_get *g)
{
    if (g == NULL)
        return;
    if (g->stream == NULL) { /* inside on_over, which frees it */
        g->conn = NULL;
        return;
    }
    ab_live_stream_cancel(g->stream);
    free(g);
}

/* @return false: the client has been given an error */
static bool ask_agent(ab_redis_conn *c, ab_redis_get *g, ab_str key)
{
    ab_redis_front *f = c->front;
    ab_error err = {0};
    ab_str agent = ab_redis_route_find(&f->o.agents, key);
    if (agent.ptr == NULL)
        agent = AB_STR("removed");
    snprintf(g->agent, sizeof(g->agent), "%.*s", AB_STR_ARG(agent));
    const ab_redis_ask ask = {agent, "GET", key, f->o.deadline_ms, &handler, g};
    if (ab_redis_front_ask(f, &ask, &g->stream, &err) == AB_ERR_OK)
        return true;
    note(g, f, AB_REDIS_GOT_ERROR);
    put_error(g, err.text);
    return false;
}

void ab_redis_front_get_begin(ab_redis_conn *c)
{
    const ab_redis_expect *e = AB_LINK_OF(c->expected.next, ab_redis_expect, link);
    ab_redis_get *g = calloc(1, sizeof(*g));
    if (g == NULL) {
        c->ops->close(c);
        return;
    }
    g->conn = c;
    g->begun_ms = ab_redis_front_now_ms(c->front);
    if (ask_agent(c, g, (ab_str){e->key, e->key_len})) {
        c->get = g;
        return;
    }
    free(g);
    ab_redis_front_expect_done(c);
}
