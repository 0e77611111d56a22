/* SPDX-License-Identifier: Apache-2.0
 *
 * The state lane's events that one peer has not acknowledged, in the order they were given. They
 * stay through any number of streams. A state that was not sent yet is replaced by a newer one of
 * its key, unless something that must keep its place (a command, an answer, a control record) was
 * given in between.
 *
 * Pure: no I/O; loop thread.
 */
#pragma once

#include "event/event.h"
#include "transport/pending.h"

#include <sys/queue.h>

#define AB_GRPC_SENDQ_BUCKETS 64

/* One event that waits to be sent, or was sent and waits to be acknowledged. */
typedef struct ab_grpc_item {
    TAILQ_ENTRY(ab_grpc_item) at;
    ab_event *event;
    ab_str key;  /* of the event */
    void *token; /* the caller's; NULL for none */
    uint64_t place;
    uint64_t epoch;
    uint64_t version;
    bool sent;
    bool newest;                    /* of its key, among those that were not sent */
    unsigned bucket;                /* of its key */
    LIST_ENTRY(ab_grpc_item) alike; /* in its bucket, while it is the newest */
} ab_grpc_item;
LIST_HEAD(ab_grpc_bucket, ab_grpc_item);

typedef struct {
    TAILQ_HEAD(ab_grpc_items, ab_grpc_item) items; /* those that were sent come first */
    ab_grpc_item *next;                            /* the first that was not */
    /* The newest items by key. Few wait to be sent: there are never many in a bucket, and they need
     * no memory of their own. */
    struct ab_grpc_bucket newest[AB_GRPC_SENDQ_BUCKETS];
    uint64_t last_place;
    uint64_t fixed_place; /* what was given up to here is not replaced */
    size_t count;
    size_t sent;
    size_t bytes;
    size_t waiting_bytes; /* of those that were not sent */
    ab_pending *pending;  /* told of what is in the queue; NULL: nobody is */
} ab_grpc_sendq;

/** @param pending  holds what is in the queue; borrowed; NULL: nobody is told */
void ab_grpc_sendq_init(ab_grpc_sendq *q, ab_pending *pending);
/** Forget everything; also of a zeroed one. Tokens are not given back. */
void ab_grpc_sendq_fini(ab_grpc_sendq *q);
/**
 * Add an event, which has partitionkey, writerepoch and objversion.
 *
 * @param token     comes back by `replaced`, ab_grpc_sendq_ack or ab_grpc_sendq_pop
 * @param replaced  the token of a state that need not be sent any more; NULL when there is none
 * @return NOMEM, INVALID: a number is none
 */
AB_MUST_USE ab_err ab_grpc_sendq_put(ab_grpc_sendq *q, ab_event *event, void *token,
                                     void **replaced);
/** The next event to send, NULL when there is none. */
ab_event *ab_grpc_sendq_next(const ab_grpc_sendq *q);
/** That event was sent. */
void ab_grpc_sendq_sent(ab_grpc_sendq *q);
/** That event, the next one, is never to be sent. @return its token */
void *ab_grpc_sendq_skip(ab_grpc_sendq *q);
/**
 * The peer is done with the first sent event of these attributes.
 * @param key    absent: of whatever key
 * @param token  of that event
 * @return NOTFOUND
 */
AB_MUST_USE ab_err ab_grpc_sendq_ack(ab_grpc_sendq *q, ab_str key, uint64_t epoch, uint64_t version,
                                     void **token);
/** Nothing counts as sent: a new stream. */
void ab_grpc_sendq_rewind(ab_grpc_sendq *q);
/** Take the first event out. @return false when there is none */
bool ab_grpc_sendq_pop(ab_grpc_sendq *q, void **token);
