/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conformance/store/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void set_namespace(world *w)
{
    static const char *const kinds[] = {"Application", "AppProject", "Secret"};
    const char *only = w->kind->namespace == NULL ? NULL : w->kind->namespace(w->place);
    w->namespace = only == NULL ? "argocd" : only;
    (void)snprintf(w->key, sizeof(w->key), "Application/%s/guestbook", w->namespace);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        w->watches[i] = (ab_store_watch){.kind = kinds[i], .namespace = only};
}

static void on_change(void *arg, ab_store_change change, ab_object *object)
{
    world *w = arg;
    assert_false(w->stopped);
    if (w->count == w->room) {
        w->room = w->room == 0 ? 64 : w->room * 2;
        w->changes = realloc(w->changes, w->room * sizeof(*w->changes));
        assert_non_null(w->changes);
    }
    w->changes[w->count++] = (world_change){change, object == NULL ? NULL : ab_object_ref(object)};
}

static void on_fault(void *arg, const char *where, const ab_error *err)
{
    world *w = arg;
    assert_false(w->stopped);
    if (w->fault_count == sizeof(w->faults) / sizeof(w->faults[0]))
        return;
    world_fault *f = &w->faults[w->fault_count++];
    (void)snprintf(f->where, sizeof(f->where), "%s", where);
    f->err = *err;
}

world *world_new_place(const store_place *kind)
{
    world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    w->kind = kind;
    w->clock = &ab_clock_real;
    w->place = kind->make();
    assert_non_null(w->place);
    set_namespace(w);
    assert_int_equal(uv_loop_init(&w->loop), 0);
    w->metrics = ab_metrics_new();
    assert_non_null(w->metrics);
    const char *set[8];
    size_t count = 0;
    for (const char *s = kind->setting(w->place, 0); s != NULL; s = kind->setting(w->place, count))
        set[count++] = s;
    ab_config_sources sources = {.set = set, .set_count = count};
    ab_error err = {0};
    if (ab_config_load(&ab_store_options, 1, &sources, &w->config, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
    return w;
}

void world_start(world *w)
{
    ab_store_env env = {.loop = &w->loop,
                        .config = w->config,
                        .metrics = w->metrics,
                        .clock = w->clock,
                        .watches = w->watches,
                        .events = {on_change, on_fault, w}};
    ab_error err = {0};
    w->stopped = false;
    if (ab_store_new(&env, &w->store, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
    if (ab_store_start(w->store, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
}

world *world_new(const store_place *kind)
{
    world *w = world_new_place(kind);
    world_start(w);
    world_wait_synced(w);
    return w;
}

static void on_stopped(void *arg)
{
    world *w = arg;
    w->stopped = true;
}

static bool is_stopped(world *w, void *arg)
{
    (void)arg;
    return w->stopped;
}

void world_stop_begin(world *w)
{
    ab_store_stop(w->store, on_stopped, w);
}

void world_stop_end(world *w)
{
    world_wait(w, is_stopped, NULL);
    ab_store_free(w->store);
    w->store = NULL;
}

void world_stop(world *w)
{
    world_stop_begin(w);
    world_stop_end(w);
}

void world_forget(world *w)
{
    for (size_t i = 0; i < w->count; i++)
        ab_object_unref(w->changes[i].object);
    w->count = 0;
    w->fault_count = 0;
}

void world_free(world *w)
{
    if (w->store != NULL)
        world_stop(w);
    world_forget(w);
    free(w->changes);
    ab_config_free(w->config);
    ab_metrics_free(w->metrics);
    assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    w->kind->destroy(w->place);
    free(w);
}

/* What a timer reports does not wake the loop, so that it is looked at now and then. */
#define LOOK_MS 20

typedef struct {
    uint64_t until_ms;
    bool late;
    bool closed;
} patience;

static void on_look(uv_timer_t *timer)
{
    patience *p = timer->data;
    p->late = uv_now(timer->loop) >= p->until_ms;
}

static void on_timer_closed(uv_handle_t *handle)
{
    patience *p = handle->data;
    p->closed = true;
}

void world_wait(world *w, bool (*until)(world *w, void *arg), void *arg)
{
    uv_timer_t timer;
    assert_int_equal(uv_timer_init(&w->loop, &timer), 0);
    patience p = {.until_ms = uv_now(&w->loop) + WORLD_WAIT_MS};
    timer.data = &p;
    assert_int_equal(uv_timer_start(&timer, on_look, LOOK_MS, LOOK_MS), 0);
    while (!until(w, arg) && !p.late)
        (void)uv_run(&w->loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&timer, on_timer_closed);
    while (!p.closed)
        (void)uv_run(&w->loop, UV_RUN_NOWAIT);
    if (p.late)
        fail_msg("waited %d ms; %zu changes, %zu faults, last: %s", WORLD_WAIT_MS, w->count,
                 w->fault_count, w->fault_count > 0 ? w->faults[w->fault_count - 1].err.text : "");
}

typedef struct {
    ab_store_change change;
    const char *key;
    size_t count;
} wanted;

static bool has_changes(world *w, void *arg)
{
    const wanted *want = arg;
    return count_changes(w, want->change, want->key) >= want->count;
}

void wait_changes(world *w, ab_store_change change, const char *key, size_t count)
{
    wanted want = {change, key, count};
    world_wait(w, has_changes, &want);
}

void world_wait_synced(world *w)
{
    wait_changes(w, AB_STORE_SYNCED, NULL, 1);
}

static bool has_fault(world *w, void *arg)
{
    const char *const *parts = arg;
    for (size_t i = 0; i < w->fault_count; i++)
        if (strstr(w->faults[i].where, parts[0]) != NULL &&
            strstr(w->faults[i].err.text, parts[1]) != NULL)
            return true;
    return false;
}

void world_wait_fault(world *w, const char *where_part, const char *text_part)
{
    const char *parts[] = {where_part, text_part};
    world_wait(w, has_fault, parts);
}

void result_done(void *arg, ab_err code, ab_object *object, const ab_error *err)
{
    result *r = arg;
    assert_false(r->ended);
    r->ended = true;
    r->code = code;
    r->object = object == NULL ? NULL : ab_object_ref(object);
    if (err != NULL)
        r->err = *err;
}

bool result_ended(world *w, void *arg)
{
    (void)w;
    return ((result *)arg)->ended;
}

static void finish(world *w, result *r)
{
    assert_false(r->ended);
    world_wait(w, result_ended, r);
}

result do_apply(world *w, const char *json, const ab_store_condition *condition)
{
    result r = {0};
    ab_object *object = NULL;
    ab_error err = {0};
    if (ab_object_parse(ab_str_of(json), &object, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
    ab_store_apply(w->store, object, condition, result_done, &r);
    ab_object_unref(object);
    finish(w, &r);
    return r;
}

result do_patch(world *w, const char *key, const char *status, const char *version,
                const ab_store_condition *condition)
{
    result r = {0};
    ab_store_patch_status(w->store, ab_str_of(key), ab_str_of(status), ab_str_of(version),
                          condition, result_done, &r);
    finish(w, &r);
    return r;
}

result do_remove(world *w, const char *key, const ab_store_condition *condition)
{
    result r = {0};
    ab_store_remove(w->store, ab_str_of(key), condition, AB_PROPAGATE_BACKGROUND, result_done, &r);
    finish(w, &r);
    return r;
}

result do_get(world *w, const char *key)
{
    result r = {0};
    ab_store_get(w->store, ab_str_of(key), result_done, &r);
    finish(w, &r);
    return r;
}

void result_fini(result *r)
{
    ab_object_unref(r->object);
    *r = (result){0};
}

size_t count_changes(const world *w, ab_store_change change, const char *key)
{
    size_t count = 0;
    for (size_t i = 0; i < w->count; i++) {
        const world_change *c = &w->changes[i];
        bool about =
            key == NULL || (c->object != NULL && strcmp(ab_object_key(c->object), key) == 0);
        if (c->change == change && about)
            count++;
    }
    return count;
}

ab_object *last_seen(const world *w, const char *key)
{
    for (size_t i = w->count; i > 0; i--) {
        const world_change *c = &w->changes[i - 1];
        if (c->change == AB_STORE_UPDATED && strcmp(ab_object_key(c->object), key) == 0)
            return c->object;
    }
    return NULL;
}

double faults_counted(const world *w, const char *reason)
{
    ab_label label = {"reason", ab_str_of(reason)};
    return ab_metric_value(ab_metric_get(w->metrics, AB_METRIC_COUNTER,
                                         "argobus_store_faults_total",
                                         "Lists, watches, objects and files of the store that "
                                         "could not be read.",
                                         &label, 1));
}
