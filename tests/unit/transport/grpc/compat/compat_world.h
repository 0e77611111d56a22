/* SPDX-License-Identifier: Apache-2.0
 *
 * A link with a compatibility layer, and a stream in memory on which a test plays the argocd-agent.
 */
#pragma once

#include "transport/grpc/compat/compat.h"
#include "transport/grpc/compat/go_event.h"

#define WORLD_MAX 512

typedef struct {
    ab_transport_env env;
    ab_grpc_link_env link_env;
    ab_rpc_budget received;
    ab_buf scratch;
    ab_compat_env compat_env;
    ab_clock clock;
    const char *mode; /* of the agent, at whichever end */
    int64_t now_ms;
    ab_config *config;
    ab_metrics *metrics;
    ab_grpc_link *link;
    ab_compat *compat;
    bool link_woken;
    bool compat_woken;

    ab_delivery *got[WORLD_MAX]; /* by the layer above, not acknowledged */
    size_t got_count;
    size_t ready;
    size_t ups;
    uint64_t version; /* of what is sent */

    ab_event *told[WORLD_MAX]; /* to the argocd-agent */
    size_t told_count;
    bool full;
    bool paused;
    size_t cuts;
    char stream; /* its address is the stream */
} world;

/* With an agent of this mode at the other end of a principal, or with a principal at that of an
 * agent. The stream is open. Fails by abort. */
world *world_new(ab_role role, const char *mode);
void world_free(world *w);
/* Until nothing is left to do. */
void world_run(world *w);
/* `ms` later. */
void world_wait(world *w, int64_t ms);
void world_close(world *w);
void world_open(world *w);
/* The layer above has dealt with the delivery. */
void world_ack(world *w, size_t i);
/* ... does not deal with it. */
void world_return(world *w, size_t i);
/* The layer above says this of `key`; data NULL: it is gone. */
void world_say(world *w, ab_target target, ab_type type, const char *key, const char *data);
/* ... says this on the live lane, under this id. */
void world_say_live(world *w, ab_target target, ab_type type, const char *id, const char *data);
/* The argocd-agent says this. */
void world_hear(world *w, ab_target target, ab_type type, const char *id, const char *data);
/* The argocd-agent acknowledges what it was told. */
void world_hear_ack(world *w, const ab_event *told);
/* Forget what it was told. */
void world_forget(world *w);
