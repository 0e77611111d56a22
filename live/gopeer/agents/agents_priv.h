/* SPDX-License-Identifier: Apache-2.0
 *
 * One argocd-agent and one request to it, for the files that make it up:
 *
 *   agents.c    the agents, and their sessions with the hub
 *   call.c      a request: what is sent to the agent, and what to the hub
 *   logs.c      the service "kubernetes", of logs
 *   redis.c     the service "redis"
 *   resource.c  the service "kubernetes", of all else
 *   side.c      a request that the agent answers by a side call
 *   terminal.c  the service "exec"
 */
#pragma once

#include "base/core/list.h"
#include "base/core/map.h"
#include "live/gopeer/agents/agents.h"
#include "live/gopeer/loop.h"
#include "live/gopeer/wire/side.h"
#include "live/lane/spoke.h"
#include "schema/attributes.h"
#include "schema/catalogue.h"

struct ab_gopeer_agents {
    ab_gopeer_agents_env env;
    ab_gopeer_loop *loop;
    ab_map *agents;   /* of ab_gopeer_agent, by name */
    ab_link channels; /* of their redis that are subscribed to, by when their pings are due */
    uv_timer_t *tick; /* runs while there are any; frees itself */
};

typedef struct {
    ab_gopeer_agents *all;
    ab_live_spoke *spoke;
    ab_live_service services[4]; /* the last is zeroed */
    ab_map *calls;               /* that wait for the agent, by id */
    bool managed;
    size_t sides; /* requests that it answers by a side call */
    char name[64];
    char source[80];
} ab_gopeer_agent;

/* A request; the first member of what a service makes of it. */
typedef struct ab_gopeer_call {
    ab_gopeer_agent *agent;
    ab_live_stream *stream;
    /** A response of the agent; NULL: none is waited for. */
    void (*on_response)(struct ab_gopeer_call *call, ab_str data);
    /** A side call of the agent, which is to be taken; NULL: none is waited for. @return NOTFOUND:
     *  it is of the other kind, or another one was taken */
    ab_err (*on_side)(struct ab_gopeer_call *call, ab_side_kind kind, ab_side *side);
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
void ab_gopeer_call_answer(ab_gopeer_call *c, int status, ab_http_field field, bool ends);
/** Send what is in `out`, as far as the stream takes it now. */
void ab_gopeer_call_flush(ab_gopeer_call *c);
/** Answer with a Status of ours. */
void ab_gopeer_call_refuse(ab_gopeer_call *c, int status, const char *why);

/* A request that the agent answers by a side call; the first member of what is made of it. */
typedef struct ab_gopeer_side {
    ab_gopeer_call call; /* first */
    const struct ab_gopeer_side_use *use;
    ab_side *side; /* NULL: has not come, or is over */
    bool came;
    uv_timer_t *timer; /* frees itself */
} ab_gopeer_side;

/* What is made of it. All but on_open may end the request. */
typedef struct ab_gopeer_side_use {
    ab_side_kind kind;
    /** The side call has come. */
    void (*on_open)(ab_gopeer_side *s);
    void (*on_message)(ab_gopeer_side *s, const ab_gopeer_side_message *m);
    /** After FULL of the side call. */
    void (*on_writable)(ab_gopeer_side *s);
    /** The side call is over before its end was told. */
    void (*on_lost)(ab_gopeer_side *s, const char *why);
    /** The time has come that ab_gopeer_side_ask, or ab_gopeer_side_wait, has set. */
    void (*on_due)(ab_gopeer_side *s);
} ab_gopeer_side_use;

/* side.c */
/** As ab_gopeer_call_init. @return NOMEM; ab_gopeer_side_fini in any case */
AB_MUST_USE ab_err ab_gopeer_side_init(ab_gopeer_side *s, const ab_gopeer_side_use *use,
                                       ab_gopeer_agent *agent, ab_live_stream *stream);
void ab_gopeer_side_fini(ab_gopeer_side *s);
/** Ask the agent for a side call; where that cannot be, the request is refused. When none has come
 *  in time, on_due follows. @param data  names call.id */
void ab_gopeer_side_ask(ab_gopeer_side *s, ab_target target, ab_type type, ab_str data);
/** Have on_due called then, and not when it was set before. */
void ab_gopeer_side_wait(ab_gopeer_side *s, uint64_t ms);
/** Send what is in call.out; the agent waits while the viewer does not take it. */
void ab_gopeer_side_flush(ab_gopeer_side *s);
/** Nothing more is wanted of the side call. */
void ab_gopeer_side_cancel(ab_gopeer_side *s);

/* logs.c */
/** Serve a request for a log; as ab_live_service. @param map  of the request; copied */
void ab_gopeer_logs_serve(ab_gopeer_agent *agent, ab_live_stream *s, const ab_resource_map *map);

/* terminal.c */
/** Serve a request for a terminal; as ab_live_service. @param map  of the request; copied */
void ab_gopeer_terminal_serve(ab_gopeer_agent *agent, ab_live_stream *s,
                              const ab_live_request *from, const ab_resource_map *map);

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
