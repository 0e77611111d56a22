/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include "edit.h"
#include "schema/attributes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void check_quiet(void)
{
    uint64_t writes = fake_store_changes(m.w.hub) + fake_store_changes(m.w.local);
    size_t events = fake_log_appended(m.w.down) + fake_log_appended(m.w.up);
    for (int i = 0; i < 50; i++) {
        world_tick(&m.w, 10000);
        world_settle(&m.w);
    }
    if (fake_store_changes(m.w.hub) + fake_store_changes(m.w.local) != writes)
        model_broken("writes go on at rest");
    if (fake_log_appended(m.w.down) + fake_log_appended(m.w.up) != events)
        model_broken("events go on at rest");
    if (fake_log_open(m.w.down) + fake_log_open(m.w.up) > 0)
        model_broken("a delivery is never acknowledged");
    if (ab_outbox_count(ab_agent_outbox(m.w.agent)) > 0 ||
        ab_outbox_count(ab_principal_outbox(m.w.principal, "w1")) > 0)
        model_broken("an event is never sent");
}

static void check_head(void *arg, const ab_event *head)
{
    (void)arg;
    ab_str key = ab_event_attr(head, AB_CE_PARTITIONKEY);
    if (ab_str_starts(key, AB_KEY_COMMAND) || ab_str_starts(key, AB_KEY_ACK))
        model_broken("a command or an answer stays in the log");
    if (ab_str_starts(key, AB_KEY_INVENTORY))
        model_broken("a page stays in the log");
}

static bool same_labels(const ab_object *a, const ab_object *b)
{
    static const char *const names[] = {"h1", "h2"};
    static const char *const maps[] = {"labels", "annotations"};
    bool forgot = m.forgot[model_app_of(a)];
    for (size_t i = 0; i < 4; i++) {
        if (forgot && has_in(a, maps[i / 2], names[i % 2], NULL))
            continue; /* one that the hub took away stays */
        if (has_in(a, maps[i / 2], names[i % 2], "1") !=
                has_in(b, maps[i / 2], names[i % 2], "1") ||
            has_in(a, maps[i / 2], names[i % 2], NULL) !=
                has_in(b, maps[i / 2], names[i % 2], NULL))
            return false;
    }
    return true;
}

static void check_placed(const ab_object *h, const ab_object *l)
{
    if (!ab_str_eq(ab_object_annotation(l, AB_ANN_SOURCE_UID), ab_object_uid(h)))
        model_broken("another source-uid stands at the agent");
    if (spec_of(h) != spec_of(l) || !same_labels(h, l))
        model_broken("the agent has not what the hub says");
    if (status_of(h) != status_of(l))
        model_broken("the hub has not the status that the agent has");
}

static void check_unmanaged(int app, const ab_object *l)
{
    if (l != NULL && spec_of(l) != m.unmanaged[app])
        model_broken("an object that is not managed was changed");
}

static void check_app(int app)
{
    const ab_object *h = model_hub(app), *l = model_local(app);
    if (l != NULL && model_is_deleting(l))
        model_broken("an object is being deleted for ever at the agent");
    if (h != NULL && model_is_deleting(h))
        model_broken("an object is being deleted for ever at the hub");
    if (l != NULL && !model_is_managed(l)) { /* a local user put it where ours was */
        check_unmanaged(app, l);
        return;
    }
    if (model_operation_of(h) >= 0 || model_refresh_of(h) >= 0)
        model_broken("a request stands for ever");
    if ((h == NULL) != (l == NULL))
        model_broken(h == NULL ? "it is still at the agent" : "it is missing at the agent");
    if (h != NULL)
        check_placed(h, l);
}

static void check_requests(void)
{
    for (int n = 0; n <= m.counter; n++) {
        const struct request *r = &m.requests[n];
        if (r->standing && r->executed == 0 && !r->refused && !r->restored)
            model_broken("a request was lost");
    }
}

void model_check(void)
{
    check_quiet();
    for (int app = 0; app < NAMES; app++)
        check_app(app);
    check_requests();
    fake_log_heads(m.w.down, check_head, NULL);
    fake_log_heads(m.w.up, check_head, NULL);
    if (model_is_held())
        model_broken("a deletion is held that the operator confirmed");
}
