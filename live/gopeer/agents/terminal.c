/* SPDX-License-Identifier: Apache-2.0
 *
 * A terminal in an argocd-agent's cluster. The viewer's messages, whose first byte is the channel,
 * become those of the side call, and back; the status that ends a terminal is made here, since of
 * it the agent tells no more than a text.
 */
#include "live/gopeer/agents/agents_priv.h"
#include "live/resource/messages.h"
#include "live/resource/status.h"

#include <stdlib.h>
#include <string.h>

/* As argocd-agent's own principal has it. */
#define LIMIT_MS   (30 * 60 * 1000)
#define STATUS_MAX (64u * 1024)
#define SUCCESS    "{\"metadata\":{},\"status\":\"Success\"}"

static const char V4[] = "v4.channel.k8s.io";
static const char V5[] = "v5.channel.k8s.io";

typedef struct {
    ab_gopeer_side side; /* first */
    const char *protocol;
    ab_resource_messages in; /* of the viewer, that the agent has not taken */
    size_t owed;             /* bytes of those for which no credits were given back */
} terminal;

static void free_terminal(terminal *t)
{
    ab_gopeer_side_fini(&t->side);
    ab_resource_messages_fini(&t->in);
    free(t);
}

static void break_off(terminal *t)
{
    ab_live_stream_cancel(t->side.call.stream);
    free_terminal(t);
}

/* ----- to the viewer ----- */

static void put_message(terminal *t, char channel, ab_str data)
{
    ab_buf message = ab_buf_secret_up_to(AB_RESOURCE_MESSAGE_MAX);
    ab_buf_putc(&message, channel);
    ab_buf_put(&message, data);
    if (ab_buf_status(&message) == AB_ERR_OK)
        ab_resource_messages_put(&t->side.call.out, ab_buf_str(&message));
    ab_buf_wipe(&message);
}

/* @param code  0: it ended well */
static void put_end(terminal *t, int code, ab_str why)
{
    char *text = ab_str_dup(why);
    ab_buf status = ab_buf_up_to(STATUS_MAX);
    if (code == 0)
        ab_buf_puts(&status, SUCCESS);
    else
        ab_resource_status_put(code, text, &status);
    put_message(t, AB_GOPEER_STATUS, ab_buf_str(&status));
    t->side.call.ends = true;
    ab_buf_fini(&status);
    free(text);
}

/* ----- to the agent ----- */

/* What the other end has no form for is passed over. */
static ab_err send_message(terminal *t, ab_str message)
{
    ab_gopeer_side_message m = {.uuid = ab_str_of(t->side.call.id)};
    char channel = message.len == 0 ? AB_GOPEER_STDOUT : message.ptr[0];
    ab_str data = message.len < 2 ? AB_STR("") : (ab_str){message.ptr + 1, message.len - 1};
    if (channel == AB_GOPEER_STDIN && data.len > 0) {
        m.data = data;
        m.stream = AB_STR("stdin");
    } else if (channel == AB_GOPEER_RESIZE &&
               ab_gopeer_wire_read_size(data, &m.cols, &m.rows) == AB_ERR_OK) {
        m.resize = true;
    } else {
        return AB_ERR_OK;
    }
    ab_buf out = ab_buf_secret_up_to(2u * AB_RESOURCE_MESSAGE_MAX);
    ab_gopeer_wire_put_side(AB_SIDE_TERMINAL, &m, &out);
    ab_err e = ab_buf_status(&out);
    if (e == AB_ERR_OK)
        e = t->side.side->ops->send(t->side.side, ab_buf_str(&out));
    ab_buf_wipe(&out);
    return e;
}

static void flush_in(terminal *t)
{
    ab_str message = AB_STR_NONE;
    ab_err e = AB_ERR_OK;
    while (e == AB_ERR_OK && t->side.side != NULL) {
        e = ab_resource_messages_next(&t->in, &message);
        if (e == AB_ERR_OK && message.ptr == NULL)
            break;
        if (e == AB_ERR_OK)
            e = send_message(t, message);
        if (e == AB_ERR_OK)
            ab_resource_messages_drop(&t->in, message);
    }
    if (e == AB_ERR_OK) {
        ab_live_stream_consumed(t->side.call.stream, t->owed);
        t->owed = 0;
    } else if (e != AB_ERR_FULL && e != AB_ERR_CLOSED) { /* on_writable follows, or on_lost */
        break_off(t);
    }
}

/* ----- what the agent says ----- */

static void on_open(ab_gopeer_side *s)
{
    terminal *t = (terminal *)s;
    ab_gopeer_side_wait(s, LIMIT_MS);
    ab_gopeer_call_answer(&s->call, 200,
                          (ab_http_field){AB_STR("sec-websocket-protocol"), ab_str_of(t->protocol)},
                          false);
    flush_in(t);
}

static void on_message(ab_gopeer_side *s, const ab_gopeer_side_message *m)
{
    terminal *t = (terminal *)s;
    bool error = ab_str_is(m->stream, "stderr");
    if (m->data.len > 0)
        put_message(t, error ? AB_GOPEER_STDERR : AB_GOPEER_STDOUT, m->data);
    if (m->error.len > 0)
        put_end(t, 500, m->error);
    else if (m->eof)
        put_end(t, 0, AB_STR(""));
    if (ab_buf_status(&s->call.out) != AB_ERR_OK) {
        break_off(t);
        return;
    }
    if (s->call.ends) {
        s->side->ops->finish(s->side);
        s->side = NULL;
    }
    ab_gopeer_side_flush(s);
}

static void on_writable(ab_gopeer_side *s)
{
    flush_in((terminal *)s);
}

static void on_lost(ab_gopeer_side *s, const char *why)
{
    (void)why;
    break_off((terminal *)s);
}

static void on_due(ab_gopeer_side *s)
{
    if (!s->came) {
        ab_gopeer_call_refuse(&s->call, 504, "the argocd-agent did not open the terminal in time");
    } else if (!s->call.ends) {
        ab_gopeer_side_cancel(s);
        put_end((terminal *)s, 504, AB_STR("the principal ended the terminal after 30 minutes"));
        ab_gopeer_side_flush(s);
    }
}

static const ab_gopeer_side_use use = {AB_SIDE_TERMINAL, on_open, on_message,
                                       on_writable,      on_lost, on_due};

/* ----- the stream ----- */

static void on_data(void *arg, ab_str bytes)
{
    terminal *t = arg;
    t->owed += bytes.len;
    if (ab_resource_messages_feed(&t->in, bytes) != AB_ERR_OK)
        break_off(t);
    else if (t->side.side != NULL)
        flush_in(t);
}

/* The viewer has gone. */
static void on_end(void *arg)
{
    terminal *t = arg;
    if (!t->side.call.ends)
        break_off(t);
}

static void on_room(void *arg)
{
    terminal *t = arg;
    ab_gopeer_side_flush(&t->side);
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    (void)code, (void)err;
    free_terminal(arg);
}

static const ab_live_handler handler = {
    .on_data = on_data, .on_end = on_end, .on_room = on_room, .on_over = on_over};

/* ----- the request ----- */

static void ask(terminal *t, const ab_resource_map *map)
{
    ab_error err = {0};
    ab_buf data = ab_buf_up_to(4u * AB_RESOURCE_TARGET_MAX);
    if (!t->side.call.agent->managed)
        ab_gopeer_call_refuse(&t->side.call, 400,
                              "an autonomous argocd-agent has no terminals for the control plane");
    else if (ab_gopeer_wire_put_terminal(t->side.call.id, map, &data, &err) != AB_ERR_OK)
        ab_gopeer_call_refuse(&t->side.call, 400, err.text);
    else
        ab_gopeer_side_ask(&t->side, AB_TARGET_TERMINAL, AB_TYPE_TERMINAL_REQUEST,
                           ab_buf_str(&data));
    ab_buf_fini(&data);
}

void ab_gopeer_terminal_serve(ab_gopeer_agent *agent, ab_live_stream *s,
                              const ab_live_request *from, const ab_resource_map *map)
{
    ab_str offer = ab_http_field_find(from->fields, from->count, "sec-websocket-protocol");
    bool v5 = offer.ptr != NULL && memmem(offer.ptr, offer.len, V5, strlen(V5)) != NULL;
    terminal *t = calloc(1, sizeof(*t));
    if (t == NULL)
        return; /* what is not served is refused */
    t->protocol = v5 ? V5 : V4;
    ab_resource_messages_init(&t->in);
    if (ab_gopeer_side_init(&t->side, &use, agent, s) != AB_ERR_OK) {
        free_terminal(t);
        return;
    }
    ab_live_stream_serve(s, &handler, t);
    ask(t, map);
}
