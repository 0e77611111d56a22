/* SPDX-License-Identifier: Apache-2.0
 *
 * A request that the agent answers by a side call: it is asked by an event, and opens the call by
 * itself, with the id of the request in its first message. What the viewer does not take is not
 * read; a request whose call does not come ends.
 */
#include "live/gopeer/agents/agents_priv.h"
#include "net/timer.h"

/* What a viewer has not taken, at most: a message. */
#define OUT_MAX (2u * AB_GOPEER_SIDE_MAX)
/* The agent opens the call in this time. */
#define OPEN_MS 30000
/* Of one agent at a time: its connection has 100 calls, or is as many connections by WebSockets. */
#define SIDES_MAX 96

/* ----- what the agent says ----- */

static void lose(ab_gopeer_side *s, const char *why)
{
    ab_gopeer_side_cancel(s);
    s->use->on_lost(s, why);
}

static void on_message(void *arg, ab_str bytes)
{
    ab_gopeer_side *s = arg;
    ab_pb_arena arena;
    ab_gopeer_side_message m;
    ab_err e = ab_gopeer_wire_read_side(s->use->kind, bytes, &arena, &m);
    if (e == AB_ERR_OK)
        s->use->on_message(s, &m);
    else
        lose(s, "a message of it cannot be read, or is longer than 1 MiB");
    ab_pb_arena_wipe(&arena);
}

static void on_writable(void *arg)
{
    ab_gopeer_side *s = arg;
    s->use->on_writable(s);
}

static void on_half_close(void *arg)
{
    lose(arg, "it ended without saying so");
}

static void on_end(void *arg, const char *why)
{
    ab_gopeer_side *s = arg;
    s->side = NULL;
    s->use->on_lost(s, why);
}

static const ab_side_handler handler = {on_message, on_writable, on_half_close, on_end};

static ab_err on_side(ab_gopeer_call *call, ab_side_kind kind, ab_side *side)
{
    ab_gopeer_side *s = (ab_gopeer_side *)call;
    if (kind != s->use->kind || s->came || call->answered)
        return AB_ERR_NOTFOUND;
    s->came = true;
    s->side = side;
    side->handler = &handler;
    side->arg = s;
    s->use->on_open(s);
    return AB_ERR_OK;
}

/* ----- time ----- */

static void on_timer(uv_timer_t *timer)
{
    ab_gopeer_side *s = timer->data;
    s->use->on_due(s);
}

void ab_gopeer_side_wait(ab_gopeer_side *s, uint64_t ms)
{
    (void)uv_timer_start(s->timer, on_timer, ms, 0); /* of an open handle */
}

/* ----- life ----- */

ab_err ab_gopeer_side_init(ab_gopeer_side *s, const ab_gopeer_side_use *use, ab_gopeer_agent *agent,
                           ab_live_stream *stream)
{
    ab_gopeer_call_init(&s->call, agent, stream, OUT_MAX);
    s->call.on_side = on_side;
    agent->sides++;
    s->use = use;
    s->timer = ab_timer_new(agent->all->env.loop, s);
    return s->timer == NULL ? AB_ERR_NOMEM : ab_gopeer_call_name(&s->call);
}

void ab_gopeer_side_fini(ab_gopeer_side *s)
{
    ab_gopeer_side_cancel(s);
    ab_timer_free(s->timer);
    s->call.agent->sides--;
    ab_gopeer_call_fini(&s->call);
}

void ab_gopeer_side_cancel(ab_gopeer_side *s)
{
    if (s->side != NULL)
        s->side->ops->cancel(s->side);
    s->side = NULL;
}

/* ----- what is asked and answered ----- */

void ab_gopeer_side_ask(ab_gopeer_side *s, ab_target target, ab_type type, ab_str data)
{
    ab_err e = s->call.agent->sides > SIDES_MAX ? AB_ERR_FULL
                                                : ab_gopeer_call_ask(&s->call, target, type, data);
    if (e == AB_ERR_OK)
        ab_gopeer_side_wait(s, OPEN_MS);
    else
        ab_gopeer_call_refuse(&s->call, e == AB_ERR_FULL ? 429 : 503,
                              e == AB_ERR_FULL ? NULL : ab_err_text(e));
}

void ab_gopeer_side_flush(ab_gopeer_side *s)
{
    ab_gopeer_call_flush(&s->call);
    if (s->side == NULL)
        return;
    if (s->call.out.len > 0)
        s->side->ops->pause(s->side);
    else
        s->side->ops->resume(s->side);
}
