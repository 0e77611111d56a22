/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies go through in pieces. What the other side does not take is held, and nobody is asked for
 * more until it was taken: the client is paused, the agent gets no credits. What is held is thus
 * bounded by a window of the stream, and a piece of the client; and all of it in held.c.
 *
 * The end of the HTTP request (on_over of the server) frees it all; the stream's end only answers.
 * When the stream of a followed log is lost, the request waits for the agent, and the log goes on
 * (logs.h). When the principal stops, answers without an end of their own end in order, and others
 * that are not whole are cut.
 */
#include "live/resource/front/front_priv.h"

#include "live/resource/service.h"
#include "live/resource/status.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_MAX   (16u * 1024)
#define GIVE_UP_MS  60000 /* a log waits so long for its agent */
#define RETRY_MS    500
#define REFUSAL_MAX (16u * 1024)

/* --- refusals --- */

void ab_resource_front_refuse(ab_resource_front_request *r, int status, const char *why)
{
    static const ab_http_field FIELDS[] = {{{"content-type", 12}, {"application/json", 16}},
                                           {{"retry-after", 11}, {"1", 1}}};
    r->status = status;
    r->down_ended = true;
    ab_buf body = ab_buf_up_to(REFUSAL_MAX);
    ab_resource_status_put(status, why, &body);
    bool again = status == 429 || (status == 503 && r->front->stopping);
    if (ab_https_answer(r->http, status, FIELDS, again ? 2 : 1, (int64_t)body.len) != AB_ERR_OK ||
        ab_https_send(r->http, ab_buf_str(&body)) != AB_ERR_OK)
        ab_https_abort(r->http);
    else
        ab_https_finish(r->http);
    r->bytes += body.len;
    ab_buf_fini(&body);
}

int ab_resource_front_status_of(ab_err code)
{
    switch (code) {
    case AB_ERR_TIMEOUT:
        return 504;
    case AB_ERR_FULL:
        return 429;
    case AB_ERR_INVALID:
        return 400;
    default:
        return 502;
    }
}

/* --- the answer --- */

static void send_down(ab_resource_front_request *r)
{
    ab_err e = AB_ERR_OK;
    while (e == AB_ERR_OK && r->down_sent < r->down.len) {
        size_t left = r->down.len - r->down_sent;
        size_t len = left < PIECE_MAX ? left : PIECE_MAX;
        e = ab_https_send(r->http, (ab_str){r->down.ptr + r->down_sent, len});
        if (e == AB_ERR_OK)
            r->down_sent += len;
    }
    if (e == AB_ERR_FULL)
        return; /* on_writable follows */
    if (e != AB_ERR_OK) {
        ab_https_abort(r->http);
        return;
    }
    r->bytes += r->down_sent;
    r->down_sent = 0;
    ab_buf_clear(&r->down);
    if (r->stream != NULL && r->owed > 0)
        ab_live_stream_consumed(r->stream, r->owed);
    r->owed = 0;
    if (r->down_ended)
        ab_https_finish(r->http);
}

/* Give the client what is held, and the agent credits for it. */
static void flush_down(ab_resource_front_request *r)
{
    size_t before = r->down_sent;
    send_down(r);
    ab_resource_front_hold(r, r->down.len, r->down_sent > before);
}

static int64_t length_of(const ab_http_field *fields, size_t count)
{
    uint64_t length = 0;
    ab_str text = ab_http_field_find(fields, count, "content-length");
    if (text.ptr == NULL || ab_str_to_u64(text, &length) != AB_ERR_OK || length > INT64_MAX)
        return -1;
    return (int64_t)length;
}

/* A client would follow it with its token, to whatever host, or to another agent's path, and with
 * 307 and 308 it would change something there: the agent would act with the rights of its viewer.
 */
static bool is_redirect(int status)
{
    return status >= 300 && status < 400 && status != 304;
}

static void on_answer(void *arg, int status, const ab_http_field *fields, size_t count)
{
    ab_resource_front_request *r = arg;
    ab_http_field out[AB_LIVE_FIELDS_MAX];
    size_t kept = 0;
    if (r->status != 0) { /* of a log that goes on */
        if (status != 200)
            ab_https_abort(r->http);
        return;
    }
    if (is_redirect(status)) {
        ab_resource_front_refuse(r, 502,
                                 "the agent answered with a redirect, which is not passed on");
        return;
    }
    for (size_t i = 0; i < count && kept < AB_LIVE_FIELDS_MAX; i++) {
        if (!ab_resource_fields_is_hop(fields[i].name))
            out[kept++] = fields[i];
    }
    r->status = status;
    r->resumable = r->resumable && status == 200;
    if (ab_https_answer(r->http, status, out, kept, r->resumable ? -1 : length_of(fields, count)) !=
        AB_ERR_OK)
        ab_https_abort(r->http);
}

static void start_retrying(ab_resource_front *front);

static void wait_for_agent(ab_resource_front_request *r)
{
    r->waiting = true;
    r->give_up_ms = ab_clock_mono_ms(r->front->env.clock) + GIVE_UP_MS;
    LIST_INSERT_HEAD(&r->front->waiting, r, waiting_at);
    if (!uv_is_active((uv_handle_t *)r->front->retry))
        start_retrying(r->front);
}

/* Of a log that goes on, the first lines are missing. */
static void ask_for_all(ab_resource_front_request *r)
{
    ab_live_stream_cancel(r->stream);
    r->stream = NULL;
    r->owed = 0;
    wait_for_agent(r);
}

static void on_data(void *arg, ab_str bytes)
{
    ab_resource_front_request *r = arg;
    ab_err e = AB_ERR_OK;
    if (r->down_ended)
        return; /* it was refused */
    r->owed += bytes.len;
    if (r->resumable)
        e = ab_resource_logs_feed(&r->logs, bytes, &r->down);
    else
        ab_buf_put(&r->down, bytes);
    if (e == AB_ERR_CONFLICT)
        ask_for_all(r);
    else if (e != AB_ERR_OK || ab_buf_status(&r->down) != AB_ERR_OK)
        ab_https_abort(r->http);
    else
        flush_down(r);
}

static void on_end(void *arg)
{
    ab_resource_front_request *r = arg;
    if (r->status == 0) {
        ab_resource_front_refuse(r, 502, "the agent ended its answer before it began");
        return;
    }
    if (r->resumable)
        ab_resource_logs_end(&r->logs, &r->down);
    r->down_ended = true;
    flush_down(r);
}

/* --- a log that goes on --- */

/* A watch or a followed log: its client asks again when it ends. */
static bool is_endless(const ab_resource_front_request *r)
{
    return r->kind != AB_RESOURCE_FRONT_REQUEST &&
           (r->map.follow || r->kind == AB_RESOURCE_FRONT_WATCH);
}

/* What changes nothing may be asked again. */
static void refuse_lost(ab_resource_front_request *r, ab_err code, const ab_error *err)
{
    if (r->front->stopping && strcmp(r->method, "GET") == 0)
        ab_resource_front_refuse(r, 503, "the principal is stopping; ask again");
    else
        ab_resource_front_refuse(r, ab_resource_front_status_of(code),
                                 err == NULL ? NULL : err->text);
}

static void end_in_order(ab_resource_front_request *r)
{
    r->down_ended = true;
    flush_down(r);
}

static void stop_waiting(ab_resource_front_request *r)
{
    if (r->waiting)
        LIST_REMOVE(r, waiting_at);
    r->waiting = false;
}

/* An API server answers for a log with its first line, so that a silent one is not answered. Only
 * what has not been refused in the time that any request has goes on: its viewer would not be told
 * why otherwise. */
static bool may_go_on(const ab_resource_front_request *r)
{
    return r->resumable && !r->front->stopping &&
           (r->status != 0 ||
            ab_clock_mono_ms(r->front->env.clock) - r->asked_ms >= AB_RESOURCE_DEADLINE_MS);
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    ab_resource_front_request *r = arg;
    r->stream = NULL;
    r->owed = 0;
    if (r->down_ended)
        return; /* what is held is still sent */
    if (code == AB_ERR_UNAVAILABLE && may_go_on(r))
        wait_for_agent(r);
    else if (r->status == 0)
        refuse_lost(r, code, err);
    else if (r->front->stopping && r->status == 200 && is_endless(r))
        end_in_order(r);
    else
        ab_https_abort(r->http);
}

/* --- the request --- */

static void flush_up(ab_resource_front_request *r)
{
    if (r->stream == NULL)
        return;
    if (r->up.len > 0) {
        ab_err e = ab_live_stream_send(r->stream, ab_buf_str(&r->up));
        if (e == AB_ERR_FULL)
            return; /* on_room follows */
        ab_buf_clear(&r->up);
        if (e != AB_ERR_OK)
            return; /* it is ending; on_over follows */
        ab_https_resume(r->http);
    }
    if (r->up_ended)
        ab_live_stream_end(r->stream);
}

static void on_room(void *arg)
{
    flush_up(arg);
}

static const ab_live_handler STREAM = {.on_answer = on_answer,
                                       .on_data = on_data,
                                       .on_end = on_end,
                                       .on_room = on_room,
                                       .on_over = on_over};

static ab_err begin(ab_resource_front_request *r, ab_str target, ab_error *err)
{
    r->asked_ms = ab_clock_mono_ms(r->front->env.clock);
    return ab_live_hub_request(
        r->front->env.hub, r->agent,
        &(ab_live_request){.service = AB_STR(AB_RESOURCE_SERVICE),
                           .method = ab_str_of(r->method),
                           .path = target,
                           .fields = r->fields.list,
                           .count = r->fields.count,
                           .deadline_ms = is_endless(r) ? 0 : AB_RESOURCE_DEADLINE_MS},
        &STREAM, r, &r->stream, err);
}

void ab_resource_front_refuse_unasked(ab_resource_front_request *r, ab_err code,
                                      const ab_error *err)
{
    int status = code == AB_ERR_UNAVAILABLE ? 503 : ab_resource_front_status_of(code);
    ab_resource_front_refuse(r, status, err->text[0] == '\0' ? NULL : err->text);
}

void ab_resource_front_ask(ab_resource_front_request *r)
{
    ab_error err = {0};
    ab_buf target = ab_buf_up_to(4u * AB_RESOURCE_TARGET_MAX);
    ab_resource_map_put_path(&r->map, &target);
    ab_err e = ab_buf_status(&target);
    if (e == AB_ERR_OK)
        e = begin(r, ab_buf_str(&target), &err);
    ab_buf_fini(&target);
    if (e != AB_ERR_OK)
        ab_resource_front_refuse_unasked(r, e, &err);
}

static void resume_log(ab_resource_front_request *r)
{
    ab_error err = {0};
    ab_buf target = ab_buf_up_to(4u * AB_RESOURCE_TARGET_MAX);
    ab_resource_logs_resume(&r->logs, &r->map, &target);
    ab_err e = ab_buf_status(&target);
    if (e == AB_ERR_OK)
        e = begin(r, ab_buf_str(&target), &err);
    ab_buf_fini(&target);
    if (e == AB_ERR_OK) {
        stop_waiting(r);
        ab_live_stream_end(r->stream);
    } else if ((e != AB_ERR_UNAVAILABLE && e != AB_ERR_FULL) ||
               ab_clock_mono_ms(r->front->env.clock) >= r->give_up_ms) {
        stop_waiting(r);
        if (r->status == 0)
            ab_resource_front_refuse_unasked(r, e, &err);
        else
            ab_https_abort(r->http);
    }
}

static void on_retry(uv_timer_t *timer)
{
    ab_resource_front *front = timer->data;
    ab_resource_front_request *r = LIST_FIRST(&front->waiting);
    while (r != NULL) {
        ab_resource_front_request *next = LIST_NEXT(r, waiting_at);
        resume_log(r);
        r = next;
    }
    if (LIST_EMPTY(&front->waiting))
        (void)uv_timer_stop(timer);
}

static void start_retrying(ab_resource_front *front)
{
    int failed = uv_timer_start(front->retry, on_retry, RETRY_MS, RETRY_MS);
    assert(failed == 0);
    (void)failed;
}

void ab_resource_front_end_waiting(ab_resource_front *front)
{
    while (!LIST_EMPTY(&front->waiting)) {
        ab_resource_front_request *r = LIST_FIRST(&front->waiting);
        stop_waiting(r);
        if (r->status == 0)
            refuse_lost(r, AB_ERR_UNAVAILABLE, NULL);
        else
            end_in_order(r);
    }
}

/* --- what the HTTP server tells --- */

static void on_http_data(void *arg, ab_str piece)
{
    ab_resource_front_request *r = arg;
    if (r->stream == NULL)
        return; /* it was refused */
    ab_buf_put(&r->up, piece);
    if (ab_buf_status(&r->up) != AB_ERR_OK) {
        ab_https_abort(r->http);
        return;
    }
    flush_up(r);
    if (r->up.len > 0)
        ab_https_pause(r->http);
}

static void on_http_end(void *arg)
{
    ab_resource_front_request *r = arg;
    r->up_ended = true;
    flush_up(r);
}

static void on_http_writable(void *arg)
{
    flush_down(arg);
}

bool ab_resource_front_may_go_on(void *arg)
{
    ab_resource_front_request *r = arg;
    return ab_resource_grant_holds(&r->grant);
}

void ab_resource_front_end(void *arg, ab_err why, unsigned close_code)
{
    ab_resource_front_request *r = arg;
    (void)close_code;
    stop_waiting(r);
    ab_resource_front_hold(r, 0, false);
    if (r->stream != NULL)
        ab_live_stream_cancel(r->stream);
    ab_resource_front_audit_end(r, why);
    ab_resource_grant_fini(&r->grant);
    ab_resource_fields_fini(&r->fields);
    ab_resource_logs_fini(&r->logs);
    ab_resource_messages_fini(&r->messages);
    ab_buf_wipe(&r->up);
    ab_buf_wipe(&r->down);
    ab_buf_wipe(&r->message);
    free(r->offer);
    free(r->method);
    free(r->target);
    free(r);
}

const ab_https_handler ab_resource_front_handler = {.on_data = on_http_data,
                                                    .on_end = on_http_end,
                                                    .on_writable = on_http_writable,
                                                    .may_go_on = ab_resource_front_may_go_on,
                                                    .on_over = ab_resource_front_end};
