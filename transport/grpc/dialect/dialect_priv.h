/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a dialect: dialect.c (life, the stream as the link sees it), outgoing.c (what the
 * link sends becomes theirs), sending.c (one event under way per resource), incoming.c (what they
 * send becomes ours), resync.c (their resync messages), inventory.c (ours), checksum.c, payload.c
 * (JSON both ways).
 */
#pragma once

#include "base/digest.h"
#include "base/map.h"
#include "transport/grpc/dialect/dialect.h"
#include "transport/grpc/dialect/go_event.h"

#include <sys/queue.h>

/* What an event of theirs becomes, at most. */
#define AB_DIALECT_PARTS_MAX 3
/* SHA-256. */
#define AB_DIALECT_CHECKSUM 32

/* An event for the peer, until it has acknowledged it. */
typedef struct ab_dialect_item {
    TAILQ_ENTRY(ab_dialect_item) at;
    ab_event *event; /* of ours, which it carries; NULL: the dialect's own */
    uint64_t epoch;  /* of that */
    uint64_t version;
    bool settled; /* the link counts it as acknowledged */
    bool newest;  /* a newer state takes its place while it waits */
    ab_go_event go;
    ab_buf data; /* what go.data points to */
    bool summed; /* of an object's state */
    uint8_t checksum[AB_DIALECT_CHECKSUM];
} ab_dialect_item;
TAILQ_HEAD(ab_dialect_items, ab_dialect_item);

/* One resource of ours, by its key: what waits for it and what is under way. */
typedef struct ab_dialect_resource {
    struct ab_dialect_items waiting;
    STAILQ_ENTRY(ab_dialect_resource) ready_at;
    bool ready;            /* is in the dialect's list */
    ab_dialect_item *sent; /* and not acknowledged */
    TAILQ_ENTRY(ab_dialect_resource) sent_at;
    int64_t since_ms; /* first sent */
    int64_t due_ms;   /* to be sent again */
    ab_backoff backoff;
    bool aside; /* it no longer counts as under way: others may be sent */
    char *uid;  /* of the object as last told or heard; NULL: not known */
    char *key;
    uint64_t epoch; /* of the newest event that the peer has acknowledged */
    uint64_t version;
    bool failed; /* the peer has told an error about it */

    /* What the peer has of it: as it acknowledged, or as it says. Where it is the peer's own, what
     * was heard of it. */
    bool present;
    ab_digest hash; /* attribute contenthash of ours; none: not known */
    bool summed;
    uint8_t checksum[AB_DIALECT_CHECKSUM];
} ab_dialect_resource;

/* An event of theirs that the link deals with. */
typedef struct ab_dialect_pending {
    TAILQ_ENTRY(ab_dialect_pending) at;
    ab_event *go;
    ab_event *parts[AB_DIALECT_PARTS_MAX]; /* NULL: dealt with */
    size_t count;
} ab_dialect_pending;
TAILQ_HEAD(ab_dialect_pendings, ab_dialect_pending);

/* What the link is to receive. */
typedef struct ab_dialect_word {
    STAILQ_ENTRY(ab_dialect_word) at;
    ab_event *event;
} ab_dialect_word;

struct ab_dialect {
    const ab_dialect_env *env;
    ab_grpc_link *link;
    STAILQ_ENTRY(ab_dialect) woken_at; /* of whoever `wake` asked to run it */
    bool woken;

    const ab_grpc_stream_ops *ops; /* NULL: no stream */
    void *stream;
    bool blocked; /* it is FULL */
    char mode[16];
    char namespace[64]; /* of the peer */

    /* The argobus peer that the link sees. */
    char instance[37];
    char source[96];
    uint64_t epoch;
    uint64_t version;
    bool greeted; /* the link was told hello on this stream */

    /* Resync. */
    char owner[64];     /* agent: uid of the principal's installation; "" = not heard yet */
    bool introduced;    /* the peer was told that we are here, once per process */
    bool ask_due;       /* principal: the agent holds something else */
    bool look_due;      /* agent: what it holds is to be asked about */
    bool republish_due; /* autonomous agent: the principal holds something else */
    int64_t republish_at;
    bool fresh; /* the next hello says that all was lost */
    char resync_id[37];
    size_t pages_due;

    ab_map *resources; /* by key */
    STAILQ_HEAD(, ab_dialect_resource) ready;
    TAILQ_HEAD(, ab_dialect_resource) sent;
    size_t under_way;
    struct ab_dialect_pendings pending;
    struct ab_dialect_pendings acked; /* the peer is to be told */
    STAILQ_HEAD(, ab_dialect_word) words;
};

bool ab_dialect_is_principal(const ab_dialect *d);
void ab_dialect_wake(ab_dialect *d);
/** An event of the argobus peer that the link sees: with source, time and version.
 *  @param id  NULL: a new one
 *  @return one reference; NULL when it cannot be made */
ab_event *ab_dialect_make(ab_dialect *d, ab_event_draft *draft, const char *id);
/** The link is to receive this, soon. The reference is taken over; NULL is out of memory. */
void ab_dialect_say(ab_dialect *d, ab_event *event);
/** The link's event is dealt with. */
void ab_dialect_settle(ab_dialect *d, const ab_event *event);
/** To the link the peer is another one, which has lost everything. */
void ab_dialect_begin_anew(ab_dialect *d);
/** Memory has run out. */
void ab_dialect_fatal(const ab_dialect *d, const char *what);
/** Log and count what cannot be carried. */
void ab_dialect_drop(const ab_dialect *d, const char *reason, const ab_event *event,
                     const ab_error *err);

/* outgoing.c */
/** An event of the link's state lane that is for the peer. */
void ab_dialect_carry(ab_dialect *d, ab_event *event);

/** The peer has acknowledged what it was sent of this resource. */
void ab_dialect_carried(ab_dialect *d, ab_dialect_resource *r, const ab_dialect_item *item);

/* sending.c */
/** @return NULL when out of memory */
ab_dialect_resource *ab_dialect_resource_for(ab_dialect *d, ab_str key);
/** Queue an item of this resource. `alone`: nothing that waits or is under way counts any more. */
void ab_dialect_put(ab_dialect *d, ab_dialect_resource *r, ab_dialect_item *item, bool alone);
void ab_dialect_item_free(ab_dialect_item *item);
/** Send what is ready. @return as the stream */
AB_MUST_USE ab_err ab_dialect_send_ready(ab_dialect *d);
/** The peer has acknowledged an event. */
void ab_dialect_acknowledged(ab_dialect *d, const ab_event *ack);
/** A new stream: what is under way is sent again at once. */
void ab_dialect_send_again(ab_dialect *d);
/** What is due is sent again. */
void ab_dialect_look_at_sent(ab_dialect *d);
void ab_dialect_forget_resources(ab_dialect *d);

/* incoming.c */
/** An event of theirs, of whatever kind. */
void ab_dialect_take(ab_dialect *d, ab_event *go);
/** The link has dealt with one part of an event of theirs. */
void ab_dialect_part_done(ab_dialect *d, const ab_event *ack);
/** Tell the peer what is dealt with. @return as the stream */
AB_MUST_USE ab_err ab_dialect_send_acks(ab_dialect *d);
/** A new stream: the link may have let go what it had not taken up. */
void ab_dialect_repeat_pending(ab_dialect *d);
void ab_dialect_forget_pending(ab_dialect *d);
/** The stream has ended: forget what nobody deals with here any more. The peer repeats it, as it
 * does with all that is not acknowledged. */
void ab_dialect_forget_returned(ab_dialect *d);

/** Call `visit` for each resource that is present now; it may add others. */
void ab_dialect_each_present(ab_dialect *d,
                             void (*visit)(ab_dialect *d, const ab_dialect_resource *r));

/* resync.c */
/** Do we say how objects are, or the peer? */
bool ab_dialect_is_source(const ab_dialect *d);
/** A stream has opened. */
void ab_dialect_resync_begin(ab_dialect *d);
/** A resync message of theirs that this side may get. */
void ab_dialect_take_resync(ab_dialect *d, ab_type type, const ab_event *go);
/** Have the peer, which is the source, say what there is of this. */
void ab_dialect_ask_about(ab_dialect *d, ab_str key);
/** What was heard may not count here: have it all said again. */
void ab_dialect_distrust(ab_dialect *d);
void ab_dialect_resync_tick(ab_dialect *d);

/* inventory.c */
/** A step or a page of the link's resync. */
void ab_dialect_take_control(ab_dialect *d, const ab_event *event);
/** Have the principal's machine compare. */
void ab_dialect_ask(ab_dialect *d);
/** Have the agent's machine tell what it holds. */
void ab_dialect_look_into_agent(ab_dialect *d);

/* checksum.c */
/** @return false when there is nothing to sum, or no memory */
bool ab_dialect_checksum(ab_jsonv object, ab_str kind, uint8_t out[AB_DIALECT_CHECKSUM]);

/* payload.c */
/* What is changed of an object on its way. */
typedef struct {
    const char *kind;      /* where it does not say: Go's typed objects do not; NULL: as it is */
    const char *namespace; /* to be named in; NULL: as it is */
    bool drop_operation;
} ab_dialect_edit;
/** Append the object without argobus's own annotations. The outcome is in the buffer's status. */
void ab_dialect_payload(ab_jsonv object, const ab_dialect_edit *edit, ab_buf *out);
/** Append an object of which only the identity is known. */
void ab_dialect_outline(ab_str key, const char *uid, const char *namespace, ab_buf *out);
/** "<name>_<uid>" and "<name>_<uid>_<version>". */
void ab_dialect_name(ab_go_event *go, ab_str name, ab_str uid, ab_str version);
