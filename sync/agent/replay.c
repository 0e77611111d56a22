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

void ab_agent_replay(ab_agent *a)
{
    a->replaying = true;
    a->caught_up = false;
    acknowledge_first(a); /* of what was read before: it holds nothing any more */
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
    if (a->first != NULL)
        return;
    a->first = task->delivery;
    task->delivery = NULL;
}
