/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/app_meter.h"

/* A series is made when there is something to count: most agents have a few of them. */
struct shown {
    ab_metric *sync[AB_APP_SYNCS];
    ab_metric *health[AB_APP_HEALTHS];
};

ab_err ab_app_meter_init(ab_app_meter *m, ab_metrics *metrics, const ab_principal *machine)
{
    *m = (ab_app_meter){metrics, machine, ab_map_new()};
    return m->agents == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
}

void ab_app_meter_fini(ab_app_meter *m)
{
    if (m->agents != NULL)
        ab_map_free(m->agents, NULL);
    *m = (ab_app_meter){0};
}

void ab_app_meter_remove(ab_app_meter *m, const char *agent)
{
    struct shown *shown = m->agents == NULL ? NULL : ab_map_find(m->agents, ab_str_of(agent));
    if (shown != NULL)
        ab_map_drop(m->agents, shown);
}

static void show_sync(ab_app_meter *m, ab_str agent, ab_app_sync sync, size_t count, ab_metric **at)
{
    const ab_label labels[] = {{"agent", agent}, {"status", ab_str_of(ab_app_sync_name(sync))}};
    if (*at == NULL && count > 0)
        *at = ab_metric_get(
            m->metrics, AB_METRIC_GAUGE, "argobus_applications_sync",
            "Applications of an agent by sync status, as the control plane shows it.", labels, 2);
    ab_metric_set(*at, (double)count);
}

static void show_health(ab_app_meter *m, ab_str agent, ab_app_health health, size_t count,
                        ab_metric **at)
{
    const ab_label labels[] = {{"agent", agent}, {"status", ab_str_of(ab_app_health_name(health))}};
    if (*at == NULL && count > 0)
        *at = ab_metric_get(m->metrics, AB_METRIC_GAUGE, "argobus_applications_health",
                            "Applications of an agent by health, as the control plane shows it.",
                            labels, 2);
    ab_metric_set(*at, (double)count);
}

static void measure(ab_app_meter *m, ab_str agent)
{
    ab_app_counts counts;
    ab_principal_app_counts(m->machine, agent.ptr, &counts);
    struct shown *shown = ab_map_find(m->agents, agent);
    if (shown == NULL && counts.all > 0)
        shown = ab_map_make(m->agents, agent, sizeof(*shown));
    if (shown == NULL)
        return;
    for (unsigned i = 0; i < AB_APP_SYNCS; i++)
        show_sync(m, agent, i, counts.sync[i], &shown->sync[i]);
    for (unsigned i = 0; i < AB_APP_HEALTHS; i++)
        show_health(m, agent, i, counts.health[i], &shown->health[i]);
}

void ab_app_meter_measure(ab_app_meter *m, const ab_map *agents)
{
    for (ab_map_iter i = ab_map_first(agents); i.entry != NULL; ab_map_next(&i))
        measure(m, i.key);
}
