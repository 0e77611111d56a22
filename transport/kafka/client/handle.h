/* SPDX-License-Identifier: Apache-2.0
 *
 * One librdkafka instance on our loop: its queue wakes the loop through a descriptor, its events
 * are given out on the loop thread for a bounded time of each turn of the loop, its log goes to
 * ours. Destroying one blocks, and so happens in a worker thread.
 */
#pragma once

#include "transport/kafka/client/limiter.h"
#include "transport/kafka/settings/settings.h"

#include <sys/queue.h>

typedef struct ab_kafka_handle ab_kafka_handle;

/* A librdkafka instance that is being destroyed (handle.c). */
typedef struct ab_kafka_grave ab_kafka_grave;

/* What handles and jobs share, one per transport: where they live, and what is not over yet. */
typedef struct {
    uv_loop_t *loop;
    ab_log *log;
    const ab_clock *clock;
    ab_limiter limiter;
    unsigned jobs;    /* running */
    unsigned closing; /* handles whose watcher is not closed yet */
    TAILQ_HEAD(, ab_kafka_grave) graves;
    TAILQ_HEAD(, ab_kafka_handle) ready; /* their events are given out in turns */
    uint64_t turn_ms;                    /* a turn of the loop, by its clock */
    uint64_t turn_end_ns;                /* when it has given out enough */
    /* NO_ERROR, or why no broker can be reached, which librdkafka says but once. Only what was
     * asked after that shows that one can again: records may have been fetched before. */
    rd_kafka_resp_err_t broker;
    char broker_why[256]; /* what the last connection that could not be made failed of, or "" */
    unsigned downs;       /* how often it was said */
} ab_kafka_host;

/** An empty host. All three are borrowed, and outlive its handles. */
void ab_kafka_host_init(ab_kafka_host *host, uv_loop_t *loop, ab_log *log, const ab_clock *clock);

/** An event of the handle's queue, other than log lines; borrowed. The handle may be closed from
 * within. */
typedef void (*ab_kafka_on_event)(void *arg, ab_kafka_handle *h, rd_kafka_event_t *event);

/**
 * Make a handle. Consumers get their main queue forwarded, so that there is one queue to serve.
 * @return CONFIG, FATAL
 */
AB_MUST_USE ab_err ab_kafka_handle_open(ab_kafka_host *host, const ab_kafka_settings *settings,
                                        ab_kafka_kind kind, ab_kafka_on_event on_event, void *arg,
                                        ab_kafka_handle **out, ab_error *err);
/** A handle that knows no topics, for one round of questions about some. @return NULL: it cannot be
 * made, which is logged */
ab_kafka_handle *ab_kafka_handle_open_admin(ab_kafka_host *host, const ab_kafka_settings *settings);
/** The instance; borrowed, valid until close. */
rd_kafka_t *ab_kafka_handle_rk(const ab_kafka_handle *h);
/** Its queue, for results; borrowed, valid until close. */
rd_kafka_queue_t *ab_kafka_handle_queue(const ab_kafka_handle *h);
/** Look at its queue at the next turn of the loop, also when nothing is in it. */
void ab_kafka_handle_wake(const ab_kafka_handle *h);
/** To be told, on the loop thread, when the handle was closed and is destroyed: what it was given
 * is no more used then. Not when it is abandoned. */
void ab_kafka_handle_when_gone(ab_kafka_handle *h, void (*gone)(void *arg), void *arg);
/** A list of one partition, the only one of a topic; owned by the caller. Any thread.
 * @param offset  RD_KAFKA_OFFSET_INVALID: it does not matter */
rd_kafka_topic_partition_list_t *ab_kafka_handle_partition(const char *topic, int64_t offset);
/** No more events; destroyed in the background (see ab_kafka_host_reap). NULL is allowed. */
void ab_kafka_handle_close(ab_kafka_handle *h);
/** See which closed handles have been destroyed. True when none is left. */
bool ab_kafka_host_reap(ab_kafka_host *host);
/** Stop waiting for those that are left; each goes when librdkafka is done with it, if ever. */
void ab_kafka_host_abandon(ab_kafka_host *host);

/* Something that blocks, run in a worker thread. Embed it first. */
typedef struct ab_kafka_job {
    uv_work_t work;
    ab_kafka_host *host;
    void (*run)(struct ab_kafka_job
                    *job); /* worker thread: only what the job itself holds, and librdkafka */
    void (*done)(struct ab_kafka_job *job); /* loop thread, once; frees the job */
} ab_kafka_job;
/** Run it; `run` and `done` are set. */
void ab_kafka_job_start(ab_kafka_host *host, ab_kafka_job *job);

/** Log a broker-side error, each kind once a minute; keeps `broker` up to date. `reason`: what
 * librdkafka says, or NULL. */
void ab_kafka_host_error(ab_kafka_host *host, rd_kafka_resp_err_t code, const char *reason);
