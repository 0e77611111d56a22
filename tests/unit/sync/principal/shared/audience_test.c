/* SPDX-License-Identifier: Apache-2.0
 *
 * Random histories: projects, repository Secrets and the GPG keys that are made, changed and
 * deleted, and clusters that come to be a project's own, while agents are cut off, taken away and
 * brought back, lose their logs and certificates, and the principal is killed. An agent gets
 * nothing that is not for it, and loses nothing that is for it all the time; in the end each has
 * what is for it, as it is now.
 */
#include "schema/attributes.h"
#include "tests/unit/sync/world/edit.h"
#include "tests/unit/sync/world/fleet.h"
#include "tests/unit/sync/world/lot.h"
#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define AGENTS      3
#define PROJECTS    2
#define SECRETS     3
#define OBJECTS     (PROJECTS + SECRETS + 1)
#define SEEDS       400
#define CHANGES     60
#define NUMBERS_MAX (3 * CHANGES)

/* In this order: the projects, the Secrets, the keys. */
enum { FIRST_SECRET = PROJECTS, KEYS = PROJECTS + SECRETS };

static const char *const agents[AGENTS] = {"a1", "a2", "a3"};
static const char *const names[OBJECTS] = {"p0", "p1", "s0", "s1", "s2", AB_NAME_GPG_KEYS};

static struct {
    hub hub;
    uint64_t seed;
    uint64_t random;
    int numbers, certificate;
    struct {
        bool exists;
        int newest;                         /* number in it */
        int project;                        /* of a Secret; PROJECTS: of none that exists */
        bool named[AGENTS], denied[AGENTS]; /* by a project */
        bool own_clusters_only;             /* a project */
        bool owned[AGENTS];                 /* the agent's cluster is the project's */
        bool was_not[AGENTS];               /* for it, as the principal may have seen it */
    } objects[OBJECTS];
    bool meant[NUMBERS_MAX][AGENTS]; /* for this agent, at some time since it was written */
    char certificates[AGENTS][8];    /* "": it has none */
} m;

static size_t chance(size_t below)
{
    return lot_draw(&m.random, below);
}

static size_t agent_of(const char *name)
{
    size_t k = 0;
    while (strcmp(agents[k], name) != 0)
        k++;
    return k;
}

static bool is_secret(size_t i)
{
    return i >= FIRST_SECRET && i < KEYS;
}

static const char *key_of(size_t i)
{
    static char key[80];
    snprintf(key, sizeof(key), "%s/" HUB_NAMESPACE "/%s",
             i < FIRST_SECRET ? "AppProject"
             : is_secret(i)   ? "Secret"
                              : "ConfigMap",
             names[i]);
    return key;
}

/* --- what is for whom --- */

static bool is_for(size_t i, size_t k)
{
    size_t rules = is_secret(i) ? (size_t)m.objects[i].project : i;
    if (!m.objects[i].exists || i == KEYS || rules == PROJECTS)
        return m.objects[i].exists && i == KEYS;
    return m.objects[rules].exists && m.objects[rules].named[k] && !m.objects[rules].denied[k] &&
           (!m.objects[rules].own_clusters_only || m.objects[rules].owned[k]);
}

/* After each change by a user. */
static void note_audience(void)
{
    for (size_t i = 0; i < OBJECTS; i++)
        for (size_t k = 0; k < AGENTS; k++) {
            m.meant[m.objects[i].newest][k] |= is_for(i, k);
            m.objects[i].was_not[k] |= !is_for(i, k);
        }
}

/* That the test wrote into a payload, or a sealed one. */
static int number_in(ab_str data)
{
    int n = 0;
    const char *at = memmem(data.ptr, data.len, "n=", 2);
    assert_non_null(at);
    assert_int_equal(sscanf(at, "n=%d;", &n), 1);
    return n;
}

/* The principal has seen all, and whoever is connected was told. */
static void note_quiet(void)
{
    for (size_t i = 0; i < OBJECTS; i++)
        for (size_t k = 0; k < AGENTS; k++)
            if (m.hub.agents[k].served && m.hub.agents[k].connected)
                m.objects[i].was_not[k] = !is_for(i, k);
}

static void on_sent(const char *agent, const ab_event *event)
{
    size_t k = agent_of(agent);
    for (size_t i = 0; i < OBJECTS; i++) {
        if (!ab_str_is(ab_event_attr(event, AB_CE_PARTITIONKEY), key_of(i)))
            continue;
        bool ends = ab_event_data(event).ptr == NULL;
        int n = ends ? 0 : number_in(ab_event_data(event));
        if (ends && !m.objects[i].was_not[k])
            fail_msg("seed %d: %s is deleted at %s", (int)m.seed, key_of(i), agent);
        if (!ends && !m.meant[n][k])
            fail_msg("seed %d: %s is sent to %s", (int)m.seed, key_of(i), agent);
    }
}

/* --- sealing: not at all, but it shows for whom --- */

static const char *recipient(void *arg, const char *agent)
{
    (void)arg;
    const char *certificate = m.certificates[agent_of(agent)];
    return certificate[0] == '\0' ? NULL : certificate;
}

static ab_err seal(void *arg, const char *agent, const ab_seal_binding *binding, ab_str payload,
                   ab_buf *out, ab_error *err)
{
    (void)arg;
    (void)err;
    (void)binding;
    ab_buf_printf(out, "%s of %s: n=%d;", m.certificates[agent_of(agent)], agent,
                  number_in(payload));
    return ab_buf_status(out);
}

/* --- what users do --- */

static void put(const char *json)
{
    ab_object *o = sample_object(json);
    fake_store_put(m.hub.store, o);
    ab_object_unref(o);
}

static void put_project(size_t i)
{
    char destinations[400] = "";
    char json[900];
    m.objects[i].own_clusters_only = chance(3) == 0;
    for (size_t k = 0; k < AGENTS; k++) {
        m.objects[i].named[k] = chance(2) == 0;
        m.objects[i].denied[k] = chance(6) == 0;
        for (int deny = 0; deny < 2; deny++)
            if (deny == 1 ? m.objects[i].denied[k] : m.objects[i].named[k])
                snprintf(destinations + strlen(destinations),
                         sizeof(destinations) - strlen(destinations), "%s{\"name\":\"%s%s\"}",
                         destinations[0] == '\0' ? "" : ",", deny == 1 ? "!" : "", agents[k]);
    }
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\",\"metadata\":"
             "{\"name\":\"%s\",\"namespace\":\"" HUB_NAMESPACE
             "\"},\"spec\":{\"description\":\"n=%d;\",\"destinations\":[%s],"
             "\"permitOnlyProjectScopedClusters\":%s,\"sourceNamespaces\":[\"*\"]}}",
             names[i], m.objects[i].newest, destinations,
             m.objects[i].own_clusters_only ? "true" : "false");
    put(json);
}

static void put_secret(size_t i)
{
    static const char *const projects[PROJECTS + 1] = {"cDA=", "cDE=", "b3RoZXI="};
    char json[600];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"type\":\"Opaque\",\"metadata\":"
             "{\"name\":\"%s\",\"namespace\":\"" HUB_NAMESPACE
             "\",\"labels\":{\"" AB_LABEL_SECRET_TYPE
             "\":\"repository\"}},\"data\":{\"project\":\"%s\",\"password\":\"n=%d;\"}}",
             names[i], projects[m.objects[i].project], m.objects[i].newest);
    put(json);
}

static void put_keys(void)
{
    char json[300];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\","
             "\"namespace\":\"" HUB_NAMESPACE "\"},\"data\":{\"k\":\"n=%d;\"}}",
             names[KEYS], m.objects[KEYS].newest);
    put(json);
}

static void write_one(size_t i)
{
    m.objects[i].newest = ++m.numbers;
    if (i < FIRST_SECRET)
        put_project(i);
    else if (is_secret(i))
        put_secret(i);
    else
        put_keys();
    m.objects[i].exists = true;
}

static void erase(size_t i)
{
    if (m.objects[i].exists)
        fake_store_erase(m.hub.store, key_of(i));
    m.objects[i].exists = false;
}

static void change_object(size_t i)
{
    if (chance(4) == 0) {
        erase(i);
    } else {
        if (is_secret(i) && (!m.objects[i].exists || chance(3) == 0))
            m.objects[i].project = (int)chance(PROJECTS + 1);
        write_one(i);
    }
    note_audience();
}

static bool is_scoped(void *scopes, const char *agent, ab_str project)
{
    (void)scopes;
    return m.objects[ab_str_is(project, names[1])].owned[agent_of(agent)];
}

/* Not while a project is being read: the principal knows of the cluster before it knows of what the
 * user has written into the project before. */
static void change_scope(size_t project, size_t k)
{
    if (hub_choices(&m.hub) > 0)
        return;
    m.objects[project].owned[k] = !m.objects[project].owned[k];
    note_audience();
    ab_principal_scope_changed(m.hub.principal, agents[k], ab_str_of(names[project]));
}

/* A project is made, or made again, and a Secret moves to it at once. */
static void move_to_new_project(void)
{
    size_t project = chance(PROJECTS), secret = FIRST_SECRET + chance(SECRETS);
    if (m.objects[project].exists && chance(2) == 0) {
        erase(project);
        note_audience();
    }
    write_one(project);
    m.objects[secret].project = (int)project;
    write_one(secret);
    note_audience();
}

/* --- what befalls the machines --- */

static void change_certificate(size_t k, bool lose)
{
    if (lose)
        m.certificates[k][0] = '\0';
    else
        snprintf(m.certificates[k], sizeof(m.certificates[k]), "c%d", ++m.certificate);
    if (m.hub.agents[k].served)
        ab_principal_recipient_changed(m.hub.principal, agents[k]);
}

/* While it is down, users go on; and it may not be able to read all. */
static void restart(void)
{
    hub_crash(&m.hub);
    m.hub.unreadable = chance(4) == 0;
    for (size_t i = chance(3); i > 0; i--)
        change_object(chance(OBJECTS));
    hub_start(&m.hub);
}

static void change(void)
{
    size_t k = chance(AGENTS);
    switch (chance(15)) {
    case 0:
        fleet_cut_or_mend(&m.hub, agents[k]);
        break;
    case 1:
        fleet_take_or_bring(&m.hub, agents[k]);
        break;
    case 2:
        fleet_lose_log(&m.hub, agents[k]);
        break;
    case 3:
        change_certificate(k, chance(3) == 0);
        break;
    case 4:
        if (chance(3) == 0)
            restart();
        break;
    case 5:
        m.hub.ms += 1000;
        ab_principal_tick(m.hub.principal);
        break;
    case 6:
        change_scope(chance(PROJECTS), k);
        break;
    case 7:
    case 8:
        move_to_new_project();
        break;
    default:
        change_object(chance(OBJECTS));
        break;
    }
}

/* --- in the end --- */

static void check_end(void)
{
    for (size_t i = 0; i < OBJECTS; i++)
        for (size_t k = 0; k < AGENTS; k++) {
            const ab_event *sent = hub_sent(&m.hub, agents[k], key_of(i));
            if ((sent != NULL) != is_for(i, k))
                fail_msg("seed %d: %s is at %s: %d, for it: %d", (int)m.seed, key_of(i), agents[k],
                         sent != NULL, is_for(i, k));
            if (sent == NULL)
                continue;
            ab_str data = ab_event_data(sent);
            if (number_in(data) != m.objects[i].newest)
                fail_msg("seed %d: %s at %s is not the newest", (int)m.seed, key_of(i), agents[k]);
            if (is_secret(i) &&
                memmem(data.ptr, data.len, m.certificates[k], strlen(m.certificates[k])) == NULL)
                fail_msg("seed %d: %s at %s is sealed to another certificate", (int)m.seed,
                         key_of(i), agents[k]);
        }
}

static void run(uint64_t seed)
{
    memset(&m, 0, sizeof(m));
    m.random = m.seed = seed;
    hub_init(&m.hub);
    m.hub.destination_mapping = seed % 2 == 0;
    m.hub.sealing = (ab_principal_sealing){.recipient = recipient, .seal = seal};
    m.hub.is_scoped = is_scoped;
    m.hub.on_sent = on_sent;
    for (size_t k = 0; k < AGENTS; k++)
        hub_add(&m.hub, agents[k]);
    note_audience();
    hub_start(&m.hub);
    for (int i = 0; i < CHANGES; i++) {
        change();
        for (size_t k = chance(6); k > 0 && hub_choices(&m.hub) > 0; k--)
            hub_step(&m.hub, chance(hub_choices(&m.hub)));
        if (hub_choices(&m.hub) == 0)
            note_quiet();
    }
    m.hub.unreadable = false;
    hub_restart(&m.hub);
    for (size_t k = 0; k < AGENTS; k++)
        change_certificate(k, false);
    fleet_mend(&m.hub);
    check_end();
    hub_fini(&m.hub);
}

static void every_history_ends_with_each_object_where_it_belongs(void **state)
{
    (void)state;
    lot_each_seed(SEEDS, run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_history_ends_with_each_object_where_it_belongs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
