/* SPDX-License-Identifier: Apache-2.0
 *
 * gRPC by nghttp2 and OpenSSL on the process's loop: calls of a server and of a client, in messages
 * of bytes. They travel over HTTP/2, or each over a WebSocket of its own. What the messages mean is
 * for the layer above.
 *
 * All of it is for the loop thread, nothing blocks, and no upcall is made from inside a call of
 * these functions, but for what says so. What crosses the wire is bounded by ab_rpc_limits; who
 * goes past a bound loses the call or the connection, and is counted in
 * argobus_grpc_refused_total{reason}.
 */
#pragma once

#include "base/observe/log.h"
#include "base/observe/metrics.h"
#include "net/tls/tls.h"

#include <openssl/x509.h>
#include <uv.h>

typedef struct ab_rpc_server ab_rpc_server;
typedef struct ab_rpc_client ab_rpc_client;

/* One call, at either end. It lives until its on_end returns, and nothing may be done with it
 * after. */
typedef struct ab_rpc_call ab_rpc_call;

/* Numbers as on the wire. */
typedef enum {
    AB_RPC_OK = 0,
    AB_RPC_CANCELLED = 1,
    AB_RPC_UNKNOWN = 2,
    AB_RPC_INVALID_ARGUMENT = 3,
    AB_RPC_DEADLINE_EXCEEDED = 4,
    AB_RPC_NOT_FOUND = 5,
    AB_RPC_ALREADY_EXISTS = 6,
    AB_RPC_PERMISSION_DENIED = 7,
    AB_RPC_RESOURCE_EXHAUSTED = 8,
    AB_RPC_FAILED_PRECONDITION = 9,
    AB_RPC_ABORTED = 10,
    AB_RPC_OUT_OF_RANGE = 11,
    AB_RPC_UNIMPLEMENTED = 12,
    AB_RPC_INTERNAL = 13,
    AB_RPC_UNAVAILABLE = 14,
    AB_RPC_DATA_LOSS = 15,
    AB_RPC_UNAUTHENTICATED = 16
} ab_rpc_status;

/** "UNAVAILABLE" and so on; "UNKNOWN" for a number that is none of them. */
const char *ab_rpc_status_name(ab_rpc_status status);

/* One entry of metadata. Names are lower-case. Where a name ends in "-bin" the value is any bytes,
 * which are base64 only on the wire; else it is printable ASCII. */
typedef struct {
    ab_str name;
    ab_str value;
} ab_rpc_field;

/** The first value under `name`, absent when there is none. */
ab_str ab_rpc_field_find(const ab_rpc_field *fields, size_t count, const char *name);

/* So many, within so long. */
typedef struct {
    uint32_t count;
    int64_t per_ms;
} ab_rpc_rate;

typedef struct {
    size_t message_bytes;   /* of one message, after inflating; both ways */
    size_t buffered_bytes;  /* of all calls of one server or client, received in part or queued;
                               where there is a login, one agent has a quarter of it at most */
    size_t stranger_bytes;  /* before ab_rpc_welcome, instead: of a message, and of all calls of the
                               connection, with their headers */
    size_t send_high_bytes; /* queued in one call before ab_rpc_send says FULL */
    size_t header_bytes;    /* of one block of headers, names and values */
    uint32_t streams;       /* open calls that one peer may have on a connection */
    uint32_t connections;   /* of a server; further ones wait to be accepted */
    uint32_t strangers;     /* those of them before ab_rpc_welcome; past it the oldest has to go */
    uint32_t strangers_per_address; /* and those of one address, or of a /64 of IPv6 */
    uint32_t agent_connections;     /* of one agent after it; past it its oldest has to go */
    uint32_t window_bytes;          /* received for one call ahead of what its on_message took */
    int64_t handshake_ms;           /* from TCP to HTTP/2 settings */
    int64_t login_ms;               /* server: from TCP to ab_rpc_welcome; 0 = without end */
    int64_t ping_ms;                /* silence after which the peer is pinged; 0 = never */
    int64_t ping_timeout_ms; /* without any byte from it, or without it taking any, it is dead */
    int64_t retry_first_ms;  /* client: back-off between connections, doubling with jitter */
    int64_t retry_max_ms;
    ab_rpc_rate resets; /* calls that the peer begins and resets */
    ab_rpc_rate settings;
    ab_rpc_rate pings; /* with nothing sent to the peer in between */
} ab_rpc_limits;

/** What to begin with, in endpoint_loop.c. There is no end to a login. */
extern const ab_rpc_limits ab_rpc_default_limits;

/* Whom a connection leads to. Lives as long as any call on it. */
typedef struct {
    const char *address; /* "192.0.2.7", "2001:db8::7", "fe80::7%2" */
    int port;
    bool loopback;
    X509 *certificate; /* that it has sent and that was found good; NULL: none */
} ab_rpc_peer;

/* What a call begins with. Borrowed for on_call; `peer` lives on. */
typedef struct {
    ab_str path;                  /* "/package.Service/Method" */
    const ab_rpc_field *metadata; /* without what belongs to HTTP/2 and gRPC itself */
    size_t metadata_count;
    const ab_rpc_peer *peer;
} ab_rpc_request;

/* What happens in one call. Any but on_end may be NULL. Functions of this header may be called from
 * all of them. */
typedef struct {
    /** Client: the server has answered, with this metadata, borrowed. Not before a call that fails
     * at once. */
    void (*on_headers)(void *arg, const ab_rpc_field *metadata, size_t count);
    /** One message, whole and inflated; borrowed. */
    void (*on_message)(void *arg, ab_str bytes);
    /** Server: the client sends nothing more. */
    void (*on_half_close)(void *arg);
    /** After FULL: room again. */
    void (*on_writable)(void *arg);
    /** The call is over, however it came to it: exactly once, as the last. At a server OK means
     * that our ab_rpc_finish has been handed to TCP whatever its status, else it says what cut it
     * short. `text` is borrowed. */
    void (*on_end)(void *arg, ab_rpc_status status, ab_str text);
} ab_rpc_handler;

/* What both ends need; all borrowed, must outlive them. */
typedef struct {
    uv_loop_t *loop;
    ab_log *log;
    ab_metrics *metrics;
    const ab_clock *clock;
} ab_rpc_env;

/* ---- any call ---- */

/**
 * Queue one message.
 *
 * @param bytes     copied
 * @param compress  by gzip, where the peer takes it and it is of use; a very large message is sent
 *                  as it is, because compressing would hold up the loop
 * @return FULL: not taken, on_writable follows; TOOBIG; CLOSED: the call was finished, half-closed,
 *         cancelled or cut off; NOMEM
 */
AB_MUST_USE ab_err ab_rpc_send(ab_rpc_call *call, ab_str bytes, bool compress);

/* Bytes that are not copied but lent, and stay as they are until `release`. */
typedef struct {
    ab_str bytes;
    void (*release)(void *owner);
    void *owner;
} ab_rpc_loan;

/**
 * As ab_rpc_send, for a message that ends in lent bytes.
 *
 * @param head  what comes before them; copied
 * @param loan  copied; its release runs exactly once if this returns OK, maybe from inside it, and
 *              else never
 */
AB_MUST_USE ab_err ab_rpc_send_lent(ab_rpc_call *call, ab_str head, const ab_rpc_loan *loan,
                                    bool compress);
/** No on_message until ab_rpc_resume; what the peer may send in the meantime is bounded by its
 * window. */
void ab_rpc_pause(ab_rpc_call *call);
/** Undo ab_rpc_pause. */
void ab_rpc_resume(ab_rpc_call *call);
/** For how many milliseconds nothing has come over the connection of a call that has not ended. The
 * answers to pings count. */
int64_t ab_rpc_silent_ms(const ab_rpc_call *call);
/** For how many milliseconds no part of a message has come in a call that has not ended, while it
 * was not paused. Unlike answers to pings, messages show that who speaks in the call is there: a
 * proxy that has lost the way to him answers pings, too. */
int64_t ab_rpc_quiet_ms(const ab_rpc_call *call);
/** End it at once, unless it has ended; what is queued is dropped. on_end (CANCELLED) follows. */
void ab_rpc_cancel(ab_rpc_call *call);

/* ---- server ---- */

/**
 * Take a call on; from on_call only.
 *
 * @param handler  borrowed; must outlive the call
 */
void ab_rpc_accept(ab_rpc_call *call, const ab_rpc_handler *handler, void *arg);
/** Who makes this call is known: its connection stays for as long as the peer wants, whatever
 * `login_ms` says, and what it buffers counts with all else of this agent.
 *  @param agent  borrowed; it counts when first given for a connection */
void ab_rpc_welcome(ab_rpc_call *call, const char *agent);
/** Send the headers now, with metadata. Without this they go with the first message.
 *  @return CLOSED: they are sent, or the call is over; INVALID: no metadata; NOMEM */
AB_MUST_USE ab_err ab_rpc_respond(ab_rpc_call *call, const ab_rpc_field *metadata, size_t count);
/** End a call when all that is queued has gone out. on_end follows if it was accepted.
 *  @param text  for people, UTF-8, borrowed; NULL = none */
void ab_rpc_finish(ab_rpc_call *call, ab_rpc_status status, const char *text);
/** A unary answer: send one message, and finish with OK; or with an error when it cannot be sent.
 */
void ab_rpc_reply(ab_rpc_call *call, ab_str bytes, bool compress);

typedef struct {
    /** Headers of a call are in: ab_rpc_accept it, or ab_rpc_finish it at once. One that is left as
     * it is gets UNIMPLEMENTED. */
    void (*on_call)(void *arg, ab_rpc_call *call, const ab_rpc_request *request);
    void *arg;
} ab_rpc_server_events;

/**
 * A server that does not listen yet.
 *
 * @param host    address to bind; "" = all
 * @param port    0 = pick one (see ab_rpc_server_port)
 * @param limits  copied
 * @param out     owned by the caller: ab_rpc_server_free
 * @return CONFIG: certificates and key do not load (says which file and why); NOMEM
 */
AB_MUST_USE ab_err ab_rpc_server_new(const ab_rpc_env *env, const char *host, int port,
                                     const ab_tls *tls, const ab_rpc_limits *limits,
                                     const ab_rpc_server_events *events, ab_rpc_server **out,
                                     ab_error *err);
/** Listen. @return UNAVAILABLE with host, port and reason; it may be tried again */
AB_MUST_USE ab_err ab_rpc_server_start(ab_rpc_server *server, ab_error *err);
/** The port that is listened on. */
int ab_rpc_server_port(const ab_rpc_server *server);
/** Open connections. */
size_t ab_rpc_server_connections(const ab_rpc_server *server);
/**
 * Stop listening, tell every client to go (GOAWAY), and let calls end; those that have not by
 * `deadline_ms` are cut off with UNAVAILABLE.
 *
 * @param drained  called once, when no connection is left; never from inside this call; it may
 *                 free the server
 */
void ab_rpc_server_drain(ab_rpc_server *server, int64_t deadline_ms, void (*drained)(void *arg),
                         void *arg);
/** Close everything at once, without any further upcall (an accepted call gets no on_end), and
 * free. The loop must be run afterwards for handles to close. NULL is allowed. Not from an upcall.
 */
void ab_rpc_server_free(ab_rpc_server *server);

/* ---- client ---- */

typedef enum {
    AB_RPC_CONNECTING,
    AB_RPC_UP,       /* calls can begin */
    AB_RPC_DRAINING, /* the server takes no new calls; DOWN follows when the open ones have ended */
    AB_RPC_DOWN      /* calls have ended; it connects again after a back-off */
} ab_rpc_link;

typedef struct {
    /** The state of the connection has changed. `err`: why it is DOWN or DRAINING, else NULL.
     * Calls have had their on_end when DOWN is told. */
    void (*on_link)(void *arg, ab_rpc_link link, const ab_error *err);
    void *arg;
} ab_rpc_client_events;

/**
 * A client with one connection to one server, kept up for ever once started.
 *
 * @param host    name or address; resolved at each attempt, all of its addresses are tried
 * @param limits  copied
 * @param out     owned by the caller: ab_rpc_client_free
 * @return CONFIG: certificates and key do not load (says which file and why); NOMEM
 */
AB_MUST_USE ab_err ab_rpc_client_new(const ab_rpc_env *env, const char *host, int port,
                                     const ab_tls *tls, const ab_rpc_limits *limits,
                                     const ab_rpc_client_events *events, ab_rpc_client **out,
                                     ab_error *err);
/** Begin to connect. Trouble is not an error: it is told by on_link, and tried again. */
void ab_rpc_client_start(ab_rpc_client *client);
/** Drop the connection, and come back after a back-off: what the server said is of no use. Calls
 * get their on_end (UNAVAILABLE). The back-off grows until ab_rpc_client_good. */
void ab_rpc_client_reconnect(ab_rpc_client *client);
/** The server has shown to be of use (the application's own handshake succeeded): begin again with
 * the first back-off. */
void ab_rpc_client_good(ab_rpc_client *client);
/**
 * Connect again every 100 to 200 ms for the next 10 s, and only then back off: the server was of
 * use, and is probably restarting.
 *
 * @param on  false: back off as usual, because the server answers and what it says is of no use
 */
void ab_rpc_client_hurry(ab_rpc_client *client, bool on);
/** Close at once, without any further upcall (a call gets no on_end), and free. The loop must be
 * run afterwards for handles to close. NULL is allowed. Not from an upcall. */
void ab_rpc_client_free(ab_rpc_client *client);

/* What a call is begun with. */
typedef struct {
    const char *path; /* "/package.Service/Method" */
    const ab_rpc_field *metadata;
    size_t metadata_count;
    int64_t timeout_ms; /* the server is told, and it ends here too; 0 = none */
    bool compress;      /* tell the server that messages may be compressed */
    /** Of a unary call: the metadata of the response, with the argument of `done`. NULL: nobody
     * wants it. */
    void (*on_headers)(void *arg, const ab_rpc_field *metadata, size_t count);
} ab_rpc_begin;

/**
 * Begin a call.
 *
 * @param begin    borrowed for the call
 * @param handler  borrowed; must outlive the call
 * @param out      lives until on_end has returned
 * @return UNAVAILABLE: the link is not UP; FULL: the server allows no more calls at a time;
 *         INVALID: no path or no metadata; NOMEM. No upcall then
 */
AB_MUST_USE ab_err ab_rpc_call_begin(ab_rpc_client *client, const ab_rpc_begin *begin,
                                     const ab_rpc_handler *handler, void *arg, ab_rpc_call **out);
/** Nothing more will be sent; what is queued goes out. */
void ab_rpc_half_close(ab_rpc_call *call);

/** The end of a unary call: `response` is absent unless `status` is OK; all borrowed. */
typedef void (*ab_rpc_done)(void *arg, ab_rpc_status status, ab_str text, ab_str response);

/** A unary call: one request, one response.
 *  @return as ab_rpc_call_begin and ab_rpc_send; unless OK, `done` never runs */
AB_MUST_USE ab_err ab_rpc_unary(ab_rpc_client *client, const ab_rpc_begin *begin, ab_str request,
                                ab_rpc_done done, void *arg);
