/* SPDX-License-Identifier: Apache-2.0
 *
 * What the machine asks for, done by store, cache and transport.
 */
#include "services/agent/agent_priv.h"

static void on_done(void *arg, ab_err code, ab_object *object, const ab_error *err)
{
    ab_agent_done(arg, code, object, err);
}

static void fx_get(void *arg, ab_str key, ab_agent_object *o)
{
    service *s = arg;
    ab_store_get(s->base.store, key, on_done, o);
}

static void fx_apply(void *arg, ab_object *object, ab_str version, ab_agent_object *o)
{
    service *s = arg;
    ab_store_condition condition = {.version = version, .must_not_exist = version.ptr == NULL};
    ab_store_apply(s->base.store, object, &condition, on_done, o);
}

static void fx_patch_status(void *arg, ab_str key, ab_str status, ab_str version,
                            ab_agent_object *o)
{
    service *s = arg;
    ab_store_condition condition = {.version = version};
    ab_store_patch_status(s->base.store, key, status, AB_STR_NONE, &condition, on_done, o);
}

static void fx_remove(void *arg, ab_str key, ab_str uid, bool foreground, ab_agent_object *o)
{
    service *s = arg;
    ab_store_condition condition = {.uid = uid};
    ab_store_remove(s->base.store, key, &condition,
                    foreground ? AB_PROPAGATE_FOREGROUND : AB_PROPAGATE_BACKGROUND, on_done, o);
}

static void on_row(void *arg, ab_err code, const ab_kept *row, const ab_error *err)
{
    ab_agent_recalled(arg, code, row, err);
}

static void fx_keep(void *arg, ab_str key, const ab_kept *kept, ab_agent_object *o)
{
    service *s = arg;
    ab_err e = ab_cache_keep(s->cache, key, kept, on_row, o);
    if (e != AB_ERR_OK)
        ab_agent_recalled(o, e, NULL, NULL);
}

static void fx_recall(void *arg, ab_str key, ab_agent_object *o)
{
    service *s = arg;
    ab_err e = ab_cache_recall(s->cache, key, on_row, o);
    if (e != AB_ERR_OK)
        ab_agent_recalled(o, e, NULL, NULL);
}

static void fx_ack(void *arg, void *delivery)
{
    service *s = arg;
    ab_transport_ack(s->base.transport, delivery, AB_VERDICT_APPLIED);
}

static void fx_wake(void *arg)
{
    service *s = arg;
    ab_sender_run(&s->sender);
}

ab_agent_effects ab_agent_service_effects(service *s)
{
    return (ab_agent_effects){.get = fx_get,
                              .apply = fx_apply,
                              .patch_status = fx_patch_status,
                              .remove = fx_remove,
                              .keep = fx_keep,
                              .recall = fx_recall,
                              .ack = fx_ack,
                              .wake = fx_wake,
                              .arg = s};
}
