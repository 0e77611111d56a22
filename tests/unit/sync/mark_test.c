/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/mark.h"

#include "samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static bool covers(const ab_mark *m, const char *agent, uint64_t epoch, uint64_t version)
{
    ab_mark_told told = ab_mark_of(m, ab_str_of(agent));
    return ab_mark_covers(&told, (ab_version){epoch, version});
}

static void load(ab_mark *m, const char *data)
{
    char json[1024];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" AB_MARK_NAME
             "\",\"namespace\":\"argocd\"},\"data\":%s}",
             data);
    ab_object *o = sample_object(json);
    assert_int_equal(ab_mark_init(m), AB_ERR_OK);
    assert_int_equal(ab_mark_load(m, o), AB_ERR_OK);
    ab_object_unref(o);
}

static void all_that_is_not_newer_is_covered(void **state)
{
    ab_mark m;
    (void)state;
    load(&m, "{\"write_id\":\"x\",\"w1\":\"5.10\"}");
    assert_string_equal(m.id, "x");
    assert_true(covers(&m, "w1", 5, 10));
    assert_true(covers(&m, "w1", 4, 99));
    assert_false(covers(&m, "w1", 5, 11));
    assert_false(covers(&m, "w1", 6, 1));
    assert_false(covers(&m, "w2", 1, 1));
    assert_false(covers(&m, "w1", 0, 0)); /* of no known version */
    ab_mark_fini(&m);
}

static void a_run_covers_its_own_epoch_alone(void **state)
{
    ab_mark m;
    (void)state;
    load(&m, "{\"w1\":\"5.10 8.20 9.30\"}");
    assert_true(covers(&m, "w1", 8, 20));
    assert_false(covers(&m, "w1", 8, 21));
    assert_false(covers(&m, "w1", 7, 1));
    assert_true(covers(&m, "w1", 9, 1));
    assert_true(covers(&m, "w1", 5, 10));
    ab_mark_fini(&m);
}

static void what_cannot_be_read_covers_nothing(void **state)
{
    static const char *const data[] = {
        "null",
        "[]",
        "{\"w1\":7}",
        "{\"w1\":\"\"}",
        "{\"w1\":\"5\"}",
        "{\"w1\":\"5.10 x\"}",
        "{\"w1\":\"5.10  6.1\"}",
        "{\"w1\":\" 5.10\"}",
        "{\"w1\":\"-5.10\"}",
        "{\"w1\":\"99999999999999999999999.1\"}",
        "{\"w1\":\"5\\u002e10\"}",
        "{\"write_id\":\"longer than the thirty-six characters of a uuid\"}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++) {
        ab_mark m;
        load(&m, data[i]);
        assert_string_equal(m.id, "");
        assert_false(covers(&m, "w1", 1, 1));
        ab_mark_fini(&m);
    }
}

static void none_covers_nothing(void **state)
{
    ab_mark m;
    (void)state;
    load(&m, "{\"write_id\":\"x\",\"w1\":\"5.10\"}");
    assert_int_equal(ab_mark_load(&m, NULL), AB_ERR_OK);
    assert_string_equal(m.id, "");
    assert_false(covers(&m, "w1", 1, 1));
    ab_mark_fini(&m);
}

static void what_is_written_is_read_again(void **state)
{
    ab_mark m, again;
    ab_object *o = NULL;
    ab_mark_told told = {.all = {UINT64_MAX - 1, UINT64_MAX}};
    (void)state;
    ab_mark_add_run(&told, (ab_version){UINT64_MAX, 7});
    assert_int_equal(ab_mark_init(&m), AB_ERR_OK);
    assert_int_equal(ab_mark_init(&again), AB_ERR_OK);
    snprintf(m.id, sizeof(m.id), "%s", "0b4b1f3e-0000-4000-8000-000000000000");
    assert_int_equal(ab_mark_set(&m, AB_STR("w1"), &told), AB_ERR_OK);
    assert_int_equal(ab_mark_object(&m, "argocd", &o), AB_ERR_OK);
    assert_string_equal(ab_object_key(o), "ConfigMap/argocd/" AB_MARK_NAME);
    assert_int_equal(ab_mark_load(&again, o), AB_ERR_OK);
    assert_string_equal(again.id, m.id);
    assert_true(covers(&again, "w1", UINT64_MAX, 7));
    assert_false(covers(&again, "w1", UINT64_MAX, 8));
    assert_true(covers(&again, "w1", UINT64_MAX - 1, UINT64_MAX));
    ab_object_unref(o);
    ab_mark_fini(&again);
    ab_mark_fini(&m);
}

static void a_run_that_goes_on_is_one(void **state)
{
    ab_mark_told told = {0};
    (void)state;
    ab_mark_add_run(&told, (ab_version){3, 1});
    ab_mark_add_run(&told, (ab_version){4, 1});
    ab_mark_add_run(&told, (ab_version){3, 5});
    assert_int_equal(told.count, 2);
    assert_true(ab_mark_covers(&told, (ab_version){3, 5}));
    assert_true(ab_mark_covers(&told, (ab_version){4, 1}));
}

static void of_too_many_runs_the_oldest_is_forgotten(void **state)
{
    ab_mark_told told = {0};
    (void)state;
    for (uint64_t i = 1; i <= AB_MARK_RUNS_MAX + 2; i++)
        ab_mark_add_run(&told, (ab_version){i, 9});
    assert_int_equal(told.count, AB_MARK_RUNS_MAX);
    assert_false(ab_mark_covers(&told, (ab_version){1, 1}));
    assert_false(ab_mark_covers(&told, (ab_version){2, 1}));
    for (uint64_t i = 3; i <= AB_MARK_RUNS_MAX + 2; i++)
        assert_true(ab_mark_covers(&told, (ab_version){i, 9}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_is_not_newer_is_covered),
        cmocka_unit_test(a_run_covers_its_own_epoch_alone),
        cmocka_unit_test(what_cannot_be_read_covers_nothing),
        cmocka_unit_test(none_covers_nothing),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(a_run_that_goes_on_is_one),
        cmocka_unit_test(of_too_many_runs_the_oldest_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
