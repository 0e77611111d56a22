/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends of a transport under test: a principal and agents on one loop, each recording every upcall,
 * so that a test reads as "send, wait until, look". A condition that does not come true in time
 * fails the test.
 */
#pragma once

#include "transport/transport.h"

#define AB_ENDS_MAX        8
#define AB_END_RECEIPT_MAX 4096
#define AB_END_PEERS_MAX   256
#define AB_ENDS_SETTINGS   128

/* One delivery, copied. */
typedef struct {
    char agent[64];
    ab_lane lane;
    char key[128];
    char type[128];
    uint64_t epoch;
    uint64_t version;
    bool tombstone;
    ab_event *event;       /* own reference */
    ab_delivery *delivery; /* NULL once acknowledged */
} ab_receipt;

/* One key as on_written told it. */
typedef struct {
    char key[128];
    uint64_t epoch;
    uint64_t version;
    bool has_data;
} ab_head;

/* What an end was told of one peer. */
typedef struct {
    char agent[64];
    ab_head heads[512];
    size_t head_count;
    int ready;
    uint64_t epoch;
    int gaps[3]; /* by ab_gap */
    int caught_up;
    int writable;
    int ups;
    int downs;
    bool up;
    char mode[16];
    char version[32];
    uint64_t peer_epoch;
    size_t open; /* unacknowledged state deliveries */
    size_t most_open;
} ab_end_peer;

typedef struct ab_ends ab_ends;

typedef struct {
    ab_ends *ends;
    ab_transport *transport;
    ab_config *config;
    ab_metrics *metrics;
    ab_role role;
    char name[64]; /* "" = the principal */
    bool keep;     /* deliveries stay open until ab_end_ack; else they are applied at once */
    ab_receipt receipts[AB_END_RECEIPT_MAX];
    size_t receipt_count;
    ab_end_peer peers[AB_END_PEERS_MAX];
    size_t peer_count;
    int fatal;
    bool displaced; /* as on_displaced said last */
    ab_error fatal_error;
    bool stopping;
    bool stopped;
    int late; /* upcalls after `stopped` */
} ab_end;

/* What a transport needs to be put to the test. */
typedef struct {
    const char *name;
    size_t event_max;         /* an event with this much data is TOOBIG */
    bool broker;              /* others between the ends can read and change what is sent */
    const char *small_queue;  /* setting that makes FULL come early; NULL = it does anyway */
    const ab_options *tables; /* the options that it reads */
    size_t table_count;
    /* A new, empty way between principal and agents: switch, topics. Adds its settings with
     * ab_ends_set. */
    void (*open)(ab_ends *ends);
    void (*close)(ab_ends *ends);
    /** Adds the settings of one end that is about to be made, "" = the principal; NULL: nothing. */
    void (*before)(ab_ends *ends, const char *name);
    const ab_transport_ops *(*ops)(ab_ends *ends);
} ab_ends_fixture;

struct ab_ends {
    const ab_ends_fixture *fixture;
    void *state; /* the fixture's own */
    uv_loop_t loop;
    uv_timer_t tick; /* bounds every wait */
    ab_log *log;
    int log_fd; /* of ab_ends_capture_log; else 0 */
    char *settings[AB_ENDS_SETTINGS];
    size_t setting_count;
    bool replay;           /* ends that start from now on have lost what they received */
    const ab_clock *clock; /* of ends that start from now on */
    ab_end *all[AB_ENDS_MAX];
};

/* Outcome of one send. */
typedef struct {
    ab_err accepted; /* what send returned */
    int finished;    /* how often `done` ran */
    ab_err code;     /* what `done` said */
} ab_sending;

/** Make the loop, the settings common to all, and what the fixture needs. */
ab_ends *ab_ends_open(const ab_ends_fixture *fixture);
/** Stop every end that is left, then free everything. */
void ab_ends_close(ab_ends *ends);
/** cmocka's set-up and tear-down of one test: the fixture in `*state` becomes its open ends. */
int ab_ends_setup(void **state);
int ab_ends_teardown(void **state);
/** Setting "key=value" for ends that start from now on; the last one of a key wins. */
void ab_ends_set(ab_ends *ends, const char *fmt, ...) AB_PRINTF(2, 3);

/** Can the transport do this (AB_CAP_...)? */
bool ab_ends_can(ab_ends *ends, unsigned cap);
/** Keep what ends that start from now on log, from warnings up, for ab_ends_logged. */
void ab_ends_capture_log(ab_ends *ends);
/** How often captured lines hold `text`. */
size_t ab_ends_logged(const ab_ends *ends, const char *text);

/** A started principal that serves `agents` ("w1,w2"; may be ""). */
ab_end *ab_end_principal(ab_ends *ends, const char *agents);
/** A started agent. */
ab_end *ab_end_agent(ab_ends *ends, const char *name);
/** A transport that is made but not started; the init error otherwise. `name` "" = principal. */
ab_err ab_end_try(ab_ends *ends, const char *name, ab_end **out, ab_error *err);
/** A principal that serves w1, and w1, each ready and seeing the other. */
void ab_ends_pair(ab_ends *ends, ab_end **principal, ab_end **agent);
/** The end is not ready for all its peers, and the reason it gives holds `text`. */
bool ab_end_says(const ab_end *end, const char *text);
/** Close, stop and free; the end and its receipts are gone. */
void ab_end_stop(ab_end *end);

/** What `end` was told of `agent` (an agent: of its principal, under its own name). Never NULL. */
ab_end_peer *ab_end_peer_of(ab_end *end, const char *agent);
/** Acknowledge the receipt. */
void ab_end_ack(ab_end *end, size_t receipt, ab_verdict verdict);
/** The newest receipt of `key` from or for `agent`, NULL when none came. */
const ab_receipt *ab_end_newest(const ab_end *end, const char *agent, const char *key);
/** How many receipts `key` has; NULL counts all. */
size_t ab_end_count(const ab_end *end, const char *key);

/** How many records were refused for this reason, by the metric. */
double ab_end_refused(ab_end *end, const char *reason);

/** What attribute source of the end's events must be; gives `out` back. */
const char *ab_end_source(const ab_end *end, char out[96]);

/* A state event about to be sent. */
typedef struct {
    const char *source; /* NULL = the sender's own */
    const char *key;
    uint64_t version;
    ab_str data; /* absent = tombstone */
} ab_draft;

/** Send on the state lane under the end's present epoch. Outcome in `sending` (may be NULL). */
ab_err ab_end_send(ab_end *end, const char *agent, const ab_draft *draft, ab_sending *sending);
/** Send a state event with a few bytes of data; asserts that it is accepted. */
void ab_end_put(ab_end *end, const char *agent, const char *key, uint64_t version);
/** The same. @return false when it is not accepted, as while nobody is reached */
bool ab_end_try_put(ab_end *end, const char *agent, const char *key, uint64_t version);
/** Send events of so many bytes, under keys of their own ("fill/1", ...), until FULL.
 * @param bytes    64 KiB at most
 * @param sending  of all of them; may be NULL. @return how many were accepted */
unsigned ab_end_fill(ab_end *end, const char *agent, size_t bytes, ab_sending *sending);
/** Send any event. */
ab_err ab_end_send_event(ab_end *end, const char *agent, ab_lane lane, ab_event *event,
                         int64_t deadline_ms, ab_sending *sending);
/**
 * As ab_end_put, and sent again while it is refused or lost, as a real sender does: for ends whose
 * logs are being replaced. To be asked again until it is true.
 * @param sending  begins with `accepted` UNAVAILABLE
 */
bool ab_end_put_until_safe(ab_end *end, const char *agent, const char *key, uint64_t version,
                           ab_sending *sending);
/** Send a live event whose id is also its key; with this data, and with a few bytes. */
ab_err ab_end_live_data(ab_end *end, const char *agent, const char *id, ab_str data,
                        int64_t deadline_ms, ab_sending *sending);
ab_err ab_end_live(ab_end *end, const char *agent, const char *id, int64_t deadline_ms,
                   ab_sending *sending);
/** Send a live event until it has gone out, and wait for it at `to`: once, or more often. */
void ab_ends_pass_live(ab_ends *ends, ab_end *from, const char *agent, ab_end *to, const char *id);

/* Let the loop run until `condition` holds; fails the test after two minutes. */
#define AB_UNTIL(ends, condition)                                                                  \
    do {                                                                                           \
        ab_wait ab_wait_ = ab_wait_begin(ends);                                                    \
        while (!(condition))                                                                       \
            ab_wait_once(&ab_wait_, #condition, __FILE__, __LINE__);                               \
    } while (0)

typedef struct {
    ab_ends *ends;
    int64_t until_ms;
} ab_wait;
ab_wait ab_wait_begin(ab_ends *ends);
void ab_wait_once(ab_wait *wait, const char *condition, const char *file, int line);
