/* SPDX-License-Identifier: Apache-2.0
 *
 * A terminal: the client's WebSocket is accepted when the agent's API server has accepted its own,
 * with the protocol that it chose. Messages are passed on whole and unread, in the form of
 * messages.h. The end of the HTTP request frees it all, as in pass.c.
 */
#include "live/resource/front/front_priv.h"

#include "live/resource/service.h"

#include <stdio.h>

/* What is offered to the agent, of what the client offers. */
static const char *const PROTOCOLS[] = {"v5.channel.k8s.io", "v4.channel.k8s.io", NULL};

/* --- to the client --- */

static void send_messages(ab_resource_front_request *r)
{
    ab_err e = AB_ERR_OK;
    ab_str message;
    while (e == AB_ERR_OK) {
        e = ab_resource_messages_next(&r->messages, &message);
        if (e == AB_ERR_OK && message.ptr == NULL)
            break;
        if (e == AB_ERR_OK)
            e = ab_https_message(r->http, message);
        if (e == AB_ERR_OK) {
            r->bytes += message.len;
            ab_resource_messages_drop(&r->messages, message);
        }
    }
    if (e == AB_ERR_FULL)
        return; /* on_writable follows */
    if (e != AB_ERR_OK) {
        ab_https_abort(r->http);
        return;
    }
    if (r->stream != NULL && r->owed > 0)
        ab_live_stream_consumed(r->stream, r->owed);
    r->owed = 0;
    if (r->down_ended)
        ab_https_close(r->http, 1000, "");
}

static void flush_messages(ab_resource_front_request *r)
{
    uint64_t before = r->bytes;
    send_messages(r);
    ab_resource_front_hold(r, r->messages.bytes.len, r->bytes > before);
}

/* One that the API server refused: its answer is passed on as it is. */
static void pass_refusal(ab_resource_front_request *r, int status, const ab_http_field *fields,
                         size_t count)
{
    ab_str type = ab_http_field_find(fields, count, "content-type");
    const ab_http_field out[] = {
        {AB_STR("content-type"), type.ptr == NULL ? AB_STR("text/plain") : type}};
    if (ab_https_answer(r->http, status, out, 1, -1) != AB_ERR_OK)
        ab_https_abort(r->http);
}

static void on_answer(void *arg, int status, const ab_http_field *fields, size_t count)
{
    ab_resource_front_request *r = arg;
    char protocol[32];
    if (status != 200) {
        r->status = status;
        pass_refusal(r, status, fields, count);
        return;
    }
    r->status = 101;
    (void)snprintf(protocol, sizeof(protocol), "%.*s",
                   AB_STR_ARG(ab_http_field_find(fields, count, "sec-websocket-protocol")));
    if (ab_https_accept(r->http, protocol[0] == '\0' ? NULL : protocol) != AB_ERR_OK)
        ab_https_abort(r->http);
    else
        AB_INFO(r->front->env.log, LIVE, "terminal opened", AB_KV("by", r->who),
                AB_KV("agent", r->agent), AB_KV("namespace", r->map.ns), AB_KV("pod", r->map.name));
}

static void on_data(void *arg, ab_str bytes)
{
    ab_resource_front_request *r = arg;
    r->owed += bytes.len;
    if (r->status != 101) {
        if (ab_https_send(r->http, bytes) != AB_ERR_OK)
            ab_https_abort(r->http);
        r->bytes += bytes.len;
    } else if (ab_resource_messages_feed(&r->messages, bytes) != AB_ERR_OK) {
        ab_https_abort(r->http);
    } else {
        flush_messages(r);
    }
}

static void on_end(void *arg)
{
    ab_resource_front_request *r = arg;
    r->down_ended = true;
    if (r->status == 101)
        flush_messages(r);
    else if (r->status != 0)
        ab_https_finish(r->http);
    else
        ab_resource_front_refuse(r, 502, "the agent ended its answer before it began");
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    ab_resource_front_request *r = arg;
    r->stream = NULL;
    r->owed = 0;
    if (r->down_ended)
        return; /* what is held is still sent */
    if (r->status == 0)
        ab_resource_front_refuse(r, ab_resource_front_status_of(code),
                                 err == NULL ? NULL : err->text);
    else if (r->status == 101 && r->front->stopping)
        ab_https_close(r->http, 1001, "the principal is stopping");
    else if (r->status == 101)
        ab_https_close(r->http, 1011, "the connection to the agent was lost");
    else
        ab_https_abort(r->http);
}

/* --- to the agent --- */

static void flush_up(ab_resource_front_request *r)
{
    if (r->stream != NULL &&
        ab_live_stream_send_rest(r->stream, ab_buf_str(&r->up), &r->up_sent) == AB_ERR_FULL)
        return; /* on_room follows; what else fails ends it, and on_over follows */
    r->up_sent = 0;
    ab_buf_clear(&r->up);
    ab_https_resume(r->http);
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

static void on_message(void *arg, ab_str piece, bool ends)
{
    ab_resource_front_request *r = arg;
    ab_buf_put(&r->message, piece);
    if (ab_buf_status(&r->message) != AB_ERR_OK) {
        ab_https_close(r->http, 1009, "the message is too long");
        return;
    }
    if (!ends)
        return;
    ab_resource_messages_put(&r->up, ab_buf_str(&r->message));
    ab_buf_clear(&r->message);
    if (ab_buf_status(&r->up) != AB_ERR_OK) {
        ab_https_abort(r->http);
        return;
    }
    flush_up(r);
    if (r->up.len > 0)
        ab_https_pause(r->http);
}

static void on_writable(void *arg)
{
    ab_resource_front_request *r = arg;
    if (r->status == 101)
        flush_messages(r);
}

const ab_https_handler ab_resource_front_terminal_handler = {.on_message = on_message,
                                                             .on_writable = on_writable,
                                                             .may_go_on =
                                                                 ab_resource_front_may_go_on,
                                                             .on_over = ab_resource_front_end};

/* --- the request --- */

static void put_offer(ab_resource_front_request *r, const ab_https_info *info)
{
    ab_buf offer = ab_buf_up_to(128);
    for (size_t i = 0; PROTOCOLS[i] != NULL; i++) {
        if (ab_https_offers(info, PROTOCOLS[i]))
            ab_buf_printf(&offer, "%s%s", offer.len == 0 ? "" : ", ", PROTOCOLS[i]);
    }
    r->offer = ab_buf_take(&offer);
}

void ab_resource_front_open_terminal(ab_resource_front_request *r, const ab_https_info *info)
{
    ab_error err = {0};
    put_offer(r, info);
    if (r->offer == NULL || r->offer[0] == '\0') {
        ab_resource_front_refuse(r, 400,
                                 "the WebSocket offers neither v5.channel.k8s.io nor "
                                 "v4.channel.k8s.io");
        return;
    }
    ab_http_field fields[AB_LIVE_FIELDS_MAX];
    size_t count = 0;
    while (count < r->fields.count) {
        fields[count] = r->fields.list[count];
        count++;
    }
    fields[count++] = (ab_http_field){AB_STR("sec-websocket-protocol"), ab_str_of(r->offer)};
    ab_buf target = ab_buf_up_to(4u * AB_RESOURCE_TARGET_MAX);
    ab_resource_map_put_path(&r->map, &target);
    ab_err e = ab_live_hub_request(r->front->env.hub, r->agent,
                                   &(ab_live_request){.service = AB_STR(AB_RESOURCE_EXEC_SERVICE),
                                                      .method = AB_STR("GET"),
                                                      .path = ab_buf_str(&target),
                                                      .fields = fields,
                                                      .count = count},
                                   &STREAM, r, &r->stream, &err);
    ab_buf_fini(&target);
    if (e != AB_ERR_OK)
        ab_resource_front_refuse_unasked(r, e, &err);
}
