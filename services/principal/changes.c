/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/changes.h"

#include "base/core/map.h"
#include "services/outbox_meter.h"

#include <math.h>
#include <stdlib.h>

struct direction {
    ab_pending *pending;
    ab_metric *count;
    ab_metric *age;
};

/* What is shown of one agent. */
struct shown {
    struct direction down, up;
    ab_outbox_meter outbox;
};

struct ab_changes {
    ab_metrics *metrics;
    const ab_principal *machine;
    ab_map *agents; /* name -> struct shown */
};

ab_changes *ab_changes_new(ab_metrics *metrics, const ab_principal *machine)
{
    ab_changes *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return NULL;
    *c = (ab_changes){metrics, machine, ab_map_new()};
    if (c->agents != NULL)
        return c;
    free(c);
    return NULL;
}

void ab_changes_free(ab_changes *c)
{
    if (c == NULL)
        return;
    ab_map_free(c->agents, NULL);
    free(c);
}

static void on_waits(void *arg, const ab_event *event)
{
    ab_pending_hold_now(arg, event);
}

static void on_over(void *arg, const ab_event *event)
{
    ab_pending_release(arg, event);
}

static struct direction show(const ab_changes *c, const char *agent, const char *direction,
                             ab_pending *pending)
{
    const ab_label labels[] = {{"agent", ab_str_of(agent)}, {"direction", ab_str_of(direction)}};
    return (struct direction){
        pending,
        ab_metric_get(c->metrics, AB_METRIC_GAUGE, "argobus_changes_pending",
                      "Distinct objects and commands that are not in effect at their receiver.",
                      labels, 2),
        ab_metric_get(c->metrics, AB_METRIC_GAUGE, "argobus_changes_pending_age_seconds",
                      "How long the oldest of argobus_changes_pending has not been in effect.",
                      labels, 2)};
}

ab_err ab_changes_add(ab_changes *c, const char *agent, ab_transport *transport, ab_outbox *outbox)
{
    ab_pending *down = ab_transport_pending(transport, agent, AB_DOWN);
    struct shown *shown = ab_map_make(c->agents, ab_str_of(agent), sizeof(*shown));
    if (shown == NULL)
        return AB_ERR_NOMEM;
    shown->down = show(c, agent, "down", down);
    shown->up = show(c, agent, "up", ab_transport_pending(transport, agent, AB_UP));
    shown->outbox = ab_outbox_meter_make(outbox, c->metrics, agent);
    ab_outbox_watch(outbox, &(ab_outbox_watcher){on_waits, on_over, down});
    return AB_ERR_OK;
}

void ab_changes_remove(ab_changes *c, const char *agent)
{
    struct shown *shown = ab_map_find(c->agents, ab_str_of(agent));
    if (shown != NULL)
        ab_map_drop(c->agents, shown);
}

void ab_changes_defer(const ab_changes *c, const char *agent, ab_str key, bool deferred)
{
    const struct shown *shown = ab_map_find(c->agents, ab_str_of(agent));
    if (shown != NULL)
        ab_pending_defer(shown->down.pending, key, deferred);
}

const ab_pending *ab_changes_of(const ab_changes *c, const char *agent, ab_direction direction)
{
    const struct direction *shown = ab_map_find(c->agents, ab_str_of(agent));
    return shown == NULL ? NULL : shown[direction == AB_UP].pending;
}

static bool is_known(const ab_changes *c, const char *agent, const ab_pending *pending, bool down)
{
    return ab_pending_is_known(pending) &&
           (!down || c->machine == NULL || ab_principal_is_all_queued(c->machine, agent));
}

bool ab_changes_are_known(const ab_changes *c, const char *agent, ab_direction direction)
{
    const ab_pending *pending = ab_changes_of(c, agent, direction);
    return pending != NULL && is_known(c, agent, pending, direction == AB_DOWN);
}

static void measure(const struct direction *d, bool known)
{
    ab_metric_set(d->count, known ? (double)ab_pending_count(d->pending) : NAN);
    ab_metric_set(d->age, known ? (double)ab_pending_age_ms(d->pending) / 1000 : NAN);
}

void ab_changes_measure(const ab_changes *c)
{
    for (ab_map_iter i = ab_map_first(c->agents); i.entry != NULL; ab_map_next(&i)) {
        const struct shown *shown = i.value;
        const char *agent = i.key.ptr;
        measure(&shown->down, is_known(c, agent, shown->down.pending, true));
        measure(&shown->up, is_known(c, agent, shown->up.pending, false));
        ab_outbox_meter_measure(&shown->outbox);
    }
}
