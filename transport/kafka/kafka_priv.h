/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the Kafka transport share. A link is one agent's four topics; its life:
 *
 *   ASK    topic_check.c asks the broker about the topics, and again after a back-off, until they
 *          are as they must be
 *   READ   log_replay.c reads our own state topic to its end; meanwhile consumer.c delivers what
 *          the peer wrote
 *   READY  producer.c takes events; presence.c tells and hears that both sides live
 *
 * A link goes back to ASK when a topic seems to have gone, or a position is no longer in its log.
 * Everything here runs on the loop thread, save for what jobs run (handle.h).
 */
#pragma once

#include "base/core/digest.h"
#include "base/core/list.h"
#include "base/core/map.h"
#include "transport/kafka/client/handle.h"
#include "transport/kafka/client/offsets.h"
#include "transport/kafka/client/settings.h"
#include "transport/kafka/client/share.h"
#include "transport/kafka/client/topics.h"
#include "transport/pending.h"
#include "transport/transport.h"

#include <stdatomic.h>
#include <sys/queue.h>

typedef struct ab_kafka ab_kafka;
typedef struct ab_kafka_link ab_kafka_link;
typedef struct ab_kafka_group ab_kafka_group;
typedef struct ab_kafka_removal ab_kafka_removal;

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
    size_t open;          /* deliveries of state not acknowledged */
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
    int64_t heard_ms;
    int64_t interval_ms;
    int64_t hello_due_ms;
    char *refused; /* PRINCIPAL: why this agent is, as it is told; AGENT: why we are. NULL: not */
} ab_kafka_presence;

typedef TAILQ_HEAD(ab_kafka_sends, ab_kafka_send) ab_kafka_sends;
TAILQ_HEAD(ab_kafka_asks, ab_kafka_link);

/* PRINCIPAL: when the broker is asked for the agent's position (pending.c). */
typedef enum { AB_ASK_NOT, AB_ASK_SOON, AB_ASK_LATER, AB_ASK_UNDER_WAY } ab_kafka_ask;

typedef struct {
    ab_metric *received[2]; /* by ab_lane */
    ab_metric *sent[2];
    ab_metric *lag;
    ab_metric *unacknowledged;
    ab_metric *peer_up;
    ab_metric *duplicates;
} ab_kafka_link_metrics;

struct ab_kafka_link {
    TAILQ_ENTRY(ab_kafka_link) at;
    TAILQ_ENTRY(ab_kafka_link) read_at; /* while read.waiting */
    ab_kafka *kafka;
    unsigned refs; /* the transport's, and one for each delivery, send and topic check */
    bool removed;
    bool surveying;
    bool verified;  /* topic settings were looked at, and right */
    bool displaced; /* by a newer process of our name: nothing is done until that has gone */
    bool lost_in;   /* the peer's topic was seen to be gone: its successor is another log */
    bool lost_out;  /* the same of ours */
    bool new_log;   /* ours is to be given an identity of its own */
    bool has_epoch; /* our log was read, and is still the same one */
    ab_link_phase phase;
    char name[64];
    char source[96]; /* what attribute source of the peer's events must be */
    char *topics[AB_KAFKA_TOPICS];
    rd_kafka_topic_t *out[2]; /* by ab_lane, at its producer: see ab_kafka_producer_topic */
    ab_share share[2];        /* by ab_lane, of its producer's budget */
    int64_t sent_offset;      /* of the last event acknowledged; -1 = none */
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
    TAILQ_ENTRY(ab_kafka_link) ask_at; /* in a queue of its ask */
    int64_t ask_due_ms;
    ab_kafka_link_metrics metrics;
};

/* An event on its way. */
typedef struct ab_kafka_send {
    TAILQ_ENTRY(ab_kafka_send) at;
    ab_kafka_link *link;
    ab_event *event; /* librdkafka reads its data until it has reported, or is destroyed */
    ab_lane lane;
    int64_t deadline_ms; /* LIVE, monotonic */
    ab_sent done;        /* NULL once told */
    void *arg;
    /* For those that failed before librdkafka had them. There are thousands of sends at a time. */
    ab_err failed;
    char *why; /* NULL: there was no memory to keep it */
} ab_kafka_send;

/* An event given to the upper layers. */
typedef struct ab_kafka_delivery {
    ab_delivery base; /* first */
    TAILQ_ENTRY(ab_kafka_delivery) at;
    ab_kafka_link *link;
    uint64_t number; /* STATE: of the offset */
    uint32_t generation;
    size_t bytes;
} ab_kafka_delivery;

typedef TAILQ_HEAD(ab_kafka_deliveries, ab_kafka_delivery) ab_kafka_deliveries;

/* One producer; rebuilt after a fatal error (producer.c). */
typedef struct {
    ab_kafka *kafka;
    ab_kafka_kind kind;
    ab_kafka_handle *handle; /* NULL: not made yet, or to be rebuilt */
    ab_kafka_sends sends;
    bool broken; /* by a fatal error */
    ab_budget budget;
    ab_backoff backoff;
    int64_t retry_ms;
} ab_kafka_producer;

typedef enum { AB_MEMBER_OUT, AB_MEMBER_IN, AB_MEMBER_DISPLACED } ab_kafka_member_state;

/* AGENT: the reader of the live topic, a member of a group (member.c). */
typedef struct {
    ab_kafka *kafka;
    ab_kafka_member_state state;
    ab_kafka_handle *handle; /* NULL unless IN */
    int64_t next;            /* the offset to read from */
    bool displaced_told;     /* to the upper layers, and not yet that we continue */
    bool asking;             /* whether the group is empty; the producer is in use */
    int64_t ask_due_ms;
    ab_backoff backoff;
    int64_t retry_ms;
    ab_error why; /* it cannot join; OK = nothing is known to be wrong */
} ab_kafka_member;

/* One consumer handle with its share of the partitions. */
struct ab_kafka_group {
    TAILQ_ENTRY(ab_kafka_group) at;
    ab_kafka *kafka;
    ab_kafka_handle *handle;
    size_t partitions;
    size_t taken; /* bytes from its queue, since it was last empty */
    bool committing;
    ab_link moved;   /* links with a position that is not committed */
    ab_link at_rest; /* the others, by when they were committed */
};
typedef TAILQ_HEAD(ab_kafka_groups, ab_kafka_group) ab_kafka_groups;

/* Where stopping is. */
typedef enum {
    AB_STOP_NO,
    AB_STOP_DRAIN,   /* sends in flight, the last commit */
    AB_STOP_JOBS,    /* what uses the handles */
    AB_STOP_HANDLES, /* their destruction */
    AB_STOP_DONE
} ab_stop_phase;

struct ab_kafka {
    ab_transport base; /* first */
    ab_kafka_settings settings;
    ab_kafka_host host;
    ab_map *links_by_name;
    TAILQ_HEAD(, ab_kafka_link) links; /* removed ones too, while somebody holds them */
    uint64_t epoch;                    /* highest of a link that was removed */
    ab_kafka_groups groups;
    ab_kafka_groups live_groups; /* PRINCIPAL */
    ab_kafka_member member;      /* AGENT */
    TAILQ_HEAD(, ab_kafka_removal) removals;
    ab_kafka_removal *removing; /* the one whose request runs */
    ab_kafka_producer producer;
    ab_kafka_producer live_producer;
    ab_kafka_handle *reader;
    TAILQ_HEAD(, ab_kafka_link) to_read;        /* wait for their turn */
    size_t reading;                             /* have it */
    size_t read_assigned;                       /* and those that are quiet */
    rd_kafka_topic_partition_list_t *read_over; /* still at the reader; NULL: none */
    ab_kafka_deliveries deliveries;             /* not acknowledged */
    size_t open_bytes;                          /* of state in them */
    ab_kafka_sends failed;                      /* to be told about at the next turn of the loop */
    uv_async_t wake;                            /* see on_wake */
    uv_timer_t tick;
    char instance[37];
    unsigned certificates; /* that we have said so far */
    bool running;
    bool topic_check_running;
    ab_kafka_silent silent; /* brokers that topic checks do not ask */
    int64_t silent_until_ms;
    bool closed;
    bool renewing; /* nothing new is begun on the handles, which are about to be made again */
    int64_t renew_by_ms;
    int64_t check_at_ms; /* at the files of the settings */
    ab_stop_phase stop;
    int64_t stop_by_ms;
    int64_t commit_due_ms;
    int64_t lag_due_ms;
    int64_t probe_due_ms;
    bool keeping; /* positions of absent agents; the asker is in use */
    int64_t keep_scan_ms;
    struct ab_kafka_asks ask_soon; /* each of these in the order of what is due */
    struct ab_kafka_asks ask_later;
    struct ab_kafka_asks ask_under_way;
    size_t asks_under_way;
    ab_kafka_handle *asker; /* PRINCIPAL: NULL while there is nothing to ask */
    int64_t asker_used_ms;
    int64_t ask_not_before_ms; /* no broker answered */
    atomic_bool hurry;         /* jobs end at their next step */
    unsigned open_uv;
    void (*stopped)(void *arg);
    void *stopped_arg;
};

static inline int64_t ab_kafka_now(const ab_kafka *k)
{
    return ab_clock_mono_ms(k->base.env.clock);
}

/* link.c */
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
/** Back to ASK, for a reason that is logged. */
void ab_kafka_link_restart(ab_kafka_link *l, const char *reason);
/** The same where somebody must do something first, so that to ask at once would not help. */
void ab_kafka_link_wait(ab_kafka_link *l, const char *reason);
/** Back to ASK, to go on from where it is with other handles. */
void ab_kafka_link_renew(ab_kafka_link *l);
/** Stop: a newer process of our name is at work. @param why  for /readyz */
void ab_kafka_link_displace(ab_kafka_link *l, const char *why);
/** That one has gone: go on from where we were, as a new writer. */
void ab_kafka_link_return(ab_kafka_link *l);
/** Events are taken from now on. */
void ab_kafka_link_ready(ab_kafka_link *l);
/** It cannot go on for now; ask again after a back-off. */
void ab_kafka_link_failed(ab_kafka_link *l, const ab_error *why);

/* removal.c: the topics of agents that are gone for good; one agent at a time. */
/** Delete the topics of this link, from the next tick on; a few times, if need be. It need not be
 * served any more. */
void ab_kafka_removal_want(ab_kafka_link *l);
/** The agent is served again. What is not deleted yet stays, save for what is under way. */
void ab_kafka_removal_call_off(ab_kafka *k, const char *agent);
/** True while a deletion of this agent's topics is under way. */
bool ab_kafka_removal_holds(const ab_kafka *k, const char *agent);
/** Begin with the one that is due, unless one, or a topic check, runs. */
void ab_kafka_removal_start(ab_kafka *k);
/** Log what stays behind, and forget about it. */
void ab_kafka_removal_leave(ab_kafka *k);

/* credential_reload.c: certificates that change while we run. */
/** Look whether they have, at times; see to it that all handles are made again then. */
void ab_kafka_credential_reload_tick(ab_kafka *k);

/* topic_check.c: what the broker knows about links; one topic check at a time, each for many links.
 */
/** Start one for the links that are due, unless one runs. */
void ab_kafka_topic_check_start(ab_kafka *k);
/** A handle that knows no topics, for one round of questions about some; owned by the caller. NULL:
 * it cannot be made, which is logged. */
ab_kafka_handle *ab_kafka_topics_handle(ab_kafka *k);

typedef struct {
    int64_t committed; /* of the group, in state; negative = none */
    int64_t in_low;
    int64_t in_high;
    int64_t in_live_high;
    int64_t out_low;
    int64_t out_high;
} ab_kafka_findings;

/* commit.c */

/** The position may have moved. */
void ab_kafka_commit_note(ab_kafka_link *l);
/** A group has the link's partition from now on. */
void ab_kafka_commit_begin(ab_kafka_link *l);
/** It does not have it any more. */
void ab_kafka_commit_end(ab_kafka_link *l);
/** It goes, and has no partition any more. */
void ab_kafka_commit_end_all(ab_kafka_group *g);
/** The last commit failed: commit the position again. */
void ab_kafka_commit_forget(ab_kafka_link *l);
/** Nothing is known of any commit: commit every position again. */
void ab_kafka_commit_all_again(ab_kafka *k);
/** Commit what has moved. True when nothing is left to commit or under way. */
bool ab_kafka_commit(ab_kafka *k);

/* consumer.c */
/** One handle at once, so that topic checks have one to ask through. @return CONFIG, FATAL, NOMEM
 */
AB_MUST_USE ab_err ab_kafka_consumer_start(ab_kafka *k, ab_error *err);
/** Receive from the position that follows from the findings; tells of a gap. @return FATAL, NOMEM
 */
AB_MUST_USE ab_err ab_kafka_consumer_add(ab_kafka_link *l, const ab_kafka_findings *f,
                                         ab_error *err);
void ab_kafka_consumer_remove(ab_kafka_link *l);
void ab_kafka_consumer_ack(ab_kafka *k, ab_delivery *given, ab_verdict verdict);
/** Release the deliveries that were never acknowledged. */
void ab_kafka_consumer_forget(ab_kafka *k);
/** Bring the lag gauges up to date. */
void ab_kafka_consumer_measure(ab_kafka *k);
/** Take in one live record of this link: a hello, or an event to deliver. */
void ab_kafka_consumer_live(ab_kafka_link *l, const rd_kafka_message_t *m);
/** An error event of a handle that reads what peers send. */
void ab_kafka_consumer_error(ab_kafka *k, rd_kafka_event_t *event);
/** A handle for one more partition: one of `groups` that has room, or a new one. @return CONFIG,
 * FATAL, NOMEM */
AB_MUST_USE ab_err ab_kafka_group_for(ab_kafka *k, ab_kafka_groups *groups, ab_kafka_group **out,
                                      ab_error *err);
/** Close the handles of all groups. */
void ab_kafka_groups_close(ab_kafka_groups *groups);
/** Count and log a record that is skipped. `reason`: a word for the metric. */
void ab_kafka_refused(ab_kafka *k, const char *topic, const char *reason, const ab_error *err);

/* log_replay.c */
AB_MUST_USE ab_err ab_kafka_log_replay_start(ab_kafka_link *l, const ab_kafka_findings *f,
                                             ab_error *err);
/** Our hello is in the log: tell what the log said, and that events are taken. */
void ab_kafka_log_replay_announced(ab_kafka_link *l);
void ab_kafka_log_replay_stop(ab_kafka_link *l);
/** Take up links that waited for their turn; close the reader when it has nothing to do. */
void ab_kafka_log_replay_run(ab_kafka *k);
/** Defer the link when its log stays silent. */
void ab_kafka_log_replay_tick(ab_kafka_link *l);

/* producer.c */
void ab_kafka_producer_init(ab_kafka_producer *p, ab_kafka *k, ab_kafka_kind kind);
/** Make its handle unless there is one. @return UNAVAILABLE (in back-off), CONFIG, FATAL */
AB_MUST_USE ab_err ab_kafka_producer_open(ab_kafka_producer *p, ab_error *err);
/** The topic that it writes for a link, made at first use and kept, so that its metadata is. NULL:
 * no memory. There must be a handle. */
rd_kafka_topic_t *ab_kafka_producer_topic(const ab_kafka_producer *p, ab_kafka_link *l);
/** The producer of this lane. */
ab_kafka_producer *ab_kafka_producer_of(ab_kafka *k, ab_lane lane);
/** Whether the link may send this event now; else on_writable follows. */
bool ab_kafka_producer_admits(const ab_kafka_producer *p, ab_kafka_link *l, const ab_event *event);
/** Produce, admitted or not; `s` belongs to the producer until told. */
void ab_kafka_producer_send(ab_kafka_producer *p, ab_kafka_send *s);
/** Fail all that is on its way, drop the handle. Its data stays until the handle is destroyed. */
void ab_kafka_producer_close(ab_kafka_producer *p, ab_err code);
/** Deadlines, rebuilding. */
void ab_kafka_producer_tick(ab_kafka_producer *p);
AB_MUST_USE ab_err ab_kafka_send_new(ab_kafka_link *l, ab_lane lane, ab_event *event,
                                     int64_t deadline_ms, ab_sent done, void *arg,
                                     ab_kafka_send **out);
/** Tell the outcome (once) and free it. Never from inside an op: see ab_kafka_send_fail_later. */
void ab_kafka_send_finish(ab_kafka_send *s, ab_err code, const ab_error *err);
/** Free it, untold. */
void ab_kafka_send_drop(ab_kafka_send *s);
/** Tell the failure at the next turn of the loop. */
void ab_kafka_send_fail_later(ab_kafka_send *s, ab_err code, const char *text);

/* member.c: AGENT only */
void ab_kafka_member_init(ab_kafka *k);
/** Join the group that reads the live topic, from this offset on. @return CONFIG, FATAL, NOMEM,
 * UNAVAILABLE */
AB_MUST_USE ab_err ab_kafka_member_open(ab_kafka *k, int64_t from, ab_error *err);
void ab_kafka_member_close(ab_kafka *k);
/** Join again after a failure; see whether the process that displaced us has gone. */
void ab_kafka_member_tick(ab_kafka *k);

/* live.c */
/** PRINCIPAL: one handle at once, so that topic checks have one to prepare. @return CONFIG, FATAL,
 * NOMEM
 */
AB_MUST_USE ab_err ab_kafka_live_start(ab_kafka *k, ab_error *err);
/** Read the peer's live topic, from this offset on. @return CONFIG, FATAL, NOMEM, UNAVAILABLE */
AB_MUST_USE ab_err ab_kafka_live_open(ab_kafka_link *l, int64_t from, ab_error *err);
/** Stop reading it. */
void ab_kafka_live_close(ab_kafka_link *l);
/** What a handle of the live groups reports; `arg` is its group. */
void ab_kafka_live_event(void *arg, ab_kafka_handle *h, rd_kafka_event_t *event);

/* positions.c: PRINCIPAL only */
/** Commit the positions of absent agents again, when it is time. */
void ab_kafka_positions_tick(ab_kafka *k);

/* pending.c: at an agent nothing happens */
/** Nothing is pending, as far as known. */
void ab_kafka_pending_init(ab_kafka_link *l);
void ab_kafka_pending_fini(ab_kafka_link *l);
/** It is not served any more: the broker need not be asked. */
void ab_kafka_pending_leave(ab_kafka_link *l);
/** Our log is read from its beginning up to `log_end`. */
void ab_kafka_pending_begin(ab_kafka_link *l, int64_t log_end);
/** This record, an event, is in our log, as was read there. */
void ab_kafka_pending_read(ab_kafka_link *l, const ab_event *event, const rd_kafka_message_t *m);
/** The event is in our log, as the delivery report says. */
void ab_kafka_pending_sent(ab_kafka_link *l, const ab_event *event, const rd_kafka_message_t *m);
/** The record is about to be delivered to the layer above. */
void ab_kafka_pending_receive(const ab_kafka_delivery *d, const rd_kafka_message_t *m);
/** Ask for the positions that are due. */
void ab_kafka_pending_tick(ab_kafka *k);
/** The agent has returned. */
void ab_kafka_pending_hurry(ab_kafka_link *l);
/** The handle for questions about positions, made at first use. Borrowed until the next tick, or
 * while k->keeping. NULL: it cannot be made, which is logged. */
rd_kafka_t *ab_kafka_asker(ab_kafka *k);
void ab_kafka_asker_close(ab_kafka *k);

/* refusal.c */
/** PRINCIPAL: what this agent is told from now on. @param why  NULL: it is not refused
 *  @return NOMEM */
AB_MUST_USE ab_err ab_kafka_refusal_set(ab_kafka_link *l, const char *why);
/** AGENT: what a hello says that was written after the principal had ours; "": not refused. */
void ab_kafka_refusal_hear(ab_kafka_link *l, const char *reason);
/** AGENT: the principal refuses us, so that nothing is sent and nothing delivered. */
static inline bool ab_kafka_is_refused(const ab_kafka_link *l)
{
    return l->kafka->settings.role == AB_ROLE_AGENT && l->peer.refused != NULL;
}

/* presence.c */
/** Whether this hello was written to another log than those before it. */
bool ab_kafka_presence_is_elsewhere(ab_kafka_link *l, const ab_event *hello);
/** A hello of the peer on its live topic, written after we began to listen. `age_ms`: by the
 * broker's or the writer's clock, and ours. */
void ab_kafka_presence_hear(ab_kafka_link *l, const ab_event *hello, int64_t age_ms);
/** Say hello when it is time; notice when the peer has gone. */
void ab_kafka_presence_tick(ab_kafka_link *l);
/** Say hello for the first time after our log was read; leads to ab_kafka_log_replay_announced, or
 * a failed link. `new_log`: into the log itself, which it gives its identity. */
void ab_kafka_presence_announce(ab_kafka_link *l, bool new_log);
/** What we say of ourselves has changed: peers are to get all of it again. */
void ab_kafka_presence_changed(ab_kafka *k);
/** Say hello at once; `leaving`: for the last time. */
void ab_kafka_presence_speak(ab_kafka_link *l, bool leaving);
