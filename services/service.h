/* SPDX-License-Identifier: Apache-2.0
 *
 * What both daemons are made of: a store on one side, a transport on the other, a tick, and the
 * order in which they start and end. Each daemon puts its decisions in between.
 */
#pragma once

#include "services/daemon/daemon.h"
#include "services/state_db.h"
#include "services/traces.h"
#include "store/store.h"
#include "transport/transport.h"

/* First member of a daemon's own state, so that the upcalls' `arg` is both. Loop thread. */
typedef struct ab_service {
    ab_daemon *daemon;
    ab_store *store;
    ab_transport *transport;
    ab_state_db *state_db; /* NULL: nothing is kept */
    ab_traces *traces;     /* NULL: nothing is traced */
    uv_timer_t *tick;      /* freed when closed, which is after the rest */
    bool listed;           /* the store has been read */
    bool store_running;
    bool connecting; /* the transport is started */
    bool stopping;
    bool finishing; /* only the transport is left to stop */
    bool unsaved;   /* the log has it that the state database cannot be written */
    int64_t tell_unsaved_ms;
    /** About four times a second until stopping. */
    void (*on_tick)(struct ab_service *s);
    /** A live event came; may be NULL. */
    void (*on_live)(struct ab_service *s, const char *agent, const ab_event *event);
    /** Asked once the store has stopped: nothing in between waits for a worker or a client any
     * more. */
    bool (*is_drained)(const struct ab_service *s);
} ab_service;

#define AB_SERVICE_OPTIONS_MAX 24

/** Every option of a daemon: its own, those that both have, and those of what they are made of.
 *  @return how many tables */
size_t ab_service_options(const ab_options *own, ab_options out[AB_SERVICE_OPTIONS_MAX]);
/**
 * A file of the transport in use: its option <transport>.tls.<what>.
 * @param what  "ca", "cert", "key"
 * @return NULL when it is not set
 */
const char *ab_service_tls(const ab_config *config, const char *what);
/** The file that this option names, else the one of the transport. */
const char *ab_service_file(const ab_config *config, const char *option, const char *what);
/** The store that the configuration names, watching these. `events.on_fault` is set here. */
AB_MUST_USE ab_err ab_service_make_store(ab_service *s, const ab_store_watch *watches,
                                         ab_store_events events, ab_error *err);
/** The transport that the configuration names. Of `env`, role, agent, mode, replay and events are
 * the caller's; `events.on_fatal` and the rest are set here. */
AB_MUST_USE ab_err ab_service_make_transport(ab_service *s, ab_transport_env env, ab_error *err);
/** Start the tick and the store. */
AB_MUST_USE ab_err ab_service_start(ab_service *s, ab_error *err);
/** Start the transport. */
AB_MUST_USE ab_err ab_service_connect(ab_service *s, ab_error *err);
/** Drain: no new events, finish what the store has begun, commit, then ab_daemon_stopped. */
void ab_service_stop(ab_service *s);
/** Release store, transport and tick, also after a start that failed half-way. */
void ab_service_release(ab_service *s);
/** The transport runs and its other side is reached.
 *  @param why  the reason is appended when false */
bool ab_service_is_connected(const ab_service *s, ab_buf *why);
/** Whether the delivery is state. A live event is handed to on_live and acknowledged here, or
 * counted where nobody takes it, and must not reach what decides about state. */
bool ab_service_takes(ab_service *s, ab_delivery *delivery);
/** For /readyz. */
bool ab_service_is_ready(const ab_service *s, ab_buf *why);
/** The state database takes what is written, as far as is known.
 *  @param why  the reason is appended when false */
bool ab_service_can_save(const ab_service *s, ab_buf *why);
