/* SPDX-License-Identifier: Apache-2.0
 *
 * What the machine asks for, done by store, state database and transport.
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

static void on_row(void *arg, ab_err code, const ab_received_state *row, const ab_error *err)
{
    ab_agent_row_done(arg, code, row, err);
}

static void fx_save(void *arg, ab_str key, const ab_received_state *received, ab_agent_object *o)
{
    service *s = arg;
    ab_err e = ab_state_db_save(s->state_db, key, received, on_row, o);
    if (e != AB_ERR_OK)
        ab_agent_row_done(o, e, NULL, NULL);
}

static void fx_load(void *arg, ab_str key, ab_agent_object *o)
{
    service *s = arg;
    ab_err e = ab_state_db_load(s->state_db, key, on_row, o);
    if (e != AB_ERR_OK)
        ab_agent_row_done(o, e, NULL, NULL);
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
                              .save = fx_save,
                              .load = fx_load,
                              .ack = fx_ack,
                              .wake = fx_wake,
                              .arg = s};
}
