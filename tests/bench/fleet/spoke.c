/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/fleet/spoke.h"

#include "tests/bench/base/payload.h"
#include "tests/bench/fleet/server_side.h"
#include "tests/bench/transport/member.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOW_MS 200 /* what each effect takes at a slow agent */

typedef enum { GET, APPLY, PATCH_STATUS, REMOVE, SAVE, LOAD } job_kind;

typedef struct {
    ab_received_state received; /* borrows from `texts` */
    char *texts[5];
} row;

struct ab_bench_spoke_job {
    ab_bench_spoke_job *next;
    job_kind verb;
    char *key;
    ab_object *object; /* APPLY */
    char *status;      /* PATCH_STATUS */
    char *version;     /* NULL: APPLY: it must not exist; else any */
    row *row;          /* SAVE */
    ab_asker *asker;
};

static void *must_have(void *made)
{
    if (made == NULL)
        ab_bench_die("a spoke", "out of memory");
    return made;
}

static char *copy(ab_str text)
{
    return text.ptr == NULL ? NULL : must_have(ab_str_dup(text));
}

/* --- rows of the state database --- */

static ab_str keep(row *r, size_t i, ab_str text)
{
    r->texts[i] = copy(text);
    return (ab_str){r->texts[i], text.len};
}

static row *row_new(const ab_received_state *received)
{
    row *r = must_have(calloc(1, sizeof(*r)));
    r->received = *received;
    r->received.uid = keep(r, 0, received->uid);
    r->received.owner = keep(r, 1, received->owner);
    r->received.owned = keep(r, 2, received->owned);
    r->received.desired = keep(r, 3, received->desired);
    r->received.source = keep(r, 4, received->source);
    return r;
}

static void row_free(row *r)
{
    for (size_t i = 0; r != NULL && i < sizeof(r->texts) / sizeof(r->texts[0]); i++)
        free(r->texts[i]);
    free(r);
}

/* --- objects --- */

/* What Argo CD says of this spec. The caller's. */
static ab_span *status_of(int64_t generation)
{
    char text[160];
    ab_span *status = NULL;
    (void)snprintf(text, sizeof(text),
                   "{\"health\":{\"status\":\"Healthy\"},\"sync\":{\"revision\":\"%040" PRIx64
                   "\",\"status\":\"Synced\"}}",
                   (uint64_t)generation);
    ab_bench_must(ab_span_parse(ab_str_of(text), &status, NULL), "a status", NULL);
    return status;
}

/* It is in effect: an Application that was not there is counted, a revision timed. */
static void note(ab_bench_spoke *s, const ab_object *after, bool is_new)
{
    if (!ab_str_is(ab_object_kind(after), "Application"))
        return;
    if (is_new)
        (void)__atomic_add_fetch(&s->track->created, 1, __ATOMIC_SEQ_CST);
    unsigned revision = ab_bench_revision(ab_span_raw(ab_object_json(after)));
    if (revision < AB_BENCH_TIMED_MAX && s->track->arrived_ns[revision] == 0)
        __atomic_store_n(&s->track->arrived_ns[revision], ab_bench_now_ns(), __ATOMIC_SEQ_CST);
}

/* Takes `after`. */
static void put(ab_bench_spoke *s, ab_object *after)
{
    void *before = NULL;
    ab_bench_must(ab_map_put(s->objects, ab_str_of(ab_object_key(after)), after, &before),
                  "a spoke", NULL);
    note(s, after, before == NULL);
    ab_object_unref(before);
}

/* --- effects --- */

static ab_err apply(ab_bench_spoke *s, const ab_bench_spoke_job *j, const ab_object *before)
{
    char uid[48];
    (void)snprintf(uid, sizeof(uid), "uid-%d-%" PRIu64, s->number, s->version + 1);
    ab_bench_server_side set = {.uid = ab_str_of(uid), .generation = 1};
    if (before == NULL && j->version != NULL)
        return AB_ERR_NOTFOUND;
    if (before != NULL && j->version == NULL)
        return AB_ERR_EXISTS;
    if (before != NULL && !ab_str_is(ab_object_version(before), j->version))
        return AB_ERR_CONFLICT;
    if (before != NULL) {
        bool same =
            ab_span_same(ab_object_field(before, "spec"), ab_object_field(j->object, "spec"));
        set.uid = ab_object_uid(before);
        set.generation = ab_bench_server_generation(before) + (same ? 0 : 1);
    }
    ab_span *status = NULL;
    if (ab_str_is(ab_object_kind(j->object), "Application"))
        status = status_of(set.generation);
    set.status = ab_span_root(status);
    set.version = ++s->version;
    put(s, ab_bench_server_compose(ab_object_json(j->object), &set));
    ab_span_free(status);
    return AB_ERR_OK;
}

static ab_err patch_status(ab_bench_spoke *s, const ab_bench_spoke_job *j, const ab_object *before)
{
    ab_span *status = NULL;
    if (before == NULL)
        return AB_ERR_NOTFOUND;
    if (j->version != NULL && !ab_str_is(ab_object_version(before), j->version))
        return AB_ERR_CONFLICT;
    ab_err e = ab_span_parse(ab_str_of(j->status), &status, NULL);
    if (e != AB_ERR_OK)
        return e;
    const ab_bench_server_side set = {.uid = ab_object_uid(before),
                                      .version = ++s->version,
                                      .generation = ab_bench_server_generation(before),
                                      .status = ab_span_root(status)};
    put(s, ab_bench_server_compose(ab_object_json(before), &set));
    ab_span_free(status);
    return AB_ERR_OK;
}

static void answer_row(ab_bench_spoke *s, ab_bench_spoke_job *j)
{
    void *old = NULL;
    if (j->verb == SAVE)
        ab_bench_must(ab_map_put(s->rows, ab_str_of(j->key), j->row, &old), "a spoke", NULL);
    row_free(old);
    const row *r = ab_map_find(s->rows, ab_str_of(j->key));
    ab_effects_row_done(j->asker, r == NULL ? AB_ERR_NOTFOUND : AB_ERR_OK,
                        r == NULL ? NULL : &r->received, NULL);
}

static void answer_store(ab_bench_spoke *s, const ab_bench_spoke_job *j)
{
    static const ab_error none;
    ab_err code = AB_ERR_OK;
    ab_object *before = ab_map_find(s->objects, ab_str_of(j->key));
    if (before != NULL)
        before = ab_object_ref(before);
    if (j->verb == APPLY)
        code = apply(s, j, before);
    else if (j->verb == PATCH_STATUS)
        code = patch_status(s, j, before);
    else if (before == NULL)
        code = AB_ERR_NOTFOUND;
    else if (j->verb == REMOVE)
        ab_object_unref(ab_map_take(s->objects, ab_str_of(j->key)));
    ab_object *after = ab_map_find(s->objects, ab_str_of(j->key));
    if (after != NULL)
        after = ab_object_ref(after);
    if (code == AB_ERR_OK && j->verb == REMOVE)
        ab_agent_on_deleted(s->machine, before, true);
    else if (code == AB_ERR_OK && j->verb != GET)
        ab_agent_on_updated(s->machine, after);
    ab_effects_done(j->asker, code, code == AB_ERR_OK ? after : NULL, &none);
    ab_object_unref(before);
    ab_object_unref(after);
}

/* --- jobs --- */

static void on_timer(uv_timer_t *timer);

static void schedule(ab_bench_spoke *s)
{
    bool slow = __atomic_load_n(&s->track->slow, __ATOMIC_SEQ_CST) == s->number;
    (void)uv_timer_start(&s->timer, on_timer, slow ? SLOW_MS : 0, 0);
}

static void do_one(ab_bench_spoke *s)
{
    ab_bench_spoke_job *j = s->jobs;
    s->jobs = j->next;
    if (s->jobs == NULL)
        s->jobs_end = &s->jobs;
    if (j->verb == SAVE || j->verb == LOAD)
        answer_row(s, j);
    else
        answer_store(s, j);
    ab_object_unref(j->object);
    free(j->key);
    free(j->status);
    free(j->version);
    free(j);
}

static void on_timer(uv_timer_t *timer)
{
    ab_bench_spoke *s = timer->data;
    do_one(s);
    if (s->jobs != NULL)
        schedule(s);
}

static ab_bench_spoke_job *add_job(ab_bench_spoke *s, job_kind verb, ab_str key, ab_asker *asker)
{
    ab_bench_spoke_job *j = must_have(calloc(1, sizeof(*j)));
    *j = (ab_bench_spoke_job){.verb = verb, .key = copy(key), .asker = asker};
    if (s->jobs == NULL)
        schedule(s);
    *s->jobs_end = j;
    s->jobs_end = &j->next;
    return j;
}

static void fx_get(void *arg, ab_str key, ab_asker *asker)
{
    (void)add_job(arg, GET, key, asker);
}

static void fx_apply(void *arg, ab_object *object, ab_str version, ab_asker *asker)
{
    ab_bench_spoke_job *j = add_job(arg, APPLY, ab_str_of(ab_object_key(object)), asker);
    j->object = ab_object_ref(object);
    j->version = copy(version);
}

static void fx_patch_status(void *arg, ab_str key, ab_str status, ab_str stamp,
                            const ab_precondition *must_be, ab_asker *asker)
{
    (void)stamp; /* only a principal has one */
    ab_bench_spoke_job *j = add_job(arg, PATCH_STATUS, key, asker);
    j->status = copy(status);
    j->version = copy(must_be->version);
}

static void fx_remove(void *arg, ab_str key, const ab_precondition *must_be, bool foreground,
                      ab_asker *asker)
{
    (void)must_be; /* nobody else makes an object here */
    (void)foreground;
    (void)add_job(arg, REMOVE, key, asker);
}

static void fx_save(void *arg, ab_str key, const ab_received_state *received, ab_asker *asker)
{
    add_job(arg, SAVE, key, asker)->row = row_new(received);
}

static void fx_load(void *arg, ab_str key, ab_asker *asker)
{
    (void)add_job(arg, LOAD, key, asker);
}

/* --- */

void ab_bench_spoke_init(ab_bench_spoke *s, uv_loop_t *loop, ab_bench_fleet_track *track,
                         int number)
{
    *s = (ab_bench_spoke){.number = number,
                          .track = track,
                          .objects = must_have(ab_map_new()),
                          .rows = must_have(ab_map_new())};
    s->jobs_end = &s->jobs;
    (void)uv_timer_init(loop, &s->timer);
    s->timer.data = s;
}

ab_effects ab_bench_spoke_effects(ab_bench_spoke *s)
{
    return (ab_effects){.get = fx_get,
                        .apply = fx_apply,
                        .patch_status = fx_patch_status,
                        .remove = fx_remove,
                        .save = fx_save,
                        .load = fx_load,
                        .arg = s};
}
