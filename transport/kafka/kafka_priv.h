/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of the Kafka transport. What its parts do is in the header of each (x_priv.h for x.c);
 * they call each other in one direction:
 *
 *   kafka -> credential_reload, topic_check -> consumer, log_replay
 *   consumer -> live, receive; live -> member -> receive; log_replay -> receive
 *   receive -> presence -> producer -> pending -> positions -> link; producer -> stuck
 *
 * A link that must begin again is withdrawn from the parts above it by `withdraw`. Everything here
 * runs on the loop thread, save for what jobs run (handle.h).
 */
#pragma once

#include "base/core/map.h"
#include "transport/kafka/client/ends.h"
#include "transport/kafka/client/handle.h"
#include "transport/kafka/link_priv.h"

#include <stdatomic.h>

typedef struct ab_kafka_removal ab_kafka_removal;

typedef TAILQ_HEAD(ab_kafka_deliveries, ab_kafka_delivery) ab_kafka_deliveries;

typedef struct ab_kafka_producers ab_kafka_producers;

/* One producer handle with its share of the links; rebuilt after a fatal error (producer.c). */
struct ab_kafka_producer {
    TAILQ_ENTRY(ab_kafka_producer) at;
    ab_kafka_producers *all;
    ab_kafka_handle *handle; /* NULL: not made yet, or to be rebuilt */
    ab_kafka_sends sends;
    size_t links;
    bool broken; /* by a fatal error */
    ab_backoff backoff;
    int64_t retry_ms;
};

/* Those of one lane. */
struct ab_kafka_producers {
    TAILQ_HEAD(, ab_kafka_producer) list;
    ab_kafka *kafka;
    ab_lane lane;
    ab_budget budget; /* of all of them */
};

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
    rd_kafka_topic_partition_list_t *to_assign; /* NULL: none */
    size_t taken;                               /* bytes from its queue, since it was last empty */
    bool committing;
    ab_link moved;   /* links with a position that is not committed */
    ab_link at_rest; /* the others, by when they were committed */
};

/* Those of one kind (group.c). */
typedef struct {
    TAILQ_HEAD(, ab_kafka_group) list;
    ab_kafka *kafka;
    ab_kafka_kind kind;
    ab_kafka_on_event on_event; /* its argument is the group */
} ab_kafka_groups;

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
    void (*withdraw)(ab_kafka_link *l); /* stop all that is done for it above link.c */
    TAILQ_HEAD(, ab_kafka_link) links;  /* removed ones too, while somebody holds them */
    ab_wheel wheel;                     /* when to look at which link */
    ab_link to_check;                   /* links that a topic check is due for */
    ab_link to_measure;                 /* those whose lag may have changed */
    uint64_t epoch;                     /* highest of a link that was removed */
    ab_kafka_groups groups;
    ab_kafka_groups live_groups; /* PRINCIPAL */
    ab_kafka_member member;      /* AGENT */
    TAILQ_HEAD(, ab_kafka_removal) removals;
    ab_kafka_removal *removing;      /* the one whose request runs */
    ab_kafka_producers producers[2]; /* by ab_lane */
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
    size_t removed;      /* links, since the handles were made */
    int64_t check_at_ms; /* at the files of the settings */
    ab_stop_phase stop;
    int64_t stop_by_ms;
    int64_t commit_due_ms;
    int64_t lag_due_ms;
    int64_t probe_due_ms;
    ab_link ask_soon; /* links; each of these in the order of what is due */
    ab_link ask_later;
    ab_link ask_under_way;
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
