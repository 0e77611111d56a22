/* SPDX-License-Identifier: Apache-2.0
 *
 * A terminal that argocd-agent's principal has asked for: its messages become those of the API
 * server's WebSocket, whose first byte is the channel, and back. All that is shown goes as stdout,
 * as argocd-agent has it; of the status that ends a terminal, the text.
 */
#include "live/gopeer/principal/principal_priv.h"
#include "live/resource/service.h"

#include <stdlib.h>

#define PART_MAX (64u * 1024) /* of what is shown, in one message */
/* What the spoke has not taken: a message that has come when it is full. */
#define UP_MAX    (4u * AB_RESOURCE_MESSAGE_MAX)
#define TEXT_MAX  1024
#define PROTOCOLS "v5.channel.k8s.io, v4.channel.k8s.io"

typedef struct {
    ab_gopeer_reply reply;   /* first */
    ab_resource_messages in; /* of the spoke */
    ab_buf up;               /* to the spoke */
    size_t up_sent;
} terminal;

static void free_terminal(ab_gopeer_reply *r)
{
    terminal *t = (terminal *)r;
    ab_gopeer_reply_fini(r);
    ab_resource_messages_fini(&t->in);
    ab_buf_wipe(&t->up);
    free(t);
}

/* ----- to the principal ----- */

static void show(terminal *t, ab_str data)
{
    while (data.len > 0) {
        size_t len = data.len < PART_MAX ? data.len : PART_MAX;
        ab_gopeer_reply_put(&t->reply, (ab_gopeer_side_message){.data = {data.ptr, len},
                                                                .stream = AB_STR("stdout")});
        data = (ab_str){data.ptr + len, data.len - len};
    }
}

/* How the command ended; it may be gone then. */
static void end(terminal *t, ab_str status)
{
    ab_span *doc = NULL;
    ab_buf why = ab_buf_up_to(TEXT_MAX);
    bool good = ab_span_parse(status, &doc, NULL) == AB_ERR_OK &&
                ab_span_is(ab_span_get(ab_span_root(doc), "status"), "Success");
    ab_err e = good ? AB_ERR_OK : ab_span_copy(ab_span_get(ab_span_root(doc), "message"), &why);
    if (e != AB_ERR_OK || (!good && why.len == 0)) {
        ab_buf_clear(&why);
        ab_buf_puts(&why, "the command failed");
    }
    ab_gopeer_reply_end(&t->reply, good ? AB_STR("") : ab_buf_str(&why));
    ab_span_free(doc);
    ab_buf_fini(&why);
}

/* @return false: it may be gone */
static bool take_message(terminal *t, ab_str message)
{
    char channel = message.len == 0 ? AB_GOPEER_STDIN : message.ptr[0];
    ab_str data = message.len < 2 ? AB_STR("") : (ab_str){message.ptr + 1, message.len - 1};
    if (channel == AB_GOPEER_STDOUT || channel == AB_GOPEER_STDERR)
        show(t, data);
    if (channel == AB_GOPEER_STATUS)
        end(t, data);
    return channel != AB_GOPEER_STATUS;
}

static void on_data(ab_gopeer_reply *r, ab_str bytes)
{
    terminal *t = (terminal *)r;
    ab_str message = AB_STR_NONE;
    ab_err e = ab_resource_messages_feed(&t->in, bytes);
    while (e == AB_ERR_OK) {
        e = ab_resource_messages_next(&t->in, &message);
        if (e != AB_ERR_OK || message.ptr == NULL)
            break;
        if (!take_message(t, message))
            return;
        ab_resource_messages_drop(&t->in, message);
    }
    if (e == AB_ERR_OK)
        ab_gopeer_reply_flush(r);
    else
        ab_gopeer_reply_end(r, AB_STR("the terminal cannot be read"));
}

/* ----- to the spoke ----- */

static void flush_up(terminal *t)
{
    ab_err e = ab_buf_status(&t->up);
    if (e == AB_ERR_OK && t->reply.stream != NULL)
        e = ab_live_stream_send_rest(t->reply.stream, ab_buf_str(&t->up), &t->up_sent);
    if (e == AB_ERR_FULL) {
        t->reply.side->ops->pause(t->reply.side);
        return; /* on_room follows */
    }
    t->up_sent = 0;
    ab_buf_clear(&t->up);
    t->reply.side->ops->resume(t->reply.side);
}

static void put_up(terminal *t, char channel, ab_str data)
{
    ab_buf message = ab_buf_secret_up_to(AB_RESOURCE_MESSAGE_MAX);
    ab_buf_putc(&message, channel);
    ab_buf_put(&message, data);
    if (ab_buf_status(&message) == AB_ERR_OK)
        ab_resource_messages_put(&t->up, ab_buf_str(&message));
    ab_buf_wipe(&message);
    flush_up(t);
}

static void resize(terminal *t, uint32_t cols, uint32_t rows)
{
    char size[64];
    (void)snprintf(size, sizeof(size), "{\"Width\":%u,\"Height\":%u}", (unsigned)cols,
                   (unsigned)rows);
    put_up(t, AB_GOPEER_RESIZE, ab_str_of(size));
}

static void on_message(ab_gopeer_reply *r, const ab_gopeer_side_message *m)
{
    terminal *t = (terminal *)r;
    if (m->eof || m->error.len > 0) { /* its viewer has gone */
        free_terminal(r);
        return;
    }
    if (m->resize)
        resize(t, m->cols, m->rows);
    if (m->data.len > 0)
        put_up(t, AB_GOPEER_STDIN, m->data);
}

static void on_room(ab_gopeer_reply *r)
{
    flush_up((terminal *)r);
}

static const ab_gopeer_reply_use use = {.kind = AB_SIDE_TERMINAL,
                                        .on_data = on_data,
                                        .on_message = on_message,
                                        .on_room = on_room,
                                        .free = free_terminal};

/* ----- the request ----- */

static void ask(terminal *t, ab_str data)
{
    static const ab_http_field offer = {{"sec-websocket-protocol", 22},
                                        {PROTOCOLS, sizeof(PROTOCOLS) - 1}};
    ab_error err = {0};
    bool tty = false;
    ab_buf target = ab_buf_up_to(AB_RESOURCE_TARGET_MAX);
    ab_err e = ab_gopeer_wire_read_terminal(data, &target, &tty, &err);
    const ab_live_request request = {.service = AB_STR(AB_RESOURCE_EXEC_SERVICE),
                                     .method = AB_STR("GET"),
                                     .path = ab_buf_str(&target),
                                     .fields = &offer,
                                     .count = 1};
    if (e != AB_ERR_OK)
        ab_gopeer_reply_end(&t->reply, ab_str_of(err.text));
    else if (ab_gopeer_reply_ask(&t->reply, &request) && tty)
        resize(t, 80, 24); /* until the viewer says what it is */
    ab_buf_fini(&target);
}

void ab_gopeer_principal_take_terminal(ab_gopeer_principal *p, const char *id, ab_str data)
{
    terminal *t = calloc(1, sizeof(*t));
    if (t == NULL)
        return; /* whoever asks has a deadline */
    ab_resource_messages_init(&t->in);
    ab_buf_init_secret(&t->up, UP_MAX);
    if (ab_gopeer_reply_init(&t->reply, &use, p, id) == AB_ERR_OK)
        ask(t, data);
    else
        free_terminal(&t->reply);
}
