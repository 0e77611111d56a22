/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/outbox.h"

#include "base/core/list.h"
#include "base/core/map.h"
#include "schema/attributes.h"

#include <assert.h>
#include <stdlib.h>

#define PAUSE_FIRST_MS 100
#define PAUSE_MAX_MS   15000
#define BUSY_PER_S     250 /* changes: more than the few a person or a sync makes */
#define REST_MS        500

struct ab_outgoing {
    ab_outgoing *next;
    struct lane *lane;
    ab_event *event;
    void *token;
    bool command;
};

struct lane {
    ab_outgoing *head; /* in flight when `busy` */
    ab_outgoing *tail;
    bool busy;
    int64_t rests_until; /* mono_ms; 0: it does not rest */
    ab_link in_list;     /* of those that are ready, or that rest */
};

struct ab_outbox {
    ab_map *lanes; /* object -> struct lane; a lane exists while it holds events, or rests */
    ab_link ready;
    ab_link resting; /* the longest first */
    struct {
        int64_t second; /* mono_ms: since when `now` counts */
        size_t now;
        size_t before; /* in the second before that one */
    } changes;         /* put */
    size_t count;
    size_t bytes;
    ab_backoff backoff;
    int64_t paused_until; /* mono_ms */
    ab_outbox_safe safe;
    void *arg;
    ab_outbox_watcher watcher;
};

ab_outbox *ab_outbox_new(ab_outbox_safe safe, void *arg)
{
    ab_outbox *o = calloc(1, sizeof(*o));
    if (o == NULL)
        return NULL;
    o->lanes = ab_map_new();
    if (o->lanes == NULL) {
        free(o);
        return NULL;
    }
    ab_link_init(&o->ready);
    ab_link_init(&o->resting);
    o->safe = safe;
    o->arg = arg;
    ab_backoff_init(&o->backoff, PAUSE_FIRST_MS, PAUSE_MAX_MS);
    return o;
}

void ab_outbox_watch(ab_outbox *o, const ab_outbox_watcher *watcher)
{
    o->watcher = *watcher;
    ab_outbox_each(o, watcher->waits, watcher->arg);
}

static void tell_over(const ab_outbox *o, const ab_outgoing *g)
{
    if (o->watcher.over != NULL)
        o->watcher.over(o->watcher.arg, g->event);
}

static void tell_safe(const ab_outbox *o, void *token)
{
    if (token != NULL && o->safe != NULL)
        o->safe(o->arg, token);
}

static void outgoing_free(ab_outgoing *g)
{
    ab_event_unref(g->event);
    free(g);
}

/* For ab_map_free. */
static void lane_fini(void *value)
{
    struct lane *l = value;
    ab_link_remove(&l->in_list);
    while (l->head != NULL) {
        ab_outgoing *g = l->head;
        l->head = g->next;
        outgoing_free(g);
    }
}

static void lane_drop(ab_outbox *o, struct lane *l)
{
    lane_fini(l);
    ab_map_drop(o->lanes, l);
}

static void drop_if_empty(ab_outbox *o, struct lane *l)
{
    if (l->head == NULL && !ab_link_is_in_use(&l->in_list))
        lane_drop(o, l);
}

void ab_outbox_free(ab_outbox *o)
{
    if (o == NULL)
        return;
    ab_map_free(o->lanes, lane_fini);
    free(o);
}

void ab_outbox_drop(ab_outbox *o)
{
    for (ab_map_iter i = ab_map_first(o->lanes); i.entry != NULL; ab_map_next(&i)) {
        struct lane *l = i.value;
        for (const ab_outgoing *g = l->head; g != NULL; g = g->next) {
            tell_over(o, g);
            tell_safe(o, g->token);
        }
        lane_drop(o, l);
    }
    o->count = o->bytes = 0;
}

static void make_ready(ab_outbox *o, struct lane *l)
{
    if (!ab_link_is_in_use(&l->in_list) && !l->busy && l->head != NULL)
        ab_list_append(&o->ready, &l->in_list);
}

/* --- resting --- */

static void count_change(ab_outbox *o, int64_t now_ms)
{
    int64_t age = now_ms - o->changes.second;
    if (age >= 1000) {
        o->changes.before = age < 2000 ? o->changes.now : 0;
        o->changes.now = 0;
        o->changes.second = now_ms;
    }
    o->changes.now++;
}

static bool is_busy(const ab_outbox *o, int64_t now_ms)
{
    int64_t age = now_ms - o->changes.second;
    return (age < 2000 && o->changes.now > BUSY_PER_S) ||
           (age < 1000 && o->changes.before > BUSY_PER_S);
}

/* What the two ends tell each other of themselves comes in steps, each of which answers one. */
static bool may_rest(struct lane *l)
{
    bool has_command = l->head != NULL && l->head->command;
    return !has_command && !ab_str_starts(ab_map_at(l).key, AB_KEY_CONTROL);
}

static void rest(ab_outbox *o, struct lane *l, int64_t now_ms)
{
    l->rests_until = now_ms + REST_MS;
    ab_list_append(&o->resting, &l->in_list);
}

static void end_rest(ab_outbox *o, struct lane *l)
{
    l->rests_until = 0;
    ab_link_remove(&l->in_list);
    make_ready(o, l);
    drop_if_empty(o, l);
}

static void wake(ab_outbox *o, int64_t now_ms)
{
    for (ab_list_iter i = ab_list_first(&o->resting); i.link != NULL; ab_list_next(&i)) {
        struct lane *l = AB_LINK_OF(i.link, struct lane, in_list);
        if (l->rests_until > now_ms)
            return;
        end_rest(o, l);
    }
}

/* --- putting --- */

static void ended(ab_outbox *o, ab_outgoing *g)
{
    o->count--;
    o->bytes -= ab_event_size(g->event);
    tell_over(o, g);
    tell_safe(o, g->token);
    outgoing_free(g);
}

/* The last waiting event of the lane, when it is a state that a newer one may replace. */
static ab_outgoing *replaceable(const struct lane *l)
{
    bool in_flight = l->busy && l->tail == l->head;
    return l->tail == NULL || in_flight || l->tail->command ? NULL : l->tail;
}

static void replace(ab_outbox *o, ab_outgoing *g, ab_event *event, void *token)
{
    void *old = g->token;
    o->bytes += ab_event_size(event);
    o->bytes -= ab_event_size(g->event);
    ab_event_unref(g->event);
    g->event = ab_event_ref(event);
    g->token = token;
    tell_safe(o, old);
}

static struct lane *lane_of(ab_outbox *o, ab_str object)
{
    struct lane *l = ab_map_make(o->lanes, object, sizeof(*l));
    if (l != NULL && l->in_list.next == NULL)
        ab_link_init(&l->in_list);
    return l;
}

ab_err ab_outbox_put(ab_outbox *o, ab_str object, ab_event *event, bool command, void *token,
                     int64_t now_ms)
{
    count_change(o, now_ms);
    struct lane *l = lane_of(o, object);
    if (l == NULL)
        return AB_ERR_NOMEM;
    ab_outgoing *old = command ? NULL : replaceable(l);
    if (old != NULL) {
        replace(o, old, event, token);
        return AB_ERR_OK;
    }
    ab_outgoing *g = calloc(1, sizeof(*g));
    if (g == NULL) {
        drop_if_empty(o, l);
        return AB_ERR_NOMEM;
    }
    *g = (ab_outgoing){.lane = l, .event = ab_event_ref(event), .token = token, .command = command};
    if (l->tail == NULL)
        l->head = g;
    else
        l->tail->next = g;
    l->tail = g;
    o->count++;
    o->bytes += ab_event_size(event);
    if (o->watcher.waits != NULL)
        o->watcher.waits(o->watcher.arg, event);
    if (command && l->rests_until != 0)
        end_rest(o, l);
    make_ready(o, l);
    return AB_ERR_OK;
}

ab_outgoing *ab_outbox_next(ab_outbox *o, int64_t now_ms)
{
    wake(o, now_ms);
    ab_link *ready = now_ms < o->paused_until ? NULL : ab_list_pop(&o->ready);
    if (ready == NULL)
        return NULL;
    struct lane *l = AB_LINK_OF(ready, struct lane, in_list);
    l->busy = true;
    return l->head;
}

ab_event *ab_outgoing_event(const ab_outgoing *g)
{
    return g->event;
}

static void pop_head(struct lane *l)
{
    l->head = l->head->next;
    if (l->head == NULL)
        l->tail = NULL;
}

void ab_outbox_return(ab_outbox *o, ab_outgoing *g)
{
    struct lane *l = g->lane;
    assert(l->busy && l->head == g);
    l->busy = false;
    /* To the front: the order in which objects became ready is kept. */
    ab_list_prepend(&o->ready, &l->in_list);
}

static void hold_off(ab_outbox *o, int64_t now_ms)
{
    /* Many sends fail together when a broker goes: that is one failure. */
    if (now_ms >= o->paused_until)
        o->paused_until = now_ms + ab_backoff_next(&o->backoff);
}

void ab_outbox_done(ab_outbox *o, ab_outgoing *g, ab_err code, int64_t now_ms)
{
    struct lane *l = g->lane;
    assert(l->busy && l->head == g);
    l->busy = false;
    bool again = code != AB_ERR_OK && ab_err_class_of(code) != AB_CLASS_PERMANENT;
    if (again)
        hold_off(o, now_ms);
    else
        ab_backoff_reset(&o->backoff);
    bool newer = g->next != NULL && !g->command && !g->next->command;
    if (!again || newer) {
        pop_head(l);
        ended(o, g);
    }
    if (!again && is_busy(o, now_ms) && may_rest(l))
        rest(o, l, now_ms);
    make_ready(o, l);
    drop_if_empty(o, l);
}

bool ab_outbox_has(const ab_outbox *o, ab_str object)
{
    const struct lane *l = ab_map_find(o->lanes, object);
    for (const ab_outgoing *g = l == NULL ? NULL : l->head; g != NULL; g = g->next)
        if (!g->command)
            return true;
    return false;
}

void ab_outbox_each(const ab_outbox *o, void (*visit)(void *arg, const ab_event *event), void *arg)
{
    for (ab_map_iter i = ab_map_first(o->lanes); i.entry != NULL; ab_map_next(&i)) {
        const struct lane *l = i.value;
        for (const ab_outgoing *g = l->head; g != NULL; g = g->next)
            visit(arg, g->event);
    }
}

static bool lane_has(const struct lane *l, ab_str key)
{
    for (const ab_outgoing *g = l->head; g != NULL; g = g->next)
        if (ab_str_eq(ab_event_attr(g->event, AB_CE_PARTITIONKEY), key))
            return true;
    return false;
}

ab_str ab_outbox_lane_of(const ab_outbox *o, ab_str key)
{
    struct lane *own = ab_map_find(o->lanes, key);
    for (ab_map_iter i = ab_map_first(o->lanes); i.entry != NULL; ab_map_next(&i))
        if (i.value != own && lane_has(i.value, key))
            return i.key;
    return own != NULL && lane_has(own, key) ? ab_map_at(own).key : AB_STR_NONE;
}

bool ab_outbox_is_idle(const ab_outbox *o)
{
    return o->count == 0 && !ab_link_is_in_use(&o->resting);
}

size_t ab_outbox_count(const ab_outbox *o)
{
    return o->count;
}

size_t ab_outbox_bytes(const ab_outbox *o)
{
    return o->bytes;
}

int64_t ab_outbox_paused_until(const ab_outbox *o)
{
    return o->paused_until;
}
