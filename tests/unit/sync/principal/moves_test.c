/* SPDX-License-Identifier: Apache-2.0
 *
 * Random histories: Applications that are made, moved between agents and deleted, while agents are
 * cut off, taken away and brought back, lose their logs, and the principal is killed. At no moment
 * is an Application nowhere that had a place and has an agent, and none is deleted at an agent that
 * has been its agent ever since it got there; in the end each is at its agent alone.
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

#define AGENTS  3
#define APPS    3
#define SEEDS   400
#define CHANGES 60

/* Where an Application is sent: to one of the agents, or to nobody that argobus knows. */
enum { NOWHERE = AGENTS, DESTINATIONS };

static const char *const agents[DESTINATIONS] = {"a1", "a2", "a3", "in-cluster"};

static struct {
    hub hub;
    uint64_t seed;
    uint64_t random;
    uint64_t version;
    int destination[APPS]; /* -1: it does not exist */
    int newest[APPS];      /* number in its spec */
    int numbers;
    bool placed[APPS];  /* a log has had it since it was made */
    bool excused[APPS]; /* it may be nowhere, until it has an agent and all is quiet */
    /* What became of it since this agent was sent it as it is now. */
    enum fate { STAYED, NOBODYS, ENDED_OR_ANOTHERS } fates[APPS][AGENTS];
} m;

static size_t chance(size_t below)
{
    return lot_draw(&m.random, below);
}

static const char *key_of(size_t app)
{
    static const char *const keys[APPS] = {"Application/argocd/m0", "Application/argocd/m1",
                                           "Application/argocd/m2"};
    return keys[app];
}

static bool is_at(size_t app, size_t agent)
{
    return hub_sent(&m.hub, agents[agent], key_of(app)) != NULL;
}

/* Is it somewhere, as the object that it is now and not one of its name that was before? */
static bool is_somewhere(size_t app)
{
    const ab_object *o = fake_store_find(m.hub.store, key_of(app));
    for (size_t i = 0; i < AGENTS && o != NULL; i++) {
        ab_str uid = ab_object_uid(o);
        const ab_event *event = hub_sent(&m.hub, agents[i], key_of(app));
        ab_str id = event == NULL ? AB_STR_NONE : ab_event_attr(event, AB_CE_RESOURCEID);
        if (id.len > uid.len && memcmp(id.ptr + id.len - uid.len, uid.ptr, uid.len) == 0)
            return true;
    }
    return false;
}

static bool has_agent(size_t app)
{
    int to = m.destination[app];
    return to >= 0 && to != NOWHERE && m.hub.agents[to].served;
}

/* --- what happens --- */

static void leave_all_but(size_t app, size_t agent, enum fate fate)
{
    for (size_t i = 0; i < AGENTS; i++)
        if (i != agent && m.fates[app][i] < fate)
            m.fates[app][i] = fate;
}

static int number_in(const ab_event *event)
{
    ab_object *o;
    assert_int_equal(ab_object_parse(ab_event_data(event), &o, NULL), AB_ERR_OK);
    int n = spec_of(o);
    ab_object_unref(o);
    return n;
}

static void on_sent(const char *agent, const ab_event *event)
{
    size_t k = 0;
    bool ends = ab_event_data(event).ptr == NULL;
    while (strcmp(agents[k], agent) != 0)
        k++;
    for (size_t i = 0; i < APPS; i++) {
        if (!ab_str_is(ab_event_attr(event, AB_CE_PARTITIONKEY), key_of(i)))
            continue;
        bool orphan = ab_str_is(ab_event_attr(event, AB_CE_ORPHAN), "true");
        enum fate fate = m.fates[i][k];
        if (ends && (fate == STAYED || (fate == NOBODYS && !orphan)))
            fail_msg("seed %d: %s is deleted at %s: %s", (int)m.seed, key_of(i), agent,
                     orphan ? "without what it deployed" : "with what it deployed");
        if (!ends && number_in(event) == m.newest[i] && m.destination[i] == (int)k)
            m.fates[i][k] = STAYED;
    }
}

static void send_to(size_t app, size_t agent)
{
    char spec[80];
    if (m.destination[app] < 0) {
        put_app(m.hub.store, HUB_NAMESPACE, strrchr(key_of(app), '/') + 1, 1, "", "");
        m.placed[app] = false;
    }
    m.destination[app] = (int)agent;
    leave_all_but(app, agent, agent == NOWHERE ? NOBODYS : ENDED_OR_ANOTHERS);
    m.excused[app] |= !has_agent(app);
    snprintf(spec, sizeof(spec), "{\"n\":%d,\"destination\":{\"name\":\"%s\"}}",
             m.newest[app] = ++m.numbers, agents[agent]);
    set_field(m.hub.store, key_of(app), "spec", spec);
}

static void erase(size_t app)
{
    if (m.destination[app] < 0)
        return;
    fake_store_erase(m.hub.store, key_of(app));
    m.destination[app] = -1;
    m.placed[app] = false;
    leave_all_but(app, NOWHERE, ENDED_OR_ANOTHERS);
}

static void say(size_t app, size_t agent, int n)
{
    char data[300];
    const ab_object *o = fake_store_find(m.hub.store, key_of(app));
    if (o == NULL)
        return;
    snprintf(data, sizeof(data),
             "{\"metadata\":{\"annotations\":{\"" AB_ANN_SOURCE_UID
             "\":\"%.*s\"}},\"status\":{\"n\":%d}}",
             AB_STR_ARG(ab_object_uid(o)), n);
    hub_say(&m.hub, &(hub_word){.agent = agents[agent],
                                .key = key_of(app),
                                .subject = key_of(app) + strlen("Application/"),
                                .remapped = true,
                                .target = AB_TARGET_APPLICATION,
                                .type = AB_TYPE_STATUS_UPDATE,
                                .data = data,
                                .version = ++m.version});
}

/* What waited to be sent is lost with a principal, a log, or an agent that is taken away, and a
 * deletion that waited for an agent goes before the store is asked: until it is looked at again an
 * Application may be nowhere. */
static void excuse(void)
{
    for (size_t i = 0; i < APPS; i++)
        m.excused[i] = true;
}

static void change(void)
{
    size_t app = chance(APPS), agent = chance(AGENTS);
    switch (chance(13)) {
    case 0:
        erase(app);
        break;
    case 1:
        fleet_cut_or_mend(&m.hub, agents[agent]);
        excuse();
        break;
    case 2:
        fleet_take_or_bring(&m.hub, agents[agent]);
        excuse();
        break;
    case 3:
        hub_restart(&m.hub);
        excuse();
        break;
    case 4:
        m.hub.ms += 1000;
        ab_principal_tick(m.hub.principal);
        break;
    case 5:
    case 6:
        say(app, agent, (int)chance(1000));
        break;
    case 7:
        if (m.destination[app] >= 0)
            set_field(m.hub.store, key_of(app), "operation", "{\"n\":1}");
        break;
    case 8:
        fleet_lose_log(&m.hub, agents[agent]);
        excuse();
        break;
    default:
        send_to(app, chance(DESTINATIONS));
        break;
    }
}

/* One that has an agent and had a place is somewhere, or on its way. */
static void check_places(void)
{
    for (size_t i = 0; i < APPS; i++) {
        bool somewhere = is_somewhere(i);
        if (has_agent(i) && m.placed[i] && !m.excused[i] && !somewhere && !hub_is_sending(&m.hub))
            fail_msg("seed %d: %s is nowhere", (int)m.seed, key_of(i));
        m.placed[i] = m.destination[i] >= 0 && somewhere;
        m.excused[i] = m.excused[i] && (hub_choices(&m.hub) > 0 || !has_agent(i));
    }
}

static void check_end(void)
{
    for (size_t i = 0; i < APPS; i++) {
        for (size_t k = 0; k < AGENTS; k++)
            if (is_at(i, k) != (m.destination[i] == (int)k))
                fail_msg("seed %d: %s at %s: %d, destination %d", (int)m.seed, key_of(i), agents[k],
                         is_at(i, k), m.destination[i]);
        if (!has_agent(i))
            continue;
        size_t agent = (size_t)m.destination[i];
        m.version += 1000000;
        say(i, agent, 5000);
        hub_settle(&m.hub);
        say(i, (agent + 1) % AGENTS, 6000);
        hub_settle(&m.hub);
        hub_tick(&m.hub, 1000); /* the first write may have met a newer object */
        assert_int_equal(status_of(fake_store_find(m.hub.store, key_of(i))), 5000);
    }
    assert_true(hub_all_acknowledged(&m.hub));
}

static void run(uint64_t seed)
{
    memset(&m, 0, sizeof(m));
    m.random = m.seed = seed;
    hub_init(&m.hub);
    m.hub.destination_mapping = true;
    m.hub.on_sent = on_sent;
    for (size_t i = 0; i < AGENTS; i++)
        hub_add(&m.hub, agents[i]);
    for (size_t i = 0; i < APPS; i++) {
        m.destination[i] = -1;
        leave_all_but(i, NOWHERE, ENDED_OR_ANOTHERS);
    }
    hub_start(&m.hub);
    for (int i = 0; i < CHANGES; i++) {
        change();
        for (size_t k = chance(6); k > 0 && hub_choices(&m.hub) > 0; k--) {
            hub_step(&m.hub, chance(hub_choices(&m.hub)));
            check_places();
        }
    }
    fleet_mend(&m.hub);
    check_end();
    hub_fini(&m.hub);
}

static void every_history_ends_with_each_application_at_its_agent(void **state)
{
    (void)state;
    lot_each_seed(SEEDS, run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_history_ends_with_each_application_at_its_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
