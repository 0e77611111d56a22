/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/deletion/watermark_store.h"

#include "base/core/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A part is not written more often than so, and all of them together the less often the larger they
 * are. */
#define WRITES_APART_MS 250
#define BYTES_PER_MS    40
/* How long to wait for an agent's log before its watermark is written for whatever it may have. */
#define LOGS_MS 10000

static ab_watermark_store *store_of(const ab_watermark_part *part)
{
    return (ab_watermark_store *)part->parts;
}

static int64_t now_ms(const ab_watermark_store *s)
{
    return ab_clock_mono_ms(s->env.clock);
}

/* --- answers --- */

/* What was seen of it is of the former one: only a restart lists all of it. */
static void end_all(ab_watermark_store *s, const char *why)
{
    s->other = true;
    s->env.effects->fatal(s->env.effects->arg, why);
}

static void back_off(ab_watermark_part *part, ab_err code, const ab_error *err)
{
    const ab_watermark_store *s = store_of(part);
    char name[AB_WATERMARK_NAME_MAX];
    part->unsure = true;
    part->retry_at = now_ms(s) + ab_backoff_next(&part->backoff);
    if (ab_err_class_of(code) == AB_CLASS_STALE || part->failed)
        return;
    part->failed = true;
    ab_watermark_name(part->number, name);
    AB_WARN(s->env.log, SYNC,
            "the store's watermark cannot be read or written: deletions wait for it",
            AB_KV("configmap", name), AB_KV("namespace", s->env.namespace),
            AB_KV("why", err == NULL || err->text[0] == '\0' ? ab_err_text(code) : err->text));
}

static void succeeded(ab_watermark_part *part)
{
    ab_backoff_reset(&part->backoff);
    part->retry_at = 0;
    part->failed = false;
}

static bool note_object(ab_watermark_part *part, const ab_object *object)
{
    free(part->version);
    free(part->uid);
    part->version = object == NULL ? NULL : ab_str_dup(ab_object_version(object));
    part->uid = object == NULL ? NULL : ab_str_dup(ab_object_uid(object));
    part->write_due |= object != NULL && !ab_watermark_is_bound(object);
    return object == NULL || part->version != NULL;
}

/* Is it what we wrote? A write that was said to have failed may have been made. */
static bool is_ours(const ab_watermark_part *part, ab_str id)
{
    return ab_str_is(id, part->id) || (part->next_id[0] != '\0' && ab_str_is(id, part->next_id));
}

static void tell_waiting(ab_watermark_part *part)
{
    ab_link waiting;
    ab_link_init(&waiting);
    ab_list_move_all(&part->waiting, &waiting);
    for (ab_link *l = ab_list_pop(&waiting); l != NULL; l = ab_list_pop(&waiting))
        store_of(part)->env.checked(AB_LINK_OF(l, ab_watermark_line, in_waiting)->owner);
}

static void distrust(ab_watermark_store *s, ab_watermark_line *line)
{
    ab_watermark_distrust(&line->run);
    line->claim = (ab_watermark_claim){0};
    line->due = line->writing = false;
    if (line->owner != NULL)
        s->env.distrusted(line->owner);
}

/* A write was made, or was not: then what it was to cover is due again. */
static void end_write(ab_watermark_part *part, bool made)
{
    part->next_id[0] = '\0';
    part->write_due |= !made;
    for (ab_list_iter i = ab_list_first(&part->lines); i.link != NULL; ab_list_next(&i)) {
        ab_watermark_line *line = AB_LINK_OF(i.link, ab_watermark_line, in_part);
        if (made)
            ab_watermark_cover(&line->sent, line->claim);
        line->due |= !made && line->writing;
        line->claim = (ab_watermark_claim){0};
        line->writing = false;
    }
}

/* It can be read again. The store may have been replaced meanwhile, and may not show yet what it
 * lacks: what was sent until now and is not covered may never have been in this one. */
static void recover(ab_watermark_part *part)
{
    for (ab_list_iter i = ab_list_first(&part->lines); i.link != NULL; ab_list_next(&i)) {
        ab_watermark_line *line = AB_LINK_OF(i.link, ab_watermark_line, in_part);
        if (line->due)
            distrust(store_of(part), line);
    }
    part->unsure = false;
}

/* What it says is known: the same id is the same text. */
static void got(ab_watermark_part *part, ab_err code, const ab_object *object, const ab_error *err)
{
    ab_str id = ab_watermark_id(object);
    if (code == AB_ERR_NOTFOUND)
        code = AB_ERR_OK;
    if (code == AB_ERR_OK && !note_object(part, object))
        code = AB_ERR_NOMEM;
    if (code != AB_ERR_OK) {
        part->wanted = true;
        back_off(part, code, err);
        return;
    }
    if (!is_ours(part, id)) {
        end_all(store_of(part),
                "the store's watermark (ConfigMap " AB_WATERMARK_NAME
                ") is not what was written last: the store was restored from a backup, or "
                "another principal writes to it; it must be listed again");
        return;
    }
    if (part->next_id[0] != '\0')
        end_write(part, ab_str_is(id, part->next_id));
    if (part->unsure)
        recover(part);
    snprintf(part->id, sizeof(part->id), "%.*s", AB_STR_ARG(id));
    if (part->logs_at == 0)
        part->logs_at = now_ms(store_of(part)) + LOGS_MS;
    part->read = part->asked;
    part->write_due |= part->id[0] == '\0'; /* one that is there can be missed */
    part->retry_at = 0;
    if (!part->write_due) /* else it may be the write that failed, and that is refused again */
        succeeded(part);
    tell_waiting(part);
}

static void written(ab_watermark_part *part, ab_err code, const ab_object *object,
                    const ab_error *err)
{
    if (code != AB_ERR_OK || !note_object(part, object)) {
        back_off(part, code == AB_ERR_OK ? AB_ERR_NOMEM : code, err);
        return;
    }
    memcpy(part->id, part->next_id, sizeof(part->id));
    end_write(part, true);
    part->takes = part->gives = false;
    part->write_at = now_ms(store_of(part)) + WRITES_APART_MS;
    succeeded(part);
}

static void done(ab_asker *asker, ab_err code, ab_object *object, const ab_error *err)
{
    ab_watermark_part *part = (ab_watermark_part *)asker;
    bool was_get = part->step == WATERMARK_GET;
    part->step = WATERMARK_IDLE;
    if (was_get)
        got(part, code, object, err);
    else
        written(part, code, object, err);
    ab_watermark_parts_tend(part);
    ab_watermark_store_advance(store_of(part));
}

/* --- reading and writing --- */

static void read_part(ab_watermark_part *part)
{
    const ab_watermark_store *s = store_of(part);
    char name[AB_WATERMARK_NAME_MAX];
    char key[AB_OBJECT_KEY_MAX];
    ab_watermark_name(part->number, name);
    snprintf(key, sizeof(key), "ConfigMap/%s/%s", s->env.namespace, name);
    part->step = WATERMARK_GET;
    part->asked = part->parts->missed;
    part->wanted = false;
    s->env.effects->get(s->env.effects->arg, ab_str_of(key), &part->asker);
}

static ab_err make_object(ab_watermark_part *part, ab_object **out)
{
    ab_watermark_draft draft;
    ab_err e = ab_uuid(part->next_id);
    if (e != AB_ERR_OK)
        return e;
    ab_watermark_begin(&draft, part->number, store_of(part)->env.namespace, part->next_id,
                       part->uid);
    for (ab_list_iter i = ab_list_first(&part->lines); i.link != NULL; ab_list_next(&i)) {
        ab_watermark_line *line = AB_LINK_OF(i.link, ab_watermark_line, in_part);
        ab_watermark_sent sent = line->sent;
        line->claim = ab_watermark_claim_of(&line->run);
        line->writing = line->due;
        line->due = false;
        ab_watermark_cover(&sent, line->claim);
        ab_watermark_add(&draft, line->name, &sent);
    }
    return ab_watermark_finish(&draft, out);
}

static void write_part(ab_watermark_part *part)
{
    ab_watermark_store *s = store_of(part);
    ab_object *object = NULL;
    ab_err e = make_object(part, &object);
    if (e != AB_ERR_OK) {
        back_off(part, e, NULL);
        return;
    }
    part->step = WATERMARK_WRITE;
    part->write_due = false;
    s->write_at = now_ms(s) + (int64_t)ab_span_raw(ab_object_json(object)).len / BYTES_PER_MS;
    s->env.effects->apply(s->env.effects->arg, object, ab_str_of(part->version), &part->asker);
    ab_object_unref(object);
}

static void go(ab_watermark_part *part, bool at_once)
{
    const ab_watermark_store *s = store_of(part);
    int64_t now = now_ms(s);
    if (part->step != WATERMARK_IDLE || now < part->retry_at || s->other || !s->parts.listed)
        return;
    bool may_write = !s->interrupted && (at_once || (now >= s->write_at && now >= part->write_at));
    if (part->read == 0 || part->unsure || part->wanted)
        read_part(part);
    else if (part->write_due && may_write && !ab_watermark_parts_must_wait(part))
        write_part(part);
}

static void go_all(ab_watermark_store *s, bool at_once)
{
    ab_link due;
    ab_link_init(&due);
    ab_list_move_all(&s->parts.due, &due);
    for (ab_link *l = ab_list_pop(&due); l != NULL; l = ab_list_pop(&due)) {
        ab_watermark_part *part = AB_LINK_OF(l, ab_watermark_part, in_due);
        ab_watermark_parts_tend(part);
        if (ab_link_is_in_use(&part->in_due))
            go(part, at_once);
    }
}

void ab_watermark_store_advance(ab_watermark_store *s)
{
    go_all(s, false);
}

void ab_watermark_store_flush(ab_watermark_store *s)
{
    go_all(s, true);
}

/* --- another store may be behind it --- */

void ab_watermark_store_interrupt(ab_watermark_store *s)
{
    s->interrupted = true;
}

void ab_watermark_store_resume(ab_watermark_store *s)
{
    s->interrupted = false;
    for (size_t i = 0; i < s->parts.count; i++) {
        s->parts.part[i].unsure = true;
        ab_watermark_parts_tend(&s->parts.part[i]);
    }
    ab_watermark_store_advance(s);
}

void ab_watermark_store_replace(ab_watermark_store *s)
{
    end_all(s, "the store was restored from a backup: its data is older than before; it must be "
               "listed again");
}

/* --- what is asked of it --- */

void ab_watermark_store_outdate(ab_watermark_store *s)
{
    s->parts.missed++;
}

static void distrust_uncovered(ab_watermark_store *s, ab_watermark_line *line)
{
    if (!line->due && !line->writing)
        return;
    distrust(s, line);
    if (line->part == NULL)
        return;
    line->part->write_due = true; /* a write under way may cover it: not for long */
    ab_watermark_parts_tend(line->part);
}

void ab_watermark_store_miss_unseen(ab_watermark_store *s, ab_str agent)
{
    ab_watermark_line *line = agent.ptr == NULL ? NULL : ab_map_find(s->parts.lines, agent);
    if (line != NULL)
        distrust_uncovered(s, line);
    for (ab_map_iter i = ab_map_first(s->parts.lines); agent.ptr == NULL && i.entry != NULL;
         ab_map_next(&i))
        distrust_uncovered(s, i.value);
}

void ab_watermark_store_await(ab_watermark_line *line)
{
    if (line->part != NULL)
        ab_list_append(&line->part->waiting, &line->in_waiting);
}

bool ab_watermark_store_check(ab_watermark_store *s, ab_watermark_line *line)
{
    ab_watermark_part *part = line->part;
    if (part == NULL)
        return false;
    bool outdated = part->read != s->parts.missed;
    if (!outdated && part->step != WATERMARK_GET && !s->other)
        return true;
    ab_watermark_store_await(line);
    part->wanted = part->wanted || (outdated && part->asked != s->parts.missed);
    ab_watermark_parts_tend(part);
    go(part, false);
    return false;
}

void ab_watermark_store_check_all(ab_watermark_store *s)
{
    ab_watermark_store_outdate(s);
    for (ab_map_iter i = ab_map_first(s->parts.lines); i.entry != NULL; ab_map_next(&i))
        if (((const ab_watermark_line *)i.value)->owner != NULL)
            ab_watermark_store_await(i.value);
    for (size_t i = 0; i < s->parts.count; i++) {
        s->parts.part[i].wanted = true;
        ab_watermark_parts_tend(&s->parts.part[i]);
    }
    ab_watermark_store_advance(s);
}

/* Only the first has its turn: the others are written in theirs, with the next tick or answer. */
void ab_watermark_store_write(ab_watermark_store *s, ab_watermark_line *line)
{
    ab_watermark_part *part = line->part;
    line->due = true;
    if (part == NULL)
        return;
    part->write_due = true;
    ab_watermark_parts_tend(part);
    if (ab_list_first(&s->parts.due).link == &part->in_due)
        go(part, false);
}

bool ab_watermark_store_is_log_late(const ab_watermark_store *s, const ab_watermark_line *line)
{
    return line->part != NULL && line->part->logs_at != 0 && now_ms(s) >= line->part->logs_at;
}

/* --- agents, and what the store lists --- */

ab_err ab_watermark_store_join(ab_watermark_store *s, ab_str agent, void *owner,
                               ab_watermark_line **out)
{
    ab_watermark_line *line = ab_watermark_parts_line(&s->parts, agent);
    if (line == NULL)
        return AB_ERR_NOMEM;
    line->owner = owner;
    ab_watermark_rejoin(&line->run);
    if (s->parts.listed)
        ab_watermark_parts_place(&s->parts, line);
    *out = line;
    return AB_ERR_OK;
}

void ab_watermark_store_note(ab_watermark_store *s, const ab_object *object)
{
    if (s->parts.listed || !ab_str_is(ab_object_kind(object), "ConfigMap") ||
        !ab_str_is(ab_object_namespace(object), s->env.namespace))
        return;
    size_t number = ab_watermark_number(ab_object_name(object));
    if (number == AB_WATERMARK_PARTS_MAX)
        return;
    if (ab_watermark_parts_list(&s->parts, number, object) != AB_ERR_OK)
        AB_ERROR(s->env.log, SYNC, "out of memory", AB_KV("object", ab_object_key(object)));
}

void ab_watermark_store_listed(ab_watermark_store *s)
{
    ab_watermark_parts_assign(&s->parts);
    ab_watermark_store_advance(s);
}

/* --- life --- */

ab_err ab_watermark_store_init(ab_watermark_store *s, const ab_watermark_store_env *env)
{
    s->env = *env;
    s->other = s->interrupted = false;
    s->write_at = 0;
    return ab_watermark_parts_init(&s->parts, (ab_asker){.done = done});
}

void ab_watermark_store_fini(ab_watermark_store *s)
{
    ab_watermark_parts_fini(&s->parts);
}
