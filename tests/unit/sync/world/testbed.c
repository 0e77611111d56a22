/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sync/world/testbed.h"

#include "schema/attributes.h"
#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STEPS_MAX 200000
#define UIDS_EACH 100000 /* no two stores have a uid in common */

static uint64_t chance(const testbed *b, uint64_t below)
{
    return b->random(b->arg) % below;
}

static bool fault(const testbed *b)
{
    return chance(b, 1000) < b->faults_permille;
}

static fake_fate fate(void *arg, bool writes, ab_err *code)
{
    static const ab_err errors[] = {AB_ERR_TIMEOUT, AB_ERR_UNAVAILABLE, AB_ERR_CONFLICT};
    const testbed *b = arg;
    (void)writes;
    if (!fault(b))
        return FAKE_WORKS;
    *code = errors[chance(b, 3)];
    return *code == AB_ERR_TIMEOUT && chance(b, 2) == 0 ? FAKE_WORKS_BUT_FAILS : FAKE_FAILS;
}

static struct node *find(testbed *b, const char *agent)
{
    struct node *n = b->nodes;
    while (strcmp(n->name, agent) != 0)
        n++;
    return n;
}

static void crash_cache(const testbed *b, struct world_cache *c)
{
    while (c->keeping != NULL)
        world_cache_drop(c, world_cache_is_writing(c) && chance(b, 2) == 0);
}

static void forget_rows(struct world_cache *c)
{
    ab_map_free(c->rows, world_row_free);
    c->rows = ab_map_new();
    assert_non_null(c->rows);
}

/* --- the effects of the principal --- */

static void get(void *arg, ab_str key, ab_asker *asker)
{
    const testbed *b = arg;
    fake_store_get(b->hub, key, ab_effects_done, asker);
}

static void apply(void *arg, ab_object *object, ab_str version, ab_asker *asker)
{
    const testbed *b = arg;
    fake_store_apply(b->hub, object, version, ab_effects_done, asker);
}

static void patch_status(void *arg, ab_str key, ab_str status, ab_str stamp,
                         const ab_precondition *must_be, ab_asker *asker)
{
    const testbed *b = arg;
    fake_store_patch_status(b->hub, key, status, stamp, must_be->uid, must_be->version,
                            ab_effects_done, asker);
}

static void remove_object(void *arg, ab_str key, const ab_precondition *must_be, bool foreground,
                          ab_asker *asker)
{
    const testbed *b = arg;
    (void)foreground;
    fake_store_remove(b->hub, key, must_be->uid, must_be->version, ab_effects_done, asker);
}

static void save(void *arg, ab_str key, const ab_received_state *kept, ab_asker *asker)
{
    testbed *b = arg;
    world_cache_begin(&b->cache, key, world_row_new(kept), asker);
}

static void load(void *arg, ab_str key, ab_asker *asker)
{
    testbed *b = arg;
    world_cache_begin(&b->cache, key, NULL, asker);
}

/* The log is NULL when its agent was taken away since: it is delivered again. */
struct testbed_delivery {
    struct testbed_delivery *next;
    fake_log *log;
    fake_delivery *delivery;
};

static void ack(void *arg, void *delivery)
{
    testbed *b = arg;
    struct testbed_delivery **at = &b->deliveries;
    while (*at != delivery)
        at = &(*at)->next;
    struct testbed_delivery *d = *at;
    *at = d->next;
    if (d->log != NULL)
        fake_log_ack(d->log, d->delivery);
    free(d);
}

static void wake(void *arg, const char *agent)
{
    (void)arg;
    (void)agent;
}

static void fatal(void *arg, const char *why)
{
    (void)arg;
    fail_msg("%s", why);
}

static void held(void *arg, const char *agent, size_t count, const char *token)
{
    struct node *n = find(arg, agent);
    assert_true((count > 0) == (token[0] != '\0'));
    snprintf(n->held_token, sizeof(n->held_token), "%s", token);
}

static void hub_change(void *arg, fake_change change, ab_object *object)
{
    const testbed *b = arg;
    if (change == FAKE_SYNCED)
        ab_principal_on_synced(b->principal);
    else if (change == FAKE_SEEN)
        ab_principal_on_updated(b->principal, object);
    else
        ab_principal_on_deleted(b->principal, object, change == FAKE_GONE);
}

static void hub_write(void *arg, const ab_object *before, const ab_object *after)
{
    const testbed *b = arg;
    b->on_hub_write(b->arg, before, after);
}

/* --- the effects of an agent --- */

static void node_get(void *arg, ab_str key, ab_asker *asker)
{
    const struct node *n = arg;
    fake_store_get(n->store, key, ab_effects_done, asker);
}

static void node_apply(void *arg, ab_object *object, ab_str version, ab_asker *asker)
{
    const struct node *n = arg;
    fake_store_apply(n->store, object, version, ab_effects_done, asker);
}

static void node_patch(void *arg, ab_str key, ab_str status, ab_str stamp,
                       const ab_precondition *must_be, ab_asker *asker)
{
    const struct node *n = arg;
    fake_store_patch_status(n->store, key, status, stamp, must_be->uid, must_be->version,
                            ab_effects_done, asker);
}

static void node_remove(void *arg, ab_str key, const ab_precondition *must_be, bool foreground,
                        ab_asker *asker)
{
    const struct node *n = arg;
    (void)foreground;
    fake_store_remove(n->store, key, must_be->uid, must_be->version, ab_effects_done, asker);
}

static void node_save(void *arg, ab_str key, const ab_received_state *kept, ab_asker *asker)
{
    struct node *n = arg;
    world_cache_begin(&n->cache, key, world_row_new(kept), asker);
}

static void node_load(void *arg, ab_str key, ab_asker *asker)
{
    struct node *n = arg;
    world_cache_begin(&n->cache, key, NULL, asker);
}

static void node_ack(void *arg, void *delivery)
{
    const struct node *n = arg;
    fake_log_ack(n->down, delivery);
}

static void node_change(void *arg, fake_change change, ab_object *object)
{
    const struct node *n = arg;
    if (change == FAKE_SYNCED)
        ab_agent_on_synced(n->agent);
    else if (change == FAKE_SEEN)
        ab_agent_on_updated(n->agent, object);
    else
        ab_agent_on_deleted(n->agent, object, change == FAKE_GONE);
}

static void node_write(void *arg, const ab_object *before, const ab_object *after)
{
    const struct node *n = arg;
    n->bed->on_local_write(n->bed->arg, before, after);
}

static fake_fate node_fate(void *arg, bool writes, ab_err *code)
{
    const struct node *n = arg;
    return fate(n->bed, writes, code);
}

/* --- agents begin and end --- */

static void restore_node(struct node *n)
{
    for (ab_map_iter i = ab_map_first(n->cache.rows); i.entry != NULL; ab_map_next(&i)) {
        struct world_row *row = i.value;
        if (n->autonomous) /* as ab_state_db_release */
            row->kept = (ab_received_state){.version = row->kept.version, .released = true};
        else
            assert_int_equal(ab_agent_restore(n->agent, i.key, &row->kept), AB_ERR_OK);
    }
}

void testbed_start_agent(struct node *n)
{
    const testbed *b = n->bed;
    n->metrics = ab_metrics_new();
    const ab_agent_env env = {
        .policy = {.namespace = TESTBED_NAMESPACE,
                   .name = n->name,
                   .autonomous = n->autonomous,
                   .adopt = n->adopts,
                   .guard = {.max = 1000, .percent = 50, .window_ms = 60000},
                   .defer_after_ms = 60000},
        .effects = {.get = node_get,
                    .apply = node_apply,
                    .patch_status = node_patch,
                    .remove = node_remove,
                    .save = node_save,
                    .load = node_load,
                    .ack = node_ack,
                    .wake = wake,
                    .arg = n},
        .clock = &b->clock,
        .log = b->log,
        .metrics = n->metrics,
        .source = n->source,
    };
    snprintf(n->source, sizeof(n->source), AB_SOURCE_AGENT "%s", n->name);
    assert_int_equal(ab_agent_new(&env, &n->agent), AB_ERR_OK);
    restore_node(n);
    if (n->replaying)
        ab_agent_replay(n->agent);
    fake_store_open(n->store, &(fake_events){node_change, node_write, node_fate, n});
}

void testbed_crash_agent(struct node *n)
{
    if (n->agent == NULL)
        return;
    fake_store_close(n->store);
    crash_cache(n->bed, &n->cache);
    n->up_ready = false;
    fake_log_reader_restarts(n->down);
    ab_agent_free(n->agent);
    ab_metrics_free(n->metrics);
    n->agent = NULL;
}

void testbed_lose_agent_data(struct node *n)
{
    forget_rows(&n->cache);
    n->replaying = true;
    fake_log_replay(n->down);
}

/* --- the principal begins and ends --- */

/* What is not acknowledged comes again when it is served again. */
static void return_deliveries(testbed *b, struct node *n)
{
    for (struct testbed_delivery *d = b->deliveries; d != NULL; d = d->next)
        if (d->log == n->up)
            d->log = NULL;
    fake_log_reader_restarts(n->up);
    n->down_ready = false;
    n->known = 0;
}

static void drop_deliveries(testbed *b)
{
    while (b->deliveries != NULL) {
        struct testbed_delivery *d = b->deliveries;
        b->deliveries = d->next;
        free(d);
    }
}

void testbed_serve(struct node *n, bool served)
{
    testbed *b = n->bed;
    n->served = served;
    if (b->principal == NULL)
        return;
    if (served) {
        assert_int_equal(ab_principal_add_agent(b->principal, n->name), AB_ERR_OK);
    } else {
        ab_principal_remove_agent(b->principal, n->name);
        return_deliveries(b, n);
    }
}

static void restore_principal(testbed *b)
{
    for (ab_map_iter i = ab_map_first(b->cache.rows); i.entry != NULL; ab_map_next(&i)) {
        const struct world_row *row = i.value;
        assert_int_equal(ab_principal_restore(b->principal, i.key, &row->kept), AB_ERR_OK);
    }
}

void testbed_start_principal(testbed *b)
{
    b->metrics = ab_metrics_new();
    const ab_principal_env env = {
        .effects = {.get = get,
                    .apply = apply,
                    .patch_status = patch_status,
                    .remove = remove_object,
                    .save = save,
                    .load = load,
                    .ack = ack,
                    .wake = wake,
                    .fatal = fatal,
                    .held = held,
                    .arg = b},
        .clock = &b->clock,
        .log = b->log,
        .metrics = b->metrics,
        .source = AB_SOURCE_PRINCIPAL,
        .uid = "principal-1",
        .namespace = TESTBED_NAMESPACE,
        .defer_after_ms = 60000,
        .guard = {.max = 1000, .percent = 50, .window_ms = 60000},
        .resyncs_max = 8,
    };
    assert_int_equal(ab_principal_new(&env, &b->principal), AB_ERR_OK);
    for (size_t i = 0; i < b->node_count; i++)
        if (b->nodes[i].served)
            testbed_serve(&b->nodes[i], true);
    restore_principal(b);
    fake_store_open(b->hub, &(fake_events){hub_change, hub_write, fate, b});
}

void testbed_crash_principal(testbed *b)
{
    if (b->principal == NULL)
        return;
    fake_store_close(b->hub);
    crash_cache(b, &b->cache);
    for (size_t i = 0; i < b->node_count; i++)
        return_deliveries(b, &b->nodes[i]);
    ab_principal_free(b->principal);
    ab_metrics_free(b->metrics);
    b->principal = NULL;
    drop_deliveries(b);
}

void testbed_lose_principal_data(testbed *b)
{
    forget_rows(&b->cache);
    for (size_t i = 0; i < b->node_count; i++)
        fake_log_replay(b->nodes[i].up);
}

/* --- init --- */

void testbed_init(testbed *b, const char *const *names, size_t count)
{
    b->ms = 1000;
    b->clock = sample_clock(&b->ms);
    b->hub = fake_store_new();
    b->cache.rows = ab_map_new();
    b->node_count = count;
    for (size_t i = 0; i < count; i++) {
        struct node *n = &b->nodes[i];
        *n = (struct node){.bed = b,
                           .name = names[i],
                           .store = fake_store_new(),
                           .down = fake_log_new(),
                           .up = fake_log_new(),
                           .cache = {.rows = ab_map_new()},
                           .autonomous = true,
                           .connected = true,
                           .served = true};
        fake_store_number_from(n->store, (i + 1) * UIDS_EACH);
    }
}

void testbed_fini(testbed *b)
{
    testbed_crash_principal(b);
    for (size_t i = 0; i < b->node_count; i++) {
        struct node *n = &b->nodes[i];
        testbed_crash_agent(n);
        fake_store_free(n->store);
        fake_log_free(n->down);
        fake_log_free(n->up);
        ab_map_free(n->cache.rows, world_row_free);
    }
    fake_store_free(b->hub);
    ab_map_free(b->cache.rows, world_row_free);
    ab_log_free(b->log);
}

/* --- what can happen between the two --- */

enum wire_step {
    HELLO,
    UP_READY,
    UP_SEND,
    UP_DELIVER,
    DOWN_READY,
    DOWN_SEND,
    DOWN_DELIVER,
    WIRE_STEPS
};

static bool is_served(const struct node *n)
{
    return n->served && n->bed->principal != NULL && n->connected;
}

static ab_mode_set mode_of(const struct node *n)
{
    return n->autonomous ? AB_AUTONOMOUS : AB_MANAGED;
}

static ab_outbox *outbox_of(const struct node *n, bool up)
{
    return up ? ab_agent_outbox(n->agent) : ab_principal_outbox(n->bed->principal, n->name);
}

/* Taken and returned: it is the only way to know. */
static bool can_send(const struct node *n, bool up)
{
    ab_outbox *o = outbox_of(n, up);
    ab_outgoing *g = ab_outbox_next(o, n->bed->ms);
    if (g != NULL)
        ab_outbox_return(o, g);
    return g != NULL;
}

static bool can(const struct node *n, enum wire_step step)
{
    bool runs = n->agent != NULL && n->connected;
    switch (step) {
    case HELLO:
        return runs && is_served(n) && n->known != mode_of(n);
    case UP_READY:
        return runs && !n->up_ready;
    case UP_SEND:
        return runs && n->up_ready && can_send(n, true);
    case UP_DELIVER:
        return is_served(n) && fake_log_has_next(n->up);
    case DOWN_READY:
        return is_served(n) && !n->down_ready;
    case DOWN_SEND:
        return is_served(n) && n->down_ready && can_send(n, false);
    case DOWN_DELIVER:
        return runs && fake_log_has_next(n->down);
    case WIRE_STEPS:
        break;
    }
    return false;
}

static void send(struct node *n, bool up)
{
    ab_outbox *o = outbox_of(n, up);
    ab_outgoing *g = ab_outbox_next(o, n->bed->ms);
    bool works = !fault(n->bed);
    if (works || chance(n->bed, 2) == 0)
        fake_log_append(up ? n->up : n->down, ab_outgoing_event(g));
    ab_outbox_done(o, g, works ? AB_ERR_OK : AB_ERR_TIMEOUT, n->bed->ms);
}

static void learn_up(void *arg, const ab_event *head)
{
    const struct node *n = arg;
    ab_agent_written(n->agent, head);
}

static void learn_down(void *arg, const ab_event *head)
{
    const struct node *n = arg;
    ab_principal_written(n->bed->principal, n->name, head);
}

static void tell_caught_up(const struct node *n, bool up)
{
    if (fake_log_has_next(up ? n->up : n->down))
        return;
    if (up)
        ab_principal_caught_up(n->bed->principal, n->name);
    else
        ab_agent_caught_up(n->agent);
}

static void become_ready(struct node *n, bool up)
{
    fake_log *log = up ? n->up : n->down;
    fake_log_heads(log, up ? learn_up : learn_down, n);
    uint64_t epoch = fake_log_next_epoch(log);
    if (up) {
        n->up_ready = true;
        ab_agent_ready(n->agent, epoch);
    } else {
        n->down_ready = true;
        ab_principal_ready(n->bed->principal, n->name, epoch);
        ab_principal_presence(n->bed->principal, n->name, true);
    }
    tell_caught_up(n, !up);
}

static void deliver_up(struct node *n)
{
    testbed *b = n->bed;
    struct testbed_delivery *d = malloc(sizeof(*d));
    assert_non_null(d);
    *d = (struct testbed_delivery){b->deliveries, n->up, fake_log_next(n->up)};
    b->deliveries = d;
    ab_event *event = ab_event_ref(fake_delivery_event(d->delivery));
    ab_principal_deliver(b->principal, n->name, event, d);
    ab_event_unref(event);
    tell_caught_up(n, true);
}

static void deliver_down(struct node *n)
{
    fake_delivery *d = fake_log_next(n->down);
    ab_agent_deliver(n->agent, fake_delivery_event(d), d);
    tell_caught_up(n, false);
}

static void wire_step(struct node *n, enum wire_step step)
{
    switch (step) {
    case HELLO:
        n->known = mode_of(n);
        ab_principal_set_mode(n->bed->principal, n->name, n->known);
        return;
    case UP_READY:
    case DOWN_READY:
        become_ready(n, step == UP_READY);
        return;
    case UP_SEND:
    case DOWN_SEND:
        send(n, step == UP_SEND);
        return;
    case UP_DELIVER:
        deliver_up(n);
        return;
    case DOWN_DELIVER:
        deliver_down(n);
        return;
    case WIRE_STEPS:
        return;
    }
}

void testbed_lose_log(struct node *n, bool up)
{
    testbed *b = n->bed;
    fake_log_lose(up ? n->up : n->down);
    *(up ? &n->up_ready : &n->down_ready) = false;
    if (n->agent != NULL)
        (up ? ab_agent_log_lost : ab_agent_gap)(n->agent);
    if (n->served && b->principal != NULL)
        (up ? ab_principal_gap : ab_principal_log_lost)(b->principal, n->name);
    if (n->agent != NULL && !up && n->up_ready)
        tell_caught_up(n, false);
}

/* --- steps --- */

static size_t node_choices(const struct node *n)
{
    size_t count = fake_store_choices(n->store) + (n->cache.keeping != NULL);
    for (int i = 0; i < WIRE_STEPS; i++)
        count += can(n, (enum wire_step)i);
    return count;
}

size_t testbed_choices(const testbed *b)
{
    size_t count = fake_store_choices(b->hub) + (b->cache.keeping != NULL);
    for (size_t i = 0; i < b->node_count; i++)
        count += node_choices(&b->nodes[i]);
    return count;
}

/* @param i  counted down by what could happen, and did not */
static bool step_store(testbed *b, fake_store *s, struct world_cache *c, size_t *i)
{
    size_t choices = fake_store_choices(s);
    if (*i < choices) {
        fake_store_step(s, *i, chance(b, 4) == 1);
        return true;
    }
    *i -= choices;
    if (c->keeping != NULL && (*i)-- == 0) {
        world_cache_step(c, fault(b));
        return true;
    }
    return false;
}

static bool step_node(struct node *n, size_t *i)
{
    if (step_store(n->bed, n->store, &n->cache, i))
        return true;
    for (int step = 0; step < WIRE_STEPS; step++)
        if (can(n, (enum wire_step)step) && (*i)-- == 0) {
            wire_step(n, (enum wire_step)step);
            return true;
        }
    return false;
}

void testbed_step(testbed *b, size_t i)
{
    bool taken = step_store(b, b->hub, &b->cache, &i);
    for (size_t k = 0; !taken && k < b->node_count; k++)
        taken = step_node(&b->nodes[k], &i);
    assert_true(taken);
}

void testbed_tick(testbed *b, int64_t ms)
{
    b->ms += ms;
    if (b->principal != NULL)
        ab_principal_tick(b->principal);
    for (size_t i = 0; i < b->node_count; i++) {
        struct node *n = &b->nodes[i];
        if (n->agent == NULL)
            continue;
        ab_agent_tick(n->agent);
        n->replaying = ab_agent_is_replaying(n->agent);
    }
}

void testbed_run(testbed *b, int64_t seconds)
{
    for (int64_t s = 0; s <= seconds; s++) {
        for (int i = 0; testbed_choices(b) > 0; i++) {
            assert_true(i < STEPS_MAX); /* it comes to rest */
            testbed_step(b, 0);
        }
        testbed_tick(b, 1000);
    }
}

uint64_t testbed_activity(const testbed *b)
{
    uint64_t sum = fake_store_changes(b->hub);
    for (size_t i = 0; i < b->node_count; i++)
        sum += fake_store_changes(b->nodes[i].store) + fake_log_appended(b->nodes[i].up) +
               fake_log_appended(b->nodes[i].down);
    return sum;
}
