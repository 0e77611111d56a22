/* SPDX-License-Identifier: Apache-2.0 */
#include "live/resource/query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_value(const char *query, const char *name, const char *value, size_t times)
{
    size_t count = 0;
    ab_buf out;
    ab_buf_init(&out, 1024);
    assert_int_equal(ab_resource_query_find(ab_str_of(query), name, &out, &count), AB_ERR_OK);
    assert_int_equal(count, times);
    assert_true(ab_str_is(ab_buf_str(&out), value));
    ab_buf_fini(&out);
}

static void a_parameter_is_found_whatever_way_it_is_written(void **state)
{
    (void)state;
    assert_value("container=web&follow=true", "follow", "true", 1);
    assert_value("f%6fllow=tr%75e", "follow", "true", 1);
    assert_value("command=bash&command=-c", "command", "bash", 2);
    assert_value("fieldSelector=a%3Db+c", "fieldSelector", "a=b c", 1);
    assert_value("watch", "watch", "", 1);
    assert_value("watches=1&&x=watch", "watch", "", 0);
}

static void a_query_that_go_reads_otherwise_is_refused(void **state)
{
    (void)state;
    static const char *const BAD[] = {"a=%", "a=%4",  "a=%zz", "%=a",
                                      "a;b", "a=%00", "a=%ff", "a=%0a"};
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++)
        assert_int_equal(ab_resource_query_check(ab_str_of(BAD[i]), NULL), AB_ERR_INVALID);
    assert_int_equal(ab_resource_query_check(AB_STR(""), NULL), AB_ERR_OK);
    assert_int_equal(ab_resource_query_check(AB_STR("a=%3B&labelSelector=a+in+%28b%29"), NULL),
                     AB_ERR_OK);
}

static void a_truth_is_said_once_and_plainly(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        ab_err code;
        bool is;
    } CASES[] = {
        {"", AB_ERR_OK, false},
        {"watch=true", AB_ERR_OK, true},
        {"watch=1", AB_ERR_OK, true},
        {"watch=0", AB_ERR_OK, false},
        {"watch=false", AB_ERR_OK, false},
        {"watch", AB_ERR_INVALID, false},
        {"watch=yes", AB_ERR_INVALID, false},
        {"watch=false&watch=true", AB_ERR_INVALID, false},
        {"watch=false&w%61tch=true", AB_ERR_INVALID, false},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        bool is = false;
        assert_int_equal(ab_resource_query_bool(ab_str_of(CASES[i].query), "watch", &is, NULL),
                         CASES[i].code);
        assert_int_equal(is, CASES[i].is);
    }
}

static void parameters_are_left_out(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 1024);
    ab_resource_query_without(AB_STR("sinceTime=1&a=%3D&tail%4cines=3&&follow=true"),
                              (const char *const[]){"sinceTime", "tailLines", NULL}, &out);
    assert_true(ab_str_is(ab_buf_str(&out), "a=%3D&follow=true"));
    ab_buf_fini(&out);
}

static void what_is_encoded_decodes_to_the_same(void **state)
{
    (void)state;
    ab_buf out, back;
    ab_buf_init(&out, 1024);
    ab_buf_init(&back, 1024);
    ab_resource_query_encode(AB_STR("system:a b/\xc3\xa4%+"), &out);
    assert_true(ab_str_is(ab_buf_str(&out), "system:a%20b%2F%C3%A4%25%2B"));
    assert_int_equal(ab_resource_query_decode(ab_buf_str(&out), true, &back), AB_ERR_OK);
    assert_true(ab_str_is(ab_buf_str(&back), "system:a b/\xc3\xa4%+"));
    ab_buf_fini(&out);
    ab_buf_fini(&back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parameter_is_found_whatever_way_it_is_written),
        cmocka_unit_test(a_query_that_go_reads_otherwise_is_refused),
        cmocka_unit_test(a_truth_is_said_once_and_plainly),
        cmocka_unit_test(parameters_are_left_out),
        cmocka_unit_test(what_is_encoded_decodes_to_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
