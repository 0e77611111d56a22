/* SPDX-License-Identifier: Apache-2.0
 *
 * A link is one agent's four topics. Its life:
 *
 *   ASK    topic_check.c asks the broker about the topics, and again after a back-off, until they
 *          are as they must be
 *   READ   log_replay.c reads our own state topic to its end; meanwhile consumer.c delivers what
 *          the peer wrote
 *   READY  producer.c takes events; presence.c tells and hears that both sides live
 *
 * A link goes back to ASK when a topic seems to have gone, or a position is no longer in its log.
 * Here is the whole state of one; which part of it is whose, the names of the parts tell.
 */
#pragma once

#include "base/core/digest.h"
#include "base/core/list.h"
#include "transport/kafka/client/offsets.h"
#include "transport/kafka/client/share.h"
#include "transport/kafka/client/wheel.h"
#include "transport/transport.h"

#include <librdkafka/rdkafka.h>
#include <sys/queue.h>

typedef struct ab_kafka ab_kafka;
typedef struct ab_kafka_link ab_kafka_link;
typedef struct ab_kafka_group ab_kafka_group;
typedef struct ab_kafka_producer ab_kafka_producer;
typedef TAILQ_HEAD(ab_kafka_sends, ab_kafka_send) ab_kafka_sends;

/* Our way out and the peer's way in; the index into a link's topics. */
typedef enum {
    AB_KAFKA_OUT_STATE,
    AB_KAFKA_IN_STATE,
    AB_KAFKA_OUT_LIVE,
    AB_KAFKA_IN_LIVE,
    AB_KAFKA_TOPICS
} ab_kafka_topic;

typedef enum { AB_LINK_ASK, AB_LINK_READ, AB_LINK_READY } ab_link_phase;

/* The part of a link that receives (consumer.c). */
typedef struct {
    ab_kafka_group *group; /* whose handle has the partition; NULL when not assigned */
    ab_offsets offsets;
    uint32_t generation;  /* rises when positions restart: older deliveries no longer count */
    int64_t committed;    /* last position given to a commit; -1 = none known */
    int64_t committed_ms; /* when */
    ab_link commit_at;    /* in a list of `group` */
    int64_t fresh_from;   /* records from here on were written after we began to listen */
    uint64_t log_id;      /* what the log says that it is, as far as it was read; 0 = nothing */
    bool whole;           /* it was read from its beginning on */
    int64_t caught_up_at; /* reaching this offset is being caught up; -1 = told already */
    uint64_t cut_log; /* the peer's log, when it was found to have lost its end; 0 = it was not */
    int64_t end;      /* where the log ended when we last read all of it; -1 = not yet */
    size_t open;      /* deliveries of state not acknowledged */
    size_t open_bytes;
    size_t live_open; /* the same of live ones */
    bool known;       /* offsets are meaningful: it has been assigned before */
    bool paused;
} ab_kafka_inbox;

/* The part that reads our own log at start (log_replay.c). */
typedef struct {
    ab_map *heads; /* newest event per live key */
    uint64_t epoch;
    uint64_t log_id;
    int64_t from;
    int64_t end;
    int64_t heard_ms; /* when the reader had something of it last, or began */
    bool waiting;     /* for its turn, in the queue of those */
    bool assigned;    /* at the reader */
    bool quiet;       /* for so long that its turn is another's */
    bool complete;    /* read; the hello that makes us ready is on its way */
} ab_kafka_log_replay;

/* A process of the peer's name, beside the one that counts. */
typedef enum {
    AB_DUPLICATE_NONE,
    AB_DUPLICATE_HEARD,
    AB_DUPLICATE_ANSWERED, /* then by the one that counts */
    AB_DUPLICATE_LOGGED,   /* and was heard again */
} ab_kafka_duplicate;

#define AB_KAFKA_HANDSHAKE 64

/* What is known of the peer, and when to speak next (presence.c). */
typedef struct {
    bool up;
    bool hello_in_flight;
    char instance[40];
    char handshake[AB_KAFKA_HANDSHAKE]; /* the peer's last one that we have; "" = none */
    char heard[AB_KAFKA_HANDSHAKE];     /* ours that the peer has, as it says */
    uint64_t epoch;                     /* of what that one writes */
    ab_kafka_duplicate duplicate;
    int64_t duplicate_ms;  /* when it was heard last */
    int64_t age_ms;        /* of the last hello, by two clocks: alone it says nothing */
    ab_digest certificate; /* that was told */
    uint64_t log_id;       /* of the log it writes to; 0 = not known */
    int64_t log_id_ms;     /* when that was heard first */
    int64_t sent;          /* the last offset that it has written there, as it says; -1 = none */
    int64_t sent_ms;       /* when that was heard first */
    int64_t heard_ms;
    int64_t interval_ms;
    int64_t hello_due_ms;
    char *refused; /* PRINCIPAL: why this agent is, as it is told; AGENT: why we are. NULL: not */
} ab_kafka_presence;

/* PRINCIPAL: when the broker is asked for the agent's position (positions.c). */
typedef enum { AB_ASK_NOT, AB_ASK_SOON, AB_ASK_LATER, AB_ASK_UNDER_WAY } ab_kafka_ask;

typedef struct {
    ab_metric *received[2]; /* by ab_lane */
    ab_metric *sent[2];
    ab_metric *lag;
    ab_metric *unacknowledged;
    ab_metric *peer_up;
    ab_metric *last_seen;
    ab_metric *duplicates;
} ab_kafka_link_metrics;

struct ab_kafka_link {
    TAILQ_ENTRY(ab_kafka_link) at;
    TAILQ_ENTRY(ab_kafka_link) read_at; /* while read.waiting */
    ab_wheel_timer timer;               /* when it is looked at: see ab_kafka_link_look_at */
    ab_link check_at;                   /* in kafka.to_check */
    ab_link measure_at;                 /* in kafka.to_measure */
    ab_kafka *kafka;
    unsigned refs; /* the transport's, and one for each delivery, send and topic check */
    bool removed;
    bool surveying;
    bool verified;     /* topic settings were looked at, and right */
    bool displaced;    /* by a newer process of our name: nothing is done until that has gone */
    bool lost_in;      /* the peer's topic was seen to be gone: its successor is another log */
    bool lost_out;     /* the same of ours */
    bool new_log;      /* ours is to be given an identity of its own */
    bool stuck_logged; /* that our topic takes no events */
    bool has_epoch;    /* our log was read, and is still the same one */
    ab_link_phase phase;
    char name[64];
    char source[96]; /* what attribute source of the peer's events must be */
    char *topics[AB_KAFKA_TOPICS];
    ab_kafka_producer *producer[2]; /* by ab_lane; NULL until first use */
    rd_kafka_topic_t *out[2];       /* by ab_lane, at its producer: made at first use */
    ab_share share[2];              /* by ab_lane, of the budget of all producers */
    ab_kafka_sends refused;         /* state that is to go again, each alone (producer.c) */
    bool one_by_one;                /* that does; `held` waits for it too */
    ab_kafka_sends held;            /* state that waits for what is not confirmed (producer.c) */
    size_t held_bytes;
    int64_t held_ms;     /* when the first of them came */
    size_t unconfirmed;  /* state events that librdkafka has */
    int64_t sent_offset; /* of the last event acknowledged; -1 = none */
    uint64_t epoch;
    uint64_t log_id; /* the epoch that began our log */
    ab_backoff backoff;
    int64_t retry_ms;
    int64_t keep_due_ms; /* PRINCIPAL: its position is committed again then (positions.c) */
    int64_t made_ms;     /* when a topic of it was made; 0 = none was */
    ab_error why;        /* it is not READY */
    ab_kafka_inbox in;
    ab_kafka_log_replay read;
    unsigned unread; /* how often our log stayed silent, one after the other */
    ab_kafka_presence peer;
    ab_kafka_group
        *live; /* PRINCIPAL: whose handle reads the agent's live topic, or NULL (live.c) */
    /* PRINCIPAL: what is not in effect at the agent, and here. */
    ab_pending down;
    ab_pending up;
    ab_kafka_ask ask;
    ab_link ask_at; /* in a queue of its ask */
    bool keep;      /* and then commit it again */
    bool uncertain; /* it may be another one than down.position says */
    int64_t passed; /* the agent's highest position since our log was read */
    int64_t ask_due_ms;
    ab_kafka_link_metrics metrics;
};

/** @return INVALID, EXISTS, NOMEM */
AB_MUST_USE ab_err ab_kafka_link_new(ab_kafka *k, const char *name, ab_kafka_link **out,
                                     ab_error *err);
/** NULL when there is none, or it was removed. */
ab_kafka_link *ab_kafka_link_find(const ab_kafka *k, const char *name);
/** The link that a topic belongs to, and which of its topics it is; NULL when none. */
ab_kafka_link *ab_kafka_link_of_topic(const ab_kafka *k, const char *topic, ab_kafka_topic *which);
ab_kafka_link *ab_kafka_link_ref(ab_kafka_link *l);
void ab_kafka_link_unref(ab_kafka_link *l);
/** Stop serving it; it goes away with its last reference. */
void ab_kafka_link_remove(ab_kafka_link *l);
/** Back to ASK, for a reason that is logged, at most once a minute. */
void ab_kafka_link_restart(ab_kafka_link *l, const char *reason);
/** Say who gives a right that the broker says is missing; it names neither the user nor a way out.
 * @param err  any error; without such a right it stays as it is */
void ab_kafka_link_add_remedy(const ab_kafka_link *l, ab_error *err);
/** Back to ASK, because `topic` cannot be read. A missing right, which the check of the topics does
 * not find, is waited for longer. @param text  of the broker's answer */
void ab_kafka_link_unread(ab_kafka_link *l, const char *topic, rd_kafka_resp_err_t code,
                          const char *text);
/** Back to ASK, to go on from where it is with other handles. */
void ab_kafka_link_renew(ab_kafka_link *l);
/** Stop: a newer process of our name is at work. @param why  for /readyz */
void ab_kafka_link_displace(ab_kafka_link *l, const char *why);
/** That one has gone: go on from where we were, as a new writer. */
void ab_kafka_link_return(ab_kafka_link *l);
/** Have the parts look at it then, or before: a deadline of one of them. In a link that is left
 * alone nobody looks. */
void ab_kafka_link_look_at(ab_kafka_link *l, int64_t due_ms);
/** Its lag may have changed. */
void ab_kafka_link_measure(ab_kafka_link *l);
/** Events are taken from now on. */
void ab_kafka_link_ready(ab_kafka_link *l);
/** It cannot go on for now; ask again after a back-off. */
void ab_kafka_link_failed(ab_kafka_link *l, const ab_error *why);
