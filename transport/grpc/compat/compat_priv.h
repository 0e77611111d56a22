/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a compatibility layer, each of which calls only those below it: compat.c (life, the
 * stream as the link sees it), incoming.c (what they send becomes ours), live.c (live access, both
 * ways), outgoing.c (what the link sends becomes theirs), inventory.c (our resync), resync.c
 * (theirs), sending.c (one event under way per resource), peer.c (what the link is told),
 * checksum.c, payload.c (JSON both ways).
 */
#pragma once

#include "base/core/digest.h"
#include "base/core/map.h"
#include "base/observe/log_quota.h"
#include "transport/grpc/compat/compat.h"
#include "transport/grpc/compat/go_event.h"

#include <sys/queue.h>

/* What an event of theirs becomes, at most. */
#define AB_COMPAT_PARTS_MAX 3
/* SHA-256. */
#define AB_COMPAT_CHECKSUM 32

/* An event for the peer, until it has acknowledged it. */
typedef struct ab_compat_item {
    TAILQ_ENTRY(ab_compat_item) at;
    ab_event *event; /* of ours, which it carries; NULL: the compatibility layer's own */
    uint64_t epoch;  /* of that */
    uint64_t version;
    bool acknowledged; /* the link counts it as acknowledged */
    bool newest;       /* a newer state takes its place while it waits */
    ab_go_event go;
    ab_buf data; /* what go.data points to */
    bool summed; /* of an object's state */
    uint8_t checksum[AB_COMPAT_CHECKSUM];
} ab_compat_item;
TAILQ_HEAD(ab_compat_items, ab_compat_item);

/* One resource of ours, by its key: what waits for it and what is under way. */
typedef struct ab_compat_resource {
    struct ab_compat_items waiting;
    STAILQ_ENTRY(ab_compat_resource) ready_at;
    bool ready;           /* is in the compatibility layer's list */
    ab_compat_item *sent; /* and not acknowledged */
    TAILQ_ENTRY(ab_compat_resource) sent_at;
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
    uint8_t checksum[AB_COMPAT_CHECKSUM];
} ab_compat_resource;

/* An event of theirs that the link deals with. */
typedef struct ab_compat_pending {
    TAILQ_ENTRY(ab_compat_pending) at;
    ab_event *go;                         /* without its data */
    ab_event *parts[AB_COMPAT_PARTS_MAX]; /* NULL: dealt with */
    size_t count;
} ab_compat_pending;
TAILQ_HEAD(ab_compat_pendings, ab_compat_pending);

/* What the link is to receive. */
typedef struct ab_compat_word {
    STAILQ_ENTRY(ab_compat_word) at;
    ab_event *event;
} ab_compat_word;

struct ab_compat {
    ab_compat_env *env;
    ab_grpc_link *link;
    ab_link woken_at; /* in env->woken */

    const ab_grpc_stream_ops *ops; /* NULL: no stream */
    void *stream;
    bool blocked;    /* it is FULL */
    bool paused;     /* nothing is read of it */
    bool link_waits; /* the link wants nothing more for now */
    char mode[16];
    char namespace[64]; /* of the peer */

    /* The argobus peer that the link sees. */
    char instance[37];
    char source[96];
    uint64_t epoch;
    uint64_t version;
    bool greeted; /* the link was told hello on this stream */

    /* Resync. */
    char owner[64];        /* agent: uid of the principal's installation; "" = not heard yet */
    bool introduced;       /* the peer was told that we are here, once per process */
    bool ask_due;          /* principal: the agent holds something else */
    bool resync_requested; /* agent: what it holds is to be asked about */
    bool republish_due;    /* autonomous agent: the principal holds something else */
    int64_t republish_at;
    bool tell_all_due;                    /* the peer wants to know what there is */
    bool ask_all_due;                     /* ... and to be asked about all */
    int64_t all_at;                       /* when it may want that again */
    uint8_t list_sum[AB_COMPAT_CHECKSUM]; /* of what it has */
    bool fresh;                           /* the next hello says that all was lost */
    char resync_id[37];
    size_t pages_due;

    ab_map *resources; /* by key */
    STAILQ_HEAD(, ab_compat_resource) ready;
    TAILQ_HEAD(, ab_compat_resource) sent;
    size_t under_way;
    struct ab_compat_pendings pending;
    struct ab_compat_pendings acked; /* the peer is to be told */
    size_t owed_bytes;               /* of both */
    STAILQ_HEAD(, ab_compat_word) events_for_link;
    ab_log_quota lines; /* that what the peer sends has caused */
};

/* peer.c */
bool ab_compat_is_principal(const ab_compat *d);
/** Do we say how objects are, or the peer? */
bool ab_compat_is_source(const ab_compat *d);
/** Have its turn of the loop come. */
void ab_compat_wake(ab_compat *d);
/** An event of the argobus peer that the link sees: with source, time and version.
 *  @param id  NULL: a new one
 *  @return one reference; NULL when it cannot be made */
ab_event *ab_compat_make(ab_compat *d, ab_event_draft *draft, const char *id);
/** The link is to receive this, soon. The reference is taken over; NULL is out of memory. */
void ab_compat_report(ab_compat *d, ab_event *event);
/** The link's event is dealt with. */
void ab_compat_acknowledge(ab_compat *d, const ab_event *event);
/** Memory has run out. */
void ab_compat_fatal(const ab_compat *d, const char *what);
/** Log and count what cannot be carried. */
void ab_compat_drop(ab_compat *d, const char *reason, const ab_event *event, const ab_error *err);

/* outgoing.c */
/** An event of the link's state lane that is for the peer. */
void ab_compat_carry(ab_compat *d, ab_event *event);

/* live.c */
/** Give the link a call for live events. */
void ab_compat_live_open(ab_compat *d);
/** An event of live access of theirs. */
void ab_compat_live_take(ab_compat *d, const ab_event *go);

/* sending.c */
/** @return NULL when out of memory */
ab_compat_resource *ab_compat_resource_for(ab_compat *d, ab_str key);
/** Whether the peer may speak of this resource: it may invent as many keys as it likes. */
bool ab_compat_may_name(const ab_compat *d, ab_str key);
/** Queue an item of this resource. `alone`: nothing that waits or is under way counts any more. */
void ab_compat_put(ab_compat *d, ab_compat_resource *r, ab_compat_item *item, bool alone);
void ab_compat_item_free(ab_compat_item *item);
/** Send what is ready. @return as the stream */
AB_MUST_USE ab_err ab_compat_send_ready(ab_compat *d);
/** The peer has acknowledged an event. */
void ab_compat_acknowledged(ab_compat *d, const ab_event *ack);
/** A new stream: what is under way is sent again at once. */
void ab_compat_send_again(ab_compat *d);
/** What is due is sent again. */
void ab_compat_check_sent(ab_compat *d);
void ab_compat_forget_resources(ab_compat *d);

/** Call `visit` for each resource that is present now; it may add others. */
void ab_compat_each_present(ab_compat *d, void (*visit)(ab_compat *d, const ab_compat_resource *r));

/* incoming.c */
/** An event of theirs, of whatever kind. */
void ab_compat_take(ab_compat *d, ab_event *go);
/** The link has dealt with one part of an event of theirs. */
void ab_compat_part_done(ab_compat *d, const ab_event *ack);
/** Tell the peer what is dealt with. @return as the stream */
AB_MUST_USE ab_err ab_compat_send_acks(ab_compat *d);
/** A new stream: the link may have dropped what it had not taken up. */
void ab_compat_repeat_pending(ab_compat *d);
void ab_compat_forget_pending(ab_compat *d);
/** The stream has ended: forget what nobody deals with here any more. The peer repeats it, as it
 * does with all that is not acknowledged. */
void ab_compat_forget_returned(ab_compat *d);

/* resync.c */
/** A stream has opened. */
void ab_compat_resync_begin(ab_compat *d);
/** A resync message of theirs that this side may get. */
void ab_compat_take_resync(ab_compat *d, ab_type type, const ab_event *go);
/** Have the peer, which is the source, say what there is of this. */
void ab_compat_ask_about(ab_compat *d, ab_str key);
/** What was heard may not count here: have it all said again. */
void ab_compat_distrust(ab_compat *d);
/** Time has passed. @return true: all that the peer holds is to be said again */
bool ab_compat_resync_tick(ab_compat *d);

/* inventory.c */
/** A step or a page of the link's resync. */
void ab_compat_take_control(ab_compat *d, const ab_event *event);
/** Time has passed: begin the comparison that is due. */
void ab_compat_inventory_tick(ab_compat *d);

/* checksum.c */
/** @return false when there is nothing to sum, or no memory */
bool ab_compat_checksum(ab_spanv object, ab_str kind, uint8_t out[AB_COMPAT_CHECKSUM]);

/* payload.c */
/* What is changed of an object on its way. */
typedef struct {
    const char *kind;      /* where it does not say: Go's typed objects do not; NULL: as it is */
    const char *namespace; /* to be named in; NULL: as it is */
    bool drop_operation;
} ab_compat_edit;
/** Append the object without argobus's own annotations. The outcome is in the buffer's status. */
void ab_compat_payload(ab_spanv object, const ab_compat_edit *edit, ab_buf *out);
/** Append an object of which only the identity is known. */
void ab_compat_snapshot(ab_str key, const char *uid, const char *namespace, ab_buf *out);
/** "<name>_<uid>" and "<name>_<uid>_<version>". */
void ab_compat_name(ab_go_event *go, ab_str name, ab_str uid, ab_str version);
