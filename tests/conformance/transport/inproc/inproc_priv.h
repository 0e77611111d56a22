/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts behind inproc.h. A line is what both sides share of one agent and lives as long as the
 * switch; a port is one endpoint's side of a line. Calls only queue work and wake the endpoint; its
 * callback, run by the loop, does the work and makes the upcalls, so that none happens inside a
 * call.
 */
#pragma once

#include "tests/conformance/transport/inproc/inproc.h"
#include "tests/conformance/transport/inproc/log_priv.h"

struct ab_inproc_port;

typedef struct {
    char agent[64];
    ab_inproc_log down;
    ab_inproc_log up;
    struct ab_inproc_port *sides[2]; /* by ab_role; NULL = nobody attached */
    bool cut;
} ab_inproc_line;

/* An accepted event that the endpoint has not passed on. */
typedef struct ab_inproc_outgoing {
    STAILQ_ENTRY(ab_inproc_outgoing) at;
    ab_event *event;
    ab_lane lane;
    int64_t deadline_ms;
    ab_sent done;
    void *arg;
} ab_inproc_outgoing;

/* A live event that has come and is not delivered. */
typedef struct ab_inproc_incoming {
    STAILQ_ENTRY(ab_inproc_incoming) at;
    ab_event *event;
    int64_t expires_ms; /* receiver's monotonic clock; INT64_MAX = never */
} ab_inproc_incoming;

typedef struct ab_inproc_delivery {
    ab_delivery base;
    TAILQ_ENTRY(ab_inproc_delivery) at;
    struct ab_inproc_port *port;
    uint64_t seq;      /* of its record; 0 = live */
    uint64_t instance; /* of the log it came from */
    bool acked;
    bool applied;
} ab_inproc_delivery;

typedef struct {
    ab_transport base;
    uv_async_t wake;
    TAILQ_HEAD(, ab_inproc_port) ports;
    size_t inflight;
    bool running; /* `wake` may be used */
    bool closed;
    void (*stopped)(void *arg); /* set by stop */
    void *stopped_arg;
} ab_inproc_endpoint;

typedef struct ab_inproc_port {
    TAILQ_ENTRY(ab_inproc_port) at;
    ab_inproc_endpoint *endpoint;
    ab_inproc_line *line;
    ab_inproc_log *in;
    ab_inproc_log *out;
    STAILQ_HEAD(, ab_inproc_outgoing) sends;
    size_t queued[2]; /* sends, by ab_lane */
    STAILQ_HEAD(, ab_inproc_incoming) lives;
    TAILQ_HEAD(, ab_inproc_delivery) deliveries[2]; /* in order, by ab_lane; so `open` */
    size_t open[2];                                 /* unacknowledged */
    uint64_t epoch;                                 /* 0 = not ready */
    uint64_t in_instance;
    uint64_t out_instance;
    uint64_t catch_up_to;
    ab_pending down; /* PRINCIPAL: what is not in effect at the agent, and here */
    ab_pending up;
    uint64_t peer_epoch; /* as told by on_peer; 0 = gone */
    bool caught_up;
    bool starved[2]; /* FULL was answered, by ab_lane */
    bool removed;
} ab_inproc_port;

/** A port on `line`, listed at `end`. @return EXISTS when the side is taken, NOMEM */
AB_MUST_USE ab_err ab_inproc_port_new(ab_inproc_endpoint *endpoint, ab_inproc_line *line,
                                      ab_inproc_port **out, ab_error *err);
/** PRINCIPAL: as ab_transport_ops.pending. */
ab_pending *ab_inproc_port_pending(ab_inproc_port *port, ab_direction direction);
/** Unlist and free; what is queued or open is forgotten. */
void ab_inproc_port_free(ab_inproc_port *port);
/** Leave the line; the other side is told. Queue and open deliveries stay. */
void ab_inproc_port_detach(ab_inproc_port *port);
/** All work and upcalls that are due. */
void ab_inproc_port_run(ab_inproc_port *port);
/** Fail every queued send. */
void ab_inproc_port_flush(ab_inproc_port *port, ab_err code);
/** Take a delivery back; commit what is contiguous. */
void ab_inproc_port_ack(ab_inproc_port *port, ab_inproc_delivery *delivery, ab_verdict verdict);

/** A line that nobody is attached to; owned by the caller. NULL: out of memory. */
ab_inproc_line *ab_inproc_line_new(const char *agent);
/** Free a line, for ab_map_free. NULL is allowed. */
void ab_inproc_line_free(void *arg);
/** Have the loop run the endpoint soon. */
void ab_inproc_line_wake_endpoint(ab_inproc_endpoint *endpoint);
/** Wake whoever is attached to the line. */
void ab_inproc_line_wake(ab_inproc_line *line);
