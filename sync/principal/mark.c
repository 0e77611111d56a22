/* SPDX-License-Identifier: Apache-2.0
 *
 * What proves that an object which the store does not have was deleted: that the store is known to
 * have had it. It is, of what it has shown or what was said of it in this run, and of what was said
 * up to its mark. The mark follows what is said to an agent, once both ends have compared what they
 * hold and nothing was in doubt: else it would hide what only the agent knows of.
 *
 * Before anything is ended the mark is read, after the object was missed. If it is not the one that
 * was listed at start, or written since, the store is another one than it was, and what it has
 * shown proves nothing: the principal ends, to begin anew.
 */
#include "sync/principal/principal_priv.h"

#include <stdio.h>
#include <stdlib.h>

#define RETRY_FIRST_MS 250
#define RETRY_MAX_MS   60000
/* Not written more often than so, and the less often the larger it is. */
#define WRITES_APART_MS 250
#define BYTES_PER_MS    40
#define AGENT_BYTES     60
/* How long to wait for an agent's log before the mark is written for whatever it may have. */
#define LOGS_MS 10000
/* How often to look whether what is held back has come back. */
#define HELD_LOOK_MS 60000

static int64_t now_ms(const ab_principal *p)
{
    return ab_clock_mono_ms(p->env.clock);
}

/* As it is known to be, or, of an agent that went, will be. */
static ab_mark_told mark_of(const struct peer *peer)
{
    const struct mark *mark = &peer->principal->mark;
    ab_str name = ab_str_of(peer->name);
    return ab_mark_of(ab_map_find(mark->left.told, name) != NULL ? &mark->left : &mark->known,
                      name);
}

/* --- what is known --- */

bool ab_principal_mark_is_read(const ab_principal *p)
{
    return p->mark.read && !p->mark.look_due && p->mark.step != MARK_GET;
}

/* Said in this run, of what the store had shown. */
static bool is_of_this_run(const struct peer *peer, uint64_t epoch)
{
    for (size_t i = 0; i < EPOCHS_MAX; i++)
        if (peer->doubt.epochs[i] == epoch)
            return true;
    return false;
}

bool ab_principal_mark_covers(const struct peer *peer, ab_version version)
{
    if (peer->doubt.compared)
        return true;
    ab_mark_told told = mark_of(peer);
    return ab_mark_covers(&told, version) ||
           (!ab_version_is_none(version) && is_of_this_run(peer, version.epoch));
}

void ab_principal_mark_epoch(struct peer *peer)
{
    uint64_t epoch = ab_writer_newest(peer->writer).epoch;
    if (!is_of_this_run(peer, epoch))
        peer->doubt.epochs[peer->doubt.epoch_count++ % EPOCHS_MAX] = epoch;
}

static void take_said(struct peer *peer, ab_version version)
{
    if (ab_version_cmp(version, peer->doubt.said) > 0)
        peer->doubt.said = version;
}

void ab_principal_mark_told(struct peer *peer, ab_version version)
{
    take_said(peer, version);
}

void ab_principal_mark_said(struct peer *peer)
{
    peer->doubt.said_now = ab_writer_newest(peer->writer);
    take_said(peer, peer->doubt.said_now);
    peer->principal->mark.write_due = true;
    ab_principal_mark_go(peer->principal);
}

/* What is covered when the mark is written for this agent: what was said in this run, and, once
 * nothing is in doubt, all up to there. */
static ab_mark_told covered(const struct peer *peer)
{
    ab_mark_told told = mark_of(peer);
    if (peer->doubt.compared && ab_version_cmp(peer->doubt.said, told.all) > 0)
        told = (ab_mark_told){.all = peer->doubt.said};
    else if (!peer->doubt.compared && !ab_version_is_none(peer->doubt.said_now))
        ab_mark_add_run(&told, peer->doubt.said_now);
    return told;
}

void ab_principal_mark_leave(const struct peer *peer)
{
    ab_principal *p = peer->principal;
    ab_mark_told told = covered(peer);
    if (ab_mark_set(&p->mark.left, ab_str_of(peer->name), &told) != AB_ERR_OK)
        AB_ERROR(p->env.log, SYNC, "out of memory", AB_KV("agent", peer->name));
    p->mark.write_due = true;
    ab_principal_mark_go(p);
}

/* If it were restored from before it had that, it is to have another mark. */
void ab_principal_mark_shown(struct peer *peer)
{
    if (peer->doubt.shown)
        return;
    peer->doubt.shown = true;
    peer->principal->mark.write_due = true;
    ab_principal_mark_go(peer->principal);
}

void ab_principal_mark_prove(ab_principal *p)
{
    p->mark.look_due = true;
    ab_principal_mark_go(p);
}

void ab_principal_mark_compared(struct peer *peer)
{
    ab_principal *p = peer->principal;
    /* What was not judged when all was in hand is judged in the next one, whatever was read since.
     */
    if (peer->mode != AB_MANAGED || ab_principal_is_holding(peer) || !peer->resync.judged)
        return;
    peer->doubt.again = !p->synced || !peer->swept || !ab_principal_mark_is_read(p);
    if (peer->doubt.again)
        return;
    ab_mark_told told = mark_of(peer);
    if (!peer->doubt.compared && ab_version_cmp(peer->doubt.said, told.all) > 0)
        p->mark.write_due = true;
    peer->doubt.compared = true;
    ab_principal_mark_go(p);
}

void ab_principal_mark_doubts(struct peer *peer, size_t *held, size_t count, const char *first)
{
    const ab_principal *p = peer->principal;
    bool more = count > *held;
    *held = count;
    ab_principal_show_held(peer);
    if (!more)
        return;
    peer->doubt.look_at = now_ms(p) + HELD_LOOK_MS;
    AB_ERROR(p->env.log, SYNC,
             "deletions held back: the store does not show that it ever had what the agent has "
             "(was it restored from a backup?): make the objects again, or delete them at the "
             "agent with argobusctl resync --confirm",
             AB_KV("agent", peer->name), AB_KV("objects", (int64_t)count), AB_KV("first", first));
}

void ab_principal_mark_tick(struct peer *peer)
{
    ab_principal *p = peer->principal;
    if (p->mark.read && now_ms(p) >= p->mark.logs_at && !ab_writer_is_ready(peer->writer))
        ab_principal_mark_shown(peer);
    bool doubts = peer->doubt.log + peer->doubt.agent > 0;
    if (!doubts || now_ms(p) < peer->doubt.look_at)
        return;
    peer->doubt.look_at = now_ms(p) + HELD_LOOK_MS;
    peer->swept = false;
    ab_principal_sweep(peer);
    ab_principal_resync_due(peer, "deletions are held back");
}

/* --- the store is not the one that it was --- */

/* What was seen of it is of the former one: only a new start lists it anew. */
static void end_all(ab_principal *p)
{
    p->mark.read = false;
    p->mark.other = true;
    p->env.effects.fatal(p->env.effects.arg,
                         "the store's mark (ConfigMap " AB_MARK_NAME
                         ") is not what was written last: the store was restored from a backup, or "
                         "another principal writes to it; it must be listed anew");
}

/* --- reading and writing it --- */

static void back_off(ab_principal *p, ab_err code, const ab_error *err)
{
    p->mark.retry_at = now_ms(p) + ab_backoff_next(&p->mark.backoff);
    if (ab_err_class_of(code) == AB_CLASS_STALE || p->mark.failed)
        return;
    p->mark.failed = true;
    AB_WARN(p->env.log, SYNC, "the store's mark cannot be read or written: deletions wait for it",
            AB_KV("configmap", AB_MARK_NAME), AB_KV("namespace", p->env.namespace),
            AB_KV("why", err == NULL || err->text[0] == '\0' ? ab_err_text(code) : err->text));
}

static void succeeded(ab_principal *p)
{
    ab_backoff_reset(&p->mark.backoff);
    p->mark.retry_at = 0;
    p->mark.failed = false;
}

static bool note_version(ab_principal *p, const ab_object *object)
{
    free(p->mark.version);
    p->mark.version = object == NULL ? NULL : ab_str_dup(ab_object_version(object));
    return object == NULL || p->mark.version != NULL;
}

/* Is it what we wrote? A write that was said to have failed may have been made. */
static bool is_ours(ab_principal *p, const ab_mark *found)
{
    if (p->mark.next.id[0] != '\0' && strcmp(found->id, p->mark.next.id) == 0)
        return true;
    return strcmp(found->id, p->mark.known.id) == 0;
}

static void proved(ab_principal *p)
{
    for (ab_map_iter i = ab_map_first(p->peers); i.entry != NULL; ab_map_next(&i)) {
        struct peer *peer = i.value;
        ab_principal_sweep(peer);
        if (peer->doubt.again)
            ab_principal_resync_due(peer, "the store's mark was read");
        peer->doubt.again = false;
    }
}

static void got(ab_principal *p, ab_err code, const ab_object *object, const ab_error *err)
{
    ab_mark found = {0};
    if (code == AB_ERR_OK || code == AB_ERR_NOTFOUND)
        code = ab_mark_load(&found, object);
    if (code == AB_ERR_OK && !note_version(p, object))
        code = AB_ERR_NOMEM;
    if (code != AB_ERR_OK) {
        ab_mark_fini(&found);
        p->mark.look_due = true;
        back_off(p, code, err);
        return;
    }
    if (!is_ours(p, &found)) {
        ab_mark_fini(&found);
        end_all(p);
        return;
    }
    ab_mark_fini(&p->mark.known);
    ab_mark_fini(&p->mark.next);
    p->mark.known = found;
    if (!p->mark.read)
        p->mark.logs_at = now_ms(p) + LOGS_MS;
    p->mark.read = true;
    p->mark.write_due |= p->mark.known.id[0] == '\0'; /* one that is there can be missed */
    succeeded(p);
    proved(p);
}

static void forget_left(ab_principal *p)
{
    for (ab_map_iter i = ab_map_first(p->mark.left.told); i.entry != NULL; ab_map_next(&i))
        free(ab_map_take(p->mark.left.told, i.key));
}

static void written(ab_principal *p, ab_err code, const ab_object *object, const ab_error *err)
{
    size_t bytes = AGENT_BYTES * ab_map_count(p->mark.next.told);
    if (code != AB_ERR_OK || !note_version(p, object)) {
        p->mark.look_due = p->mark.write_due = true;
        back_off(p, code == AB_ERR_OK ? AB_ERR_NOMEM : code, err);
        return;
    }
    ab_mark_fini(&p->mark.known);
    p->mark.known = p->mark.next;
    p->mark.next = (ab_mark){0};
    if (!p->mark.write_due)
        forget_left(p);
    p->mark.write_at = now_ms(p) + WRITES_APART_MS + (int64_t)(bytes / BYTES_PER_MS);
    succeeded(p);
}

static void done(ab_principal_record *record, ab_err code, ab_object *object, const ab_error *err)
{
    struct mark *m = (struct mark *)record;
    enum mark_step step = m->step;
    m->step = MARK_IDLE;
    if (step == MARK_GET)
        got(m->principal, code, object, err);
    else
        written(m->principal, code, object, err);
    ab_principal_mark_go(m->principal);
}

static ab_str key_of(const ab_principal *p, char room[AB_OBJECT_KEY_MAX])
{
    snprintf(room, AB_OBJECT_KEY_MAX, "ConfigMap/%s/" AB_MARK_NAME, p->env.namespace);
    return ab_str_of(room);
}

static void read_it(ab_principal *p)
{
    char key[AB_OBJECT_KEY_MAX];
    p->mark.step = MARK_GET;
    p->mark.look_due = false;
    p->env.effects.get(p->env.effects.arg, key_of(p, key), &p->mark.record);
}

static ab_err copy_told(const ab_mark *from, ab_mark *to)
{
    ab_err e = AB_ERR_OK;
    for (ab_map_iter i = ab_map_first(from->told); i.entry != NULL && e == AB_ERR_OK;
         ab_map_next(&i))
        e = ab_mark_set(to, i.key, i.value);
    return e;
}

static ab_err cover_said(const struct peer *peer, ab_mark *mark)
{
    ab_mark_told told = covered(peer);
    return ab_mark_set(mark, ab_str_of(peer->name), &told);
}

static ab_err make_next(ab_principal *p)
{
    ab_mark_fini(&p->mark.next);
    ab_err e = ab_mark_init(&p->mark.next);
    if (e == AB_ERR_OK)
        e = ab_uuid(p->mark.next.id);
    if (e == AB_ERR_OK)
        e = copy_told(&p->mark.known, &p->mark.next);
    if (e == AB_ERR_OK)
        e = copy_told(&p->mark.left, &p->mark.next);
    for (ab_map_iter i = ab_map_first(p->peers); i.entry != NULL && e == AB_ERR_OK; ab_map_next(&i))
        e = cover_said(i.value, &p->mark.next);
    return e;
}

static void write_it(ab_principal *p)
{
    ab_object *object = NULL;
    ab_err e = make_next(p);
    if (e == AB_ERR_OK)
        e = ab_mark_object(&p->mark.next, p->env.namespace, &object);
    if (e != AB_ERR_OK) {
        back_off(p, e, NULL);
        return;
    }
    p->mark.step = MARK_WRITE;
    p->mark.write_due = false;
    ab_str version = p->mark.version == NULL ? AB_STR_NONE : ab_str_of(p->mark.version);
    p->env.effects.apply(p->env.effects.arg, object, version, &p->mark.record);
    ab_object_unref(object);
}

void ab_principal_mark_go(ab_principal *p)
{
    int64_t now = now_ms(p);
    if (!p->listed || p->mark.other || p->mark.step != MARK_IDLE || now < p->mark.retry_at)
        return;
    if (!p->mark.read || p->mark.look_due)
        read_it(p);
    else if (p->mark.write_due && now >= p->mark.write_at)
        write_it(p);
}

void ab_principal_flush(ab_principal *p)
{
    p->mark.write_at = 0;
    ab_principal_mark_go(p);
}

void ab_principal_mark_seen(ab_principal *p, const ab_object *object)
{
    char key[AB_OBJECT_KEY_MAX];
    if (p->listed || !ab_str_is(key_of(p, key), ab_object_key(object)))
        return;
    if (ab_mark_load(&p->mark.known, object) != AB_ERR_OK)
        AB_ERROR(p->env.log, SYNC, "out of memory", AB_KV("object", ab_object_key(object)));
}

ab_err ab_principal_mark_init(ab_principal *p)
{
    p->mark = (struct mark){.record.done = done, .principal = p};
    ab_backoff_init(&p->mark.backoff, RETRY_FIRST_MS, RETRY_MAX_MS);
    ab_err e = ab_mark_init(&p->mark.known);
    return e == AB_ERR_OK ? ab_mark_init(&p->mark.left) : e;
}

void ab_principal_mark_fini(ab_principal *p)
{
    ab_mark_fini(&p->mark.known);
    ab_mark_fini(&p->mark.left);
    ab_mark_fini(&p->mark.next);
    free(p->mark.version);
}
