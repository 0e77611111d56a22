/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/object/app_state.h"

static const char *const syncs[AB_APP_SYNCS] = {"Unknown", "Synced", "OutOfSync"};
static const char *const healths[AB_APP_HEALTHS] = {"Unknown",  "Healthy",   "Progressing",
                                                    "Degraded", "Suspended", "Missing"};

const char *ab_app_sync_name(ab_app_sync sync)
{
    return syncs[sync];
}

const char *ab_app_health_name(ab_app_health health)
{
    return healths[health];
}

/* @return 0 (Unknown) for any other word */
static unsigned char find(const char *const *words, unsigned count, ab_spanv word)
{
    for (unsigned i = 1; i < count; i++)
        if (ab_span_is(word, words[i]))
            return (unsigned char)i;
    return 0;
}

static void uncount(ab_app_counts *counts, const ab_app_state *state)
{
    counts->all--;
    counts->sync[state->sync]--;
    counts->health[state->health]--;
}

void ab_app_counts_set(ab_app_counts *counts, ab_app_state *state, const ab_object *app)
{
    if (state->is_counted)
        uncount(counts, state);
    *state = (ab_app_state){0};
    if (app == NULL)
        return;
    ab_spanv status = ab_object_field(app, "status");
    *state = (ab_app_state){
        .is_counted = true,
        .sync = find(syncs, AB_APP_SYNCS, ab_span_path(status, "sync", "status", NULL)),
        .health = find(healths, AB_APP_HEALTHS, ab_span_path(status, "health", "status", NULL)),
    };
    counts->all++;
    counts->sync[state->sync]++;
    counts->health[state->health]++;
}
