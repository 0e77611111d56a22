/* SPDX-License-Identifier: Apache-2.0
 *
 * The hub's store of a fleet's principal, which takes the place of the directory store in
 * argobus-bench-principal: all else of that program is what argobus-principal
 * is made of. Objects stay in a file (hub_file.h) as they stay in an API server's etcd: here is
 * only where each one is. Like a list of an API server, the first reading comes in portions.
 */
#include "base/core/map.h"
#include "store/directory/directory.h"
#include "store/op.h"
#include "tests/bench/base/payload.h"
#include "tests/bench/fleet/hub_file.h"
#include "tests/bench/fleet/server_side.h"
#include "tests/bench/transport/member.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PORTION  32 /* objects or operations for one turn of the loop */
#define TEXT_MAX (1024u * 1024)

typedef struct {
    ab_store base;
    int file;
    int changes;
    ab_map *slots; /* key -> slot + 1 */
    size_t count;  /* of slots */
    size_t listed; /* slots that were read */
    bool synced;
    uint64_t version; /* the last one given */
    ab_store_line line;
    uv_idle_t idle; /* active: there is something to list or to do */
    uv_poll_t poll;
    unsigned handles;
    void (*stopped)(void *arg);
    void *stopped_arg;
} hub;

static void tell(hub *h, ab_store_change change, ab_object *object)
{
    h->base.env.events.on_change(h->base.env.events.arg, change, object);
}

/* --- slots --- */

static size_t slot_of(const hub *h, ab_str key)
{
    return (size_t)(uintptr_t)ab_map_find(h->slots, key); /* 0: none */
}

static size_t add_slot(hub *h, ab_str key, size_t slot)
{
    ab_bench_must(ab_map_put(h->slots, key, (void *)(uintptr_t)(slot + 1), NULL), "the hub", NULL);
    return slot + 1;
}

/* @return NULL when it is gone; else one reference */
static ab_object *read_slot(const hub *h, size_t slot)
{
    ab_buf text;
    ab_object *object = NULL;
    ab_error err = {0};
    ab_buf_init(&text, TEXT_MAX);
    if (!ab_bench_hub_file_get(h->file, slot, &text))
        ab_bench_die("the hub", "cannot read a slot");
    if (text.len > 0)
        ab_bench_must(ab_object_parse(ab_buf_str(&text), &object, &err), "a slot", &err);
    ab_buf_fini(&text);
    return object;
}

static ab_object *read_object(const hub *h, ab_str key)
{
    size_t slot = slot_of(h, key);
    return slot == 0 ? NULL : read_slot(h, slot - 1);
}

static void write_object(hub *h, ab_str key, const ab_object *object)
{
    size_t slot = slot_of(h, key);
    if (slot == 0)
        slot = add_slot(h, key, h->count++);
    ab_str text = object == NULL ? (ab_str){"", 0} : ab_span_raw(ab_object_json(object));
    if (!ab_bench_hub_file_put(h->file, slot - 1, text))
        ab_bench_die("the hub", "cannot write a slot");
}

/* --- operations --- */

static ab_err check(const ab_store_op *op, const ab_object *before)
{
    if (op->code != AB_ERR_OK)
        return op->code;
    if (before == NULL)
        return op->verb != AB_VERB_APPLY || op->must_exist || op->want_version != NULL
                   ? AB_ERR_NOTFOUND
                   : AB_ERR_OK;
    if (op->must_not_exist)
        return AB_ERR_EXISTS;
    bool is_wanted =
        (op->want_version == NULL || ab_str_is(ab_object_version(before), op->want_version)) &&
        (op->want_uid == NULL || ab_str_is(ab_object_uid(before), op->want_uid));
    return is_wanted ? AB_ERR_OK : AB_ERR_CONFLICT;
}

static ab_object *apply(hub *h, const ab_store_op *op, const ab_object *before)
{
    char uid[32];
    (void)snprintf(uid, sizeof(uid), "hub-%" PRIu64, h->version + 1);
    ab_bench_server_side set = {.uid = ab_str_of(uid), .version = ++h->version, .generation = 1};
    if (before != NULL) {
        set.uid = ab_object_uid(before);
        set.generation = ab_bench_server_generation(before) + 1;
        set.status = ab_object_field(before, "status");
    }
    return ab_bench_server_compose(ab_object_json(op->object), &set);
}

static ab_object *patch_status(hub *h, const ab_store_op *op, const ab_object *before)
{
    ab_span *status = NULL;
    ab_bench_must(ab_span_parse(ab_str_of(op->status), &status, NULL), "a status", NULL);
    ab_bench_server_side set = {.uid = ab_object_uid(before),
                                .version = ++h->version,
                                .generation = ab_bench_server_generation(before),
                                .status = ab_span_root(status)};
    if (op->status_version != NULL)
        set.stamp = ab_str_of(op->status_version);
    ab_object *after = ab_bench_server_compose(ab_object_json(before), &set);
    ab_span_free(status);
    return after;
}

static void finish(ab_store_op *op, ab_err code, ab_object *after)
{
    if (code != AB_ERR_OK && op->code == AB_ERR_OK)
        (void)ab_store_op_refuse(op, code, ab_err_text(code));
    if (op->done != NULL)
        op->done(op->arg, code, after, &op->err);
    ab_store_op_free(op);
}

static void do_one(hub *h, ab_store_op *op)
{
    ab_str key = ab_str_of(op->key);
    ab_object *before = read_object(h, key);
    ab_object *after = NULL;
    ab_err code = check(op, before);
    if (code == AB_ERR_OK && op->verb == AB_VERB_APPLY)
        after = apply(h, op, before);
    else if (code == AB_ERR_OK && op->verb == AB_VERB_STATUS)
        after = patch_status(h, op, before);
    bool writes = code == AB_ERR_OK && op->verb != AB_VERB_GET;
    if (writes) {
        write_object(h, key, after);
        tell(h, after == NULL ? AB_STORE_DELETED : AB_STORE_UPDATED,
             after == NULL ? before : after);
    }
    finish(op, code, op->verb == AB_VERB_GET ? before : after);
    ab_object_unref(before);
    ab_object_unref(after);
}

/* --- a user's changes --- */

static void change(hub *h, const ab_bench_hub_change *c)
{
    char key[64];
    ab_buf text;
    ab_span *content = NULL;
    (void)snprintf(key, sizeof(key), "Application/w%u/app-%u", c->agent, c->app);
    ab_object *before = read_object(h, ab_str_of(key));
    if (before == NULL)
        ab_bench_die(key, "does not exist");
    ab_buf_init(&text, TEXT_MAX);
    ab_bench_application(&text, c->app, c->revision, AB_BENCH_HUB_BYTES);
    ab_bench_must(ab_span_parse(ab_buf_str(&text), &content, NULL), key, NULL);
    char namespace[16];
    (void)snprintf(namespace, sizeof(namespace), "w%u", c->agent);
    const ab_bench_server_side set = {.namespace = namespace,
                                      .uid = ab_object_uid(before),
                                      .version = ++h->version,
                                      .generation = ab_bench_server_generation(before) + 1,
                                      .stamp =
                                          ab_object_annotation(before, AB_STORE_STATUS_VERSION),
                                      .status = ab_object_field(before, "status")};
    ab_object *after = ab_bench_server_compose(ab_span_root(content), &set);
    write_object(h, ab_str_of(key), after);
    tell(h, AB_STORE_UPDATED, after);
    ab_object_unref(after);
    ab_object_unref(before);
    ab_span_free(content);
    ab_buf_fini(&text);
}

static void on_changes(uv_poll_t *poll, int status, int events)
{
    hub *h = poll->data;
    ab_bench_hub_change c[PORTION];
    (void)status;
    (void)events;
    ssize_t n = read(h->changes, c, sizeof(c));
    for (size_t i = 0; n > 0 && i < (size_t)n / sizeof(c[0]); i++)
        change(h, &c[i]);
}

/* --- turns --- */

static void list_one(hub *h, size_t slot)
{
    uint64_t version = 0;
    ab_object *object = read_slot(h, slot);
    if (object == NULL)
        return;
    (void)add_slot(h, ab_str_of(ab_object_key(object)), slot);
    if (ab_str_to_u64(ab_object_version(object), &version) == AB_ERR_OK && version > h->version)
        h->version = version;
    tell(h, AB_STORE_UPDATED, object);
    ab_object_unref(object);
}

/* What is asked for meanwhile waits: an object that was not listed yet has no slot. */
static void list_portion(hub *h)
{
    for (size_t i = 0; i < PORTION && h->listed < h->count; i++)
        list_one(h, h->listed++);
    if (h->listed < h->count)
        return;
    h->synced = true;
    tell(h, AB_STORE_LIST_DONE, NULL);
    tell(h, AB_STORE_SYNCED, NULL);
    (void)uv_poll_start(&h->poll, UV_READABLE, on_changes);
}

/* Once a turn. A timer that starts itself again without a delay would do everything in one turn. */
static void on_idle(uv_idle_t *idle)
{
    hub *h = idle->data;
    if (!h->synced)
        list_portion(h);
    for (size_t i = 0; i < PORTION && h->synced && h->line.first != NULL; i++)
        do_one(h, ab_store_line_pop(&h->line));
    if (h->synced && h->line.first == NULL)
        (void)uv_idle_stop(idle);
}

static void submit(ab_store *self, ab_store_op *op)
{
    hub *h = (hub *)self;
    ab_store_line_append(&h->line, op);
    (void)uv_idle_start(&h->idle, on_idle);
}

/* --- beginning and end --- */

static ab_err init(ab_store *self, const ab_store_env *env, ab_error *err)
{
    hub *h = (hub *)self;
    h->slots = ab_map_new();
    if (h->slots == NULL ||
        !ab_bench_hub_file_open(ab_config_str(env->config, "store.directory.path"), &h->file,
                                &h->changes))
        return ab_fail(err, AB_ERR_IO, "cannot open the hub's objects");
    h->count = ab_bench_hub_file_count(h->file);
    return AB_ERR_OK;
}

static ab_err start(ab_store *self, ab_error *err)
{
    hub *h = (hub *)self;
    (void)err;
    (void)uv_idle_init(h->base.env.loop, &h->idle);
    (void)uv_poll_init(h->base.env.loop, &h->poll, h->changes);
    h->idle.data = h->poll.data = h;
    h->handles = 2;
    (void)uv_idle_start(&h->idle, on_idle);
    return AB_ERR_OK;
}

static void on_closed(uv_handle_t *handle)
{
    hub *h = handle->data;
    if (--h->handles == 0)
        h->stopped(h->stopped_arg);
}

static void stop(ab_store *self, void (*stopped)(void *arg), void *arg)
{
    hub *h = (hub *)self;
    h->stopped = stopped;
    h->stopped_arg = arg;
    while (h->line.first != NULL)
        finish(ab_store_line_pop(&h->line), AB_ERR_CLOSED, NULL);
    uv_close((uv_handle_t *)&h->idle, on_closed);
    uv_close((uv_handle_t *)&h->poll, on_closed);
}

static void fini(ab_store *self)
{
    hub *h = (hub *)self;
    ab_map_free(h->slots, NULL);
    (void)close(h->file);
    (void)close(h->changes);
}

const ab_store_ops ab_directory_store = {
    .name = "directory",
    .size = sizeof(hub),
    .op_size = sizeof(ab_store_op),
    .init = init,
    .start = start,
    .submit = submit,
    .stop = stop,
    .fini = fini,
};
