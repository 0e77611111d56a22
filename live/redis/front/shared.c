/* SPDX-License-Identifier: Apache-2.0 */
#include "live/redis/front/front_priv.h"

#include <stdlib.h>
#include <string.h>

int64_t ab_redis_front_now_ms(const ab_redis_front *front)
{
    return ab_clock_mono_ms(front->o.clock);
}

void ab_redis_front_free_if_done(ab_redis_front *f)
{
    if (!f->is_closing || f->handles > 0 || f->open_count > 0)
        return;
    ab_tls_context_fini(&f->listen_tls);
    ab_tls_context_fini(&f->redis_tls);
    free(f->redis_host);
    free(f);
}

ab_err ab_redis_front_ask(ab_redis_front *front, const ab_redis_ask *ask, ab_live_stream **out,
                          ab_error *err)
{
    char agent[AB_REDIS_FRONT_AGENT_MAX + 1];
    if (ask->agent.len > AB_REDIS_FRONT_AGENT_MAX)
        return ab_fail(err, AB_ERR_INVALID, "the name is too long");
    memcpy(agent, ask->agent.ptr, ask->agent.len);
    agent[ask->agent.len] = '\0';
    ab_buf path = ab_buf_up_to(4 * (size_t)AB_REDIS_KEY_MAX);
    ab_redis_route_put_path(&front->o.agents, ask->key, &path);
    ab_live_request request = {.service = AB_STR("redis"),
                               .method = ab_str_of(ask->method),
                               .path = ab_buf_str(&path),
                               .deadline_ms = ask->deadline_ms};
    ab_err e = ab_buf_status(&path);
    if (e == AB_ERR_OK)
        e = front->o.request(front->o.arg, agent, &request, ask->handler, ask->arg, out, err);
    ab_buf_fini(&path);
    if (e == AB_ERR_OK)
        ab_live_stream_end(*out);
    return e;
}
