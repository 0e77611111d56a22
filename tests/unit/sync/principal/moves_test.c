/* SPDX-License-Identifier: Apache-2.0
 *
 * Random histories: Applications that are made, moved between agents and deleted, while agents are
 * cut off, taken away and brought back and the principal is killed. At no moment is an Application
 * nowhere that had a place and has an agent; in the end each is at its agent alone.
 */
#include "schema/attributes.h"
#include "tests/unit/sync/world/edit.h"
#include "tests/unit/sync/world/hub.h"
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

static const char *const agents[AGENTS] = {"a1", "a2", "a3"};

static struct {
    hub hub;
    uint64_t seed;
    uint64_t random;
    uint64_t version;
    int destination[APPS]; /* -1: it does not exist */
    bool placed[APPS];     /* a log has had it since it was made */
    bool excused[APPS];    /* until all is quiet: it may be nowhere for a while */
} m;

static size_t chance(size_t below)
{
    m.random = m.random * 6364136223846793005U + 1442695040888963407U;
    return (size_t)(m.random >> 33) % below;
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

/* --- what happens --- */

static void send_to(size_t app, size_t agent)
{
    char spec[80];
    if (m.destination[app] < 0) {
        put_app(m.hub.store, HUB_NAMESPACE, strrchr(key_of(app), '/') + 1, 1, "", "");
        m.placed[app] = false;
    }
    m.destination[app] = (int)agent;
    m.excused[app] |= !m.hub.agents[agent].served; /* it has no agent then */
    snprintf(spec, sizeof(spec), "{\"n\":%d,\"destination\":{\"name\":\"%s\"}}", (int)chance(3),
             agents[agent]);
    set_field(m.hub.store, key_of(app), "spec", spec);
}

static void erase(size_t app)
{
    if (m.destination[app] < 0)
        return;
    fake_store_erase(m.hub.store, key_of(app));
    m.destination[app] = -1;
    m.placed[app] = false;
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

static void cut_or_mend(size_t agent)
{
    const struct hub_agent *a = &m.hub.agents[agent];
    if (a->served)
        hub_connect(&m.hub, agents[agent], !a->connected);
}

static void take_or_bring(size_t agent)
{
    if (m.hub.agents[agent].served)
        hub_remove(&m.hub, agents[agent]);
    else
        hub_add(&m.hub, agents[agent]);
}

/* What waited to be sent is lost with a principal, or with an agent that is taken away: until it is
 * looked at again an Application may be nowhere. */
static void excuse(void)
{
    for (size_t i = 0; i < APPS; i++)
        m.excused[i] = true;
}

static void change(void)
{
    size_t app = chance(APPS), agent = chance(AGENTS);
    switch (chance(12)) {
    case 0:
        erase(app);
        break;
    case 1:
        cut_or_mend(agent);
        break;
    case 2:
        take_or_bring(agent);
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
    default:
        send_to(app, agent);
        break;
    }
}

/* One that has an agent and had a place is somewhere, or on its way. */
static void check_places(void)
{
    for (size_t i = 0; i < APPS; i++) {
        bool somewhere = is_somewhere(i);
        bool has_agent = m.destination[i] >= 0 && m.hub.agents[m.destination[i]].served;
        if (has_agent && m.placed[i] && !m.excused[i] && !somewhere && !hub_is_sending(&m.hub))
            fail_msg("seed %d: %s is nowhere", (int)m.seed, key_of(i));
        m.placed[i] = m.destination[i] >= 0 && somewhere;
        m.excused[i] = m.excused[i] && hub_choices(&m.hub) > 0;
    }
}

static void mend_everything(void)
{
    for (size_t i = 0; i < AGENTS; i++) {
        if (!m.hub.agents[i].served)
            hub_add(&m.hub, agents[i]);
        else if (!m.hub.agents[i].connected)
            hub_connect(&m.hub, agents[i], true);
    }
    hub_settle(&m.hub);
    for (int i = 0; i < 70; i++)
        hub_tick(&m.hub, 1000);
}

static void check_end(void)
{
    for (size_t i = 0; i < APPS; i++) {
        for (size_t k = 0; k < AGENTS; k++)
            if (is_at(i, k) != (m.destination[i] == (int)k))
                fail_msg("seed %d: %s at %s: %d, destination %d", (int)m.seed, key_of(i), agents[k],
                         is_at(i, k), m.destination[i]);
        if (m.destination[i] < 0)
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
    for (size_t i = 0; i < AGENTS; i++)
        hub_add(&m.hub, agents[i]);
    for (size_t i = 0; i < APPS; i++)
        m.destination[i] = -1;
    hub_start(&m.hub);
    for (int i = 0; i < CHANGES; i++) {
        change();
        for (size_t k = chance(6); k > 0 && hub_choices(&m.hub) > 0; k--) {
            hub_step(&m.hub, chance(hub_choices(&m.hub)));
            check_places();
        }
    }
    mend_everything();
    check_end();
    hub_fini(&m.hub);
}

static void every_history_ends_with_each_application_at_its_agent(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        run(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_history_ends_with_each_application_at_its_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
