/* SPDX-License-Identifier: Apache-2.0
 *
 * One argocd-agent and one request to it, for the files that make it up:
 *
 *   agents.c    the agents, and their sessions with the hub
 *   call.c      a request: what is sent to the agent, and what to the hub
 *   redis.c     the service "redis"
 *   resource.c  the services "kubernetes" and "exec"
 */
#pragma once

#include "base/core/list.h"
#include "base/core/map.h"
#include "live/gopeer/agents.h"
#include "live/gopeer/loop.h"
#include "live/lane/spoke.h"
#include "schema/attributes.h"
#include "schema/catalogue.h"

struct ab_gopeer_agents {
    ab_gopeer_agents_env env;
    ab_gopeer_loop *loop;
    ab_map *agents;   /* of ab_gopeer_agent, by name */
    uv_timer_t *tick; /* runs while any has channels; frees itself */
};

typedef struct {
    ab_gopeer_agents *all;
    ab_live_spoke *spoke;
    ab_live_service services[4]; /* the last is zeroed */
    ab_map *calls;               /* that wait for the agent, by id */
    ab_link channels;            /* of its redis that are subscribed to */
    char name[64];
    char source[80];
} ab_gopeer_agent;

/* A request; the first member of what a service makes of it. */
typedef struct ab_gopeer_call {
    ab_gopeer_agent *agent;
    ab_live_stream *stream;
    /** A response of the agent. */
    void (*on_response)(struct ab_gopeer_call *call, ab_str data);
    char id[37];     /* "" = the agent was not asked */
    ab_buf out;      /* of the answer: what the stream has not taken */
    size_t out_sent; /* of that, what it has */
    bool answered;
    bool ends; /* nothing follows what is in `out` */
} ab_gopeer_call;

/* call.c */
/** Begin to serve a request. @param body_max  of its answer */
void ab_gopeer_call_init(ab_gopeer_call *c, ab_gopeer_agent *agent, ab_live_stream *s,
                         size_t body_max);
/** Its stream is over: the agent's response is not waited for any more. */
void ab_gopeer_call_fini(ab_gopeer_call *c);
/** Give it an id, under which responses come. @return NOMEM */
AB_MUST_USE ab_err ab_gopeer_call_name(ab_gopeer_call *c);
/** Ask the agent. @return as ab_transport_send */
AB_MUST_USE ab_err ab_gopeer_call_ask(ab_gopeer_call *c, ab_target target, ab_type type,
                                      ab_str data);
/** Answer with this head, and what is in `out`; `ends`: that is all. */
void ab_gopeer_call_answer(ab_gopeer_call *c, int status, ab_live_field field, bool ends);
/** Send what is in `out`, as far as the stream takes it now. */
void ab_gopeer_call_flush(ab_gopeer_call *c);
/** Answer with a Status of ours. */
void ab_gopeer_call_refuse(ab_gopeer_call *c, int status, const char *why);

/* redis.c */
/** Before any agent. @return NOMEM */
AB_MUST_USE ab_err ab_gopeer_redis_init(ab_gopeer_agents *a);
/** After the last. The loop must be run afterwards. */
void ab_gopeer_redis_fini(ab_gopeer_agents *a);
/** As ab_live_service; `arg` is the agent. */
void ab_gopeer_redis_serve(void *arg, ab_live_stream *s, const ab_live_request *from);

/* resource.c */
/** As ab_live_service, of both services of live/resource; `arg` is the agent. */
void ab_gopeer_resource_serve(void *arg, ab_live_stream *s, const ab_live_request *from);
