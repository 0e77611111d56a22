/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the redis spoke share: what is asked for (spoke.c), values (get.c) and channels
 * (sub.c).
 */
#pragma once

#include "base/core/list.h"
#include "base/core/map.h"
#include "live/redis/route.h"
#include "live/redis/spoke/spoke.h"

/* Values that are not taken as they come, at once. */
#define AB_REDIS_SPOKE_SLOW_MAX 32

/* Keys that were asked for, in their order. */
typedef struct {
    ab_log *log;
    struct ab_redis_values_conn *shared; /* by which keys are asked for */
    ab_link slow;                        /* connections, each for one value; the stalest first */
    ab_link idle;                        /* connections */
    size_t slow_count;
    ab_link waiting; /* not sent to the redis */
    ab_link replied; /* the redis has said all; the stream is not over */
} ab_redis_values;

typedef struct {
    ab_log *log;
    ab_redis_client *client;
    ab_map *channels; /* by name */
    ab_link ended;    /* listeners of none: their stream is not over */
} ab_redis_channels;

struct ab_redis_spoke {
    ab_log *log;
    ab_redis_values values;
    ab_redis_channels channels;
};

/** Answer with an error and end. @param reason  what is not printable becomes a "?"
 *  @return false: the stream was cancelled instead */
bool ab_redis_spoke_refuse(ab_live_stream *s, int status, ab_str reason);

AB_MUST_USE ab_err ab_redis_spoke_get_init(ab_redis_values *v, uv_loop_t *loop, ab_log *log,
                                           const ab_redis_address *redis, ab_error *err);
void ab_redis_spoke_get_fini(ab_redis_values *v);
/** @return NOMEM: the stream is not served */
AB_MUST_USE ab_err ab_redis_spoke_get(ab_redis_values *v, ab_live_stream *s, ab_str key);

AB_MUST_USE ab_err ab_redis_spoke_sub_init(ab_redis_channels *h, uv_loop_t *loop, ab_log *log,
                                           const ab_redis_address *redis, ab_error *err);
void ab_redis_spoke_sub_fini(ab_redis_channels *h);
AB_MUST_USE ab_err ab_redis_spoke_sub(ab_redis_channels *h, ab_live_stream *s, ab_str channel);
