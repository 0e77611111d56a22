/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of simulated agents that share handles. shared_kafka.c sends and receives,
 * shared_kafka_hello.c speaks with the principal, shared_kafka_commit.c commits.
 */
#pragma once

#include "base/core/list.h"
#include "base/core/map.h"
#include "tests/bench/fleet/shared_kafka.h"
#include "transport/kafka/client/handle.h"
#include "transport/kafka/client/offsets.h"

#define AB_BENCH_HANDSHAKE 64

/* An agent. It begins with empty logs:
 *
 *   started --our first hello is in the log--> ready --each heartbeat--> hello on the live topic
 */
typedef struct {
    ab_transport base; /* first */
    ab_bench_shared_kafka *shared;
    char name[64];
    char group[AB_TOPIC_NAME_MAX];
    char down[2][AB_TOPIC_NAME_MAX]; /* its topics, by ab_lane */
    char up[2][AB_TOPIC_NAME_MAX];
    rd_kafka_topic_t *out[2]; /* by ab_lane */
    ab_offsets offsets;       /* of the state that it receives */
    int64_t committed;
    int64_t sent; /* the last offset that it has written in its log; -1: none */
    bool committing;
    ab_link in_moved; /* its position is not committed */
    uint64_t epoch;   /* and identity of its log */
    bool ready;
    char instance[37];
    bool hello_in_flight;
    int64_t hello_due_ms;
    uint64_t principal_epoch;
    char principal[40];                 /* its instance; "" = not heard yet */
    char handshake[AB_BENCH_HANDSHAKE]; /* the principal's last one */
    char heard[AB_BENCH_HANDSHAKE];     /* ours that the principal has */
} ab_bench_shared_member;

typedef struct ab_bench_shared_consumer ab_bench_shared_consumer;

struct ab_bench_shared_kafka {
    ab_bench_host *process;
    ab_kafka_settings settings;
    ab_kafka_host host;
    ab_kafka_handle *producer[2]; /* by ab_lane */
    ab_kafka_handle *committer;
    ab_bench_shared_consumer *consumers[2]; /* by ab_lane; the last one is the first in the list */
    ab_map *members;                        /* by name */
    ab_link moved;
    int64_t commit_due_ms;
    unsigned commits; /* under way */
    uv_timer_t tick;
};

/** Send an event on a lane. `done` hears its outcome unless this fails. @return UNAVAILABLE */
AB_MUST_USE ab_err ab_bench_shared_send(ab_bench_shared_member *m, ab_lane lane, ab_event *event,
                                        ab_sent done, void *arg);

/** Write the first hello to its state topic, which gives the log its identity; on_ready follows. */
void ab_bench_shared_hello_first(ab_bench_shared_member *m);
/** The principal says hello. */
void ab_bench_shared_hello_hear(ab_bench_shared_member *m, const ab_event *event);
/** Say hello when that is due. */
void ab_bench_shared_hello_tick(ab_bench_shared_member *m, int64_t now_ms);

ab_kafka_handle *ab_bench_shared_commit_open(ab_bench_shared_kafka *k);
/** Its position may have moved. */
void ab_bench_shared_commit_note(ab_bench_shared_member *m);
/** Commit what has moved, a bounded number at a time. */
void ab_bench_shared_commit_tick(ab_bench_shared_kafka *k, int64_t now_ms);
