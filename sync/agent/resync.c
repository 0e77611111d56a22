/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's role in a resync (sync/resync/resync.h): it holds desired states of the principal's,
 * and corrects what the principal holds of its reports. Of a managed agent nothing is ended at the
 * hub. What the principal holds of an autonomous one are its own objects, mirrored: what the
 * principal has and the agent has not is ended as if its log said it, when it is proved.
 */
#include "sync/agent/agent_priv.h"

#include "schema/attributes.h"
#include "sync/object/mirror.h"

#include <stdio.h>
#include <string.h>

void ab_agent_resync_report_held(ab_agent *a)
{
    if (ab_missing_is_same(&a->sweep.held, &a->resync.held_sent))
        return;
    a->resync.held_sent = a->sweep.held;
    ab_resync_ask(&a->resync.engine, "other deletions are held");
}

/* --- what we hold --- */

/* The key at the hub of the mirror of the object that is `key` here. @return false: it has none */
static bool mirror_key(const ab_agent *a, ab_str key, char out[AB_OBJECT_KEY_MAX])
{
    ab_str kind, ns, name;
    return ab_object_key_split(key, &kind, &ns, &name) == AB_ERR_OK && ab_kind_of(kind) != NULL &&
           ab_mirror_key(ab_kind_of(kind), a->env.policy.name, name, a->resync.namespace, out) ==
               AB_ERR_OK;
}

static ab_err name_mirror(ab_agent_object *o)
{
    char key[AB_OBJECT_KEY_MAX];
    if (!mirror_key(o->agent, ab_str_of(o->key), key) ||
        (o->hub_key != NULL && ab_str_is(ab_str_of(key), o->hub_key)))
        return AB_ERR_OK;
    return ab_str_replace(&o->hub_key, ab_str_of(key));
}

/* Autonomous: know under which key the hub has each object that is published. */
static ab_err name_mirrors(const ab_agent *a)
{
    ab_err e = AB_ERR_OK;
    for (ab_map_iter i = ab_map_first(a->objects); i.entry != NULL && e == AB_ERR_OK;
         ab_map_next(&i))
        if (ab_agent_publishes(i.value))
            e = name_mirror(i.value);
    return e;
}

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

/* The version of the former one proves nothing about what is here. */
static ab_version version_held(const ab_agent_object *o)
{
    return o->outdated ? (ab_version){0} : o->version;
}

static void hold_object(const ab_agent_object *o, ab_inventory *inv)
{
    char guess[AB_OBJECT_KEY_MAX];
    ab_inventory_note_version(inv, o->version); /* nothing older takes effect, whoever sends it */
    if (!ab_digest_eq(&o->principal, &o->agent->resync.principal))
        return;
    if ((ab_agent_has_source(o) || o->outdated) && o->hub_key != NULL)
        ab_inventory_add(inv, &(ab_inventory_entry){.key = ab_str_of(o->hub_key),
                                                    .version = version_held(o),
                                                    .hash = o->hash});
    else if (o->recalled && o->source == SOURCE_NONE && o->exists && !o->deleting &&
             !o->was_managed && guess_hub_key(o, guess))
        ab_inventory_add(inv, &(ab_inventory_entry){.key = ab_str_of(guess)});
}

struct answers {
    const ab_agent *agent;
    ab_inventory *inv;
};

/* Answers stand until the principal has ended their commands: it may not know of them any more. */
static void hold_answer(void *arg, ab_str key)
{
    const struct answers *s = arg;
    char command[sizeof(AB_KEY_COMMAND) + AB_EVENT_ATTR_NAME_MAX];
    snprintf(command, sizeof(command), AB_KEY_COMMAND "%.*s", (int)(key.len - strlen(AB_KEY_ACK)),
             key.ptr + strlen(AB_KEY_ACK));
    /* One that is still to be sent is ended when it has come. */
    if (ab_outbox_lane_of(ab_writer_outbox(s->agent->writer), key).ptr == NULL)
        ab_inventory_add(s->inv, &(ab_inventory_entry){.key = ab_str_of(command)});
}

static ab_err hold(void *arg, ab_inventory *inv)
{
    ab_agent *a = arg;
    ab_err e = name_mirrors(a);
    if (!ab_agent_is_autonomous(a))
        ab_inventory_note_version(inv, a->over);
    for (ab_map_iter i = ab_map_first(a->objects);
         i.entry != NULL && e == AB_ERR_OK && !ab_agent_is_autonomous(a); ab_map_next(&i))
        hold_object(i.value, inv);
    ab_writer_each(a->writer, AB_KEY_ACK, hold_answer, &(struct answers){a, inv});
    return e;
}

static void tell(void *arg, ab_resync_message *m)
{
    ab_agent *a = arg;
    a->resync.held_sent = a->sweep.held;
    m->held = a->sweep.held.count;
    m->held_set = a->sweep.held.set;
    ab_agent_name_held(a);
    m->held_names = a->resync.names;
    if (ab_version_cmp(a->resync.executed, m->summary.newest) > 0)
        m->summary.newest = a->resync.executed;
}

/* --- what the principal is to hold --- */

/* Our key of the object's error, and the hub's. */
struct error_keys {
    char ours[AB_ERROR_KEY_MAX];
    char hubs[AB_ERROR_KEY_MAX];
};

static struct error_keys error_keys(const ab_agent_object *o)
{
    struct error_keys k;
    ab_agent_error_key(o, o->remapped, k.ours);
    snprintf(k.hubs, AB_ERROR_KEY_MAX, AB_KEY_ERROR "%s", o->hub_key);
    return k;
}

static bool has_report(const ab_agent_object *o)
{
    if (ab_agent_publishes(o))
        return o->exists && !o->was_managed && !o->excluded;
    return o->kind->reports && ab_agent_has_source(o) && o->exists && !o->report_empty;
}

/* What we sent under `ours` should be at the hub under `hubs`. */
static void expect_sent(const ab_agent *a, const char *ours, const char *hubs, ab_inventory *inv)
{
    ab_inventory_entry entry = {.key = ab_str_of(hubs)};
    if (ab_writer_find(a->writer, ab_str_of(ours), &entry.hash))
        ab_inventory_add(inv, &entry);
}

static void expect(void *arg, ab_inventory *inv)
{
    const ab_agent *a = arg;
    for (ab_map_iter i = ab_map_first(a->objects); i.entry != NULL; ab_map_next(&i)) {
        const ab_agent_object *o = i.value;
        if (o->hub_key == NULL)
            continue;
        if (has_report(o))
            expect_sent(a, o->key, o->hub_key, inv);
        struct error_keys keys = error_keys(o);
        if (o->error != NULL || !ab_agent_is_up_to_date(o))
            expect_sent(a, keys.ours, keys.hubs, inv);
    }
}

/* --- corrections --- */

/* Does the principal have something else under `hubs` than we sent under `ours`, or something that
 * it cannot name? What is on its way is not known to be otherwise. */
static bool is_otherwise(const ab_agent_object *o, const char *ours, const char *hubs)
{
    const ab_resync *r = &o->agent->resync.engine;
    const ab_inventory_entry *theirs = ab_resync_find(r, ab_str_of(hubs));
    ab_digest sent = {{0}};
    if (!ab_resync_covers(r, ab_str_of(hubs)) ||
        ab_resync_is_on_its_way(r, ab_str_of(ours), ab_str_of(o->key)))
        return false;
    (void)ab_writer_find(o->agent->writer, ab_str_of(ours), &sent);
    return theirs == NULL || ab_digest_is_none(&theirs->hash) ||
           !ab_digest_eq(&theirs->hash, &sent);
}

/* The principal shows a status, and the object, made again perhaps, has none. */
static bool is_status_gone(const ab_agent_object *o)
{
    return o->kind->reports && ab_agent_has_source(o) && o->exists && o->report_empty &&
           ab_resync_find(&o->agent->resync.engine, ab_str_of(o->hub_key)) != NULL;
}

/* Somebody has an error of an earlier run: it is said again, or ended, once it is known how the
 * object is. */
static void suppose_error(ab_agent_object *o, ab_str ours)
{
    if (ab_writer_suppose(o->agent->writer, ours, &(ab_digest){0}) != AB_ERR_OK)
        AB_ERROR(o->agent->env.log, SYNC, "out of memory", AB_KV("object", o->key));
}

static void correct_error(ab_agent_object *o)
{
    struct error_keys keys = error_keys(o);
    bool theirs = ab_resync_find(&o->agent->resync.engine, ab_str_of(keys.hubs)) != NULL;
    bool otherwise = is_otherwise(o, keys.ours, keys.hubs);
    if (o->error != NULL && otherwise) {
        ab_writer_repeat(o->agent->writer, ab_str_of(keys.ours));
        ab_agent_repeat_error(o);
    } else if (o->error == NULL && ab_agent_is_up_to_date(o)) {
        if (theirs)
            ab_agent_end_error(o);
    } else if (o->error == NULL && otherwise &&
               (theirs || ab_writer_has_key(o->agent->writer, ab_str_of(keys.ours)))) {
        suppose_error(o, ab_str_of(keys.ours));
    }
}

static void correct_object(ab_agent_object *o)
{
    if (o->hub_key == NULL)
        return;
    if ((has_report(o) || is_status_gone(o)) && is_otherwise(o, o->key, o->hub_key))
        ab_agent_report_again(o);
    correct_error(o);
    ab_reconcile_advance(&o->record);
}

static bool is_on_its_way(const ab_agent *a, ab_str key)
{
    return ab_resync_is_on_its_way(&a->resync.engine, key, key);
}

static void suppose(void *arg, const ab_inventory_entry *theirs)
{
    ab_agent *a = arg;
    char key[AB_OBJECT_KEY_MAX];
    if (ab_mirror_source_key(theirs->key, a->env.policy.name, a->resync.namespace,
                             a->env.policy.namespace, key) != AB_ERR_OK ||
        ab_writer_has_key(a->writer, ab_str_of(key)) || is_on_its_way(a, ab_str_of(key)))
        return;
    if (ab_writer_suppose(a->writer, ab_str_of(key), &theirs->hash) != AB_ERR_OK)
        AB_ERROR(a->env.log, SYNC, "out of memory", AB_KV("object", key));
}

/* The principal does not have it either: there is nothing that a guard could save. But it may have
 * it since, where the log was not yet read to its end. */
static void drop_unheld(void *arg, ab_str key)
{
    ab_agent *a = arg;
    char mirror[AB_OBJECT_KEY_MAX];
    if (!ab_agent_is_missing(a, key) || is_on_its_way(a, key) || !mirror_key(a, key, mirror) ||
        ab_resync_find(&a->resync.engine, ab_str_of(mirror)) != NULL)
        return;
    if (a->resync.is_newest)
        ab_agent_end_missing(a, key);
    else
        ab_resync_ask(&a->resync.engine, "the log was not read to its end");
}

static void log_unknown(const ab_agent *a)
{
    AB_WARN(a->env.log, SYNC,
            "deletions that were confirmed are held back still: the principal's version does not "
            "say which were confirmed; upgrade the principal",
            AB_KV("missing", (int64_t)a->sweep.held.count));
}

/* What the principal has, and nothing else, counts as said of what is gone, and is ended under the
 * guard. */
static void correct_mirrors(ab_agent *a)
{
    ab_resync_each(&a->resync.engine, suppose, a);
    if (a->synced)
        ab_writer_each(a->writer, "", drop_unheld, a);
    a->sweep.done = false;
    a->sweep.confirmed = a->resync.engine.theirs->confirmed;
    if (!ab_digest_is_none(&a->sweep.confirmed))
        ab_sweep_again(&a->sweep);
    ab_agent_sweep(a);
    a->sweep.confirmed = (ab_digest){{0}};
    if (a->resync.engine.theirs->confirm && a->sweep.held.count > 0)
        log_unknown(a);
}

static void correct(void *arg)
{
    ab_agent *a = arg;
    bool differ = a->resync.engine.want_count > 0;
    for (ab_map_iter i = ab_map_first(a->objects); differ && i.entry != NULL; ab_map_next(&i))
        correct_object(i.value);
    if (ab_agent_is_autonomous(a))
        correct_mirrors(a);
}

/* --- the rest of the role --- */

static bool is_ready(void *arg)
{
    const ab_agent *a = arg;
    /* What is about to be kept would look as if it were missing. */
    return ab_writer_is_ready(a->writer) && a->listed && a->unsaved == 0 && !a->replaying;
}

static bool heard(void *arg, const ab_event *event, const ab_resync_message *m)
{
    ab_agent *a = arg;
    ab_str uid = ab_event_attr(event, AB_CE_PRINCIPALUID);
    if (uid.len == 0 || ab_digest_of(uid, &a->resync.principal) != AB_ERR_OK)
        return false;
    if (m->step == AB_RESYNC_BEGIN)
        a->resync.is_newest = a->caught_up;
    snprintf(a->resync.namespace, sizeof(a->resync.namespace), "%.*s", AB_STR_ARG(m->namespace));
    return true;
}

static void over(void *arg, const char *why)
{
    const ab_agent *a = arg;
    if (why != NULL)
        AB_ERROR(a->env.log, SYNC, "cannot take part in a resync", AB_KV("why", why));
    else
        AB_INFO(a->env.log, SYNC, "up to date with the principal",
                AB_KV("resync", a->resync.engine.id));
}

static void refuse(void *arg, const ab_event *event, const char *why)
{
    ab_agent_note_refused(arg, event, "payload", why);
}

static void wake(void *arg)
{
    ab_agent_wake(arg);
}

void ab_agent_resync_init(ab_agent *a)
{
    static const ab_resync_role role = {is_ready, hold, expect, tell, heard,
                                        correct,  over, refuse, wake, NULL};
    ab_resync_init(&a->resync.engine, &(ab_resync_env){.role = &role,
                                                       .arg = a,
                                                       .writer = a->writer,
                                                       .clock = a->env.clock,
                                                       .log = a->env.log,
                                                       .agent = a->env.policy.name});
}
