/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's end of the redis proxy: GET and SUBSCRIBE at the agent's own redis, for the service
 * "redis" of live access. Whatever the principal asks, only the two families of keys of
 * live/redis/route.h are read, and nothing is written.
 *
 * GETs share one connection, which a value that its stream does not take as it comes gets for
 * itself, and all subscriptions another; they are made when they are first needed. The method is
 * GET or SUBSCRIBE, the path is a key (ab_redis_route_put_path). Answers: 200 with content-length
 * and the value, or with one bulk string for each message; 404 when there is no such key; else the
 * reason in the field argobus-error. Loop thread.
 */
#pragma once

#include "live/lane/stream.h"
#include "live/redis/client.h"

typedef struct ab_redis_spoke ab_redis_spoke;

/**
 * @param redis  the agent's; copied
 * @param out    owned by the caller; ab_redis_spoke_close
 * @return CONFIG: certificates; NOMEM
 */
AB_MUST_USE ab_err ab_redis_spoke_new(uv_loop_t *loop, ab_log *log, const ab_redis_address *redis,
                                      ab_redis_spoke **out, ab_error *err);
/** Serve a request; `arg` is the spoke: see ab_live_service. */
void ab_redis_spoke_serve(void *arg, ab_live_stream *s, const ab_live_request *request);
/** Break off what is being served, and free it; the loop must be run afterwards, and streams must
 *  still take ab_live_stream_cancel. NULL is allowed. */
void ab_redis_spoke_close(ab_redis_spoke *spoke);
