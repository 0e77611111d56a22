/* SPDX-License-Identifier: Apache-2.0
 *
 * Mirrors: what stands at the hub for the objects of autonomous agents. What was published is kept
 * durably before it is acted on; from it the mirror is made, changed, and brought back when
 * somebody else changes or deletes it.
 */
#include "sync/principal/principal_priv.h"

#include "schema/attributes.h"
#include "sync/object/mirror.h"

#include <stdio.h>
#include <stdlib.h>

#define RETRY_REFUSED_MS 300000

/* --- records --- */

static void leave_records(struct mirror *m)
{
    if (m->records == NULL)
        return;
    ab_agent_records_count(m->records, &m->unfinished, false);
    m->records->conflict_count -= m->conflict;
    ab_link_remove(&m->in_records);
    ab_agent_records_leave(m->records);
}

ab_err ab_mirror_enlist(struct mirror *m, ab_str agent)
{
    struct agent_records *r = ab_agent_records_use(m->principal, agent);
    if (r == NULL)
        return AB_ERR_NOMEM;
    leave_records(m);
    ab_list_append(&r->mirrors, &m->in_records);
    r->conflict_count += m->conflict;
    m->records = r;
    m->agent = r->name;
    return AB_ERR_OK;
}

void ab_mirror_free(void *value)
{
    struct mirror *m = value;
    leave_records(m);
    ab_link_remove(&m->in_tended);
    ab_inbox_fini(&m->inbox);
    ab_object_unref(m->after_load);
    free(m->next_uid);
    free(m->error);
    free(m->project);
    free(m->made);
    free(m->uid);
    free(m->key);
    free(m);
}

static void mirror_done(ab_principal_record *record, ab_err code, ab_object *object,
                        const ab_error *err);
static void row_done(ab_principal_record *record, ab_err code, const ab_received_state *row,
                     const ab_error *err);

struct mirror *ab_mirror_for(ab_principal *p, ab_str key, ab_str agent)
{
    ab_str kind, ns, name;
    struct mirror *m = ab_map_find(p->mirrors, key);
    if (m != NULL || ab_object_key_split(key, &kind, &ns, &name) != AB_ERR_OK)
        return m;
    m = calloc(1, sizeof(*m));
    if (m == NULL)
        return NULL;
    m->record.done = mirror_done;
    m->record.row_done = row_done;
    m->principal = p;
    m->kind = ab_kind_of(kind);
    m->key = ab_str_dup(key);
    ab_link_init(&m->in_records);
    ab_link_init(&m->in_tended);
    m->known = !p->listed; /* what is here will be seen with the rest */
    ab_inbox_init(&m->inbox);
    if (m->key == NULL || ab_mirror_enlist(m, agent) != AB_ERR_OK ||
        ab_map_put(p->mirrors, key, m, NULL) != AB_ERR_OK) {
        ab_mirror_free(m);
        return NULL;
    }
    return m;
}

static ab_err take_text(char **to, ab_str text)
{
    if (text.len == 0)
        return AB_ERR_OK;
    *to = ab_str_dup(text);
    return *to == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
}

ab_err ab_principal_restore(ab_principal *p, ab_str key, const ab_received_state *received)
{
    ab_str kind, ns, name;
    const ab_kind *row =
        ab_object_key_split(key, &kind, &ns, &name) == AB_ERR_OK ? ab_kind_of(kind) : NULL;
    if (row == NULL || !ab_mirror_is_for(row->target) || received->owner.len == 0)
        return AB_ERR_OK; /* kept by another version */
    struct mirror *m = ab_mirror_for(p, key, received->owner);
    if (m == NULL)
        return AB_ERR_NOMEM;
    m->version = received->version;
    m->hash = received->hash;
    if (!received->released)
        m->source = received->ended ? MIRROR_ENDED : MIRROR_LIVE;
    ab_err e = take_text(&m->uid, received->uid);
    return e == AB_ERR_OK ? take_text(&m->made, received->owned) : e;
}

struct peer *ab_mirror_peer(const struct mirror *m)
{
    struct peer *peer = m->records->peer;
    return peer == NULL || peer->mode == AB_MANAGED ? NULL : peer;
}

static bool is_of_managed(const struct mirror *m)
{
    const struct peer *peer = m->records->peer;
    return peer != NULL && peer->mode == AB_MANAGED;
}

bool ab_mirror_is_handed_over(const struct mirror *m)
{
    return is_of_managed(m) && m->exists && m->is_mirror && !m->deleting;
}

bool ab_mirror_exists(const ab_principal *p, ab_str key)
{
    const struct mirror *m = ab_map_find(p->mirrors, key);
    return m != NULL && m->exists && m->is_mirror;
}

bool ab_mirror_is_done(const struct mirror *m)
{
    const ab_task *head = m->inbox.head;
    return head == NULL || (head->begun && head->next == NULL && m->step != MSTEP_SAVE);
}

bool ab_mirror_held(const struct mirror *m, ab_version *version, ab_digest *hash)
{
    bool exists = m->exists && m->is_mirror;
    bool behind = exists && ab_version_cmp(m->stamp, m->version) > 0;
    if (m->source != MIRROR_LIVE && !behind && !(exists && m->source == MIRROR_NONE))
        return false;
    *version = behind ? m->stamp : m->version;
    *hash = behind || m->source != MIRROR_LIVE ? (ab_digest){0} : m->hash;
    return true;
}

/* --- waiting and failing --- */

static int64_t now_ms(const struct mirror *m)
{
    return ab_clock_mono_ms(m->principal->env.clock);
}

/* Count it as what it is now, and have the tick look at it if need be. */
static void tend(struct mirror *m)
{
    ab_agent_records_count(m->records, &m->unfinished, !ab_mirror_is_done(m));
    if (m->inbox.retry_at != 0)
        ab_list_append(&m->principal->tended_mirrors, &m->in_tended);
}

void ab_mirror_finish_head(struct mirror *m)
{
    void *delivery = ab_inbox_pop(&m->inbox);
    if (delivery != NULL)
        ab_principal_ack(m->principal, delivery);
    tend(m);
}

/* The head no longer holds the offset; a state that is kept goes on being tried. */
static void defer(struct mirror *m, const char *why)
{
    AB_WARN(m->principal->env.log, SYNC,
            "write deferred: the object cannot be written at the moment", AB_KV("agent", m->agent),
            AB_KV("object", m->key), AB_KV("why", why));
    if (m->inbox.head == NULL || m->inbox.head->delivery == NULL)
        return;
    ab_metric_add(m->principal->metrics.deferred, 1);
    ab_principal_ack(m->principal, m->inbox.head->delivery);
    m->inbox.head->delivery = NULL;
}

void ab_mirror_fail(struct mirror *m, ab_err code, const ab_error *err)
{
    const char *why = err == NULL || err->text[0] == '\0' ? ab_err_text(code) : err->text;
    switch (ab_err_class_of(code)) {
    case AB_CLASS_PERMANENT:
        defer(m, why);
        ab_inbox_retry_after(&m->inbox, now_ms(m), RETRY_REFUSED_MS);
        return;
    case AB_CLASS_NONE:
    case AB_CLASS_STALE: /* what changes whenever we write holds nothing back for ever, too */
    case AB_CLASS_TRANSIENT:
    case AB_CLASS_FATAL:
        break;
    }
    ab_inbox_back_off(&m->inbox, now_ms(m));
    if (ab_inbox_failing_ms(&m->inbox, now_ms(m)) >= m->principal->env.defer_after_ms)
        defer(m, why);
}

/* --- steps --- */

static bool is_up_to_date(const struct mirror *m)
{
    if (ab_mirror_is_handed_over(m))
        return false;
    if (ab_mirror_peer(m) == NULL)
        return true;
    if (!ab_mirror_has_name(m))
        return m->known && (!m->exists || m->up_to_date);
    if (m->source == MIRROR_NONE)
        return true;
    if (m->source == MIRROR_ENDED)
        return m->known && (!m->exists || m->up_to_date);
    return m->exists && m->up_to_date;
}

static void reconcile(struct mirror *m)
{
    const ab_effects *fx = &m->principal->env.effects;
    m->changed_meanwhile = false;
    if (!m->exists && m->known) {
        ab_mirror_create(m);
        return;
    }
    m->step = MSTEP_GET;
    fx->get(fx->arg, ab_str_of(m->key), &m->record);
}

static bool may_advance(const struct mirror *m)
{
    return m->step == MSTEP_IDLE && m->inbox.retry_at <= now_ms(m) && m->principal->listed;
}

/* One round; true when another may follow at once. */
static bool advance_once(struct mirror *m)
{
    const ab_task *t = m->inbox.head;
    if (!may_advance(m))
        return false;
    if (ab_inbox_head_superseded(&m->inbox)) {
        ab_mirror_finish_head(m);
        return true;
    }
    if (t != NULL && ab_mirror_peer(m) == NULL) { /* said in another mode, or served no more */
        ab_mirror_finish_head(m);
        return true;
    }
    if (t != NULL && !t->begun) {
        ab_mirror_begin(m);
        return may_advance(m);
    }
    if (!is_up_to_date(m)) {
        reconcile(m);
        return m->step == MSTEP_IDLE && is_up_to_date(m);
    }
    if (t == NULL)
        return false;
    ab_inbox_succeeded(&m->inbox);
    ab_mirror_finish_head(m);
    return true;
}

void ab_mirror_advance(struct mirror *m)
{
    while (advance_once(m))
        ;
    if (m->step == MSTEP_IDLE && m->inbox.head == NULL && is_up_to_date(m))
        m->inbox.failing_since = 0; /* nothing is tried */
    tend(m);
}

/* --- facts --- */

void ab_mirror_note(struct mirror *m, const ab_object *hub)
{
    ab_digest digest, status;
    bool readable = ab_mirror_digest(hub, &digest) == AB_ERR_OK &&
                    ab_span_digest(ab_object_field(hub, "status"), &status) == AB_ERR_OK;
    bool same = readable && m->exists && ab_digest_eq(&digest, &m->hub) &&
                ab_digest_eq(&status, &m->hub_status) && m->deleting == ab_object_deleting(hub);
    if (!same)
        m->up_to_date = false;
    m->known = m->exists = true;
    m->is_mirror = ab_str_is(ab_mirror_owner(hub), m->agent);
    m->deleting = ab_object_deleting(hub);
    m->stamp = ab_mirror_stamp(m, hub);
    m->hub = readable ? digest : (ab_digest){0};
    m->hub_status = readable ? status : (ab_digest){0};
}

/* A change that is told late may show a request that is over: what is asked for is read. */
static bool asks(const ab_object *hub)
{
    struct requests r = {0};
    ab_requests_note(&r, hub);
    return r.operation.asked || r.refresh.asked || r.terminate.asked;
}

/* A mirror of which nothing is known may be one to hand over. */
static struct mirror *updated_mirror(ab_principal *p, const ab_object *object)
{
    ab_str key = ab_str_of(ab_object_key(object));
    ab_str owner = ab_mirror_owner(object);
    struct mirror *m = ab_map_find(p->mirrors, key);
    return m != NULL || owner.len == 0 ? m : ab_mirror_for(p, key, owner);
}

void ab_mirror_on_updated(ab_principal *p, ab_object *object)
{
    struct mirror *m = updated_mirror(p, object);
    ab_mirror_note_own_project(p, object, true);
    if (m == NULL)
        return;
    m->changed_meanwhile = true;
    ab_mirror_note(m, object);
    bool idle = m->inbox.head == NULL && may_advance(m);
    if (idle && !is_up_to_date(m) && !asks(object))
        ab_mirror_decide(m, object);
    ab_mirror_advance(m);
}

/* No object exists here. What was to become the hub's own, and counted as that already, is missed
 * as such. */
static void note_absent(struct mirror *m, bool observed)
{
    bool was_own = is_of_managed(m) && m->exists && m->is_mirror;
    m->exists = m->deleting = m->up_to_date = m->is_mirror = false;
    ab_mirror_set_conflict(m, m->source == MIRROR_LIVE && !ab_mirror_has_name(m));
    ab_mirror_project_changed(m->principal, ab_str_of(m->key));
    if (was_own)
        ab_principal_note_missing(m->principal, ab_str_of(m->key), observed);
}

void ab_mirror_on_deleted(ab_principal *p, const ab_object *object, bool observed)
{
    struct mirror *m = ab_map_find(p->mirrors, ab_str_of(ab_object_key(object)));
    ab_mirror_note_own_project(p, object, false);
    if (m == NULL)
        return;
    m->changed_meanwhile = true;
    note_absent(m, observed);
    m->requests = (struct requests){0};
    m->inbox.retry_at = 0;
    ab_mirror_advance(m);
}

static void requeue(struct mirror *m)
{
    const struct requests *r = &m->requests;
    if (r->operation.asked || r->refresh.asked || r->terminate.asked)
        m->up_to_date = false;
    ab_mirror_advance(m);
}

void ab_mirror_requeue_agent(const struct agent_records *r)
{
    for (ab_list_iter i = ab_list_first(&r->mirrors); i.link != NULL; ab_list_next(&i))
        requeue(AB_LINK_OF(i.link, struct mirror, in_records));
}

void ab_mirror_requeue_all(ab_principal *p)
{
    for (ab_map_iter i = ab_map_first(p->mirrors); i.entry != NULL; ab_map_next(&i))
        requeue(i.value);
}

static void tick(struct mirror *m)
{
    if (m->inbox.retry_at != 0 && m->inbox.retry_at <= now_ms(m)) {
        m->inbox.retry_at = 0;
        ab_mirror_advance(m);
    }
    tend(m);
}

void ab_mirror_tick(ab_principal *p)
{
    ab_link due;
    ab_link_init(&due);
    ab_list_move_all(&p->tended_mirrors, &due);
    for (ab_link *l = ab_list_pop(&due); l != NULL; l = ab_list_pop(&due))
        tick(AB_LINK_OF(l, struct mirror, in_tended));
}

/* --- answers --- */

static void got(struct mirror *m, ab_err code, ab_object *hub, const ab_error *err)
{
    if (m->changed_meanwhile && (code == AB_ERR_OK || code == AB_ERR_NOTFOUND))
        return; /* which of the two is newer is not known: it is read again if need be */
    if (code == AB_ERR_NOTFOUND) {
        note_absent(m, false);
        m->known = true;
        return;
    }
    if (code != AB_ERR_OK) {
        ab_mirror_fail(m, code, err);
        return;
    }
    ab_mirror_note(m, hub);
    if (!is_up_to_date(m))
        ab_mirror_decide(m, hub);
}

static ab_err learn_made(struct mirror *m, const ab_object *hub)
{
    if (m->made != NULL && ab_str_is(ab_object_uid(hub), m->made))
        return AB_ERR_OK;
    char *uid = ab_str_dup(ab_object_uid(hub));
    if (uid == NULL)
        return AB_ERR_NOMEM;
    free(m->made);
    m->made = uid;
    return AB_ERR_OK;
}

/* What was written now stands as the store has made it. */
static void written(struct mirror *m, enum mirror_step step, ab_object *hub)
{
    ab_digest digest = {0};
    ab_err e = m->source == MIRROR_NONE ? AB_ERR_OK : learn_made(m, hub);
    if (e == AB_ERR_OK)
        e = step == MSTEP_APPLY ? ab_mirror_digest(hub, &digest)
                                : ab_span_digest(ab_object_field(hub, "status"), &digest);
    if (e != AB_ERR_OK) {
        ab_mirror_fail(m, e, NULL);
        return;
    }
    ab_inbox_succeeded(&m->inbox);
    *(step == MSTEP_APPLY ? &m->applied : &m->applied_status) = digest;
    if (m->changed_meanwhile)
        return; /* what was seen may be newer than what we wrote */
    ab_mirror_note(m, hub);
    ab_mirror_decide(m, hub);
}

/* The store knows another truth than we: it will tell, or is asked. */
static bool is_outdated(const struct mirror *m, ab_err code)
{
    return code == AB_ERR_EXISTS || (code == AB_ERR_NOTFOUND && m->exists);
}

static void wrote(struct mirror *m, enum mirror_step step, ab_err code, ab_object *hub,
                  const ab_error *err)
{
    if (is_outdated(m, code)) {
        if (!m->changed_meanwhile)
            m->exists = code == AB_ERR_EXISTS;
        m->up_to_date = false;
    }
    if (code != AB_ERR_OK) {
        ab_mirror_fail(m, code, err);
    } else if (hub != NULL) { /* else its last finalizer went, and it is gone */
        written(m, step, hub);
    }
}

static void removed(struct mirror *m, ab_err code, const ab_error *err)
{
    if (code != AB_ERR_OK && code != AB_ERR_NOTFOUND) {
        ab_mirror_fail(m, code, err);
        return;
    }
    ab_inbox_succeeded(&m->inbox);
    if (!m->changed_meanwhile)
        m->up_to_date = true; /* deleted or being deleted: the store's change says which */
}

static void released(struct mirror *m, ab_err code, const ab_error *err)
{
    if (code != AB_ERR_OK) {
        ab_mirror_fail(m, code, err);
        return;
    }
    m->source = MIRROR_NONE;
    free(m->made);
    m->made = NULL;
}

static void mirror_done(ab_principal_record *record, ab_err code, ab_object *object,
                        const ab_error *err)
{
    struct mirror *m = (struct mirror *)record;
    enum mirror_step step = m->step;
    m->step = MSTEP_IDLE;
    switch (step) {
    case MSTEP_IDLE:
    case MSTEP_LOAD: /* by ab_principal_row_done */
        break;
    case MSTEP_SAVE:
        ab_mirror_saved(m, code, err);
        break;
    case MSTEP_GET:
        got(m, code, object, err);
        break;
    case MSTEP_APPLY:
    case MSTEP_STATUS:
        wrote(m, step, code, object, err);
        break;
    case MSTEP_REMOVE:
        removed(m, code, err);
        break;
    case MSTEP_RELEASE:
        released(m, code, err);
        break;
    }
    ab_mirror_advance(m);
}

static void recalled(struct mirror *m, ab_err code, const ab_error *err)
{
    ab_object *hub = m->after_load;
    m->after_load = NULL;
    if (code != AB_ERR_OK) {
        ab_error why = err == NULL ? (ab_error){.code = code} : *err;
        ab_error_prefix(&why, "last received state");
        ab_mirror_fail(m, code, &why);
    } else if (hub != NULL && !m->changed_meanwhile && !is_up_to_date(m)) {
        ab_mirror_decide(m, hub);
    }
    ab_object_unref(hub);
}

static void row_done(ab_principal_record *record, ab_err code, const ab_received_state *row,
                     const ab_error *err)
{
    struct mirror *m = (struct mirror *)record;
    m->row = row;
    if (m->step == MSTEP_LOAD) {
        m->step = MSTEP_IDLE;
        recalled(m, code, err);
        ab_mirror_advance(m);
    } else {
        mirror_done(record, code, NULL, err);
    }
    m->row = NULL;
}
