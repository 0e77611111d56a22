/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a link: link.c (life, streams), which calls handshake.c (hellos, gaps, presence),
 * which calls inbound.c (what comes in, acknowledgement), which calls outbound.c (what goes out),
 * which calls live.c (the live lane), which calls receipt.c (what senders are told) and tell.c
 * (trouble).
 */
#pragma once

#include "base/core/digest.h"
#include "base/observe/log_quota.h"
#include "transport/grpc/link/hello.h"
#include "transport/grpc/link/link.h"
#include "transport/grpc/link/sendq.h"
#include "transport/grpc/wire.h"

/* What the caller of a send is told, and when. */
typedef struct ab_grpc_receipt {
    STAILQ_ENTRY(ab_grpc_receipt) at;
    ab_sent done;
    void *arg;
    ab_err code;
    ab_event *event;     /* NULL once it is in the queue of the state lane */
    int64_t deadline_ms; /* live lane: our monotonic clock */
} ab_grpc_receipt;
STAILQ_HEAD(ab_grpc_receipts, ab_grpc_receipt);

typedef struct ab_grpc_delivery {
    ab_delivery base; /* first */
    TAILQ_ENTRY(ab_grpc_delivery) at;
    ab_grpc_link *link;
    uint64_t stream; /* number of the stream that it came by */
    bool live_call;  /* it came by the call for live events: see ab_grpc_live */
    uint64_t epoch;
    uint64_t version;
    size_t bytes; /* that count in link->received, or in link->live.open_bytes */
} ab_grpc_delivery;
TAILQ_HEAD(ab_grpc_deliveries, ab_grpc_delivery);

/* An event of which the peer is to be told. */
typedef struct {
    uint64_t epoch;
    uint64_t version;
} ab_grpc_ack;

typedef struct {
    ab_metric *received[2]; /* by ab_lane */
    ab_metric *sent[2];
    ab_metric *unacknowledged;
    ab_metric *peer_up;
    ab_metric *last_seen;
} ab_grpc_link_metrics;

/* The live lane. Its events have a call of their own, so that neither lane waits for the other: the
 * agent opens it when either side has something to send, and the principal ends it when it has
 * been idle. A peer that knows no such call, as an argocd-agent, is sent none. */
typedef struct {
    const ab_grpc_stream_ops *ops; /* NULL: no call is attached */
    void *stream;
    bool wanted; /* one is to be opened; a principal has the agent do it */
    bool begun;  /* AGENT: open_live was called, and the call is not over */
    int64_t wanted_ms;
    int64_t used_ms; /* when an event went or came last */
    bool blocked;    /* the call is FULL */
    bool paused;
    bool starved;                   /* FULL was answered */
    struct ab_grpc_receipts queue;  /* to be sent */
    size_t queue_bytes;             /* of it */
    struct ab_grpc_deliveries open; /* that came by the call */
    size_t open_bytes;
} ab_grpc_live;

struct ab_grpc_link {
    ab_grpc_link_env *env;
    ab_link woken_at;   /* in env->woken */
    ab_link retired_at; /* in env->retired */
    size_t calls;       /* that have to do with it */
    char agent[64];
    char source[96];      /* of our events */
    char peer_source[96]; /* that the peer's must have */
    bool served;
    bool closed;
    bool fresh; /* what the peer sent before this link was begun is lost here */
    char instance[37];
    uint64_t epoch;      /* 0 = not ready */
    uint64_t last_epoch; /* highest that was used or offered */

    const ab_grpc_stream_ops *ops; /* NULL: no stream is attached */
    void *stream;
    uint64_t streams; /* how many there were */
    uint64_t met_on;  /* on which of them the peer was another one, and when */
    int64_t met_at;
    bool blocked; /* it is FULL */
    bool paused;
    bool refused;    /* the stream is to be cut; the next login is told why */
    char called[96]; /* "", or how the peer calls itself, not as it has logged in: to be cut, too */
    bool hello_due;
    bool hello_sent;  /* on this stream */
    bool greeted;     /* the peer said hello on this stream, and does not leave */
    bool lost;        /* at the last tick it had sent nothing for too long */
    int64_t spoke_ms; /* when something went out on it last */

    ab_pending down; /* PRINCIPAL: what is not in effect at the agent, and here */
    ab_pending up;
    ab_grpc_sendq queue;
    ab_grpc_live live;
    struct ab_grpc_receipts finished; /* to be told */
    bool starved;                     /* FULL was answered */

    struct ab_grpc_deliveries open;  /* both lanes */
    struct ab_grpc_deliveries held;  /* past the cap, not delivered yet */
    struct ab_grpc_deliveries acked; /* the peer is to be told of each */
    size_t acked_count;
    ab_buf acks;            /* of ab_grpc_ack: it is to be told of them in lists */
    size_t open_count[2];   /* by ab_lane */
    ab_rpc_budget received; /* of those that are open, or to be told one by one */

    struct {
        char instance[40];     /* "" = not known */
        uint64_t epoch;        /* highest that it told */
        uint64_t former_epoch; /* highest of the instances before it */
        size_t window;
        size_t message_max;
        int64_t heartbeat_ms;
        bool ack_lists; /* of the hello on this stream; so is the next */
        bool live_call; /* it knows the call for live events */
        bool up;        /* as told by on_peer; so is the certificate */
        ab_digest certificate;
    } peer;
    int64_t backlog; /* what is still to come of what was there at the hello */
    bool caught_up;

    ab_grpc_link_metrics metrics; /* none while it is not served */
    ab_log_quota lines;           /* that the peer has caused */
    ab_log_quota stream_lines;    /* about its streams */
};

/* tell.c */
/** Have its turn of the loop come. */
void ab_grpc_tell_wake(ab_grpc_link *l);
/** Memory has run out, or a bug shows. */
void ab_grpc_tell_fatal(const ab_grpc_link *l, ab_err code, const char *what);
/** Count an event that is passed over, and log it as often as a peer may have it. */
void ab_grpc_tell_refused(ab_grpc_link *l, const char *reason, const ab_error *err);

/* receipt.c */
/** @param deadline_ms  from now; 0 or less: none
 *  @return NULL: no memory */
ab_grpc_receipt *ab_grpc_receipt_new(const ab_grpc_link *l, ab_event *event, int64_t deadline_ms,
                                     ab_sent done, void *arg);
/** Whether both ends take an event of this size. */
bool ab_grpc_receipt_fits(const ab_grpc_link *l, const ab_grpc_receipt *r);
/** The first of a list, taken off; NULL: it is empty. */
ab_grpc_receipt *ab_grpc_receipt_take(struct ab_grpc_receipts *list);
/** The sender is told this code by the next run. */
void ab_grpc_receipt_finish(ab_grpc_link *l, ab_grpc_receipt *r, ab_err code);
/** Tell the senders what has become of their events. What they then send waits for the next run. */
void ab_grpc_receipt_report(ab_grpc_link *l);
/** Forget those that are finished, without telling. */
void ab_grpc_receipt_fini(ab_grpc_link *l);

/* live.c */
void ab_grpc_live_init(ab_grpc_link *l);
/** As ab_grpc_link_send; sent at once where that is possible. */
AB_MUST_USE ab_err ab_grpc_live_send(ab_grpc_link *l, ab_event *event, int64_t deadline_ms,
                                     ab_sent done, void *arg);
/** Send what waits, and have a call opened for it. */
void ab_grpc_live_run(ab_grpc_link *l);
/** There is room again for a sender that got FULL: it is to be told now. */
bool ab_grpc_live_feeds(ab_grpc_link *l);
/** AGENT: the principal has asked for a call. */
void ab_grpc_live_want(ab_grpc_link *l);
/** Our hello is to ask for a call. */
bool ab_grpc_live_asks(const ab_grpc_link *l);
/** Give a delivery back that came by the call. */
void ab_grpc_live_ack(ab_grpc_link *l, ab_grpc_delivery *d);
/** End events whose time is over, and a call that is idle. */
void ab_grpc_live_tick(ab_grpc_link *l);
/** Every event that waits ends with this code; told by the next run. */
void ab_grpc_live_drop(ab_grpc_link *l, ab_err code);
/** The stream has ended: so does the call, and what waits for it. */
void ab_grpc_live_reset(ab_grpc_link *l, const char *why);
void ab_grpc_live_fini(ab_grpc_link *l);

/* outbound.c */
/** Encode and send one event. @return as ab_rpc_send; what encoding says */
AB_MUST_USE ab_err ab_grpc_outbound_transmit(ab_grpc_link *l, ab_event *event);
/** Send the state events that wait. @return as ab_grpc_outbound_transmit */
AB_MUST_USE ab_err ab_grpc_outbound_send(ab_grpc_link *l);
/** The peer has dealt with the events of ours that this acknowledgement tells. */
void ab_grpc_outbound_acknowledged(ab_grpc_link *l, const ab_event *ack);
/** Who got FULL may send again, if there is room. */
void ab_grpc_outbound_feed(ab_grpc_link *l);
/** Every event that waits, on both lanes, ends with this code; told by the next run. */
void ab_grpc_outbound_drop(ab_grpc_link *l, ab_err code);
void ab_grpc_outbound_fini(ab_grpc_link *l);

/* inbound.c */
/** An event that is for the layer above. */
void ab_grpc_inbound_take(ab_grpc_link *l, ab_event *event);
/** Deliver what was held, as far as there is room. */
void ab_grpc_inbound_run(ab_grpc_link *l);
/** Tell the peer what is dealt with. @return as ab_grpc_outbound_transmit */
AB_MUST_USE ab_err ab_grpc_inbound_send_acks(ab_grpc_link *l);
/** All that is dealt with was told. */
bool ab_grpc_inbound_is_told(const ab_grpc_link *l);
/** The stream is gone: what is held, or was to be told in a list, comes again by the next. */
void ab_grpc_inbound_reset(ab_grpc_link *l);
void ab_grpc_inbound_fini(ab_grpc_link *l);
/** One more of the peer's state events is here: tell when that were all. */
void ab_grpc_inbound_count(ab_grpc_link *l);

/* handshake.c */
/** A new instance for the peer to see. */
void ab_grpc_handshake_begin(ab_grpc_link *l);
/** Send the hello that is due. @return as ab_grpc_outbound_transmit */
AB_MUST_USE ab_err ab_grpc_handshake_say(ab_grpc_link *l);
/** The peer said hello. */
void ab_grpc_handshake_hear(ab_grpc_link *l, const ab_event *event);
/** The peer is gone. */
void ab_grpc_handshake_gone(ab_grpc_link *l);
