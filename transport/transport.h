/* SPDX-License-Identifier: Apache-2.0
 *
 * The way between principal and agents: the interface that every transport implements. The same ops
 * serve both roles. tests/conformance/transport runs one suite over every implementation.
 *
 * A transport carries two lanes. The STATE lane keeps, per key (attribute partitionkey), the order
 * of what was sent, and may skip an event when a newer one of the same key exists; it redelivers
 * whatever was not acknowledged. Keys that differ by every event (cmd/<id>) are therefore never
 * skipped. An event without data ends its key (a tombstone). The LIVE lane carries an event at once
 * or never, and never again: what arrives is in the order of sending as long as the connection
 * lasts, events may be missing, and nobody is told. The lanes have their own queues and limits:
 * neither waits for the other.
 *
 * Identity comes from the transport (topic name, certificate), never from the payload: `agent` in a
 * delivery is the authenticated peer. Events whose attribute source names another peer are refused
 * inside the transport, counted and logged.
 *
 * Everything happens on the loop thread; no call blocks; no upcall is made from inside a call.
 */
#pragma once

#include "base/config/config.h"
#include "base/observe/log.h"
#include "base/observe/metrics.h"
#include "event/event.h"
#include "schema/catalogue.h"
#include "transport/pending.h"
#include "transport/side.h"

#include <uv.h>

typedef struct ab_transport ab_transport;

typedef enum { AB_ROLE_PRINCIPAL, AB_ROLE_AGENT } ab_role;
typedef enum { AB_LANE_STATE, AB_LANE_LIVE } ab_lane;

/* What a transport can do. */
#define AB_CAP_DURABLE    1u /* what was accepted survives both processes */
#define AB_CAP_LOG_REPLAY 2u /* tells at start what its own log says (on_written) */
/* A broker stands between the ends. Whoever may read or write its topics can read what is sent,
 * change it, and send in a peer's name: who needs more than the identity of a topic seals. Without
 * it the connection ends at the authenticated peer, inside TLS unless the operator has turned that
 * off. */
#define AB_CAP_BROKER 4u

/* One received event. Borrowed until acknowledged; every delivery is acknowledged exactly once. */
typedef struct ab_delivery {
    const char
        *agent; /* the peer's name at the principal; our own name at an agent. NUL-terminated */
    ab_lane lane;
    ab_event *event; /* take a reference to keep it past the acknowledgement */
} ab_delivery;

typedef enum {
    AB_VERDICT_APPLIED,  /* in effect, or of no effect for good (older, refused, deferred) */
    AB_VERDICT_RETURNED, /* not dealt with: we are stopping. It will be delivered again */
} ab_verdict;

typedef enum {
    AB_GAP_FIRST,    /* first contact: nothing was ever received here; a full replay follows */
    AB_GAP_EXPIRED,  /* the position is no longer in the log; a full replay follows */
    AB_GAP_RECREATED /* the log was replaced; a full replay follows, and what we wrote to it is gone
                        too */
} ab_gap;

/** The name of a gap for the log: "first", "expired" or "recreated". A literal; any thread. */
const char *ab_gap_name(ab_gap gap);

/* The version of a peer that is an argocd-agent, or the principal of one. */
#define AB_PEER_ARGOCD_AGENT "argocd-agent"

/* What a peer says of itself in its hello. Borrowed for the upcall; NUL-terminated; "" when
 * unknown. */
typedef struct {
    const char *mode;    /* "managed", "autonomous"; "" for a principal */
    const char *version; /* of argobus, or AB_PEER_ARGOCD_AGENT */
    uint64_t epoch;
    int64_t clock_skew_ms; /* peer's clock minus ours, roughly */
    const char
        *certificate; /* PEM: what may be sealed to (base/crypto/seal.h); not verified here */
} ab_peer;

typedef struct {
    /** An event has arrived, in order per key. At most `transport.inflight` unacknowledged ones of
     * STATE per agent. LIVE ones are to be acknowledged at once: beyond a thousand of them, or 1
     * MiB, some are lost (Kafka), or the peer is held up (gRPC). */
    void (*on_event)(void *arg, ab_delivery *delivery);
    /** A peer came or went, by evidence (hello heard in time, stream open). `peer` NULL when it
     * went. Up again while it is up: it has another certificate. */
    void (*on_peer)(void *arg, const char *agent, bool up, const ab_peer *peer);
    /** What our own log to `agent` says for one live key: attributes, no data. Between (re)start
     * and on_ready; forget what was said before when it begins again (on_gap RECREATED comes
     * first).
     */
    void (*on_written)(void *arg, const char *agent, ab_event *head);
    /** Events for `agent` are taken from now on, under this epoch, which is higher than every epoch
     * in the log. May come again after RECREATED. */
    void (*on_ready)(void *arg, const char *agent, uint64_t epoch);
    /** Continuity of receiving from `agent` was lost. Never infer deletions from the replay that
     * follows. */
    void (*on_gap)(void *arg, const char *agent, ab_gap gap);
    /** The replay after a gap, or the first reading after start, has delivered all that was there
     * then. */
    void (*on_caught_up)(void *arg, const char *agent);
    /** After FULL: room again, on whichever lane it was; who sends on both tries both. */
    void (*on_writable)(void *arg, const char *agent);
    /** AGENT, over Kafka; may be NULL. True: a newer process of our name has taken over, and
     * nothing may be applied or changed back until false: it has gone, and what it may have applied
     * was delivered here too. */
    void (*on_displaced)(void *arg, bool displaced);
    /** PRINCIPAL, over gRPC; may be NULL: any mode is admitted. May `agent`, which proved who it
     * is, work in `mode` ("managed", "autonomous")? @param labels  that it brings
     * (schema/labels.h), any text. @param why  when not: what it is told, up to what to do about
     * it. An agent that is connected already: ab_transport_refuse */
    bool (*admits)(void *arg, const char *agent, const char *mode, ab_str labels, ab_error *why);
    /** PRINCIPAL, over Kafka; may be NULL. Nothing is left of what was made for `agent`, which was
     * removed: see remove_agent. */
    void (*on_cleaned_up)(void *arg, const char *agent);
    /** PRINCIPAL, over gRPC; may be NULL. `agent`, which proved who it is, asks for its events, and
     * was not added (ab_transport_add_agent). It asks again and again. */
    void (*on_unserved)(void *arg, const char *agent);
    /** PRINCIPAL, over gRPC; may be NULL: none is. Is the certificate with this SHA-256 fingerprint
     * (32 bytes) revoked, beside those of grpc.auth.revoked? When the answers change:
     * ab_transport_recheck */
    bool (*is_revoked)(void *arg, const uint8_t *fingerprint);
    /**
     * PRINCIPAL, over gRPC; may be NULL: side calls are refused. An argocd-agent has opened a side
     * call, and this is its first message. Who takes it sets handler and arg of `side`, and is
     * given no message twice.
     * @param first  borrowed
     * @return NOTFOUND: nobody waits for it, and the agent is told so
     */
    ab_err (*on_side)(void *arg, const char *agent, ab_side_kind kind, ab_side *side, ab_str first);
    /** It cannot go on: end the process. */
    void (*on_fatal)(void *arg, const ab_error *err);
    void *arg;
} ab_transport_events;

/* What a transport is given; everything borrowed, must outlive it. */
typedef struct {
    uv_loop_t *loop;
    const ab_config *config; /* reads transport.* and <name>.* */
    ab_log *log;
    ab_metrics *metrics;
    const ab_clock *clock;
    ab_role role;
    const char *agent;       /* AGENT: own name; PRINCIPAL: NULL */
    const char *mode;        /* AGENT: own mode; PRINCIPAL: "" */
    const char *certificate; /* AGENT: PEM text that the principal is told; NULL: none */
    const char *labels;      /* AGENT: as schema/labels.h, for when it registers; NULL: none */
    const char *namespace;   /* Argo CD's own here: argocd-agents want to know it; NULL: not told */
    bool by_destination;     /* Applications are mapped by destination, and may be remapped */
    bool replay; /* what was received before is lost here: on_gap FIRST, and receive from the
                    beginning of       every log, whatever position was committed */
    ab_transport_events events;
} ab_transport_env;

/* Outcome of a send: OK when the transport has it safe (Kafka: acknowledged by all in-sync
 * replicas; gRPC: taken, by a principal; acknowledged by the principal, of an agent; live: handed
 * over). TIMEOUT, UNAVAILABLE: unknown or not sent, send the newest again.
 * TOOBIG, DENIED, INVALID: this event will never go; UNSUPPORTED: and no other live one to this
 * peer. CLOSED: stopping. */
typedef void (*ab_sent)(void *arg, ab_err code, const ab_error *err);

typedef struct ab_transport_ops {
    const char *name; /* value of `transport` */
    unsigned caps;
    const ab_options *const *options; /* NULL-terminated */
    size_t size; /* of the implementation's struct, whose first member is ab_transport */

    /** Whether `init` would take the configuration, and the files that it names. `agent` is as in
     * ab_transport_env. NULL: the tables of options say it all. @return CONFIG naming option and
     * file, NOMEM */
    ab_err (*check)(const ab_config *config, ab_role role, const char *agent, ab_error *err);

    /** Take the configuration; `self` is zeroed. No network, no upcall. @return CONFIG, NOMEM */
    ab_err (*init)(ab_transport *self, const ab_transport_env *env, ab_error *err);
    /** Begin. Network trouble is not an error here: it is retried for ever, logged, and shown by
     * `ready`.
     *  @return NOMEM, FATAL */
    ab_err (*start)(ab_transport *self, ab_error *err);
    /** Serve one more agent (principal; before or after start). An agent's own link needs no call.
     *  @return INVALID (no DNS label), EXISTS, NOMEM */
    ab_err (*add_agent)(ab_transport *self, const char *agent, ab_error *err);
    /**
     * Stop serving an agent, which is gone for good; open deliveries of it may still be
     * acknowledged. What is kept for it (its logs, and the positions in them) is removed too, in
     * the background, where this transport is the one that makes it. Failing to is logged, with
     * what stays behind. Added again, the agent begins with new logs, never with some of the old:
     * an agent that runs sees RECREATED. Unknown: nothing happens.
     * @return true: that goes on in the background; on_cleaned_up follows, unless it fails
     */
    bool (*remove_agent)(ab_transport *self, const char *agent);
    /**
     * Send one event to `agent` (at an agent: NULL, it goes up). STATE needs attributes
     * partitionkey, writerepoch and objversion. The transport takes its own reference.
     * @param deadline_ms  LIVE: give up after this long, 0: when the transport does; STATE: 0
     * @return OK: `done` runs once, later; FULL: on_writable follows; UNAVAILABLE: no on_ready yet
     * for this agent, or nobody is reached now: try again, with the newest; NOTFOUND: no such
     * agent; CLOSED. Unless OK, `done` never runs
     */
    ab_err (*send)(ab_transport *self, const char *agent, ab_lane lane, ab_event *event,
                   int64_t deadline_ms, ab_sent done, void *arg);
    /** Give a delivery back, in any order. A restart skips the lowest contiguous run of APPLIED
     * ones at least. */
    void (*ack)(ab_transport *self, ab_delivery *delivery, ab_verdict verdict);
    /**
     * PRINCIPAL: the changes that are not in effect at their receiver, as far as the transport
     * knows of them: AB_DOWN at the agent, AB_UP here. The caller may hold in it what waits before
     * it is sent. What is in effect at the agent is learned with a delay of seconds.
     * @return NULL: no such agent. Borrowed until that is removed
     */
    ab_pending *(*pending)(ab_transport *self, const char *agent, ab_direction direction);
    /**
     * PRINCIPAL; NULL: nobody is told. The control plane refuses this agent from now on, or not any
     * more. The agent learns why, sends nothing and is delivered nothing until it is not refused.
     * An agent that is not served: nothing happens.
     * @param why  what the agent is told; copied. NULL: it is not refused
     * @return NOMEM: the agent is told what it was told before
     */
    ab_err (*refuse)(ab_transport *self, const char *agent, const char *why);
    /** PRINCIPAL; NULL: nobody logs in. `is_revoked` answers otherwise from now on: disconnect
     * whose certificate is revoked. Before start or after close: nothing happens. */
    void (*recheck)(ab_transport *self);
    /**
     * AGENT whose principal is argocd-agent's; NULL: there are no side calls. Begin one.
     * @param handler  borrowed until the call is over
     * @param out      belongs to the transport
     * @return UNAVAILABLE: no such principal is connected, or it allows no more calls; NOMEM
     */
    ab_err (*open_side)(ab_transport *self, ab_side_kind kind, const ab_side_handler *handler,
                        void *arg, ab_side **out);
    /** True when its peers are reachable as far as it can know; else one line of reason. For
     * /readyz. */
    bool (*ready)(ab_transport *self, ab_buf *why);
    /** Refuse new sends, deliver nothing more. Open deliveries may still be acknowledged. Never
     * blocks. */
    void (*close)(ab_transport *self);
    /** After close: wait for sends in flight and commit what was acknowledged, at most
     * `deadline_ms`, then call `stopped` once. No upcall follows. Deliveries still open are
     * forgotten (they will come again). */
    void (*stop)(ab_transport *self, int64_t deadline_ms, void (*stopped)(void *arg), void *arg);
    /** Release everything; after stopped, or when never started. */
    void (*fini)(ab_transport *self);
} ab_transport_ops;

struct ab_transport {
    const ab_transport_ops *ops;
    ab_transport_env env;
    bool certificate_is_new; /* the principal is to be told at once */
};

/** The transports a user can name, NULL-terminated. */
extern const ab_transport_ops *const ab_transport_table[];
/** `transport` and transport.*, common to all; the options of each transport are in its ops. */
extern const ab_options ab_transport_options;

/**
 * Make the transport that the option `transport` names.
 * @param env  copied; what it points to is borrowed
 * @param out  owned by the caller: ab_transport_free
 */
AB_MUST_USE ab_err ab_transport_new(const ab_transport_env *env, ab_transport **out, ab_error *err);
/** As ab_transport_new, with ops that are not in the table (tests). */
AB_MUST_USE ab_err ab_transport_new_with(const ab_transport_ops *ops, const ab_transport_env *env,
                                         ab_transport **out, ab_error *err);
/** Look at the configuration and its files without making a transport. `agent` is as in
 * ab_transport_env. @return CONFIG, NOMEM */
AB_MUST_USE ab_err ab_transport_check(const ab_config *config, ab_role role, const char *agent,
                                      ab_error *err);
/** fini and free; NULL is allowed. Only when stopped or never started. */
void ab_transport_free(ab_transport *t);

/** AGENT: from now on the principal is told this certificate, env.certificate; borrowed. */
void ab_transport_tell_certificate(ab_transport *t, const char *certificate);

/** Show in the metrics whether the principal refuses this agent; on either side. Loop thread. */
void ab_transport_show_refused(ab_metrics *metrics, const char *agent, bool refused);

/* The ops by function call; contracts above each slot. */
AB_MUST_USE ab_err ab_transport_start(ab_transport *t, ab_error *err);
AB_MUST_USE ab_err ab_transport_add_agent(ab_transport *t, const char *agent, ab_error *err);
bool ab_transport_remove_agent(ab_transport *t, const char *agent);
AB_MUST_USE ab_err ab_transport_send(ab_transport *t, const char *agent, ab_lane lane,
                                     ab_event *event, int64_t deadline_ms, ab_sent done, void *arg);
void ab_transport_ack(ab_transport *t, ab_delivery *delivery, ab_verdict verdict);
ab_pending *ab_transport_pending(ab_transport *t, const char *agent, ab_direction direction);
AB_MUST_USE ab_err ab_transport_refuse(ab_transport *t, const char *agent, const char *why);
void ab_transport_recheck(ab_transport *t);
AB_MUST_USE ab_err ab_transport_open_side(ab_transport *t, ab_side_kind kind,
                                          const ab_side_handler *handler, void *arg, ab_side **out);
bool ab_transport_ready(ab_transport *t, ab_buf *why);
void ab_transport_close(ab_transport *t);
void ab_transport_stop(ab_transport *t, int64_t deadline_ms, void (*stopped)(void *arg), void *arg);
