/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing the local object: whose it is, how it is to stand, what of it is sealed.
 */
#include "sync/agent/agent_priv.h"

#include "schema/attributes.h"
#include "sync/object/desired.h"
#include "sync/object/secret.h"

#include <stdlib.h>

void ab_agent_remove(ab_agent_object *o, const ab_object *local, bool foreground)
{
    ab_reconcile_remove(
        &o->record, &(ab_precondition){ab_object_uid(local), ab_object_version(local)}, foreground);
}

bool ab_agent_set_cascade(ab_agent_object *o, const ab_object *local, ab_spanv finalizers)
{
    ab_str now = ab_app_cascade(ab_object_meta(local, "finalizers"));
    if (!o->kind->reports || ab_str_eq(now, ab_app_cascade(finalizers)))
        return false;
    o->record.purpose = FOR_REMOVAL;
    ab_reconcile_edit(&o->record, local,
                      &(ab_app_edit){.set_cascade = true, .cascade = finalizers});
    return true;
}

/* Local edits and deletions that nobody asked for. */
static void note_revert(ab_agent_object *o, const char *what)
{
    if (!o->owed)
        ab_reconcile_note_revert(&o->record, what);
}

/* --- what went, and is made again --- */

void ab_agent_note_lost(ab_agent_object *o, const ab_object *last)
{
    bool asked = o->removing || o->record.step == AB_STEP_REMOVE;
    ab_spanv status = ab_object_field(last, "status");
    ab_agent_forget_lost(o);
    o->lost = o->source == SOURCE_LIVE && !asked;
    /* Without memory for it, it comes back without. */
    if (o->lost && ab_span_count(status) > 0 && o->agent->env.policy.recreate == AB_RECREATE_IGNORE)
        o->lost_status = ab_str_dup(ab_span_raw(status));
}

void ab_agent_restore_status(ab_agent_object *o, const ab_object *object)
{
    char *status = o->lost_status;
    o->lost_status = NULL;
    if (status == NULL)
        return;
    o->record.purpose = FOR_STATUS;
    ab_reconcile_patch_status(&o->record, ab_str_of(status), AB_STR_NONE,
                              &(ab_precondition){.version = ab_object_version(object)});
    free(status);
}

/* --- how it is to stand --- */

static ab_err open_sealed(const ab_agent_object *o, const ab_received_state *row,
                          const ab_object *desired, ab_buf *out, ab_error *err)
{
    const ab_agent_policy *p = &o->agent->env.policy;
    char version[AB_VERSION_TEXT];
    char context[AB_DIGEST_HEX];
    if (p->open == NULL)
        return ab_fail(err, AB_ERR_DENIED,
                       "it is sealed, but this agent has no key: set secrets.certificate and "
                       "secrets.key at the agent");
    ab_err e = ab_secret_context(desired, context);
    if (e != AB_ERR_OK)
        return ab_fail(err, e, "the metadata beside the seal: %s", ab_err_text(e));
    ab_version_format(row->version, version);
    const ab_seal_binding binding = {.agent = ab_str_of(p->name),
                                     .key = ab_str_of(ab_object_key(desired)),
                                     .version = ab_str_of(version),
                                     .context = ab_str_of(context)};
    ab_str sealed = ab_span_plain(ab_object_field(desired, "sealed"));
    return p->open(p->open_arg, &binding, sealed, out, err);
}

static ab_err render_desired(ab_agent_object *o, const ab_received_state *row,
                             const ab_object *desired, const ab_object *local, ab_str opened,
                             ab_buf *out)
{
    ab_str kind, name;
    ab_span *owned = NULL;
    bool resync = o->lost && o->agent->env.policy.recreate == AB_RECREATE_RESYNC;
    if (row->owned.len > 0 && ab_span_parse(row->owned, &owned, NULL) != AB_ERR_OK)
        owned = NULL;
    ab_desired_params params = {.source_uid = row->uid,
                                .principal_uid = row->owner.len > 0 ? row->owner : AB_STR_NONE,
                                .remapped = row->remapped,
                                .operation = resync ? AB_STR("{\"sync\":{}}") : AB_STR_NONE,
                                .opened = opened};
    if (owned != NULL)
        params.owned = ab_span_root(owned);
    ab_err e = ab_object_key_split(ab_str_of(o->key), &kind, &params.namespace, &name);
    if (e == AB_ERR_OK)
        e = ab_desired_render(desired, local, &params, out);
    ab_span_free(owned);
    return e;
}

static ab_err place(ab_agent_object *o, const ab_received_state *row, const ab_object *desired,
                    const ab_object *local, ab_object **out, ab_error *err)
{
    ab_err e = AB_ERR_OK;
    bool sealed = o->kind->sealed && ab_span_present(ab_object_field(desired, "sealed"));
    ab_buf opened = ab_buf_secret_up_to(AB_SPAN_SIZE_MAX);
    ab_buf text = ab_buf_secret_up_to(AB_SPAN_SIZE_MAX);
    if (sealed)
        e = open_sealed(o, row, desired, &opened, err);
    if (e == AB_ERR_OK)
        e = render_desired(o, row, desired, local, sealed ? ab_buf_str(&opened) : AB_STR_NONE,
                           &text);
    if (e == AB_ERR_OK)
        e = ab_object_parse(ab_buf_str(&text), out, err);
    ab_buf_fini(&opened);
    ab_buf_fini(&text);
    return e;
}

static void create(ab_agent_object *o, const ab_received_state *row, const ab_object *desired)
{
    ab_error err = {0};
    ab_object *object;
    ab_err e = place(o, row, desired, NULL, &object, &err);
    if (e != AB_ERR_OK) {
        ab_reconcile_fail(&o->record, e, &err);
        return;
    }
    if (o->lost)
        note_revert(o, "deleted");
    ab_reconcile_apply(&o->record, object, AB_STR_NONE);
    ab_object_unref(object);
}

static void update(ab_agent_object *o, const ab_received_state *row, const ab_object *desired,
                   ab_object *local)
{
    ab_error err = {0};
    ab_object *object;
    ab_digest digest;
    ab_err e = place(o, row, desired, local, &object, &err);
    if (e != AB_ERR_OK) {
        ab_reconcile_fail(&o->record, e, &err);
        return;
    }
    e = ab_desired_digest(object, &digest);
    bool same = e == AB_ERR_OK && ab_digest_eq(&digest, &o->digest);
    if (same && ab_names_itself(local)) {
        o->reconciled = o->digest;
        ab_agent_report_error(o, NULL);
    } else {
        if (!same)
            note_revert(o, "edited");
        ab_reconcile_apply(&o->record, object, ab_object_version(local));
    }
    ab_object_unref(object);
}

/* --- whose it is --- */

enum claim { CLAIM_UPDATE, CLAIM_RECREATE, CLAIM_NOT_OURS };

/* May the unmanaged object be taken over? */
static bool may_adopt(const ab_agent_object *o, const ab_received_state *row,
                      const ab_object *local)
{
    ab_str says = ab_object_annotation(local, AB_ANN_ADOPTION_POLICY);
    if (!ab_kind_is_synchronised(local) || (says.ptr != NULL && !ab_str_is(says, "always")))
        return false;
    ab_str former = ab_object_annotation(local, AB_ANN_FORMER_UID);
    bool was_ours = former.len > 0 && ab_str_eq(former, row->uid);
    switch (o->kind->adoption) {
    case AB_ADOPT_BY_POLICY:
        return (row->adoptable || was_ours) && (says.ptr != NULL || o->agent->env.policy.adopt);
    case AB_ADOPT_IF_ASKED:
        return says.ptr != NULL;
    case AB_ADOPT_ALWAYS:
        break;
    }
    return true;
}

/* Whose the local object is, and so what may be done to it (argocd-agent's table of source-uid
 * rules). */
static enum claim claim(const ab_agent_object *o, const ab_received_state *row,
                        const ab_object *local)
{
    ab_str uid = ab_object_annotation(local, AB_ANN_SOURCE_UID);
    ab_str principal = ab_object_annotation(local, AB_ANN_PRINCIPAL_UID);
    if (uid.len == 0)
        return may_adopt(o, row, local) ? CLAIM_UPDATE : CLAIM_NOT_OURS;
    bool other_principal = row->owner.len > 0 && !ab_str_eq(principal, row->owner);
    if (other_principal || row->uid.len == 0 || ab_str_eq(uid, row->uid) || principal.len == 0)
        return CLAIM_UPDATE;
    if (ab_is_renamed_copy(local)) /* a user has put the annotations of another one over ours */
        return CLAIM_UPDATE;
    ab_str own = ab_object_annotation(local, AB_ANN_MISMATCH_POLICY);
    bool upsert = own.ptr == NULL ? o->agent->env.policy.upsert : ab_str_is(own, "upsert");
    return upsert ? CLAIM_UPDATE : CLAIM_RECREATE;
}

static void not_ours(ab_agent_object *o)
{
    ab_error err = {0};
    (void)ab_fail(&err, AB_ERR_DENIED,
                  "the agent has a %s of this name that is not managed: delete it in the workload "
                  "cluster, or allow its adoption (annotation " AB_ANN_ADOPTION_POLICY "=always)",
                  o->kind->kind);
    bool other = o->error == NULL || strcmp(o->error, err.text) != 0;
    if (other && ab_agent_may_log(o->agent))
        AB_WARN(o->agent->env.log, SYNC, "adoption refused", AB_KV("object", o->key),
                AB_KV("why", err.text), AB_KV("held_back", o->agent->lines.held_back));
    ab_agent_report_error(o, &err);
    o->reconciled = o->digest;
    if (ab_reconcile_head(&o->record) != NULL)
        ab_reconcile_finish_head(&o->record);
}

/* The former one went at the source without the agent: with a cascade it had waited for it. */
static void recreate(ab_agent_object *o, const ab_object *local)
{
    if (o->snapshot != NULL) { /* `local` may be that */
        ab_agent_drop_snapshot(o);
        ab_reconcile_get(&o->record);
        return;
    }
    if (ab_agent_set_cascade(o, local, (ab_spanv){0}))
        return;
    AB_INFO(o->agent->env.log, SYNC, "object was recreated in the control plane: replacing it",
            AB_KV("object", o->key));
    ab_agent_remove(o, local, false);
}

static void decide_live(ab_agent_object *o, const ab_received_state *row, const ab_object *desired,
                        ab_object *local)
{
    switch (claim(o, row, local)) {
    case CLAIM_UPDATE:
        update(o, row, desired, local);
        return;
    case CLAIM_RECREATE:
        recreate(o, local);
        return;
    case CLAIM_NOT_OURS:
        not_ours(o);
        return;
    }
}

void ab_agent_apply_desired(ab_agent_object *o, ab_object *local)
{
    ab_object *desired;
    if (local != NULL && ab_agent_is_outdated(o, local))
        return;
    /* The snapshot serves again when the row is read. */
    if (!ab_reconcile_received(&o->record, o->snapshot == NULL ? local : NULL, &desired))
        return;
    if (local == NULL)
        create(o, o->record.row, desired);
    else
        decide_live(o, o->record.row, desired, local);
    ab_object_unref(desired);
}
