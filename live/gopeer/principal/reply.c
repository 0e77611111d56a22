/* SPDX-License-Identifier: Apache-2.0
 *
 * A request of argocd-agent's principal that is answered by a side call: what the spoke answers
 * goes out in messages, and the spoke waits while the call does not take them. The principal ends
 * the call when its viewer goes, and so the stream.
 */
#include "base/json/span.h"
#include "live/gopeer/principal/principal_priv.h"

#include <stdio.h>
#include <string.h>

#define REFUSAL_MAX (16u * 1024)
#define ERROR_MAX   1024

/* ----- to the principal ----- */

void ab_gopeer_reply_put(ab_gopeer_reply *r, ab_gopeer_side_message m)
{
    ab_buf message = ab_buf_secret_up_to(AB_RESOURCE_MESSAGE_MAX);
    m.uuid = ab_str_of(r->id);
    ab_gopeer_wire_put_side(r->use->kind, &m, &message);
    if (ab_buf_status(&message) == AB_ERR_OK)
        ab_resource_messages_put(&r->out.bytes, ab_buf_str(&message));
    else
        r->broken = true;
    ab_buf_wipe(&message);
}

static ab_err send_waiting(ab_gopeer_reply *r)
{
    ab_str message;
    ab_err e = r->broken ? AB_ERR_NOMEM : ab_buf_status(&r->out.bytes);
    while (e == AB_ERR_OK) {
        e = ab_resource_messages_next(&r->out, &message);
        if (e != AB_ERR_OK || message.ptr == NULL)
            return e;
        e = r->side->ops->send(r->side, message);
        if (e == AB_ERR_OK)
            ab_resource_messages_drop(&r->out, message);
    }
    return e;
}

void ab_gopeer_reply_flush(ab_gopeer_reply *r)
{
    ab_err e = send_waiting(r);
    if (e == AB_ERR_FULL || e == AB_ERR_CLOSED)
        return; /* on_writable follows, or on_end */
    if (e == AB_ERR_OK && !r->ends) {
        if (r->stream != NULL && r->owed > 0)
            ab_live_stream_consumed(r->stream, r->owed);
        r->owed = 0;
        return;
    }
    if (e == AB_ERR_OK) {
        r->side->ops->finish(r->side);
        r->side = NULL;
    }
    r->use->free(r);
}

void ab_gopeer_reply_end(ab_gopeer_reply *r, ab_str error)
{
    if (r->ends)
        return;
    r->ends = true;
    ab_gopeer_reply_put(r, (ab_gopeer_side_message){.eof = error.len == 0, .error = error});
    ab_gopeer_reply_flush(r);
}

/* Of a Status its message, of all else a text. */
static void end_with_refusal(ab_gopeer_reply *r)
{
    char text[ERROR_MAX];
    ab_span *doc = NULL;
    ab_buf message = ab_buf_up_to(REFUSAL_MAX);
    ab_err e = ab_span_parse(ab_buf_str(&r->refusal), &doc, NULL);
    if (e == AB_ERR_OK)
        e = ab_span_copy(ab_span_get(ab_span_root(doc), "message"), &message);
    if (e == AB_ERR_OK && message.len > 0)
        (void)snprintf(text, sizeof(text), "%.*s", AB_STR_ARG(ab_buf_str(&message)));
    else
        (void)snprintf(text, sizeof(text), "refused with status %d", r->status);
    ab_span_free(doc);
    ab_buf_fini(&message);
    ab_gopeer_reply_end(r, ab_str_of(text));
}

/* ----- the call ----- */

static void on_message(void *arg, ab_str bytes)
{
    ab_gopeer_reply *r = arg;
    ab_pb_arena arena;
    ab_gopeer_side_message m;
    ab_err e = ab_gopeer_wire_read_side(r->use->kind, bytes, &arena, &m);
    if (e == AB_ERR_OK && r->use->on_message != NULL)
        r->use->on_message(r, &m);
    ab_pb_arena_wipe(&arena);
}

static void on_writable(void *arg)
{
    ab_gopeer_reply_flush(arg);
}

/* The viewer has gone, or the principal knows of no request: nobody waits for it. */
static bool is_unwanted(const char *why)
{
    return strcmp(why, "CANCELLED") == 0 || strcmp(why, "NOT_FOUND") == 0;
}

static bool is_kept(ab_gopeer_reply *r)
{
    return !r->ends && r->use->on_lost != NULL && r->use->on_lost(r);
}

static void on_side_end(void *arg, const char *why)
{
    ab_gopeer_reply *r = arg;
    r->side = NULL;
    if (is_unwanted(why) || !is_kept(r))
        r->use->free(r);
}

static const ab_side_handler call_handler = {
    .on_message = on_message, .on_writable = on_writable, .on_end = on_side_end};

/* ----- the stream ----- */

static void on_answer(void *arg, int status, const ab_http_field *fields, size_t count)
{
    ab_gopeer_reply *r = arg;
    (void)fields, (void)count;
    r->status = status;
}

static void on_data(void *arg, ab_str bytes)
{
    ab_gopeer_reply *r = arg;
    if (r->status == 200) {
        r->owed += bytes.len;
        r->use->on_data(r, bytes);
    } else {
        ab_live_stream_consumed(r->stream, bytes.len);
        ab_buf_put(&r->refusal, bytes);
    }
}

static void on_end(void *arg)
{
    ab_gopeer_reply *r = arg;
    if (r->status == 200 && r->use->on_end != NULL)
        r->use->on_end(r);
    if (r->status == 200)
        ab_gopeer_reply_end(r, AB_STR(""));
    else if (r->status == 0)
        ab_gopeer_reply_end(r, AB_STR("the answer ended before it began"));
    else
        end_with_refusal(r);
}

static void on_room(void *arg)
{
    ab_gopeer_reply *r = arg;
    r->use->on_room(r);
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    ab_gopeer_reply *r = arg;
    r->stream = NULL;
    if (!r->p->connected && is_kept(r))
        return;
    ab_gopeer_reply_end(r, err == NULL || err->text[0] == '\0' ? ab_str_of(ab_err_text(code))
                                                               : ab_str_of(err->text));
}

static const ab_live_handler stream_handler = {.on_answer = on_answer,
                                               .on_data = on_data,
                                               .on_end = on_end,
                                               .on_room = on_room,
                                               .on_over = on_over};

bool ab_gopeer_reply_ask(ab_gopeer_reply *r, const ab_live_request *request)
{
    ab_error err = {0};
    ab_err e = ab_gopeer_principal_ask(r->p, request, &stream_handler, r, &r->stream, &err);
    if (e == AB_ERR_OK) {
        if (r->use->on_room == NULL)
            ab_live_stream_end(r->stream);
        return true;
    }
    r->stream = NULL;
    ab_gopeer_reply_end(r, ab_str_of(err.text[0] == '\0' ? ab_err_text(e) : err.text));
    return false;
}

/* ----- life ----- */

ab_err ab_gopeer_reply_open(ab_gopeer_reply *r)
{
    const ab_gopeer_principal_env *env = &r->p->env;
    ab_err e = env->open_side(env->arg, r->use->kind, &call_handler, r, &r->side);
    if (e == AB_ERR_OK)
        ab_gopeer_reply_put(r, (ab_gopeer_side_message){0}); /* which request it is of */
    return e;
}

ab_err ab_gopeer_reply_init(ab_gopeer_reply *r, const ab_gopeer_reply_use *use,
                            ab_gopeer_principal *p, const char *id)
{
    r->p = p;
    r->use = use;
    ab_buf_init(&r->refusal, REFUSAL_MAX);
    ab_resource_messages_init(&r->out);
    ab_err e = ab_map_put(p->asked, ab_str_of(id), r, NULL);
    if (e != AB_ERR_OK)
        return e;
    (void)snprintf(r->id, sizeof(r->id), "%s", id);
    e = ab_gopeer_reply_open(r);
    if (e != AB_ERR_OK)
        AB_WARN(p->env.log, LIVE, "cannot answer a request of argocd-agent's principal",
                AB_KV("why", ab_err_text(e)));
    return e;
}

void ab_gopeer_reply_close(ab_gopeer_reply *r)
{
    if (r->stream != NULL)
        ab_live_stream_cancel(r->stream);
    if (r->side != NULL)
        r->side->ops->cancel(r->side);
    r->stream = NULL;
    r->side = NULL;
    r->status = 0;
    r->owed = 0;
    ab_buf_clear(&r->refusal);
    ab_resource_messages_fini(&r->out);
    ab_resource_messages_init(&r->out);
}

void ab_gopeer_reply_fini(ab_gopeer_reply *r)
{
    if (r->id[0] != '\0')
        ab_gopeer_principal_finish(r->p, r->id);
    ab_gopeer_reply_close(r);
    ab_buf_fini(&r->refusal);
    ab_resource_messages_fini(&r->out);
}
