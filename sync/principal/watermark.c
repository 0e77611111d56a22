/* SPDX-License-Identifier: Apache-2.0
 *
 * What proves that an object which the store does not have was deleted: that the store is known to
 * have had it. It is, of what it has shown or what was said of it in this run, and of what was said
 * up to its watermark. The watermark follows what is said to an agent, once both ends have compared
 * what they hold and every deletion was proved: else it would hide what only the agent knows of.
 *
 * Before anything of an agent is ended, the part of the watermark that has its line is read, after
 * the object was missed. If it is not the one that was listed at start, or written since, the store
 * is another one than it was, and what it has shown proves nothing: the principal exits, so that
 * its supervisor restarts it. The other parts say nothing about this agent, and are not read for
 * it.
 */
#include "sync/principal/principal_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A part is not written more often than so, and all of them together the less often the larger they
 * are. */
#define WRITES_APART_MS 250
#define BYTES_PER_MS    40
/* How long to wait for an agent's log before its watermark is written for whatever it may have. */
#define LOGS_MS 10000
/* How often to look whether what is held back has come back. */
#define HELD_RETRY_MS 60000

static int64_t now_ms(const ab_principal *p)
{
    return ab_clock_mono_ms(p->env.clock);
}

/* --- what is known --- */

bool ab_principal_watermark_ask(const struct peer *peer)
{
    struct watermark_part *part = peer->line->part;
    if (part == NULL)
        return false;
    part->wanted = part->wanted || part->outdated;
    ab_principal_watermark_advance(peer->principal);
    return part->read && !part->outdated && part->step != WATERMARK_GET;
}

void ab_principal_watermark_outdate(ab_principal *p)
{
    for (size_t i = 0; i < p->watermark.count; i++)
        p->watermark.parts[i].outdated = true;
}

void ab_principal_watermark_read_all(ab_principal *p)
{
    ab_principal_watermark_outdate(p);
    for (size_t i = 0; i < p->watermark.count; i++)
        p->watermark.parts[i].wanted = true;
}

/* Said in this run, of what the store had shown. */
static bool is_of_this_run(const struct peer *peer, uint64_t epoch)
{
    for (size_t i = 0; i < EPOCHS_MAX; i++)
        if (peer->proof.epochs[i] == epoch)
            return true;
    return false;
}

bool ab_principal_watermark_covers(const struct peer *peer, ab_version version)
{
    if (peer->proof.resynced)
        return true;
    return ab_watermark_covers(&peer->line->sent, version) ||
           (!ab_version_is_none(version) && is_of_this_run(peer, version.epoch));
}

void ab_principal_watermark_epoch(struct peer *peer)
{
    uint64_t epoch = ab_writer_newest(peer->writer).epoch;
    if (!is_of_this_run(peer, epoch))
        peer->proof.epochs[peer->proof.epoch_count++ % EPOCHS_MAX] = epoch;
}

static void write_later(const struct peer *peer)
{
    if (peer->line->part != NULL) /* else once it has one */
        peer->line->part->write_due = true;
    ab_principal_watermark_advance(peer->principal);
}

static void note_sent(struct peer *peer, ab_version version)
{
    if (ab_version_cmp(version, peer->proof.sent) > 0)
        peer->proof.sent = version;
}

void ab_principal_watermark_note_version(struct peer *peer, ab_version version)
{
    note_sent(peer, version);
}

void ab_principal_watermark_note_queued(struct peer *peer)
{
    peer->proof.sent_this_run = ab_writer_newest(peer->writer);
    note_sent(peer, peer->proof.sent_this_run);
    write_later(peer);
}

/* What is covered when the watermark is written: what was said to this agent in this run, and, once
 * every deletion is proved, all up to there. */
static void cover(struct peer *peer)
{
    ab_watermark_sent *sent = &peer->line->sent;
    if (peer->proof.resynced && ab_version_cmp(peer->proof.sent, sent->all) > 0)
        *sent = (ab_watermark_sent){.all = peer->proof.sent};
    else if (!peer->proof.resynced && !ab_version_is_none(peer->proof.sent_this_run))
        ab_watermark_add_run(sent, peer->proof.sent_this_run);
}

void ab_principal_watermark_leave(struct peer *peer)
{
    cover(peer);
    write_later(peer);
    ab_principal_watermark_remove(peer);
}

/* If it were restored from before it had that, it is to have another
 * watermark. */
void ab_principal_watermark_note_listed(struct peer *peer)
{
    if (peer->proof.written_for_list)
        return;
    peer->proof.written_for_list = true;
    write_later(peer);
}

void ab_principal_watermark_note_resync(struct peer *peer)
{
    ab_principal *p = peer->principal;
    /* What was not judged when all was in hand is judged in the next one, whatever was read since.
     */
    if (peer->mode != AB_MANAGED || ab_principal_is_holding(peer) || !peer->resync.judged)
        return;
    peer->proof.again = !p->synced || !peer->sweep.done || !ab_principal_watermark_ask(peer);
    if (peer->proof.again)
        return;
    bool covers_more = ab_version_cmp(peer->proof.sent, peer->line->sent.all) > 0;
    bool first = !peer->proof.resynced;
    peer->proof.resynced = true;
    if (first && covers_more)
        write_later(peer);
}

void ab_principal_watermark_hold(struct peer *peer, size_t *held, size_t count, const char *first)
{
    const ab_principal *p = peer->principal;
    bool more = count > *held;
    *held = count;
    ab_principal_show_held(peer);
    if (!more)
        return;
    peer->proof.retry_at = now_ms(p) + HELD_RETRY_MS;
    AB_ERROR(p->env.log, SYNC,
             "deletions held back: the store does not show that it ever had what the agent has "
             "(was it restored from a backup?): make the objects again, or delete them at the "
             "agent with argobusctl resync --confirm",
             AB_KV("agent", peer->name), AB_KV("objects", (int64_t)count), AB_KV("first", first));
}

void ab_principal_watermark_tick(struct peer *peer)
{
    const ab_principal *p = peer->principal;
    const struct watermark_part *part = peer->line->part;
    bool read = part != NULL && part->read;
    if (read && now_ms(p) >= part->logs_at && !ab_writer_is_ready(peer->writer))
        ab_principal_watermark_note_listed(peer);
    bool unproved = peer->proof.log + peer->proof.agent > 0;
    if (!unproved || now_ms(p) < peer->proof.retry_at)
        return;
    peer->proof.retry_at = now_ms(p) + HELD_RETRY_MS;
    peer->sweep.done = false;
    ab_principal_sweep(peer);
    ab_resync_queue_due(&peer->resync.turn, "deletions are held back");
}

/* --- the store is not the one that it was --- */

/* What was seen of it is of the former one: only a restart lists all of it. */
static void end_all(ab_principal *p)
{
    for (size_t i = 0; i < p->watermark.count; i++)
        p->watermark.parts[i].read = false;
    p->watermark.other = true;
    p->env.effects.fatal(p->env.effects.arg,
                         "the store's watermark (ConfigMap " AB_WATERMARK_NAME
                         ") is not what was written last: the store was restored from a backup, or "
                         "another principal writes to it; it must be listed again");
}

/* --- reading and writing it --- */

static void back_off(struct watermark_part *part, ab_err code, const ab_error *err)
{
    const ab_principal *p = part->principal;
    char name[AB_WATERMARK_NAME_MAX];
    part->retry_at = now_ms(p) + ab_backoff_next(&part->backoff);
    if (ab_err_class_of(code) == AB_CLASS_STALE || part->failed)
        return;
    part->failed = true;
    ab_watermark_name(part->number, name);
    AB_WARN(p->env.log, SYNC,
            "the store's watermark cannot be read or written: deletions wait for it",
            AB_KV("configmap", (const char *)name), AB_KV("namespace", p->env.namespace),
            AB_KV("why", err == NULL || err->text[0] == '\0' ? ab_err_text(code) : err->text));
}

static void succeeded(struct watermark_part *part)
{
    ab_backoff_reset(&part->backoff);
    part->retry_at = 0;
    part->failed = false;
}

static bool note_version(struct watermark_part *part, const ab_object *object)
{
    free(part->version);
    part->version = object == NULL ? NULL : ab_str_dup(ab_object_version(object));
    return object == NULL || part->version != NULL;
}

/* Is it what we wrote? A write that was said to have failed may have been made. */
static bool is_ours(const struct watermark_part *part, ab_str id)
{
    return ab_str_is(id, part->id) || (part->next_id[0] != '\0' && ab_str_is(id, part->next_id));
}

static void proved(const struct watermark_part *part)
{
    for (ab_list_iter i = ab_list_first(&part->lines); i.link != NULL; ab_list_next(&i)) {
        struct peer *peer = AB_LINK_OF(i.link, struct watermark_line, in_part)->peer;
        if (peer == NULL)
            continue;
        ab_principal_sweep(peer);
        if (peer->proof.again)
            ab_resync_queue_due(&peer->resync.turn, "the store's watermark was read");
        peer->proof.again = false;
    }
}

/* What it says is known: the same id is the same text. */
static void got(struct watermark_part *part, ab_err code, const ab_object *object,
                const ab_error *err)
{
    ab_principal *p = part->principal;
    if (code == AB_ERR_NOTFOUND)
        code = AB_ERR_OK;
    if (code == AB_ERR_OK && !note_version(part, object))
        code = AB_ERR_NOMEM;
    if (code != AB_ERR_OK) {
        part->outdated = part->wanted = true;
        back_off(part, code, err);
        return;
    }
    if (!is_ours(part, ab_watermark_id(object))) {
        end_all(p);
        return;
    }
    snprintf(part->id, sizeof(part->id), "%.*s", AB_STR_ARG(ab_watermark_id(object)));
    part->next_id[0] = '\0';
    if (!part->read)
        part->logs_at = now_ms(p) + LOGS_MS;
    part->read = true;
    part->unsure = false;
    part->write_due |= part->id[0] == '\0'; /* one that is there can be missed */
    succeeded(part);
    proved(part);
}

static void written(struct watermark_part *part, ab_err code, const ab_object *object,
                    const ab_error *err)
{
    if (code != AB_ERR_OK || !note_version(part, object)) {
        part->unsure = part->write_due = true;
        back_off(part, code == AB_ERR_OK ? AB_ERR_NOMEM : code, err);
        return;
    }
    memcpy(part->id, part->next_id, sizeof(part->id));
    part->next_id[0] = '\0';
    part->takes = part->gives = false;
    part->write_at = now_ms(part->principal) + WRITES_APART_MS;
    succeeded(part);
}

void ab_principal_watermark_done(ab_principal_record *record, ab_err code, ab_object *object,
                                 const ab_error *err)
{
    struct watermark_part *part = (struct watermark_part *)record;
    enum watermark_step step = part->step;
    part->step = WATERMARK_IDLE;
    if (step == WATERMARK_GET)
        got(part, code, object, err);
    else
        written(part, code, object, err);
    ab_principal_watermark_advance(part->principal);
}

static void read_part(struct watermark_part *part)
{
    const ab_principal *p = part->principal;
    char name[AB_WATERMARK_NAME_MAX];
    char key[AB_OBJECT_KEY_MAX];
    ab_watermark_name(part->number, name);
    snprintf(key, sizeof(key), "ConfigMap/%s/%s", p->env.namespace, name);
    part->step = WATERMARK_GET;
    part->outdated = part->wanted = false;
    p->env.effects.get(p->env.effects.arg, ab_str_of(key), &part->record);
}

static ab_err make_object(struct watermark_part *part, ab_object **out)
{
    ab_watermark_draft draft;
    ab_err e = ab_uuid(part->next_id);
    if (e != AB_ERR_OK)
        return e;
    ab_watermark_begin(&draft, part->number, part->principal->env.namespace, part->next_id);
    for (ab_list_iter i = ab_list_first(&part->lines); i.link != NULL; ab_list_next(&i)) {
        const struct watermark_line *line = AB_LINK_OF(i.link, struct watermark_line, in_part);
        if (line->peer != NULL)
            cover(line->peer);
        ab_watermark_add(&draft, line->name, &line->sent);
    }
    return ab_watermark_finish(&draft, out);
}

static void write_part(struct watermark_part *part)
{
    ab_principal *p = part->principal;
    ab_object *object = NULL;
    ab_err e = make_object(part, &object);
    if (e != AB_ERR_OK) {
        back_off(part, e, NULL);
        return;
    }
    part->step = WATERMARK_WRITE;
    part->write_due = false;
    p->watermark.turn = part->number + 1;
    p->watermark.write_at =
        now_ms(p) + (int64_t)ab_span_raw(ab_object_json(object)).len / BYTES_PER_MS;
    p->env.effects.apply(p->env.effects.arg, object, ab_str_of(part->version), &part->record);
    ab_object_unref(object);
}

/* --- when --- */

/* Lines that its ConfigMap has are another part's, and not written there yet. */
static bool must_wait(const struct watermark_part *part)
{
    const struct watermark *m = &part->principal->watermark;
    for (size_t i = part->number + 1; part->gives && i < m->count; i++)
        if (m->parts[i].takes)
            return true;
    return false;
}

static bool is_used(const struct watermark_part *part)
{
    return part->number == 0 || part->count > 0 || part->write_due;
}

static void go(struct watermark_part *part, bool at_once)
{
    const ab_principal *p = part->principal;
    int64_t now = now_ms(p);
    if (part->step != WATERMARK_IDLE || !is_used(part) || now < part->retry_at)
        return;
    bool may_write = at_once || (now >= p->watermark.write_at && now >= part->write_at);
    if (!part->read || part->unsure || (part->outdated && part->wanted))
        read_part(part);
    else if (part->write_due && may_write && !must_wait(part))
        write_part(part);
}

static void go_all(ab_principal *p, bool at_once)
{
    size_t first = p->watermark.turn;
    for (size_t i = 0; p->listed && !p->watermark.other && i < p->watermark.count; i++)
        go(&p->watermark.parts[(first + i) % p->watermark.count], at_once);
}

void ab_principal_watermark_advance(ab_principal *p)
{
    go_all(p, false);
}

void ab_principal_flush(ab_principal *p)
{
    go_all(p, true);
}
