/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/writer.h"

#include "schema/attributes.h"
#include "schema/catalogue.h"
#include "tests/unit/sync/world/samples.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define KEY AB_STR("Application/w1/a")

struct desk {
    ab_writer *w;
    int64_t ms;
    ab_clock clock;
    int safe;
};

static void on_safe(void *arg, void *token)
{
    (void)arg;
    ++*(int *)token;
}

static int setup(void **state)
{
    static struct desk d;
    d = (struct desk){.ms = 5};
    d.clock = sample_clock(&d.ms);
    d.w = ab_writer_new(&(ab_writer_env){&d.clock, AB_SOURCE_PRINCIPAL, "w1", on_safe, NULL, NULL});
    *state = &d;
    return d.w == NULL;
}

static int ready(void **state)
{
    if (setup(state) != 0)
        return 1;
    ab_writer_ready(((struct desk *)*state)->w, 3);
    return 0;
}

static int teardown(void **state)
{
    ab_writer_free(((struct desk *)*state)->w);
    return 0;
}

static ab_digest digest_of(const char *text)
{
    ab_digest digest;
    assert_int_equal(ab_digest_of(ab_str_of(text), &digest), AB_ERR_OK);
    return digest;
}

static ab_event_draft draft_of(const char *data)
{
    ab_event_draft draft = {.data = ab_str_of(data)};
    ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(AB_TYPE_SPEC_UPDATE));
    return draft;
}

static void say(struct desk *d, const char *data)
{
    ab_event_draft draft = draft_of(data);
    ab_digest digest = digest_of(data);
    assert_int_equal(ab_writer_state(d->w, KEY, KEY, &draft, &digest, &d->safe), AB_ERR_OK);
}

static void end(struct desk *d)
{
    ab_event_draft draft = draft_of("ignored");
    assert_int_equal(ab_writer_end(d->w, KEY, KEY, &draft, &d->safe), AB_ERR_OK);
}

static void command(struct desk *d, const char *id)
{
    ab_event_draft draft = draft_of("{}");
    assert_int_equal(ab_writer_command(d->w, ab_str_of(id), KEY, &draft), AB_ERR_OK);
}

static void learn(struct desk *d, const char *key, const char *content)
{
    char hex[AB_DIGEST_HEX];
    ab_digest digest = digest_of(content);
    ab_digest_format(&digest, hex);
    ab_event_draft draft = draft_of(NULL);
    ab_event *head;
    ab_event_set_text(&draft, AB_CE_ID, "1");
    ab_event_set_text(&draft, AB_CE_SOURCE, "/x");
    ab_event_set_text(&draft, AB_CE_PARTITIONKEY, key);
    ab_event_set_text(&draft, AB_CE_CONTENTHASH, hex);
    assert_int_equal(ab_event_new(&draft, &head, NULL), AB_ERR_OK);
    assert_int_equal(ab_writer_learn(d->w, head), AB_ERR_OK);
    ab_event_unref(head);
}

/* The next event that is sent, to be released; NULL when there is none. */
static ab_event *sent(struct desk *d)
{
    ab_outgoing *g = ab_outbox_next(ab_writer_outbox(d->w), 0);
    if (g == NULL)
        return NULL;
    ab_event *event = ab_event_ref(ab_outgoing_event(g));
    ab_outbox_done(ab_writer_outbox(d->w), g, AB_ERR_OK, 0);
    return event;
}

static uint64_t version_of(const ab_event *event)
{
    uint64_t version = 0;
    assert_int_equal(ab_event_attr_u64(event, AB_CE_OBJVERSION, &version), AB_ERR_OK);
    return version;
}

static void only_differences_are_sent(void **state)
{
    struct desk *d = *state;
    say(d, "one");
    ab_event_unref(sent(d));
    assert_int_equal(d->safe, 1);
    say(d, "one");
    assert_null(sent(d));
    assert_int_equal(d->safe, 2);
    say(d, "two");
    ab_event *event = sent(d);
    assert_true(ab_str_is(ab_event_data(event), "two"));
    ab_event_unref(event);
}

static void what_the_log_has_is_not_sent_after_a_restart(void **state)
{
    struct desk *d = *state;
    learn(d, "Application/w1/a", "one");
    assert_false(ab_writer_is_ready(d->w));
    ab_writer_ready(d->w, 4);
    say(d, "one");
    assert_null(sent(d));
    say(d, "two");
    ab_event_unref(sent(d));
}

static void an_event_is_stamped(void **state)
{
    struct desk *d = *state;
    char hex[AB_DIGEST_HEX];
    ab_digest digest = digest_of("one");
    ab_digest_format(&digest, hex);
    say(d, "one");
    ab_event *event = sent(d);
    uint64_t epoch, version;
    char id[64];
    assert_int_equal(ab_event_attr_u64(event, AB_CE_WRITEREPOCH, &epoch), AB_ERR_OK);
    assert_int_equal(ab_event_attr_u64(event, AB_CE_OBJVERSION, &version), AB_ERR_OK);
    assert_int_equal(epoch, 3);
    assert_true(ab_str_is(ab_event_attr(event, AB_CE_SOURCE), AB_SOURCE_PRINCIPAL));
    assert_true(ab_str_eq(ab_event_attr(event, AB_CE_PARTITIONKEY), KEY));
    assert_true(ab_str_is(ab_event_attr(event, AB_CE_CONTENTHASH), hex));
    assert_true(ab_str_is(ab_event_attr(event, AB_CE_DATACONTENTTYPE), "application/json"));
    snprintf(id, sizeof(id), "w1.3.%" PRIu64, version);
    assert_true(ab_str_is(ab_event_attr(event, AB_CE_ID), id));
    ab_event_unref(event);
}

static void versions_rise_also_when_the_clock_goes_back(void **state)
{
    struct desk *d = *state;
    uint64_t last = 0;
    static const int64_t clock[] = {50, 50, 10, 60};
    static const char *const data[] = {"1", "2", "3", "4"};
    for (size_t i = 0; i < 4; i++) {
        d->ms = clock[i];
        say(d, data[i]);
        ab_event *event = sent(d);
        assert_true(version_of(event) > last);
        last = version_of(event);
        ab_event_unref(event);
    }
}

static void an_end_is_a_tombstone_and_only_for_what_the_log_has(void **state)
{
    struct desk *d = *state;
    end(d);
    assert_null(sent(d));
    assert_int_equal(d->safe, 1);
    say(d, "one");
    ab_event_unref(sent(d));
    end(d);
    ab_event *event = sent(d);
    assert_non_null(event);
    assert_null(ab_event_data(event).ptr);
    ab_event_unref(event);
    assert_false(ab_writer_has_key(d->w, KEY));
    end(d);
    assert_null(sent(d));
}

static void the_same_content_after_an_end_is_sent(void **state)
{
    struct desk *d = *state;
    say(d, "one");
    ab_event_unref(sent(d));
    end(d);
    say(d, "one");
    ab_event *event = sent(d);
    assert_true(ab_str_is(ab_event_data(event), "one"));
    ab_event_unref(event);
    assert_null(sent(d));
}

static void what_is_to_be_sent_again_is_still_confirmed(void **state)
{
    struct desk *d = *state;
    say(d, "{}");
    ab_writer_repeat(d->w, KEY);
    assert_true(ab_writer_is_confirmed_owned(d->w, KEY));
}

static void a_command_is_sent_once_while_the_log_has_it(void **state)
{
    struct desk *d = *state;
    command(d, "c1");
    command(d, "c1");
    ab_event *event = sent(d);
    assert_true(ab_str_is(ab_event_attr(event, AB_CE_ID), "c1"));
    assert_true(ab_str_is(ab_event_attr(event, AB_CE_PARTITIONKEY), AB_KEY_COMMAND "c1"));
    ab_event_unref(event);
    command(d, "c1");
    assert_null(sent(d));
}

static void a_command_that_the_log_has_is_not_sent_after_a_restart(void **state)
{
    struct desk *d = *state;
    learn(d, AB_KEY_COMMAND "c1", "");
    ab_writer_ready(d->w, 4);
    command(d, "c1");
    assert_null(sent(d));
}

static void a_command_waits_behind_the_state_it_follows(void **state)
{
    struct desk *d = *state;
    say(d, "one");
    command(d, "c1");
    say(d, "two");
    static const char *const expected[] = {"one", "{}", "two"};
    for (size_t i = 0; i < 3; i++) {
        ab_event *event = sent(d);
        assert_non_null(event);
        assert_true(ab_str_is(ab_event_data(event), expected[i]));
        ab_event_unref(event);
    }
}

static void a_command_with_an_id_that_fits_no_key_is_refused(void **state)
{
    struct desk *d = *state;
    char id[300];
    for (size_t i = 0; i < sizeof(id); i++)
        id[i] = i + 1 == sizeof(id) ? '\0' : 'x';
    ab_event_draft draft = draft_of("{}");
    assert_int_equal(ab_writer_command(d->w, ab_str_of(id), KEY, &draft), AB_ERR_TOOBIG);
}

static void after_a_loss_of_the_log_everything_is_sent_again(void **state)
{
    struct desk *d = *state;
    say(d, "one");
    command(d, "c1");
    ab_event_unref(sent(d));
    ab_event_unref(sent(d));
    ab_writer_forget(d->w);
    assert_false(ab_writer_is_ready(d->w));
    ab_writer_ready(d->w, 4);
    say(d, "one");
    command(d, "c1");
    ab_event *event = sent(d);
    uint64_t epoch;
    assert_int_equal(ab_event_attr_u64(event, AB_CE_WRITEREPOCH, &epoch), AB_ERR_OK);
    assert_int_equal(epoch, 4);
    ab_event_unref(event);
    event = sent(d);
    assert_non_null(event);
    ab_event_unref(event);
}

static void assert_epoch(struct desk *d, const char *content, uint64_t expected)
{
    uint64_t epoch = 0;
    say(d, content);
    ab_event *event = sent(d);
    assert_int_equal(ab_event_attr_u64(event, AB_CE_WRITEREPOCH, &epoch), AB_ERR_OK);
    assert_int_equal(epoch, expected);
    ab_event_unref(event);
}

static void an_epoch_that_was_begun_is_not_left_for_an_older_one(void **state)
{
    struct desk *d = *state;
    assert_epoch(d, "one", 3);
    ab_writer_begin_epoch(d->w);
    assert_epoch(d, "two", 4);
    ab_writer_ready(d->w, 3);
    assert_epoch(d, "three", 4);
    ab_writer_ready(d->w, 7);
    assert_epoch(d, "four", 7);
}

static void a_head_without_a_readable_digest_counts_as_different(void **state)
{
    struct desk *d = *state;
    ab_event *head = sample_event("Application/w1/a", NULL, 1);
    assert_int_equal(ab_writer_learn(d->w, head), AB_ERR_OK);
    ab_event_unref(head);
    ab_writer_ready(d->w, 4);
    assert_true(ab_writer_has_key(d->w, KEY));
    say(d, "one");
    ab_event_unref(sent(d));
}

static size_t visited;

static void end_it(void *arg, ab_str key)
{
    struct desk *d = arg;
    ab_event_draft draft = draft_of(NULL);
    visited++;
    assert_int_equal(ab_writer_end(d->w, key, key, &draft, NULL), AB_ERR_OK);
    assert_true(ab_str_starts(key, "Application/w1/"));
}

static void keys_of_a_prefix_may_be_ended_while_they_are_visited(void **state)
{
    struct desk *d = *state;
    learn(d, "Application/w1/a", "1");
    learn(d, "Application/w1/b", "2");
    learn(d, AB_KEY_COMMAND "c", "3");
    ab_writer_ready(d->w, 4);
    visited = 0;
    ab_writer_each(d->w, "Application/", end_it, d);
    assert_int_equal(visited, 2);
    assert_false(ab_writer_has_key(d->w, KEY));
    assert_true(ab_writer_has_key(d->w, AB_STR(AB_KEY_COMMAND "c")));
    assert_int_equal(ab_outbox_count(ab_writer_outbox(d->w)), 2);
}

static ab_version version_of_next(struct desk *d)
{
    ab_version version;
    ab_outgoing *g = ab_outbox_next(ab_writer_outbox(d->w), d->ms);
    assert_non_null(g);
    assert_int_equal(ab_version_of(ab_outgoing_event(g), &version, NULL), AB_ERR_OK);
    ab_outbox_done(ab_writer_outbox(d->w), g, AB_ERR_OK, d->ms);
    return version;
}

static void the_next_event_has_the_version_that_was_reserved(void **state)
{
    struct desk *d = *state;
    ab_version reserved = ab_writer_reserve(d->w);
    d->ms += 100;
    assert_int_equal(ab_version_cmp(ab_writer_reserve(d->w), reserved), 0);
    say(d, "{\"n\":1}");
    assert_int_equal(ab_version_cmp(version_of_next(d), reserved), 0);
    assert_true(ab_version_cmp(ab_writer_reserve(d->w), reserved) > 0);
}

static void what_waits_counts_as_in_the_log_after_it_was_lost(void **state)
{
    struct desk *d = *state;
    say(d, "{\"n\":1}");
    ab_writer_forget(d->w);
    ab_writer_ready(d->w, 4);
    assert_true(ab_writer_has_key(d->w, KEY));
    end(d); /* or the waiting state would come and stay */
    assert_null(
        ab_event_data(ab_outgoing_event(ab_outbox_next(ab_writer_outbox(d->w), d->ms))).ptr);
}

static void what_ends_while_it_waits_is_not_in_the_log(void **state)
{
    struct desk *d = *state;
    say(d, "{\"n\":1}");
    end(d);
    ab_writer_forget(d->w);
    ab_event *head = sample_event("Application/w1/a", NULL, 1);
    assert_int_equal(ab_writer_learn(d->w, head), AB_ERR_OK);
    ab_event_unref(head);
    ab_writer_ready(d->w, 4);
    assert_false(ab_writer_has_key(d->w, KEY));
}

static void answer(struct desk *d)
{
    ab_event_draft draft = draft_of("{}");
    ab_digest digest = digest_of("{}");
    assert_int_equal(ab_writer_state(d->w, AB_STR("ack/1"), KEY, &draft, &digest, NULL), AB_ERR_OK);
}

static void end_answer(struct desk *d)
{
    ab_event_draft draft = draft_of(NULL);
    assert_int_equal(ab_writer_end_anyway(d->w, AB_STR("ack/1"), AB_STR("ack/1"), &draft, NULL),
                     AB_ERR_OK);
}

/* The end of a former answer under its own key, the answer in its object's lane, which was there
 * before. */
static void of_one_key_in_two_lanes_the_newer_counts(void **state)
{
    struct desk *d = *state;
    say(d, "{}");
    end_answer(d);
    answer(d);
    uint64_t newest = ab_writer_newest(d->w).version;
    ab_writer_forget(d->w);
    ab_writer_ready(d->w, 4);
    assert_true(ab_writer_has_key(d->w, AB_STR("ack/1")));
    assert_true(ab_writer_version_of(d->w, AB_STR("ack/1")).version == newest);
}

#define NEW(f)   cmocka_unit_test_setup_teardown(f, setup, teardown)
#define READY(f) cmocka_unit_test_setup_teardown(f, ready, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        READY(only_differences_are_sent),
        NEW(what_the_log_has_is_not_sent_after_a_restart),
        READY(an_event_is_stamped),
        READY(versions_rise_also_when_the_clock_goes_back),
        READY(an_end_is_a_tombstone_and_only_for_what_the_log_has),
        READY(the_same_content_after_an_end_is_sent),
        READY(what_is_to_be_sent_again_is_still_confirmed),
        READY(a_command_is_sent_once_while_the_log_has_it),
        NEW(a_command_that_the_log_has_is_not_sent_after_a_restart),
        READY(a_command_waits_behind_the_state_it_follows),
        READY(a_command_with_an_id_that_fits_no_key_is_refused),
        READY(after_a_loss_of_the_log_everything_is_sent_again),
        READY(an_epoch_that_was_begun_is_not_left_for_an_older_one),
        NEW(a_head_without_a_readable_digest_counts_as_different),
        READY(the_next_event_has_the_version_that_was_reserved),
        READY(what_waits_counts_as_in_the_log_after_it_was_lost),
        READY(of_one_key_in_two_lanes_the_newer_counts),
        READY(what_ends_while_it_waits_is_not_in_the_log),
        NEW(keys_of_a_prefix_may_be_ended_while_they_are_visited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
