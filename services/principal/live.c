/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/live.h"

#include "schema/attributes.h"
#include "services/principal/live_kubernetes.h"

#include <stdlib.h>

struct ab_principal_live {
    ab_service_live base;
    ab_live_hub *hub;
    ab_resource_front *kubernetes; /* NULL: nothing is listened on */
};

ab_err ab_principal_live_new(ab_service *service, ab_principal_live **out, ab_error *err)
{
    ab_principal_live *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    *out = l;
    ab_err e = ab_service_live_init(&l->base, service, NULL, err);
    if (e != AB_ERR_OK)
        return e;
    const ab_live_lane_env env = ab_service_live_env(&l->base, AB_SOURCE_PRINCIPAL);
    e = ab_live_hub_new(&env, &l->hub);
    if (e != AB_ERR_OK)
        return ab_fail(err, e, "%s", ab_err_text(e));
    return ab_principal_live_kubernetes_start(service->daemon, l->hub, &l->kubernetes, err);
}

void ab_principal_live_stop(ab_principal_live *l)
{
    if (l == NULL)
        return;
    ab_resource_front_free(l->kubernetes);
    l->kubernetes = NULL;
    ab_live_hub_stop(l->hub);
}

void ab_principal_live_free(ab_principal_live *l)
{
    if (l == NULL)
        return;
    ab_resource_front_free(l->kubernetes);
    ab_live_hub_free(l->hub);
    ab_service_live_fini(&l->base);
    free(l);
}

ab_live_hub *ab_principal_live_hub(ab_principal_live *l)
{
    return l->hub;
}
