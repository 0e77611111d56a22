/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/fleet/page.h"

#include "services/principal/fleet/view.h"

static void write_principal(void *arg, ab_buf *out)
{
    ab_fleet_view_write_principal(arg, out);
}

static void write_agent(void *arg, const char *agent, ab_buf *out)
{
    ab_fleet_view_write_figures(arg, ab_str_of(agent), out);
}

static void write_objects(void *arg, const char *agent, ab_buf *out)
{
    (void)!ab_fleet_view_write_agent(arg, ab_str_of(agent), out); /* it writes nothing then */
}

static void write_all(void *arg, ab_buf *out)
{
    ab_fleet_view_write(arg, out);
}

static void each(void *arg, void (*visit)(void *visit_arg, ab_str agent), void *visit_arg)
{
    const service *s = arg;
    for (ab_map_iter i = ab_map_first(ab_fleet_agents(s->fleet)); i.entry != NULL; ab_map_next(&i))
        visit(visit_arg, i.key);
}

ab_err ab_fleet_page_start(service *s, ab_error *err)
{
    const ab_daemon *d = s->base.daemon;
    const ab_page_source source = {.write_principal = write_principal,
                                   .write_agent = write_agent,
                                   .write_objects = write_objects,
                                   .write_all = write_all,
                                   .each = each,
                                   .arg = s,
                                   .revoked = ab_revocations_ask(&s->revocations)};
    return ab_page_start(d->loop, d->config, d->clock, d->log, &source, &s->page, err);
}
