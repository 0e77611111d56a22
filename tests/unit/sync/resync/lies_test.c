/* SPDX-License-Identifier: Apache-2.0
 *
 * Bad inventories: pages that are missing, come twice, are of another resync, of another agent, not
 * what was announced, or not what the log says. The test speaks in place of one end. Whatever it
 * says, the other end deletes nothing that its store has.
 */
#include "schema/attributes.h"
#include "schema/catalogue.h"
#include "schema/epoch.h"
#include "sync/resync/message.h"
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GHOST     "Application/w1/ghost"
#define PAGES_MAX 256

/* What is told, and the resync that it is told in. */
static struct {
    fake_log *out;
    const char *source;
    size_t pages;
    ab_inventory *inv;
    ab_inventory *announced; /* as the first page, in place of what that has; NULL: nothing */
    ab_version held;         /* of each object that it claims to have */
    ab_version newest;       /* of all that it claims to have */
    ab_digest digests[PAGES_MAX];
    ab_resync_want want; /* pages of the other end, when it answers */
    char id[AB_RESYNC_ID_MAX];
    ab_resync_step heard; /* the last step of the other end */
    uint64_t version;
} liar;

static int begin(void **state)
{
    (void)setup(state);
    w.resyncs = true;
    memset(&liar, 0, sizeof(liar));
    liar.pages = 1;
    liar.held = (ab_version){1, 1};
    return 0;
}

static int end(void **state)
{
    ab_inventory_free(liar.inv);
    return teardown(state);
}

/* --- speaking --- */

static void say(const char *key, ab_type type, ab_buf *data)
{
    ab_event *event = NULL;
    ab_event_draft d = {.data = ab_buf_str(data)};
    ab_event_set_text(&d, AB_CE_ID, "lie");
    ab_event_set_text(&d, AB_CE_SOURCE, liar.source);
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(type));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_RESYNC));
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, key);
    ab_event_set_text(&d, AB_CE_PRINCIPALUID, "principal-1");
    ab_event_set_u64(&d, AB_CE_WRITEREPOCH, 100);
    ab_event_set_u64(&d, AB_CE_OBJVERSION, ++liar.version);
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    fake_log_append(liar.out, event);
    ab_event_unref(event);
    ab_buf_fini(data);
}

static void say_step(ab_resync_step step)
{
    ab_buf data;
    ab_resync_message r = {
        .step = step,
        .id = ab_str_of(liar.id),
        .namespace = AB_STR(WORLD_AGENT_NAMESPACE),
        .summary = {ab_inventory_sum(liar.inv).count, liar.pages, liar.digests, liar.newest},
        .want = liar.want};
    ab_buf_init(&data, AB_EVENT_DATA_MAX);
    ab_resync_message_encode(&r, &data);
    say(AB_KEY_RESYNC, AB_TYPE_RESYNC, &data);
    world_settle(&w);
}

static void say_nth_page(ab_inventory *inv, size_t page, const char *id)
{
    ab_buf data;
    char key[sizeof(AB_KEY_INVENTORY) + 8];
    snprintf(key, sizeof(key), AB_KEY_INVENTORY "%zu", page);
    ab_buf_init(&data, AB_EVENT_DATA_MAX);
    ab_resync_message_encode(
        &(ab_resync_message){
            .step = AB_RESYNC_PAGE, .id = ab_str_of(id), .page = page, .inventory = inv},
        &data);
    say(key, AB_TYPE_INVENTORY, &data);
    world_settle(&w);
}

static void say_page(ab_inventory *inv, const char *id)
{
    say_nth_page(inv, 0, id);
}

static ab_inventory *inventory_of(const char *const *keys, size_t count)
{
    ab_inventory *inv = ab_inventory_new();
    assert_non_null(inv);
    for (size_t i = 0; i < count; i++) {
        ab_inventory_entry entry = {.key = ab_str_of(keys[i]), .version = liar.held};
        ab_inventory_add(inv, &entry);
    }
    assert_int_equal(ab_inventory_divide(inv, liar.pages), AB_ERR_OK);
    return inv;
}

static void claim(const char *const *keys, size_t count)
{
    liar.inv = inventory_of(keys, count);
    for (size_t i = 0; i < liar.pages; i++)
        liar.digests[i] = ab_inventory_sum(liar.inv).digests[i];
    if (liar.announced != NULL)
        liar.digests[0] = ab_inventory_sum(liar.announced).digests[0];
}

/* --- listening --- */

static void note_step(void *arg, const ab_event *head)
{
    (void)arg;
    ab_resync_message *r = NULL;
    if (!ab_str_is(ab_event_attr(head, AB_CE_PARTITIONKEY), AB_KEY_RESYNC))
        return;
    assert_int_equal(ab_resync_message_decode(ab_event_data(head), &r, NULL), AB_ERR_OK);
    snprintf(liar.id, sizeof(liar.id), "%.*s", AB_STR_ARG(r->id));
    liar.heard = r->step;
    ab_resync_message_free(r);
}

static void listen(const fake_log *log, ab_resync_step expected)
{
    fake_log_heads(log, note_step, NULL);
    assert_int_equal(liar.heard, expected);
}

static double resyncs(void)
{
    return world_count(w.principal_metrics, "argobus_resyncs_total");
}

/* --- in place of the agent --- */

static const char *const ghost[] = {GHOST};
static const char *const ghosts[] = {GHOST, GHOST "2"};

/* The agent has gone; the principal is told that this is what it holds. */
static void answer(const char *const *keys, size_t count)
{
    world_crash_agent(&w);
    liar.out = w.up;
    liar.source = AB_SOURCE_AGENT WORLD_HUB_NAMESPACE;
    claim(keys, count);
    assert_int_equal(ab_principal_resync(w.principal, "w1", "test"), AB_ERR_OK);
    world_settle(&w);
    listen(w.down, AB_RESYNC_BEGIN);
    say_step(AB_RESYNC_ANSWER);
}

/* ... and wants to see it. */
static void answer_with(const char *const *keys, size_t count)
{
    answer(keys, count);
    listen(w.down, AB_RESYNC_WANT);
}

/* The agent is back: both agree, and have what they had. */
static void assert_unharmed(void)
{
    assert_int_equal(spec_of(hub()), 1);
    world_start_agent(&w);
    world_run(&w, 60);
    assert_int_equal(spec_of(hub()), 1);
    assert_int_equal(spec_of(local()), 1);
    assert_false(has_head(w.down, GHOST));
    assert_at_rest();
}

static void a_page_that_never_comes_ends_the_resync_and_the_next_one_succeeds(void **state)
{
    (void)state;
    placed("");
    double before = resyncs();
    answer_with(ghost, 1);
    world_run(&w, 40);
    assert_true(resyncs() <= before);
    assert_true(has_head(w.down, HUB));
    assert_unharmed();
    assert_true(resyncs() > before);
}

static void a_page_that_comes_twice_counts_once(void **state)
{
    static const char *const elsewhere[] = {GHOST "1"};
    (void)state;
    placed("");
    double before = resyncs();
    liar.pages = 2;
    answer_with(elsewhere, 1);
    /* Both differ: the agent's one entry is on one of them, and what it lacks on the other. */
    assert_int_not_equal(ab_inventory_page_of(ab_str_of(elsewhere[0]), 2),
                         ab_inventory_page_of(AB_STR(HUB), 2));
    say_nth_page(liar.inv, 0, liar.id);
    say_nth_page(liar.inv, 0, liar.id);
    listen(w.down, AB_RESYNC_WANT);
    say_nth_page(liar.inv, 1, liar.id);
    listen(w.down, AB_RESYNC_END);
    size_t events = fake_log_appended(w.down);
    say_nth_page(liar.inv, 1, liar.id);
    assert_int_equal(fake_log_appended(w.down), events);
    assert_true(resyncs() <= before + 1);
    assert_unharmed();
}

static void a_page_of_another_resync_is_passed_over(void **state)
{
    (void)state;
    placed("");
    answer_with(ghost, 1);
    say_page(liar.inv, "00000000-0000-4000-8000-000000000000");
    listen(w.down, AB_RESYNC_WANT);
    say_page(liar.inv, liar.id);
    listen(w.down, AB_RESYNC_END);
    assert_unharmed();
}

static void a_page_that_is_not_what_was_announced_is_passed_over(void **state)
{
    (void)state;
    placed("");
    answer_with(ghost, 1);
    ab_inventory *other = inventory_of(ghosts, 2);
    say_page(other, liar.id);
    ab_inventory_free(other);
    listen(w.down, AB_RESYNC_WANT);
    assert_true(has_head(w.down, HUB));
    assert_unharmed();
}

/* It would be looked for on its own page, and not be found there. */
static void a_page_with_what_belongs_to_another_page_is_passed_over(void **state)
{
    static const char *const misplaced[] = {GHOST "1"};
    (void)state;
    placed("");
    assert_int_equal(ab_inventory_page_of(AB_STR(HUB), 2), 0);
    assert_int_equal(ab_inventory_page_of(ab_str_of(misplaced[0]), 2), 1);
    ab_inventory *all = inventory_of(misplaced, 1);
    liar.pages = 2;
    liar.announced = all;
    answer_with(NULL, 0);
    say_page(all, liar.id);
    ab_inventory_free(all);
    listen(w.down, AB_RESYNC_WANT);
    assert_unharmed();
}

static void a_page_of_another_agent_is_passed_over(void **state)
{
    (void)state;
    placed("");
    answer_with(ghost, 1);
    assert_int_equal(ab_principal_add_agent(w.principal, "w2"), AB_ERR_OK);
    ab_principal_set_mode(w.principal, "w2", AB_MANAGED);
    ab_principal_caught_up(w.principal, "w2");
    ab_principal_ready(w.principal, "w2", 1);
    liar.out = fake_log_new();
    say_page(liar.inv, liar.id);
    fake_delivery *d = fake_log_next(liar.out);
    ab_principal_deliver(w.principal, "w2", fake_delivery_event(d), d);
    world_settle(&w);
    fake_log_free(liar.out);
    listen(w.down, AB_RESYNC_WANT);
    ab_principal_remove_agent(w.principal, "w2");
    assert_unharmed();
}

static void an_agent_that_claims_to_have_nothing_is_told_all_again(void **state)
{
    (void)state;
    placed("");
    size_t events = fake_log_appended(w.down);
    answer_with(NULL, 0);
    say_page(liar.inv, liar.id);
    listen(w.down, AB_RESYNC_END);
    assert_true(has_head(w.down, HUB));
    assert_int_equal(fake_log_appended(w.down), events + 4); /* three steps, and the object */
    assert_unharmed();
}

static void an_agent_that_claims_what_nobody_made_changes_nothing_else(void **state)
{
    static const char *const both[] = {HUB, GHOST};
    (void)state;
    placed("");
    size_t events = fake_log_appended(w.down);
    answer_with(both, 2);
    say_page(liar.inv, liar.id);
    listen(w.down, AB_RESYNC_END);
    /* Three steps, the object, as it claims to have it otherwise, and the end of the other one. */
    assert_int_equal(fake_log_appended(w.down), events + 5);
    assert_true(has_head(w.down, HUB));
    assert_unharmed();
}

static void note_epoch(void *arg, const ab_event *head)
{
    if (ab_str_is(ab_event_attr(head, AB_CE_PARTITIONKEY), HUB))
        assert_int_equal(ab_event_attr_u64(head, AB_CE_WRITEREPOCH, arg), AB_ERR_OK);
}

/* Our epoch would be above it, at the end of the numbers, for as long as we run. */
static void an_agent_that_claims_an_epoch_that_cannot_be_does_not_raise_ours(void **state)
{
    uint64_t epoch = 0;
    (void)state;
    placed("");
    liar.newest = (ab_version){UINT64_MAX - 1, 1};
    answer(ghost, 1);
    listen(w.down, AB_RESYNC_BEGIN);
    set_spec(w.hub, HUB, 2);
    world_settle(&w);
    fake_log_heads(w.down, note_epoch, &epoch);
    assert_in_range(epoch, 1, AB_EPOCH_AHEAD);
    set_spec(w.hub, HUB, 1);
    assert_unharmed();
}

/* Their keys are as long as they may be: pages of 39 MiB in the principal's memory. */
static void an_agent_that_claims_more_than_can_be_held_is_given_up(void **state)
{
    enum { COUNT = 120000, KEY = sizeof("Application/w1/") + 253 };
    (void)state;
    placed("");
    char(*texts)[KEY] = calloc(COUNT, KEY);
    const char **keys = calloc(COUNT, sizeof(*keys));
    assert_non_null(texts);
    assert_non_null(keys);
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(texts[i], KEY, "Application/w1/%0253zu", i);
        keys[i] = texts[i];
    }
    liar.pages = PAGES_MAX;
    answer_with(keys, COUNT);
    for (size_t i = 0; i < liar.pages; i++)
        say_nth_page(liar.inv, i, liar.id);
    listen(w.down, AB_RESYNC_WANT); /* and no end */
    free(keys);
    free(texts);
    assert_unharmed();
    /* It counts for one resync only. */
    ab_inventory_free(liar.inv);
    liar.pages = 1;
    answer_with(NULL, 0);
    say_page(liar.inv, liar.id);
    listen(w.down, AB_RESYNC_END);
    assert_unharmed();
}

/* All of the store is read before the agent has taken its pages: what was compared without it was
 * not judged, and proves nothing in the next resync. */
static void
what_was_compared_before_the_store_was_read_is_not_known_to_have_been_there(void **state)
{
    static const uint16_t first[] = {0};
    (void)state;
    placed("");
    world_crash_principal(&w);
    w.hidden = "Application/w1/unreadable";
    world_start_principal(&w);
    world_settle(&w);
    liar.held = (ab_version){50, 1}; /* newer than what the watermark covers */
    liar.want = (ab_resync_want){1, first};
    answer_with(ghost, 1);
    say_page(liar.inv, liar.id);
    world_unhide(&w);
    world_settle(&w);
    listen(w.down, AB_RESYNC_WANT);
    say_step(AB_RESYNC_TAKEN);
    listen(w.down, AB_RESYNC_BEGIN);
    say_step(AB_RESYNC_ANSWER);
    say_page(liar.inv, liar.id);
    say_step(AB_RESYNC_TAKEN);
    listen(w.down, AB_RESYNC_END);
    assert_int_equal(held_deletions(), 1);
    assert_unharmed();
}

/* --- in place of the principal --- */

static void begin_with(const char *const *keys, size_t count)
{
    world_crash_principal(&w);
    liar.out = w.down;
    liar.source = AB_SOURCE_PRINCIPAL;
    claim(keys, count);
    snprintf(liar.id, sizeof(liar.id), "a-lie");
    say_step(AB_RESYNC_BEGIN);
    listen(w.up, AB_RESYNC_ANSWER);
}

static void assert_agent_unharmed(uint64_t writes)
{
    assert_int_equal(fake_store_changes(w.local), writes);
    assert_true(has_head(w.up, LOCAL));
    world_start_principal(&w);
    world_run(&w, 60);
    assert_int_equal(spec_of(hub()), 1);
    assert_int_equal(spec_of(local()), 1);
    assert_at_rest();
}

static void lie_as_principal(void)
{
    uint64_t writes = fake_store_changes(w.local);
    begin_with(ghost, 1);
    say_page(liar.inv, "00000000-0000-4000-8000-000000000000");
    listen(w.up, AB_RESYNC_ANSWER);
    ab_inventory *other = inventory_of(ghosts, 2);
    say_page(other, liar.id);
    ab_inventory_free(other);
    listen(w.up, AB_RESYNC_ANSWER);
    say_page(liar.inv, liar.id);
    listen(w.up, AB_RESYNC_TAKEN);
    say_page(liar.inv, liar.id);
    listen(w.up, AB_RESYNC_TAKEN);
    assert_agent_unharmed(writes);
}

static void a_managed_agent_believes_no_page_that_is_wrong(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", "{\"n\":5}");
    world_settle(&w);
    lie_as_principal();
    assert_int_equal(status_of(hub()), 5);
}

static void an_autonomous_agent_believes_no_page_that_is_wrong(void **state)
{
    (void)state;
    w.policy.autonomous = true;
    w.mode = AB_AUTONOMOUS;
    put_app(w.local, "argocd", "a", 1, "", "");
    world_start(&w);
    assert_int_equal(spec_of(hub()), 1);
    lie_as_principal();
}

static void an_autonomous_agent_whose_principal_claims_to_have_nothing_says_all_again(void **state)
{
    (void)state;
    w.policy.autonomous = true;
    w.mode = AB_AUTONOMOUS;
    put_app(w.local, "argocd", "a", 1, "", "");
    world_start(&w);
    uint64_t writes = fake_store_changes(w.local);
    size_t events = fake_log_appended(w.up);
    begin_with(NULL, 0);
    say_page(liar.inv, liar.id);
    listen(w.up, AB_RESYNC_TAKEN);
    assert_int_equal(fake_log_appended(w.up), events + 3); /* two steps, and the object */
    assert_agent_unharmed(writes);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_page_that_never_comes_ends_the_resync_and_the_next_one_succeeds),
        CASE(a_page_that_comes_twice_counts_once),
        CASE(a_page_of_another_resync_is_passed_over),
        CASE(a_page_that_is_not_what_was_announced_is_passed_over),
        CASE(a_page_with_what_belongs_to_another_page_is_passed_over),
        CASE(a_page_of_another_agent_is_passed_over),
        CASE(an_agent_that_claims_to_have_nothing_is_told_all_again),
        CASE(an_agent_that_claims_what_nobody_made_changes_nothing_else),
        CASE(an_agent_that_claims_an_epoch_that_cannot_be_does_not_raise_ours),
        CASE(an_agent_that_claims_more_than_can_be_held_is_given_up),
        CASE(what_was_compared_before_the_store_was_read_is_not_known_to_have_been_there),
        CASE(a_managed_agent_believes_no_page_that_is_wrong),
        CASE(an_autonomous_agent_believes_no_page_that_is_wrong),
        CASE(an_autonomous_agent_whose_principal_claims_to_have_nothing_says_all_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
