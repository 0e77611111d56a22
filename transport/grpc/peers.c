/* SPDX-License-Identifier: Apache-2.0
 *
 * What the client and the server need of the transport that holds them: its links, its clock, its
 * turn of the loop.
 */
#include "transport/grpc/grpc_priv.h"

int64_t ab_grpc_now(const ab_grpc *g)
{
    return ab_clock_mono_ms(g->base.env.clock);
}

static void release_event(void *event)
{
    ab_event_unref(event);
}

ab_err ab_grpc_send(const ab_grpc *g, ab_rpc_call *call, ab_str head, ab_event *event)
{
    if (event == NULL)
        return ab_rpc_send(call, head, g->settings.compress);
    const ab_rpc_loan data = {ab_event_data(event), release_event, ab_event_ref(event)};
    ab_err e = ab_rpc_send_lent(call, head, &data, g->settings.compress);
    if (e != AB_ERR_OK)
        ab_event_unref(event);
    return e;
}

ab_grpc_link *ab_grpc_find(const ab_grpc *g, ab_str agent)
{
    return ab_map_find(g->links, agent);
}

ab_compat *ab_grpc_compat(ab_grpc *g, ab_grpc_link *l)
{
    ab_str agent = ab_str_of(ab_grpc_link_agent(l));
    ab_compat *d = ab_map_find(g->compats, agent);
    if (d != NULL || ab_compat_new(&g->compat_env, l, &d) != AB_ERR_OK)
        return d;
    if (ab_map_put(g->compats, agent, d, NULL) == AB_ERR_OK)
        return d;
    ab_compat_free(d);
    return NULL;
}

void ab_grpc_forget_compat(const ab_grpc *g, const ab_grpc_link *l)
{
    ab_compat *d = ab_map_find(g->compats, ab_str_of(ab_grpc_link_agent(l)));
    if (d != NULL)
        ab_compat_reset(d);
}

void ab_grpc_drop_over(ab_grpc *g)
{
    ab_grpc_link *l = NULL;
    while ((l = ab_grpc_link_find_over(&g->link_env)) != NULL) {
        ab_str agent = ab_str_of(ab_grpc_link_agent(l));
        ab_compat_free(ab_map_take(g->compats, agent));
        (void)ab_map_take(g->links, agent);
        ab_grpc_link_free(l);
    }
}

/* Unlike an async handle it costs no system call, and all that calls this is on the loop's thread.
 */
void ab_grpc_go_on(ab_grpc *g)
{
    if (g->running)
        uv_idle_start(&g->wake, g->on_wake);
}
