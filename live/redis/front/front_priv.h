/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the redis front share:
 *
 *   front.c          the listener, the timer, what is common to all connections
 *   front_conn.c     one client and its connection to the control plane's redis: begin, bytes, end
 *   front_command.c  what a command of the client means, and what its reply will be
 *   front_expect.c   which replies are to come
 *   front_shared.c   what all of them need of the front
 *   front_reply.c    replies of the control plane's redis, each to the command that it belongs to
 *   front_get.c      a key that an agent answers
 *   front_sub.c      a channel on which an agent publishes
 *
 * Every command is passed on and has its reply, so that order needs no other rule: replies come
 * back in the order of commands, and an agent's value takes the place of the reply to its GET.
 * While it is waited for, nothing more is read from the control plane's redis on this connection.
 *
 * Memory of a connection is freed when both wires are closed, from the loop; until then `over` says
 * that nothing may happen any more.
 */
#pragma once

#include "base/core/list.h"
#include "base/core/map.h"
#include "base/observe/log_quota.h"
#include "live/redis/front/front.h"
#include "live/redis/resp.h"
#include "live/redis/wire.h"

#define AB_REDIS_FRONT_AGENT_MAX 254

typedef struct ab_redis_conn ab_redis_conn;
typedef struct ab_redis_get ab_redis_get;

/* What the reply to a command will be. */
typedef enum {
    AB_REDIS_PASS,             /* `count` replies, passed on */
    AB_REDIS_CONFIRM,          /* `count` confirmations of subscriptions, or one error */
    AB_REDIS_CONFIRM_CHANNELS, /* UNSUBSCRIBE of all: one for each, at least one */
    AB_REDIS_CONFIRM_PATTERNS,
    AB_REDIS_CONFIRM_SHARDS,
    AB_REDIS_HELLO,
    AB_REDIS_RESET,
    AB_REDIS_MULTI,
    AB_REDIS_REFUSED, /* the reply is replaced by the error `text` */
    AB_REDIS_GARBAGE, /* the same, and the connection ends */
    AB_REDIS_GET,     /* replaced by the agent's value, unless it is an error */
} ab_redis_expect_kind;

typedef struct {
    ab_link link; /* conn->expected */
    ab_redis_expect_kind kind;
    uint32_t count;
    const char *text;     /* literal */
    uint32_t transaction; /* MULTI: as the connection's when it was sent */
    size_t key_len;
    char key[]; /* GET */
} ab_redis_expect;

/* A channel of an agent that a connection is subscribed to. */
typedef struct {
    ab_link retry; /* front->retries: the agent is to be asked again */
    ab_link told;  /* conn->told: a message waits to be delivered */
    ab_redis_conn *conn;
    ab_live_stream *stream; /* NULL: the agent is not asked */
    bool was_lost;          /* since the subscription began: something may have been missed */
    ab_backoff backoff;
    int64_t retry_ms;
    ab_resp_replies frames;
    ab_buf in;      /* a message that has come in part */
    ab_buf message; /* the last one that waits */
    ab_str channel; /* the key in conn->subs */
} ab_redis_sub;

/* What its parts may do to a connection. */
typedef struct {
    /** End it now: no upcall follows, and the memory stays until the loop has run. */
    void (*close)(ab_redis_conn *c);
    /** End it when the client has been sent what is queued. */
    void (*end)(ab_redis_conn *c);
    /** Send to the client what is queued, and read on from the redis if nothing stands in the way.
     * When the front is stopping, end it unless it is owed a reply. */
    void (*go_on)(ab_redis_conn *c);
} ab_redis_conn_ops;

struct ab_redis_conn {
    const ab_redis_conn_ops *ops;
    ab_link link; /* front->conns */
    ab_redis_front *front;
    ab_redis_wire *client;
    ab_redis_wire *server; /* NULL: not needed yet */
    int wires;             /* that are not closed */
    bool over;             /* nothing more happens */
    bool admitted;         /* the redis has done what the client asked for */
    bool ending;           /* as soon as all is sent to the client */
    int64_t ending_ms;     /* since */
    ab_resp_requests requests;
    ab_resp_replies replies;
    ab_link expected; /* ab_redis_expect, in the order of the commands */
    uint32_t expected_count;
    bool is_resp3;
    uint32_t multis; /* since the last transaction was ended, without those that redis refused */
    uint32_t transaction;               /* how many have been ended */
    bool in_garbage;                    /* nothing more is read from the client */
    bool in_reply;                      /* the beginning of a reply was sent */
    bool is_notice;                     /* what was begun is not a reply: nobody waits for it */
    bool is_discarding;                 /* the rest of a reply that is replaced follows */
    int64_t channels, patterns, shards; /* subscriptions, as redis counts them */
    ab_redis_get *get;                  /* that is waited for */
    ab_map *subs;                       /* ab_redis_sub by channel; NULL: none */
    ab_link told;
};

struct ab_redis_front {
    ab_redis_front_options o;
    char *redis_host;
    ab_tls_context listen_tls;
    ab_tls_context redis_tls;
    int fd;
    int port;
    uv_poll_t poll;
    uv_timer_t timer;
    int handles;
    bool is_stopping; /* nobody listens; connections end when they can */
    bool is_closing;
    ab_link conns;
    size_t conn_count; /* that are served */
    size_t open_count; /* and those whose memory is not freed yet */
    ab_link retries;
    int64_t stale_ms;   /* when certificates were looked at */
    ab_log_quota lines; /* that clients cause by coming */
    ab_metric *connections;
    ab_metric *subscriptions;
    ab_metric *gets[3]; /* by ab_redis_got */
    ab_metric *seconds;
};

typedef enum { AB_REDIS_GOT_VALUE, AB_REDIS_GOT_NOTHING, AB_REDIS_GOT_ERROR } ab_redis_got;

int64_t ab_redis_front_now_ms(const ab_redis_front *front);
/** Free the front when it is closed and its last connection is. */
void ab_redis_front_free_if_done(ab_redis_front *front);
/* What an agent is asked. */
typedef struct {
    ab_str agent;
    const char *method;
    ab_str key;          /* as the client names it */
    int64_t deadline_ms; /* 0: none */
    const ab_live_handler *handler;
    void *arg;
} ab_redis_ask;

/** Ask; the stream's own half is ended. @return as ab_live_hub_request */
AB_MUST_USE ab_err ab_redis_front_ask(ab_redis_front *front, const ab_redis_ask *ask,
                                      ab_live_stream **out, ab_error *err);

/** Serve a client. @param fd  taken over. @return NOMEM */
AB_MUST_USE ab_err ab_redis_front_conn_new(ab_redis_front *front, int fd);
/** ab_redis_conn_ops.close */
void ab_redis_front_conn_close(ab_redis_conn *c);
/** The front's timer: a connection that is ending is closed when it has sent all, or takes too
 * long. */
void ab_redis_front_conn_care(ab_redis_conn *c, int64_t now_ms);

/** Pass on a request, and note what its reply will be. */
void ab_redis_front_command(ab_redis_conn *c, const ab_resp_piece *piece);
/** What comes from the client cannot be read. @param why  literal */
void ab_redis_front_command_refuse(ab_redis_conn *c, const char *why);
/** A reply of the redis, or a piece of one. */
void ab_redis_front_reply(ab_redis_conn *c, const ab_resp_piece *piece);

/** The reply that comes next; NULL: none. */
ab_redis_expect *ab_redis_front_expect_first(const ab_redis_conn *c);
/** The first expectation has been met. */
void ab_redis_front_expect_done(ab_redis_conn *c);
/** Forget all. */
void ab_redis_front_expect_free(ab_redis_conn *c);

/** Ask the agent for the key of the first expectation; its value is sent to the client. */
void ab_redis_front_get_begin(ab_redis_conn *c);
/** The client takes more. */
void ab_redis_front_get_go_on(ab_redis_get *get);
/** The connection ends. */
void ab_redis_front_get_cancel(ab_redis_get *get);

/** The redis has confirmed a subscription; nothing happens unless the channel is an agent's. */
void ab_redis_front_sub_begin(ab_redis_conn *c, ab_str channel);
void ab_redis_front_sub_end(ab_redis_conn *c, ab_str channel);
void ab_redis_front_sub_end_all(ab_redis_conn *c);
/** Send what agents have published, between two replies. */
void ab_redis_front_sub_deliver(ab_redis_conn *c);
/** Ask again for those whose time has come. */
void ab_redis_front_sub_retry(ab_redis_front *front, int64_t now_ms);
