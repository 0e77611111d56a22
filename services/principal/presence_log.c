/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/presence_log.h"

#include "base/core/list.h"
#include "base/core/map.h"
#include "base/observe/log_quota.h"

#include <stdlib.h>

/* Names that are remembered: when there are more, all are told of again. */
#define UNSERVED_MAX 1000

struct agent {
    ab_log_quota lines;
    ab_link in_held; /* while the last line about it is not true; else in no list */
    bool up;
    bool logged_up;
};

struct ab_presence_log {
    ab_log *log;
    const ab_clock *clock;
    ab_map *agents; /* name -> struct agent */
    ab_link held;
    ab_map *unserved; /* names that were logged -> anything; NULL: none yet */
    ab_log_quota unserved_lines;
};

ab_presence_log *ab_presence_log_new(ab_log *log, const ab_clock *clock)
{
    ab_presence_log *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return NULL;
    *l = (ab_presence_log){.log = log, .clock = clock, .agents = ab_map_new()};
    ab_link_init(&l->held);
    if (l->agents != NULL)
        return l;
    free(l);
    return NULL;
}

void ab_presence_log_free(ab_presence_log *l)
{
    if (l == NULL)
        return;
    ab_map_free(l->agents, NULL);
    ab_map_free(l->unserved, NULL);
    free(l);
}

static struct agent *find(const ab_presence_log *l, const char *name)
{
    struct agent *a = ab_map_make(l->agents, ab_str_of(name), sizeof(*a));
    if (a != NULL && a->in_held.next == NULL)
        ab_link_init(&a->in_held);
    return a;
}

const ab_log_quota *ab_presence_log_may(ab_presence_log *l, const char *agent)
{
    struct agent *a = find(l, agent);
    bool may = a != NULL && ab_log_quota_pass(&a->lines, ab_clock_mono_ms(l->clock));
    return may ? &a->lines : NULL;
}

static void write_line(ab_presence_log *l, const char *name, struct agent *a, const ab_peer *peer)
{
    AB_INFO(l->log, MAIN, a->up ? "agent connected" : "agent disconnected", AB_KV("agent", name),
            AB_KV("mode", peer == NULL ? "" : peer->mode),
            AB_KV("version", peer == NULL ? "" : peer->version),
            AB_KV("held_back", a->lines.held_back));
    a->logged_up = a->up;
}

void ab_presence_log_note(ab_presence_log *l, const char *agent, const ab_peer *peer)
{
    struct agent *a = find(l, agent);
    if (a == NULL)
        return;
    a->up = peer != NULL;
    if (ab_presence_log_may(l, agent) != NULL)
        write_line(l, agent, a, peer);
    if (a->up == a->logged_up)
        ab_link_remove(&a->in_held);
    else
        ab_list_append(&l->held, &a->in_held);
}

void ab_presence_log_note_unserved(ab_presence_log *l, const char *agent)
{
    if (l->unserved == NULL)
        l->unserved = ab_map_new();
    if (l->unserved == NULL || ab_map_find(l->unserved, ab_str_of(agent)) != NULL ||
        !ab_log_quota_pass(&l->unserved_lines, ab_clock_mono_ms(l->clock)))
        return;
    AB_WARN(l->log, MAIN,
            "an agent that has logged in is not served: neither option agents nor a cluster Secret "
            "names it",
            AB_KV("agent", agent), AB_KV("held_back", l->unserved_lines.held_back));
    (void)ab_map_make(l->unserved, ab_str_of(agent), 1); /* without memory it is told again */
    if (ab_map_count(l->unserved) >= UNSERVED_MAX) {
        ab_map_free(l->unserved, NULL);
        l->unserved = NULL;
    }
}

void ab_presence_log_tick(ab_presence_log *l)
{
    int64_t now_ms = ab_clock_mono_ms(l->clock);
    for (ab_list_iter i = ab_list_first(&l->held); i.link != NULL; ab_list_next(&i)) {
        struct agent *a = AB_LINK_OF(i.link, struct agent, in_held);
        if (now_ms < a->lines.until_ms || !ab_log_quota_pass(&a->lines, now_ms))
            continue;
        write_line(l, ab_map_at(a).key.ptr, a, NULL);
        ab_link_remove(&a->in_held);
    }
}

void ab_presence_log_forget(ab_presence_log *l, const char *agent)
{
    struct agent *a = ab_map_find(l->agents, ab_str_of(agent));
    if (a == NULL)
        return;
    if (a->in_held.next != NULL)
        ab_link_remove(&a->in_held);
    ab_map_drop(l->agents, a);
}
