/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection of our own to a redis, in RESP2: with a password where there is a file for it, made
 * when it is first needed, and made again with growing pauses as long as its owner needs it. Its
 * owner keeps account of which reply belongs to which command. Loop thread; upcalls come from the
 * loop only, and the client may be closed from any of them.
 */
#pragma once

#include "base/observe/log.h"
#include "live/redis/resp.h"
#include "net/tls/tls.h"

#include <uv.h>

typedef struct ab_redis_client ab_redis_client;

/* Where a redis is. Texts are borrowed while a client is made. */
typedef struct {
    const char *host;
    int port;
    ab_tls tls;                /* insecure: plain TCP */
    const char *username;      /* of an ACL user; NULL: the default one */
    const char *password_file; /* read for each connection; NULL: there is no password */
} ab_redis_address;

typedef struct {
    /** Commands can be sent. */
    void (*on_up)(void *arg);
    /** A reply, or a piece of one. */
    void (*on_reply)(void *arg, const ab_resp_piece *piece);
    /** The connection is lost, or did not come about: no reply follows to what was sent.
     *  @return whether it is needed: then it is made again after a pause */
    bool (*on_down)(void *arg, const ab_error *why);
} ab_redis_client_ops;

/** @param address  copied
 *  @param ops      borrowed
 *  @param out      owned by the caller; ab_redis_client_close
 *  @return CONFIG: certificates; NOMEM */
AB_MUST_USE ab_err ab_redis_client_new(uv_loop_t *loop, ab_log *log,
                                       const ab_redis_address *address,
                                       const ab_redis_client_ops *ops, void *arg,
                                       ab_redis_client **out, ab_error *err);
/** Another connection to the same redis, with the same ops. @return CONFIG: certificates; NOMEM */
AB_MUST_USE ab_err ab_redis_client_another(const ab_redis_client *c, void *arg,
                                           ab_redis_client **out, ab_error *err);
/** Close it, and free it from the loop, which must be run afterwards. NULL is allowed. */
void ab_redis_client_close(ab_redis_client *c);

/** It is needed: connect, unless that is done or under way; on_up or on_down follows. */
void ab_redis_client_need(ab_redis_client *c);
/** Drop the connection; on_down is not called. */
void ab_redis_client_drop(ab_redis_client *c);
bool ab_redis_client_is_up(const ab_redis_client *c);
/** Send a command; only while it is up. */
void ab_redis_client_send(ab_redis_client *c, const ab_str *args, size_t count);
/** Bytes of commands that the redis has not taken yet. */
size_t ab_redis_client_queued(const ab_redis_client *c);
/** Hand out no replies for now, or go on. */
void ab_redis_client_pause(ab_redis_client *c, bool paused);
