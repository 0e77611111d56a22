/* SPDX-License-Identifier: Apache-2.0
 *
 * Each allocation fails once, in turn: the call says NOMEM, nothing leaks (the address sanitizer
 * looks), and what was there before is unharmed.
 */
#include "base/core/map.h"
#include "base/json/object.h"
#include "base/yaml/yaml.h"
#include "tests/unit/scarce.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#define OBJECT                                                                                     \
    "{\"kind\":\"A\",\"metadata\":{\"name\":\"n\",\"namespace\":\"s\",\"\\u0061\":[1,2,3,\"\\n\"]" \
    ","                                                                                            \
    "\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":\"x\\ny\",\"i\":[{\"? "                 \
    "a\":[]}],\"j\":1}}"

/* The call may do without an allocation that only saves memory, so it may succeed; most are needed.
 */
static void fail_each_allocation(ab_err (*work)(void))
{
    long failed = 0;
    bool reached = true;
    for (long n = 0; reached; n++) {
        scarce_allocations_left = n;
        ab_err e = work();
        reached = scarce_allocations_left < 0;
        scarce_allocations_left = -1;
        assert_true(e == AB_ERR_OK || (reached && e == AB_ERR_NOMEM));
        failed += e != AB_ERR_OK;
    }
    assert_true(failed > 1);
}

static ab_err make_object(void)
{
    ab_object *o = NULL;
    ab_error err = {0};
    ab_err e = ab_object_parse(AB_STR(OBJECT), &o, &err);
    assert_int_equal(err.code, e);
    ab_object_unref(o);
    return e;
}

static void parsing_an_object_says_that_memory_ran_out(void **state)
{
    (void)state;
    fail_each_allocation(make_object);
}

static ab_span *shared_doc;

static ab_err make_digest(void)
{
    ab_digest d;
    return ab_span_digest(ab_span_root(shared_doc), &d);
}

static void digesting_says_that_memory_ran_out(void **state)
{
    (void)state;
    assert_int_equal(ab_span_parse(AB_STR(OBJECT), &shared_doc, NULL), AB_ERR_OK);
    fail_each_allocation(make_digest);
    ab_span_free(shared_doc);
}

static ab_err ignore(void *arg, ab_str json, size_t line)
{
    (void)arg;
    (void)json;
    (void)line;
    return AB_ERR_OK;
}

static ab_err read_yaml(void)
{
    ab_error err = {0};
    ab_err e = ab_yaml_to_json(AB_STR("&a a: 1_0\nb: &b {1: [x, *a], y: z}\nc: {<<: *b, d: e}\n"),
                               &ab_yaml_default_limits, ignore, NULL, &err);
    assert_int_equal(err.code, e);
    return e;
}

static void reading_yaml_says_that_memory_ran_out(void **state)
{
    (void)state;
    fail_each_allocation(read_yaml);
}

static ab_err read_json_as_yaml(void)
{
    return ab_yaml_to_json(AB_STR(OBJECT), &ab_yaml_default_limits, ignore, NULL, NULL);
}

static void reading_json_as_yaml_says_that_memory_ran_out(void **state)
{
    (void)state;
    fail_each_allocation(read_json_as_yaml);
}

static ab_err write_yaml(void)
{
    ab_buf out;
    ab_buf_init(&out, 10000);
    ab_err e = ab_yaml_from_json(AB_STR(OBJECT), &out, NULL);
    ab_buf_fini(&out);
    return e;
}

static void writing_yaml_says_that_memory_ran_out(void **state)
{
    (void)state;
    fail_each_allocation(write_yaml);
}

static ab_err fill_map(void)
{
    static int value;
    ab_map *m = ab_map_new();
    if (m == NULL)
        return AB_ERR_NOMEM;
    ab_err e = AB_ERR_OK;
    int count = 0;
    for (; count < 1000 && e == AB_ERR_OK; count++) {
        char key[8];
        int length = snprintf(key, sizeof(key), "%d", count);
        e = ab_map_put(m, (ab_str){key, (size_t)length}, &value, NULL);
    }
    count -= e != AB_ERR_OK;
    assert_int_equal(ab_map_count(m), count);
    for (ab_map_iter i = ab_map_first(m); i.entry != NULL; ab_map_next(&i))
        count--;
    assert_int_equal(count, 0);
    ab_map_free(m, NULL);
    return e;
}

static void a_map_is_unchanged_when_memory_runs_out(void **state)
{
    (void)state;
    fail_each_allocation(fill_map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parsing_an_object_says_that_memory_ran_out),
        cmocka_unit_test(digesting_says_that_memory_ran_out),
        cmocka_unit_test(reading_yaml_says_that_memory_ran_out),
        cmocka_unit_test(reading_json_as_yaml_says_that_memory_ran_out),
        cmocka_unit_test(writing_yaml_says_that_memory_ran_out),
        cmocka_unit_test(a_map_is_unchanged_when_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
