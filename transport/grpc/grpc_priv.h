/* SPDX-License-Identifier: Apache-2.0
 *
 * The transport behind its ops: grpc.c (ops, life cycle), peers.c (links), settings.c, server.c
 * (the principal's listener) with call.c, login.c, stream.c, live.c and side.c, client.c (the
 * agent's calls), client_live.c and client_side.c.
 */
#pragma once

#include "auth/auth.h"
#include "net/rpc/rpc.h"
#include "transport/grpc/compat/compat.h"
#include "transport/grpc/grpc.h"
#include "transport/grpc/link/link.h"
#include "transport/grpc/wire.h"

#include <sys/queue.h>

typedef struct {
    char host[256];
    int port;
    ab_tls tls;
    ab_rpc_limits limits;
    size_t message_max; /* of an event, encoded */
    size_t queue_bytes;
    bool compress;
    const char *peer_version; /* what Version and AuthResponse say */
} ab_grpc_settings;

/* The agent's way to the principal. */
typedef struct {
    ab_rpc_client *rpc;
    ab_rpc_call *stream; /* Subscribe; NULL: not open */
    ab_rpc_call *live;   /* for live events; NULL: none was begun */
    bool live_open;      /* the principal has taken it on */
    bool cut;            /* the stream, by us: `why` says what for */
    bool greeted;        /* the principal said hello on the stream */
    int64_t greeted_ms;
    bool relogin;  /* the principal has ended the stream for a new login, which is under way */
    bool gave_up;  /* the connection, until the next attempt: `why` says what for */
    bool draining; /* the connection takes no more calls; the stream may last for ever */
    bool good;     /* it is greeted for a while, and the back-off knows */
    unsigned short_count; /* of streams in a row that were not, and ended UNAVAILABLE */
    bool argobus;         /* the principal is one */
    ab_compat *compat;    /* of the stream, when it is not */
    char namespace[64];   /* Argo CD's at the principal; "" = it did not say */
    ab_buf token;
    int64_t token_ms; /* when it was granted */
    LIST_HEAD(, ab_grpc_side) sides;
    bool side_login; /* is under way, and some of them wait for it */
    ab_error why;    /* nothing is open */
} ab_grpc_client;

typedef struct ab_grpc_call ab_grpc_call;
TAILQ_HEAD(ab_grpc_calls, ab_grpc_call);
LIST_HEAD(ab_grpc_side_calls, ab_grpc_call);

/* The principal's listener. */
typedef struct {
    ab_rpc_server *rpc;
    ab_auth *auth;
    bool listening;
    int64_t listen_due_ms;
    bool auth_closed;                  /* no connection is left, and no login under way */
    ab_error why;                      /* it does not listen */
    struct ab_grpc_calls calls;        /* all that are open */
    struct ab_grpc_side_calls unnamed; /* side calls that have not said whose they are */
} ab_grpc_server;

typedef struct ab_grpc {
    ab_transport base; /* first */
    ab_grpc_settings settings;
    ab_grpc_link_env link_env;
    ab_rpc_budget received; /* by all links, and not dealt with */
    ab_compat_env compat_env;
    ab_buf scratch;
    ab_map *links;   /* by agent; an agent has its own */
    ab_map *compats; /* by agent: of those whose peer is, or was, no argobus */
    uv_idle_t wake;  /* active: there is something to run */
    uv_idle_cb on_wake;
    uv_timer_t tick;
    bool running; /* both handles are in use */
    bool closed;
    enum { AB_GRPC_LIVE, AB_GRPC_DRAIN, AB_GRPC_END, AB_GRPC_ENDED } phase;
    int64_t stop_by_ms;
    void (*stopped)(void *arg);
    void *stopped_arg;
    int handles; /* still to be closed */
    ab_grpc_client client;
    ab_grpc_server server;
} ab_grpc;

/** @return CONFIG naming the option */
AB_MUST_USE ab_err ab_grpc_settings_read(const ab_config *c, ab_role role, ab_grpc_settings *out,
                                         ab_error *err);

/** The link of this agent; NULL when there is none. One that is not served is kept for a while. */
ab_grpc_link *ab_grpc_find(const ab_grpc *g, ab_str agent);
/** The compatibility layer of this link, made when there is none. @return NULL when out of memory
 */
ab_compat *ab_grpc_compat(ab_grpc *g, ab_grpc_link *l);
/** The peer of this link is an argobus: what is known of another kind of peer is forgotten. */
void ab_grpc_forget_compat(const ab_grpc *g, const ab_grpc_link *l);
/** Free the links of agents that are gone, as soon as nobody has to do with them. */
void ab_grpc_drop_over(ab_grpc *g);
int64_t ab_grpc_now(const ab_grpc *g);
/** Send `head` and then the data of `event` (may be NULL), which is not copied.
 *  @return as ab_rpc_send */
AB_MUST_USE ab_err ab_grpc_send(const ab_grpc *g, ab_rpc_call *call, ab_str head, ab_event *event);
/** There is something to run, or what is waited for at the end has ended: take a turn. */
void ab_grpc_go_on(ab_grpc *g);

/* Both ends: make, start, look after it, say good-bye, end. */

AB_MUST_USE ab_err ab_grpc_server_init(ab_grpc *g, ab_error *err);
void ab_grpc_server_start(ab_grpc *g);
void ab_grpc_server_tick(ab_grpc *g);
/** Other certificates are revoked now: end the streams of those. */
void ab_grpc_server_recheck(ab_grpc *g);
/** End the streams, then all; ab_grpc_go_on follows when `is_ended` has become true. */
void ab_grpc_server_stop(ab_grpc *g, int64_t deadline_ms);
bool ab_grpc_server_is_ended(const ab_grpc *g);
/** Release; not from an upcall of a call. */
void ab_grpc_server_fini(ab_grpc *g);

AB_MUST_USE ab_err ab_grpc_client_init(ab_grpc *g, ab_error *err);
void ab_grpc_client_start(ab_grpc *g);
void ab_grpc_client_tick(ab_grpc *g);
void ab_grpc_client_stop(ab_grpc *g);
bool ab_grpc_client_is_ended(const ab_grpc *g);
void ab_grpc_client_fini(ab_grpc *g);
/** A call could not begin. Connect again if the connection takes no more of them: the peer said
 * GOAWAY, as proxies do after an hour or a thousand calls, and keeps it for the stream's sake. */
void ab_grpc_client_leave_draining(ab_grpc *g);

/* The agent's call for live events. */

/** Ask for a token, as at login. @return as ab_rpc_unary; CONFIG, TOOBIG, NOMEM */
AB_MUST_USE ab_err ab_grpc_client_authenticate(ab_grpc *g, ab_rpc_done done, ab_error *err);
/** Keep the token of its response. @return PARSE, TOOBIG, NOMEM */
AB_MUST_USE ab_err ab_grpc_client_keep_grant(ab_grpc *g, ab_str response);
/** Why a call could not begin. */
const char *ab_grpc_client_why_no_call(ab_err e);
/** Whether the last login was so short a time ago that its token is still good. */
bool ab_grpc_client_has_token(const ab_grpc *g);
/** ab_grpc_link_env.open_live */
void ab_grpc_client_open_live(void *arg, ab_grpc_link *l);

/* The agent's side calls. */

/** ab_transport_ops.open_side */
AB_MUST_USE ab_err ab_grpc_client_open_side(ab_transport *self, ab_side_kind kind,
                                            const ab_side_handler *handler, void *arg,
                                            ab_side **out);
/** Nothing will come of any of them: who has them is told. */
void ab_grpc_client_end_sides(ab_grpc *g);
