/* SPDX-License-Identifier: Apache-2.0 */
#include "services/effects.h"

static void get(void *arg, ab_str key, ab_asker *asker)
{
    const ab_service *s = arg;
    ab_store_get(s->store, key, ab_effects_done, asker);
}

static void apply(void *arg, ab_object *object, ab_str version, ab_asker *asker)
{
    const ab_service *s = arg;
    bool create = version.ptr == NULL;
    ab_store_condition condition = {
        .version = version, .must_exist = !create, .must_not_exist = create};
    ab_store_apply(s->store, object, &condition, ab_effects_done, asker);
}

static void patch_status(void *arg, ab_str key, ab_str status, ab_str stamp,
                         const ab_precondition *must_be, ab_asker *asker)
{
    const ab_service *s = arg;
    ab_store_condition condition = {
        .version = must_be->version, .uid = must_be->uid, .must_exist = true};
    ab_store_patch_status(s->store, key, status, stamp, &condition, ab_effects_done, asker);
}

static void remove_object(void *arg, ab_str key, const ab_precondition *must_be, bool foreground,
                          ab_asker *asker)
{
    const ab_service *s = arg;
    ab_store_condition condition = {.version = must_be->version, .uid = must_be->uid};
    ab_store_remove(s->store, key, &condition,
                    foreground ? AB_PROPAGATE_FOREGROUND : AB_PROPAGATE_BACKGROUND, ab_effects_done,
                    asker);
}

static void save(void *arg, ab_str key, const ab_received_state *received, ab_asker *asker)
{
    const ab_service *s = arg;
    ab_err e = ab_state_db_save(s->state_db, key, received, ab_effects_row_done, asker);
    if (e != AB_ERR_OK)
        ab_effects_row_done(asker, e, NULL, NULL);
}

static void load(void *arg, ab_str key, ab_asker *asker)
{
    const ab_service *s = arg;
    bool none = s->state_db == NULL; /* as a principal without principal.data */
    ab_err e =
        none ? AB_ERR_NOTFOUND : ab_state_db_load(s->state_db, key, ab_effects_row_done, asker);
    if (e != AB_ERR_OK)
        ab_effects_row_done(asker, e, NULL, NULL);
}

static void ack(void *arg, void *delivery)
{
    const ab_service *s = arg;
    ab_transport_ack(s->transport, delivery, AB_VERDICT_APPLIED);
}

ab_effects ab_service_effects(ab_service *s)
{
    return (ab_effects){.get = get,
                        .apply = apply,
                        .patch_status = patch_status,
                        .remove = remove_object,
                        .save = save,
                        .load = load,
                        .ack = ack,
                        .arg = s,
                        .trace = ab_traces_of_sync(s->traces)};
}
