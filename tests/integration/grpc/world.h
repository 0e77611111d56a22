/* SPDX-License-Identifier: Apache-2.0
 *
 * A gRPC server of ours that echoes, a client of ours, and the loop they are on; for tests.
 */
#pragma once

#include "net/rpc/rpc.h"

#define LOG_MAX 64

/* What one call has seen, at either end. */
typedef struct seen {
    ab_rpc_call *call; /* NULL once it has ended */
    char method[32];
    size_t messages;
    size_t bytes;
    ab_buf last;    /* message */
    ab_buf headers; /* "name=value\n" of metadata */
    bool half_closed;
    unsigned writable;
    unsigned ended;
    ab_rpc_status status;
    char text[128];
    bool pause_each; /* pauses itself at each message */
} seen;

typedef struct {
    uv_loop_t loop;
    ab_log *log;
    ab_metrics *metrics;
    ab_rpc_env env;
    ab_clock clock;
    int64_t skipped_ms; /* the clock is ahead by this */
    ab_rpc_limits limits;
    ab_tls server_tls;
    ab_tls client_tls;
    ab_rpc_server *server;
    ab_rpc_client *client;
    int port; /* of `server`, or of what the client shall connect to */
    ab_rpc_link link;
    unsigned ups;
    ab_error link_error;
    seen calls[LOG_MAX]; /* of the server, in order */
    size_t call_count;
    char server_peer[256]; /* subject of the client's certificate, as the server saw it */
    bool drained;
    char copied[2][128]; /* paths of certificate and key */
} world;

/** Plaintext, with limits that tests can reach. */
void world_init(world *w);
/** TLS with the certificates of $AB_GRPC_CERTS, clients must show one. */
void world_use_tls(world *w);
/** The client shows a certificate that nobody trusts. */
void world_foreign_client(world *w);
/** The server's certificate and key are files that can change: copies of NAME's; NULL: garbage. */
void world_copy_server_cert(world *w, const char *name);
/** Whether a new connection is shown this certificate. */
bool world_server_shows(world *w, const char *name);
void world_start_server(world *w);
void world_start_client(world *w);
/** Both, and wait until the link is up. */
void world_start(world *w);
void world_fini(world *w);
/** Set-up and tear-down of a test whose state is a world. */
int world_set_up(void **state);
int world_tear_down(void **state);
/** Run the loop until `done` holds; fails the test after a minute. */
void world_wait(world *w, bool (*done)(void *arg), void *arg);
/** Run the loop for a while, for what should not happen. */
void world_run_ms(world *w, uint64_t ms);
/** Begin a call of /test.Echo/METHOD. */
void world_begin(world *w, const char *method, int64_t timeout_ms, bool compress, seen *s);
void world_send(seen *s, size_t len, char fill);
void world_wait_messages(world *w, seen *s, size_t messages);
void world_wait_end(world *w, seen *s);
/** Until the server has this many calls. */
void world_wait_calls(world *w, size_t calls);
void world_wait_link(world *w, ab_rpc_link link);
/** The counter argobus_grpc_refused_total{reason}. */
double world_refused(world *w, const char *reason);
void seen_fini(seen *s);
/** Handler that writes what happens to a `seen`. */
extern const ab_rpc_handler seen_handler;
