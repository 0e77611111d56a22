/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/deletion/watermark.h"

#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

struct search {
    const char *agent;
    ab_watermark_sent told;
};

static ab_err take_line(void *arg, ab_str agent, const ab_watermark_sent *told)
{
    struct search *s = arg;
    if (ab_str_is(agent, s->agent))
        s->told = *told;
    return AB_ERR_OK;
}

static bool covers(const ab_object *o, const char *agent, uint64_t epoch, uint64_t version)
{
    struct search s = {.agent = agent};
    assert_int_equal(ab_watermark_read(o, take_line, &s), AB_ERR_OK);
    return ab_watermark_covers(&s.told, (ab_version){epoch, version});
}

static ab_object *part(const char *data)
{
    char json[1024];
    snprintf(
        json, sizeof(json),
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" AB_WATERMARK_NAME
        "\",\"namespace\":\"argocd\"},\"data\":%s}",
        data);
    return sample_object(json);
}

static void assert_id(const ab_object *o, const char *id)
{
    assert_true(ab_str_is(ab_watermark_id(o), id));
}

static void all_that_is_not_newer_is_covered(void **state)
{
    (void)state;
    ab_object *o = part("{\"write_id\":\"x\",\"w1\":\"5.10\"}");
    assert_id(o, "x");
    assert_true(covers(o, "w1", 5, 10));
    assert_true(covers(o, "w1", 4, 99));
    assert_false(covers(o, "w1", 5, 11));
    assert_false(covers(o, "w1", 6, 1));
    assert_false(covers(o, "w2", 1, 1));
    assert_false(covers(o, "w1", 0, 0)); /* of no known version */
    ab_object_unref(o);
}

static void a_run_covers_its_own_epoch_alone(void **state)
{
    (void)state;
    ab_object *o = part("{\"w1\":\"5.10 8.20 9.30\"}");
    assert_true(covers(o, "w1", 8, 20));
    assert_false(covers(o, "w1", 8, 21));
    assert_false(covers(o, "w1", 7, 1));
    assert_true(covers(o, "w1", 9, 1));
    assert_true(covers(o, "w1", 5, 10));
    ab_object_unref(o);
}

static void what_cannot_be_read_covers_nothing(void **state)
{
    static const char *const data[] = {
        "null",
        "7",
        "[]",
        "[\"5.10\"]",
        "\"5.10\"",
        "{\"w1\":7}",
        "{\"w1\":\"\"}",
        "{\"w1\":{\"w1\":\"5.10\"}}",
        "{\"w1\":\"5\"}",
        "{\"w1\":\"5.10 x\"}",
        "{\"w1\":\"5.10  6.1\"}",
        "{\"w1\":\" 5.10\"}",
        "{\"w1\":\"-5.10\"}",
        "{\"w1\":\"99999999999999999999999.1\"}",
        "{\"w1\":\"5.10\\u0000\"}",
        "{\"write_id\":7}",
        "{\"write_id\":\"longer than the thirty-six characters of a uuid\"}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++) {
        ab_object *o = part(data[i]);
        assert_id(o, "");
        assert_false(covers(o, "w1", 1, 1));
        ab_object_unref(o);
    }
}

static void a_line_that_cannot_be_read_does_not_hide_others(void **state)
{
    (void)state;
    ab_object *o = part("{\"w1\":\"5.10\",\"w2\":\"newest\",\"w3\":7,\"w4\":\"6.10\"}");
    assert_true(covers(o, "w1", 5, 10));
    assert_true(covers(o, "w4", 6, 10));
    ab_object_unref(o);
}

static void none_has_no_id(void **state)
{
    (void)state;
    assert_id(NULL, "");
}

static ab_object *written(size_t number, const char *id, const char *agent,
                          const ab_watermark_sent *told)
{
    ab_watermark_draft d;
    ab_object *o = NULL;
    ab_watermark_begin(&d, number, "argocd", id, NULL);
    ab_watermark_add(&d, agent, told);
    assert_int_equal(ab_watermark_finish(&d, &o), AB_ERR_OK);
    return o;
}

static void what_is_written_is_read_again(void **state)
{
    static const char id[] = "0b4b1f3e-0000-4000-8000-000000000000";
    ab_watermark_sent told = {.all = {UINT64_MAX - 1, UINT64_MAX}};
    (void)state;
    ab_watermark_add_run(&told, (ab_version){UINT64_MAX, 7});
    ab_object *o = written(0, id, "w1", &told);
    assert_string_equal(ab_object_key(o), "ConfigMap/argocd/" AB_WATERMARK_NAME);
    assert_id(o, id);
    assert_true(covers(o, "w1", UINT64_MAX, 7));
    assert_false(covers(o, "w1", UINT64_MAX, 8));
    assert_true(covers(o, "w1", UINT64_MAX - 1, UINT64_MAX));
    ab_object_unref(o);
}

/* Former versions wrote the first one, and without it. */
static void all_parts_but_the_first_have_a_label(void **state)
{
    const ab_watermark_sent told = {.all = {1, 1}};
    (void)state;
    ab_object *first = written(0, "x", "w1", &told);
    ab_object *second = written(1, "x", "w1", &told);
    assert_false(ab_span_present(ab_object_meta(first, "labels")));
    assert_true(
        ab_span_is(ab_span_get(ab_object_meta(second, "labels"), AB_WATERMARK_LABEL), "true"));
    ab_object_unref(first);
    ab_object_unref(second);
}

static void an_agent_that_was_told_nothing_has_no_line(void **state)
{
    (void)state;
    ab_object *o = written(0, "x", "w1", &(ab_watermark_sent){0});
    assert_int_equal(ab_span_count(ab_object_field(o, "data")), 1);
    ab_object_unref(o);
}

static void a_full_part_of_many_runs_fits_into_a_config_map(void **state)
{
    ab_watermark_sent told = {.all = {1770000000000000, 99999999}};
    ab_watermark_draft d;
    ab_object *o = NULL;
    char agent[64];
    (void)state;
    for (uint64_t i = 0; i < AB_WATERMARK_RUNS_MAX; i++)
        ab_watermark_add_run(&told, (ab_version){1770000000000000 + i, 99999999});
    ab_watermark_begin(&d, AB_WATERMARK_PARTS_MAX - 1, "argocd",
                       "0b4b1f3e-0000-4000-8000-000000000000",
                       "0b4b1f3e-0000-4000-8000-000000000001");
    for (int i = 0; i < AB_WATERMARK_AGENTS_MAX; i++) {
        snprintf(agent, sizeof(agent), "%063d", i);
        ab_watermark_add(&d, agent, &told);
    }
    assert_int_equal(ab_watermark_finish(&d, &o), AB_ERR_OK);
    assert_true(ab_span_raw(ab_object_json(o)).len < 1024 * 1024);
    ab_object_unref(o);
}

static void a_part_is_known_by_its_name(void **state)
{
    static const char *const others[] = {
        "",
        "argobus-store-mar",
        "argobus-store-mark-",
        "argobus-store-mark-0",
        "argobus-store-mark-01",
        "argobus-store-mark-200",
        "argobus-store-mark-201",
        "argobus-store-mark--1",
        "argobus-store-mark-1x",
        "argobus-store-mark1",
        "argobus-store-mark-99999999999999999999999",
    };
    char name[AB_WATERMARK_NAME_MAX];
    (void)state;
    for (size_t i = 0; i < AB_WATERMARK_PARTS_MAX; i++) {
        ab_watermark_name(i, name);
        assert_int_equal(ab_watermark_number(ab_str_of(name)), i);
    }
    assert_string_equal(name, "argobus-store-mark-199");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_int_equal(ab_watermark_number(ab_str_of(others[i])), AB_WATERMARK_PARTS_MAX);
}

static void a_run_that_goes_on_is_one(void **state)
{
    ab_watermark_sent told = {0};
    (void)state;
    ab_watermark_add_run(&told, (ab_version){3, 1});
    ab_watermark_add_run(&told, (ab_version){4, 1});
    ab_watermark_add_run(&told, (ab_version){3, 5});
    ab_watermark_add_run(&told, (ab_version){3, 4});
    assert_int_equal(told.count, 2);
    assert_true(ab_watermark_covers(&told, (ab_version){3, 5}));
    assert_true(ab_watermark_covers(&told, (ab_version){4, 1}));
}

static void of_too_many_runs_the_oldest_is_forgotten(void **state)
{
    ab_watermark_sent told = {0};
    (void)state;
    for (uint64_t i = 1; i <= AB_WATERMARK_RUNS_MAX + 2; i++)
        ab_watermark_add_run(&told, (ab_version){i, 9});
    assert_int_equal(told.count, AB_WATERMARK_RUNS_MAX);
    assert_false(ab_watermark_covers(&told, (ab_version){1, 1}));
    assert_false(ab_watermark_covers(&told, (ab_version){2, 1}));
    for (uint64_t i = 3; i <= AB_WATERMARK_RUNS_MAX + 2; i++)
        assert_true(ab_watermark_covers(&told, (ab_version){i, 9}));
}

static void a_claim_of_nothing_newer_forgets_no_run(void **state)
{
    ab_watermark_sent sent = {.all = {3, 30}};
    (void)state;
    ab_watermark_add_run(&sent, (ab_version){5, 10});
    ab_watermark_cover(&sent, (ab_watermark_claim){.all = {3, 30}, .queued = {8, 20}});
    assert_true(ab_watermark_covers(&sent, (ab_version){5, 10}));
    assert_true(ab_watermark_covers(&sent, (ab_version){8, 20}));
}

static void what_two_parts_say_is_covered_when_either_says_so(void **state)
{
    ab_watermark_sent told = {.all = {5, 10}};
    ab_watermark_sent other = {.all = {4, 99}};
    (void)state;
    ab_watermark_add_run(&told, (ab_version){7, 1});
    ab_watermark_add_run(&other, (ab_version){7, 9});
    ab_watermark_add_run(&other, (ab_version){8, 1});
    ab_watermark_merge(&told, &other);
    assert_true(ab_watermark_covers(&told, (ab_version){5, 10}));
    assert_true(ab_watermark_covers(&told, (ab_version){7, 9}));
    assert_true(ab_watermark_covers(&told, (ab_version){8, 1}));
    assert_false(ab_watermark_covers(&told, (ab_version){5, 11}));
    assert_false(ab_watermark_covers(&told, (ab_version){8, 2}));
}

static void what_was_sent_in_this_run_is_proved_by_its_epoch(void **state)
{
    ab_watermark_sent told = {0};
    ab_watermark_run run = {0};
    (void)state;
    ab_watermark_note_epoch(&run, 7);
    assert_true(ab_watermark_proves(&told, &run, (ab_version){7, 99}));
    assert_false(ab_watermark_proves(&told, &run, (ab_version){6, 1}));
    assert_false(ab_watermark_proves(&told, &run, (ab_version){0, 0})); /* of no known version */
}

static void only_the_last_epochs_of_a_run_are_remembered(void **state)
{
    ab_watermark_sent told = {0};
    ab_watermark_run run = {0};
    (void)state;
    for (uint64_t i = 1; i <= AB_WATERMARK_EPOCHS_MAX + 1; i++) {
        ab_watermark_note_epoch(&run, i);
        ab_watermark_note_epoch(&run, i); /* counts once */
    }
    assert_false(ab_watermark_proves(&told, &run, (ab_version){1, 1}));
    for (uint64_t i = 2; i <= AB_WATERMARK_EPOCHS_MAX + 1; i++)
        assert_true(ab_watermark_proves(&told, &run, (ab_version){i, 1}));
}

static void all_is_proved_once_both_ends_agreed(void **state)
{
    ab_watermark_sent told = {0};
    (void)state;
    assert_true(
        ab_watermark_proves(&told, &(ab_watermark_run){.resynced = true}, (ab_version){0, 0}));
}

/* What only the agent knows of is in an older epoch than what this run sends. */
static void until_both_ends_agreed_only_what_was_sent_is_covered(void **state)
{
    ab_watermark_sent told = {0};
    ab_watermark_run run = {0};
    (void)state;
    ab_watermark_cover(&told, ab_watermark_claim_of(&run));
    assert_true(ab_watermark_is_empty(&told));
    ab_watermark_note_version(&run, (ab_version){6, 3});
    ab_watermark_note_queued(&run, (ab_version){7, 5});
    ab_watermark_cover(&told, ab_watermark_claim_of(&run));
    assert_true(ab_watermark_covers(&told, (ab_version){7, 5}));
    assert_false(ab_watermark_covers(&told, (ab_version){6, 3}));
}

static void then_all_up_to_there_is(void **state)
{
    ab_watermark_sent told = {.all = {5, 1}};
    ab_watermark_run run = {.resynced = true};
    (void)state;
    ab_watermark_add_run(&told, (ab_version){3, 9});
    ab_watermark_note_queued(&run, (ab_version){7, 5});
    ab_watermark_note_version(&run, (ab_version){6, 3}); /* older */
    ab_watermark_cover(&told, ab_watermark_claim_of(&run));
    assert_true(ab_watermark_covers(&told, (ab_version){7, 5}));
    assert_true(ab_watermark_covers(&told, (ab_version){6, 3}));
    assert_int_equal(told.count, 0);
    run.newest = (ab_version){1, 1};
    ab_watermark_cover(&told, ab_watermark_claim_of(&run)); /* it never covers less */
    assert_true(ab_watermark_covers(&told, (ab_version){7, 5}));
}

static void what_is_distrusted_is_neither_proof_nor_covered(void **state)
{
    ab_watermark_sent told = {.all = {5, 1}};
    ab_watermark_run run = {.resynced = true};
    (void)state;
    ab_watermark_note_epoch(&run, 7);
    ab_watermark_note_queued(&run, (ab_version){7, 5});
    ab_watermark_distrust(&run);
    assert_false(ab_watermark_proves(&told, &run, (ab_version){7, 5}));
    ab_watermark_cover(&told, ab_watermark_claim_of(&run));
    assert_false(ab_watermark_covers(&told, (ab_version){7, 5}));
    assert_true(ab_watermark_proves(&told, &run, (ab_version){5, 1}));
}

static void what_is_sent_afterwards_is_both(void **state)
{
    ab_watermark_sent told = {.all = {5, 1}};
    ab_watermark_run run = {.resynced = true};
    (void)state;
    ab_watermark_note_queued(&run, (ab_version){7, 5});
    ab_watermark_distrust(&run);
    ab_watermark_note_epoch(&run, 8);
    ab_watermark_note_queued(&run, (ab_version){8, 6});
    assert_true(ab_watermark_proves(&told, &run, (ab_version){8, 6}));
    ab_watermark_cover(&told, ab_watermark_claim_of(&run));
    assert_true(ab_watermark_covers(&told, (ab_version){8, 6}));
    assert_false(ab_watermark_covers(&told, (ab_version){7, 5}));
}

static void what_was_sent_before_the_agent_came_again_is_covered_all_the_same(void **state)
{
    ab_watermark_sent told = {0};
    ab_watermark_run run = {0};
    (void)state;
    ab_watermark_note_epoch(&run, 7);
    ab_watermark_note_queued(&run, (ab_version){7, 5});
    ab_watermark_rejoin(&run);
    assert_true(ab_watermark_proves(&told, &run, (ab_version){7, 5}));
    ab_watermark_cover(&told, ab_watermark_claim_of(&run));
    assert_true(ab_watermark_covers(&told, (ab_version){7, 5}));
}

static void so_is_all_on_which_both_ends_agreed_but_it_is_compared_again(void **state)
{
    ab_watermark_sent told = {0};
    ab_watermark_run run = {.resynced = true};
    (void)state;
    ab_watermark_note_version(&run, (ab_version){6, 3});
    ab_watermark_rejoin(&run);
    ab_watermark_note_version(&run, (ab_version){9, 1}); /* the agent has it, whoever it is now */
    assert_false(ab_watermark_proves(&told, &run, (ab_version){9, 1}));
    ab_watermark_cover(&told, ab_watermark_claim_of(&run));
    assert_true(ab_watermark_covers(&told, (ab_version){2, 8}));
    assert_false(ab_watermark_covers(&told, (ab_version){9, 1}));
}

static void what_is_distrusted_stays_so_when_the_agent_comes_again(void **state)
{
    ab_watermark_run run = {0};
    (void)state;
    ab_watermark_distrust(&run);
    ab_watermark_rejoin(&run);
    assert_true(run.distrusted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_is_not_newer_is_covered),
        cmocka_unit_test(a_run_covers_its_own_epoch_alone),
        cmocka_unit_test(what_cannot_be_read_covers_nothing),
        cmocka_unit_test(a_line_that_cannot_be_read_does_not_hide_others),
        cmocka_unit_test(none_has_no_id),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(all_parts_but_the_first_have_a_label),
        cmocka_unit_test(an_agent_that_was_told_nothing_has_no_line),
        cmocka_unit_test(a_full_part_of_many_runs_fits_into_a_config_map),
        cmocka_unit_test(a_part_is_known_by_its_name),
        cmocka_unit_test(a_run_that_goes_on_is_one),
        cmocka_unit_test(of_too_many_runs_the_oldest_is_forgotten),
        cmocka_unit_test(a_claim_of_nothing_newer_forgets_no_run),
        cmocka_unit_test(what_two_parts_say_is_covered_when_either_says_so),
        cmocka_unit_test(what_was_sent_in_this_run_is_proved_by_its_epoch),
        cmocka_unit_test(only_the_last_epochs_of_a_run_are_remembered),
        cmocka_unit_test(all_is_proved_once_both_ends_agreed),
        cmocka_unit_test(until_both_ends_agreed_only_what_was_sent_is_covered),
        cmocka_unit_test(then_all_up_to_there_is),
        cmocka_unit_test(what_is_distrusted_is_neither_proof_nor_covered),
        cmocka_unit_test(what_is_sent_afterwards_is_both),
        cmocka_unit_test(what_was_sent_before_the_agent_came_again_is_covered_all_the_same),
        cmocka_unit_test(so_is_all_on_which_both_ends_agreed_but_it_is_compared_again),
        cmocka_unit_test(what_is_distrusted_stays_so_when_the_agent_comes_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
