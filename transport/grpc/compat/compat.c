/* SPDX-License-Identifier: Apache-2.0
 *
 * Life, and the stream as the link sees it: what the link sends comes here as bytes, and goes on as
 * what the peer understands.
 */
#include "transport/grpc/compat/compat.h"

#include "base/core/digest.h"
#include "schema/attributes.h"
#include "transport/grpc/compat/compat_priv.h"
#include "transport/grpc/link/hello.h"
#include "transport/grpc/wire.h"

#include <stdio.h>
#include <stdlib.h>

/* The link may give all that it keeps: what is under way to the peer is counted here. */
#define WINDOW      65536
#define MESSAGE_MAX (AB_EVENT_DATA_MAX + (4u << 20))
/* Of events that the peer was not told of. To one that does not listen nobody listens. */
#define OWED_MAX (2u * 1024 * 1024)

/* ----- life ----- */

static ab_err begin(ab_compat *d)
{
    d->epoch = d->version = 0;
    d->introduced = d->ask_due = d->resync_requested = d->republish_due = d->fresh = false;
    d->tell_all_due = d->ask_all_due = false;
    d->owner[0] = d->resync_id[0] = '\0';
    d->pages_due = 0;
    return ab_uuid(d->instance);
}

ab_err ab_compat_new(ab_compat_env *env, ab_grpc_link *link, ab_compat **out)
{
    ab_compat *d = calloc(1, sizeof(*d));
    if (d == NULL)
        return AB_ERR_NOMEM;
    d->env = env;
    d->link = link;
    ab_link_init(&d->woken_at);
    d->resources = ab_map_new();
    STAILQ_INIT(&d->ready);
    TAILQ_INIT(&d->sent);
    TAILQ_INIT(&d->pending);
    TAILQ_INIT(&d->acked);
    STAILQ_INIT(&d->events_for_link);
    if (ab_compat_is_principal(d))
        snprintf(d->source, sizeof(d->source), "%s%s", AB_SOURCE_AGENT, ab_grpc_link_agent(link));
    else
        snprintf(d->source, sizeof(d->source), "%s", AB_SOURCE_PRINCIPAL);
    if (d->resources == NULL || begin(d) != AB_ERR_OK) {
        ab_compat_free(d);
        return AB_ERR_NOMEM;
    }
    *out = d;
    return AB_ERR_OK;
}

static void forget_words(ab_compat *d)
{
    while (!STAILQ_EMPTY(&d->events_for_link)) {
        ab_compat_word *word = STAILQ_FIRST(&d->events_for_link);
        STAILQ_REMOVE_HEAD(&d->events_for_link, at);
        ab_event_unref(word->event);
        free(word);
    }
}

static void forget(ab_compat *d)
{
    forget_words(d);
    ab_compat_forget_pending(d);
    ab_compat_forget_resources(d);
}

void ab_compat_free(ab_compat *d)
{
    if (d == NULL)
        return;
    ab_link_remove(&d->woken_at);
    if (d->resources != NULL)
        forget(d);
    ab_map_free(d->resources, NULL);
    free(d);
}

void ab_compat_reset(ab_compat *d)
{
    forget(d);
    if (begin(d) != AB_ERR_OK)
        ab_compat_fatal(d, "a name");
}

/* ----- reading ----- */

static void read_or_wait(ab_compat *d)
{
    bool waits = d->link_waits || d->owed_bytes >= OWED_MAX;
    if (d->stream == NULL || d->paused == waits)
        return;
    d->paused = waits;
    if (waits)
        d->ops->pause(d->stream);
    else
        d->ops->resume(d->stream);
}

static void set_link_waits(ab_compat *d, bool waits)
{
    d->link_waits = waits;
    read_or_wait(d);
}

/* ----- the argobus peer that the link sees ----- */

static uint64_t highest(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void greet(ab_compat *d, uint64_t seen)
{
    const ab_transport_env *env = d->env->env;
    int64_t now = ab_clock_wall_us(env->clock);
    ab_event *event = NULL;
    if (d->epoch == 0)
        d->epoch = highest((uint64_t)now, seen + 1);
    ab_grpc_hello hello = {.base = {.version = AB_PEER_ARGOCD_AGENT,
                                    .epoch = d->epoch,
                                    .time_ms = now / 1000,
                                    .certificate = ""},
                           .fresh = d->fresh,
                           .inflight = WINDOW,
                           .message_max = MESSAGE_MAX,
                           .live_call = true};
    snprintf(hello.base.mode, sizeof(hello.base.mode), "%s", d->mode);
    snprintf(hello.base.instance, sizeof(hello.base.instance), "%s", d->instance);
    if (ab_grpc_hello_make(&hello, d->source, &event) != AB_ERR_OK)
        event = NULL;
    ab_compat_report(d, event);
    d->fresh = false;
    if (d->greeted)
        return;
    d->greeted = true;
    ab_compat_repeat_pending(d);
    ab_compat_resync_begin(d);
    if (!ab_compat_is_principal(d))
        ab_compat_live_open(d);
    set_link_waits(d, false);
}

/* A principal speaks first, an agent when it was spoken to. Our own principal's link asks for a
 * call for live events when it has one to send. */
static void hear(ab_compat *d, const ab_event *event)
{
    ab_grpc_hello hello;
    bool good = ab_grpc_hello_read(event, &hello, NULL) == AB_ERR_OK && !hello.base.leaving;
    if (good && !d->greeted)
        greet(d, hello.seen);
    if (good && hello.open_live)
        ab_compat_live_open(d);
    ab_grpc_hello_fini(&hello);
}

/* ----- the stream that the link sees ----- */

static void take_up(ab_compat *d, ab_event *event)
{
    if (ab_event_attr(event, AB_CE_ACKNOWLEDGES).ptr != NULL)
        ab_compat_part_done(d, event);
    else if (ab_str_is(ab_event_attr(event, AB_CE_PARTITIONKEY), AB_KEY_HELLO))
        hear(d, event);
    else
        ab_compat_carry(d, event);
}

static ab_err virtual_send(void *stream, ab_str head, ab_event *event)
{
    (void)head;
    ab_compat *d = stream;
    take_up(d, event);
    ab_compat_wake(d);
    return AB_ERR_OK;
}

static void virtual_pause(void *stream)
{
    set_link_waits(stream, true);
}

static void virtual_resume(void *stream)
{
    set_link_waits(stream, false);
}

static void forget_stream(ab_compat *d)
{
    d->ops = NULL;
    d->stream = NULL;
    d->greeted = false;
    forget_words(d);
}

/* The link has let this stream go already. */
static void virtual_cut(void *stream, const char *why)
{
    ab_compat *d = stream;
    const ab_grpc_stream_ops *ops = d->ops;
    void *real = d->stream;
    if (real == NULL)
        return;
    forget_stream(d);
    ops->cut(real, why);
}

static int64_t virtual_silent_ms(void *stream)
{
    const ab_compat *d = stream;
    return d->stream == NULL ? 0 : d->ops->silent_ms(d->stream);
}

static const ab_grpc_stream_ops virtual_ops = {virtual_send, virtual_pause,     virtual_resume,
                                               virtual_cut,  virtual_silent_ms, NULL};

/* ----- the streams to the peer ----- */

void ab_compat_open(ab_compat *d, const ab_grpc_stream_ops *ops, void *stream,
                    const ab_compat_peer *peer)
{
    if (d->stream != NULL) {
        ab_grpc_link_detach(d->link, d);
        virtual_cut(d, AB_GRPC_REPLACED);
    }
    d->ops = ops;
    d->stream = stream;
    d->blocked = false;
    snprintf(d->mode, sizeof(d->mode), "%.*s", AB_STR_ARG(peer->mode));
    snprintf(d->namespace, sizeof(d->namespace), "%.*s", AB_STR_ARG(peer->namespace));
    d->paused = false;
    set_link_waits(d, true); /* until it is ready to hear it */
    ab_compat_send_again(d);
    ab_grpc_link_attach(d->link, &virtual_ops, d);
    if (!ab_compat_is_principal(d))
        greet(d, 0);
    ab_compat_wake(d);
}

void ab_compat_close(ab_compat *d, const void *stream)
{
    if (d->stream == NULL || d->stream != stream)
        return;
    forget_stream(d);
    ab_grpc_link_detach(d->link, d);
    if (ab_compat_is_principal(d))
        ab_compat_forget_returned(d);
}

void *ab_compat_stream(const ab_compat *d)
{
    return d->stream;
}

void ab_compat_receive(ab_compat *d, const void *stream, ab_str message)
{
    ab_error err = {0};
    ab_event *event = NULL;
    if (d->stream == NULL || d->stream != stream)
        return;
    ab_err e = ab_grpc_read_event(message, &event, &err);
    if (e == AB_ERR_NOMEM)
        ab_compat_fatal(d, "an event of the peer");
    else if (e != AB_ERR_OK)
        ab_compat_drop(d, "parse", NULL, &err);
    else
        ab_compat_take(d, event);
    ab_event_unref(event);
    read_or_wait(d);
}

void ab_compat_writable(ab_compat *d, const void *stream)
{
    if (d->stream == NULL || d->stream != stream)
        return;
    d->blocked = false;
    ab_grpc_link_live_writable(d->link, d);
    ab_compat_wake(d);
}

/* What the link does with one word may end the stream, and make it say more. */
static void tell_link(ab_compat *d)
{
    while (d->stream != NULL && !STAILQ_EMPTY(&d->events_for_link)) {
        ab_compat_word *word = STAILQ_FIRST(&d->events_for_link);
        STAILQ_REMOVE_HEAD(&d->events_for_link, at);
        ab_grpc_link_take(d->link, d, word->event);
        ab_event_unref(word->event);
        free(word);
    }
}

static void run(ab_compat *d)
{
    if (d->stream != NULL && !d->blocked) {
        ab_err e = ab_compat_send_acks(d);
        if (e == AB_ERR_OK)
            e = ab_compat_send_ready(d);
        if (e == AB_ERR_NOMEM)
            ab_compat_fatal(d, "sending");
        d->blocked = e != AB_ERR_OK;
    }
    tell_link(d);
    read_or_wait(d);
}

void ab_compat_run_woken(ab_compat_env *env)
{
    ab_link due;
    ab_link_init(&due);
    ab_list_move_all(&env->woken, &due);
    for (ab_link *l = ab_list_pop(&due); l != NULL; l = ab_list_pop(&due))
        run(AB_LINK_OF(l, ab_compat, woken_at));
}

/* To the link the peer is another one, which has lost everything. */
static void restart(ab_compat *d)
{
    if (ab_uuid(d->instance) != AB_ERR_OK)
        return;
    d->fresh = true;
    greet(d, 0);
}

void ab_compat_tick(ab_compat *d)
{
    if (d->stream == NULL)
        return;
    ab_compat_check_sent(d);
    if (!d->greeted)
        return;
    ab_compat_inventory_tick(d);
    if (ab_compat_resync_tick(d))
        restart(d);
}
