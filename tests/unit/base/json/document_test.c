/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/document.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define MOST 4096

static ab_err outcome(ab_str text)
{
    cJSON *doc = NULL;
    ab_error err = {0};
    ab_err e = ab_doc_parse(text, MOST, &doc, &err);
    assert_true((e == AB_ERR_OK) == (doc != NULL));
    assert_int_equal(err.code, e);
    cJSON_Delete(doc);
    return e;
}

static void what_two_readers_would_see_differently_is_refused(void **state)
{
    (void)state;
    const ab_str bad[] = {
        AB_STR(""),
        AB_STR("{"),
        AB_STR("{} x"),
        AB_STR("{}\0"),
        AB_STR("{\"a\":1,\"a\":2}"),
        AB_STR("[{\"a\":1,\"b\":2,\"\\u0061\":3}]"),
        AB_STR("{\"a\":\"x\\u0000y\"}"),
        AB_STR("{\"a\\u0000b\":1}"),
        AB_STR("\"\xff\""),
        AB_STR("\"\xed\xa0\x80\""),
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(outcome(bad[i]), AB_ERR_PARSE);
}

static void white_space_around_a_document_is_allowed(void **state)
{
    (void)state;
    assert_int_equal(outcome(AB_STR(" {} \r\n")), AB_ERR_OK);
    assert_int_equal(outcome(AB_STR("{\"a\":\"\\\\u0000\"}")), AB_ERR_OK);
    assert_int_equal(outcome(AB_STR("{\"a\":1,\"A\":2}")), AB_ERR_OK);
}

static void size_and_depth_are_bounded(void **state)
{
    (void)state;
    char text[MOST + 2];
    memset(text, ' ', sizeof(text));
    memcpy(text, "{}", 2);
    assert_int_equal(outcome((ab_str){text, MOST}), AB_ERR_OK);
    assert_int_equal(outcome((ab_str){text, MOST + 1}), AB_ERR_TOOBIG);
    memset(text, '[', AB_DOC_DEPTH_MAX + 1);
    memset(text + AB_DOC_DEPTH_MAX + 1, ']', AB_DOC_DEPTH_MAX + 1);
    assert_int_equal(outcome((ab_str){text + 1, 2 * AB_DOC_DEPTH_MAX}), AB_ERR_OK);
    assert_int_equal(outcome((ab_str){text, 2 * AB_DOC_DEPTH_MAX + 2}), AB_ERR_TOOBIG);
}

static void members_are_read_by_their_type(void **state)
{
    (void)state;
    cJSON *doc = NULL;
    int64_t n = 0;
    assert_int_equal(ab_doc_parse(AB_STR("{\"s\":\"x\",\"n\":9007199254740992,\"big\":"
                                         "9007199254740994,\"f\":1.5,\"t\":true}"),
                                  MOST, &doc, NULL),
                     AB_ERR_OK);
    assert_true(ab_doc_is(doc, "s", "x"));
    assert_false(ab_doc_is(doc, "S", "x"));
    assert_null(ab_doc_text(doc, "n").ptr);
    assert_null(ab_doc_text(doc, "gone").ptr);
    assert_int_equal(ab_doc_i64(doc, "n", &n), AB_ERR_OK);
    assert_int_equal(n, INT64_C(9007199254740992));
    assert_int_equal(ab_doc_i64(doc, "big", &n), AB_ERR_INVALID);
    assert_int_equal(ab_doc_i64(doc, "f", &n), AB_ERR_INVALID);
    assert_int_equal(ab_doc_i64(doc, "t", &n), AB_ERR_INVALID);
    assert_int_equal(ab_doc_i64(NULL, "n", &n), AB_ERR_INVALID);
    cJSON_Delete(doc);
}

static void a_document_is_written_with_all_digits(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 256);
    cJSON *doc = cJSON_CreateObject();
    bool complete =
        ab_doc_add_str(doc, "s", AB_STR("a\"\n")) && ab_doc_add_i64(doc, "max", INT64_MAX) &&
        ab_doc_add_i64(doc, "round", 2000000000000000) && ab_doc_add_bool(doc, "no", false);
    assert_int_equal(ab_doc_finish(doc, complete, &out), AB_ERR_OK);
    assert_string_equal(out.ptr, "{\"s\":\"a\\\"\\n\",\"max\":9223372036854775807,"
                                 "\"round\":2000000000000000,\"no\":false}");
    ab_buf_fini(&out);
}

static void a_document_that_lacks_a_member_is_not_written(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 256);
    cJSON *doc = cJSON_CreateObject();
    assert_false(ab_doc_add_str(doc, "s", AB_STR("\xff")));
    assert_false(ab_doc_add_str(doc, "s", AB_STR_NONE));
    assert_int_equal(ab_doc_finish(doc, false, &out), AB_ERR_NOMEM);
    assert_int_equal(out.len, 0);
    assert_int_equal(ab_doc_finish(NULL, true, &out), AB_ERR_NOMEM);
    ab_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_two_readers_would_see_differently_is_refused),
        cmocka_unit_test(white_space_around_a_document_is_allowed),
        cmocka_unit_test(size_and_depth_are_bounded),
        cmocka_unit_test(members_are_read_by_their_type),
        cmocka_unit_test(a_document_is_written_with_all_digits),
        cmocka_unit_test(a_document_that_lacks_a_member_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
