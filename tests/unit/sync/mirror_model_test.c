/* SPDX-License-Identifier: Apache-2.0
 *
 * Random histories of several autonomous agents whose mirrored projects meet in one name, with each
 * other and with projects of the hub, and of agents among them that are managed for a while. No
 * object of the hub's own is written over or deleted, and no mirror of what its agent has; in the
 * end each name has the mirror of the agent that it belongs to, as that agent has it.
 */
#include "schema/attributes.h"
#include "sync/stamp.h"
#include "tests/unit/sync/world/edit.h"
#include "tests/unit/sync/world/lot.h"
#include "tests/unit/sync/world/samples.h"
#include "tests/unit/sync/world/testbed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define AGENTS   3
#define PROJECTS 4
#define APPS     2
#define SEEDS    1000
#define STEPS    400
#define UIDS_MAX 4096
#define REST_S   150

static const char *const agents[AGENTS] = {"a", "a-b", "a-b-c"};
static const char *const projects[PROJECTS] = {"p", "b-p", "c-p", "b-c-p"};
static const char *const apps[APPS] = {"x", "y"};

static struct {
    testbed b;
    uint64_t seed;
    uint64_t random;
    int numbers;
    bool copies; /* users make some */
    /* By the number in the uid of an object of the hub. */
    bool own[UIDS_MAX];    /* it is the hub's own, not the principal's to change */
    bool placed[UIDS_MAX]; /* an agent has made an object for it, and may have it mirrored there */
} m;

static size_t chance(size_t below)
{
    return lot_draw(&m.random, below);
}

static uint64_t draw(void *arg)
{
    (void)arg;
    return chance(1u << 30);
}

int64_t __wrap_ab_backoff_next(ab_backoff *b);
int64_t __wrap_ab_backoff_next(ab_backoff *b)
{
    return lot_delay(b, lot_draw(&m.random, SIZE_MAX));
}

/* --- what there is --- */

static void trace(const char *what, const char *key, const ab_object *o)
{
    if (getenv("SYNC_MODEL_LOG") != NULL)
        fprintf(stderr, "%s %s %.*s\n", what, key,
                AB_STR_ARG(o == NULL ? AB_STR("-") : ab_span_raw(ab_object_json(o))));
}

static void broken(const char *what, const ab_object *o)
{
    fail_msg("seed %d: %s: %.*s", (int)m.seed, what,
             AB_STR_ARG(o == NULL ? AB_STR("-") : ab_span_raw(ab_object_json(o))));
}

static struct node *any_node(void)
{
    return &m.b.nodes[chance(AGENTS)];
}

static bool is_project(const ab_object *o)
{
    return ab_str_is(ab_object_kind(o), "AppProject");
}

static bool is_application(const ab_object *o)
{
    return ab_str_is(ab_object_kind(o), "Application");
}

static uint64_t number_in(ab_str uid)
{
    uint64_t n = 0;
    if (uid.len <= 4 || ab_str_to_u64((ab_str){uid.ptr + 4, uid.len - 4}, &n) != AB_ERR_OK)
        fail_msg("seed %d: uid %.*s", (int)m.seed, AB_STR_ARG(uid));
    return n;
}

static uint64_t hub_number(const ab_object *o)
{
    uint64_t n = number_in(ab_object_uid(o));
    assert_true(n < UIDS_MAX);
    return n;
}

/* Made by a user from a mirror of another name. */
static bool is_copy(const ab_object *o)
{
    return !ab_str_eq(ab_object_annotation(o, AB_ANN_NAME), ab_object_name(o));
}

/* The agent whose mirror it is; NULL: it is none. */
static const struct node *mirrored_by(const ab_object *o)
{
    ab_stamp stamp;
    if (o == NULL || ab_object_annotation(o, AB_ANN_SOURCE_UID).len == 0 || is_copy(o) ||
        !ab_stamp_parse(ab_object_annotation(o, AB_ANN_MIRROR), &stamp))
        return NULL;
    for (size_t i = 0; i < AGENTS; i++)
        if (ab_str_is(stamp.agent, agents[i]))
            return &m.b.nodes[i];
    return NULL;
}

static bool fits(const char *agent, ab_str project)
{
    size_t len = strlen(agent);
    return ab_str_starts(project, agent) && project.len > len + 1 && project.ptr[len] == '-';
}

/* Whose the name of a project at the hub is; NULL: no agent's. */
static const struct node *owner_of(ab_str project)
{
    const struct node *owner = NULL;
    for (size_t i = 0; i < AGENTS; i++) /* the longest name is the last */
        if (m.b.nodes[i].served && fits(agents[i], project))
            owner = &m.b.nodes[i];
    return owner;
}

static const ab_object *source_of(const struct node *n, const ab_object *mirror)
{
    ab_str uid = ab_object_annotation(mirror, AB_ANN_SOURCE_UID);
    for (size_t i = 0; fake_store_at(n->store, i) != NULL; i++)
        if (ab_str_eq(ab_object_uid(fake_store_at(n->store, i)), uid))
            return fake_store_at(n->store, i);
    return NULL;
}

/* --- what the machines write --- */

static bool same_spec(const ab_object *a, const ab_object *b)
{
    return ab_str_eq(ab_span_raw(ab_object_field(a, "spec")),
                     ab_span_raw(ab_object_field(b, "spec")));
}

static void check_own(const ab_object *before, const ab_object *after)
{
    uint64_t n = hub_number(before);
    if (after == NULL || ab_object_deleting(after) != ab_object_deleting(before))
        broken("an object of the hub's own is deleted", before);
    else if (mirrored_by(after) != NULL && m.placed[n])
        m.own[n] = false;
    else if (mirrored_by(after) != NULL || !same_spec(before, after))
        broken("an object of the hub's own is changed", before);
}

static void check_deletion(const ab_object *mirror)
{
    const struct node *n = mirrored_by(mirror);
    bool has_name = !is_project(mirror) || owner_of(ab_object_name(mirror)) == n;
    if (n->served && has_name && source_of(n, mirror) != NULL)
        broken("the mirror of what its agent has is deleted", mirror);
}

static void on_hub_write(void *arg, const ab_object *before, const ab_object *after)
{
    (void)arg;
    const ab_object *o = before == NULL ? after : before;
    if (is_mark(o))
        return;
    trace(before == NULL ? "hub makes" : "hub", ab_object_key(o), after);
    if (before == NULL)
        return;
    bool begins = !ab_object_deleting(before) && (after == NULL || ab_object_deleting(after));
    if (m.own[hub_number(before)])
        check_own(before, after);
    else if (begins && mirrored_by(before) != NULL)
        check_deletion(before);
    else if (!begins && after != NULL && mirrored_by(before) != NULL && mirrored_by(after) == NULL)
        m.own[hub_number(before)] = true; /* handed over */
}

static void on_local_write(void *arg, const ab_object *before, const ab_object *after)
{
    (void)arg;
    trace("local", ab_object_key(before == NULL ? after : before), after);
    ab_str uid = after == NULL ? AB_STR_NONE : ab_object_annotation(after, AB_ANN_SOURCE_UID);
    uint64_t n = uid.len == 0 ? UIDS_MAX : number_in(uid);
    if (n < UIDS_MAX)
        m.placed[n] = true;
}

/* --- what users and controllers do --- */

static void put(fake_store *s, const char *kind, const char *ns, const char *name, const char *spec)
{
    char json[600];
    int len = snprintf(json, sizeof(json),
                       "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"%s\",\"metadata\":{"
                       "\"name\":\"%s\",\"namespace\":\"%s\"},\"spec\":{\"n\":%d,%s}}",
                       kind, name, ns, ++m.numbers, spec);
    assert_true(len > 0 && (size_t)len < sizeof(json));
    ab_object *o = sample_object(json);
    trace("user puts", ab_object_key(o), o);
    fake_store_put(s, o);
    ab_object_unref(o);
}

static void put_project(fake_store *s, const char *name)
{
    put(s, "AppProject", TESTBED_NAMESPACE, name,
        "\"destinations\":[{\"server\":\"https://x\",\"namespace\":\"*\"}]");
}

static void put_application(fake_store *s, const char *ns, const char *name)
{
    char spec[100];
    snprintf(spec, sizeof(spec), "\"project\":\"%s\",\"destination\":{\"server\":\"https://x\"}",
             projects[chance(PROJECTS)]);
    put(s, "Application", ns, name, spec);
}

/* NULL: there is none. */
static const ab_object *any_of(const fake_store *s)
{
    size_t count = 0;
    while (fake_store_at(s, count) != NULL)
        count++;
    const ab_object *o = count == 0 ? NULL : fake_store_at(s, chance(count));
    return o == NULL || is_mark(o) ? NULL : o;
}

static void edit(fake_store *s, const ab_object *o)
{
    char key[200], spec[300];
    snprintf(key, sizeof(key), "%s", ab_object_key(o));
    if (is_application(o))
        snprintf(spec, sizeof(spec),
                 "{\"n\":%d,\"project\":\"%s\",\"destination\":{\"server\":\"https://x\"}}",
                 ++m.numbers, projects[chance(PROJECTS)]);
    else
        snprintf(spec, sizeof(spec),
                 "{\"n\":%d,\"destinations\":[{\"server\":\"https://x\",\"namespace\":\"*\"}]}",
                 ++m.numbers);
    trace("user edits", key, NULL);
    set_field(s, key, "spec", spec);
}

static void erase(fake_store *s, const ab_object *o)
{
    char key[200];
    snprintf(key, sizeof(key), "%s", ab_object_key(o));
    trace("user deletes", key, NULL);
    fake_store_erase(s, key);
}

static void user_of_agent(void)
{
    const struct node *n = any_node();
    const ab_object *o = any_of(n->store);
    switch (chance(4)) {
    case 0:
        if (o != NULL)
            erase(n->store, o);
        return;
    case 1:
        if (o != NULL)
            edit(n->store, o);
        return;
    case 2:
        put_application(n->store, TESTBED_NAMESPACE, apps[chance(APPS)]);
        return;
    default:
        put_project(n->store, projects[chance(PROJECTS)]);
        return;
    }
}

static void controller_reports(void)
{
    char status[32], key[200];
    const struct node *n = any_node();
    const ab_object *o = any_of(n->store);
    if (o == NULL || !is_application(o))
        return;
    snprintf(key, sizeof(key), "%s", ab_object_key(o));
    snprintf(status, sizeof(status), "{\"n\":%d}", ++m.numbers);
    set_field(n->store, key, "status", status);
}

/* As a user does who makes it from a mirror of another name. */
static void copy_annotations(const ab_object *from, const char *key)
{
    static const char *const names[] = {AB_ANN_NAME, AB_ANN_SOURCE_UID, AB_ANN_MIRROR,
                                        AB_ANN_STATUS_VERSION};
    char values[4][300];
    if (mirrored_by(from) == NULL ||
        ab_str_eq(ab_object_name(from), ab_object_name(fake_store_find(m.b.hub, key))))
        return;
    for (size_t i = 0; i < 4; i++)
        snprintf(values[i], sizeof(values[i]), "%.*s",
                 AB_STR_ARG(ab_object_annotation(from, names[i])));
    trace("with the annotations of", ab_object_key(from), NULL);
    for (size_t i = 0; i < 4; i++)
        set_in(m.b.hub, key, "annotations", names[i], values[i]);
}

/* Under a name that a mirror would have, if nothing is there. */
static void hub_creates(void)
{
    char name[64], key[200];
    const char *agent = agents[chance(AGENTS)];
    bool project = chance(2) == 0;
    const char *end = project ? projects[chance(PROJECTS)] : apps[chance(APPS)];
    snprintf(name, sizeof(name), "%s-%s", agent, end);
    snprintf(key, sizeof(key), "%s/%s/%s", project ? "AppProject" : "Application",
             project ? TESTBED_NAMESPACE : agent, project ? name : end);
    if (fake_store_find(m.b.hub, key) != NULL)
        return;
    if (project)
        put_project(m.b.hub, name);
    else
        put_application(m.b.hub, agent, end);
    if (m.copies && chance(2) == 0)
        copy_annotations(any_of(m.b.hub), key);
    m.own[hub_number(fake_store_find(m.b.hub, key))] = true;
}

static void user_of_hub(void)
{
    const ab_object *o = any_of(m.b.hub);
    switch (chance(6)) {
    case 0:
    case 1:
        if (o != NULL)
            erase(m.b.hub, o);
        return;
    case 2:
        if (o != NULL)
            edit(m.b.hub, o);
        return;
    default:
        hub_creates();
        return;
    }
}

/* --- what befalls the machines --- */

static void agent_crashes(struct node *n)
{
    if (n->agent == NULL)
        testbed_start_agent(n);
    else if (chance(3) == 0)
        testbed_crash_agent(n);
    if (n->agent == NULL && chance(6) == 0)
        testbed_lose_agent_data(n);
}

static void principal_crashes(void)
{
    if (m.b.principal == NULL)
        testbed_start_principal(&m.b);
    else if (chance(3) == 0)
        testbed_crash_principal(&m.b);
    if (m.b.principal == NULL && chance(4) == 0) {
        trace("principal loses its data", "", NULL);
        testbed_lose_principal_data(&m.b);
    }
}

static void mode_changes(struct node *n)
{
    if (chance(3) > 0)
        return;
    testbed_crash_agent(n);
    n->autonomous = !n->autonomous;
    n->adopts = chance(2) == 0;
    trace(n->autonomous ? "autonomous" : "managed", n->name, NULL);
}

/* What was asked of the store before means what was right then. */
static void serving_changes(struct node *n)
{
    if (chance(2) > 0)
        return;
    trace(n->served ? "served no more" : "served", n->name, NULL);
    fake_store_settle_jobs(m.b.hub);
    testbed_serve(n, !n->served);
}

static void trouble(void)
{
    struct node *n = any_node();
    switch (chance(9)) {
    case 0:
        agent_crashes(n);
        return;
    case 1:
        principal_crashes();
        return;
    case 2:
        n->connected = !n->connected || chance(3) > 0;
        return;
    case 3:
        fake_log_compact(chance(2) ? n->up : n->down);
        return;
    case 4:
        if (chance(4) == 0)
            testbed_lose_log(n, chance(2));
        return;
    case 5:
        mode_changes(n);
        return;
    case 6:
        serving_changes(n);
        return;
    case 7:
        fake_store_gap(chance(2) ? m.b.hub : n->store);
        return;
    default:
        testbed_tick(&m.b, chance(2) ? 500 : 20000);
        return;
    }
}

static void change(void)
{
    size_t what = chance(8);
    if (what < 3)
        trouble();
    else if (what == 3)
        user_of_hub();
    else if (what == 4)
        controller_reports();
    else
        user_of_agent();
}

/* --- in the end --- */

static void come_to_rest(void)
{
    m.b.faults_permille = 0;
    if (m.b.principal == NULL)
        testbed_start_principal(&m.b);
    for (size_t i = 0; i < AGENTS; i++) {
        m.b.nodes[i].connected = true;
        if (m.b.nodes[i].agent == NULL)
            testbed_start_agent(&m.b.nodes[i]);
    }
    testbed_run(&m.b, REST_S);
    assert_int_equal(ab_principal_resync(m.b.principal, NULL, "test"), AB_ERR_OK);
    testbed_run(&m.b, REST_S);
    for (size_t i = 0; i < AGENTS; i++)
        if (ab_principal_held(m.b.principal, agents[i]) > 0)
            assert_int_equal(
                ab_principal_confirm(m.b.principal, agents[i], ab_str_of(m.b.nodes[i].held_token)),
                AB_ERR_OK);
    testbed_run(&m.b, REST_S);
    uint64_t activity = testbed_activity(&m.b);
    testbed_run(&m.b, REST_S);
    if (testbed_activity(&m.b) != activity)
        broken("it never comes to rest", NULL);
}

/* The Application's project is its agent's, or none that there can be. */
static void check_project(const struct node *n, const ab_object *source, const ab_object *mirror)
{
    char key[200], name[80];
    ab_str project = ab_span_plain(ab_span_get(ab_object_field(source, "spec"), "project"));
    snprintf(name, sizeof(name), "%s-%.*s", n->name, AB_STR_ARG(project));
    snprintf(key, sizeof(key), "AppProject/" TESTBED_NAMESPACE "/%s", name);
    const ab_object *there = fake_store_find(m.b.hub, key);
    if (owner_of(ab_str_of(name)) != n || (there != NULL && mirrored_by(there) != n))
        name[strlen(n->name)] = '_';
    if (!ab_span_is(ab_span_get(ab_object_field(mirror, "spec"), "project"), name))
        broken("the mirror is in another project", mirror);
}

static void check_alike(const struct node *n, const ab_object *source, const ab_object *mirror)
{
    if (spec_of(source) != spec_of(mirror) ||
        !ab_str_eq(ab_object_annotation(mirror, AB_ANN_SOURCE_UID), ab_object_uid(source)))
        broken("the mirror is not as the agent's object", mirror);
    if (!is_application(source))
        return;
    if (status_of(source) != status_of(mirror))
        broken("the mirror has another status", mirror);
    check_project(n, source, mirror);
}

static void check_source(const struct node *n, const ab_object *source)
{
    char key[200];
    ab_str name = ab_object_name(source);
    snprintf(key, sizeof(key), "%s/%s/%s%s%.*s", is_project(source) ? "AppProject" : "Application",
             is_project(source) ? TESTBED_NAMESPACE : n->name, is_project(source) ? n->name : "",
             is_project(source) ? "-" : "", AB_STR_ARG(name));
    const ab_object *h = fake_store_find(m.b.hub, key);
    const struct node *by = mirrored_by(h);
    bool is_own = h != NULL && m.own[hub_number(h)];
    bool left_behind = by != NULL && by != n && !by->served;
    if (is_project(source) && owner_of(ab_str_of(strrchr(key, '/') + 1)) != n)
        return;
    if (h == NULL || (by != n && !is_own && !left_behind))
        broken(h == NULL ? "an object has no mirror" : "another one has its place", source);
    if (by == n)
        check_alike(n, source, h);
}

static void check_hub_object(const ab_object *h)
{
    const struct node *n = mirrored_by(h);
    if (n == NULL || !n->served)
        return;
    if (!n->autonomous)
        broken("a mirror did not become the hub's own", h);
    if (ab_object_deleting(h) || source_of(n, h) == NULL)
        broken("it is still at the hub", h);
    if (is_project(h) && owner_of(ab_object_name(h)) != n)
        broken("a mirror has a name that is another agent's", h);
}

static void check(void)
{
    for (size_t i = 0; fake_store_at(m.b.hub, i) != NULL; i++)
        check_hub_object(fake_store_at(m.b.hub, i));
    for (size_t k = 0; k < AGENTS; k++) {
        const struct node *n = &m.b.nodes[k];
        for (size_t i = 0; n->served && n->autonomous && fake_store_at(n->store, i) != NULL; i++)
            if (is_project(fake_store_at(n->store, i)) ||
                is_application(fake_store_at(n->store, i)))
                check_source(n, fake_store_at(n->store, i));
    }
}

static void run_with(uint64_t seed, bool copies)
{
    memset(&m, 0, sizeof(m));
    m.random = m.seed = seed;
    m.copies = copies;
    m.b.random = draw;
    m.b.on_hub_write = on_hub_write;
    m.b.on_local_write = on_local_write;
    m.b.faults_permille = (unsigned)chance(2) * 80;
    testbed_init(&m.b, agents, AGENTS);
    if (getenv("SYNC_MODEL_LOG") != NULL)
        assert_int_equal(ab_log_new(2, "debug", AB_LOG_TEXT, &m.b.clock, &m.b.log, NULL),
                         AB_ERR_OK);
    testbed_start_principal(&m.b);
    for (size_t i = 0; i < AGENTS; i++)
        testbed_start_agent(&m.b.nodes[i]);
    for (int i = 0; i < STEPS; i++) {
        size_t choices = testbed_choices(&m.b);
        if (choices > 0 && chance(5) > 0)
            testbed_step(&m.b, chance(choices));
        else
            change();
    }
    come_to_rest();
    check();
    testbed_fini(&m.b);
}

static void run(uint64_t seed)
{
    run_with(seed, true);
}

static void histories_that_once_failed_end_well(void **state)
{
    static const uint64_t seeds[] = {55, 62, 121, 880, 1460, 2064, 4671};
    (void)state;
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++)
        run_with(seeds[i], false);
    run(271016264); /* with copies */
}

static void every_history_ends_with_the_mirrors_of_those_who_have_the_names(void **state)
{
    (void)state;
    lot_each_seed(SEEDS, run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(histories_that_once_failed_end_well),
        cmocka_unit_test(every_history_ends_with_the_mirrors_of_those_who_have_the_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
