/* SPDX-License-Identifier: Apache-2.0
 *
 * Random histories with destination mapping, where two Applications of the hub may meet in one
 * place at the agent: one of the hub's own namespace, which is remapped to the agent's, and one of
 * a namespace that is called like the agent's. Neither is ever replaced or deleted for the other;
 * in the end one of them is there, and the other one's status says why it is not.
 */
#include "schema/attributes.h"
#include "tests/unit/sync/world/edit.h"
#include "tests/unit/sync/world/lot.h"
#include "tests/unit/sync/world/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define NAMES       2
#define SOURCES     2 /* of each name */
#define SEEDS       400
#define STEPS       300
#define UIDS_MAX    400
#define REST_S      150
#define ROUNDS_MAX  20
#define FINALIZER   ",\"finalizers\":[\"resources-finalizer.argocd.argoproj.io\"]"
#define AGENT_SPACE "team"

static const char *const spaces[SOURCES] = {WORLD_AGENT_NAMESPACE, AGENT_SPACE};

static struct {
    world w;
    uint64_t seed;
    uint64_t random;
    int numbers;
    ab_map *backup;      /* of agent.data; NULL: there is none */
    bool left[UIDS_MAX]; /* by the number in the uid: no more for the agent, or was not once */
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

static const char *name_of(size_t name)
{
    return name == 0 ? "a" : "b";
}

static const char *hub_key(size_t name, size_t source)
{
    static char key[80];
    snprintf(key, sizeof(key), "Application/%s/%s", spaces[source], name_of(name));
    return key;
}

static const char *local_key(size_t name)
{
    return hub_key(name, 1);
}

static ab_object *hub(size_t name, size_t source)
{
    return fake_store_find(m.w.hub, hub_key(name, source));
}

static ab_object *local(size_t name)
{
    return fake_store_find(m.w.local, local_key(name));
}

static bool is_routed_to_agent(const ab_object *h)
{
    return ab_span_is(ab_span_path(ab_object_field(h, "spec"), "destination", "name", NULL),
                      WORLD_HUB_NAMESPACE);
}

static bool is_for_agent(const ab_object *h)
{
    return h != NULL && !ab_object_deleting(h) && is_routed_to_agent(h);
}

static uint64_t number_in(ab_str uid)
{
    uint64_t n = 0;
    if (uid.len <= 4 || ab_str_to_u64((ab_str){uid.ptr + 4, uid.len - 4}, &n) != AB_ERR_OK ||
        n >= UIDS_MAX)
        fail_msg("seed %d: uid %.*s", (int)m.seed, AB_STR_ARG(uid));
    return n;
}

static ab_str source_uid(const ab_object *o)
{
    return o == NULL ? AB_STR_NONE : ab_object_annotation(o, AB_ANN_SOURCE_UID);
}

/* --- what the agent writes --- */

static void on_local_write(void *arg, const ab_object *before, const ab_object *after)
{
    (void)arg;
    ab_str was = source_uid(before), is = source_uid(after);
    if (before == NULL || was.len == 0)
        return;
    bool begins = !ab_object_deleting(before) && (after == NULL || ab_object_deleting(after));
    bool replaced = after != NULL && !ab_str_eq(was, is);
    if ((begins || replaced) && !m.left[number_in(was)])
        fail_msg("seed %d, step %llu: %s of %.*s is %s", (int)m.seed, (unsigned long long)m.w.steps,
                 ab_object_key(before), AB_STR_ARG(was), begins ? "deleted" : "replaced");
}

/* --- what users and controllers do --- */

static void set_destination(size_t name, size_t source, const char *agent)
{
    char spec[100];
    snprintf(spec, sizeof(spec), "{\"n\":%d,\"destination\":{\"name\":\"%s\"}}", ++m.numbers,
             agent);
    set_field(m.w.hub, hub_key(name, source), "spec", spec);
    if (strcmp(agent, WORLD_HUB_NAMESPACE) != 0)
        m.left[number_in(ab_object_uid(hub(name, source)))] = true;
}

static void write_hub(size_t name, size_t source)
{
    if (hub(name, source) == NULL)
        put_app(m.w.hub, spaces[source], name_of(name), ++m.numbers,
                chance(3) == 0 ? FINALIZER : "", "");
    if (!ab_object_deleting(hub(name, source)))
        set_destination(name, source, chance(6) == 0 ? "other" : WORLD_HUB_NAMESPACE);
}

static void erase_hub(size_t name, size_t source)
{
    if (hub(name, source) == NULL)
        return;
    m.left[number_in(ab_object_uid(hub(name, source)))] = true;
    fake_store_erase(m.w.hub, hub_key(name, source));
}

static void report(size_t name)
{
    char status[32];
    if (local(name) == NULL)
        return;
    snprintf(status, sizeof(status), "{\"n\":%d}", ++m.numbers);
    set_field(m.w.local, local_key(name), "status", status);
}

/* @return false when there is nothing to do */
static bool controller_works(size_t name)
{
    if (local(name) == NULL || !ab_object_deleting(local(name)))
        return false;
    drop_finalizers(m.w.local, local_key(name));
    return true;
}

/* --- what befalls the machines --- */

static void agent_crashes(void)
{
    if (m.w.agent == NULL)
        world_start_agent(&m.w);
    else if (chance(3) == 0)
        world_crash_agent(&m.w);
}

static void principal_crashes(void)
{
    if (m.w.principal == NULL)
        world_start_principal(&m.w);
    else if (chance(3) == 0)
        world_crash_principal(&m.w);
}

static void log_is_lost(void)
{
    bool own = chance(2);
    if (chance(4) == 0)
        world_lose_log(&m.w, own ? &m.w.agent_link : &m.w.principal_link);
}

static void agent_data_is_lost(void)
{
    if (chance(4) > 0)
        return;
    world_crash_agent(&m.w);
    world_forget_all_desired(&m.w);
    world_rewind_agent(&m.w);
}

/* With its position in the log, or without. */
static void agent_data_is_restored(void)
{
    if (m.backup == NULL || chance(3) == 0) {
        world_backup_free(m.backup);
        m.backup = world_back_up_desired(&m.w);
    } else if (chance(2) == 0) {
        world_crash_agent(&m.w);
        world_restore_desired(&m.w, m.backup);
        if (chance(2) == 0)
            world_rewind_agent(&m.w);
    }
}

static void change(void)
{
    size_t name = chance(NAMES), source = chance(SOURCES);
    struct world_link *link = chance(2) ? &m.w.agent_link : &m.w.principal_link;
    switch (chance(18)) {
    case 0:
        agent_crashes();
        break;
    case 1:
        principal_crashes();
        break;
    case 2:
        world_connect(link, !link->up || chance(3) > 0);
        break;
    case 3:
        fake_log_compact(chance(2) ? m.w.down : m.w.up);
        break;
    case 4:
        log_is_lost();
        break;
    case 16:
        agent_data_is_lost();
        break;
    case 17:
        agent_data_is_restored();
        break;
    case 5:
        world_tick(&m.w, chance(2) ? 500 : 20000);
        break;
    case 6:
    case 7:
        erase_hub(name, source);
        break;
    case 8:
    case 9:
        report(name);
        break;
    case 10:
    case 11:
        (void)controller_works(name);
        break;
    default:
        write_hub(name, source);
        break;
    }
}

static void come_to_rest(void)
{
    if (m.w.agent == NULL)
        world_start_agent(&m.w);
    if (m.w.principal == NULL)
        world_start_principal(&m.w);
    m.w.faults_permille = 0;
    world_connect(&m.w.agent_link, true);
    world_connect(&m.w.principal_link, true);
    bool more = true;
    for (int round = 0; more; round++) {
        if (round == ROUNDS_MAX)
            fail_msg("seed %d: it never comes to rest", (int)m.seed);
        world_run(&m.w, REST_S);
        if (round == 0) /* a status may have been lost with a log */
            assert_int_equal(ab_principal_resync(m.w.principal, WORLD_HUB_NAMESPACE, "test"),
                             AB_ERR_OK);
        world_run(&m.w, REST_S);
        more = ab_principal_held(m.w.principal, NULL) > 0; /* the operator wants it */
        if (more)
            assert_int_equal(world_confirm(&m.w), AB_ERR_OK);
        for (size_t i = 0; i < NAMES; i++)
            more |= controller_works(i);
    }
}

/* --- in the end --- */

/* One that the agent never had is not here for the other one's sake. */
static void check_deletions(size_t name)
{
    for (size_t i = 0; i < SOURCES; i++) {
        const ab_object *h = hub(name, i);
        if (h != NULL && ab_object_deleting(h) && is_routed_to_agent(h))
            fail_msg("seed %d: the deletion of %s waits", (int)m.seed, hub_key(name, i));
    }
}

static void check_name(size_t name)
{
    const ab_object *l = local(name);
    size_t wanted = 0, there = 0;
    for (size_t i = 0; i < SOURCES; i++) {
        const ab_object *h = hub(name, i);
        bool follows = h != NULL && ab_str_eq(source_uid(l), ab_object_uid(h));
        wanted += is_for_agent(h);
        there += is_for_agent(h) && follows;
        if (is_for_agent(h) && follows &&
            (spec_of(l) != spec_of(h) || status_of(l) != status_of(h)))
            fail_msg("seed %d: %s is not as the hub says", (int)m.seed, hub_key(name, i));
        if (is_for_agent(h) && !follows &&
            ab_span_count(ab_span_get(ab_object_field(h, "status"), "conditions")) == 0)
            fail_msg("seed %d: %s does not say why it is not there", (int)m.seed, hub_key(name, i));
    }
    if (wanted == 0 ? l != NULL : there != 1)
        fail_msg("seed %d: of %d with name %s %d are there: %.*s", (int)m.seed, (int)wanted,
                 name_of(name), (int)there,
                 AB_STR_ARG(l == NULL ? AB_STR("-") : ab_span_raw(ab_object_json(l))));
}

static void run(uint64_t seed)
{
    memset(&m, 0, sizeof(m));
    m.random = m.seed = seed;
    world_init(&m.w);
    m.w.namespaces = ab_patterns_new();
    assert_int_equal(ab_patterns_add(m.w.namespaces, AB_STR(AGENT_SPACE), NULL), AB_ERR_OK);
    m.w.policy.namespace = AGENT_SPACE;
    m.w.policy.by_destination = true;
    m.w.resyncs = true;
    m.w.random = draw;
    m.w.arg = &m;
    m.w.on_local_write = on_local_write;
    m.w.faults_permille = (unsigned)chance(2) * 80;
    world_start_agent(&m.w);
    world_start_principal(&m.w);
    for (int i = 0; i < STEPS; i++) {
        size_t choices = world_choices(&m.w);
        if (choices > 0 && chance(4) > 0)
            world_step(&m.w, chance(choices));
        else
            change();
    }
    come_to_rest();
    for (size_t i = 0; i < NAMES; i++) {
        check_name(i);
        check_deletions(i);
    }
    world_backup_free(m.backup);
    world_fini(&m.w);
}

static void every_history_ends_with_one_of_each_name(void **state)
{
    (void)state;
    lot_each_seed(SEEDS, run);
}

/* Which of two was there first was lost with agent.data, or the second was there still. */
static const uint64_t once_failed[] = {131,  481,       14610,     62634,
                                       6840, 271006526, 272000848, 272010163};

static void so_do_those_that_once_did_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(once_failed) / sizeof(once_failed[0]); i++)
        run(once_failed[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_do_those_that_once_did_not),
        cmocka_unit_test(every_history_ends_with_one_of_each_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
