/* SPDX-License-Identifier: Apache-2.0
 *
 * The log of a container in an argocd-agent's cluster. It is answered with 200 when the first bytes
 * come, or when the agent has said nothing against it for a while: a log may be silent for hours.
 * A log that breaks off ends the stream as lost, so that a front which can go on does (logs.h).
 */
#include "live/gopeer/agents/agents_priv.h"

#include <stdio.h>
#include <stdlib.h>

/* Within this the agent says whether it can read the log. */
#define SILENT_MS 500
#define TYPE      ((ab_http_field){AB_STR("content-type"), AB_STR("text/plain")})

static void free_request(ab_gopeer_side *s)
{
    ab_gopeer_side_fini(s);
    free(s);
}

static void refuse(ab_gopeer_side *s, int status, const char *why, ab_str detail)
{
    char text[512];
    (void)snprintf(text, sizeof(text), "%s%.*s", why, AB_STR_ARG(detail));
    ab_gopeer_call_refuse(&s->call, status, text);
}

/* What the viewer has got so far is not all of it. */
static void break_off(ab_gopeer_side *s)
{
    ab_live_stream_cancel(s->call.stream);
    free_request(s);
}

/* ----- what the agent says ----- */

static bool contains(ab_str text, const char *part)
{
    return text.len > 0 && memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

/* Of the API server's refusal only the text comes. */
static int status_of(ab_str error)
{
    return contains(error, "not found")   ? 404
           : contains(error, "forbidden") ? 403
           : contains(error, "container") ? 400
                                          : 500;
}

static void fail(ab_gopeer_side *s, ab_str error)
{
    ab_gopeer_side_cancel(s);
    if (s->call.answered)
        break_off(s);
    else
        refuse(s, status_of(error), "the argocd-agent: ", error);
}

static void answer(ab_gopeer_side *s)
{
    ab_gopeer_call_answer(&s->call, 200, TYPE, s->call.ends);
    ab_gopeer_side_flush(s);
}

static void end(ab_gopeer_side *s)
{
    ab_buf response = ab_buf_up_to(256);
    ab_gopeer_wire_put_logs_end(ab_str_of(s->call.id), &response);
    if (s->side->ops->send(s->side, ab_buf_str(&response)) == AB_ERR_OK)
        s->side->ops->finish(s->side);
    else
        s->side->ops->cancel(s->side);
    s->side = NULL;
    s->call.ends = true;
    ab_buf_fini(&response);
}

static void on_open(ab_gopeer_side *s)
{
    ab_gopeer_side_wait(s, SILENT_MS);
}

static void on_message(ab_gopeer_side *s, const ab_gopeer_side_message *m)
{
    if (m->error.len > 0) {
        fail(s, m->error);
        return;
    }
    ab_buf_put(&s->call.out, m->data);
    if (ab_buf_status(&s->call.out) != AB_ERR_OK) {
        break_off(s);
        return;
    }
    if (m->eof)
        end(s);
    if (m->data.len > 0 || m->eof)
        answer(s);
}

static void on_writable(ab_gopeer_side *s)
{
    (void)s; /* it is sent one message, at its end */
}

static void on_lost(ab_gopeer_side *s, const char *why)
{
    if (s->call.answered)
        break_off(s);
    else
        refuse(s, 502, "the argocd-agent broke the log off: ", ab_str_of(why));
}

static void on_due(ab_gopeer_side *s)
{
    if (s->call.answered)
        return;
    if (s->came)
        answer(s);
    else
        refuse(s, 504, "the argocd-agent did not open the log in time", AB_STR(""));
}

static const ab_gopeer_side_use use = {AB_SIDE_LOGS, on_open, on_message,
                                       on_writable,  on_lost, on_due};

/* ----- the stream ----- */

static void on_room(void *arg)
{
    ab_gopeer_side_flush(arg);
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    (void)code, (void)err;
    free_request(arg);
}

static const ab_live_handler handler = {.on_room = on_room, .on_over = on_over};

/* ----- the request ----- */

static void ask(ab_gopeer_side *s, const ab_resource_map *map)
{
    ab_error err = {0};
    ab_buf data = ab_buf_up_to(2u * AB_RESOURCE_TARGET_MAX);
    ab_err e = ab_gopeer_wire_put_logs(s->call.id, map, &data, &err);
    if (e == AB_ERR_OK)
        ab_gopeer_side_ask(s, AB_TARGET_CONTAINER_LOG, AB_TYPE_HTTP_GET, ab_buf_str(&data));
    else
        refuse(s, e == AB_ERR_UNSUPPORTED ? 501 : 400, err.text, AB_STR(""));
    ab_buf_fini(&data);
}

void ab_gopeer_logs_serve(ab_gopeer_agent *agent, ab_live_stream *stream,
                          const ab_resource_map *map)
{
    ab_gopeer_side *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return; /* what is not served is refused */
    if (ab_gopeer_side_init(s, &use, agent, stream) != AB_ERR_OK) {
        free_request(s);
        return;
    }
    ab_live_stream_serve(stream, &handler, s);
    ask(s, map);
}
