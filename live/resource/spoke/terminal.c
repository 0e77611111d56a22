/* SPDX-License-Identifier: Apache-2.0
 *
 * A terminal: messages of the client's WebSocket, which come by the stream, go to the API server's,
 * and back. What one side does not take pauses the other.
 *
 *   JUDGE --allowed--> CONNECT --open--> OPEN --either side ends--> (freed)
 *     |                   |
 *     +------refused------+--> REFUSED: an answer that is not 200, and its body
 */
#include "live/resource/fields.h"
#include "live/resource/messages.h"
#include "live/resource/spoke/managed.h"
#include "live/resource/spoke/spoke_priv.h"
#include "live/resource/status.h"

#include <stdlib.h>
#include <string.h>

/* Of messages that wait for the stream: one that is being put together, and what was paused late.
 */
#define UP_MAX (4u * AB_RESOURCE_MESSAGE_MAX)

/* Of the messages of both protocols. */
#define STATUS_CHANNEL 3

static const char *const PROTOCOLS[] = {"v5.channel.k8s.io", "v4.channel.k8s.io", NULL};

typedef enum { JUDGE, CONNECT, OPEN, REFUSED } state;

typedef struct ab_resource_terminal {
    ab_resource_spoke *spoke;
    LIST_ENTRY(ab_resource_terminal) link;
    ab_live_stream *stream;
    state state;
    char *target;
    ab_resource_fields fields;
    const char *protocols[3]; /* to offer; NULL at the end */
    ab_resource_map map;
    ab_resource_question *question;
    ab_resource_socket *socket;
    int64_t begun_ms, moved_ms;
    ab_buf message; /* of the server, not whole yet */
    ab_buf up;      /* to the stream */
    size_t up_sent;
    bool up_ends;              /* nothing follows what is in `up` */
    bool paused;               /* the server */
    ab_resource_messages down; /* from the stream */
    size_t owed;               /* bytes of those for which no credits were given back */
} ab_resource_terminal;

static void free_terminal(ab_resource_terminal *t)
{
    ab_resource_managed_cancel(t->question);
    if (t->socket != NULL)
        t->spoke->env.api.ops->cancel_socket(t->socket);
    LIST_REMOVE(t, link);
    ab_resource_fields_fini(&t->fields);
    ab_resource_messages_fini(&t->down);
    ab_buf_wipe(&t->message);
    ab_buf_wipe(&t->up);
    free(t->target);
    free(t);
}

static void break_off(ab_resource_terminal *t)
{
    ab_live_stream_cancel(t->stream);
    free_terminal(t);
}

static void note_move(ab_resource_terminal *t)
{
    t->moved_ms = ab_clock_mono_ms(t->spoke->env.clock);
}

/* --- to the client --- */

/* @return false: the terminal is gone */
static bool flush_up(ab_resource_terminal *t)
{
    ab_err e = ab_live_stream_send_rest(t->stream, ab_buf_str(&t->up), &t->up_sent);
    if (e == AB_ERR_FULL)
        return true; /* on_room follows */
    if (e != AB_ERR_OK) {
        break_off(t);
        return false;
    }
    ab_buf_clear(&t->up);
    t->up_sent = 0;
    if (t->up_ends) {
        ab_live_stream_end(t->stream);
    } else if (t->paused) {
        t->paused = false;
        t->spoke->env.api.ops->resume_socket(t->socket);
    }
    return true;
}

static void refuse_with(ab_resource_terminal *t, int status, ab_str type, ab_str body)
{
    const ab_http_field fields[] = {{AB_STR("content-type"), type}};
    t->state = REFUSED;
    ab_buf_clear(&t->up);
    ab_buf_put(&t->up, body);
    t->up_ends = true;
    if (ab_live_stream_answer(t->stream, status, fields, 1) == AB_ERR_OK)
        (void)flush_up(t);
}

static void refuse(ab_resource_terminal *t, int status, const char *why)
{
    ab_buf body = ab_buf_up_to(16 * 1024);
    ab_resource_status_put(status, why, &body);
    refuse_with(t, status, AB_STR(AB_RESOURCE_STATUS_TYPE), ab_buf_str(&body));
    ab_buf_fini(&body);
}

/* --- to the container --- */

static void flush_down(ab_resource_terminal *t)
{
    ab_err e = AB_ERR_OK;
    ab_str message;
    while (e == AB_ERR_OK) {
        e = ab_resource_messages_next(&t->down, &message);
        if (e == AB_ERR_OK && message.ptr == NULL)
            break;
        if (e == AB_ERR_OK)
            e = t->spoke->env.api.ops->message(t->socket, message);
        if (e == AB_ERR_OK)
            ab_resource_messages_drop(&t->down, message);
    }
    if (e == AB_ERR_OK) {
        ab_live_stream_consumed(t->stream, t->owed);
        t->owed = 0;
    } else if (e != AB_ERR_FULL) { /* on_room follows that */
        break_off(t);
    }
}

/* --- what the API server's WebSocket tells --- */

static void on_open(void *arg, const char *protocol)
{
    ab_resource_terminal *t = arg;
    const ab_http_field fields[] = {
        {AB_STR("sec-websocket-protocol"), ab_str_of(protocol == NULL ? "" : protocol)}};
    t->state = OPEN;
    note_move(t);
    if (ab_live_stream_answer(t->stream, 200, fields, 1) != AB_ERR_OK)
        return; /* it is ending; on_over follows */
    flush_down(t);
}

static void on_message(void *arg, ab_str piece, bool ends)
{
    ab_resource_terminal *t = arg;
    note_move(t);
    ab_buf_put(&t->message, piece);
    if (ends && ab_buf_status(&t->message) == AB_ERR_OK) {
        ab_resource_messages_put(&t->up, ab_buf_str(&t->message));
        ab_buf_clear(&t->message);
    }
    if (ab_buf_status(&t->message) != AB_ERR_OK || ab_buf_status(&t->up) != AB_ERR_OK) {
        break_off(t);
    } else if (ends && flush_up(t) && t->up.len > 0 && !t->paused) {
        t->paused = true;
        t->spoke->env.api.ops->pause_socket(t->socket);
    }
}

static void on_socket_room(void *arg)
{
    flush_down(arg);
}

static void on_socket_over(void *arg, const ab_resource_socket_end *end)
{
    ab_resource_terminal *t = arg;
    t->socket = NULL;
    t->paused = false;
    if (t->state == OPEN && end->code == AB_ERR_OK) {
        t->up_ends = true;
        (void)flush_up(t);
    } else if (t->state == OPEN) {
        AB_INFO(t->spoke->env.log, LIVE, "terminal lost at the API server",
                AB_KV("why", end->err == NULL ? "" : (const char *)end->err->text));
        break_off(t);
    } else if (end->status >= 400) {
        refuse_with(t, end->status, end->type.ptr == NULL ? AB_STR("text/plain") : end->type,
                    end->body.ptr == NULL ? AB_STR("") : end->body);
    } else {
        refuse(t, end->code == AB_ERR_TIMEOUT ? 504 : 502,
               end->err == NULL ? NULL : end->err->text);
    }
}

static const ab_resource_socket_handler SOCKET = {on_open, on_message, on_socket_room,
                                                  on_socket_over};

/* --- may it be opened? --- */

static void open_socket(ab_resource_terminal *t)
{
    t->state = CONNECT;
    ab_buf path = ab_buf_up_to(4u * AB_RESOURCE_TARGET_MAX);
    ab_resource_map_put_path(&t->map, &path);
    if (ab_buf_status(&path) == AB_ERR_OK)
        t->socket = t->spoke->env.api.ops->connect(
            t->spoke->env.api.self,
            &(ab_resource_socket_request){.target = ab_buf_str(&path),
                                          .fields = t->fields.list,
                                          .count = t->fields.count,
                                          .protocols = t->protocols},
            &SOCKET, t);
    ab_buf_fini(&path);
    if (t->socket == NULL)
        refuse(t, 503, "the agent is out of memory");
}

static void on_verdict(void *arg, const ab_resource_verdict *v)
{
    ab_resource_terminal *t = arg;
    t->question = NULL;
    if (v->managed)
        open_socket(t);
    else if (v->status != 0)
        refuse_with(t, v->status, AB_STR(AB_RESOURCE_STATUS_TYPE), v->body);
    else
        refuse(t, 403, v->why);
}

static void judge(ab_resource_terminal *t)
{
    ab_error why = {0};
    if (ab_resource_map_read(AB_STR("GET"), ab_str_of(t->target), &t->map, &why) != AB_ERR_OK ||
        t->map.verb != AB_RESOURCE_CONNECT) {
        refuse(t, 400, why.text[0] == '\0' ? "the path is not one of a terminal" : why.text);
        return;
    }
    ab_resource_decision d =
        ab_resource_policy_decide(&t->spoke->env.policy, &t->map, AB_STR_NONE, AB_STR_NONE, &why);
    if (d == AB_RESOURCE_REFUSED)
        refuse(t, 403, why.text);
    else if (t->spoke->env.api.ops == NULL)
        refuse(t, 503, "the agent has no access to a Kubernetes API server");
    else if (d == AB_RESOURCE_ALLOWED)
        open_socket(t);
    else if (ab_resource_managed_ask(&t->spoke->env.api, &t->map, AB_STR_NONE, on_verdict, t,
                                     &t->question) != AB_ERR_OK)
        refuse(t, 503, "the agent is out of memory");
}

/* --- the stream --- */

static void on_data(void *arg, ab_str bytes)
{
    ab_resource_terminal *t = arg;
    t->owed += bytes.len;
    note_move(t);
    if (t->state == REFUSED)
        return;
    if (ab_resource_messages_feed(&t->down, bytes) != AB_ERR_OK)
        break_off(t);
    else if (t->state == OPEN && t->socket != NULL)
        flush_down(t);
}

/* The client has gone; the other half says nothing to anyone any more. */
static void on_end(void *arg)
{
    ab_resource_terminal *t = arg;
    if (t->state != REFUSED)
        break_off(t);
}

static void on_room(void *arg)
{
    (void)flush_up(arg);
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    (void)code;
    (void)err;
    free_terminal(arg);
}

static const ab_live_handler STREAM = {
    .on_data = on_data, .on_end = on_end, .on_room = on_room, .on_over = on_over};

/* --- limits --- */

/* In the way in which an API server tells how a command ended. */
static void tell_end(ab_resource_terminal *t, const char *why)
{
    ab_buf message = ab_buf_up_to(4096);
    ab_buf_putc(&message, STATUS_CHANNEL);
    ab_resource_status_put(504, why, &message);
    ab_resource_messages_put(&t->up, ab_buf_str(&message));
    ab_buf_fini(&message);
    t->up_ends = true;
    if (ab_buf_status(&t->up) == AB_ERR_OK)
        (void)flush_up(t);
    else
        break_off(t);
}

/* One that was told already, and whose client does not read that, is broken off. */
static void end_over_limit(ab_resource_terminal *t, const char *why)
{
    if (t->state != OPEN || t->socket == NULL) {
        break_off(t);
        return;
    }
    t->spoke->env.api.ops->cancel_socket(t->socket);
    t->socket = NULL;
    t->paused = false;
    tell_end(t, why);
}

static const char *limit_reached(const ab_resource_terminal *t, int64_t now_ms)
{
    if (now_ms - t->begun_ms >= t->spoke->env.terminal_limit_ms)
        return "the agent ended the terminal: live.terminal.limit is reached";
    if (now_ms - t->moved_ms >= t->spoke->env.terminal_idle_ms)
        return "the agent ended the terminal: it was idle for live.terminal.idle";
    return NULL;
}

void ab_resource_spoke_limit_terminals(ab_resource_spoke *spoke)
{
    int64_t now = ab_clock_mono_ms(spoke->env.clock);
    ab_resource_terminal *t = LIST_FIRST(&spoke->terminals);
    while (t != NULL) {
        ab_resource_terminal *next = LIST_NEXT(t, link);
        const char *why = limit_reached(t, now);
        if (why != NULL) {
            AB_INFO(spoke->env.log, LIVE, "terminal reached a limit", AB_KV("why", why),
                    AB_KV("open_ms", now - t->begun_ms), AB_KV("idle_ms", now - t->moved_ms));
            end_over_limit(t, why);
        }
        t = next;
    }
}

static void offer(ab_resource_terminal *t, ab_str offered)
{
    size_t count = 0;
    for (size_t i = 0; PROTOCOLS[i] != NULL; i++) {
        if (offered.ptr != NULL &&
            memmem(offered.ptr, offered.len, PROTOCOLS[i], strlen(PROTOCOLS[i])) != NULL)
            t->protocols[count++] = PROTOCOLS[i];
    }
}

void ab_resource_spoke_serve_terminal(void *arg, ab_live_stream *s, const ab_live_request *from)
{
    ab_resource_spoke *spoke = arg;
    ab_resource_terminal *t = calloc(1, sizeof(*t));
    if (t == NULL)
        return; /* what is not served is refused */
    t->spoke = spoke;
    t->stream = s;
    t->begun_ms = t->moved_ms = ab_clock_mono_ms(spoke->env.clock);
    t->target = ab_str_dup(from->path);
    LIST_INSERT_HEAD(&spoke->terminals, t, link);
    ab_buf_init_secret(&t->message, AB_RESOURCE_MESSAGE_MAX);
    ab_buf_init_secret(&t->up, UP_MAX);
    ab_resource_messages_init(&t->down);
    ab_resource_fields_init(&t->fields);
    for (size_t i = 0; i < from->count; i++) {
        if (ab_resource_fields_is_impersonation(from->fields[i].name))
            ab_resource_fields_add(&t->fields, from->fields[i].name, from->fields[i].value);
    }
    if (t->target == NULL || ab_resource_fields_seal(&t->fields) != AB_ERR_OK) {
        free_terminal(t);
        return;
    }
    offer(t, ab_http_field_find(from->fields, from->count, "sec-websocket-protocol"));
    ab_live_stream_serve(s, &STREAM, t);
    judge(t);
}
