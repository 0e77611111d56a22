/* SPDX-License-Identifier: Apache-2.0 */
#include "live/lane/session.h"

#include "live/lane/tls.h"
#include "schema/attributes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENT_BYTES     (128 * 1024)  /* of data in one event */
#define IN_FLIGHT_BYTES (1024 * 1024) /* that the transport has and has not sent */
#define OPENING_MS      15000         /* until the other end has answered for the first time */
#define IDLE_HUB_MS     300000        /* without a stream */
#define IDLE_SPOKE_MS   600000        /* if the principal that began it has gone without a word */
#define WHY_MAX         256

struct ab_live_session {
    ab_live_turn turn;
    ab_live_lane *lane;
    ab_live_session_events events;
    bool client;
    bool over;
    bool blocked; /* the transport has no room */
    bool waiting; /* there is more to send when something of what is on its way has arrived */
    bool heard;   /* the other end has sent something */
    char *agent;  /* NULL: at an agent */
    char id[AB_LIVE_SESSION_ID + 1];
    ab_live_tls *tls; /* NULL: in the clear */
    ab_live_http2 *http2;
    ab_buf out; /* for the next event */
    uint64_t next_out, next_in;
    size_t in_flight; /* bytes */
    unsigned sends;   /* events that the transport has */
    int64_t began_ms;
    int64_t idle_ms; /* since when there has been no stream */
};

/* One event that the transport has. */
typedef struct {
    ab_live_session *session;
    size_t bytes;
} parcel;

static ab_live_session *session_of(ab_live_turn *t)
{
    return (ab_live_session *)t;
}

static bool is_up(const ab_live_session *s)
{
    return s->tls == NULL || ab_live_tls_is_up(s->tls);
}

/* ----- the end ----- */

static void release(ab_live_session *s)
{
    ab_live_tls_free(s->tls);
    ab_buf_fini(&s->out);
    free(s->agent);
    free(s);
}

static ab_err send_event(ab_live_lane *lane, const char *agent, ab_str id, ab_type type,
                         uint64_t sequence, ab_str data, ab_sent done, void *arg)
{
    char name[AB_LIVE_SESSION_ID + 32];
    ab_event_draft d = {.data = data};
    ab_event *event = NULL;
    snprintf(name, sizeof(name), "%.*s-%s%" PRIu64, AB_STR_ARG(id),
             type == AB_TYPE_CLOSE ? "end-" : "", sequence);
    ab_event_set_text(&d, AB_CE_ID, name);
    ab_event_set_text(&d, AB_CE_SOURCE, lane->env.source);
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(type));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_LIVE));
    ab_event_set(&d, AB_CE_CORRELATIONID, id);
    ab_event_set_u64(&d, AB_CE_SEQUENCE, sequence);
    ab_err e = ab_event_new(&d, &event, NULL);
    if (e == AB_ERR_OK)
        e = lane->env.send(lane->env.arg, agent, event, done, arg);
    ab_event_unref(event);
    return e;
}

static void on_told(void *arg, ab_err code, const ab_error *err)
{
    (void)arg, (void)code, (void)err;
}

void ab_live_session_reject(ab_live_lane *lane, const char *agent, ab_str id, const char *why)
{
    /* Who is not told finds out by its own deadlines. */
    (void)send_event(lane, agent, id, AB_TYPE_CLOSE, 0, ab_str_of(why), on_told, NULL);
}

void ab_live_session_end(ab_live_session *s, const ab_error *err, bool silent)
{
    if (s->over)
        return;
    s->over = true;
    ab_live_lane_remove(s->lane, &s->turn);
    if (!silent)
        ab_live_session_reject(s->lane, s->agent, ab_live_session_id(s), err->text);
    ab_live_http2_end(s->http2, err->code, err);
    s->http2 = NULL;
    s->events.on_over(s->events.arg, s, err);
    if (s->sends == 0)
        release(s);
    else
        TAILQ_INSERT_TAIL(&s->lane->zombies, &s->turn, at);
}

void ab_live_session_forget_all(ab_live_lane *lane)
{
    ab_live_turn *t = NULL;
    while ((t = TAILQ_FIRST(&lane->zombies)) != NULL) {
        TAILQ_REMOVE(&lane->zombies, t, at);
        release(session_of(t));
    }
}

/* ----- what goes out ----- */

static void wake(ab_live_session *s)
{
    if (!s->over)
        ab_live_lane_wake(s->lane, &s->turn);
}

static void on_sent(void *arg, ab_err code, const ab_error *err)
{
    parcel *p = arg;
    ab_live_session *s = p->session;
    s->in_flight -= p->bytes;
    s->sends--;
    free(p);
    if (s->over && s->sends == 0) {
        TAILQ_REMOVE(&s->lane->zombies, &s->turn, at);
        release(s);
        return;
    }
    if (code != AB_ERR_OK && !s->over) {
        ab_error why = {0};
        (void)ab_fail(&why, AB_ERR_UNAVAILABLE, "%s",
                      code == AB_ERR_UNSUPPORTED ? "the agent's version is too old for live access"
                                                 : err->text);
        ab_live_session_end(s, &why, true);
        return;
    }
    if (s->waiting)
        wake(s);
}

/* What is in `out` becomes an event. */
static ab_err emit(ab_live_session *s)
{
    parcel *p = malloc(sizeof(*p));
    if (p == NULL || ab_buf_status(&s->out) != AB_ERR_OK) {
        free(p);
        return AB_ERR_NOMEM;
    }
    *p = (parcel){s, s->out.len};
    ab_err e = send_event(s->lane, s->agent, ab_live_session_id(s), AB_TYPE_FRAME, s->next_out,
                          ab_buf_str(&s->out), on_sent, p);
    if (e != AB_ERR_OK) {
        free(p);
        s->blocked = e == AB_ERR_FULL;
        return s->blocked ? AB_ERR_OK : e;
    }
    s->next_out++;
    s->sends++;
    s->in_flight += s->out.len;
    ab_buf_clear(&s->out);
    return AB_ERR_OK;
}

static bool has_room(void *arg)
{
    const ab_live_session *s = arg;
    return is_up(s) && !s->blocked && s->in_flight + s->out.len < IN_FLIGHT_BYTES;
}

static ab_err write_out(void *arg, ab_str bytes)
{
    ab_live_session *s = arg;
    if (s->tls == NULL) {
        ab_buf_put(&s->out, bytes);
    } else {
        ab_err e = ab_live_tls_send(s->tls, bytes);
        if (e != AB_ERR_OK)
            return e;
        (void)ab_live_tls_take(s->tls, &s->out);
    }
    return s->out.len >= EVENT_BYTES ? emit(s) : AB_ERR_OK;
}

static void fail(ab_live_session *s, ab_err e, const ab_error *err)
{
    ab_error why = {0};
    if (err != NULL && err->code != AB_ERR_OK)
        (void)ab_fail(&why, AB_ERR_UNAVAILABLE, "%s", err->text);
    else
        (void)ab_fail(&why, AB_ERR_UNAVAILABLE, "live access: %s", ab_err_text(e));
    ab_live_session_end(s, &why, false);
}

/* An event costs a broker and both ends as much as a hundred times its bytes: while one is on its
 * way, what would not fill another waits for it and goes together. Nothing waits when nothing is.
 */
static ab_err emit_rest(ab_live_session *s)
{
    bool goes = s->out.len > 0 && s->sends == 0 && !s->blocked;
    return goes ? emit(s) : AB_ERR_OK;
}

static void flush(ab_live_turn *t)
{
    ab_live_session *s = session_of(t);
    ab_error err = {0};
    if (s->tls != NULL)
        (void)ab_live_tls_take(s->tls, &s->out);
    ab_err e = ab_live_http2_flush(s->http2, &err);
    if (e == AB_ERR_OK)
        e = emit_rest(s);
    s->waiting = s->out.len > 0 || !has_room(s);
    if (e != AB_ERR_OK)
        fail(s, e, &err);
}

static void on_work(void *arg)
{
    wake(arg);
}

static void on_patient_work(void *arg)
{
    ab_live_session *s = arg;
    if (!s->over)
        ab_live_lane_wake_patiently(s->lane, &s->turn);
}

void ab_live_session_writable(ab_live_session *s)
{
    if (!s->blocked)
        return;
    s->blocked = false;
    wake(s);
}

/* ----- what comes in ----- */

typedef struct {
    ab_live_session *session;
    ab_error *err;
    bool was_up;
} intake;

/* Nothing is taken from one who is trusted by the authority, but is another. */
static ab_err admit(ab_live_session *s, ab_error *err)
{
    const ab_live_lane_env *env = &s->lane->env;
    wake(s); /* what waited for this */
    return env->admits(env->arg, s->agent, ab_live_tls_peer(s->tls), err);
}

static ab_err on_plain(void *arg, ab_str bytes)
{
    intake *in = arg;
    ab_live_session *s = in->session;
    ab_err e = in->was_up ? AB_ERR_OK : admit(s, in->err);
    in->was_up = true;
    return e == AB_ERR_OK
               ? ab_live_http2_receive(s->http2, bytes, ab_live_lane_now(s->lane), in->err)
               : e;
}

static ab_err take_in(ab_live_session *s, ab_str bytes, ab_error *err)
{
    if (s->tls == NULL)
        return ab_live_http2_receive(s->http2, bytes, ab_live_lane_now(s->lane), err);
    intake in = {s, err, is_up(s)};
    ab_err e = ab_live_tls_receive(s->tls, bytes, on_plain, &in, err);
    if (e == AB_ERR_OK && is_up(s) && !in.was_up)
        e = admit(s, err);
    wake(s); /* its answer */
    return e;
}

static void recheck(ab_live_session *s)
{
    const ab_live_lane_env *env = &s->lane->env;
    ab_error err = {0};
    if (s->tls == NULL || !is_up(s))
        return;
    ab_err e =
        ab_live_tls_is_trusted(s->tls, env->tls)
            ? env->admits(env->arg, s->agent, ab_live_tls_peer(s->tls), &err)
            : ab_fail(&err, AB_ERR_DENIED,
                      "live access: the authority of the certificate is not trusted any more");
    if (e != AB_ERR_OK)
        fail(s, e, &err);
}

void ab_live_session_recheck_all(ab_live_lane *lane)
{
    ab_live_turn *next = NULL;
    for (ab_live_turn *t = TAILQ_FIRST(&lane->turns); t != NULL; t = next) {
        next = TAILQ_NEXT(t, at);
        recheck(session_of(t));
    }
}

static void take_close(ab_live_session *s, ab_str text)
{
    ab_error why = {0};
    int len = text.len > WHY_MAX ? WHY_MAX : (int)text.len;
    if (!ab_str_is_utf8(text) || len == 0)
        (void)ab_fail(&why, AB_ERR_UNAVAILABLE, "the other end ended the live session");
    else
        (void)ab_fail(&why, AB_ERR_UNAVAILABLE, "%.*s", len, text.ptr);
    ab_live_session_end(s, &why, true);
}

/* Twice the same is no harm: a broker may keep an event twice. */
static bool is_next(ab_live_session *s, const ab_event *event)
{
    uint64_t sequence = 0;
    ab_error why = {0};
    if (ab_event_attr_u64(event, AB_CE_SEQUENCE, &sequence) == AB_ERR_OK && sequence <= s->next_in)
        return sequence == s->next_in;
    (void)ab_fail(&why, AB_ERR_UNAVAILABLE, "live frames %" PRIu64 " to %" PRIu64 " were lost",
                  s->next_in, sequence - 1);
    ab_live_session_end(s, &why, false);
    return false;
}

void ab_live_session_receive(ab_live_session *s, const ab_event *event)
{
    ab_error err = {0};
    if (ab_str_is(ab_event_attr(event, AB_CE_TYPE), ab_type_name(AB_TYPE_CLOSE))) {
        take_close(s, ab_event_data(event));
        return;
    }
    if (!is_next(s, event))
        return;
    s->next_in++;
    s->heard = true;
    ab_err e = take_in(s, ab_event_data(event), &err);
    if (e != AB_ERR_OK)
        fail(s, e, &err);
}

static void tick(ab_live_turn *t, int64_t now_ms)
{
    ab_live_session *s = session_of(t);
    ab_error err = {0};
    ab_err e = ab_live_http2_tick(s->http2, now_ms, &err);
    if (ab_live_http2_streams(s->http2) > 0)
        s->idle_ms = now_ms;
    if (e == AB_ERR_OK && now_ms - s->idle_ms > (s->client ? IDLE_HUB_MS : IDLE_SPOKE_MS))
        e = ab_fail(&err, AB_ERR_UNAVAILABLE, "the live session was idle");
    if (e == AB_ERR_OK && (!s->heard || !is_up(s)) && now_ms - s->began_ms > OPENING_MS)
        e = ab_fail(&err, AB_ERR_UNAVAILABLE,
                    "the %s did not answer within %d seconds: check that it runs a version with "
                    "live access, and live.protection at both ends",
                    s->client ? "agent" : "principal", OPENING_MS / 1000);
    if (e != AB_ERR_OK)
        fail(s, e, &err);
}

/* ----- the beginning ----- */

static void on_request(void *arg, ab_live_stream *stream, const ab_live_request *request)
{
    ab_live_session *s = arg;
    s->events.on_request(s->events.arg, stream, request);
}

static ab_err open_tls(ab_live_session *s, ab_error *err)
{
    ab_tls_context *tls = s->lane->env.tls;
    if (tls == NULL)
        return AB_ERR_OK;
    /* With files that cannot be used, it stays as it was. */
    if (ab_tls_context_is_stale(tls) && ab_tls_context_reload(tls, err) != AB_ERR_OK)
        AB_ERROR(s->lane->env.log, LIVE,
                 "cannot load the new certificate; still using the previous one",
                 AB_KV("error", err->text));
    ab_err e = ab_live_tls_new(tls->ctx, s->client, &s->tls);
    if (e == AB_ERR_OK)
        e = ab_live_tls_receive(s->tls, AB_STR(""), NULL, NULL, err);
    return e;
}

static ab_err open_layers(ab_live_session *s, ab_error *err)
{
    const ab_live_http2_env env = {
        .client = s->client,
        .write = write_out,
        .has_room = has_room,
        .on_work = on_work,
        .on_patient_work = on_patient_work,
        .on_request = on_request,
        .arg = s,
    };
    ab_err e = open_tls(s, err);
    return e == AB_ERR_OK ? ab_live_http2_new(&env, &s->http2) : e;
}

ab_err ab_live_session_new(ab_live_lane *lane, bool client, const char *agent, ab_str id,
                           const ab_live_session_events *events, ab_live_session **out,
                           ab_error *err)
{
    ab_live_session *s = calloc(1, sizeof(*s));
    if (s == NULL || (agent != NULL && (s->agent = strdup(agent)) == NULL)) {
        free(s);
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for live access");
    }
    snprintf(s->id, sizeof(s->id), "%.*s", AB_STR_ARG(id));
    s->lane = lane;
    s->client = client;
    s->events = *events;
    s->began_ms = s->idle_ms = ab_live_lane_now(lane);
    s->turn.flush = flush;
    s->turn.tick = tick;
    ab_buf_init(&s->out, 4u * EVENT_BYTES);
    ab_err e = open_layers(s, err);
    if (e != AB_ERR_OK) {
        release(s);
        return ab_fail(err, e, "live access: %s", ab_err_text(e));
    }
    ab_live_lane_add(lane, &s->turn);
    wake(s);
    *out = s;
    return AB_ERR_OK;
}

ab_err ab_live_session_begin(ab_live_session *s, const ab_live_request *request,
                             const ab_live_handler *handler, void *arg, ab_live_stream **out)
{
    return ab_live_http2_begin(s->http2, request, ab_live_lane_now(s->lane), handler, arg, out);
}

ab_str ab_live_session_id(const ab_live_session *s)
{
    return (ab_str){s->id, AB_LIVE_SESSION_ID};
}

int64_t ab_live_session_idle_since(const ab_live_session *s)
{
    return ab_live_http2_streams(s->http2) > 0 ? INT64_MAX : s->idle_ms;
}

ab_str ab_live_session_of(const ab_event *event)
{
    return ab_event_attr(event, AB_CE_CORRELATIONID);
}
