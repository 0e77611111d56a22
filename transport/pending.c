/* SPDX-License-Identifier: Apache-2.0
 *
 * The oldest record that is not in effect has the age of them all, whatever newer records of its
 * key there are. So one record is remembered beside the newest of each key; once the receiver has
 * passed it, the oldest of the newest takes its place. For a receiver that is away, which passes
 * nothing, the age is exact; for one that is catching up it is at most too low. While the position
 * is not known, any record may turn out to be the oldest: log_marks.h has them.
 */
#include "transport/pending.h"

#include "schema/attributes.h"

struct entry {
    ab_link held_at;
    ab_link written_at;
    size_t holds; /* a deferral is one of them */
    bool deferred;
    int64_t since_ms;      /* of the oldest hold, as far as known */
    int64_t offset;        /* of the newest record; -1 = none is at or after the position */
    int64_t written_ms;    /* when that was written */
    int64_t oldest_offset; /* of the oldest record that was after the position when it was noted */
    int64_t oldest_ms;
    bool ends; /* the newest change is a deletion */
};

static struct entry *held_of(ab_link *l)
{
    return AB_LINK_OF(l, struct entry, held_at);
}

static struct entry *written_of(ab_link *l)
{
    return AB_LINK_OF(l, struct entry, written_at);
}

void ab_pending_init(ab_pending *p, const ab_clock *clock, int64_t position)
{
    *p = (ab_pending){.clock = clock, .position = position, .first_offset = -1};
    ab_link_init(&p->held);
    ab_link_init(&p->written);
}

void ab_pending_fini(ab_pending *p)
{
    ab_map_free(p->keys, NULL);
    ab_log_marks_clear(&p->marks);
    p->keys = NULL;
    p->clock = NULL;
}

static int64_t now_ms(const ab_pending *p)
{
    return ab_clock_wall_us(p->clock) / 1000;
}

static bool is_command(ab_str key)
{
    return ab_str_starts(key, AB_KEY_COMMAND);
}

static bool is_change(ab_str key)
{
    return key.ptr != NULL && !ab_str_starts(key, AB_KEY_ACK) &&
           !ab_str_starts(key, AB_KEY_ERROR) && !ab_str_starts(key, AB_KEY_CONTROL);
}

/* The key of a change; absent: it is none. */
static ab_str change_of(const ab_pending *p, const ab_event *event, bool ended)
{
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    bool other = !is_change(key) || (ended && is_command(key));
    return p->clock == NULL || other ? AB_STR_NONE : key;
}

static bool has_ended(const ab_event *event)
{
    return ab_event_data(event).ptr == NULL;
}

static struct entry *find(const ab_pending *p, ab_str key)
{
    return p->keys == NULL ? NULL : ab_map_find(p->keys, key);
}

/* @return NULL when out of memory, which is noted */
static struct entry *entry_for(ab_pending *p, ab_str key)
{
    if (p->keys == NULL)
        p->keys = ab_map_new();
    struct entry *e = p->keys == NULL ? NULL : ab_map_make(p->keys, key, sizeof(*e));
    if (e == NULL) {
        p->incomplete = true;
        return NULL;
    }
    if (e->held_at.next != NULL) /* it was there */
        return e;
    ab_link_init(&e->held_at);
    ab_link_init(&e->written_at);
    e->offset = -1;
    return e;
}

static void drop_if_over(ab_pending *p, struct entry *e)
{
    if (e->holds > 0 || e->offset >= 0)
        return;
    ab_map_drop(p->keys, e);
    p->incomplete = p->incomplete && ab_map_count(p->keys) > 0;
}

/* ----- what holds them ----- */

/* The list stays in order, also when clocks are set back. */
static void date(ab_pending *p, struct entry *e, int64_t since_ms)
{
    ab_link_remove(&e->held_at);
    int64_t last_ms = ab_link_is_in_use(&p->held) ? held_of(p->held.prev)->since_ms : since_ms;
    e->since_ms = since_ms < last_ms ? last_ms : since_ms;
    ab_list_append(&p->held, &e->held_at);
}

static void hold(ab_pending *p, struct entry *e, int64_t since_ms)
{
    if (e->holds++ == 0)
        date(p, e, since_ms);
}

static void release(ab_pending *p, struct entry *e)
{
    e->holds--;
    if (e->holds > 0 && e->deferred)
        return; /* it has not been in effect since then, whatever came and went */
    ab_link_remove(&e->held_at);
    /* A newer change of an object that changes all the time must not have the age of the first. */
    if (e->holds > 0)
        date(p, e, now_ms(p));
    drop_if_over(p, e);
}

void ab_pending_hold(ab_pending *p, const ab_event *event, int64_t since_ms)
{
    ab_str key = change_of(p, event, has_ended(event));
    struct entry *e = key.ptr == NULL ? NULL : entry_for(p, key);
    if (e == NULL)
        return;
    e->ends = has_ended(event);
    hold(p, e, since_ms);
}

void ab_pending_hold_now(ab_pending *p, const ab_event *event)
{
    if (p->clock != NULL)
        ab_pending_hold(p, event, now_ms(p));
}

void ab_pending_release(ab_pending *p, const ab_event *event)
{
    ab_str key = change_of(p, event, has_ended(event));
    struct entry *e = key.ptr == NULL ? NULL : find(p, key);
    if (e != NULL && e->holds > e->deferred)
        release(p, e);
}

void ab_pending_defer(ab_pending *p, ab_str key, bool deferred)
{
    struct entry *e = deferred && p->clock != NULL ? entry_for(p, key) : find(p, key);
    if (e == NULL || e->deferred == deferred)
        return;
    e->deferred = deferred;
    if (deferred)
        hold(p, e, now_ms(p));
    else
        release(p, e);
}

/* ----- what is in the log ----- */

static void set_first(ab_pending *p)
{
    bool any = ab_link_is_in_use(&p->written);
    p->first_offset = any ? written_of(p->written.next)->offset : -1;
    p->first_ms = any ? written_of(p->written.next)->written_ms : 0;
}

static void unwrite(ab_pending *p, struct entry *e)
{
    ab_link_remove(&e->written_at);
    e->offset = -1;
    drop_if_over(p, e);
}

/* The command was answered. */
static void finish(ab_pending *p, ab_str key)
{
    struct entry *e = find(p, key);
    if (e == NULL || e->offset < 0)
        return;
    bool first = e->offset == p->first_offset;
    ab_log_marks_drop(&p->marks, e->offset);
    unwrite(p, e);
    if (first)
        set_first(p);
}

static void note(ab_pending *p, ab_str key, bool ended, int64_t offset, int64_t written_ms)
{
    struct entry *e = entry_for(p, key);
    if (e == NULL)
        return;
    if (e->offset < 0 || e->oldest_offset < p->position) {
        e->oldest_offset = offset;
        e->oldest_ms = written_ms;
    }
    e->ends = ended;
    e->offset = offset;
    e->written_ms = written_ms;
    ab_list_append(&p->written, &e->written_at);
    if (p->position < 0)
        ab_log_marks_add(&p->marks, offset, written_ms);
    if (p->first_offset < 0)
        set_first(p);
}

void ab_pending_write(ab_pending *p, const ab_event *event, bool ended, int64_t offset,
                      int64_t written_ms)
{
    if (p->clock == NULL)
        return;
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    if (ended && is_command(key))
        finish(p, key);
    else if (is_change(key) && offset >= p->position)
        note(p, key, ended, offset, written_ms);
}

/* The position is known at last. */
static void recall_first(ab_pending *p)
{
    const ab_log_mark *mark = ab_log_marks_find(&p->marks, p->position);
    if (mark != NULL && mark->offset < p->first_offset) {
        p->first_offset = mark->offset;
        p->first_ms = mark->written_ms;
    }
    ab_log_marks_clear(&p->marks);
}

void ab_pending_pass(ab_pending *p, int64_t position)
{
    p->position = position;
    while (ab_link_is_in_use(&p->written) && written_of(p->written.next)->offset < position)
        unwrite(p, written_of(p->written.next));
    if (p->first_offset < position)
        set_first(p);
    if (position >= 0)
        recall_first(p);
}

void ab_pending_forget_log(ab_pending *p)
{
    while (ab_link_is_in_use(&p->written))
        unwrite(p, written_of(p->written.next));
    ab_log_marks_clear(&p->marks);
    set_first(p);
}

void ab_pending_set_unread(ab_pending *p, size_t count)
{
    p->unread = count;
}

/* ----- figures ----- */

bool ab_pending_has(const ab_pending *p, ab_str key)
{
    return find(p, key) != NULL;
}

bool ab_pending_is_written(const ab_pending *p)
{
    return ab_link_is_in_use(&p->written);
}

bool ab_pending_is_known(const ab_pending *p)
{
    return p->position >= 0 && !p->incomplete;
}

size_t ab_pending_count(const ab_pending *p)
{
    return p->unread + (p->keys == NULL ? 0 : ab_map_count(p->keys));
}

int64_t ab_pending_since_ms(const ab_pending *p)
{
    bool held = ab_link_is_in_use(&p->held);
    bool written = p->first_offset >= 0;
    if (!held && !written)
        return 0;
    int64_t since_ms = held ? held_of(p->held.next)->since_ms : p->first_ms;
    return written && p->first_ms < since_ms ? p->first_ms : since_ms;
}

int64_t ab_pending_age_ms(const ab_pending *p)
{
    int64_t since_ms = ab_pending_since_ms(p);
    int64_t age_ms = since_ms == 0 ? 0 : now_ms(p) - since_ms;
    return age_ms > 0 ? age_ms : 0;
}

/* ----- one by one ----- */

/* The oldest of what keeps it from being in effect, as far as known. */
static int64_t since(const ab_pending *p, const struct entry *e)
{
    int64_t in_log_ms = e->oldest_offset >= p->position ? e->oldest_ms : e->written_ms;
    if (e->offset < 0)
        return e->since_ms;
    return e->holds > 0 && e->since_ms < in_log_ms ? e->since_ms : in_log_ms;
}

static bool show(const ab_pending *p, struct entry *e, ab_pending_visitor visit, void *arg)
{
    const ab_pending_item item = {
        .key = ab_map_at(e).key,
        .since_ms = since(p, e),
        .age_ms = now_ms(p) - since(p, e),
        .deferred = e->deferred,
        .held = e->holds > e->deferred,
        .written = e->offset >= 0,
        .ends = e->ends,
    };
    return visit(arg, &item);
}

void ab_pending_each(const ab_pending *p, ab_pending_visitor visit, void *arg)
{
    bool more = p->keys != NULL;
    for (ab_link *l = p->held.next; more && l != &p->held; l = l->next)
        more = show(p, held_of(l), visit, arg);
    for (ab_link *l = p->written.next; more && l != &p->written; l = l->next)
        if (written_of(l)->holds == 0)
            more = show(p, written_of(l), visit, arg);
}
