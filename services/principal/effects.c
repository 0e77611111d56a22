/* SPDX-License-Identifier: Apache-2.0
 *
 * What the machine asks for, done by store, state database and transport.
 */
#include "services/principal/principal_priv.h"

static void on_done(void *arg, ab_err code, ab_object *object, const ab_error *err)
{
    ab_principal_done(arg, code, object, err);
}

static void fx_get(void *arg, ab_str key, ab_principal_record *record)
{
    service *s = arg;
    ab_store_get(s->base.store, key, on_done, record);
}

static void fx_apply(void *arg, ab_object *object, ab_str version, ab_principal_record *record)
{
    service *s = arg;
    bool create = version.ptr == NULL;
    ab_store_condition condition = {
        .version = version, .must_exist = !create, .must_not_exist = create};
    ab_store_apply(s->base.store, object, &condition, on_done, record);
}

static void fx_patch_status(void *arg, ab_str key, ab_str status, ab_str stamp, ab_str uid,
                            ab_str version, ab_principal_record *record)
{
    service *s = arg;
    ab_store_condition condition = {.version = version, .uid = uid, .must_exist = true};
    ab_store_patch_status(s->base.store, key, status, stamp, &condition, on_done, record);
}

static void fx_remove(void *arg, ab_str key, ab_str uid, ab_str version,
                      ab_principal_record *record)
{
    service *s = arg;
    ab_store_condition condition = {.version = version, .uid = uid};
    ab_store_remove(s->base.store, key, &condition, AB_PROPAGATE_BACKGROUND, on_done, record);
}

static void on_row(void *arg, ab_err code, const ab_received_state *row, const ab_error *err)
{
    ab_principal_row_done(arg, code, row, err);
}

static void fx_save(void *arg, ab_str key, const ab_received_state *received,
                    ab_principal_record *record)
{
    service *s = arg;
    ab_err e = ab_state_db_save(s->state_db, key, received, on_row, record);
    if (e != AB_ERR_OK)
        ab_principal_row_done(record, e, NULL, NULL);
}

static void fx_load(void *arg, ab_str key, ab_principal_record *record)
{
    service *s = arg;
    ab_err e = ab_state_db_load(s->state_db, key, on_row, record);
    if (e != AB_ERR_OK)
        ab_principal_row_done(record, e, NULL, NULL);
}

static void fx_held(void *arg, const char *agent, size_t count, const char *token)
{
    service *s = arg;
    ab_holds_note(s->holds, agent, count, token);
}

static void fx_deferred(void *arg, const char *agent, ab_str key, bool deferred)
{
    const service *s = arg;
    ab_changes_defer(s->changes, agent, key, deferred);
}

static void fx_fatal(void *arg, const char *why)
{
    const service *s = arg;
    ab_error err = {0};
    (void)ab_fail(&err, AB_ERR_CONFLICT, "%s", why);
    ab_daemon_fatal(s->base.daemon, &err);
}

static void fx_ack(void *arg, void *delivery)
{
    service *s = arg;
    ab_transport_ack(s->base.transport, delivery, AB_VERDICT_APPLIED);
}

static void fx_give_back(void *arg, void *delivery)
{
    const service *s = arg;
    ab_transport_ack(s->base.transport, delivery, AB_VERDICT_RETURNED);
}

void ab_principal_service_wake(service *s, const char *agent)
{
    ab_sender *sender = ab_map_find(s->senders, ab_str_of(agent));
    if (sender != NULL) /* none for one that is about to go */
        ab_sender_run(sender);
}

static void fx_wake(void *arg, const char *agent)
{
    ab_principal_service_wake(arg, agent);
}

ab_principal_effects ab_principal_service_effects(service *s)
{
    return (ab_principal_effects){.get = fx_get,
                                  .apply = fx_apply,
                                  .patch_status = fx_patch_status,
                                  .remove = fx_remove,
                                  .save = fx_save,
                                  .load = fx_load,
                                  .fatal = fx_fatal,
                                  .held = fx_held,
                                  .deferred = fx_deferred,
                                  .ack = fx_ack,
                                  .give_back = fx_give_back,
                                  .wake = fx_wake,
                                  .arg = s};
}
