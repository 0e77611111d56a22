/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sync/world/hub.h"

#include "schema/attributes.h"
#include "tests/unit/sync/world/edit.h"
#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static size_t index_of(const hub *h, const char *agent)
{
    size_t i = 0;
    while (i < HUB_AGENTS_MAX &&
           (h->agents[i].name == NULL || strcmp(h->agents[i].name, agent) != 0))
        i++;
    assert_true(i < HUB_AGENTS_MAX);
    return i;
}

static struct hub_agent *find(hub *h, const char *agent)
{
    return &h->agents[index_of(h, agent)];
}

/* --- effects --- */

static void get(void *arg, ab_str key, ab_asker *record)
{
    hub *h = arg;
    fake_store_get(h->store, key, ab_effects_done, record);
}

static void apply(void *arg, ab_object *object, ab_str version, ab_asker *record)
{
    hub *h = arg;
    fake_store_apply(h->store, object, version, ab_effects_done, record);
}

static void patch_status(void *arg, ab_str key, ab_str status, ab_str stamp,
                         const ab_precondition *must_be, ab_asker *record)
{
    hub *h = arg;
    fake_store_patch_status(h->store, key, status, stamp, must_be->uid, must_be->version,
                            ab_effects_done, record);
}

/* It has no state database. */
static void load(void *arg, ab_str key, ab_asker *record)
{
    (void)arg;
    (void)key;
    ab_effects_row_done(record, AB_ERR_NOTFOUND, NULL, NULL);
}

struct hub_delivery {
    struct hub_delivery *next;
    struct hub_agent *agent;
    fake_delivery *delivery;
};

static void ack(void *arg, void *delivery)
{
    const struct hub_delivery *d = delivery;
    (void)arg;
    fake_log_ack(d->agent->up, d->delivery);
}

static void wake(void *arg, const char *agent)
{
    (void)find(arg, agent);
}

static void fatal(void *arg, const char *why)
{
    (void)arg;
    fail_msg("%s", why);
}

static void held(void *arg, const char *agent, size_t count, const char *token)
{
    struct hub_agent *a = find(arg, agent);
    assert_true((count > 0) == (token[0] != '\0'));
    snprintf(a->held_token, sizeof(a->held_token), "%s", token);
}

ab_err hub_confirm(hub *h, const char *agent)
{
    return ab_principal_confirm(h->principal, agent, ab_str_of(find(h, agent)->held_token));
}

static void deferred(void *arg, const char *agent, ab_str key, bool is_deferred)
{
    hub *h = arg;
    (void)agent;
    snprintf(h->deferred, sizeof(h->deferred), "%.*s", is_deferred ? (int)key.len : 0, key.ptr);
}

static void on_change(void *arg, fake_change change, ab_object *object)
{
    hub *h = arg;
    if (change == FAKE_SEEN)
        ab_principal_on_updated(h->principal, object);
    else if (change == FAKE_GONE || change == FAKE_ABSENT)
        ab_principal_on_deleted(h->principal, object, change == FAKE_GONE);
    else if (h->unreadable)
        ab_principal_on_list_done(h->principal);
    else
        ab_principal_on_synced(h->principal);
}

/* --- life --- */

void hub_init(hub *h)
{
    *h = (hub){.ms = 1000, .store = fake_store_new(), .deletions_max = 1000};
    h->clock = sample_clock(&h->ms);
}

static void learn(void *arg, const ab_event *head)
{
    const hub *h = ((void **)arg)[0];
    const struct hub_agent *a = ((void **)arg)[1];
    ab_principal_written(h->principal, a->name, head);
}

static void open_agent(hub *h, struct hub_agent *a)
{
    fake_log_heads(a->down, learn, (void *[]){h, a});
    ab_principal_ready(h->principal, a->name, fake_log_next_epoch(a->down));
    ab_principal_presence(h->principal, a->name, true);
    ab_principal_caught_up(h->principal, a->name);
}

static void serve(hub *h, struct hub_agent *a)
{
    a->served = true;
    assert_int_equal(ab_principal_add_agent(h->principal, a->name), AB_ERR_OK);
    if (!a->connected)
        return;
    ab_principal_set_mode(h->principal, a->name, AB_MANAGED);
    open_agent(h, a);
}

void hub_start(hub *h)
{
    h->metrics = ab_metrics_new();
    const ab_principal_env env = {
        .effects = {.get = get,
                    .apply = apply,
                    .patch_status = patch_status,
                    .load = load,
                    .ack = ack,
                    .wake = wake,
                    .fatal = fatal,
                    .held = held,
                    .deferred = deferred,
                    .arg = h},
        .sealing = h->sealing,
        .is_scoped = h->is_scoped,
        .clock = &h->clock,
        .log = h->log,
        .metrics = h->metrics,
        .source = AB_SOURCE_PRINCIPAL,
        .uid = "principal-1",
        .namespace = HUB_NAMESPACE,
        .destination_mapping = h->destination_mapping,
        .namespaces = h->namespaces,
        .defer_after_ms = 60000,
        .guard = {.max = h->deletions_max, .percent = 50, .window_ms = 60000},
        .resyncs_max = h->resyncs_max,
    };
    assert_int_equal(ab_principal_new(&env, &h->principal), AB_ERR_OK);
    for (size_t i = 0; i < HUB_AGENTS_MAX; i++)
        if (h->agents[i].name != NULL)
            serve(h, &h->agents[i]);
    put_mark(h->store); /* nothing is ever compared that would raise it */
    fake_store_open(h->store, &(fake_events){.on_change = on_change, .arg = h});
    hub_settle(h);
}

void hub_crash(hub *h)
{
    if (h->principal == NULL)
        return;
    fake_store_close(h->store);
    ab_principal_free(h->principal);
    ab_metrics_free(h->metrics);
    h->principal = NULL;
    for (size_t i = 0; i < HUB_AGENTS_MAX; i++) {
        h->agents[i].served = false;
        if (h->agents[i].name != NULL)
            fake_log_reader_restarts(h->agents[i].up);
    }
    while (h->deliveries != NULL) {
        struct hub_delivery *d = h->deliveries;
        h->deliveries = d->next;
        free(d);
    }
}

void hub_restart(hub *h)
{
    hub_crash(h);
    hub_start(h);
}

void hub_fini(hub *h)
{
    hub_crash(h);
    fake_store_free(h->store);
    ab_patterns_free(h->namespaces);
    for (size_t i = 0; i < HUB_AGENTS_MAX; i++) {
        if (h->agents[i].name == NULL)
            continue;
        fake_log_free(h->agents[i].down);
        fake_log_free(h->agents[i].up);
    }
}

/* --- agents --- */

static struct hub_agent *place(hub *h, const char *agent, bool connected)
{
    struct hub_agent *a = h->agents;
    while (a->name != NULL && strcmp(a->name, agent) != 0)
        a++;
    assert_true(a < h->agents + HUB_AGENTS_MAX);
    if (a->name == NULL)
        *a = (struct hub_agent){.name = agent, .down = fake_log_new(), .up = fake_log_new()};
    a->connected = connected;
    if (h->principal != NULL)
        serve(h, a);
    return a;
}

void hub_add(hub *h, const char *agent)
{
    (void)place(h, agent, true);
}

void hub_add_unknown(hub *h, const char *agent)
{
    (void)place(h, agent, false);
}

void hub_remove(hub *h, const char *agent)
{
    find(h, agent)->served = false;
    ab_principal_remove_agent(h->principal, agent);
}

void hub_lose_log(hub *h, const char *agent)
{
    hub_connect(h, agent, false);
    fake_log_lose(find(h, agent)->down);
    hub_connect(h, agent, true);
    hub_settle(h);
}

void hub_connect(hub *h, const char *agent, bool connected)
{
    struct hub_agent *a = find(h, agent);
    a->connected = connected;
    if (!connected) {
        ab_principal_log_lost(h->principal, agent);
        return;
    }
    ab_principal_set_mode(h->principal, agent, AB_MANAGED);
    open_agent(h, a);
}

/* --- what happens --- */

static bool can_send(const hub *h, const struct hub_agent *a)
{
    return a->name != NULL && a->served && a->connected &&
           ab_outbox_count(ab_principal_outbox(h->principal, a->name)) > 0;
}

static void send_one(hub *h, struct hub_agent *a)
{
    ab_outbox *o = ab_principal_outbox(h->principal, a->name);
    ab_outgoing *g = ab_outbox_next(o, h->ms);
    assert_non_null(g);
    if (h->on_sent != NULL)
        h->on_sent(a->name, ab_outgoing_event(g));
    fake_log_append(a->down, ab_outgoing_event(g));
    ab_outbox_done(o, g, AB_ERR_OK, h->ms);
}

static bool can_deliver(const struct hub_agent *a)
{
    return a->name != NULL && a->served && fake_log_has_next(a->up);
}

static void deliver_one(hub *h, struct hub_agent *a)
{
    struct hub_delivery *d = malloc(sizeof(*d));
    assert_non_null(d);
    *d = (struct hub_delivery){h->deliveries, a, fake_log_next(a->up)};
    h->deliveries = d;
    ab_principal_deliver(h->principal, a->name, fake_delivery_event(d->delivery), d);
}

bool hub_is_sending(const hub *h)
{
    size_t count = 0;
    for (size_t i = 0; i < HUB_AGENTS_MAX; i++)
        if (h->agents[i].name != NULL && h->agents[i].served)
            count += ab_outbox_count(ab_principal_outbox(h->principal, h->agents[i].name));
    return count > 0;
}

size_t hub_choices(const hub *h)
{
    size_t count = fake_store_choices(h->store);
    for (size_t i = 0; i < HUB_AGENTS_MAX; i++)
        count += (size_t)can_send(h, &h->agents[i]) + (size_t)can_deliver(&h->agents[i]);
    return count;
}

void hub_step(hub *h, size_t i)
{
    if (i < fake_store_choices(h->store)) {
        fake_store_step(h->store, i, false);
        return;
    }
    i -= fake_store_choices(h->store);
    for (size_t k = 0; k < HUB_AGENTS_MAX; k++) {
        struct hub_agent *a = &h->agents[k];
        if (can_send(h, a) && i-- == 0) {
            send_one(h, a);
            return;
        }
        if (can_deliver(a) && i-- == 0) {
            deliver_one(h, a);
            return;
        }
    }
    fail_msg("no such step");
}

void hub_settle(hub *h)
{
    for (int i = 0; hub_choices(h) > 0; i++) {
        assert_true(i < 100000);
        hub_step(h, 0);
    }
}

void hub_tick(hub *h, int64_t ms)
{
    h->ms += ms;
    ab_principal_tick(h->principal);
    hub_settle(h);
}

/* --- what went down --- */

struct look {
    const char *key;
    const char *prefix;
    const ab_event *found;
    size_t count;
};

static void look_at(void *arg, const ab_event *head)
{
    struct look *l = arg;
    ab_str key = ab_event_attr(head, AB_CE_PARTITIONKEY);
    if (l->key != NULL && ab_str_is(key, l->key))
        l->found = head;
    if (l->prefix != NULL && ab_str_starts(key, l->prefix))
        l->count++;
}

const ab_event *hub_sent(const hub *h, const char *agent, const char *key)
{
    struct look l = {.key = key};
    fake_log_heads(h->agents[index_of(h, agent)].down, look_at, &l);
    return l.found;
}

size_t hub_keys(const hub *h, const char *agent, const char *prefix)
{
    struct look l = {.prefix = prefix};
    fake_log_heads(h->agents[index_of(h, agent)].down, look_at, &l);
    return l.count;
}

size_t hub_sent_count(const hub *h, const char *agent)
{
    return fake_log_appended(h->agents[index_of(h, agent)].down);
}

/* --- what comes up --- */

void hub_say(hub *h, const hub_word *word)
{
    ab_event *event = NULL;
    char source[80];
    ab_event_draft d = {.data = ab_str_of(word->data)};
    snprintf(source, sizeof(source), AB_SOURCE_AGENT "%s", word->agent);
    ab_event_set_text(&d, AB_CE_ID, "x");
    ab_event_set_text(&d, AB_CE_SOURCE, source);
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(word->type));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(word->target));
    ab_event_set_text(&d, AB_CE_SUBJECT, word->subject);
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, word->key);
    if (word->remapped)
        ab_event_set_text(&d, AB_CE_REMAPPED, "true");
    ab_event_set_u64(&d, AB_CE_WRITEREPOCH, 100);
    ab_event_set_u64(&d, AB_CE_OBJVERSION, word->version);
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    fake_log_append(find(h, word->agent)->up, event);
    ab_event_unref(event);
}

bool hub_all_acknowledged(const hub *h)
{
    size_t open = 0;
    for (size_t i = 0; i < HUB_AGENTS_MAX; i++)
        open += h->agents[i].name == NULL ? 0 : fake_log_open(h->agents[i].up);
    return open == 0;
}

double hub_gauge(const hub *h, const char *name, const char *agent)
{
    ab_label label = {"agent", ab_str_of(agent)};
    return ab_metric_value(ab_metric_get(h->metrics, AB_METRIC_GAUGE, name, "", &label, 1));
}

double hub_counter(const hub *h, const char *name)
{
    return ab_metric_value(ab_metric_get(h->metrics, AB_METRIC_COUNTER, name, "", NULL, 0));
}
