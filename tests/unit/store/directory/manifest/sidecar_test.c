/* SPDX-License-Identifier: Apache-2.0 */
#include "store/directory/manifest/sidecar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DIGEST "000102030405060708090a0b0c0d0e0f"
#define NAMES                                                                                      \
    "{\"uid\":\"6b8a\",\"creationTimestamp\":\"2026-01-02T03:04:05Z\",\"file\":\"a.yaml\","
#define COUNTERS "\"generation\":\"3\",\"resourceVersion\":\"18446744073709551615\","
#define BASE     NAMES COUNTERS "\"contentDigest\":\"" DIGEST "\",\"specDigest\":\"" DIGEST "\""

static void assert_invalid(const char *text, ab_err code)
{
    ab_sidecar s = {.generation = 7};
    ab_error err = {0};
    assert_int_equal(ab_sidecar_parse(ab_str_of(text), &s, &err), code);
    assert_true(err.text[0] != '\0');
    assert_int_equal(s.generation, 7);
}

static void what_was_written_is_read_back(void **state)
{
    (void)state;
    static const char text[] = BASE ",\"statusVersion\":\"1.\\u00e9\",\"status\":{\"a\":[1e400]}}";
    ab_sidecar s = {0};
    ab_sidecar again = {0};
    ab_buf out;
    ab_buf_init(&out, 4096);
    assert_int_equal(ab_sidecar_parse(ab_str_of(text), &s, NULL), AB_ERR_OK);
    assert_int_equal(ab_sidecar_format(&s, &out), AB_ERR_OK);
    assert_int_equal(ab_sidecar_parse(ab_buf_str(&out), &again, NULL), AB_ERR_OK);
    assert_string_equal(again.uid, "6b8a");
    assert_string_equal(again.file, "a.yaml");
    assert_string_equal(again.status, "{\"a\":[1e400]}");
    assert_string_equal(again.status_version, "1.\xc3\xa9");
    assert_int_equal(again.generation, 3);
    assert_true(again.version == UINT64_MAX);
    assert_string_equal(again.deleted, "");
    assert_true(ab_digest_eq(&again.content, &s.content));
    ab_buf_fini(&out);
    ab_sidecar_fini(&s);
    ab_sidecar_fini(&again);
}

static void a_status_and_a_deletion_are_optional(void **state)
{
    (void)state;
    ab_sidecar s = {0};
    assert_int_equal(
        ab_sidecar_parse(AB_STR(BASE ",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"}"), &s, NULL),
        AB_ERR_OK);
    assert_null(s.status);
    assert_null(s.status_version);
    assert_string_equal(s.deleted, "2026-01-02T03:04:05Z");
    ab_sidecar_fini(&s);
}

static void a_text_that_was_cut_is_refused(void **state)
{
    (void)state;
    assert_invalid("", AB_ERR_PARSE);
    assert_invalid(BASE, AB_ERR_PARSE);
    assert_invalid("{}", AB_ERR_INVALID);
    assert_invalid("[]", AB_ERR_INVALID);
}

static void wrong_fields_are_refused(void **state)
{
    (void)state;
    assert_invalid("{\"uid\":\"\"}", AB_ERR_INVALID);
    assert_invalid("{\"uid\":5}", AB_ERR_INVALID);
    assert_invalid("{\"uid\":\"0123456789012345678901234567890123456789\"}", AB_ERR_INVALID);
    assert_invalid(BASE ",\"deletionTimestamp\":5}", AB_ERR_INVALID);
    assert_invalid(BASE ",\"statusVersion\":5}", AB_ERR_INVALID);
    assert_invalid(BASE ",\"takenStatusDigest\":\"00\"}", AB_ERR_INVALID);
    assert_invalid(NAMES COUNTERS "\"contentDigest\":\"00\",\"specDigest\":\"" DIGEST "\"}",
                   AB_ERR_INVALID);
    assert_invalid(NAMES COUNTERS "\"contentDigest\":\"" DIGEST "\"}", AB_ERR_INVALID);
    assert_invalid(NAMES "\"generation\":\"3\",\"resourceVersion\":\"-1\"}", AB_ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read_back),
        cmocka_unit_test(a_status_and_a_deletion_are_optional),
        cmocka_unit_test(a_text_that_was_cut_is_refused),
        cmocka_unit_test(wrong_fields_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
