/* SPDX-License-Identifier: Apache-2.0
 *
 * One peer: what it is sent and what comes from it, over one stream after another. The principal
 * has a link for each agent, an agent has one. A link knows neither sockets nor calls: whoever has
 * a stream to the peer attaches it.
 *
 * On a stream each side says hello first. The same instance at the other end goes on where the last
 * stream broke off: what it has not acknowledged is sent again. Another instance is a gap.
 *
 * Loop thread. Upcalls are made from ab_grpc_link_run(_woken) and from what a stream brings, never
 * from send, ack, retire and close.
 */
#pragma once

#include "base/core/list.h"
#include "base/observe/log_quota.h"
#include "net/rpc/codec/budget.h"
#include "transport/transport.h"

typedef struct ab_grpc_link ab_grpc_link;

/* How a link uses a stream; what the peer is told by `cut` is for people. */
typedef struct {
    /** As ab_rpc_send, for the message that is `head` and then the data of `event`, which is kept
     * for as long as that takes; NULL: `head` is all of it. */
    ab_err (*send)(void *stream, ab_str head, ab_event *event);
    void (*pause)(void *stream);
    void (*resume)(void *stream);
    /** End it; the link has let it go already. */
    void (*cut)(void *stream, const char *why);
    /** For how many milliseconds nothing has come over its connection; NULL: unknown. */
    int64_t (*silent_ms)(void *stream);
    /** As ab_rpc_quiet_ms; NULL: its end is known without heartbeats. */
    int64_t (*quiet_ms)(void *stream);
} ab_grpc_stream_ops;

typedef struct {
    const ab_transport_env *env;
    size_t queue_bytes; /* of unacknowledged state events that we send, before FULL; and of events
                           that we got and have not dealt with, before reading stops */
    size_t message_max; /* of one event, encoded */
    ab_buf *scratch;    /* for one event at a time */
    /** Have ab_grpc_link_run_woken called soon. */
    void (*wake)(void *arg);
    void *arg;
    /** AGENT: begin a call for live events, and tell by ab_grpc_link_attach_live, or by
     * ab_grpc_link_live_over what has become of it. Not called again before it is over. */
    void (*open_live)(void *arg, ab_grpc_link *l);
    ab_link woken;                /* the links with something to do; ab_link_init makes it empty */
    ab_link retired;              /* those that are not served any more; so does it with this */
    uint64_t gone_epoch;          /* highest of the links that were freed */
    ab_rpc_budget *received;      /* of what all links got and have not dealt with; shared */
    int64_t heartbeat_ms;         /* a stream is not silent for longer; 0 = it may be */
    int64_t heartbeat_timeout_ms; /* by which the peer's heartbeat may be late */
} ab_grpc_link_env;

/** @param env  borrowed for as long as the link lives
 *  @return INVALID (no DNS label), NOMEM */
AB_MUST_USE ab_err ab_grpc_link_new(ab_grpc_link_env *env, const char *agent, ab_grpc_link **out,
                                    ab_error *err);
/** Forget everything, without an upcall; NULL is allowed. */
void ab_grpc_link_free(ab_grpc_link *l);

/** Name of the agent. */
const char *ab_grpc_link_agent(const ab_grpc_link *l);
/** Serve the peer (again): it is as new. */
void ab_grpc_link_serve(ab_grpc_link *l);
bool ab_grpc_link_is_served(const ab_grpc_link *l);
/** PRINCIPAL: as ab_transport_ops.pending; not known until the agent has connected. */
ab_pending *ab_grpc_link_pending(ab_grpc_link *l, ab_direction direction);
/** Serve it no more, and forget what it sent. What waits ends as CLOSED; open deliveries may still
 * be acknowledged. */
void ab_grpc_link_retire(ab_grpc_link *l);

/** A call that has to do with the link begins, or is over. */
void ab_grpc_link_use(ab_grpc_link *l);
void ab_grpc_link_leave(ab_grpc_link *l);
/** PRINCIPAL: a link that is not served, and that neither a call nor a delivery has to do with. An
 * agent that is served again afterwards gets a new one: to be freed. @return NULL: there is none */
ab_grpc_link *ab_grpc_link_find_over(const ab_grpc_link_env *env);

/** PRINCIPAL: the agent may not stay connected; it is told why when it logs in again. */
void ab_grpc_link_refuse(ab_grpc_link *l);

/* Why a stream is cut for a newer one. Whether that is of another agent shows only when the older
 * one answers: an agent that has lost its connection knows it before the principal does. */
#define AB_GRPC_REPLACED "the agent connected again, or another one with its name did"

/** A stream to the peer is open. One that was attached before is cut, since the newest counts. */
void ab_grpc_link_attach(ab_grpc_link *l, const ab_grpc_stream_ops *ops, void *stream);
/** The stream has ended; one that is not attached (any more) is passed over. */
void ab_grpc_link_detach(ab_grpc_link *l, const void *stream);
/** The one that is attached; NULL: none is. */
void *ab_grpc_link_stream(const ab_grpc_link *l);
/** One message has come by a stream; what comes by one that is not attached is passed over. */
void ab_grpc_link_receive(ab_grpc_link *l, const void *stream, ab_str message);
/** The same for the event that such a message holds. */
void ab_grpc_link_take(ab_grpc_link *l, const void *stream, ab_event *event);
/** After FULL: the stream takes more. */
void ab_grpc_link_writable(ab_grpc_link *l, const void *stream);

/** May a line go into the log that this peer has caused, by what it sends or how it connects?
 * @return the quota, whose `held_back` the line tells; NULL: it may not */
const ab_log_quota *ab_grpc_link_may_log(ab_grpc_link *l);

/** The same for the lines about its streams, which leave room for those that say what is wrong. */
const ab_log_quota *ab_grpc_link_may_log_stream(ab_grpc_link *l);

/** What our hello names this end of the link; the call for live events names it too. */
const char *ab_grpc_link_instance(const ab_grpc_link *l);
/** PRINCIPAL: whether the peer that has said hello on the stream is this instance. */
bool ab_grpc_link_is_peer(const ab_grpc_link *l, ab_str instance);
/** A call for live events is open; one that was attached before is cut. */
void ab_grpc_link_attach_live(ab_grpc_link *l, const ab_grpc_stream_ops *ops, void *call);
/** It has ended; one that is not attached (any more) is passed over. */
void ab_grpc_link_detach_live(ab_grpc_link *l, const void *call);
/** AGENT: the call that open_live began is over, or could not be begun. */
void ab_grpc_link_live_over(ab_grpc_link *l);
/** As ab_grpc_link_receive and ab_grpc_link_writable, for that call. */
void ab_grpc_link_receive_live(ab_grpc_link *l, const void *call, ab_str message);
void ab_grpc_link_live_writable(ab_grpc_link *l, const void *call);

/** As the transport's send, for a link that is served. */
AB_MUST_USE ab_err ab_grpc_link_send(ab_grpc_link *l, ab_lane lane, ab_event *event,
                                     int64_t deadline_ms, ab_sent done, void *arg);
/** As the transport's ack. */
void ab_grpc_link_ack(ab_delivery *delivery, ab_verdict verdict);
/** Send what can be sent, and make the upcalls that are due. */
void ab_grpc_link_run(ab_grpc_link *l);
/** The same for up to `max` of the links that have something to do. @return true: more have */
bool ab_grpc_link_run_woken(ab_grpc_link_env *env, int max);
/** Time has passed: deadlines. */
void ab_grpc_link_tick(ab_grpc_link *l);
/** What our hello says has changed: say it again. */
void ab_grpc_link_greet_again(ab_grpc_link *l);
/** The peer is there: it has said hello on the stream that is open. */
bool ab_grpc_link_is_up(const ab_grpc_link *l);

/** As the transport's close; the peer is told that we leave. */
void ab_grpc_link_close(ab_grpc_link *l);
/** After close: nothing is left that this peer would take from us. */
bool ab_grpc_link_is_drained(const ab_grpc_link *l);
/** What waits ends as CLOSED, now: an upcall each. */
void ab_grpc_link_flush(ab_grpc_link *l);
