/* SPDX-License-Identifier: Apache-2.0
 *
 * Bringing one Application to what the principal wishes, one step at a time.
 */
#include "sync/agent_priv.h"

#include "schema/attributes.h"
#include "sync/merge.h"

#include <stdlib.h>

static const ab_agent_effects *effects(const ab_agent_app *app)
{
    return &app->agent->env.effects;
}

bool ab_agent_converged(const ab_agent_app *app)
{
    bool settled = !ab_digest_is_none(&app->settled) && ab_digest_eq(&app->settled, &app->digest);
    switch (app->source) {
    case SOURCE_NONE:
        return true;
    case SOURCE_LIVE:
        return app->here && !app->leaving && settled;
    case SOURCE_DELETING:
        return app->here && app->leaving;
    case SOURCE_ENDED:
        return app->here ? app->leaving || settled : app->agent->synced;
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

static ab_err set_next(ab_agent_app *app, enum source source, ab_str uid)
{
    app->next_source = source;
    free(app->next_uid);
    app->next_uid = NULL;
    if (uid.len == 0)
        return AB_ERR_OK;
    app->next_uid = ab_str_dup(uid);
    return app->next_uid == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
}

static void keep(ab_agent_app *app, const ab_kept *kept)
{
    app->step = STEP_KEEP;
    app->inbox.head->begun = true; /* a newer state comes behind it now, not in its place */
    effects(app)->keep(effects(app)->arg, ab_str_of(app->key), kept, app);
}

/* The names that the source's earlier wishes had, as far as they may still stand in the local
 * object. */
static void owned_before(ab_agent_app *app, ab_buf *out)
{
    ab_kept old;
    ab_object *wish = NULL;
    ab_json *before = NULL;
    if (effects(app)->recall(effects(app)->arg, ab_str_of(app->key), &old) != AB_ERR_OK ||
        (!old.ended && ab_object_parse(old.wish, &wish, NULL) != AB_ERR_OK))
        return;
    if (old.ended) { /* the next of its name may be written over what it left */
        ab_buf_put(out, old.owned);
        return;
    }
    if (!ab_agent_converged(app) && old.owned.len > 0 &&
        ab_json_parse(old.owned, &before, NULL) != AB_ERR_OK)
        before = NULL;
    ab_merge_owned(wish, before == NULL ? (ab_jsonv){0} : ab_json_root(before), out);
    ab_json_free(before);
    ab_object_unref(wish);
}

static void keep_end(ab_agent_app *app, ab_task *t)
{
    ab_str uid = uid_of_resourceid(t->event);
    if (set_next(app, SOURCE_ENDED, uid) != AB_ERR_OK) {
        ab_agent_fail(app, AB_ERR_NOMEM, NULL);
        return;
    }
    ab_buf owned;
    ab_buf_init(&owned, AB_JSON_SIZE_MAX);
    owned_before(app, &owned);
    keep(app,
         &(ab_kept){.version = t->version, .ended = true, .uid = uid, .owned = ab_buf_str(&owned)});
    ab_buf_fini(&owned);
}

static void keep_wish(ab_agent_app *app, ab_task *t, const ab_object *wish)
{
    ab_str uid = ab_app_source_uid(wish);
    bool deleting = ab_object_deleting(wish);
    if (set_next(app, deleting ? SOURCE_DELETING : SOURCE_LIVE, uid) != AB_ERR_OK) {
        ab_agent_fail(app, AB_ERR_NOMEM, NULL);
        return;
    }
    ab_buf owned;
    ab_buf_init(&owned, AB_JSON_SIZE_MAX);
    owned_before(app, &owned);
    ab_kept kept = {.version = t->version,
                    .deleting = deleting,
                    .adoptable = t->type == AB_TYPE_CREATE,
                    .uid = uid,
                    .principal_uid = ab_event_attr(t->event, AB_CE_PRINCIPALUID),
                    .owned = ab_buf_str(&owned),
                    .wish = ab_event_data(t->event)};
    keep(app, &kept);
    ab_buf_fini(&owned);
}

static ab_err parse_wish(const ab_agent_app *app, const ab_event *event, ab_object **out,
                         ab_error *err)
{
    ab_str kind, ns, name;
    ab_object *wish;
    ab_err e = ab_object_parse(ab_event_data(event), &wish, err);
    if (e != AB_ERR_OK)
        return e;
    e = ab_object_key_split(ab_str_of(app->key), &kind, &ns, &name);
    if (e == AB_ERR_OK &&
        (!ab_str_eq(ab_object_kind(wish), kind) || !ab_str_eq(ab_object_name(wish), name)))
        e = ab_fail(err, AB_ERR_INVALID, "the object inside is %s", ab_object_key(wish));
    if (e == AB_ERR_OK)
        *out = wish;
    else
        ab_object_unref(wish);
    return e;
}

void ab_agent_begin_state(ab_agent_app *app, ab_task *t)
{
    int newer = ab_version_cmp(t->version, app->version);
    if (newer < 0) {
        ab_metric_add(app->agent->metrics.stale, 1);
        ab_agent_finish_head(app);
        return;
    }
    if (newer == 0) { /* redelivered: kept already, look again whether it is in effect */
        t->begun = true;
        app->settled = (ab_digest){0};
        return;
    }
    if (t->type == AB_TYPE_DELETE || ab_event_data(t->event).ptr == NULL) {
        keep_end(app, t);
        return;
    }
    ab_error err = {0};
    ab_object *wish;
    if (parse_wish(app, t->event, &wish, &err) != AB_ERR_OK) {
        ab_agent_refuse_head(app, "payload", &err);
        return;
    }
    keep_wish(app, t, wish);
    ab_object_unref(wish);
}

static void kept(ab_agent_app *app)
{
    app->version = app->inbox.head->version;
    app->source = app->next_source;
    free(app->uid);
    app->uid = app->next_uid;
    app->next_uid = NULL;
    app->settled = (ab_digest){0};
    app->report_due = app->source != SOURCE_ENDED;
    app->inbox.failing_since = 0;
}

/* --- deciding --- */

void ab_agent_get(ab_agent_app *app)
{
    app->step = STEP_GET;
    app->seen_meanwhile = false;
    effects(app)->get(effects(app)->arg, ab_str_of(app->key), app);
}

static void write_object(ab_agent_app *app, ab_object *object, ab_str version)
{
    app->step = STEP_APPLY;
    app->seen_meanwhile = false;
    ab_metric_add(app->agent->metrics.writes, 1);
    effects(app)->apply(effects(app)->arg, object, version, app);
}

static void remove_object(ab_agent_app *app, ab_str uid, bool foreground)
{
    app->step = STEP_REMOVE;
    app->seen_meanwhile = false;
    ab_metric_add(app->agent->metrics.writes, 1);
    effects(app)->remove(effects(app)->arg, ab_str_of(app->key), uid, foreground, app);
}

/* Local edits and deletions that nobody asked for. */
static void note_revert(ab_agent_app *app, const char *what)
{
    if (app->inbox.head != NULL)
        return;
    ab_metric_add(app->agent->metrics.reverts, 1);
    AB_INFO(app->agent->env.log, SYNC, "local change reverted",
            AB_KV("object", (const char *)app->key), AB_KV("change", what));
}

static ab_err place(ab_agent_app *app, const ab_kept *row, const ab_object *wish,
                    const ab_object *local, ab_object **out, ab_error *err)
{
    ab_json *owned = NULL;
    if (row->owned.len > 0 && ab_json_parse(row->owned, &owned, NULL) != AB_ERR_OK)
        owned = NULL;
    bool resync = app->lost && app->agent->env.policy.recreate == AB_RECREATE_RESYNC;
    ab_app_placing placing = {.namespace = app->agent->env.policy.namespace,
                              .source_uid = row->uid,
                              .principal_uid =
                                  row->principal_uid.len > 0 ? row->principal_uid : AB_STR_NONE,
                              .operation = resync ? AB_STR("{\"sync\":{}}") : AB_STR_NONE};
    if (owned != NULL)
        placing.owned = ab_json_root(owned);
    ab_buf text;
    ab_buf_init(&text, AB_JSON_SIZE_MAX);
    ab_err e = ab_app_place(wish, local, &placing, &text);
    if (e == AB_ERR_OK)
        e = ab_object_parse(ab_buf_str(&text), out, err);
    ab_buf_fini(&text);
    ab_json_free(owned);
    return e;
}

static void create(ab_agent_app *app, const ab_kept *row, const ab_object *wish)
{
    ab_error err = {0};
    ab_object *object;
    ab_err e = place(app, row, wish, NULL, &object, &err);
    if (e != AB_ERR_OK) {
        ab_agent_fail(app, e, &err);
        return;
    }
    if (app->lost)
        note_revert(app, "deleted");
    write_object(app, object, AB_STR_NONE);
    ab_object_unref(object);
}

static void update(ab_agent_app *app, const ab_kept *row, const ab_object *wish, ab_object *local)
{
    ab_error err = {0};
    ab_object *object;
    ab_digest digest;
    ab_err e = place(app, row, wish, local, &object, &err);
    if (e != AB_ERR_OK) {
        ab_agent_fail(app, e, &err);
        return;
    }
    e = ab_app_digest(object, &digest);
    if (e == AB_ERR_OK && ab_digest_eq(&digest, &app->digest)) {
        app->settled = app->digest;
        ab_agent_report_error(app, NULL);
    } else {
        note_revert(app, "edited");
        write_object(app, object, ab_object_version(local));
    }
    ab_object_unref(object);
}

enum claim { CLAIM_UPDATE, CLAIM_RECREATE, CLAIM_NOT_OURS };

/* Whose the local object is, and so what may be done to it (argocd-agent's table of source-uid
 * rules). */
static enum claim claim(const ab_agent_app *app, const ab_kept *row, const ab_object *local)
{
    ab_str uid = ab_object_annotation(local, AB_ANN_SOURCE_UID);
    ab_str principal = ab_object_annotation(local, AB_ANN_PRINCIPAL_UID);
    if (uid.len == 0) {
        ab_str adoption = ab_object_annotation(local, AB_ANN_ADOPTION_POLICY);
        bool adopt =
            adoption.ptr == NULL ? app->agent->env.policy.adopt : ab_str_is(adoption, "always");
        return adopt && row->adoptable ? CLAIM_UPDATE : CLAIM_NOT_OURS;
    }
    bool other_principal = row->principal_uid.len > 0 && !ab_str_eq(principal, row->principal_uid);
    if (other_principal || row->uid.len == 0 || ab_str_eq(uid, row->uid) || principal.len == 0)
        return CLAIM_UPDATE;
    ab_str own = ab_object_annotation(local, AB_ANN_MISMATCH_POLICY);
    bool upsert = own.ptr == NULL ? app->agent->env.policy.upsert : ab_str_is(own, "upsert");
    return upsert ? CLAIM_UPDATE : CLAIM_RECREATE;
}

static void not_ours(ab_agent_app *app)
{
    ab_error err = {0};
    (void)ab_fail(&err, AB_ERR_DENIED,
                  "an Application of this name exists at the agent and is not managed: delete it "
                  "there, or let it be adopted (annotation " AB_ANN_ADOPTION_POLICY "=always)");
    ab_agent_report_error(app, &err);
    app->settled = app->digest;
    if (app->inbox.head != NULL && app->inbox.head->begun)
        ab_agent_finish_head(app);
}

static void decide_live(ab_agent_app *app, const ab_kept *row, const ab_object *wish,
                        ab_object *local)
{
    switch (claim(app, row, local)) {
    case CLAIM_UPDATE:
        update(app, row, wish, local);
        return;
    case CLAIM_RECREATE:
        AB_INFO(app->agent->env.log, SYNC, "created anew at the source: replacing",
                AB_KV("object", (const char *)app->key));
        remove_object(app, ab_object_uid(local), false);
        return;
    case CLAIM_NOT_OURS:
        not_ours(app);
        return;
    }
}

static void decide_ended(ab_agent_app *app, const ab_object *local)
{
    ab_str uid = ab_object_annotation(local, AB_ANN_SOURCE_UID);
    bool ours = uid.len > 0 && (app->uid == NULL || ab_str_is(uid, app->uid));
    if (ours)
        remove_object(app, ab_object_uid(local), false);
    else
        app->settled = app->digest;
}

/* The cascade is complete: from now on the object counts as deleted at the source. What is kept
 * does not say so, so that after a crash the principal is told again. */
static void end_cascade(ab_agent_app *app)
{
    if (ab_writer_is_ready(app->agent->writer) && ab_agent_confirm_gone(app) == AB_ERR_OK)
        app->source = SOURCE_ENDED;
}

static void decide_deleting(ab_agent_app *app, const ab_object *local)
{
    if (ab_object_annotation(local, AB_ANN_SOURCE_UID).len > 0) {
        remove_object(app, ab_object_uid(local), true);
        return;
    }
    app->settled = app->digest; /* not ours: ours is gone */
    end_cascade(app);
    if (app->source == SOURCE_DELETING)
        ab_inbox_back_off(&app->inbox, ab_clock_mono_ms(app->agent->env.clock));
}

/* What is kept, parsed; calls `act` with it. */
static void with_wish(ab_agent_app *app, ab_object *local)
{
    ab_kept row;
    ab_error err = {0};
    ab_object *wish;
    ab_err e = effects(app)->recall(effects(app)->arg, ab_str_of(app->key), &row);
    if (e == AB_ERR_OK)
        e = ab_object_parse(row.wish, &wish, &err);
    if (e != AB_ERR_OK) {
        ab_error_prefix(&err, "what was kept of it");
        ab_agent_fail(app, e, &err);
        return;
    }
    if (local == NULL)
        create(app, &row, wish);
    else
        decide_live(app, &row, wish, local);
    ab_object_unref(wish);
}

void ab_agent_decide(ab_agent_app *app, ab_object *local)
{
    if (app->leaving)
        return;
    if (app->source == SOURCE_LIVE)
        with_wish(app, local);
    else if (app->source == SOURCE_DELETING)
        decide_deleting(app, local);
    else if (app->source == SOURCE_ENDED)
        decide_ended(app, local);
}

void ab_agent_converge(ab_agent_app *app)
{
    if (!app->here && !app->agent->synced)
        return; /* it may only not be listed yet */
    switch (app->source) {
    case SOURCE_NONE:
        return;
    case SOURCE_LIVE:
        if (app->leaving)
            ab_agent_wait(app);
        else if (app->here)
            ab_agent_get(app);
        else
            with_wish(app, NULL);
        return;
    case SOURCE_DELETING:
        if (app->here)
            ab_agent_get(app);
        else
            end_cascade(app);
        return;
    case SOURCE_ENDED:
        ab_agent_get(app);
        return;
    }
}

/* --- answers --- */

static void got(ab_agent_app *app, ab_err code, ab_object *local, const ab_error *err)
{
    if (app->seen_meanwhile && (code == AB_ERR_OK || code == AB_ERR_NOTFOUND))
        return; /* which of the two is newer is not known: it is read again if need be */
    if (code == AB_ERR_NOTFOUND) {
        app->here = false;
        app->report_due = false;
        return;
    }
    if (code != AB_ERR_OK) {
        ab_agent_fail(app, code, err);
        return;
    }
    app->here = true;
    app->leaving = ab_object_deleting(local);
    if (ab_app_digest(local, &app->digest) != AB_ERR_OK)
        app->digest = (ab_digest){0};
    if (app->report_due)
        ab_agent_report_state(app, local);
    if (!ab_agent_converged(app))
        ab_agent_decide(app, local);
}

static void applied(ab_agent_app *app, ab_err code, ab_object *object, const ab_error *err)
{
    if (code == AB_ERR_EXISTS)
        app->here = true; /* the store knows it before we have seen it */
    if (code != AB_ERR_OK) {
        ab_agent_fail(app, code, err);
        return;
    }
    app->lost = false;
    ab_inbox_succeeded(&app->inbox);
    ab_agent_report_error(app, NULL);
    if (object == NULL || ab_app_digest(object, &app->settled) != AB_ERR_OK) {
        app->settled = (ab_digest){0};
        return;
    }
    if (app->seen_meanwhile)
        return; /* what was seen may be newer than what we wrote */
    app->here = true;
    app->leaving = ab_object_deleting(object);
    app->digest = app->settled;
}

static void removed(ab_agent_app *app, ab_err code, const ab_error *err)
{
    if (code != AB_ERR_OK && code != AB_ERR_NOTFOUND) {
        ab_agent_fail(app, code, err);
        return;
    }
    ab_inbox_succeeded(&app->inbox);
    /* Gone or marked: the store's change says which. Until then there is nothing to do. */
    app->removing = app->here;
    if (!app->seen_meanwhile)
        app->leaving = app->here;
}

static void answered_keep(ab_agent_app *app, ab_err code, const ab_error *err)
{
    if (code == AB_ERR_OK) {
        kept(app);
        return;
    }
    app->inbox.head->begun = false;
    ab_agent_fail(app, code, err);
}

void ab_agent_done(ab_agent_app *app, ab_err code, ab_object *object, const ab_error *err)
{
    enum step step = app->step;
    app->step = STEP_IDLE;
    switch (step) {
    case STEP_IDLE:
        break;
    case STEP_KEEP:
        answered_keep(app, code, err);
        break;
    case STEP_GET:
        got(app, code, object, err);
        break;
    case STEP_APPLY:
        applied(app, code, object, err);
        break;
    case STEP_REMOVE:
        removed(app, code, err);
        break;
    case STEP_COMMAND_GET:
        ab_agent_command_got(app, code, object, err);
        break;
    case STEP_COMMAND_WRITE:
        ab_agent_command_written(app, code, err);
        break;
    }
    ab_agent_advance(app);
}
