/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys and channels of an argocd-agent's redis. A key is one request and one response. A channel is
 * a subscription for as long as its stream lasts: each message comes as a response of its own under
 * the id of the request. An argocd-agent has no request to end one: it ends the subscriptions of a
 * connection from which it has heard no ping for ten minutes. So each channel is a connection to
 * it, and pings go out every minute; a channel whose ping was not answered is lost.
 */
#include "base/core/digest.h"
#include "live/gopeer/agents/agents_priv.h"
#include "live/gopeer/wire/wire.h"
#include "live/redis/resp.h"
#include "live/redis/route.h"
#include "net/timer.h"

#include <stdio.h>
#include <stdlib.h>

#define VALUE_MAX    (64u * 1024 * 1024)
#define MESSAGES_MAX (64u * 1024) /* that wait for the stream */
#define PING_MS      60000
#define TICK_MS      5000

typedef struct {
    ab_gopeer_call call; /* first */
    ab_link pinged;      /* of a channel: in the list of all */
    ab_gopeer_redis_what what;
    char connection[37];
    int64_t ping_ms; /* when the next is due */
    bool waits;      /* for the answer to the last ping */
    ab_buf key;
} request;

/* ----- responses ----- */

static void refuse(request *r, int status, ab_str why)
{
    char text[256];
    size_t len = why.len < sizeof(text) ? why.len : sizeof(text);
    for (size_t i = 0; i < len; i++)
        text[i] = why.ptr[i] >= ' ' && why.ptr[i] <= '~' ? why.ptr[i] : '?';
    ab_buf_clear(&r->call.out);
    ab_gopeer_call_answer(&r->call, status, (ab_http_field){AB_STR("argobus-error"), {text, len}},
                          true);
}

static void answer_value(request *r, const ab_gopeer_redis_response *said)
{
    char length[24];
    if (!said->hit) {
        ab_gopeer_call_answer(&r->call, 404, (ab_http_field){AB_STR("argobus-error"), AB_STR("")},
                              true);
        return;
    }
    snprintf(length, sizeof(length), "%zu", r->call.out.len);
    ab_gopeer_call_answer(&r->call, 200,
                          (ab_http_field){AB_STR("content-length"), ab_str_of(length)}, true);
}

/* argocd-agent tells of empty messages only. One that does not fit is one that waits already. */
static void pass_message(request *r)
{
    if (!r->call.answered || r->call.out.len > MESSAGES_MAX)
        return;
    ab_resp_put_bulk(&r->call.out, AB_STR(""));
    ab_gopeer_call_flush(&r->call);
}

static void take(request *r, const ab_gopeer_redis_response *said)
{
    if (said->what == AB_GOPEER_REDIS_PING)
        r->waits = false;
    else if (said->what == AB_GOPEER_REDIS_MESSAGE && r->what == AB_GOPEER_REDIS_SUBSCRIBE)
        pass_message(r);
    else if (said->what != r->what || r->call.answered)
        return; /* of another kind, or a second one */
    else if (said->error[0] != '\0')
        refuse(r, 502, ab_str_of(said->error));
    else if (said->what == AB_GOPEER_REDIS_GET)
        answer_value(r, said);
    else
        ab_gopeer_call_answer(&r->call, 200,
                              (ab_http_field){AB_STR("content-type"), AB_STR("text/plain")}, false);
}

static void on_response(ab_gopeer_call *call, ab_str data)
{
    request *r = (request *)call;
    ab_gopeer_redis_response said;
    ab_error err = {0};
    ab_buf value = ab_buf_secret_up_to(VALUE_MAX);
    if (ab_gopeer_wire_read_redis(data, &said, &value, &err) != AB_ERR_OK) {
        refuse(r, 502, AB_STR("the response of the argocd-agent cannot be read"));
    } else {
        if (said.what == AB_GOPEER_REDIS_GET && !call->answered)
            ab_buf_put(&call->out, ab_buf_str(&value));
        take(r, &said);
    }
    ab_buf_wipe(&value);
}

/* ----- requests ----- */

static ab_err ask(request *r, ab_gopeer_redis_what what)
{
    ab_buf data = ab_buf_up_to(4u * AB_REDIS_KEY_MAX + 1024);
    ab_gopeer_wire_put_redis(r->call.id, r->connection, what, ab_buf_str(&r->key), &data);
    ab_err e = ab_buf_status(&data);
    if (e == AB_ERR_OK)
        e = ab_gopeer_call_ask(&r->call, AB_TARGET_REDIS, AB_TYPE_REDIS_REQUEST, ab_buf_str(&data));
    ab_buf_fini(&data);
    return e;
}

/* ----- pings ----- */

static void ping(request *r, int64_t now_ms)
{
    r->ping_ms = now_ms + PING_MS;
    ab_link_remove(&r->pinged);
    if (!r->waits && ask(r, AB_GOPEER_REDIS_PING) == AB_ERR_OK) {
        r->waits = true;
        ab_list_append(&r->call.agent->all->channels, &r->pinged);
        return;
    }
    /* The hub asks again, and tells its client of what may have been missed. */
    if (r->call.answered) {
        r->call.ends = true;
        ab_gopeer_call_flush(&r->call);
    } else {
        refuse(r, 504, AB_STR("the argocd-agent does not answer"));
    }
}

/* The list is in the order in which pings are due. */
static void on_tick(uv_timer_t *timer)
{
    ab_gopeer_agents *a = timer->data;
    int64_t now_ms = ab_clock_mono_ms(a->env.clock);
    while (ab_link_is_in_use(&a->channels)) {
        request *r = AB_LINK_OF(ab_list_first(&a->channels).link, request, pinged);
        if (now_ms < r->ping_ms)
            return;
        ping(r, now_ms);
    }
    (void)uv_timer_stop(timer);
}

static void start_pings(const ab_gopeer_agents *a)
{
    if (!uv_is_active((uv_handle_t *)a->tick))
        (void)uv_timer_start(a->tick, on_tick, TICK_MS, TICK_MS); /* of an open handle */
}

/* ----- keys and channels ----- */

/* With the namespace that argocd-agent takes off again, which the principal has taken off for
 * agents of its own: by namespace mapping it is the agent's name. */
static void put_key(const ab_gopeer_agent *agent, ab_str plain, ab_buf *out)
{
    ab_redis_key key;
    if (agent->all->env.by_destination || !ab_redis_key_parse(plain, &key) ||
        key.space.ptr != NULL) {
        ab_buf_put(out, plain);
        return;
    }
    ab_buf_printf(out, "%.*s%s_%.*s%.*s", AB_STR_ARG(key.family), agent->name, AB_STR_ARG(key.name),
                  AB_STR_ARG(key.rest));
}

static ab_err read_key(request *r, ab_str path)
{
    ab_buf plain = ab_buf_up_to(AB_REDIS_KEY_MAX);
    ab_err e = ab_redis_route_read_path(path, &plain);
    if (e == AB_ERR_OK)
        put_key(r->call.agent, ab_buf_str(&plain), &r->key);
    ab_buf_fini(&plain);
    return e == AB_ERR_OK ? ab_buf_status(&r->key) : e;
}

static void begin(request *r, const ab_live_request *from)
{
    ab_gopeer_agent *agent = r->call.agent;
    if (read_key(r, from->path) != AB_ERR_OK) {
        refuse(r, 403, AB_STR("not a key that agents give out"));
        return;
    }
    ab_err e = ab_uuid(r->connection);
    if (e == AB_ERR_OK)
        e = ab_gopeer_call_name(&r->call);
    if (e == AB_ERR_OK)
        e = ask(r, r->what);
    if (e != AB_ERR_OK) {
        refuse(r, 503, ab_str_of(ab_err_text(e)));
    } else if (r->what == AB_GOPEER_REDIS_SUBSCRIBE) {
        r->ping_ms = ab_clock_mono_ms(agent->all->env.clock) + PING_MS;
        ab_list_append(&agent->all->channels, &r->pinged);
        start_pings(agent->all);
    }
}

/* ----- the stream ----- */

static void on_room(void *arg)
{
    request *r = arg;
    ab_gopeer_call_flush(&r->call);
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    request *r = arg;
    (void)code, (void)err;
    ab_link_remove(&r->pinged);
    ab_gopeer_call_fini(&r->call);
    ab_buf_fini(&r->key);
    free(r);
}

static const ab_live_handler handler = {.on_room = on_room, .on_over = on_over};

void ab_gopeer_redis_serve(void *arg, ab_live_stream *s, const ab_live_request *from)
{
    request *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return; /* what is not served is refused */
    ab_gopeer_call_init(&r->call, arg, s, VALUE_MAX);
    r->call.on_response = on_response;
    r->what = ab_str_is(from->method, "GET") ? AB_GOPEER_REDIS_GET : AB_GOPEER_REDIS_SUBSCRIBE;
    ab_link_init(&r->pinged);
    ab_buf_init(&r->key, 2u * AB_REDIS_KEY_MAX);
    ab_live_stream_serve(s, &handler, r);
    begin(r, from);
}

/* ----- life ----- */

ab_err ab_gopeer_redis_init(ab_gopeer_agents *a)
{
    a->tick = ab_timer_new(a->env.loop, a);
    return a->tick == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
}

void ab_gopeer_redis_fini(ab_gopeer_agents *a)
{
    ab_timer_free(a->tick);
    a->tick = NULL;
}
