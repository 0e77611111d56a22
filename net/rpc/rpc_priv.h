/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the gRPC layer share.
 *
 *   endpoint  what a server and a client have in common: limits, buffers, timers, connections
 *             (endpoint_loop.c, on endpoint.c)
 *   conn      one TCP connection: its life (conn.c), TLS and bytes (wire.c), its end (conn_end.c)
 *   carrier   how calls travel over it: as streams of HTTP/2 (http2.c, http2_in.c), or alone by a
 *             WebSocket (websocket.c, websocket_in.c, websocket_out.c)
 *   call      one of them: its life (call.c), what is held (call_in.c) and queued (call_out.c),
 *             what its headers say (heads.c)
 *
 * A source calls those of lines below its own; upwards only by the carrier's table and the
 * endpoint's.
 *
 * Connections and calls are freed only from the top: out of a callback of libuv, never out of one
 * of nghttp2's or out of a function of rpc.h. Whoever finds earlier that a connection has to go
 * dooms it, and has the end look at it in the same turn of the loop (ab_rpc_endpoint_wake).
 */
#pragma once

#include "base/core/map.h"
#include "net/rpc/codec/head.h"
#include "net/rpc/codec/message.h"

#include <netinet/in.h>
#include <sys/queue.h>
#include <sys/socket.h>

#define AB_RPC_SCRATCH (64u * 1024)
/* Of bytes held in one call; the window is smaller. */
#define AB_RPC_HELD_MAX INT32_MAX
/* "fe80::1%4294967295" and the NUL. */
#define AB_RPC_ADDRESS_MAX (INET6_ADDRSTRLEN + 11)

typedef struct ab_rpc_endpoint ab_rpc_endpoint;
typedef struct ab_rpc_conn ab_rpc_conn;
typedef struct ab_rpc_websocket ab_rpc_websocket;
typedef struct ab_rpc_account ab_rpc_account;
TAILQ_HEAD(ab_rpc_conns, ab_rpc_conn);

/* One message on its way out, prefix and all: own bytes, then those that are lent. */
typedef struct ab_rpc_chunk {
    STAILQ_ENTRY(ab_rpc_chunk) at;
    ab_rpc_loan loan; /* of no bytes when there is none */
    size_t own;
    size_t sent;
    uint8_t bytes[];
} ab_rpc_chunk;

struct ab_rpc_call {
    TAILQ_ENTRY(ab_rpc_call) at;      /* of conn->calls */
    TAILQ_ENTRY(ab_rpc_call) timed;   /* of end->timed, when deadline_ms > 0 */
    TAILQ_ENTRY(ab_rpc_call) starved; /* of end->starved, when is_starved */
    ab_rpc_conn *conn;
    int32_t stream; /* 0: the carrier has closed it */
    const ab_rpc_handler *handler;
    void *arg;
    int64_t deadline_ms; /* by the clock's mono_ms; 0 = none */

    ab_rpc_reader in;
    size_t charged; /* to the connection's budget, for the call itself and its headers */
    ab_buf held;    /* received while paused, or not inflated yet; the peer's window bounds it */
    bool paused;
    bool peer_closed; /* it sends nothing more */
    bool close_reported;
    bool answered; /* client: response headers are in */

    STAILQ_HEAD(, ab_rpc_chunk) out;
    size_t queued;    /* bytes in `out` */
    bool peer_gzip;   /* it takes gzip, and was told that we may send some */
    bool head_sent;   /* server: response headers are given to the carrier */
    bool deferred;    /* nghttp2 waits to be told of more */
    bool full;        /* on_writable is owed */
    bool is_starved;  /* ... when the budget has room */
    bool half_closed; /* client: nothing follows what is queued */
    bool finishing;   /* server: the trailers follow what is queued */
    bool finished;    /* server: the trailers are given to the carrier */

    bool over;     /* nothing but on_end follows */
    bool has_fate; /* the first of its ends, that on_end tells: */
    ab_rpc_status fate;
    char *fate_text;
    ab_rpc_status answer; /* server: what the trailers say */
    char *answer_text;
};

/* Events of one kind within the current span. */
typedef struct {
    int64_t since_ms;
    uint32_t count;
} ab_rpc_count;

typedef enum {
    AB_RPC_CONN_TCP,
    AB_RPC_CONN_TLS,
    AB_RPC_CONN_OPEN, /* bytes can flow; waits for the peer's settings or upgrade */
    AB_RPC_CONN_READY,
} ab_rpc_conn_state;

/* How calls travel over a connection. Functions about a call are for one whose stream is not 0. */
typedef struct {
    /** A call that is paused holds up all that the peer says: it may still be there when it takes
     * nothing. */
    bool blocks;
    /** Begin, when bytes can flow. @return NOMEM */
    ab_err (*open)(ab_rpc_conn *conn);
    void (*close)(ab_rpc_conn *conn);
    /** Wants what the peer sends. NULL: always, since its windows bound that. */
    bool (*takes)(const ab_rpc_conn *conn);
    /** Bytes that came; they may be changed. */
    void (*receive)(ab_rpc_conn *conn, uint8_t *bytes, size_t len);
    /** Send what there is, as far as TCP takes it. */
    void (*send)(ab_rpc_conn *conn);
    bool (*wants_send)(const ab_rpc_conn *conn);
    /** Nothing more can come. */
    bool (*is_ended)(const ab_rpc_conn *conn);
    /** Say that this is the end, and why: a code of HTTP/2. */
    void (*refuse)(ab_rpc_conn *conn, uint32_t code);
    /** Say that no new calls are taken. NULL: none are in any case. */
    void (*leave)(ab_rpc_conn *conn);
    /** @return false: not possible now */
    bool (*ping)(ab_rpc_conn *conn);

    /** Client: the headers that begin a call. @return NOMEM, UNAVAILABLE */
    ab_err (*request)(ab_rpc_call *call, const ab_rpc_head_out *head);
    /** Server: the headers before the messages. @return NOMEM */
    ab_err (*respond)(ab_rpc_call *call, const ab_rpc_head_out *head);
    /** Server: what comes after them; the only headers where none were sent. @return NOMEM */
    ab_err (*trail)(ab_rpc_call *call, const ab_rpc_head_out *head);
    /** So many bytes of it were dealt with. NULL: what is held counts, see `takes`. */
    void (*consume)(ab_rpc_call *call, size_t len);
    /** There is more to be sent. NULL: `send` looks. */
    void (*push)(ab_rpc_call *call);
    /** End it at once, with a code of HTTP/2. */
    void (*reset)(ab_rpc_call *call, uint32_t code);
    /** The call is about to be freed. May be NULL. */
    void (*forget)(ab_rpc_call *call);
} ab_rpc_carrier;

struct ab_rpc_conn {
    TAILQ_ENTRY(ab_rpc_conn) at;
    TAILQ_ENTRY(ab_rpc_conn) work;
    TAILQ_ENTRY(ab_rpc_conn) of_account; /* when `account` is set */
    TAILQ_ENTRY(ab_rpc_conn) stranger;   /* of end->strangers, until welcome */
    ab_rpc_account *account;             /* NULL: there are none */
    ab_rpc_budget budget;                /* of its calls */
    ab_rpc_endpoint *endpoint;
    ab_rpc_conn_state state;
    bool queued;  /* is in end->work */
    bool read_on; /* stopped reading before all was read */
    bool send_on; /* stopped sending before all was sent */
    bool resumed; /* a call of it was, or has more to inflate */
    bool leaving; /* GOAWAY was sent or received: no new calls */
    bool closing; /* the peer is heard no more, and what was said last goes out */
    bool shut;    /* ... and has gone */
    bool welcome; /* server: a call of it was */
    bool doomed;  /* is to be freed */
    ab_error why; /* of doomed or leaving */

    uv_poll_t poll;
    int fd;
    int watched;  /* events */
    int polled;   /* events that came and are not dealt with */
    SSL *ssl;     /* NULL: plain */
    uint8_t *out; /* what TCP did not take */
    size_t out_len;
    size_t out_sent;

    const ab_rpc_carrier *carrier; /* NULL until it is known */
    ab_rpc_websocket *ws;
    nghttp2_session *h2;
    ab_rpc_head_in *head; /* while a block comes in */
    TAILQ_HEAD(, ab_rpc_call) calls;
    size_t call_count;
    size_t may_inflate; /* bytes, before others have their turn */

    int64_t born_ms;
    int64_t heard_ms;  /* some bytes came */
    int64_t moved_ms;  /* TCP took some bytes, or had none to take */
    int64_t pinged_ms; /* 0: no answer is awaited */
    int64_t close_ms;  /* at the latest; 0 = not to be closed */
    ab_rpc_count resets;
    ab_rpc_count settings;
    ab_rpc_count pings;

    ab_rpc_peer peer;
    char address[AB_RPC_ADDRESS_MAX];
};

/* What differs between a server and a client. Called from the top. Only on_gone and on_closed are
 * never NULL. */
typedef struct {
    /** Server: headers of a call are in. */
    void (*on_call)(ab_rpc_endpoint *endpoint, ab_rpc_call *call, const ab_rpc_request *request);
    /** TCP, TLS and HTTP/2 are up. */
    void (*on_ready)(ab_rpc_conn *conn);
    /** Client: GOAWAY came. */
    void (*on_leaving)(ab_rpc_conn *conn);
    /** It is about to end its calls. */
    void (*on_going)(ab_rpc_conn *conn);
    /** It has ended them, and is freed after this. */
    void (*on_gone)(ab_rpc_conn *conn);
    /** Every second or so. */
    void (*on_care)(ab_rpc_endpoint *endpoint);
    /** All handles are closed: free it. */
    void (*on_closed)(ab_rpc_endpoint *endpoint);
} ab_rpc_endpoint_ops;

struct ab_rpc_endpoint {
    const ab_rpc_endpoint_ops *ops;
    ab_rpc_env env;
    ab_rpc_limits limits;
    ab_tls_context secure;
    bool server;
    bool closing;
    struct ab_rpc_conns conns;
    size_t conn_count;
    struct ab_rpc_conns work;
    size_t work_count;
    TAILQ_HEAD(, ab_rpc_call) timed;
    TAILQ_HEAD(, ab_rpc_call) starved;
    ab_rpc_budget budget;
    ab_map *accounts;              /* by "address ..." or "agent ..."; NULL: there are none */
    struct ab_rpc_conns strangers; /* who have not logged in, oldest first */
    size_t stranger_count;
    z_stream *deflater;
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    uint8_t *in; /* AB_RPC_SCRATCH bytes each, for one connection at a time */
    uint8_t *out;
    size_t out_filled; /* of `out`, while a connection sends */
    uint64_t spent_ns; /* on connections, in this part of the turn */
    uv_prepare_t poll; /* before the loop polls */
    uv_idle_t idle;    /* active: connections wait for their turn */
    uv_idle_cb on_idle;
    uv_timer_t care;
    uv_timer_t deadline;
    int64_t deadline_ms; /* `deadline` fires then; 0 = it does not */
    int64_t stale_ms;    /* when files were looked at */
    int64_t logged_ms;   /* when a refusal was logged */
    uint64_t unlogged;
    unsigned handles; /* of libuv's, to be closed */
    ab_metric *connections;
    ab_metric *buffered;
};

/* ---- endpoint_loop.c ---- */

/** Everything but what is the server's or client's own. @return CONFIG, NOMEM; give it to
 * ab_rpc_endpoint_close in any case */
AB_MUST_USE ab_err ab_rpc_endpoint_init(ab_rpc_endpoint *endpoint, const ab_rpc_endpoint_ops *ops,
                                        const ab_rpc_env *env, const ab_rpc_limits *limits,
                                        const ab_tls *tls, bool server, const char *host,
                                        ab_error *err);
/** Free all connections and calls without an upcall, and close; on_closed follows. */
void ab_rpc_endpoint_close(ab_rpc_endpoint *endpoint);

/* ---- endpoint.c ---- */

/** One more handle that has to close. */
void ab_rpc_endpoint_ref(ab_rpc_endpoint *endpoint);
void ab_rpc_endpoint_unref(ab_rpc_endpoint *endpoint);
int64_t ab_rpc_endpoint_now_ms(const ab_rpc_endpoint *endpoint);
/** May one more connection be worked on, in this part of the turn of the loop? */
bool ab_rpc_endpoint_has_time(const ab_rpc_endpoint *endpoint);
/** Look at `conn` before the loop sleeps. */
void ab_rpc_endpoint_wake(ab_rpc_conn *conn);
void ab_rpc_endpoint_forget(ab_rpc_conn *conn);
/** Count what is refused, and log it with why the connection ends if it does, though not too often.
 */
void ab_rpc_endpoint_log_refusal(ab_rpc_endpoint *endpoint, const ab_rpc_conn *conn,
                                 const char *reason);

/* ---- conn.c ---- */

/**
 * Take a socket into the loop.
 *
 * @param fd  non-blocking; taken over on success only
 * @return NOMEM, IO
 */
AB_MUST_USE ab_err ab_rpc_conn_new(ab_rpc_endpoint *endpoint, int fd, const struct sockaddr *peer,
                                   bool connecting, ab_rpc_conn **out);
/** Take no new calls, and close when the last has ended, or at `deadline_ms`. */
void ab_rpc_conn_leave(ab_rpc_conn *conn, int64_t deadline_ms);
/** Do what there is to do: read on, deliver, send, free. Counts the time. From the top. */
void ab_rpc_conn_work(ab_rpc_conn *conn);
/** Time has passed. From the top. */
void ab_rpc_conn_care(ab_rpc_conn *conn, int64_t now_ms);
/** Free it. @param silent  its calls get no on_end, and nobody is told */
void ab_rpc_conn_free(ab_rpc_conn *conn, bool silent);

/* ---- conn_end.c ---- */

/** Bytes can flow, and it is known how calls travel. */
bool ab_rpc_conn_is_open(const ab_rpc_conn *conn);
/** It has to go, for the reason `err`; the first reason is kept. */
void ab_rpc_conn_doom(ab_rpc_conn *conn, const ab_error *err);
/** The peer went past a bound: count it, say GOAWAY, close. @param reason  a literal */
void ab_rpc_conn_refuse(ab_rpc_conn *conn, const char *reason, uint32_t code);
/** One more event of a kind. @return false: more than `rate` allows, and the peer is refused for
 * `reason` */
bool ab_rpc_conn_allows(ab_rpc_conn *conn, ab_rpc_count *c, const ab_rpc_rate *rate,
                        const char *reason);
/** The last was said: let it go out, and wait a moment for the peer's end. */
void ab_rpc_conn_close(ab_rpc_conn *conn);

/* ---- account.c ---- */

/** A connection is there: whose address it has pays for it. It may be doomed, or another one, when
 * there are too many. */
void ab_rpc_account_open(ab_rpc_conn *conn, const struct sockaddr *from);
/** Its peer has logged in as `agent`, which pays for it from now on. */
void ab_rpc_account_welcome(ab_rpc_conn *conn, const char *agent);
/** It has no calls any more and goes. */
void ab_rpc_account_close(ab_rpc_conn *conn);
/** Bytes that a message on this connection may have. */
size_t ab_rpc_account_message_max(const ab_rpc_conn *conn);

/* ---- peer.c ---- */

/** Who is counted as one: an address of IPv4, a network of 64 bits of IPv6. */
void ab_rpc_peer_network(const struct sockaddr *from, char text[AB_RPC_ADDRESS_MAX]);

/** Set address, port and loopback of `peer` by the socket's address.
 *  @param text  room for the address, which `peer` borrows: an IP address without brackets and
 * port, with its zone where it has one */
void ab_rpc_peer_set_address(ab_rpc_peer *peer, const struct sockaddr *from,
                             char text[AB_RPC_ADDRESS_MAX]);

/* ---- wire.c: bytes over TCP, with or without TLS ---- */

typedef enum { AB_RPC_WIRE_DONE, AB_RPC_WIRE_AGAIN, AB_RPC_WIRE_FAILED } ab_rpc_wire;

/** Go on connecting; DONE once bytes can flow. */
ab_rpc_wire ab_rpc_wire_open(ab_rpc_conn *conn);
/** TLS has agreed on HTTP/2. Without ALPN the peer may be anything. */
bool ab_rpc_wire_speaks_h2(const ab_rpc_conn *conn);
/** At most `len` bytes to `into`; FAILED also at the end. */
ab_rpc_wire ab_rpc_wire_read(ab_rpc_conn *conn, uint8_t *into, size_t len, size_t *got);
/** Send, or keep what cannot be sent now. AGAIN: some is kept, and with it the `more` bytes that
 * lie behind it; give no more. */
ab_rpc_wire ab_rpc_wire_write(ab_rpc_conn *conn, const uint8_t *bytes, size_t len, size_t more);
/** More follows at once: let TCP wait for it. */
void ab_rpc_wire_cork(const ab_rpc_conn *conn, bool on);
/** Send what was kept. */
ab_rpc_wire ab_rpc_wire_flush(ab_rpc_conn *conn);
/** Tell the peer that nothing more is sent. */
void ab_rpc_wire_shut(ab_rpc_conn *conn);
void ab_rpc_wire_close(ab_rpc_conn *conn);

/* ---- http2.c ---- */

/** Callbacks and options, the same for all connections. @return NOMEM */
AB_MUST_USE ab_err ab_rpc_http2_init(ab_rpc_endpoint *endpoint);
/** Client: the server allows no more calls at a time. */
bool ab_rpc_http2_is_full(const ab_rpc_conn *conn);
extern const ab_rpc_carrier ab_rpc_http2;

/* ---- http2_in.c ---- */

/** The callbacks for what comes. */
void ab_rpc_http2_listen(nghttp2_session_callbacks *c);

/* ---- websocket.c ---- */

extern const ab_rpc_carrier ab_rpc_over_websocket;

/* ---- heads.c ---- */

/** Server: what a call begins with. */
void ab_rpc_heads_request(ab_rpc_call *call, ab_rpc_head_in *head);
/** Client: headers of the answer. @param last  nothing follows them */
void ab_rpc_heads_response(ab_rpc_call *call, ab_rpc_head_in *head, bool last);

/* ---- call.c ---- */

/** A call on `stream`, without handler. @return NULL when out of memory */
ab_rpc_call *ab_rpc_call_new(ab_rpc_conn *conn, int32_t stream);
/** It has a deadline now, or none any more (0). */
void ab_rpc_call_set_deadline(ab_rpc_call *call, int64_t deadline_ms);
/** Keep what on_end will tell, unless something is kept. `text` is copied. */
void ab_rpc_call_set_fate(ab_rpc_call *call, ab_rpc_status status, ab_str text);
/** It ends here and now for this reason: the peer is told. */
void ab_rpc_call_cut(ab_rpc_call *call, ab_rpc_status status, const char *text);
/** The carrier has closed its stream. */
void ab_rpc_call_stream_closed(ab_rpc_call *call, uint32_t code);
/** on_end, unless `silent`, and free. */
void ab_rpc_call_free(ab_rpc_call *call, bool silent);

/* ---- call_in.c ---- */

/** Server: what the call and its headers, of so many bytes, keep in memory.
 *  @return false: too much; the call is cut */
bool ab_rpc_call_charge(ab_rpc_call *call, size_t bytes);
/** Take bytes of messages in. */
void ab_rpc_call_receive(ab_rpc_call *call, ab_str bytes);
/** The peer sends nothing more. */
void ab_rpc_call_peer_closed(ab_rpc_call *call);
/** Deliver what was held while it was paused. It may be gone afterwards. From the top. */
void ab_rpc_call_go_on(ab_rpc_call *call);

/* ---- call_out.c ---- */

/** Bytes of the first message that is queued, with its prefix; 0: there is none. */
size_t ab_rpc_call_next(const ab_rpc_call *call);
/** Take off what is queued. @return how many bytes; less than `room`: there are no more */
size_t ab_rpc_call_pull(ab_rpc_call *call, uint8_t *into, size_t room);
void ab_rpc_call_drop_queue(ab_rpc_call *call);
/** Server: all that was queued is taken off, or dropped: give the trailers to the carrier. */
void ab_rpc_call_trail(ab_rpc_call *call);
/** There may be room again. */
void ab_rpc_call_drained(ab_rpc_call *call);
/** Tell calls that were refused for the budget, when it has room. From the top. */
void ab_rpc_call_feed(ab_rpc_endpoint *endpoint);
