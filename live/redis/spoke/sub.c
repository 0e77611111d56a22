/* SPDX-License-Identifier: Apache-2.0
 *
 * Channels by one connection: each is subscribed to once, however many listen. When the connection
 * is lost, every stream ends, and the principal asks again, which also tells it that something may
 * have been missed.
 */
#include "live/redis/spoke/spoke_priv.h"

#include <stdlib.h>

#define MESSAGE_MAX 4096 /* a longer one is told as an empty one; those of Argo CD are empty */

typedef struct {
    ab_redis_channels *all;
    ab_str name; /* the key in all->channels */
    bool is_confirmed;
    ab_link listeners;
} channel;

typedef struct {
    ab_link link; /* of a channel, or all->ended */
    channel *channel;
    ab_live_stream *stream;
    bool has_missed; /* a message: an empty one follows when there is room */
} listener;

static void send_word(ab_redis_channels *h, const char *word, ab_str name)
{
    ab_str args[] = {ab_str_of(word), name};
    if (ab_redis_client_is_up(h->client))
        ab_redis_client_send(h->client, args, 2);
}

static void drop_channel_if_idle(channel *ch)
{
    if (ab_link_is_in_use(&ch->listeners))
        return;
    send_word(ch->all, "UNSUBSCRIBE", ch->name);
    ab_map_drop(ch->all->channels, ch);
}

static void free_listener(listener *l)
{
    channel *ch = l->channel;
    ab_link_remove(&l->link);
    free(l);
    if (ch != NULL)
        drop_channel_if_idle(ch);
}

static void send_message(listener *l, ab_str message)
{
    ab_buf text = ab_buf_up_to(2 * (size_t)MESSAGE_MAX);
    ab_resp_put_bulk(&text, message.len > MESSAGE_MAX ? AB_STR("") : message);
    if (ab_buf_status(&text) != AB_ERR_OK ||
        ab_live_stream_send(l->stream, ab_buf_str(&text)) != AB_ERR_OK)
        l->has_missed = true;
    ab_buf_fini(&text);
}

static void on_room(void *arg)
{
    listener *l = arg;
    if (!l->has_missed)
        return;
    l->has_missed = false;
    send_message(l, AB_STR(""));
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    (void)code;
    (void)err;
    free_listener(arg);
}

/* The principal breaks off by ending, too. */
static const ab_live_handler handler = {.on_room = on_room, .on_over = on_over};

static void confirm(listener *l)
{
    if (ab_live_stream_answer(l->stream, 200, NULL, 0) != AB_ERR_OK)
        l->has_missed = true; /* it is ending */
}

/* ---- what the redis says ---- */

static void on_confirmed(ab_redis_channels *h, ab_str name)
{
    channel *ch = ab_map_find(h->channels, name);
    if (ch == NULL || ch->is_confirmed)
        return;
    ch->is_confirmed = true;
    for (ab_list_iter i = ab_list_first(&ch->listeners); i.link != NULL; ab_list_next(&i))
        confirm(AB_LINK_OF(i.link, listener, link));
}

static void on_message(ab_redis_channels *h, ab_str name, ab_str message)
{
    channel *ch = ab_map_find(h->channels, name);
    if (ch == NULL || !ch->is_confirmed)
        return;
    for (ab_list_iter i = ab_list_first(&ch->listeners); i.link != NULL; ab_list_next(&i))
        send_message(AB_LINK_OF(i.link, listener, link), message);
}

static void end_listener(ab_redis_channels *h, listener *l, bool confirmed, ab_str reason)
{
    l->channel = NULL;
    l->has_missed = false;
    ab_list_append(&h->ended, &l->link);
    if (confirmed)
        ab_live_stream_end(l->stream);
    else if (!ab_redis_spoke_refuse(l->stream, 503, reason))
        free_listener(l);
}

static void end_all(ab_redis_channels *h, ab_str reason)
{
    for (ab_map_iter i = ab_map_first(h->channels); i.entry != NULL;
         i = ab_map_first(h->channels)) {
        channel *ch = i.value;
        while (ab_link_is_in_use(&ch->listeners))
            end_listener(h, AB_LINK_OF(ch->listeners.next, listener, link), ch->is_confirmed,
                         reason);
        ab_map_drop(h->channels, ch);
    }
}

/* Such as an ACL that does not allow the channel. Which command it is about is not said: all begin
 * again. */
static void on_error(ab_redis_channels *h, ab_str reason)
{
    AB_DEBUG(h->log, LIVE, "cannot subscribe at redis", AB_KV("error", reason));
    ab_redis_client_drop(h->client);
    end_all(h, reason);
}

static void on_reply(void *arg, const ab_resp_piece *piece)
{
    ab_redis_channels *h = arg;
    ab_str rest = piece->bytes;
    ab_str head;
    ab_str word;
    ab_str name;
    ab_str message = AB_STR("");
    char type;
    if (!piece->begins || !ab_resp_take(&rest, &type, &head))
        return;
    if (type == '-') {
        on_error(h, head);
        return;
    }
    if (!ab_resp_take(&rest, &type, &word) || !ab_resp_take(&rest, &type, &name))
        return;
    (void)ab_resp_take(&rest, &type, &message);
    if (ab_str_is(word, "subscribe"))
        on_confirmed(h, name);
    else if (ab_str_is(word, "message"))
        on_message(h, name, message);
}

static void on_up(void *arg)
{
    ab_redis_channels *h = arg;
    for (ab_map_iter i = ab_map_first(h->channels); i.entry != NULL; ab_map_next(&i))
        send_word(h, "SUBSCRIBE", i.key);
}

static bool on_down(void *arg, const ab_error *why)
{
    ab_redis_channels *h = arg;
    ab_error text = *why;
    ab_error_prefix(&text, "its redis cannot be reached");
    AB_DEBUG(h->log, LIVE, "cannot reach redis", AB_KV("error", why->text));
    end_all(h, ab_str_of(text.text));
    return false;
}

static const ab_redis_client_ops ops = {on_up, on_reply, on_down};

/* ---- requests ---- */

static channel *find_channel(ab_redis_channels *h, ab_str name)
{
    channel *ch = ab_map_make(h->channels, name, sizeof(*ch));
    if (ch == NULL || ch->all != NULL)
        return ch;
    ch->all = h;
    ch->name = ab_map_at(ch).key;
    ab_link_init(&ch->listeners);
    if (ab_redis_client_is_up(h->client))
        send_word(h, "SUBSCRIBE", name);
    else
        ab_redis_client_need(h->client);
    return ch;
}

ab_err ab_redis_spoke_sub(ab_redis_channels *h, ab_live_stream *s, ab_str name)
{
    listener *l = calloc(1, sizeof(*l));
    channel *ch = l == NULL ? NULL : find_channel(h, name);
    if (ch == NULL) {
        free(l);
        return AB_ERR_NOMEM;
    }
    l->channel = ch;
    l->stream = s;
    ab_link_init(&l->link);
    ab_list_append(&ch->listeners, &l->link);
    ab_live_stream_serve(s, &handler, l);
    if (ch->is_confirmed)
        confirm(l);
    return AB_ERR_OK;
}

ab_err ab_redis_spoke_sub_init(ab_redis_channels *h, uv_loop_t *loop, ab_log *log,
                               const ab_redis_address *redis, ab_error *err)
{
    *h = (ab_redis_channels){.log = log, .channels = ab_map_new()};
    ab_link_init(&h->ended);
    if (h->channels == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for redis");
    return ab_redis_client_new(loop, log, redis, &ops, h, &h->client, err);
}

static void cancel_all(ab_link *listeners)
{
    while (ab_link_is_in_use(listeners)) {
        listener *l = AB_LINK_OF(listeners->next, listener, link);
        ab_live_stream_cancel(l->stream);
        ab_link_remove(&l->link);
        free(l);
    }
}

void ab_redis_spoke_sub_fini(ab_redis_channels *h)
{
    if (h->channels == NULL)
        return;
    for (ab_map_iter i = ab_map_first(h->channels); i.entry != NULL;
         i = ab_map_first(h->channels)) {
        channel *ch = i.value;
        cancel_all(&ch->listeners);
        ab_map_drop(h->channels, ch);
    }
    cancel_all(&h->ended);
    ab_map_free(h->channels, NULL);
    ab_redis_client_close(h->client);
}
