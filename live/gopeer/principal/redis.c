/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys and channels that argocd-agent's principal asks for. A channel belongs to one of its clients
 * (a connection), which pings; without a ping for ten minutes it is over. Until then it outlives
 * the loss of redis and of the principal: it is asked for again, and a message says that some may
 * have been missed.
 */
#include "live/gopeer/principal/principal_priv.h"
#include "live/redis/route.h"

#include <stdio.h>
#include <stdlib.h>

/* It waits for 60 s. */
#define DEADLINE_MS  50000
#define SILENT_MS    (10 * 60 * 1000)
#define VALUE_MAX    (40u * 1024 * 1024)
#define CHANNELS_MAX 10000

typedef struct {
    ab_link at; /* of a channel: in p->channels */
    ab_gopeer_principal *p;
    ab_live_stream *stream; /* NULL: not begun, or lost */
    char id[64];
    ab_gopeer_redis_asked asked;
    int status; /* of the stream; 0: none came */
    bool responded;
    int64_t heard_ms; /* the last ping, of a channel */
    size_t length;    /* that the value is to have */
    ab_buf value;
    char error[256];
} request;

static int64_t now_ms(const ab_gopeer_principal *p)
{
    return ab_clock_mono_ms(p->env.clock);
}

static bool is_channel(const request *r)
{
    return r->asked.what == AB_GOPEER_REDIS_SUBSCRIBE;
}

static void free_request(request *r)
{
    ab_link_remove(&r->at);
    ab_gopeer_principal_finish(r->p, r->id);
    ab_buf_wipe(&r->value);
    free(r);
}

/* ----- responses ----- */

static void respond(request *r, const ab_gopeer_redis_response *said)
{
    ab_buf data = ab_buf_secret_up_to(2u * VALUE_MAX);
    ab_gopeer_wire_put_redis_response(r->id, &r->asked, said, ab_buf_str(&r->value), &data);
    if (ab_buf_status(&data) == AB_ERR_OK)
        ab_gopeer_principal_respond(r->p, AB_TARGET_REDIS, AB_TYPE_REDIS_RESPONSE, r->id,
                                    ab_buf_str(&data));
    ab_buf_wipe(&data);
    r->responded = true;
}

static void push(request *r)
{
    respond(r, &(ab_gopeer_redis_response){.what = AB_GOPEER_REDIS_MESSAGE});
}

static void finish(request *r, const char *why)
{
    bool whole =
        r->status == 200 && r->value.len == r->length && ab_buf_status(&r->value) == AB_ERR_OK;
    ab_gopeer_redis_response said = {.what = r->asked.what, .hit = whole && !is_channel(r)};
    if (r->responded)
        return;
    if (r->status != 404 && !said.hit && r->error[0] == '\0')
        snprintf(r->error, sizeof(r->error), "%s", why);
    snprintf(said.error, sizeof(said.error), "%s", r->error);
    if (!said.hit)
        ab_buf_clear(&r->value);
    respond(r, &said);
}

/* ----- the stream ----- */

static void on_answer(void *arg, int status, const ab_http_field *fields, size_t count)
{
    request *r = arg;
    uint64_t length = 0;
    r->status = status;
    snprintf(r->error, sizeof(r->error), "%.*s",
             AB_STR_ARG(ab_http_field_find(fields, count, "argobus-error")));
    if (!is_channel(r)) {
        ab_str text = ab_http_field_find(fields, count, "content-length");
        r->length =
            ab_str_to_u64(text, &length) == AB_ERR_OK && length <= VALUE_MAX ? length : SIZE_MAX;
    } else if (status == 200 && r->responded) {
        push(r); /* while it was lost */
    } else if (status == 200) {
        respond(r, &(ab_gopeer_redis_response){.what = AB_GOPEER_REDIS_SUBSCRIBE});
    }
}

/* Several messages of a channel say no more than one. */
static void on_data(void *arg, ab_str bytes)
{
    request *r = arg;
    ab_live_stream_consumed(r->stream, bytes.len);
    if (!is_channel(r))
        ab_buf_put(&r->value, bytes);
    else if (r->status == 200)
        push(r);
}

static void on_end(void *arg)
{
    request *r = arg;
    if (!is_channel(r) || r->status != 200)
        finish(r, "the answer is not whole");
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    request *r = arg;
    r->stream = NULL;
    if (is_channel(r) && r->responded && r->error[0] == '\0')
        return; /* it is asked for again */
    finish(r, code == AB_ERR_OK ? "the agent does not read its redis" : err->text);
    free_request(r);
}

static const ab_live_handler handler = {
    .on_answer = on_answer, .on_data = on_data, .on_end = on_end, .on_over = on_over};

/* ----- requests ----- */

static ab_str no_agent(void *arg, ab_str space, ab_str app)
{
    (void)arg, (void)space, (void)app;
    return AB_STR_NONE;
}

static ab_err ask(request *r, ab_error *err)
{
    ab_redis_key key;
    const ab_redis_agents mapping = {.agent_of_app = r->p->env.by_destination ? no_agent : NULL};
    if (!ab_redis_key_parse(ab_str_of(r->asked.key), &key))
        return ab_fail(err, AB_ERR_INVALID, "not a key that agents give out");
    ab_buf path = ab_buf_up_to(4u * AB_REDIS_KEY_MAX);
    ab_redis_route_put_path(&mapping, ab_str_of(r->asked.key), &path);
    const ab_live_request asked = {.service = AB_STR("redis"),
                                   .method = is_channel(r) ? AB_STR("SUBSCRIBE") : AB_STR("GET"),
                                   .path = ab_buf_str(&path),
                                   .deadline_ms = is_channel(r) ? 0 : DEADLINE_MS};
    ab_err e = ab_buf_status(&path);
    if (e == AB_ERR_OK)
        e = ab_gopeer_principal_ask(r->p, &asked, &handler, r, &r->stream, err);
    ab_buf_fini(&path);
    if (e == AB_ERR_OK)
        ab_live_stream_end(r->stream);
    return e;
}

static void begin(request *r)
{
    ab_error err = {0};
    r->heard_ms = now_ms(r->p);
    if (ask(r, &err) != AB_ERR_OK) {
        finish(r, err.text);
        free_request(r);
    } else if (is_channel(r)) {
        ab_list_append(&r->p->channels, &r->at);
    }
}

static void pong(request *r)
{
    for (ab_list_iter i = ab_list_first(&r->p->channels); i.link != NULL; ab_list_next(&i)) {
        request *channel = AB_LINK_OF(i.link, request, at);
        if (strcmp(channel->asked.connection, r->asked.connection) == 0)
            channel->heard_ms = now_ms(r->p);
    }
    respond(r, &(ab_gopeer_redis_response){.what = AB_GOPEER_REDIS_PING});
    free_request(r);
}

void ab_gopeer_principal_take_redis(ab_gopeer_principal *p, const char *id, ab_str data)
{
    ab_error err = {0};
    request *r = calloc(1, sizeof(*r));
    if (r == NULL || ab_map_count(p->asked) >= CHANNELS_MAX ||
        ab_map_put(p->asked, ab_str_of(id), r, NULL) != AB_ERR_OK) {
        free(r);
        return; /* it is told by its deadline */
    }
    r->p = p;
    ab_link_init(&r->at);
    snprintf(r->id, sizeof(r->id), "%s", id);
    ab_buf_init_secret(&r->value, VALUE_MAX);
    if (ab_gopeer_wire_read_redis_asked(data, &r->asked, &err) != AB_ERR_OK) {
        AB_DEBUG(p->env.log, LIVE, "cannot read a request of argocd-agent's principal",
                 AB_KV("error", err.text));
        free_request(r);
    } else if (r->asked.what == AB_GOPEER_REDIS_PING) {
        pong(r);
    } else {
        begin(r);
    }
}

/* ----- channels ----- */

static void end_channel(request *r)
{
    if (r->stream != NULL)
        ab_live_stream_cancel(r->stream);
    free_request(r);
}

void ab_gopeer_principal_check_channels(ab_gopeer_principal *p)
{
    ab_error err = {0};
    for (ab_list_iter i = ab_list_first(&p->channels); i.link != NULL; ab_list_next(&i)) {
        request *r = AB_LINK_OF(i.link, request, at);
        if (now_ms(p) - r->heard_ms >= SILENT_MS)
            end_channel(r);
        else if (r->stream == NULL && p->connected && ask(r, &err) != AB_ERR_OK)
            r->stream = NULL; /* again at the next tick */
    }
}

void ab_gopeer_principal_end_channels(ab_gopeer_principal *p)
{
    while (ab_link_is_in_use(&p->channels))
        end_channel(AB_LINK_OF(p->channels.next, request, at));
}
