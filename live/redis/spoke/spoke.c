/* SPDX-License-Identifier: Apache-2.0 */
#include "live/redis/spoke/spoke_priv.h"

#include <stdlib.h>

/* Refused at once: nothing is heard of it any more. */
static void on_refused_over(void *arg, ab_err code, const ab_error *err)
{
    (void)arg;
    (void)code;
    (void)err;
}

static const ab_live_handler refused = {.on_over = on_refused_over};

static void serve_key(ab_redis_spoke *spoke, ab_live_stream *s, ab_str method, ab_str key)
{
    ab_err e = ab_str_is(method, "GET") ? ab_redis_spoke_get(&spoke->values, s, key)
                                        : ab_redis_spoke_sub(&spoke->channels, s, key);
    if (e == AB_ERR_OK)
        return;
    ab_live_stream_serve(s, &refused, NULL);
    (void)ab_redis_spoke_refuse(s, 503, AB_STR("out of memory"));
}

void ab_redis_spoke_serve(void *arg, ab_live_stream *s, const ab_live_request *request)
{
    ab_redis_spoke *spoke = arg;
    ab_buf key = ab_buf_up_to(AB_REDIS_KEY_MAX);
    bool known = ab_str_is(request->method, "GET") || ab_str_is(request->method, "SUBSCRIBE");
    if (known && ab_redis_route_read_path(request->path, &key) == AB_ERR_OK) {
        serve_key(spoke, s, request->method, ab_buf_str(&key));
    } else {
        AB_DEBUG(spoke->log, LIVE, "refused to read a key of redis",
                 AB_KV("method", request->method), AB_KV("path", request->path));
        ab_live_stream_serve(s, &refused, NULL);
        (void)ab_redis_spoke_refuse(s, 403, AB_STR("not a key that agents give out"));
    }
    ab_buf_fini(&key);
}

ab_err ab_redis_spoke_new(uv_loop_t *loop, ab_log *log, const ab_redis_address *redis,
                          ab_redis_spoke **out, ab_error *err)
{
    ab_redis_spoke *spoke = calloc(1, sizeof(*spoke));
    if (spoke == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for redis");
    spoke->log = log;
    ab_err e = ab_redis_spoke_get_init(&spoke->values, loop, log, redis, err);
    if (e == AB_ERR_OK)
        e = ab_redis_spoke_sub_init(&spoke->channels, loop, log, redis, err);
    if (e != AB_ERR_OK) {
        ab_redis_spoke_close(spoke);
        return e;
    }
    *out = spoke;
    return AB_ERR_OK;
}

void ab_redis_spoke_close(ab_redis_spoke *spoke)
{
    if (spoke == NULL)
        return;
    ab_redis_spoke_get_fini(&spoke->values);
    ab_redis_spoke_sub_fini(&spoke->channels);
    free(spoke);
}
