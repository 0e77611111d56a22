/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sync/world/fake_store.h"

#include "base/core/map.h"
#include "schema/attributes.h"
#include "sync/object/application.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define DELETED_AT "2026-01-01T00:00:00Z"

enum verb { GET, APPLY, PATCH_STATUS, REMOVE };

struct job {
    struct job *next;
    enum verb verb;
    char *key;
    ab_object *object; /* APPLY */
    char *status;      /* PATCH_STATUS */
    char *stamp;
    char *version;
    char *uid;
    fake_done done;
    void *arg;
    bool executed;
    ab_err code;
    ab_object *result;
};

struct change {
    struct change *next;
    fake_change what;
    bool initial;
    ab_object *object;
};

struct fake_store {
    ab_map *objects; /* key -> ab_object, NULL never */
    uint64_t last_version;
    uint64_t last_uid;
    uint64_t changes_made;
    uint64_t reads;
    const char *time;
    bool open;
    fake_events events;
    struct job *jobs;
    struct change *changes;
};

static char *dup_or_null(ab_str s)
{
    if (s.ptr == NULL)
        return NULL;
    char *copy = ab_str_dup(s);
    assert_true(copy != NULL);
    return copy;
}

static void free_job(struct job *j)
{
    ab_object_unref(j->object);
    ab_object_unref(j->result);
    free(j->key);
    free(j->status);
    free(j->stamp);
    free(j->version);
    free(j->uid);
    free(j);
}

static void free_change(struct change *c)
{
    ab_object_unref(c->object);
    free(c);
}

fake_store *fake_store_new(void)
{
    fake_store *s = calloc(1, sizeof(*s));
    assert_true(s != NULL);
    s->objects = ab_map_new();
    assert_true(s->objects != NULL);
    s->time = DELETED_AT;
    return s;
}

static void unref(void *value)
{
    ab_object_unref(value);
}

void fake_store_free(fake_store *s)
{
    fake_store_close(s);
    ab_map_free(s->objects, unref);
    free(s);
}

void fake_store_number_from(fake_store *s, uint64_t first)
{
    s->last_uid = first - 1;
}

void fake_store_set_time(fake_store *s, const char *time)
{
    s->time = time;
}

void fake_store_close(fake_store *s)
{
    while (s->jobs != NULL) {
        struct job *j = s->jobs;
        s->jobs = j->next;
        free_job(j);
    }
    while (s->changes != NULL) {
        struct change *c = s->changes;
        s->changes = c->next;
        free_change(c);
    }
    s->open = false;
}

/* --- changes --- */

static void announce(fake_store *s, fake_change what, ab_object *object, bool initial)
{
    if (!s->open)
        return;
    struct change *c = calloc(1, sizeof(*c));
    assert_true(c != NULL);
    *c = (struct change){.what = what, .initial = initial};
    if (object != NULL)
        c->object = ab_object_ref(object);
    struct change **end = &s->changes;
    while (*end != NULL)
        end = &(*end)->next;
    *end = c;
}

void fake_store_open(fake_store *s, const fake_events *events)
{
    s->events = *events;
    s->open = true;
    for (ab_map_iter i = ab_map_first(s->objects); i.entry != NULL; ab_map_next(&i))
        announce(s, FAKE_SEEN, i.value, true);
    announce(s, FAKE_SYNCED, NULL, false);
}

/* --- objects --- */

struct server_meta {
    ab_str uid;
    uint64_t version;
    int64_t generation;
    ab_str deleted_at; /* absent: it is not being deleted */
};

static bool is_in(ab_str name, const char *const *list)
{
    for (; *list != NULL; list++)
        if (ab_str_is(name, *list))
            return true;
    return false;
}

static void write_meta(ab_spanw *w, ab_spanv metadata, const struct server_meta *m)
{
    static const char *const set_here[] = {"uid", "resourceVersion", "generation",
                                           "deletionTimestamp", NULL};
    char version[24];
    snprintf(version, sizeof(version), "%" PRIu64, m->version);
    ab_spanw_key(w, AB_STR("metadata"));
    ab_spanw_object(w);
    for (ab_spanv v = ab_span_first(metadata); ab_span_present(v); v = ab_span_next(v))
        if (!is_in(ab_span_plain_key(v), set_here))
            ab_spanw_member(w, v);
    ab_spanw_key_str(w, "uid", m->uid);
    ab_spanw_key_str(w, "resourceVersion", ab_str_of(version));
    ab_spanw_key(w, AB_STR("generation"));
    ab_spanw_int(w, m->generation);
    if (m->deleted_at.ptr != NULL)
        ab_spanw_key_str(w, "deletionTimestamp", m->deleted_at);
    ab_spanw_object_end(w);
}

static ab_object *compose(const ab_object *content, ab_spanv status, const struct server_meta *m)
{
    static const char *const apart[] = {"metadata", "status", NULL};
    ab_buf text;
    ab_object *out = NULL;
    ab_spanv root = ab_object_json(content);
    ab_buf_init(&text, 1 << 20);
    ab_spanw w = ab_spanw_to(&text);
    ab_spanw_object(&w);
    for (ab_spanv v = ab_span_first(root); ab_span_present(v); v = ab_span_next(v))
        if (!is_in(ab_span_plain_key(v), apart))
            ab_spanw_member(&w, v);
    write_meta(&w, ab_span_get(root, "metadata"), m);
    if (ab_span_present(status))
        ab_spanw_member(&w, status);
    ab_spanw_object_end(&w);
    ab_err e = ab_object_parse(ab_buf_str(&text), &out, NULL);
    assert_true(e == AB_ERR_OK);
    ab_buf_fini(&text);
    return out;
}

static int64_t generation_of(const ab_object *o)
{
    int64_t generation = 0;
    ab_err e = ab_span_i64(ab_object_meta(o, "generation"), &generation);
    assert_true(e == AB_ERR_OK);
    return generation;
}

static ab_str deleted_at(const ab_object *o)
{
    return ab_span_plain(ab_object_meta(o, "deletionTimestamp"));
}

static void store(fake_store *s, const char *key, ab_object *after)
{
    void *old = NULL;
    s->changes_made++;
    if (after == NULL) {
        old = ab_map_take(s->objects, ab_str_of(key));
        announce(s, FAKE_GONE, old, false);
    } else {
        ab_err e = ab_map_put(s->objects, ab_str_of(key), after, &old);
        assert_true(e == AB_ERR_OK);
        announce(s, FAKE_SEEN, after, false);
    }
    ab_object_unref(old);
}

/* Write `content` with `status` over what stands there. */
static void write_object(fake_store *s, const ab_object *content, ab_spanv status, bool deleting)
{
    char uid[24];
    const char *key = ab_object_key(content);
    const ab_object *before = fake_store_find(s, key);
    struct server_meta m = {.generation = 1, .version = s->last_version + 1};
    snprintf(uid, sizeof(uid), "uid-%" PRIu64, s->last_uid + 1);
    m.uid = before == NULL ? ab_str_of(uid) : ab_object_uid(before);
    if (deleting)
        m.deleted_at =
            before != NULL && ab_object_deleting(before) ? deleted_at(before) : ab_str_of(s->time);
    if (before == NULL) {
        s->last_uid++;
    } else {
        m.generation = generation_of(before);
        if (!ab_span_same(ab_object_field(before, "spec"), ab_object_field(content, "spec")))
            m.generation++;
        ab_err e = ab_str_to_u64(ab_object_version(before), &m.version);
        assert_true(e == AB_ERR_OK);
        ab_object *same = compose(content, status, &m);
        bool unchanged = ab_span_same(ab_object_json(before), ab_object_json(same));
        ab_object_unref(same);
        if (unchanged)
            return;
        m.version = s->last_version + 1;
    }
    s->last_version++;
    ab_object *after = compose(content, status, &m);
    if (deleting && ab_span_count(ab_object_meta(after, "finalizers")) == 0) {
        ab_object_unref(after);
        after = NULL;
    }
    store(s, key, after);
}

static void erase(fake_store *s, ab_object *o)
{
    if (ab_span_count(ab_object_meta(o, "finalizers")) == 0)
        store(s, ab_object_key(o), NULL);
    else if (!ab_object_deleting(o))
        write_object(s, o, ab_object_field(o, "status"), true);
}

void fake_store_put(fake_store *s, const ab_object *object)
{
    const ab_object *before = fake_store_find(s, ab_object_key(object));
    write_object(s, object, ab_object_field(object, "status"),
                 before != NULL && ab_object_deleting(before));
}

void fake_store_erase(fake_store *s, const char *key)
{
    ab_object *o = fake_store_find(s, key);
    assert_true(o != NULL);
    (void)ab_object_ref(o);
    erase(s, o);
    ab_object_unref(o);
}

static void keep_in(ab_map *objects, ab_str key, ab_object *object)
{
    void *old = NULL;
    assert_int_equal(ab_map_put(objects, key, ab_object_ref(object), &old), AB_ERR_OK);
    unref(old);
}

ab_map *fake_store_back_up(const fake_store *s)
{
    ab_map *backup = ab_map_new();
    assert_true(backup != NULL);
    for (ab_map_iter i = ab_map_first(s->objects); i.entry != NULL; ab_map_next(&i))
        keep_in(backup, i.key, i.value);
    return backup;
}

void fake_backup_free(ab_map *backup)
{
    ab_map_free(backup, unref);
}

void fake_store_reword(fake_store *s, const ab_object *object)
{
    ab_object *before = fake_store_find(s, ab_object_key(object));
    assert_true(before != NULL);
    struct server_meta m = {.uid = ab_object_uid(before),
                            .generation = generation_of(before),
                            .deleted_at = deleted_at(before)};
    assert_int_equal(ab_str_to_u64(ab_object_version(before), &m.version), AB_ERR_OK);
    ab_object *same = compose(object, ab_object_field(before, "status"), &m);
    assert_true(ab_span_same(ab_object_json(before), ab_object_json(same)));
    assert_false(ab_str_eq(ab_span_raw(ab_object_json(before)), ab_span_raw(ab_object_json(same))));
    ab_str key = ab_str_of(ab_object_key(same));
    void *old = NULL;
    assert_int_equal(ab_map_put(s->objects, key, same, &old), AB_ERR_OK);
    ab_object_unref(old);
}

void fake_store_gap(fake_store *s)
{
    for (struct change *c = s->changes; c != NULL; c = c->next)
        if (c->what == FAKE_GONE)
            c->what = FAKE_ABSENT;
}

void fake_store_lose(fake_store *s, const char *key)
{
    ab_object *lost = ab_map_take(s->objects, ab_str_of(key));
    s->changes_made++;
    announce(s, FAKE_ABSENT, lost, false);
    ab_object_unref(lost);
}

void fake_store_restore(fake_store *s, const ab_map *backup)
{
    s->changes_made++;
    for (ab_map_iter i = ab_map_first(s->objects); i.entry != NULL; ab_map_next(&i)) {
        if (ab_map_find(backup, i.key) != NULL)
            continue;
        ab_object *gone = ab_map_take(s->objects, i.key);
        announce(s, FAKE_ABSENT, gone, false);
        ab_object_unref(gone);
    }
    for (ab_map_iter i = ab_map_first(backup); i.entry != NULL; ab_map_next(&i)) {
        if (ab_map_find(s->objects, i.key) == i.value)
            continue;
        keep_in(s->objects, i.key, i.value);
        announce(s, FAKE_SEEN, i.value, false);
    }
}

ab_object *fake_store_find(const fake_store *s, const char *key)
{
    return ab_map_find(s->objects, ab_str_of(key));
}

ab_object *fake_store_at(const fake_store *s, size_t i)
{
    ab_map_iter it = ab_map_first(s->objects);
    while (it.entry != NULL && i-- > 0)
        ab_map_next(&it);
    return it.entry == NULL ? NULL : it.value;
}

uint64_t fake_store_changes(const fake_store *s)
{
    return s->changes_made;
}

uint64_t fake_store_reads(const fake_store *s)
{
    return s->reads;
}

/* --- jobs --- */

static struct job *add_job(fake_store *s, enum verb verb, ab_str key, fake_done done, void *arg)
{
    struct job *j = calloc(1, sizeof(*j));
    assert_true(j != NULL && s->open);
    *j = (struct job){.verb = verb, .key = dup_or_null(key), .done = done, .arg = arg};
    struct job **end = &s->jobs;
    while (*end != NULL)
        end = &(*end)->next;
    *end = j;
    return j;
}

void fake_store_get(fake_store *s, ab_str key, fake_done done, void *arg)
{
    s->reads++;
    (void)add_job(s, GET, key, done, arg);
}

void fake_store_apply(fake_store *s, const ab_object *object, ab_str version, fake_done done,
                      void *arg)
{
    struct job *j = add_job(s, APPLY, ab_str_of(ab_object_key(object)), done, arg);
    ab_err e = ab_object_parse(ab_span_raw(ab_object_json(object)), &j->object, NULL);
    assert_true(e == AB_ERR_OK);
    j->version = dup_or_null(version);
}

void fake_store_patch_status(fake_store *s, ab_str key, ab_str status, ab_str stamp, ab_str uid,
                             ab_str version, fake_done done, void *arg)
{
    struct job *j = add_job(s, PATCH_STATUS, key, done, arg);
    j->status = dup_or_null(status);
    j->stamp = dup_or_null(stamp);
    j->uid = dup_or_null(uid);
    j->version = dup_or_null(version);
}

void fake_store_remove(fake_store *s, ab_str key, ab_str uid, ab_str version, fake_done done,
                       void *arg)
{
    struct job *j = add_job(s, REMOVE, key, done, arg);
    j->uid = dup_or_null(uid);
    j->version = dup_or_null(version);
}

static ab_err do_apply(fake_store *s, const struct job *j, const ab_object *before)
{
    if (j->version == NULL) {
        if (before != NULL)
            return AB_ERR_EXISTS;
        write_object(s, j->object, (ab_spanv){0}, false);
        return AB_ERR_OK;
    }
    if (before == NULL)
        return AB_ERR_NOTFOUND;
    if (!ab_str_is(ab_object_version(before), j->version))
        return AB_ERR_CONFLICT;
    write_object(s, j->object, ab_object_field(before, "status"), ab_object_deleting(before));
    return AB_ERR_OK;
}

static ab_err do_patch_status(fake_store *s, const struct job *j, const ab_object *before)
{
    if (before == NULL)
        return AB_ERR_NOTFOUND;
    if (j->version != NULL && !ab_str_is(ab_object_version(before), j->version))
        return AB_ERR_CONFLICT;
    if (j->uid != NULL && !ab_str_is(ab_object_uid(before), j->uid))
        return AB_ERR_CONFLICT;
    ab_buf text;
    ab_object *content = NULL;
    ab_span *status = NULL;
    const ab_app_edit edit = {
        .annotations = {{AB_ANN_STATUS_VERSION, ab_str_of(j->stamp)}},
        .annotation_count = j->stamp == NULL ? 0 : 1,
    };
    ab_buf_init(&text, 1 << 20);
    ab_err e = ab_app_edited(before, &edit, &text);
    assert_true(e == AB_ERR_OK);
    e = ab_object_parse(ab_buf_str(&text), &content, NULL);
    assert_true(e == AB_ERR_OK);
    ab_buf_clear(&text);
    ab_buf_printf(&text, "{\"status\":%s}", j->status);
    e = ab_span_parse(ab_buf_str(&text), &status, NULL);
    assert_true(e == AB_ERR_OK);
    write_object(s, content, ab_span_get(ab_span_root(status), "status"),
                 ab_object_deleting(before));
    ab_span_free(status);
    ab_object_unref(content);
    ab_buf_fini(&text);
    return AB_ERR_OK;
}

static ab_err do_remove(fake_store *s, const struct job *j, ab_object *before)
{
    if (before == NULL)
        return AB_ERR_NOTFOUND;
    if (j->version != NULL && !ab_str_is(ab_object_version(before), j->version))
        return AB_ERR_CONFLICT;
    if (j->uid != NULL && !ab_str_is(ab_object_uid(before), j->uid))
        return AB_ERR_CONFLICT;
    erase(s, before);
    return AB_ERR_OK;
}

static ab_err take_effect(fake_store *s, struct job *j, ab_object *before)
{
    switch (j->verb) {
    case GET:
        return before == NULL ? AB_ERR_NOTFOUND : AB_ERR_OK;
    case APPLY:
        return do_apply(s, j, before);
    case PATCH_STATUS:
        return do_patch_status(s, j, before);
    case REMOVE:
        return do_remove(s, j, before);
    }
    return AB_ERR_FATAL;
}

static void execute(fake_store *s, struct job *j)
{
    ab_err fault = AB_ERR_OK;
    fake_fate fate = FAKE_WORKS;
    if (s->events.fate != NULL)
        fate = s->events.fate(s->events.arg, j->verb != GET, &fault);
    j->executed = true;
    j->code = fault;
    if (fate == FAKE_FAILS)
        return;
    ab_object *before = fake_store_find(s, j->key);
    if (before != NULL)
        (void)ab_object_ref(before);
    uint64_t changes = s->changes_made;
    ab_err e = take_effect(s, j, before);
    ab_object *after = fake_store_find(s, j->key);
    if (changes != s->changes_made && s->events.on_write != NULL)
        s->events.on_write(s->events.arg, before, after);
    if (fate == FAKE_WORKS) {
        j->code = e;
        if (e == AB_ERR_OK && after != NULL)
            j->result = ab_object_ref(after);
    }
    ab_object_unref(before);
}

static void answer(fake_store *s, struct job *j)
{
    struct job **at = &s->jobs;
    while (*at != j)
        at = &(*at)->next;
    *at = j->next;
    j->done(j->arg, j->code, j->result, NULL);
    free_job(j);
}

/* --- choices --- */

static bool job_can_go(const fake_store *s, const struct job *j)
{
    if (j->executed)
        return true;
    for (const struct job *k = s->jobs; k != j; k = k->next)
        if (!k->executed && ab_str_is(ab_str_of(k->key), j->key))
            return false;
    return true;
}

/* SYNCED comes behind all that was there, or what is seen in its place; the rest in order. */
static bool change_can_go(const fake_store *s, const struct change *c)
{
    bool synced = c->object == NULL;
    for (const struct change *k = s->changes; k != NULL && (synced || k != c); k = k->next) {
        if (synced ? k->initial
                   : k->object != NULL &&
                         ab_str_is(ab_str_of(ab_object_key(k->object)), ab_object_key(c->object)))
            return false;
    }
    return true;
}

bool fake_store_has_changes(const fake_store *s)
{
    return s->changes != NULL;
}

bool fake_store_has_listed(const fake_store *s)
{
    for (const struct change *c = s->changes; c != NULL; c = c->next)
        if (c->object == NULL)
            return false;
    return s->open;
}

size_t fake_store_choices(const fake_store *s)
{
    size_t count = 0;
    for (const struct job *j = s->jobs; j != NULL; j = j->next)
        count += job_can_go(s, j);
    for (const struct change *c = s->changes; c != NULL; c = c->next)
        count += change_can_go(s, c);
    return count;
}

/* The newer state of the object that may be seen in place of this one; NULL: none waits. */
static struct change *newer(const struct change *c)
{
    for (struct change *k = c->next; k != NULL && c->what == FAKE_SEEN; k = k->next)
        if (k->object != NULL &&
            ab_str_is(ab_str_of(ab_object_key(k->object)), ab_object_key(c->object)))
            return k->what == FAKE_SEEN ? k : NULL;
    return NULL;
}

static void deliver(fake_store *s, struct change *c, bool skip)
{
    struct change **at = &s->changes;
    struct change *instead = skip ? newer(c) : NULL;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    if (instead == NULL)
        s->events.on_change(s->events.arg, c->what, c->object);
    else
        instead->initial =
            instead->initial || c->initial; /* all that exists is seen before SYNCED */
    free_change(c);
}

void fake_store_step(fake_store *s, size_t i, bool skip)
{
    for (struct job *j = s->jobs; j != NULL; j = j->next) {
        if (!job_can_go(s, j) || i-- > 0)
            continue;
        if (j->executed)
            answer(s, j);
        else
            execute(s, j);
        return;
    }
    for (struct change *c = s->changes; c != NULL; c = c->next) {
        if (!change_can_go(s, c) || i-- > 0)
            continue;
        deliver(s, c, skip);
        return;
    }
    fail_msg("no such choice");
}

void fake_store_settle(fake_store *s)
{
    while (fake_store_choices(s) > 0)
        fake_store_step(s, 0, false);
}

void fake_store_settle_jobs(fake_store *s)
{
    while (s->jobs != NULL) /* of the choices they come first */
        fake_store_step(s, 0, false);
}
