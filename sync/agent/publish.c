/* SPDX-License-Identifier: Apache-2.0
 *
 * What an autonomous agent says upwards: its objects, whole, whenever they differ from what its log
 * has, and their end. It follows nobody: of the principal it only takes commands.
 */
#include "sync/agent/agent_priv.h"

#include "schema/attributes.h"
#include "sync/object/mirror.h"

#include <stdio.h>

/* --- state --- */

static void queue(ab_agent_object *o, const ab_object *local, ab_str payload)
{
    ab_writer *w = o->agent->writer;
    ab_str key = ab_str_of(o->key);
    char subject[AB_OBJECT_KEY_MAX], resource[AB_OBJECT_KEY_MAX];
    ab_event_draft draft;
    ab_type type = ab_writer_has_key(w, key) ? AB_TYPE_SPEC_UPDATE : AB_TYPE_CREATE;
    snprintf(resource, sizeof(resource), "%.*s_%.*s", AB_STR_ARG(ab_object_name(local)),
             AB_STR_ARG(ab_object_uid(local)));
    ab_agent_name_event(o, false, &draft, o->kind->target, type, subject);
    ab_event_set_text(&draft, AB_CE_RESOURCEID, resource);
    draft.data = payload;
    ab_agent_sent(o, ab_writer_state(w, key, key, &draft, &o->report, NULL));
}

void ab_agent_publish(ab_agent_object *o, const ab_object *local)
{
    if (ab_agent_has_managed_annotations(local))
        return; /* published once it is the agent's */
    o->excluded = !ab_kind_is_synchronised(local);
    if (o->excluded) {
        o->report = (ab_digest){0};
        ab_agent_note_missing(o, true);
        return;
    }
    ab_buf payload = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_err e = ab_mirror_payload(local, &payload);
    if (e == AB_ERR_OK)
        e = ab_digest_of(ab_buf_str(&payload), &o->report);
    if (e != AB_ERR_OK)
        ab_agent_sent(o, e);
    else if (ab_writer_is_ready(o->agent->writer))
        queue(o, local, ab_buf_str(&payload));
    ab_buf_fini(&payload);
}

/* --- what the store no longer has --- */

static bool is_published_key(ab_str key)
{
    const ab_kind *kind = ab_kind_of_key(key);
    return kind != NULL && kind->mirroring != AB_NOT_MIRRORED;
}

static int64_t now_ms(const ab_agent *a)
{
    return ab_clock_mono_ms(a->env.clock);
}

static void show_held(const ab_agent *a)
{
    ab_metric_set(ab_metric_get(a->env.metrics, AB_METRIC_GAUGE, "argobus_deletions_held",
                                "Deletions held back: too many, or without proof.", NULL, 0),
                  (double)a->sweep.guard.held);
}

static void log_held(const ab_agent *a, size_t total)
{
    const ab_guard *g = &a->sweep.guard;
    AB_ERROR(a->env.log, SYNC,
             "deletions held back: too many objects are missing from the store, and their deletion "
             "was not observed; to delete their mirrors, run argobusctl resync --agent NAME "
             "--confirm TOKEN at the principal, where argobusctl deletions shows the token",
             AB_KV("agent", a->env.policy.name), AB_KV("missing", (int64_t)g->held),
             AB_KV("objects", (int64_t)total), AB_KV("deleted_before", (int64_t)g->made),
             AB_KV("max_deletions", (int64_t)g->limits.max));
}

void ab_agent_note_missing(ab_agent_object *o, bool observed)
{
    o->end_observed = observed && !o->agent->sweep.guard.limits.observed;
    if (o->end_observed)
        ab_agent_end_up(o); /* what is not read of our log yet is swept when it is */
    else
        ab_sweep_miss(&o->agent->sweep, now_ms(o->agent));
}

bool ab_agent_is_missing(const ab_agent *a, ab_str key)
{
    const ab_agent_object *o = ab_map_find(a->objects, key);
    return is_published_key(key) && (o == NULL || !o->exists || o->excluded);
}

void ab_agent_end_missing(ab_agent *a, ab_str key)
{
    ab_agent_object *o = ab_agent_object_for(a, key);
    if (o == NULL) {
        AB_ERROR(a->env.log, SYNC, "out of memory", AB_KV("object", key));
        return;
    }
    ab_agent_end_up(o);
    ab_reconcile_tend_later(&o->record); /* our log is gone through */
}

/* It was seen here, in this run. */
static bool is_owned(const ab_agent_object *o)
{
    return o->excluded || !ab_digest_is_none(&o->report);
}

/* No watermark is asked: only a mirror is ended, and the log of an agent is proof for that. */
static bool know(void *arg, ab_str key, ab_deletion_facts *out)
{
    const ab_agent *a = arg;
    const ab_agent_object *o = ab_map_find(a->objects, key);
    if (!is_published_key(key))
        return false;
    *out = (ab_deletion_facts){.exists = !ab_agent_is_missing(a, key),
                               .store_checked = true,
                               .observed = o != NULL && o->end_observed,
                               .store_synced = a->synced,
                               .owned = o != NULL && is_owned(o),
                               .covered = true};
    return true;
}

static void end(void *arg, ab_str key, ab_deletion why)
{
    const ab_agent *a = arg;
    AB_DEBUG(a->env.log, SYNC, "deletion passed on", AB_KV("object", key),
             AB_KV("why", ab_deletion_text(why)));
    ab_agent_end_missing(arg, key);
}

static void show(void *arg, bool more, size_t total)
{
    show_held(arg);
    if (more)
        log_held(arg, total);
}

static void sweep_error(void *arg, ab_str key)
{
    ab_agent *a = arg;
    ab_str about = {key.ptr + sizeof(AB_KEY_ERROR) - 1, key.len - (sizeof(AB_KEY_ERROR) - 1)};
    const ab_agent_object *o = ab_map_find(a->objects, about);
    ab_event_draft draft = {0};
    if (o != NULL && o->error != NULL)
        return;
    ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(AB_TYPE_ERROR));
    ab_event_set_text(&draft, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_APPLICATION));
    if (ab_writer_end(a->writer, key, key, &draft, NULL) != AB_ERR_OK)
        AB_ERROR(a->env.log, SYNC, "out of memory", AB_KV("object", key));
}

void ab_agent_sweep(ab_agent *a)
{
    const ab_sweep_role role = {.know = know, .end = end, .show = show, .arg = a};
    if (!ab_agent_is_autonomous(a) || !a->listed || !ab_writer_is_ready(a->writer) ||
        !ab_sweep_begin(&a->sweep, now_ms(a)))
        return;
    if (a->synced)
        ab_writer_each(a->writer, AB_KEY_ERROR, sweep_error, a);
    ab_sweep_log(&a->sweep, a->writer, &role, now_ms(a));
    ab_agent_wake(a);
}

static void name_if_held(void *arg, ab_str key)
{
    ab_agent *a = arg;
    ab_deletion_facts facts;
    if (!know(a, key, &facts) || ab_map_count(a->resync.names) == AB_RESYNC_NAMES_MAX)
        return;
    facts.too_many = true;
    if (ab_deletion_judge(&facts) == AB_DELETION_HELD_TOO_MANY &&
        ab_map_put(a->resync.names, key, a, NULL) != AB_ERR_OK)
        AB_ERROR(a->env.log, SYNC, "out of memory", AB_KV("object", key));
}

void ab_agent_name_held(ab_agent *a)
{
    ab_map_free(a->resync.names, NULL);
    a->resync.names = a->sweep.held.count > 0 ? ab_map_new() : NULL;
    if (a->resync.names != NULL)
        ab_writer_each(a->writer, "", name_if_held, a);
}

void ab_agent_guard_tick(ab_agent *a)
{
    if (ab_sweep_is_due(&a->sweep, now_ms(a)))
        ab_agent_sweep(a); /* the objects may be back */
}

/* --- another mode than before --- */

void ab_agent_note_published(ab_agent *a, const ab_event *head)
{
    ab_str key = ab_event_attr(head, AB_CE_PARTITIONKEY);
    ab_str type = ab_event_attr(head, AB_CE_TYPE);
    bool published = ab_str_is(type, ab_type_name(AB_TYPE_CREATE)) ||
                     ab_str_is(type, ab_type_name(AB_TYPE_SPEC_UPDATE));
    if (ab_agent_is_autonomous(a) || !published || !is_published_key(key))
        return;
    if (ab_map_put(a->published, key, a, NULL) != AB_ERR_OK)
        AB_ERROR(a->env.log, SYNC, "out of memory", AB_KV("object", key));
}

static void release(ab_agent *a, ab_str key)
{
    ab_agent_object *o = ab_agent_object_for(a, key);
    ab_event_draft draft;
    char subject[AB_OBJECT_KEY_MAX];
    if (o == NULL) {
        AB_ERROR(a->env.log, SYNC, "out of memory", AB_KV("object", key));
        return;
    }
    ab_agent_name_event(o, false, &draft, o->kind->target, AB_TYPE_RELEASE, subject);
    ab_agent_sent(o, ab_writer_end(a->writer, key, key, &draft, NULL));
}

void ab_agent_release_published(ab_agent *a)
{
    for (ab_map_iter i = ab_map_first(a->published); i.entry != NULL; ab_map_next(&i)) {
        release(a, i.key);
        (void)ab_map_take(a->published, i.key);
    }
}

ab_err ab_agent_own(const ab_object *local, bool copied, ab_buf *out)
{
    ab_str uid = ab_object_annotation(local, AB_ANN_SOURCE_UID);
    const ab_app_edit edit = {
        .annotations = {{AB_ANN_SOURCE_UID, AB_STR_NONE},
                        {AB_ANN_PRINCIPAL_UID, AB_STR_NONE},
                        {AB_ANN_NAME, AB_STR_NONE},
                        {copied ? AB_ANN_REMAPPED : AB_ANN_FORMER_UID, copied ? AB_STR_NONE : uid}},
        .annotation_count = 4};
    return ab_app_edited(local, &edit, out);
}
