/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sync/world/history.h"

#include "schema/attributes.h"
#include "sync/deletion/watermark.h"
#include "sync/object/application.h"
#include "tests/unit/sync/world/lot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS_MIN 80
#define ROUNDS_MAX 200
/* What failed among so few actions did so before guards were tight. */
#define AMONG_UNGUARDED 26

struct history m;
static const history_model *model;

/* --- chance --- */

static uint64_t next_random(void *arg)
{
    struct history *history = arg;
    uint64_t z = history->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t __wrap_ab_backoff_next(ab_backoff *b);
int64_t __wrap_ab_backoff_next(ab_backoff *b)
{
    return lot_delay(b, next_random(&m));
}

size_t below(size_t n)
{
    return (size_t)(next_random(&m) % n);
}

/* --- what there is --- */

static void show(const fake_store *s)
{
    for (size_t i = 0; fake_store_at(s, i) != NULL; i++)
        print_error("  %.*s\n", AB_STR_ARG(ab_span_raw(ab_object_json(fake_store_at(s, i)))));
}

void broken(const char *what)
{
    show(m.w.hub);
    show(m.w.local);
    print_error("%s: SYNC_MODEL_SEED=%llu, step %llu\n", what, (unsigned long long)m.seed,
                (unsigned long long)m.w.steps);
    fail();
}

void trace(const char *what, ab_str text)
{
    if (m.w.log != NULL)
        print_message("%llu %s %.*s\n", (unsigned long long)m.w.steps, what, AB_STR_ARG(text));
}

const char *hub_key(int app)
{
    static const char *const keys[NAMES] = {"Application/w1/a", "Application/w1/b",
                                            "Application/w1/c"};
    return keys[app];
}

const char *local_key(int app)
{
    static const char *const keys[NAMES] = {"Application/argocd/a", "Application/argocd/b",
                                            "Application/argocd/c"};
    return keys[app];
}

#define COPY "user-copy"

const char *name_of(int app)
{
    return strrchr(hub_key(app), '/') + 1;
}

int app_of(const ab_object *o)
{
    return ab_object_name(o).ptr[0] - 'a';
}

ab_object *hub(int app)
{
    return fake_store_find(m.w.hub, hub_key(app));
}

ab_object *local(int app)
{
    return fake_store_find(m.w.local, local_key(app));
}

bool is_follower(const ab_object *o)
{
    return o != NULL && ab_object_annotation(o, AB_ANN_SOURCE_UID).len > 0;
}

void copy_follower(fake_store *s, const ab_object *o)
{
    static const char *const names[] = {AB_ANN_SOURCE_UID, AB_ANN_PRINCIPAL_UID, AB_ANN_MIRROR,
                                        AB_ANN_STATUS_VERSION, AB_ANN_NAME};
    char ns[64];
    ab_buf meta;
    snprintf(ns, sizeof(ns), "%.*s", AB_STR_ARG(ab_object_namespace(o)));
    ab_buf_init(&meta, 4096);
    ab_buf_puts(&meta, ",\"annotations\":{\"copied\":\"1\"");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        ab_str value = ab_object_annotation(o, names[i]);
        if (value.len > 0)
            ab_buf_printf(&meta, ",\"%s\":\"%.*s\"", names[i], AB_STR_ARG(value));
    }
    ab_buf_putc(&meta, '}');
    ab_buf_putc(&meta, '\0');
    char *text = ab_buf_take(&meta);
    assert_non_null(text);
    put_app(s, ns, COPY, next_number(), text, "");
    free(text);
}

bool is_user_copy(const ab_object *o)
{
    return ab_str_is(ab_object_name(o), COPY);
}

bool same_labels(const ab_object *a, const ab_object *b, bool lax)
{
    static const char *const names[] = {"h1", "h2"};
    static const char *const maps[] = {"labels", "annotations"};
    for (size_t i = 0; i < 4; i++) {
        if (lax && has_in(a, maps[i / 2], names[i % 2], NULL))
            continue;
        if (has_in(a, maps[i / 2], names[i % 2], "1") !=
                has_in(b, maps[i / 2], names[i % 2], "1") ||
            has_in(a, maps[i / 2], names[i % 2], NULL) !=
                has_in(b, maps[i / 2], names[i % 2], NULL))
            return false;
    }
    return true;
}

uint64_t uid_number(const ab_object *o)
{
    uint64_t n = 0;
    ab_str uid = ab_object_uid(o);
    assert_int_equal(ab_str_to_u64((ab_str){uid.ptr + 4, uid.len - 4}, &n), AB_ERR_OK);
    return n;
}

int next_number(void)
{
    if (++m.counter >= NUMBERS_MAX)
        broken("more than the test has room for");
    return m.counter;
}

/* --- requests --- */

int operation_of(const ab_object *o)
{
    int64_t n;
    if (o == NULL || ab_span_i64(ab_span_get(ab_object_field(o, "operation"), "n"), &n) != 0)
        return -1;
    return (int)n;
}

int refresh_of(const ab_object *o)
{
    uint64_t n;
    if (o == NULL || ab_str_to_u64(ab_object_annotation(o, AB_ANN_REFRESH), &n) != AB_ERR_OK)
        return -1;
    return (int)n;
}

static void withdraw(int n)
{
    if (n < 0 || !m.requests[n].standing)
        return;
    m.requests[n].standing = false;
    m.requests[n].withdrawn = true;
}

void withdraw_all(const ab_object *o)
{
    withdraw(operation_of(o));
    withdraw(refresh_of(o));
}

static int new_request(void)
{
    int n = next_number();
    m.requests[n] = (struct request){.asked = true, .standing = true};
    return n;
}

static void note_execution(int before, int now, const ab_object *after)
{
    if (now < 0 || now == before || !m.requests[now].asked) /* or it is the controller's own */
        return;
    struct request *r = &m.requests[now];
    ab_str uid = ab_object_uid(after);
    if (r->executed > 0 && ab_str_is(uid, r->executed_on) && !r->restored)
        broken("a command was executed twice");
    r->executed++;
    snprintf(r->executed_on, sizeof(r->executed_on), "%.*s", AB_STR_ARG(uid));
}

void note_executed(const ab_object *before, const ab_object *after)
{
    note_execution(operation_of(before), operation_of(after), after);
    note_execution(refresh_of(before), refresh_of(after), after);
}

static void note_clearing(int before, int after)
{
    if (before < 0 || after >= 0)
        return;
    struct request *r = &m.requests[before];
    if (!r->withdrawn && r->executed == 0 && !r->refused && !r->restored)
        broken("a request was cleared that was neither executed nor refused");
    r->standing = false;
}

void note_cleared(const ab_object *before, const ab_object *after)
{
    note_clearing(operation_of(before), operation_of(after));
    note_clearing(refresh_of(before), refresh_of(after));
}

/* The request that a command carries out; -1 for a terminate. */
static int request_of(const ab_event *command)
{
    ab_object *o = NULL;
    ab_str type = ab_event_attr(command, AB_CE_TYPE);
    if (ab_object_parse(ab_event_data(command), &o, NULL) != AB_ERR_OK)
        broken("a command carries no object");
    int n = -1;
    if (ab_str_is(type, ab_type_name(AB_TYPE_REFRESH)))
        n = refresh_of(o);
    else if (ab_str_is(type, ab_type_name(AB_TYPE_SET_OPERATION)))
        n = operation_of(o);
    ab_object_unref(o);
    return n;
}

static void note_command(const ab_event *event)
{
    ab_str id = ab_event_attr(event, AB_CE_ID);
    if (m.command_count == NUMBERS_MAX)
        broken("more commands than the test has room for");
    snprintf(m.commands[m.command_count].id, sizeof(m.commands[0].id), "%.*s", AB_STR_ARG(id));
    m.commands[m.command_count++].request = request_of(event);
}

static void note_answer(const ab_event *event)
{
    ab_span *doc = NULL;
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    size_t skip = sizeof(AB_KEY_ACK) - 1;
    if (ab_span_parse(ab_event_data(event), &doc, NULL) != AB_ERR_OK)
        broken("an answer is no JSON");
    bool refused = ab_span_present(ab_span_get(ab_span_root(doc), "error"));
    ab_span_free(doc);
    for (size_t i = 0; i < m.command_count; i++)
        if (ab_str_is((ab_str){key.ptr + skip, key.len - skip}, m.commands[i].id) &&
            m.commands[i].request >= 0 && refused)
            m.requests[m.commands[i].request].refused = true;
}

static void check_requests(void)
{
    for (int n = 0; n <= m.counter; n++) {
        const struct request *r = &m.requests[n];
        if (r->standing && r->executed == 0 && !r->refused && !r->restored)
            broken("a request was lost");
    }
}

/* --- specs --- */

void note_said(const ab_event *event)
{
    ab_object *o = NULL;
    if (ab_object_parse(ab_event_data(event), &o, NULL) != AB_ERR_OK)
        broken("what is said is no object");
    if (m.said_count == NUMBERS_MAX)
        broken("more is said than the test has room for");
    m.said[m.said_count++] = spec_of(o);
    ab_object_unref(o);
}

void check_order(const ab_object *after)
{
    size_t *at = &m.written[app_of(after)];
    while (*at < m.said_count && m.said[*at] != spec_of(after))
        ++*at;
    if (*at == m.said_count)
        broken("an older spec was written over a newer one");
}

/* --- users, and Argo CD at the agent --- */

void edit(fake_store *s, const char *key)
{
    static const char *const labels[] = {"h1", "h2"};
    const char *map = below(2) ? "labels" : "annotations";
    const char *label = labels[below(2)];
    if (below(3) > 0)
        set_spec(s, key, next_number());
    else
        set_in(s, key, map, label, below(2) ? "1" : NULL);
}

void hub_asks_sync(int app)
{
    char operation[32];
    if (hub(app) == NULL || ab_object_deleting(hub(app)))
        return;
    withdraw(operation_of(hub(app)));
    snprintf(operation, sizeof(operation), "{\"n\":%d}", new_request());
    set_field(m.w.hub, hub_key(app), "operation", operation);
}

void hub_asks_refresh(int app)
{
    char refresh[16];
    if (hub(app) == NULL || ab_object_deleting(hub(app)))
        return;
    withdraw(refresh_of(hub(app)));
    snprintf(refresh, sizeof(refresh), "%d", new_request());
    set_in(m.w.hub, hub_key(app), "annotations", AB_ANN_REFRESH, refresh);
}

static void excuse_nameless(void)
{
    for (int n = 0; n <= m.counter; n++)
        m.requests[n].restored = m.requests[n].restored || m.requests[n].nameless;
}

/* Has this principal seen the object as it is? One that it cannot read it has not. */
static bool is_seen(int app)
{
    bool hidden = m.w.hidden != NULL && strcmp(m.w.hidden, hub_key(app)) == 0;
    return m.w.principal != NULL && !hidden && fake_store_choices(m.w.hub) == 0;
}

void set_takes_ids_off(int app)
{
    if (hub(app) == NULL)
        return;
    bool seen = is_seen(app);
    const int standing[] = {operation_of(hub(app)), refresh_of(hub(app))};
    for (int i = 0; i < 2; i++)
        if (standing[i] >= 0)
            m.requests[standing[i]].nameless = true;
    set_in(m.w.hub, hub_key(app), "annotations", AB_ANN_OPERATION_ID, NULL);
    set_in(m.w.hub, hub_key(app), "annotations", AB_ANN_REFRESH_ID, NULL);
    trace(seen ? "ids are taken off" : "unseen ids are taken off", ab_str_of(hub_key(app)));
    if (!seen)
        excuse_nameless();
}

void controller_reports(int app)
{
    char status[32];
    if (local(app) == NULL)
        return;
    snprintf(status, sizeof(status), "{\"n\":%d}", next_number());
    set_field(m.w.local, local_key(app), "status", status);
}

/* Somebody wanted to be asked, and has answered at the hub. */
static bool waits_for_approval(int app)
{
    const ab_object *h = hub(app), *l = local(app);
    return h != NULL && ab_app_is_deletion_approved(h) && ab_app_deletes_resources(h) &&
           ab_object_deleting(l) && !ab_app_is_deletion_approved(l) &&
           ab_str_eq(ab_object_annotation(l, AB_ANN_SOURCE_UID), ab_object_uid(h));
}

/* @return false when there is nothing to do */
static bool controller_works(int app)
{
    if (local(app) == NULL || waits_for_approval(app))
        return false;
    if (ab_object_deleting(local(app)))
        drop_finalizers(m.w.local, local_key(app));
    else if (ab_span_present(ab_object_field(local(app), "operation")))
        set_field(m.w.local, local_key(app), "operation", NULL);
    else if (refresh_of(local(app)) >= 0)
        set_in(m.w.local, local_key(app), "annotations", AB_ANN_REFRESH, NULL);
    else
        return false;
    return true;
}

void controller_acts(int app)
{
    (void)controller_works(app);
}

/* --- trouble --- */

void agent_crashes(int app)
{
    (void)app;
    if (m.w.agent == NULL)
        world_start_agent(&m.w);
    else if (below(4) == 0)
        world_crash_agent(&m.w);
}

void principal_crashes(int app)
{
    (void)app;
    if (m.w.principal == NULL) {
        world_start_principal(&m.w);
        return;
    }
    if (below(4) > 0)
        return;
    world_crash_principal(&m.w);
    excuse_nameless();
    if (m.w.compare_first)
        world_lose_log(&m.w, &m.w.principal_link);
}

void links_change(int app)
{
    struct world_link *link = app == 0 ? &m.w.agent_link : &m.w.principal_link;
    world_connect(link, !link->up || below(3) > 0);
}

void logs_change(int app)
{
    fake_log *log = below(2) ? m.w.down : m.w.up;
    if (app > 0 || below(4) > 0)
        fake_log_compact(log);
    else if (log == m.w.down)
        world_rewind_agent(&m.w);
    else
        fake_log_replay(log);
}

void position_is_lost(int app)
{
    if (app == 0 && m.w.agent == NULL)
        fake_log_replay(m.w.down);
    else if (app == 1 && m.w.principal == NULL)
        fake_log_replay(m.w.up);
}

void mode_is_unknown(int app)
{
    if (m.w.principal == NULL || below(2) == 0)
        return;
    if (app == 0)
        ab_principal_unset_mode(m.w.principal, "w1");
    else
        ab_principal_set_mode(m.w.principal, "w1", m.w.mode);
}

void operator_asks(int app)
{
    if (app == 0 && m.w.principal != NULL && below(4) == 0)
        assert_int_equal(ab_principal_resync(m.w.principal, NULL, "test"), AB_ERR_OK);
}

void watches_break(int app)
{
    if (app < 2)
        fake_store_gap(app == 0 ? m.w.hub : m.w.local);
}

void time_passes(int app)
{
    static const int64_t steps[NAMES] = {10, 500, 20000};
    world_tick(&m.w, steps[app]);
}

static void one_step(void)
{
    size_t choices = world_choices(&m.w);
    if (choices > 0 && below(4) > 0)
        world_step(&m.w, below(choices));
    else
        model->actions[below(m.actions)]((int)below(NAMES));
    if (m.restarts != m.w.principal_restarts)
        excuse_nameless();
    m.restarts = m.w.principal_restarts;
}

/* --- rest --- */

static bool is_held(void)
{
    ab_label label = {"agent", AB_STR("w1")};
    return ab_metric_value(ab_metric_get(m.w.principal_metrics, AB_METRIC_GAUGE,
                                         "argobus_deletions_held", "", &label, 1)) > 0;
}

static void operator_confirms(void)
{
    if (!is_held())
        return;
    if (model->on_confirmed != NULL)
        model->on_confirmed();
    assert_int_equal(world_confirm(&m.w), AB_ERR_OK);
}

static void begin_rest(void)
{
    m.w.faults_permille = 0;
    world_connect(&m.w.agent_link, true);
    world_connect(&m.w.principal_link, true);
    if (m.w.agent == NULL)
        world_start_agent(&m.w);
    if (m.w.principal == NULL)
        world_start_principal(&m.w);
    world_unhide(&m.w);
    ab_principal_set_mode(m.w.principal, "w1", m.w.mode);
}

/* Without a resync that somebody asks for, or that its time has come for. */
static void check_unasked(void)
{
    if (is_held())
        return;
    model->check();
    check_requests();
}

static void come_to_rest(void)
{
    begin_rest();
    world_settle(&m.w);
    for (int round = 0; round < ROUNDS_MAX; round++) {
        bool worked = false;
        world_tick(&m.w, 10000);
        world_settle(&m.w);
        for (int app = 0; app < NAMES; app++)
            worked |= controller_works(app);
        if (round == 20) {
            check_unasked();
            assert_int_equal(ab_principal_resync(m.w.principal, "w1", "test"), AB_ERR_OK);
        }
        if (round >= 60 && round % 5 == 0) /* what was not shown before is held then */
            operator_confirms();
        world_settle(&m.w);
        if (!worked && round > ROUNDS_MIN)
            return;
    }
    broken("the controller never comes to rest");
}

static void check_quiet(void)
{
    uint64_t writes = fake_store_changes(m.w.hub) + fake_store_changes(m.w.local);
    size_t events = fake_log_appended(m.w.down) + fake_log_appended(m.w.up);
    for (int i = 0; i < 50; i++) {
        world_tick(&m.w, 10000);
        world_settle(&m.w);
    }
    if (fake_store_changes(m.w.hub) + fake_store_changes(m.w.local) != writes)
        broken("writes go on at rest");
    if (fake_log_appended(m.w.down) + fake_log_appended(m.w.up) != events)
        broken("events go on at rest");
    if (fake_log_open(m.w.down) + fake_log_open(m.w.up) > 0)
        broken("a delivery is never acknowledged");
    if (ab_outbox_count(ab_agent_outbox(m.w.agent)) > 0 ||
        ab_outbox_count(ab_principal_outbox(m.w.principal, "w1")) > 0)
        broken("an event is never sent");
}

static void check_head(void *arg, const ab_event *head)
{
    (void)arg;
    ab_str key = ab_event_attr(head, AB_CE_PARTITIONKEY);
    if (ab_str_starts(key, AB_KEY_COMMAND) || ab_str_starts(key, AB_KEY_ACK))
        broken("a command or an answer stays in the log");
    if (ab_str_starts(key, AB_KEY_INVENTORY))
        broken("a page stays in the log");
}

/* --- what the machines do --- */

static void on_local_write(void *arg, const ab_object *before, const ab_object *after)
{
    (void)arg;
    trace("local", after == NULL ? AB_STR("gone") : ab_span_raw(ab_object_json(after)));
    model->on_local_write(before, after);
}

static void on_hub_write(void *arg, const ab_object *before, const ab_object *after)
{
    (void)arg;
    trace("hub", after == NULL ? AB_STR("gone") : ab_span_raw(ab_object_json(after)));
    if (after == NULL || !is_mark(after))
        model->on_hub_write(before, after);
}

static void on_sent(void *arg, bool down, const ab_event *event)
{
    (void)arg;
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    trace(down ? "down" : "up", key);
    trace("  ", ab_event_data(event));
    model->on_sent(down, event);
    if (ab_event_data(event).ptr == NULL)
        return;
    if (down && ab_str_starts(key, AB_KEY_COMMAND))
        note_command(event);
    else if (!down && ab_str_starts(key, AB_KEY_ACK))
        note_answer(event);
}

/* --- runs --- */

static unsigned long setting(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : strtoul(text, NULL, 10);
}

static void begin(uint64_t seed, size_t among)
{
    m = (struct history){.seed = seed, .random = seed, .actions = among};
    world_init(&m.w);
    m.w.random = next_random;
    m.w.arg = &m;
    m.w.resyncs = true;
    m.w.on_local_write = on_local_write;
    m.w.on_hub_write = on_hub_write;
    m.w.on_sent = on_sent;
    m.w.faults_permille = (unsigned)below(2) * 80;
    model->begin();
    if (seed % 4 == 0 && among > AMONG_UNGUARDED) /* two of three that are missing are held */
        m.w.deletions_max = m.w.policy.guard.max = 0;
    if (setting("SYNC_MODEL_LOG", 0) == 1)
        assert_int_equal(ab_log_new(2, "debug", AB_LOG_TEXT, &m.w.clock, &m.w.log, NULL),
                         AB_ERR_OK);
    m.w.compare_first = seed % 8 == 5; /* a transport without a log */
    if (seed % 8 == 3)                 /* its own line is not in the first part */
        crowd_mark(m.w.hub, AB_WATERMARK_AGENTS_MAX + 3);
    world_start_agent(&m.w);
    world_start_principal(&m.w);
}

static void run(uint64_t seed, size_t among, unsigned long steps)
{
    begin(seed, among);
    for (unsigned long i = 0; i < steps; i++)
        one_step();
    come_to_rest();
    check_quiet();
    model->check();
    check_requests();
    if (is_held())
        broken("a deletion is held that the operator confirmed");
    fake_log_heads(m.w.down, check_head, NULL);
    fake_log_heads(m.w.up, check_head, NULL);
    world_fini(&m.w);
    if (model->end != NULL)
        model->end();
}

static void histories_that_once_failed_end_in_agreement(void **state)
{
    (void)state;
    for (size_t i = 0; i < model->once_failed_count; i++)
        run(model->once_failed[i].seed, model->once_failed[i].actions, 500);
}

static void every_history_ends_in_agreement(void **state)
{
    (void)state;
    bool one = getenv("SYNC_MODEL_SEED") != NULL;
    unsigned long first = setting("SYNC_MODEL_SEED", 1);
    unsigned long count = setting("SYNC_MODEL_SEEDS", one ? 1 : model->runs);
    unsigned long steps = setting("SYNC_MODEL_STEPS", 500);
    print_message("seeds %lu to %lu, %lu steps each\n", first, first + count - 1, steps);
    for (unsigned long i = 0; i < count; i++)
        run(first + i, model->action_count, steps);
}

int history_run(const history_model *of)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(histories_that_once_failed_end_in_agreement),
        cmocka_unit_test(every_history_ends_in_agreement),
    };
    model = of;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
