/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of an agent or an object, by its name.
 */
#include "sync/principal/lookup.h"

#include "sync/kind/kind.h"

struct peer *ab_principal_peer(const ab_principal *p, ab_str agent)
{
    return ab_map_find(p->peers, agent);
}

bool ab_principal_takes_state(const struct peer *peer)
{
    return peer->mode == AB_MANAGED && ab_writer_is_ready(peer->writer);
}

bool ab_principal_is_open(const ab_principal_app *app)
{
    return app->peer != NULL && ab_principal_takes_state(app->peer);
}

ab_principal_app *ab_principal_find(const ab_principal *p, ab_str key)
{
    return ab_map_find(p->apps, key);
}

bool ab_principal_is_object(ab_str key)
{
    return ab_kind_of_key(key) != NULL;
}

ab_str ab_principal_agent_of(const ab_principal *p, ab_str namespace, ab_str name)
{
    ab_buf key = ab_buf_up_to(1024);
    ab_buf_printf(&key, "Application/%.*s/%.*s", AB_STR_ARG(namespace), AB_STR_ARG(name));
    const ab_principal_app *app =
        ab_buf_status(&key) == AB_ERR_OK ? ab_map_find(p->apps, ab_buf_str(&key)) : NULL;
    ab_buf_fini(&key);
    return app == NULL || !app->exists ? AB_STR_NONE : ab_str_of(app->agent);
}
