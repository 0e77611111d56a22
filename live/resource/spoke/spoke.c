/* SPDX-License-Identifier: Apache-2.0
 *
 * One request goes through these states, each of which on_over (the stream is lost, or the viewer
 * has gone) ends:
 *
 *   BODY --whole--> JUDGE --allowed--> CALL --head--> ANSWER --end--> DONE
 *     |               |                  |
 *     +---too long----+--refused---------+--no answer--> DONE (a Status of ours)
 *
 * A body is held until it is whole: an API server takes 3 MiB at most, and what is created must be
 * looked at. Answers are not held: what the stream does not take pauses the API server. Only where
 * Secrets are masked the answer waits until it is known that all of it could be.
 */
#include "live/resource/spoke/spoke_priv.h"

#include "live/resource/fields.h"
#include "live/resource/spoke/managed.h"
#include "live/resource/spoke/mask.h"
#include "live/resource/status.h"
#include "net/timer.h"

#include <stdio.h>
#include <stdlib.h>

/* Between two looks at how long terminals have been open. */
#define WATCH_MS 1000
/* Bytes given to the stream at once. */

typedef enum { BODY, JUDGE, CALL, ANSWER, DONE } state;

typedef struct {
    ab_resource_spoke *spoke;
    ab_live_stream *stream;
    state state;
    char *method, *target;
    int64_t timeout_ms;
    ab_resource_fields fields;
    ab_resource_map map;
    ab_buf body;
    ab_resource_question *question;
    ab_resource_call *call;
    bool masks;
    bool paused; /* the API server, until the stream has room */
    bool whole;  /* the API server has answered in full */
    int status;  /* of its answer, while the head is held back */
    ab_resource_mask mask;
    ab_buf held;    /* of the answer: what the stream has not taken yet */
    size_t sent;    /* of that, what it has */
    size_t counted; /* in spoke->held */
} request;

/* @return false: all requests together hold too much */
static bool count_held(request *r, size_t bytes)
{
    r->spoke->held = r->spoke->held - r->counted + bytes;
    r->counted = bytes;
    return r->spoke->held <= r->spoke->held_max;
}

static void free_request(request *r)
{
    (void)count_held(r, 0);
    ab_resource_managed_cancel(r->question);
    if (r->call != NULL)
        r->spoke->env.api.ops->cancel(r->call);
    free(r->method);
    free(r->target);
    ab_resource_fields_fini(&r->fields);
    ab_buf_wipe(&r->body);
    ab_buf_wipe(&r->held);
    ab_resource_mask_fini(&r->mask);
    free(r);
}

/* --- the answer --- */

static void count_answer(const request *r, int status)
{
    char code[16];
    (void)snprintf(code, sizeof(code), "%d", status);
    const ab_label labels[] = {{"code", ab_str_of(code)}};
    ab_metric_add(ab_metric_get(r->spoke->env.metrics, AB_METRIC_COUNTER,
                                "argobus_live_served_total",
                                "Requests of live access that this agent answered, by HTTP status.",
                                labels, 1),
                  1);
}

static void break_off(request *r)
{
    ab_live_stream_cancel(r->stream);
    free_request(r);
}

static ab_err send_held(request *r)
{
    ab_err e = ab_live_stream_send_rest(r->stream, ab_buf_str(&r->held), &r->sent);
    if (e == AB_ERR_OK) {
        r->sent = 0;
        ab_buf_clear(&r->held);
    }
    return e;
}

/* Send what is held; the end after it. @return false: the request is gone */
static bool flush(request *r)
{
    ab_err e = send_held(r);
    if (e == AB_ERR_FULL)
        return true; /* on_room follows */
    if (e != AB_ERR_OK) {
        break_off(r);
        return false;
    }
    if (r->whole && r->state != DONE) {
        r->state = DONE;
        ab_live_stream_end(r->stream);
    } else if (r->call != NULL && r->paused) {
        r->paused = false;
        r->spoke->env.api.ops->resume(r->call);
    }
    return true;
}

static void answer_head(request *r, int status, const ab_http_field *fields, size_t count)
{
    count_answer(r, status);
    r->state = ANSWER;
    if (ab_live_stream_answer(r->stream, status, fields, count) != AB_ERR_OK)
        r->state = DONE; /* it is ending; on_over follows */
}

/* Answer with a body at once. */
static void answer_whole(request *r, int status, ab_str body)
{
    static const ab_http_field JSON[] = {{{"content-type", 12}, {"application/json", 16}},
                                         {{"retry-after", 11}, {"1", 1}}};
    ab_buf_clear(&r->held);
    ab_buf_put(&r->held, body);
    r->whole = true;
    answer_head(r, status, JSON, status == 429 ? 2 : 1);
    if (r->state == ANSWER)
        (void)flush(r);
}

static void answer_refusal(request *r, int status, const char *why)
{
    ab_buf body = ab_buf_up_to(16 * 1024);
    ab_resource_status_put(status, why, &body);
    answer_whole(r, status, ab_buf_str(&body));
    ab_buf_fini(&body);
}

static void answer_full(request *r)
{
    ab_buf_wipe(&r->body);
    (void)count_held(r, 0);
    answer_refusal(r, 429, "the agent holds too many bytes of other requests; ask again");
}

/* --- what the API server answers --- */

static size_t take_fields(const ab_http_field *fields, size_t count, ab_http_field *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < count && kept < AB_LIVE_FIELDS_MAX; i++) {
        if (!ab_resource_fields_is_hop(fields[i].name))
            out[kept++] = fields[i];
    }
    return kept;
}

static void on_head(void *arg, int status, const ab_http_field *fields, size_t count)
{
    static const ab_http_field JSON[] = {{{"content-type", 12}, {"application/json", 16}}};
    request *r = arg;
    ab_http_field kept[AB_LIVE_FIELDS_MAX];
    bool events = r->map.verb == AB_RESOURCE_WATCH && status == 200;
    r->status = status;
    if (r->masks)
        ab_resource_mask_init(&r->mask, events);
    if (r->masks && events) {
        answer_head(r, status, JSON, 1);
    } else if (!r->masks) {
        count = take_fields(fields, count, kept);
        answer_head(r, status, kept, count);
    } /* else when all of it could be masked */
}

static void on_data(void *arg, ab_str piece)
{
    request *r = arg;
    ab_error err = {0};
    ab_err e = AB_ERR_OK;
    if (r->masks)
        e = ab_resource_mask_feed(&r->mask, piece, &r->held, &err);
    else
        ab_buf_put(&r->held, piece);
    if (e == AB_ERR_OK)
        e = ab_buf_status(&r->held);
    if (e == AB_ERR_OK && r->masks && !count_held(r, r->body.len + r->mask.held.len + r->held.len))
        e = AB_ERR_FULL;
    if (e == AB_ERR_FULL && r->state == CALL) {
        r->spoke->env.api.ops->cancel(r->call);
        r->call = NULL;
        ab_buf_wipe(&r->mask.held);
        answer_full(r);
    } else if (e != AB_ERR_OK && r->state == CALL) {
        r->spoke->env.api.ops->cancel(r->call);
        r->call = NULL;
        answer_refusal(r, 403, err.text);
    } else if (e != AB_ERR_OK) {
        break_off(r);
    } else if (r->state == ANSWER && flush(r) && r->held.len > 0 && !r->paused) {
        r->paused = true;
        r->spoke->env.api.ops->pause(r->call);
    }
}

/* An API server quotes all of the object that a merge patch would make, if that is not valid. */
static bool may_quote(const request *r)
{
    return r->map.verb == AB_RESOURCE_PATCH && r->status == 422;
}

static void end_masked(request *r)
{
    ab_error err = {0};
    if (may_quote(r)) {
        answer_refusal(r, 422,
                       "the API server finds the Secret invalid that the patch would make; what it "
                       "says of it may hold values, and needs live.kubernetes.secrets: clear");
        return;
    }
    bool known = ab_resource_mask_end(&r->mask, &r->held, &err) == AB_ERR_OK;
    if (r->state == ANSWER && !known) {
        break_off(r);
    } else if (r->state == ANSWER) {
        r->whole = true;
        (void)flush(r);
    } else if (known) {
        ab_buf masked = r->held;
        ab_buf_init(&r->held, 2 * AB_RESOURCE_MASK_MAX);
        answer_whole(r, r->status, ab_buf_str(&masked));
        ab_buf_wipe(&masked);
    } else {
        answer_refusal(r, 403, err.text);
    }
}

static void on_call_over(void *arg, ab_err code, const ab_error *err)
{
    request *r = arg;
    r->call = NULL;
    if (code != AB_ERR_OK && r->state == ANSWER) {
        break_off(r);
    } else if (code != AB_ERR_OK) {
        answer_refusal(r, code == AB_ERR_TIMEOUT ? 504 : 502, err->text);
    } else if (r->masks) {
        end_masked(r);
    } else {
        r->whole = true;
        (void)flush(r);
    }
}

static const ab_resource_call_handler CALLER = {on_head, on_data, on_call_over};

/* --- the request --- */

/* Masking needs the object as JSON, and not compressed. */
static void restrict_fields(request *r)
{
    for (size_t i = 0; i < r->fields.count; i++) {
        if (ab_str_is(r->fields.list[i].name, "accept"))
            r->fields.list[i].value = AB_STR("application/json");
        else if (ab_str_is(r->fields.list[i].name, "accept-encoding"))
            r->fields.list[i].value = AB_STR("identity");
    }
}

static void call(request *r)
{
    r->state = CALL;
    r->masks = ab_resource_policy_masks(&r->spoke->env.policy, &r->map);
    if (r->masks)
        restrict_fields(r);
    if (r->map.follow)
        ab_live_stream_be_patient(r->stream);
    ab_buf path = ab_buf_up_to(4u * AB_RESOURCE_TARGET_MAX);
    ab_resource_map_put_path(&r->map, &path);
    if (ab_buf_status(&path) == AB_ERR_OK)
        r->call = r->spoke->env.api.ops->begin(
            r->spoke->env.api.self,
            &(ab_resource_call_request){.method = r->method,
                                        .target = ab_buf_str(&path),
                                        .fields = r->fields.list,
                                        .count = r->fields.count,
                                        .body =
                                            r->body.len > 0 ? ab_buf_str(&r->body) : AB_STR_NONE,
                                        .timeout_ms = r->timeout_ms},
            &CALLER, r);
    ab_buf_fini(&path);
    if (r->call == NULL)
        answer_refusal(r, 503, "the agent is out of memory");
}

static void on_verdict(void *arg, const ab_resource_verdict *v)
{
    request *r = arg;
    r->question = NULL;
    if (v->managed)
        call(r);
    else if (v->status != 0)
        answer_whole(r, v->status, v->body);
    else
        answer_refusal(r, 403, v->why);
}

static void ask(request *r)
{
    bool creates = r->map.verb == AB_RESOURCE_CREATE && r->map.name.len == 0;
    if (ab_resource_managed_ask(&r->spoke->env.api, &r->map,
                                creates ? ab_buf_str(&r->body) : AB_STR_NONE, on_verdict, r,
                                &r->question) != AB_ERR_OK)
        answer_refusal(r, 503, "the agent is out of memory");
}

static void judge(request *r)
{
    ab_error why = {0};
    r->state = JUDGE;
    if (ab_resource_map_read(ab_str_of(r->method), ab_str_of(r->target), &r->map, &why) !=
        AB_ERR_OK) {
        answer_refusal(r, 400, why.text);
        return;
    }
    ab_str type = ab_http_field_find(r->fields.list, r->fields.count, "content-type");
    ab_resource_decision d =
        ab_resource_policy_decide(&r->spoke->env.policy, &r->map, type, ab_buf_str(&r->body), &why);
    if (d != AB_RESOURCE_REFUSED && r->spoke->env.api.ops == NULL)
        answer_refusal(r, 503, "the agent has no access to a Kubernetes API server");
    else if (d != AB_RESOURCE_REFUSED && r->map.verb == AB_RESOURCE_CONNECT)
        answer_refusal(r, 400, "terminals need a WebSocket");
    else if (d == AB_RESOURCE_ALLOWED)
        call(r);
    else if (d == AB_RESOURCE_IF_MANAGED)
        ask(r);
    else
        answer_refusal(r, 403, why.text);
}

/* --- the stream --- */

static void on_body(void *arg, ab_str bytes)
{
    request *r = arg;
    ab_live_stream_consumed(r->stream, bytes.len);
    if (r->state != BODY)
        return; /* it was too long */
    ab_buf_put(&r->body, bytes);
    if (ab_buf_status(&r->body) != AB_ERR_OK)
        answer_refusal(r, 413, "the body is longer than 3 MiB");
    else if (!count_held(r, r->body.len))
        answer_full(r);
}

static void on_body_end(void *arg)
{
    request *r = arg;
    if (r->state == BODY)
        judge(r);
}

static void on_room(void *arg)
{
    (void)flush(arg);
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    (void)code;
    (void)err;
    free_request(arg);
}

static const ab_live_handler STREAM = {
    .on_data = on_body, .on_end = on_body_end, .on_room = on_room, .on_over = on_over};

static ab_err copy_fields(request *r, const ab_live_request *from)
{
    for (size_t i = 0; i < from->count; i++) {
        if (ab_resource_fields_is_asked(from->fields[i].name))
            ab_resource_fields_add(&r->fields, from->fields[i].name, from->fields[i].value);
    }
    return ab_resource_fields_seal(&r->fields);
}

void ab_resource_spoke_serve(void *arg, ab_live_stream *s, const ab_live_request *from)
{
    request *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return; /* what is not served is refused */
    r->spoke = arg;
    r->stream = s;
    r->timeout_ms = from->deadline_ms;
    r->method = ab_str_dup(from->method);
    r->target = ab_str_dup(from->path);
    ab_resource_fields_init(&r->fields);
    ab_buf_init_secret(&r->body, AB_RESOURCE_BODY_MAX);
    ab_buf_init(&r->held, 2 * AB_RESOURCE_MASK_MAX);
    ab_err e = r->method == NULL || r->target == NULL ? AB_ERR_NOMEM : copy_fields(r, from);
    if (e == AB_ERR_NOMEM) {
        free_request(r);
        return;
    }
    ab_live_stream_serve(s, &STREAM, r);
    if (e != AB_ERR_OK)
        answer_refusal(r, 400, "there are too many fields, or they are longer than 16 KiB");
}

static void on_watch(uv_timer_t *timer)
{
    ab_resource_spoke_limit_terminals(timer->data);
}

ab_resource_spoke *ab_resource_spoke_new(const ab_resource_spoke_env *env)
{
    ab_resource_spoke *spoke = calloc(1, sizeof(*spoke));
    uv_timer_t *timer = spoke == NULL ? NULL : ab_timer_new(env->loop, spoke);
    if (timer == NULL) {
        free(spoke);
        return NULL;
    }
    spoke->env = *env;
    spoke->held_max = AB_RESOURCE_SPOKE_HELD_MAX;
    (void)uv_timer_start(timer, on_watch, WATCH_MS, WATCH_MS);
    spoke->watch = timer;
    return spoke;
}

void ab_resource_spoke_free(ab_resource_spoke *spoke)
{
    if (spoke == NULL)
        return;
    ab_resource_policy_fini(&spoke->env.policy);
    ab_timer_free(spoke->watch);
    free(spoke);
}
