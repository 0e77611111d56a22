/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sync/world/pair.h"

#include "schema/catalogue.h"

#include "schema/attributes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

world w;

ab_object *hub(void)
{
    return fake_store_find(w.hub, HUB);
}

ab_object *local(void)
{
    return fake_store_find(w.local, LOCAL);
}

int setup(void **state)
{
    (void)state;
    world_init(&w);
    return 0;
}

int teardown(void **state)
{
    (void)state;
    world_fini(&w);
    return 0;
}

void placed(const char *meta)
{
    put_app(w.hub, "w1", "a", 1, meta, "");
    world_start(&w);
    world_run(&w, 1); /* the store's watermark follows what was said */
    assert_int_equal(spec_of(local()), 1);
}

void put_apps(int count)
{
    char name[16];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        put_app(w.hub, "w1", name, i + 1, "", "");
    }
}

size_t local_count(void)
{
    size_t n = 0;
    while (fake_store_at(w.local, n) != NULL)
        n++;
    return n;
}

void restart_agent(void)
{
    world_crash_agent(&w);
    world_start_agent(&w);
    world_settle(&w);
}

void restart_principal(void)
{
    world_crash_principal(&w);
    world_start_principal(&w);
    world_settle(&w);
}

void consume_operation(void)
{
    set_field(w.local, LOCAL, "operation", NULL);
    world_settle(&w);
}

bool has_new(void)
{
    return fake_store_find(w.local, LOCAL_NEW) != NULL;
}

double held_deletions(void)
{
    ab_label label = {"agent", AB_STR("w1")};
    return ab_metric_value(ab_metric_get(w.principal_metrics, AB_METRIC_GAUGE,
                                         "argobus_deletions_held", "", &label, 1));
}

int operation_of(const ab_object *o)
{
    int64_t n;
    return ab_span_i64(ab_span_get(ab_object_field(o, "operation"), "n"), &n) == AB_ERR_OK ? (int)n
                                                                                           : -1;
}

bool has_phase(const ab_object *o, const char *phase)
{
    return ab_span_is(ab_span_path(ab_object_field(o, "status"), "operationState", "phase", NULL),
                      phase);
}

bool has_error(const ab_object *o)
{
    ab_spanv conditions = ab_span_get(ab_object_field(o, "status"), "conditions");
    for (ab_spanv v = ab_span_first(conditions); ab_span_present(v); v = ab_span_next(v))
        if (ab_span_is(ab_span_get(v, "type"), "AgentError"))
            return true;
    return false;
}

struct search {
    const char *key;
    bool found;
};

static void look_at(void *arg, const ab_event *head)
{
    struct search *s = arg;
    s->found = s->found || ab_str_is(ab_event_attr(head, AB_CE_PARTITIONKEY), s->key);
}

bool has_head(const fake_log *log, const char *key)
{
    struct search s = {.key = key};
    fake_log_heads(log, look_at, &s);
    return s.found;
}

static void count_command(void *arg, const ab_event *head)
{
    ab_str key = ab_event_attr(head, AB_CE_PARTITIONKEY);
    if (ab_str_starts(key, AB_KEY_COMMAND) || ab_str_starts(key, AB_KEY_ACK))
        ++*(int *)arg;
}

static void assert_no_commands_left(void)
{
    int count = 0;
    fake_log_heads(w.down, count_command, &count);
    fake_log_heads(w.up, count_command, &count);
    assert_int_equal(count, 0);
}

void assert_at_rest(void)
{
    world_run(&w, 1); /* the store's watermark, too */
    uint64_t writes = fake_store_changes(w.hub) + fake_store_changes(w.local);
    size_t events = fake_log_appended(w.down) + fake_log_appended(w.up);
    world_run(&w, 20);
    assert_int_equal(fake_store_changes(w.hub) + fake_store_changes(w.local), writes);
    assert_int_equal(fake_log_appended(w.down) + fake_log_appended(w.up), events);
    assert_int_equal(fake_log_open(w.down), 0);
    assert_int_equal(fake_log_open(w.up), 0);
    assert_true(ab_metric_value(ab_metric_get(w.agent_metrics, AB_METRIC_GAUGE, "argobus_unsettled",
                                              "", NULL, 0)) == 0);
    assert_no_commands_left();
}

void say_up(const char *key, ab_type type, const char *data, uint64_t version)
{
    say_up_in(100, key, type, data, version);
}

void say_up_in(uint64_t epoch, const char *key, ab_type type, const char *data, uint64_t version)
{
    ab_event *event = NULL;
    ab_event_draft d = {.data = ab_str_of(data)};
    ab_event_set_text(&d, AB_CE_ID, "x");
    ab_event_set_text(&d, AB_CE_SOURCE, AB_SOURCE_AGENT "w1");
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(type));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_APPLICATION));
    ab_event_set_text(&d, AB_CE_SUBJECT, "argocd/a");
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, key);
    ab_event_set_u64(&d, AB_CE_WRITEREPOCH, epoch);
    ab_event_set_u64(&d, AB_CE_OBJVERSION, version);
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    fake_log_append(w.up, event);
    ab_event_unref(event);
}

void say_status(int n, uint64_t version)
{
    char data[300];
    snprintf(data, sizeof(data),
             "{\"metadata\":{\"name\":\"a\",\"namespace\":\"argocd\",\"annotations\":"
             "{\"" AB_ANN_SOURCE_UID "\":\"%.*s\"}},\"status\":{\"n\":%d}}",
             AB_STR_ARG(ab_object_uid(hub())), n);
    say_up(LOCAL, AB_TYPE_STATUS_UPDATE, data, version);
}

void deliver_up(void)
{
    world_step(&w, fake_store_choices(w.hub));
}
