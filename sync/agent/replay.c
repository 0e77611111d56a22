/* SPDX-License-Identifier: Apache-2.0
 *
 * The log is read from its beginning, by an agent that is new or has lost what it remembered. What
 * is saved then is acknowledged before it is in effect; so the first delivery of it is acknowledged
 * last, and holds the position for all of them.
 */
#include "sync/agent/agent_priv.h"

static void acknowledge_first(ab_agent *a)
{
    void *first = a->first;
    a->first = NULL;
    if (first != NULL)
        ab_agent_ack(a, first);
}

static void note_version(ab_version *newest, ab_version version)
{
    if (ab_version_cmp(version, *newest) > 0)
        *newest = version;
}

/* What waited for the end of that log is looked at again: the principal is to be asked. */
static void note_restored(ab_agent_object *o)
{
    if (o->restored || !(o->owed || o->start == START_DIFFERS))
        return;
    o->restored = true;
    o->outdated = false;
    ab_reconcile_advance(&o->record);
}

/* What was read of a log that is replaced before its end may be long over, and so may what an older
 * agent.data says: the principal is asked where it is about another source than the object here. */
static void note_log_gone(ab_agent *a)
{
    note_version(&a->gone, a->read);
    for (ab_map_iter i = ab_map_first(a->objects); i.entry != NULL; ab_map_next(&i)) {
        ab_agent_object *o = i.value;
        for (const ab_task *t = o->record.inbox.head; t != NULL; t = t->next)
            if (!ab_task_is_command(t->type))
                note_version(&a->gone, t->version);
        note_restored(o);
    }
}

void ab_agent_replay(ab_agent *a)
{
    if (a->replaying)
        note_log_gone(a);
    a->replaying = true;
    a->caught_up = false;
    acknowledge_first(a); /* of what was read before: it holds nothing any more */
}

void ab_agent_gap(ab_agent *a)
{
    if (a->replaying)
        ab_agent_replay(a);
    else if (!a->caught_up)
        note_log_gone(a);
    a->caught_up = false;
    ab_resync_ask(&a->resync.engine, "gap");
}

void ab_agent_note_read(ab_agent_object *o)
{
    ab_agent *a = o->agent;
    bool finished = ab_agent_is_up_to_date(o) || o->record.is_deferred;
    if (a->replaying)
        return;
    a->owed -= o->owed && finished;
    o->owed = o->owed && !finished;
    if (a->owed == 0)
        acknowledge_first(a);
}

bool ab_agent_is_replaying(const ab_agent *a)
{
    return a->replaying;
}

void ab_agent_note_replayed(ab_agent_object *o, ab_task *task)
{
    ab_agent *a = o->agent;
    if (!a->replaying)
        return;
    a->owed += !o->owed;
    o->owed = true;
    note_version(&a->read, task->version);
    if (a->first != NULL)
        return;
    a->first = task->delivery;
    task->delivery = NULL;
}
