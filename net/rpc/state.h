/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the gRPC layer share; for this folder and carrier/.
 *
 *   endpoint  what a server and a client have in common: limits, buffers, timers, connections
 *             (endpoint_loop.c, on endpoint.c)
 *   conn      one TCP connection: its life (conn.c), TLS and bytes (wire.c), its end (conn_end.c)
 *   carrier   how calls travel over it: as streams of HTTP/2, or alone by a WebSocket (carrier/)
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
    int64_t heard_ms;    /* when bytes of a message came last, or might come again */

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
    /** Say that this end is there, of which nothing is awaited. NULL: `takes` is, too. */
    void (*show)(ab_rpc_conn *conn);

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
    int watched;      /* events */
    int polled;       /* events that came and are not dealt with */
    SSL *ssl;         /* NULL: plain */
    unsigned trusted; /* by the files as they were after so many reloads */
    uint8_t *out;     /* what TCP did not take */
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
    int64_t shown_ms;  /* when this end last showed that it is there */
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
    unsigned checks;     /* of certificates, that are left in this round of care */
    int64_t logged_ms;   /* when a refusal was logged */
    uint64_t unlogged;
    unsigned handles; /* of libuv's, to be closed */
    ab_metric *connections;
    ab_metric *buffered;
};
