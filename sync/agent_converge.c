/* SPDX-License-Identifier: Apache-2.0
 *
 * Bringing one object to what the principal wishes, one step at a time.
 */
#include "sync/agent_priv.h"

#include "schema/attributes.h"
#include "sync/merge.h"

#include <stdlib.h>

static const ab_agent_effects *effects(const ab_agent_object *o)
{
    return &o->agent->env.effects;
}

bool ab_agent_converged(const ab_agent_object *o)
{
    bool settled = !ab_digest_is_none(&o->settled) && ab_digest_eq(&o->settled, &o->digest);
    switch (o->source) {
    case SOURCE_NONE:
        return true;
    case SOURCE_LIVE:
        return o->here && !o->leaving && settled;
    case SOURCE_DELETING:
        return o->here && o->leaving;
    case SOURCE_ENDED:
        return o->here ? o->leaving || settled : o->agent->synced;
    }
    return true;
}

/* --- a new state from the principal: remember it before acting on it --- */

static ab_str uid_of_resourceid(const ab_event *event)
{
    ab_str id = ab_event_attr(event, AB_CE_RESOURCEID);
    for (size_t i = id.len; i > 0; i--)
        if (id.ptr[i - 1] == '_')
            return (ab_str){id.ptr + i, id.len - i};
    return AB_STR_NONE;
}

static ab_err set_next(ab_agent_object *o, enum source source, ab_str uid)
{
    o->next_source = source;
    free(o->next_uid);
    o->next_uid = NULL;
    if (uid.len == 0)
        return AB_ERR_OK;
    o->next_uid = ab_str_dup(uid);
    return o->next_uid == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
}

static void keep(ab_agent_object *o, const ab_kept *kept)
{
    o->step = STEP_KEEP;
    o->inbox.head->begun = true; /* a newer state comes behind it now, not in its place */
    effects(o)->keep(effects(o)->arg, ab_str_of(o->key), kept, o);
}

/* The names that the source's earlier wishes had, as far as they may still stand in the local
 * object. */
static void owned_before(ab_agent_object *o, ab_buf *out)
{
    ab_kept old;
    ab_object *wish = NULL;
    ab_json *before = NULL;
    if (effects(o)->recall(effects(o)->arg, ab_str_of(o->key), &old) != AB_ERR_OK ||
        (!old.ended && ab_object_parse(old.wish, &wish, NULL) != AB_ERR_OK))
        return;
    if (old.ended) { /* the next of its name may be written over what it left */
        ab_buf_put(out, old.owned);
        return;
    }
    if (!ab_agent_converged(o) && old.owned.len > 0 &&
        ab_json_parse(old.owned, &before, NULL) != AB_ERR_OK)
        before = NULL;
    ab_merge_owned(wish, before == NULL ? (ab_jsonv){0} : ab_json_root(before), out);
    ab_json_free(before);
    ab_object_unref(wish);
}

static void keep_end(ab_agent_object *o, ab_task *t)
{
    ab_str uid = uid_of_resourceid(t->event);
    if (set_next(o, SOURCE_ENDED, uid) != AB_ERR_OK) {
        ab_agent_fail(o, AB_ERR_NOMEM, NULL);
        return;
    }
    ab_buf owned;
    ab_buf_init(&owned, AB_JSON_SIZE_MAX);
    owned_before(o, &owned);
    keep(o,
         &(ab_kept){.version = t->version, .ended = true, .uid = uid, .owned = ab_buf_str(&owned)});
    ab_buf_fini(&owned);
}

static void keep_wish(ab_agent_object *o, ab_task *t, const ab_object *wish)
{
    ab_str uid = ab_source_uid(wish);
    bool deleting = ab_object_deleting(wish);
    if (set_next(o, deleting ? SOURCE_DELETING : SOURCE_LIVE, uid) != AB_ERR_OK) {
        ab_agent_fail(o, AB_ERR_NOMEM, NULL);
        return;
    }
    ab_buf owned;
    ab_buf_init(&owned, AB_JSON_SIZE_MAX);
    owned_before(o, &owned);
    ab_kept kept = {.version = t->version,
                    .deleting = deleting,
                    .adoptable = t->type == AB_TYPE_CREATE,
                    .uid = uid,
                    .principal_uid = ab_event_attr(t->event, AB_CE_PRINCIPALUID),
                    .owned = ab_buf_str(&owned),
                    .wish = ab_event_data(t->event)};
    keep(o, &kept);
    ab_buf_fini(&owned);
}

static ab_err parse_wish(const ab_agent_object *o, const ab_event *event, ab_object **out,
                         ab_error *err)
{
    ab_str kind, ns, name;
    ab_object *wish;
    ab_err e = ab_object_parse(ab_event_data(event), &wish, err);
    if (e != AB_ERR_OK)
        return e;
    e = ab_object_key_split(ab_str_of(o->key), &kind, &ns, &name);
    if (e == AB_ERR_OK &&
        (!ab_str_eq(ab_object_kind(wish), kind) || !ab_str_eq(ab_object_name(wish), name)))
        e = ab_fail(err, AB_ERR_INVALID, "the object inside is %s", ab_object_key(wish));
    if (e == AB_ERR_OK)
        *out = wish;
    else
        ab_object_unref(wish);
    return e;
}

void ab_agent_begin_state(ab_agent_object *o, ab_task *t)
{
    int newer = ab_version_cmp(t->version, o->version);
    if (newer < 0) {
        ab_metric_add(o->agent->metrics.stale, 1);
        ab_agent_finish_head(o);
        return;
    }
    if (newer == 0) { /* redelivered: kept already, look again whether it is in effect */
        t->begun = true;
        o->settled = (ab_digest){0};
        return;
    }
    if (t->type == AB_TYPE_DELETE || ab_event_data(t->event).ptr == NULL) {
        keep_end(o, t);
        return;
    }
    ab_error err = {0};
    ab_object *wish;
    if (parse_wish(o, t->event, &wish, &err) != AB_ERR_OK) {
        ab_agent_refuse_head(o, "payload", &err);
        return;
    }
    keep_wish(o, t, wish);
    ab_object_unref(wish);
}

static void kept(ab_agent_object *o)
{
    o->version = o->inbox.head->version;
    o->source = o->next_source;
    free(o->uid);
    o->uid = o->next_uid;
    o->next_uid = NULL;
    o->settled = (ab_digest){0};
    o->report_due = o->source != SOURCE_ENDED;
    o->inbox.failing_since = 0;
}

/* --- deciding --- */

void ab_agent_get(ab_agent_object *o)
{
    o->step = STEP_GET;
    o->seen_meanwhile = false;
    effects(o)->get(effects(o)->arg, ab_str_of(o->key), o);
}

static void write_object(ab_agent_object *o, ab_object *object, ab_str version)
{
    o->step = STEP_APPLY;
    o->seen_meanwhile = false;
    ab_metric_add(o->agent->metrics.writes, 1);
    effects(o)->apply(effects(o)->arg, object, version, o);
}

static void remove_object(ab_agent_object *o, ab_str uid, bool foreground)
{
    o->step = STEP_REMOVE;
    o->seen_meanwhile = false;
    ab_metric_add(o->agent->metrics.writes, 1);
    effects(o)->remove(effects(o)->arg, ab_str_of(o->key), uid, foreground, o);
}

/* Local edits and deletions that nobody asked for. */
static void note_revert(ab_agent_object *o, const char *what)
{
    if (o->inbox.head != NULL)
        return;
    ab_metric_add(o->agent->metrics.reverts, 1);
    AB_INFO(o->agent->env.log, SYNC, "local change reverted", AB_KV("object", (const char *)o->key),
            AB_KV("change", what));
}

static ab_err place(ab_agent_object *o, const ab_kept *row, const ab_object *wish,
                    const ab_object *local, ab_object **out, ab_error *err)
{
    ab_json *owned = NULL;
    if (row->owned.len > 0 && ab_json_parse(row->owned, &owned, NULL) != AB_ERR_OK)
        owned = NULL;
    bool resync = o->lost && o->agent->env.policy.recreate == AB_RECREATE_RESYNC;
    ab_placing placing = {.namespace = ab_str_of(o->agent->env.policy.namespace),
                          .source_uid = row->uid,
                          .principal_uid =
                              row->principal_uid.len > 0 ? row->principal_uid : AB_STR_NONE,
                          .operation = resync ? AB_STR("{\"sync\":{}}") : AB_STR_NONE};
    if (owned != NULL)
        placing.owned = ab_json_root(owned);
    ab_buf text;
    ab_buf_init(&text, AB_JSON_SIZE_MAX);
    ab_err e = ab_place(wish, local, &placing, &text);
    if (e == AB_ERR_OK)
        e = ab_object_parse(ab_buf_str(&text), out, err);
    ab_buf_fini(&text);
    ab_json_free(owned);
    return e;
}

static void create(ab_agent_object *o, const ab_kept *row, const ab_object *wish)
{
    ab_error err = {0};
    ab_object *object;
    ab_err e = place(o, row, wish, NULL, &object, &err);
    if (e != AB_ERR_OK) {
        ab_agent_fail(o, e, &err);
        return;
    }
    if (o->lost)
        note_revert(o, "deleted");
    write_object(o, object, AB_STR_NONE);
    ab_object_unref(object);
}

static void update(ab_agent_object *o, const ab_kept *row, const ab_object *wish, ab_object *local)
{
    ab_error err = {0};
    ab_object *object;
    ab_digest digest;
    ab_err e = place(o, row, wish, local, &object, &err);
    if (e != AB_ERR_OK) {
        ab_agent_fail(o, e, &err);
        return;
    }
    e = ab_place_digest(object, &digest);
    if (e == AB_ERR_OK && ab_digest_eq(&digest, &o->digest)) {
        o->settled = o->digest;
        ab_agent_report_error(o, NULL);
    } else {
        note_revert(o, "edited");
        write_object(o, object, ab_object_version(local));
    }
    ab_object_unref(object);
}

enum claim { CLAIM_UPDATE, CLAIM_RECREATE, CLAIM_NOT_OURS };

/* Whose the local object is, and so what may be done to it (argocd-agent's table of source-uid
 * rules). */
static enum claim claim(const ab_agent_object *o, const ab_kept *row, const ab_object *local)
{
    ab_str uid = ab_object_annotation(local, AB_ANN_SOURCE_UID);
    ab_str principal = ab_object_annotation(local, AB_ANN_PRINCIPAL_UID);
    if (uid.len == 0) {
        ab_str adoption = ab_object_annotation(local, AB_ANN_ADOPTION_POLICY);
        bool adopt =
            adoption.ptr == NULL ? o->agent->env.policy.adopt : ab_str_is(adoption, "always");
        return adopt && row->adoptable ? CLAIM_UPDATE : CLAIM_NOT_OURS;
    }
    bool other_principal = row->principal_uid.len > 0 && !ab_str_eq(principal, row->principal_uid);
    if (other_principal || row->uid.len == 0 || ab_str_eq(uid, row->uid) || principal.len == 0)
        return CLAIM_UPDATE;
    ab_str own = ab_object_annotation(local, AB_ANN_MISMATCH_POLICY);
    bool upsert = own.ptr == NULL ? o->agent->env.policy.upsert : ab_str_is(own, "upsert");
    return upsert ? CLAIM_UPDATE : CLAIM_RECREATE;
}

static void not_ours(ab_agent_object *o)
{
    ab_error err = {0};
    (void)ab_fail(&err, AB_ERR_DENIED,
                  "an Application of this name exists at the agent and is not managed: delete it "
                  "there, or let it be adopted (annotation " AB_ANN_ADOPTION_POLICY "=always)");
    ab_agent_report_error(o, &err);
    o->settled = o->digest;
    if (o->inbox.head != NULL && o->inbox.head->begun)
        ab_agent_finish_head(o);
}

static void decide_live(ab_agent_object *o, const ab_kept *row, const ab_object *wish,
                        ab_object *local)
{
    switch (claim(o, row, local)) {
    case CLAIM_UPDATE:
        update(o, row, wish, local);
        return;
    case CLAIM_RECREATE:
        AB_INFO(o->agent->env.log, SYNC, "created anew at the source: replacing",
                AB_KV("object", (const char *)o->key));
        remove_object(o, ab_object_uid(local), false);
        return;
    case CLAIM_NOT_OURS:
        not_ours(o);
        return;
    }
}

static void decide_ended(ab_agent_object *o, const ab_object *local)
{
    ab_str uid = ab_object_annotation(local, AB_ANN_SOURCE_UID);
    bool ours = uid.len > 0 && (o->uid == NULL || ab_str_is(uid, o->uid));
    if (ours)
        remove_object(o, ab_object_uid(local), false);
    else
        o->settled = o->digest;
}

/* The cascade is complete: from now on the object counts as deleted at the source. What is kept
 * does not say so, so that after a crash the principal is told again. */
static void end_cascade(ab_agent_object *o)
{
    if (ab_writer_is_ready(o->agent->writer) && ab_agent_confirm_gone(o) == AB_ERR_OK)
        o->source = SOURCE_ENDED;
}

static void decide_deleting(ab_agent_object *o, const ab_object *local)
{
    if (ab_object_annotation(local, AB_ANN_SOURCE_UID).len > 0) {
        remove_object(o, ab_object_uid(local), true);
        return;
    }
    o->settled = o->digest; /* not ours: ours is gone */
    end_cascade(o);
    if (o->source == SOURCE_DELETING)
        ab_inbox_back_off(&o->inbox, ab_clock_mono_ms(o->agent->env.clock));
}

/* What is kept, parsed; calls `act` with it. */
static void with_wish(ab_agent_object *o, ab_object *local)
{
    ab_kept row;
    ab_error err = {0};
    ab_object *wish;
    ab_err e = effects(o)->recall(effects(o)->arg, ab_str_of(o->key), &row);
    if (e == AB_ERR_OK)
        e = ab_object_parse(row.wish, &wish, &err);
    if (e != AB_ERR_OK) {
        ab_error_prefix(&err, "what was kept of it");
        ab_agent_fail(o, e, &err);
        return;
    }
    if (local == NULL)
        create(o, &row, wish);
    else
        decide_live(o, &row, wish, local);
    ab_object_unref(wish);
}

void ab_agent_decide(ab_agent_object *o, ab_object *local)
{
    if (o->leaving)
        return;
    if (o->source == SOURCE_LIVE)
        with_wish(o, local);
    else if (o->source == SOURCE_DELETING)
        decide_deleting(o, local);
    else if (o->source == SOURCE_ENDED)
        decide_ended(o, local);
}

void ab_agent_converge(ab_agent_object *o)
{
    if (!o->here && !o->agent->synced)
        return; /* it may only not be listed yet */
    switch (o->source) {
    case SOURCE_NONE:
        return;
    case SOURCE_LIVE:
        if (o->leaving)
            ab_agent_wait(o);
        else if (o->here)
            ab_agent_get(o);
        else
            with_wish(o, NULL);
        return;
    case SOURCE_DELETING:
        if (o->here)
            ab_agent_get(o);
        else
            end_cascade(o);
        return;
    case SOURCE_ENDED:
        ab_agent_get(o);
        return;
    }
}

/* --- answers --- */

static void got(ab_agent_object *o, ab_err code, ab_object *local, const ab_error *err)
{
    if (o->seen_meanwhile && (code == AB_ERR_OK || code == AB_ERR_NOTFOUND))
        return; /* which of the two is newer is not known: it is read again if need be */
    if (code == AB_ERR_NOTFOUND) {
        o->here = false;
        o->report_due = false;
        return;
    }
    if (code != AB_ERR_OK) {
        ab_agent_fail(o, code, err);
        return;
    }
    o->here = true;
    o->leaving = ab_object_deleting(local);
    if (ab_place_digest(local, &o->digest) != AB_ERR_OK)
        o->digest = (ab_digest){0};
    if (o->report_due)
        ab_agent_report_state(o, local);
    if (!ab_agent_converged(o))
        ab_agent_decide(o, local);
}

static void applied(ab_agent_object *o, ab_err code, ab_object *object, const ab_error *err)
{
    if (code == AB_ERR_EXISTS)
        o->here = true; /* the store knows it before we have seen it */
    if (code != AB_ERR_OK) {
        ab_agent_fail(o, code, err);
        return;
    }
    o->lost = false;
    ab_inbox_succeeded(&o->inbox);
    ab_agent_report_error(o, NULL);
    if (object == NULL || ab_place_digest(object, &o->settled) != AB_ERR_OK) {
        o->settled = (ab_digest){0};
        return;
    }
    if (o->seen_meanwhile)
        return; /* what was seen may be newer than what we wrote */
    o->here = true;
    o->leaving = ab_object_deleting(object);
    o->digest = o->settled;
}

static void removed(ab_agent_object *o, ab_err code, const ab_error *err)
{
    if (code != AB_ERR_OK && code != AB_ERR_NOTFOUND) {
        ab_agent_fail(o, code, err);
        return;
    }
    ab_inbox_succeeded(&o->inbox);
    /* Gone or marked: the store's change says which. Until then there is nothing to do. */
    o->removing = o->here;
    if (!o->seen_meanwhile)
        o->leaving = o->here;
}

static void answered_keep(ab_agent_object *o, ab_err code, const ab_error *err)
{
    if (code == AB_ERR_OK) {
        kept(o);
        return;
    }
    o->inbox.head->begun = false;
    ab_agent_fail(o, code, err);
}

void ab_agent_done(ab_agent_object *o, ab_err code, ab_object *object, const ab_error *err)
{
    enum step step = o->step;
    o->step = STEP_IDLE;
    switch (step) {
    case STEP_IDLE:
        break;
    case STEP_KEEP:
        answered_keep(o, code, err);
        break;
    case STEP_GET:
        got(o, code, object, err);
        break;
    case STEP_APPLY:
        applied(o, code, object, err);
        break;
    case STEP_REMOVE:
        removed(o, code, err);
        break;
    case STEP_COMMAND_GET:
        ab_agent_command_got(o, code, object, err);
        break;
    case STEP_COMMAND_WRITE:
        ab_agent_command_written(o, code, err);
        break;
    }
    ab_agent_advance(o);
}
