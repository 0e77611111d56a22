/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's half of a resync (docs/protocol.md): it tells the principal which desired states it
 * holds, and corrects what the principal holds of its reports. Of a managed agent nothing is ended
 * at the hub; of an autonomous one see mirrors.c.
 */
#include "sync/agent/agent_priv.h"

#include "schema/attributes.h"

#include <stdio.h>
#include <string.h>

#define ERROR_KEY_MAX (sizeof(AB_KEY_ERROR_REMAPPED) + AB_OBJECT_KEY_MAX)

bool ab_agent_is_control(const ab_event *event)
{
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    return ab_str_is(key, AB_KEY_RESYNC) || ab_str_starts(key, AB_KEY_INVENTORY);
}

void ab_agent_resync_stop(ab_agent *a)
{
    ab_resync_session_free(a->resync.session);
    ab_resync_free(a->resync.begin);
    a->resync.session = NULL;
    a->resync.begin = NULL;
}

static void send(ab_agent *a, const ab_resync *r)
{
    ab_err e = ab_resync_send(a->writer, r, NULL);
    if (e != AB_ERR_OK)
        AB_ERROR(a->env.log, SYNC, "cannot send a resync step", AB_KV("why", ab_err_text(e)));
    ab_agent_wake(a);
}

/* --- asking for one --- */

static void ask(ab_agent *a)
{
    char id[37];
    if (ab_uuid(id) != AB_ERR_OK)
        return;
    send(a,
         &(ab_resync){.step = AB_RESYNC_ASK, .id = ab_str_of(id), .why = ab_str_of(a->resync.why)});
    a->resync.why = NULL;
}

void ab_agent_report_held(ab_agent *a)
{
    if (a->sweep.guard.held == a->resync.held_sent)
        return;
    a->resync.held_sent = a->sweep.guard.held;
    ab_agent_resync(a, "other deletions are held");
}

void ab_agent_resync(ab_agent *a, const char *why)
{
    a->resync.why = why;
    ab_agent_resync_go(a);
}

/* --- what we hold --- */

/* The key at the hub of an object of which nothing is kept. @return false when it can have none */
static bool guess_hub_key(const ab_agent_object *o, char out[AB_OBJECT_KEY_MAX])
{
    const ab_agent *a = o->agent;
    ab_str kind, ns, name;
    if (ab_object_key_split(ab_str_of(o->key), &kind, &ns, &name) != AB_ERR_OK)
        return false;
    if (o->kind->shared || (a->env.policy.by_destination && o->remapped))
        ns = ab_str_of(a->resync.namespace);
    else if (!a->env.policy.by_destination)
        ns = ab_str_of(a->env.policy.name);
    int n = snprintf(out, AB_OBJECT_KEY_MAX, "%s/%.*s/%.*s", o->kind->kind, AB_STR_ARG(ns),
                     AB_STR_ARG(name));
    return n > 0 && n < AB_OBJECT_KEY_MAX;
}

static ab_err hold(const ab_agent_object *o, ab_inventory *inv)
{
    char guess[AB_OBJECT_KEY_MAX];
    ab_inventory_entry entry = {.version = o->version, .hash = o->hash};
    if (ab_agent_is_autonomous(o->agent) ||
        !ab_digest_eq(&o->principal, &o->agent->resync.principal))
        return AB_ERR_OK;
    if (ab_agent_has_source(o) && o->hub_key != NULL) {
        entry.key = ab_str_of(o->hub_key);
        return ab_inventory_add(inv, &entry);
    }
    if (o->source != SOURCE_NONE || !o->exists || o->deleting || !guess_hub_key(o, guess))
        return AB_ERR_OK;
    entry = (ab_inventory_entry){.key = ab_str_of(guess)};
    return ab_inventory_add(inv, &entry);
}

struct answers {
    const ab_agent *agent;
    ab_inventory *inv;
    ab_err status;
};

/* Answers stand until the principal has ended their commands: it may not know of them any more. */
static void hold_answer(void *arg, ab_str key)
{
    struct answers *s = arg;
    char command[sizeof(AB_KEY_COMMAND) + AB_EVENT_ATTR_NAME_MAX];
    snprintf(command, sizeof(command), AB_KEY_COMMAND "%.*s", (int)(key.len - strlen(AB_KEY_ACK)),
             key.ptr + strlen(AB_KEY_ACK));
    /* One that is still to be sent is ended when it has come. */
    bool waits = ab_outbox_lane_of(ab_writer_outbox(s->agent->writer), key).ptr != NULL;
    if (s->status == AB_ERR_OK && !waits)
        s->status = ab_inventory_add(s->inv, &(ab_inventory_entry){.key = ab_str_of(command)});
}

static ab_err hold_answers(const ab_agent *a, ab_inventory *inv)
{
    struct answers s = {.agent = a, .inv = inv};
    ab_writer_each(a->writer, AB_KEY_ACK, hold_answer, &s);
    return s.status;
}

/* --- what the principal is to hold --- */

static void error_key(const ab_agent_object *o, char out[ERROR_KEY_MAX])
{
    snprintf(out, ERROR_KEY_MAX, "%s%s", o->remapped ? AB_KEY_ERROR_REMAPPED : AB_KEY_ERROR,
             o->key);
}

static bool has_report(const ab_agent_object *o)
{
    if (ab_agent_publishes(o))
        return o->exists && !o->was_managed && !o->excluded;
    return ab_agent_reports(o) && ab_agent_has_source(o) && o->exists && !o->report_empty;
}

static ab_err queued_report(const ab_agent_object *o, ab_inventory *inv)
{
    ab_inventory_entry entry = {.key = ab_str_of(o->hub_key)};
    if (!has_report(o) || !ab_writer_find(o->agent->writer, ab_str_of(o->key), &entry.hash))
        return AB_ERR_OK;
    return ab_inventory_add(inv, &entry);
}

static ab_err queued_error(const ab_agent_object *o, ab_inventory *inv)
{
    char ours[ERROR_KEY_MAX], hubs[ERROR_KEY_MAX];
    error_key(o, ours);
    snprintf(hubs, sizeof(hubs), AB_KEY_ERROR "%s", o->hub_key);
    ab_inventory_entry entry = {.key = ab_str_of(hubs)};
    if (o->error == NULL || !ab_writer_find(o->agent->writer, ab_str_of(ours), &entry.hash))
        return AB_ERR_OK;
    return ab_inventory_add(inv, &entry);
}

static ab_err expected(const ab_agent_object *o, ab_inventory *inv)
{
    if (o->hub_key == NULL)
        return AB_ERR_OK;
    ab_err e = queued_report(o, inv);
    return e == AB_ERR_OK ? queued_error(o, inv) : e;
}

/* --- answering --- */

static ab_err collect(const ab_agent *a, ab_err (*add)(const ab_agent_object *o, ab_inventory *inv),
                      ab_inventory **out)
{
    ab_inventory *inv = ab_inventory_new();
    ab_err e = inv == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
    for (ab_map_iter i = ab_map_first(a->objects); i.entry != NULL && e == AB_ERR_OK;
         ab_map_next(&i))
        e = add(i.value, inv);
    if (e == AB_ERR_OK)
        *out = inv;
    else
        ab_inventory_free(inv);
    return e;
}

static ab_err open_session(ab_agent *a, const ab_resync *begin)
{
    ab_inventory *mine = NULL, *theirs = NULL;
    ab_err e = collect(a, hold, &mine);
    if (e == AB_ERR_OK)
        e = hold_answers(a, mine);
    if (e == AB_ERR_OK)
        e = ab_inventory_divide(mine, 0);
    if (e != AB_ERR_OK) {
        ab_inventory_free(mine);
        return e;
    }
    a->resync.session = ab_resync_session_new(begin->id, mine);
    if (a->resync.session == NULL)
        return AB_ERR_NOMEM;
    e = collect(a, expected, &theirs);
    if (e == AB_ERR_OK)
        e = ab_resync_session_compare(a->resync.session, &begin->summary, theirs);
    ab_inventory_free(theirs);
    return e;
}

static ab_err answer(ab_agent *a, const ab_resync *begin)
{
    ab_resync r = {.step = AB_RESYNC_ANSWER, .id = begin->id};
    ab_resync_end_pages(a->writer);
    a->resync.raised = ab_writer_exceed(a->writer, begin->summary.newest);
    a->resync.confirmed = begin->confirm;
    a->resync.since = ab_writer_newest(a->writer);
    a->resync.held_sent = r.held = a->sweep.guard.held;
    a->resync.why = NULL; /* it says all that one was to be asked for */
    ab_err e = ab_agent_name_mirrors(a);
    if (e == AB_ERR_OK)
        e = open_session(a, begin);
    if (e == AB_ERR_OK)
        e = ab_resync_session_summary(a->resync.session, &r.summary);
    if (e != AB_ERR_OK)
        return e;
    if (ab_version_cmp(a->resync.executed, r.summary.newest) > 0)
        r.summary.newest = a->resync.executed;
    r.want = ab_resync_session_want(a->resync.session);
    send(a, &r);
    if (ab_agent_is_autonomous(a) && ab_resync_session_is_complete(a->resync.session))
        ab_agent_suppose_mirrors(a);
    return AB_ERR_OK;
}

static void drop_session(ab_agent *a)
{
    ab_resync_session_free(a->resync.session);
    a->resync.session = NULL;
}

void ab_agent_resync_go(ab_agent *a)
{
    if (!ab_writer_is_ready(a->writer) || !a->listed)
        return;
    if (a->resync.why != NULL && a->resync.begin == NULL && a->resync.session == NULL)
        ask(a); /* not while one is under way: the next step of that would take its place */
    if (a->resync.begin == NULL || a->unsaved > 0)
        return; /* what is about to be kept would look as if it were missing */
    ab_resync *begin = a->resync.begin;
    a->resync.begin = NULL;
    drop_session(a);
    ab_err e = answer(a, begin);
    if (e != AB_ERR_OK) {
        AB_ERROR(a->env.log, SYNC, "cannot take part in a resync", AB_KV("why", ab_err_text(e)));
        drop_session(a);
    }
    ab_resync_free(begin);
}

static bool note_begin(ab_agent *a, const ab_event *event, const ab_resync *begin)
{
    ab_str uid = ab_event_attr(event, AB_CE_PRINCIPALUID);
    if (uid.len == 0 || ab_digest_of(uid, &a->resync.principal) != AB_ERR_OK)
        return false;
    snprintf(a->resync.namespace, sizeof(a->resync.namespace), "%.*s",
             AB_STR_ARG(begin->namespace));
    return true;
}

/* --- corrections --- */

/* Does the principal have something else under `key` than what we say it has, or something that it
 * cannot name? */
static bool is_otherwise(const ab_agent *a, ab_str key, const ab_digest *ours)
{
    const ab_resync_session *s = a->resync.session;
    const ab_inventory_entry *theirs = ab_resync_session_find(s, key);
    return ab_resync_session_covers(s, key) &&
           (theirs == NULL || ab_digest_is_none(&theirs->hash) ||
            !ab_digest_eq(&theirs->hash, ours));
}

static bool is_up_to_date(const ab_agent_object *o, const char *key)
{
    const ab_writer *w = o->agent->writer;
    return !o->agent->resync.raised &&
           (ab_writer_queued_since(w, ab_str_of(key), o->agent->resync.since) ||
            ab_outbox_has(ab_writer_outbox(o->agent->writer), ab_str_of(o->key)));
}

/* The principal shows a status, and the object, made again perhaps, has none. */
static bool is_status_gone(const ab_agent_object *o)
{
    return ab_agent_reports(o) && ab_agent_has_source(o) && o->exists && o->report_empty &&
           ab_resync_session_find(o->agent->resync.session, ab_str_of(o->hub_key)) != NULL;
}

static void correct_report(ab_agent_object *o)
{
    ab_digest ours = {{0}};
    if ((!has_report(o) && !is_status_gone(o)) || is_up_to_date(o, o->key))
        return;
    (void)ab_writer_find(o->agent->writer, ab_str_of(o->key), &ours);
    if (!is_otherwise(o->agent, ab_str_of(o->hub_key), &ours))
        return;
    ab_agent_report_again(o);
}

static void correct_error(ab_agent_object *o)
{
    char ours[ERROR_KEY_MAX], hubs[ERROR_KEY_MAX];
    ab_digest digest = {{0}};
    error_key(o, ours);
    snprintf(hubs, sizeof(hubs), AB_KEY_ERROR "%s", o->hub_key);
    if (o->error == NULL || is_up_to_date(o, ours))
        return;
    (void)ab_writer_find(o->agent->writer, ab_str_of(ours), &digest);
    if (!is_otherwise(o->agent, ab_str_of(hubs), &digest))
        return;
    ab_writer_repeat(o->agent->writer, ab_str_of(ours));
    ab_agent_repeat_error(o);
}

/* The principal has an error that does not stand any more. */
static void correct_stale(ab_agent_object *o)
{
    char hubs[ERROR_KEY_MAX];
    snprintf(hubs, sizeof(hubs), AB_KEY_ERROR "%s", o->hub_key);
    if (o->error == NULL && ab_agent_is_up_to_date(o) &&
        ab_resync_session_find(o->agent->resync.session, ab_str_of(hubs)) != NULL)
        ab_agent_end_error(o);
}

static void correct_all(ab_agent *a)
{
    for (ab_map_iter i = ab_map_first(a->objects); i.entry != NULL; ab_map_next(&i)) {
        ab_agent_object *o = i.value;
        if (o->hub_key == NULL)
            continue;
        correct_report(o);
        correct_error(o);
        correct_stale(o);
        ab_reconcile_advance(&o->record);
    }
    if (ab_agent_is_autonomous(a))
        ab_agent_suppose_mirrors(a);
}

static void take_page(ab_agent *a, const ab_event *event)
{
    ab_error err = {0};
    ab_resync_page *page = NULL;
    const char *why = NULL;
    if (ab_resync_page_decode(ab_event_data(event), &page, &err) != AB_ERR_OK)
        why = err.text;
    else if (a->resync.session == NULL)
        why = "belongs to no running resync";
    else
        why = ab_resync_session_take(a->resync.session, page);
    if (why != NULL)
        AB_DEBUG(a->env.log, SYNC, "resync page skipped", AB_KV("why", why));
    ab_resync_page_free(page);
    if (why != NULL || !ab_resync_session_is_complete(a->resync.session))
        return;
    correct_all(a);
    send(a, &(ab_resync){.step = AB_RESYNC_TAKEN,
                         .id = ab_str_of(ab_resync_session_id(a->resync.session))});
}

/* --- steps --- */

static void give_pages(ab_agent *a, const ab_resync *r)
{
    ab_err e = ab_resync_send_pages(a->writer, a->resync.session, &r->want);
    if (e != AB_ERR_OK)
        AB_ERROR(a->env.log, SYNC, "cannot send resync pages", AB_KV("why", ab_err_text(e)));
    ab_agent_wake(a);
}

static void end(ab_agent *a)
{
    AB_INFO(a->env.log, SYNC, "up to date with the principal",
            AB_KV("resync", ab_resync_session_id(a->resync.session)));
    ab_resync_end_pages(a->writer);
    ab_agent_wake(a);
    drop_session(a);
    ab_agent_resync_go(a);
}

static void take_step(ab_agent *a, const ab_event *event)
{
    ab_error err = {0};
    ab_resync *r = NULL;
    if (ab_resync_decode(ab_event_data(event), &r, &err) != AB_ERR_OK) {
        ab_agent_note_refused(a, event, "payload", err.text);
        return;
    }
    if (r->step == AB_RESYNC_BEGIN && note_begin(a, event, r)) {
        ab_resync_free(a->resync.begin);
        a->resync.begin = r;
        ab_agent_resync_go(a);
        return;
    }
    bool ours = a->resync.session != NULL && ab_writer_is_ready(a->writer) &&
                ab_str_is(r->id, ab_resync_session_id(a->resync.session));
    if (ours && r->step == AB_RESYNC_WANT)
        give_pages(a, r);
    else if (ours && r->step == AB_RESYNC_END)
        end(a);
    ab_resync_free(r);
}

void ab_agent_control(ab_agent *a, const ab_event *event)
{
    if (ab_event_data(event).ptr == NULL)
        return;
    if (ab_str_is(ab_event_attr(event, AB_CE_PARTITIONKEY), AB_KEY_RESYNC))
        take_step(a, event);
    else if (ab_writer_is_ready(a->writer))
        take_page(a, event);
}
