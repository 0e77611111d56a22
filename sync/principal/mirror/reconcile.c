/* SPDX-License-Identifier: Apache-2.0
 *
 * Bringing a mirror to what was published: whose the object is that stands here, how it is to
 * stand, and what users ask of it meanwhile.
 */
#include "sync/principal/mirror/mirror_priv.h"

#include "schema/attributes.h"
#include "sync/object/desired.h"
#include "sync/object/mirror.h"
#include "sync/principal/mirror/owner.h"
#include "sync/principal/route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void log_object(const struct mirror *m, const char *what)
{
    AB_INFO(m->principal->env.log, SYNC, what, AB_KV("agent", m->agent), AB_KV("object", m->key));
}

/* --- whose it is --- */

static bool was_made(const struct mirror *m, const ab_object *hub)
{
    return m->made != NULL && ab_str_is(ab_object_uid(hub), m->made);
}

/* Is it the mirror, whatever has been done to it since? */
static bool is_ours(const struct mirror *m, const ab_object *hub)
{
    ab_str uid = ab_object_annotation(hub, AB_ANN_SOURCE_UID);
    ab_str owner = ab_mirror_owner(hub);
    if (was_made(m, hub))
        return true;
    if (owner.len > 0) /* or of one that has no right to the name */
        return ab_str_is(owner, m->agent) ||
               !ab_mirror_may_have(m->principal, owner, ab_str_of(m->key));
    return uid.len > 0 && m->uid != NULL && ab_str_is(uid, m->uid); /* made by another program */
}

/* The source was placed by this very object, while the agent was managed. The agent says so, and
 * may know the uid of what never was its own: that is true of an object only that went to no other.
 */
static bool was_source(const struct mirror *m, const ab_object *source, const ab_object *hub)
{
    ab_str former = ab_object_annotation(source, AB_ANN_FORMER_UID);
    return !m->kind->shared && former.len > 0 && ab_str_eq(former, ab_object_uid(hub)) &&
           ab_str_is(ab_principal_route(m->principal, hub), m->agent);
}

ab_version ab_mirror_stamp(const struct mirror *m, const ab_object *hub)
{
    static const char *const names[] = {AB_ANN_MIRROR, AB_ANN_STATUS_VERSION};
    ab_version newest = {0};
    ab_stamp stamp;
    for (size_t i = 0; i < 2; i++)
        if (ab_stamp_parse(ab_object_annotation(hub, names[i]), &stamp) &&
            ab_str_is(stamp.agent, m->agent) && ab_version_cmp(stamp.version, newest) > 0)
            newest = stamp.version;
    return newest;
}

/* What is kept here is older than what stands: it was lost and is being read again. */
static bool is_behind(const struct mirror *m, const ab_object *hub)
{
    return ab_version_cmp(ab_mirror_stamp(m, hub), m->version) > 0;
}

static void show_conflicts(const struct mirror *m)
{
    ab_label label = {"agent", ab_str_of(m->agent)};
    ab_metric_set(
        ab_metric_get(
            m->principal->env.metrics, AB_METRIC_GAUGE, "argobus_mirror_conflicts",
            "Objects of an agent that cannot be mirrored because another object has their name.",
            &label, 1),
        (double)m->records->conflict_count);
}

void ab_mirror_set_conflict(struct mirror *m, bool conflict)
{
    if (m->conflict == conflict)
        return;
    m->conflict = conflict;
    if (conflict)
        m->records->conflict_count++;
    else
        m->records->conflict_count--;
    show_conflicts(m);
    ab_mirror_project_changed(m->principal, ab_str_of(m->key));
    if (conflict)
        AB_WARN(m->principal->env.log, SYNC,
                "cannot mirror the agent's object: another object, or another agent's, already has "
                "this name; rename one of the two",
                AB_KV("agent", m->agent), AB_KV("object", m->key));
}

/* --- writing --- */

static void format_stamp(const struct mirror *m, char out[AB_STAMP_TEXT])
{
    ab_stamp_format(&(ab_stamp){.version = m->version, .agent = ab_str_of(m->agent)}, out);
}

static bool is_refused(const struct request *r)
{
    return r->refused && r->id[0] != '\0' && strcmp(r->id, r->answered) == 0;
}

/* What of the requests is to be written. */
struct demand {
    struct finished drop;
    struct request_ids ids;
    bool due;
};

static ab_err demand_of(const struct mirror *m, const ab_object *source, const ab_object *hub,
                        struct demand *out)
{
    const struct requests *r = &m->requests;
    *out = (struct demand){0};
    if (!m->kind->reports)
        return AB_ERR_OK;
    out->drop = ab_requests_finished(r, m->version, ab_object_json(source));
    out->drop.operation = out->drop.operation || is_refused(&r->operation);
    out->drop.refresh = out->drop.refresh || is_refused(&r->refresh);
    out->due = out->drop.operation || out->drop.refresh || ab_requests_need_ids(r);
    return ab_requests_make_ids(r, hub, &out->ids);
}

/* Whether the project of an Application is its agent's. */
static ab_err judge_project(struct mirror *m, const ab_object *source)
{
    if (!m->kind->reports)
        return AB_ERR_OK;
    ab_buf name = ab_buf_up_to(4096);
    ab_mirror_project_name(source, m->agent, &name);
    ab_buf_putc(&name, '\0');
    char *project = ab_buf_take(&name);
    if (project == NULL)
        return AB_ERR_NOMEM;
    free(m->project);
    m->project = project;
    bool refused = ab_mirror_is_project_refused(m, ab_str_of(project));
    if (refused != m->project_refused)
        m->applied = m->applied_status = (ab_digest){0};
    m->project_refused = refused;
    return AB_ERR_OK;
}

static ab_err render_mirror(struct mirror *m, const ab_object *source, const ab_object *hub,
                            const struct demand *d, ab_buf *out)
{
    char stamp[AB_STAMP_TEXT];
    ab_err e = judge_project(m, source);
    if (e != AB_ERR_OK)
        return e;
    format_stamp(m, stamp);
    const ab_mirror_params how = {.agent = m->agent,
                                  .key = ab_str_of(m->key),
                                  .uid = m->uid == NULL ? AB_STR("") : ab_str_of(m->uid),
                                  .stamp = ab_str_of(stamp),
                                  .operation_id = ab_str_of(d->ids.operation),
                                  .refresh_id = ab_str_of(d->ids.refresh),
                                  .project_refused = m->project_refused,
                                  .drop_operation = d->drop.operation,
                                  .drop_refresh = d->drop.refresh};
    return ab_mirror_render(source, hub, &how, out);
}

static ab_err digest_text(const ab_buf *text, ab_digest *out)
{
    ab_object *object = NULL;
    ab_err e = ab_object_parse(ab_buf_str(text), &object, NULL);
    if (e == AB_ERR_OK)
        e = ab_mirror_digest(object, out);
    ab_object_unref(object);
    return e;
}

/* All but the status. @return true when a write is under way, or failed */
static bool place(struct mirror *m, const ab_object *source, const ab_object *hub)
{
    struct demand demand;
    ab_digest digest;
    ab_err e = demand_of(m, source, hub, &demand);
    if (e == AB_ERR_OK && !demand.due && ab_mirror_is_project_judged(m) &&
        ab_digest_eq(&m->applied, &m->hub) && !ab_digest_is_none(&m->hub))
        return false;
    bool refused = m->project_refused;
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    if (e == AB_ERR_OK)
        e = render_mirror(m, source, hub, &demand, &text);
    if (e == AB_ERR_OK)
        e = digest_text(&text, &digest);
    bool same = e == AB_ERR_OK && ab_digest_eq(&digest, &m->hub);
    if (same) {
        m->applied = m->hub;
    } else if (e != AB_ERR_OK) {
        ab_reconcile_fail(&m->record, e, NULL);
    } else {
        if (!demand.due && refused == m->project_refused && ab_names_itself(hub))
            ab_reconcile_note_revert(&m->record,
                                     "change to a mirror at the control plane reverted");
        ab_reconcile_apply_text(&m->record, &text, ab_object_version(hub));
    }
    ab_buf_fini(&text);
    return !same;
}

/* --- status --- */

static bool is_terminating(const ab_object *o)
{
    return ab_span_is(ab_span_path(ab_object_field(o, "status"), "operationState", "phase", NULL),
                      "Terminating");
}

/* The status here says what a user asks for; it must not be undone before the agent has heard. */
static bool must_stay(const struct mirror *m)
{
    const struct request *r = &m->requests.terminate;
    return r->asked && (strcmp(r->id, r->answered) != 0 ||
                        (!r->refused && ab_version_cmp(m->version, r->answered_at) <= 0));
}

/* What its status is to say beside what the source's says; NULL: nothing. */
static const char *error_of(const struct mirror *m)
{
    if (m->error != NULL || !m->project_refused)
        return m->error;
    return "the agent's project cannot be mirrored: its name at the control plane belongs to the "
           "control plane or to another agent; rename the project";
}

static ab_err status_text(const struct mirror *m, const ab_object *source, ab_buf *out)
{
    char time[AB_TIME_TEXT];
    ab_span *doc = NULL;
    const char *error = error_of(m);
    if (error == NULL)
        return ab_mirror_status(source, m->agent, out);
    ab_time_format_seconds(ab_clock_wall_us(m->principal->env.clock), time);
    ab_buf plain = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_err e = ab_mirror_status(source, m->agent, &plain);
    if (e == AB_ERR_OK)
        e = ab_span_parse(ab_buf_str(&plain), &doc, NULL);
    if (e == AB_ERR_OK)
        e = ab_app_status_with_error(ab_span_root(doc), ab_str_of(error), ab_str_of(time), out);
    ab_span_free(doc);
    ab_buf_fini(&plain);
    return e;
}

/* No status stands, and none is to stand. */
static bool is_bare(const ab_object *hub, const ab_buf *text)
{
    return ab_span_count(ab_object_field(hub, "status")) == 0 && ab_str_is(ab_buf_str(text), "{}");
}

static void write_status(struct mirror *m, const ab_buf *text, ab_str version)
{
    char stamp[AB_STAMP_TEXT];
    format_stamp(m, stamp);
    ab_reconcile_patch_status(&m->record, ab_buf_str(text), ab_str_of(stamp),
                              &(ab_precondition){.version = version});
}

/* @return true when a write is under way, or failed */
static bool state(struct mirror *m, const ab_object *source, const ab_object *hub)
{
    ab_digest digest;
    if (!m->kind->reports || must_stay(m) ||
        (!ab_digest_is_none(&m->applied_status) &&
         ab_digest_eq(&m->applied_status, &m->hub_status)))
        return false;
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_err e = status_text(m, source, &text);
    if (e == AB_ERR_OK)
        e = ab_span_digest_text(ab_buf_str(&text), &digest);
    bool same = e == AB_ERR_OK && (ab_digest_eq(&digest, &m->hub_status) || is_bare(hub, &text));
    if (same)
        m->applied_status = m->hub_status;
    else if (e == AB_ERR_OK)
        write_status(m, &text, ab_object_version(hub));
    else
        ab_reconcile_fail(&m->record, e, NULL);
    ab_buf_fini(&text);
    return !same;
}

/* --- deciding --- */

static void ask(struct mirror *m, const ab_object *source, const ab_object *hub)
{
    struct peer *peer = ab_mirror_peer(m);
    if (!m->kind->reports)
        return;
    ab_requests_note(&m->requests, hub);
    if (is_terminating(source))
        m->requests.terminate = (struct request){0}; /* it is the source's own word */
    if (peer != NULL && peer->mode == AB_AUTONOMOUS && ab_writer_is_ready(peer->writer))
        ab_requests_send(&m->requests, peer, ab_str_of(m->key), hub);
}

/* Whoever waits for the end of a request takes the status that stands then for its result. */
static bool ends_request(const struct mirror *m, const ab_object *source)
{
    struct finished ends = ab_requests_finished(&m->requests, m->version, ab_object_json(source));
    return ends.operation || ends.refresh;
}

static void decide_live(struct mirror *m, const ab_object *source, const ab_object *hub)
{
    bool ours = is_ours(m, hub) || was_source(m, source, hub);
    ab_mirror_set_conflict(m, !ours);
    if (!ours || is_behind(m, hub)) {
        m->up_to_date = true;
        if (was_made(m, hub)) /* by another principal, or a user has forged the stamp */
            ab_resync_queue_due(&ab_mirror_peer(m)->resync.turn,
                                "the mirror is newer than the last received state");
        return;
    }
    ask(m, source, hub);
    if (ends_request(m, source) && state(m, source, hub))
        return;
    if (!place(m, source, hub) && !state(m, source, hub))
        m->up_to_date = true;
}

static void decide_end(struct mirror *m, const ab_object *hub)
{
    bool named = ab_mirror_has_name(m);
    ab_mirror_set_conflict(m, m->source == MIRROR_LIVE && !named);
    if (!is_ours(m, hub) || (named && is_behind(m, hub))) {
        m->up_to_date = true;
    } else if (ab_span_count(ab_object_meta(hub, "finalizers")) > 0) {
        ab_reconcile_edit(&m->record, hub, &(ab_app_edit){.drop_finalizers = true});
    } else if (m->deleting) {
        m->up_to_date = true;
    } else {
        ab_reconcile_remove(&m->record,
                            &(ab_precondition){ab_object_uid(hub), ab_object_version(hub)}, false);
    }
}

void ab_mirror_release(struct mirror *m)
{
    m->record.purpose = FOR_RELEASE;
    ab_reconcile_save(&m->record, &(ab_received_state){.version = m->version,
                                                       .released = true,
                                                       .owner = ab_str_of(m->agent)});
}

/* First it is kept that this is not a mirror any more: else it would be made one again. */
static void hand_over(struct mirror *m, const ab_object *hub)
{
    const ab_app_edit edit = {.annotations = {{AB_ANN_SOURCE_UID, AB_STR_NONE},
                                              {AB_ANN_MIRROR, AB_STR_NONE},
                                              {AB_ANN_NAME, AB_STR_NONE},
                                              {AB_ANN_STATUS_VERSION, AB_STR_NONE}},
                              .annotation_count = 4};
    if (m->source != MIRROR_NONE) {
        ab_mirror_release(m);
        return;
    }
    log_object(m, "the agent is managed now: its mirror becomes an object of the control plane");
    ab_reconcile_edit(&m->record, hub, &edit);
}

void ab_mirror_decide(struct mirror *m, ab_object *hub)
{
    ab_object *source;
    if (!m->recalled && (ab_mirror_peer(m) != NULL || ab_mirror_is_handed_over(m))) {
        ab_reconcile_load(&m->record, hub);
        return;
    }
    if (ab_mirror_is_handed_over(m)) {
        hand_over(m, hub);
        return;
    }
    bool named = ab_mirror_has_name(m);
    if (ab_mirror_peer(m) == NULL || (named && m->source == MIRROR_NONE))
        return;
    if (!named || m->source == MIRROR_ENDED || (m->deleting && is_ours(m, hub))) {
        decide_end(m, hub);
    } else if (ab_reconcile_received(&m->record, hub, &source)) {
        decide_live(m, source, hub);
        ab_object_unref(source);
    }
}

void ab_mirror_create(struct mirror *m)
{
    ab_object *source;
    if (!ab_reconcile_received(&m->record, NULL, &source))
        return;
    ab_mirror_set_conflict(m, false);
    m->requests = (struct requests){0};
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_err e = render_mirror(m, source, NULL, &(struct demand){0}, &text);
    ab_object_unref(source);
    if (e == AB_ERR_OK) {
        ab_reconcile_note_revert(&m->record, "deletion of a mirror at the control plane reverted");
        ab_reconcile_apply_text(&m->record, &text, AB_STR_NONE);
    } else {
        ab_reconcile_fail(&m->record, e, NULL);
    }
    ab_buf_fini(&text);
}
