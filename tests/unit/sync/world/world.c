/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sync/world/world.h"

#include "schema/attributes.h"
#include "tests/unit/sync/world/edit.h"
#include "tests/unit/sync/world/samples.h"
#include "tests/unit/sync/world/world_hub.h"
#include "tests/unit/sync/world/world_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SETTLE_STEPS_MAX = 200000 };
struct world_sending {
    struct world_sending *next;
    ab_outgoing *outgoing;
    ab_event *event;
    bool read; /* the log has it already */
};

/* --- chance --- */

static uint64_t chance(const world *w, uint64_t below)
{
    return w->random == NULL ? 0 : w->random(w->arg) % below;
}

static bool fault(const world *w)
{
    return w->random != NULL && chance(w, 1000) < w->faults_permille;
}

static fake_fate fate(const world *w, ab_err refusal, bool writes, ab_err *code)
{
    static const ab_err errors[] = {AB_ERR_TIMEOUT, AB_ERR_UNAVAILABLE, AB_ERR_CONFLICT};
    *code = refusal;
    if (writes && refusal != AB_ERR_OK)
        return FAKE_FAILS;
    if (!fault(w))
        return FAKE_WORKS;
    *code = errors[chance(w, 3)];
    return *code == AB_ERR_TIMEOUT && chance(w, 2) == 0 ? FAKE_WORKS_BUT_FAILS : FAKE_FAILS;
}

static fake_fate hub_fate(void *arg, bool writes, ab_err *code)
{
    const world *w = arg;
    bool refused = w->hub_refuses != AB_ERR_OK && (writes || w->hub_refuses_reads);
    fake_fate what = fate(w, w->hub_refuses, refused, code);
    return refused && w->hub_writes_refused ? FAKE_WORKS_BUT_FAILS : what;
}

static fake_fate local_fate(void *arg, bool writes, ab_err *code)
{
    const world *w = arg;
    return fate(w, w->local_refuses, writes, code);
}

/* --- rows of the state database --- */

static void step_cache(world *w, struct world_cache *c)
{
    world_cache_step(c, fault(w));
}

/* What was being kept may or may not be. */
static void crash_cache(world *w, struct world_cache *c)
{
    while (c->keeping != NULL)
        world_cache_drop(c, world_cache_is_writing(c) && chance(w, 2) == 0);
}

/* --- the agent's effects --- */

static void agent_get(void *arg, ab_str key, ab_asker *asker)
{
    world *w = arg;
    fake_store_get(w->local, key, ab_effects_done, asker);
}

static void agent_apply(void *arg, ab_object *object, ab_str version, ab_asker *asker)
{
    world *w = arg;
    fake_store_apply(w->local, object, version, ab_effects_done, asker);
}

static void agent_patch(void *arg, ab_str key, ab_str status, ab_str stamp,
                        const ab_precondition *must_be, ab_asker *asker)
{
    world *w = arg;
    fake_store_patch_status(w->local, key, status, stamp, must_be->uid, must_be->version,
                            ab_effects_done, asker);
}

static void agent_remove(void *arg, ab_str key, const ab_precondition *must_be, bool foreground,
                         ab_asker *asker)
{
    world *w = arg;
    (void)foreground;
    fake_store_remove(w->local, key, must_be->uid, must_be->version, ab_effects_done, asker);
}

static void agent_save(void *arg, ab_str key, const ab_received_state *kept, ab_asker *asker)
{
    world *w = arg;
    world_cache_begin(&w->cache, key, world_row_new(kept), asker);
}

ab_err world_recall(const world *w, ab_str key, ab_received_state *out)
{
    const struct world_row *row = ab_map_find(w->cache.rows, key);
    if (row == NULL)
        return AB_ERR_NOTFOUND;
    *out = row->kept;
    return AB_ERR_OK;
}

static void agent_load(void *arg, ab_str key, ab_asker *asker)
{
    world *w = arg;
    world_cache_begin(&w->cache, key, NULL, asker);
}

static void agent_ack(void *arg, void *delivery)
{
    world *w = arg;
    fake_log_ack(w->down, delivery);
}

static void agent_wake(void *arg, const char *agent)
{
    (void)arg;
    (void)agent;
}

static void agent_change(void *arg, fake_change change, ab_object *object)
{
    world *w = arg;
    if (change == FAKE_SYNCED)
        (w->unreadable ? ab_agent_on_list_done : ab_agent_on_synced)(w->agent);
    else if (change == FAKE_SEEN)
        ab_agent_on_updated(w->agent, object);
    else
        ab_agent_on_deleted(w->agent, object, change == FAKE_GONE);
}

static void local_write(void *arg, const ab_object *before, const ab_object *after)
{
    world *w = arg;
    if (w->on_local_write != NULL)
        w->on_local_write(w->arg, before, after);
}

/* --- the principal's effects --- */

static void principal_get(void *arg, ab_str key, ab_asker *asker)
{
    world *w = arg;
    fake_store_get(w->hub, key, ab_effects_done, asker);
}

static void principal_apply(void *arg, ab_object *object, ab_str version, ab_asker *asker)
{
    world *w = arg;
    fake_store_apply(w->hub, object, version, ab_effects_done, asker);
}

static void principal_patch(void *arg, ab_str key, ab_str status, ab_str stamp,
                            const ab_precondition *must_be, ab_asker *asker)
{
    world *w = arg;
    fake_store_patch_status(w->hub, key, status, stamp, must_be->uid, must_be->version,
                            ab_effects_done, asker);
}

static void principal_remove(void *arg, ab_str key, const ab_precondition *must_be, bool foreground,
                             ab_asker *asker)
{
    world *w = arg;
    (void)foreground;
    fake_store_remove(w->hub, key, must_be->uid, must_be->version, ab_effects_done, asker);
}

static void principal_save(void *arg, ab_str key, const ab_received_state *kept, ab_asker *asker)
{
    world *w = arg;
    world_cache_begin(&w->hub_cache, key, world_row_new(kept), asker);
}

static void principal_load(void *arg, ab_str key, ab_asker *asker)
{
    world *w = arg;
    world_cache_begin(&w->hub_cache, key, NULL, asker);
}

static void principal_ack(void *arg, void *delivery)
{
    world *w = arg;
    fake_log_ack(w->up, delivery);
}

static void principal_wake(void *arg, const char *agent)
{
    (void)arg;
    assert_string_equal(agent, WORLD_HUB_NAMESPACE);
}

static void principal_fatal(void *arg, const char *why)
{
    world *w = arg;
    assert_non_null(why);
    w->principal_ends = true;
}

static void principal_held(void *arg, const char *agent, size_t count, const char *token)
{
    world *w = arg;
    assert_string_equal(agent, "w1");
    w->held = count;
    memcpy(w->held_token, token, strlen(token) + 1);
}

ab_err world_confirm(world *w)
{
    return ab_principal_confirm(w->principal, "w1", ab_str_of(w->held_token));
}

static void hub_write(void *arg, const ab_object *before, const ab_object *after)
{
    world *w = arg;
    if (w->on_hub_write != NULL)
        w->on_hub_write(w->arg, before, after);
}

/* --- start and crash --- */

void world_init(world *w)
{
    *w = (world){
        .ms = 1000,
        .hub = fake_store_new(),
        .local = fake_store_new(),
        .down = fake_log_new(),
        .up = fake_log_new(),
        .cache = {.rows = ab_map_new()},
        .hub_cache = {.rows = ab_map_new()},
        .mode = AB_MANAGED,
        .policy = {.namespace = WORLD_AGENT_NAMESPACE,
                   .name = WORLD_HUB_NAMESPACE,
                   .guard = {.max = 1000, .percent = 50, .window_ms = 60000},
                   .defer_after_ms = WORLD_SET_ASIDE_MS},
        .deletions_max = 1000,
    };
    w->clock = sample_clock(&w->ms);
    w->principal_link = (struct world_link){.out = w->down, .in = w->up, .up = true};
    w->agent_link = (struct world_link){.out = w->up, .in = w->down, .up = true};
    assert_non_null(w->cache.rows);
    assert_non_null(w->hub_cache.rows);
}

static void restore_mirrors(world *w)
{
    for (ab_map_iter i = ab_map_first(w->hub_cache.rows); i.entry != NULL; ab_map_next(&i)) {
        const struct world_row *row = i.value;
        assert_int_equal(ab_principal_restore(w->principal, i.key, &row->kept), AB_ERR_OK);
    }
}

/* As ab_state_db_release. */
static void release_rows(world *w)
{
    for (ab_map_iter i = ab_map_first(w->cache.rows); i.entry != NULL; ab_map_next(&i)) {
        struct world_row *row = i.value;
        row->kept = (ab_received_state){.version = row->kept.version, .released = true};
    }
}

static void restore_rows(world *w)
{
    if (w->policy.autonomous) {
        release_rows(w);
        return;
    }
    for (ab_map_iter i = ab_map_first(w->cache.rows); i.entry != NULL; ab_map_next(&i)) {
        const struct world_row *row = i.value;
        assert_int_equal(ab_agent_restore(w->agent, i.key, &row->kept), AB_ERR_OK);
    }
}

void world_start_agent(world *w)
{
    w->agent_metrics = ab_metrics_new();
    const ab_agent_env env = {
        .policy = w->policy,
        .effects = {.get = agent_get,
                    .apply = agent_apply,
                    .patch_status = agent_patch,
                    .remove = agent_remove,
                    .save = agent_save,
                    .load = agent_load,
                    .ack = agent_ack,
                    .wake = agent_wake,
                    .arg = w,
                    .trace = w->trace},
        .clock = &w->clock,
        .log = w->log,
        .metrics = w->agent_metrics,
        .source = AB_SOURCE_AGENT WORLD_HUB_NAMESPACE,
    };
    assert_int_equal(ab_agent_new(&env, &w->agent), AB_ERR_OK);
    restore_rows(w);
    if (w->replaying)
        ab_agent_replay(w->agent);
    fake_store_open(w->local, &(fake_events){agent_change, local_write, local_fate, w});
}

void world_start_principal(world *w)
{
    w->principal_ends = false;
    w->principal_metrics = ab_metrics_new();
    const ab_principal_env env = {
        .effects = {.get = principal_get,
                    .apply = principal_apply,
                    .patch_status = principal_patch,
                    .ack = principal_ack,
                    .wake = principal_wake,
                    .remove = principal_remove,
                    .save = principal_save,
                    .load = principal_load,
                    .fatal = principal_fatal,
                    .held = principal_held,
                    .arg = w,
                    .trace = w->trace},
        .clock = &w->clock,
        .log = w->log,
        .metrics = w->principal_metrics,
        .source = AB_SOURCE_PRINCIPAL,
        .uid = w->uid == NULL ? "principal-1" : w->uid,
        .namespace = WORLD_AGENT_NAMESPACE,
        .destination_mapping = w->namespaces != NULL,
        .namespaces = w->namespaces,
        .defer_after_ms = WORLD_SET_ASIDE_MS,
        .guard = {w->deletions_max, 50, 60000, w->guard_observed},
        .resync_ms = w->resync_ms,
        .resyncs_max = w->resyncs ? 8 : 0,
        .mirrors_max = w->mirrors_max,
        .store_stays = w->hub_stays,
    };
    assert_int_equal(ab_principal_new(&env, &w->principal), AB_ERR_OK);
    if (w->compare_first)
        ab_principal_compare_first(w->principal);
    assert_int_equal(ab_principal_add_agent(w->principal, WORLD_HUB_NAMESPACE), AB_ERR_OK);
    restore_mirrors(w);
    if (w->mode != 0)
        ab_principal_set_mode(w->principal, WORLD_HUB_NAMESPACE, w->mode);
    if (!w->resyncs || w->mode == AB_AUTONOMOUS)
        put_mark(w->hub); /* nothing is ever compared that would raise it */
    fake_store_open(w->hub, &(fake_events){world_hub_change, hub_write, hub_fate, w});
}

static void append(world *w, const struct world_link *link, ab_event *event)
{
    fake_log_append(link->out, event);
    if (w->on_sent != NULL)
        w->on_sent(w->arg, link->out == w->down, event);
}

/* What was in flight may or may not have arrived. */
static void crash_link(world *w, struct world_link *link)
{
    while (link->sending != NULL) {
        struct world_sending *s = link->sending;
        link->sending = s->next;
        if (chance(w, 2) == 1)
            append(w, link, s->event);
        ab_event_unref(s->event);
        free(s);
    }
    link->ready = false;
    fake_log_reader_restarts(link->in);
}

void world_crash_agent(world *w)
{
    if (w->agent == NULL)
        return;
    fake_store_close(w->local);
    crash_cache(w, &w->cache);
    crash_link(w, &w->agent_link);
    ab_agent_free(w->agent);
    ab_metrics_free(w->agent_metrics);
    w->agent = NULL;
}

void world_crash_principal(world *w)
{
    if (w->principal == NULL)
        return;
    fake_store_close(w->hub);
    crash_cache(w, &w->hub_cache);
    crash_link(w, &w->principal_link);
    ab_principal_free(w->principal);
    ab_metrics_free(w->principal_metrics);
    w->principal = NULL;
    w->hub_interrupted = w->hub_replaced = false;
}

void world_forget_mirrors(world *w)
{
    ab_map_free(w->hub_cache.rows, world_row_free);
    w->hub_cache.rows = ab_map_new();
    assert_non_null(w->hub_cache.rows);
}

void world_forget_all_desired(world *w)
{
    ab_map_free(w->cache.rows, world_row_free);
    w->cache.rows = ab_map_new();
    assert_non_null(w->cache.rows);
    w->replaying = true;
}

ab_map *world_back_up_desired(const world *w)
{
    return world_rows_copy(w->cache.rows);
}

void world_restore_desired(world *w, const ab_map *backup)
{
    ab_map_free(w->cache.rows, world_row_free);
    w->cache.rows = world_rows_copy(backup);
}

void world_backup_free(ab_map *backup)
{
    ab_map_free(backup, world_row_free);
}

void world_forget_desired(world *w, const char *key)
{
    world_row_free(ab_map_take(w->cache.rows, ab_str_of(key)));
}

void world_start(world *w)
{
    world_start_principal(w);
    world_start_agent(w);
    world_settle(w);
}

void world_fini(world *w)
{
    world_crash_agent(w);
    world_crash_principal(w);
    fake_store_free(w->hub);
    fake_store_free(w->local);
    fake_log_free(w->down);
    fake_log_free(w->up);
    ab_map_free(w->cache.rows, world_row_free);
    ab_map_free(w->hub_cache.rows, world_row_free);
    ab_log_free(w->log);
    ab_patterns_free(w->namespaces);
}

void world_lose_log(world *w, struct world_link *link)
{
    fake_log_lose(link->out);
    link->ready = false;
    if (link == &w->agent_link && w->agent != NULL)
        ab_agent_log_lost(w->agent);
    else if (link == &w->principal_link && w->principal != NULL)
        ab_principal_log_lost(w->principal, WORLD_HUB_NAMESPACE);
    if (link == &w->agent_link && w->principal != NULL)
        ab_principal_gap(w->principal, WORLD_HUB_NAMESPACE);
    else if (link == &w->principal_link && w->agent != NULL)
        world_rewind_agent(w);
}

void world_connect(struct world_link *link, bool up)
{
    link->up = up;
}

/* --- what a link can do --- */

enum link_step { LINK_READY, LINK_DELIVER, LINK_SEND, LINK_SENT, LINK_STEPS };

static ab_outbox *outbox_of(const world *w, const struct world_link *link)
{
    if (link == &w->agent_link)
        return w->agent == NULL ? NULL : ab_agent_outbox(w->agent);
    return w->principal == NULL ? NULL : ab_principal_outbox(w->principal, WORLD_HUB_NAMESPACE);
}

/* Anything that an outbox would give out? Taken and returned: it is the only way to know. */
static bool can_send(const world *w, const struct world_link *link)
{
    ab_outbox *o = outbox_of(w, link);
    ab_outgoing *g = ab_outbox_next(o, w->ms);
    if (g != NULL)
        ab_outbox_return(o, g);
    return g != NULL;
}

static bool link_can(const world *w, const struct world_link *link, enum link_step step)
{
    if (outbox_of(w, link) == NULL)
        return false;
    switch (step) {
    case LINK_READY:
        return link->up && !link->ready;
    case LINK_DELIVER:
        return link->up && fake_log_has_next(link->in);
    case LINK_SEND:
        return link->up && link->ready && can_send(w, link);
    case LINK_SENT:
        return link->sending != NULL;
    case LINK_STEPS:
        break;
    }
    return false;
}

static void learn_down(void *arg, const ab_event *head)
{
    world *w = arg;
    ab_principal_written(w->principal, WORLD_HUB_NAMESPACE, head);
}

static void learn_up(void *arg, const ab_event *head)
{
    world *w = arg;
    ab_agent_written(w->agent, head);
}

/* It has read all there is. */
static void tell_caught_up(world *w, const struct world_link *link)
{
    if (fake_log_has_next(link->in))
        return;
    if (link == &w->principal_link) {
        ab_principal_caught_up(w->principal, WORLD_HUB_NAMESPACE);
        return;
    }
    ab_agent_caught_up(w->agent);
}

void world_rewind_agent(world *w)
{
    fake_log_replay(w->down);
    if (w->agent == NULL)
        return;
    ab_agent_gap(w->agent);
    if (w->agent_link.ready)
        tell_caught_up(w, &w->agent_link);
}

static void become_ready(world *w, struct world_link *link)
{
    link->ready = true;
    fake_log_heads(link->out, link == &w->agent_link ? learn_up : learn_down, w);
    uint64_t epoch = fake_log_next_epoch(link->out);
    if (link == &w->agent_link)
        ab_agent_ready(w->agent, epoch);
    else
        ab_principal_ready(w->principal, WORLD_HUB_NAMESPACE, epoch);
    if (link == &w->principal_link)
        ab_principal_presence(w->principal, WORLD_HUB_NAMESPACE, true);
    tell_caught_up(w, link);
}

static void deliver(world *w, struct world_link *link)
{
    fake_delivery *d = fake_log_next(link->in);
    if (link == &w->agent_link)
        ab_agent_deliver(w->agent, fake_delivery_event(d), d);
    else
        ab_principal_deliver(w->principal, WORLD_HUB_NAMESPACE, fake_delivery_event(d), d);
    tell_caught_up(w, link);
}

static void begin_send(world *w, struct world_link *link)
{
    struct world_sending *s = calloc(1, sizeof(*s));
    assert_non_null(s);
    s->outgoing = ab_outbox_next(outbox_of(w, link), w->ms);
    s->event = ab_event_ref(ab_outgoing_event(s->outgoing));
    s->read = w->read_at_once;
    if (s->read)
        append(w, link, s->event);
    struct world_sending **end = &link->sending;
    while (*end != NULL)
        end = &(*end)->next;
    *end = s;
}

static void end_send(world *w, struct world_link *link)
{
    struct world_sending *s = link->sending;
    bool works = link->up && !fault(w);
    link->sending = s->next;
    if (!s->read && (works || chance(w, 2) == 1))
        append(w, link, s->event);
    ab_outbox_done(outbox_of(w, link), s->outgoing, works ? AB_ERR_OK : AB_ERR_TIMEOUT, w->ms);
    ab_event_unref(s->event);
    free(s);
}

static void link_step(world *w, struct world_link *link, enum link_step step)
{
    switch (step) {
    case LINK_READY:
        become_ready(w, link);
        return;
    case LINK_DELIVER:
        deliver(w, link);
        return;
    case LINK_SEND:
        begin_send(w, link);
        return;
    case LINK_SENT:
        end_send(w, link);
        return;
    case LINK_STEPS:
        return;
    }
}

/* --- steps --- */

static size_t link_choices(const world *w, const struct world_link *link)
{
    size_t count = 0;
    for (int i = 0; i < LINK_STEPS; i++)
        count += link_can(w, link, (enum link_step)i);
    return count;
}

size_t world_choices(const world *w)
{
    return fake_store_choices(w->hub) + fake_store_choices(w->local) + (w->cache.keeping != NULL) +
           (w->hub_cache.keeping != NULL) + world_hub_can_resume(w) +
           link_choices(w, &w->principal_link) + link_choices(w, &w->agent_link);
}

static bool take_link_step(world *w, struct world_link *link, size_t *i)
{
    for (int step = 0; step < LINK_STEPS; step++) {
        if (!link_can(w, link, (enum link_step)step))
            continue;
        if (*i == 0) {
            link_step(w, link, (enum link_step)step);
            return true;
        }
        --*i;
    }
    return false;
}

static void take_step(world *w, size_t i)
{
    bool skip = chance(w, 4) == 1;
    fake_store *stores[] = {w->hub, w->local};
    w->steps++;
    for (size_t k = 0; k < 2; k++) {
        size_t choices = fake_store_choices(stores[k]);
        if (i < choices) {
            fake_store_step(stores[k], i, skip);
            return;
        }
        i -= choices;
    }
    if (w->cache.keeping != NULL && i-- == 0) {
        step_cache(w, &w->cache);
        return;
    }
    if (w->hub_cache.keeping != NULL && i-- == 0) {
        step_cache(w, &w->hub_cache);
        return;
    }
    if (world_hub_can_resume(w) && i-- == 0) {
        world_resume_hub(w);
        return;
    }
    if (!take_link_step(w, &w->principal_link, &i) && !take_link_step(w, &w->agent_link, &i))
        fail_msg("no such step");
}

/* One that ends by itself is started again. */
static void restart_session(world *w)
{
    if (!w->principal_ends)
        return;
    world_crash_principal(w);
    world_start_principal(w);
    w->principal_restarts++;
}

void world_step(world *w, size_t i)
{
    take_step(w, i);
    restart_session(w);
}

void world_tick(world *w, int64_t ms)
{
    w->ms += ms;
    if (w->principal != NULL)
        ab_principal_tick(w->principal);
    if (w->agent == NULL)
        return;
    ab_agent_tick(w->agent);
    w->replaying = ab_agent_is_replaying(w->agent);
}

void world_settle(world *w)
{
    for (int i = 0; world_choices(w) > 0; i++) {
        assert_true(i < SETTLE_STEPS_MAX); /* it comes to rest */
        world_step(w, 0);
    }
}

void world_run(world *w, int64_t seconds)
{
    world_settle(w);
    for (int64_t i = 0; i < seconds; i++) {
        world_tick(w, 1000);
        world_settle(w);
    }
}

double world_count(ab_metrics *m, const char *name)
{
    return ab_metric_value(ab_metric_get(m, AB_METRIC_COUNTER, name, "", NULL, 0));
}
