/* SPDX-License-Identifier: Apache-2.0
 *
 * When the position of which agent is asked for. No broker answers here: what is under way stays
 * so.
 */
#include "transport/kafka/positions_priv.h"

#include "tests/unit/transport/kafka/unconnected.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define LINKS         40
#define UNDER_WAY_MAX 32
#define REST_MS       10000
#define IDLE_MS       60000

typedef struct {
    ab_unconnected u;
    ab_kafka *k;
    ab_kafka_link *links[LINKS]; /* each is asked about as soon as may be */
} fixture;

static int set_up(void **state)
{
    static fixture f;
    f = (fixture){.k = &f.u.kafka};
    ab_unconnected_open(&f.u, NULL);
    f.k->running = true;
    ab_link_init(&f.k->ask_soon);
    ab_link_init(&f.k->ask_later);
    ab_link_init(&f.k->ask_under_way);
    for (int i = 0; i < LINKS; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "a%d", i);
        assert_int_equal(ab_kafka_link_new(f.k, name, &f.links[i], NULL), AB_ERR_OK);
        ab_kafka_positions_begin(f.links[i]);
    }
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    ab_kafka_positions_close(f->k);
    for (int i = 0; i < LINKS; i++) {
        ab_kafka_positions_leave(f->links[i]);
        ab_kafka_link_unref(f->links[i]);
    }
    ab_unconnected_close(&f->u);
    return 0;
}

static int count_of(const fixture *f, ab_kafka_ask ask)
{
    int count = 0;
    for (int i = 0; i < LINKS; i++)
        count += f->links[i]->ask == ask;
    return count;
}

static ab_kafka_link *first_of(const fixture *f, ab_kafka_ask ask)
{
    for (int i = 0; i < LINKS; i++) {
        if (f->links[i]->ask == ask)
            return f->links[i];
    }
    fail_msg("no link is asked about so");
    return NULL;
}

static void so_many_are_asked_for_at_a_time(void **state)
{
    fixture *f = *state;
    ab_kafka_positions_tick(f->k);
    ab_kafka_positions_tick(f->k);
    assert_int_equal(f->k->asks_under_way, UNDER_WAY_MAX);
    assert_int_equal(count_of(f, AB_ASK_UNDER_WAY), UNDER_WAY_MAX);
    assert_int_equal(count_of(f, AB_ASK_SOON), LINKS - UNDER_WAY_MAX);
}

static void nobody_is_asked_about_while_all_handles_are_made_again(void **state)
{
    fixture *f = *state;
    f->k->renewing = true;
    ab_kafka_positions_tick(f->k);
    assert_int_equal(f->k->asks_under_way, 0);
    assert_null(f->k->asker);
}

/* As when certificates are renewed. */
static void what_was_not_answered_is_asked_again(void **state)
{
    fixture *f = *state;
    ab_kafka_positions_tick(f->k);
    ab_kafka_link *asked = first_of(f, AB_ASK_UNDER_WAY);
    assert_int_equal(asked->refs, 2);
    assert_false(asked->uncertain);
    ab_kafka_positions_close(f->k);
    assert_null(f->k->asker);
    assert_int_equal(f->k->asks_under_way, 0);
    assert_int_equal(count_of(f, AB_ASK_SOON), LINKS);
    assert_int_equal(asked->refs, 1);
    assert_true(asked->uncertain);
    assert_true(asked->ask_due_ms > ab_kafka_now(f->k));
    ab_kafka_positions_tick(f->k);
    assert_int_equal(f->k->asks_under_way, LINKS - UNDER_WAY_MAX); /* the others' turn */
}

static void when_no_broker_answers_there_is_a_rest(void **state)
{
    fixture *f = *state;
    ab_kafka_positions_tick(f->k);
    for (int i = 0; i < LINKS; i++)
        f->links[i]->ask_due_ms = 0;
    int64_t before = ab_kafka_now(f->k);
    ab_kafka_positions_tick(f->k);
    assert_null(f->k->asker);
    assert_int_equal(f->k->asks_under_way, 0);
    assert_true(f->k->ask_not_before_ms >= before + REST_MS);
    ab_kafka_positions_tick(f->k);
    assert_int_equal(f->k->asks_under_way, 0);
    f->k->ask_not_before_ms = 0;
    ab_kafka_positions_tick(f->k);
    assert_int_equal(f->k->asks_under_way, LINKS - UNDER_WAY_MAX);
}

static void a_handle_stays_for_the_answers_that_are_still_to_come(void **state)
{
    fixture *f = *state;
    ab_kafka_positions_tick(f->k);
    for (int i = 0; i < LINKS; i++)
        ab_kafka_positions_leave(f->links[i]);
    f->k->asker_used_ms -= IDLE_MS;
    ab_kafka_positions_tick(f->k);
    assert_non_null(f->k->asker);
    assert_int_equal(f->k->asks_under_way, UNDER_WAY_MAX);
}

static void an_agent_that_returns_is_asked_about_soon(void **state)
{
    fixture *f = *state;
    ab_kafka_link *l = f->links[0];
    ab_kafka_positions_leave(l);
    assert_int_equal(l->ask, AB_ASK_NOT);
    ab_kafka_positions_want(l);
    assert_int_equal(l->ask, AB_ASK_SOON);
    ab_kafka_positions_leave(l);
    l->ask = AB_ASK_LATER; /* it was away */
    l->ask_due_ms = 0;
    ab_list_append(&f->k->ask_later, &l->ask_at);
    ab_kafka_positions_return(l);
    assert_int_equal(l->ask, AB_ASK_SOON);
    assert_true(l->uncertain);
}

static void an_agent_that_is_away_is_asked_about_when_it_is_due(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < LINKS; i++)
        ab_kafka_positions_leave(f->links[i]);
    for (int i = 0; i < 2; i++) {
        f->links[i]->ask = AB_ASK_LATER;
        f->links[i]->ask_due_ms = i == 0 ? 0 : INT64_MAX;
        ab_list_append(&f->k->ask_later, &f->links[i]->ask_at);
    }
    ab_kafka_positions_tick(f->k);
    assert_int_equal(f->links[0]->ask, AB_ASK_UNDER_WAY);
    assert_int_equal(f->links[1]->ask, AB_ASK_LATER);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(so_many_are_asked_for_at_a_time),
        CASE(nobody_is_asked_about_while_all_handles_are_made_again),
        CASE(what_was_not_answered_is_asked_again),
        CASE(when_no_broker_answers_there_is_a_rest),
        CASE(a_handle_stays_for_the_answers_that_are_still_to_come),
        CASE(an_agent_that_returns_is_asked_about_soon),
        CASE(an_agent_that_is_away_is_asked_about_when_it_is_due),
    };
    return cmocka_run_group_tests_name("positions", tests, NULL, NULL);
}
