/* SPDX-License-Identifier: Apache-2.0 */
#include "live/resource/spoke/mask.h"
#include "tests/unit/scarce.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* All of `json` in pieces of `step` bytes; the text that comes out, owned by the caller. */
static ab_err mask(const char *json, bool events, size_t step, char **text)
{
    ab_resource_mask m;
    ab_buf out;
    ab_error err = {0};
    ab_err e = AB_ERR_OK;
    ab_str rest = ab_str_of(json);
    ab_buf_init(&out, 64u * 1024 * 1024);
    ab_resource_mask_init(&m, events);
    while (e == AB_ERR_OK && rest.len > 0) {
        size_t len = rest.len < step ? rest.len : step;
        e = ab_resource_mask_feed(&m, (ab_str){rest.ptr, len}, &out, &err);
        rest = (ab_str){rest.ptr + len, rest.len - len};
    }
    if (e == AB_ERR_OK)
        e = ab_resource_mask_end(&m, &out, &err);
    assert_true(e == AB_ERR_OK || err.text[0] != '\0');
    ab_resource_mask_fini(&m);
    ab_buf_putc(&out, '\0');
    *text = ab_buf_take(&out);
    return e;
}

static void assert_masked(const char *json, bool events, const char *expected)
{
    for (size_t step = 1; step < 200; step += 66) {
        char *text = NULL;
        assert_int_equal(mask(json, events, step, &text), AB_ERR_OK);
        assert_string_equal(text, expected);
        free(text);
    }
}

static void assert_denied(const char *json, bool events)
{
    char *text = NULL;
    assert_int_equal(mask(json, events, 7, &text), AB_ERR_DENIED);
    assert_string_equal(text, "");
    free(text);
}

static void values_are_masked_and_all_else_stays(void **state)
{
    (void)state;
    assert_masked("{\"kind\":\"Secret\", \"apiVersion\":\"v1\",\"metadata\":{\"name\": \"s\"},"
                  "\"data\":{\"p\\u0061ss\":\"eA==\",\"b\":\"\"},\"type\":\"Opaque\",\"n\":1e400}",
                  false,
                  "{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"type\":\"Opaque\",\"n\":1e400,"
                  "\"metadata\":{\"name\": \"s\"},"
                  "\"data\":{\"pass\":\"++++++++\",\"b\":\"++++++++\"}}");
    assert_masked(
        "{\"kind\":\"Secret\",\"stringData\":{\"a\":\"x\"},\"d\\u0061ta\":{\"b\":\"eA==\"}}", false,
        "{\"kind\":\"Secret\",\"data\":{\"b\":\"++++++++\"},\"stringData\":{\"a\":\"++++"
        "++++\"}}");
}

static void values_of_another_form_are_left_out(void **state)
{
    (void)state;
    assert_masked("{\"kind\":\"Secret\",\"data\":\"eA==\",\"stringData\":[\"x\"]}", false,
                  "{\"kind\":\"Secret\",\"data\":null,\"stringData\":null}");
}

static void what_was_applied_is_masked_too(void **state)
{
    (void)state;
    assert_masked("{\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\",\"annotations\":{\"x\":\"y\","
                  "\"kubectl.kubernetes.io/last-applied-configuration\":"
                  "\"{\\\"kind\\\":\\\"Secret\\\",\\\"data\\\":{\\\"a\\\":\\\"eA==\\\"}}\\n\"}}}",
                  false,
                  "{\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\",\"annotations\":{\"x\":\"y\","
                  "\"kubectl.kubernetes.io/last-applied-configuration\":"
                  "\"{\\\"kind\\\":\\\"Secret\\\",\\\"data\\\":{\\\"a\\\":\\\"++++++++\\\"}}\"}}}");
    assert_masked("{\"kind\":\"Secret\",\"metadata\":{\"annotations\":{"
                  "\"kubectl.kubernetes.io/last-applied-configuration\":\"data: eA==\"}}}",
                  false,
                  "{\"kind\":\"Secret\",\"metadata\":{\"annotations\":{"
                  "\"kubectl.kubernetes.io/last-applied-configuration\":\"{}\"}}}");
}

/* An object that was applied may have been read from a server before, with what was applied then.
 */
static void what_was_applied_within_what_was_applied_is_left_out(void **state)
{
    (void)state;
    assert_masked("{\"kind\":\"Secret\",\"metadata\":{\"annotations\":{"
                  "\"kubectl.kubernetes.io/last-applied-configuration\":"
                  "\"{\\\"kind\\\":\\\"Secret\\\",\\\"metadata\\\":{\\\"annotations\\\":{"
                  "\\\"kubectl.kubernetes.io/last-applied-configuration\\\":"
                  "\\\"data: eA==\\\"}}}\"}}}",
                  false,
                  "{\"kind\":\"Secret\",\"metadata\":{\"annotations\":{"
                  "\"kubectl.kubernetes.io/last-applied-configuration\":"
                  "\"{\\\"kind\\\":\\\"Secret\\\"}\"}}}");
}

static void what_other_tools_keep_of_it_is_masked_too(void **state)
{
    (void)state;
    assert_masked(
        "{\"kind\":\"Secret\",\"metadata\":{\"annotations\":{"
        "\"kapp.k14s.io/original\":\"{\\\"data\\\":{\\\"a\\\":\\\"eA==\\\"}}\","
        "\"objectset.rio.cattle.io/applied\":\"H4sI\",\"banzaicloud.com/last-applied\":"
        "\"UEsD\",\"kopf.zalando.org/last-handled-configuration\":\"{}\",\"qbec.io/last-applied\":"
        "\"H4sI\",\"a\":\"b\"}}}",
        false,
        "{\"kind\":\"Secret\",\"metadata\":{\"annotations\":{"
        "\"kapp.k14s.io/original\":\"++++++++\","
        "\"objectset.rio.cattle.io/applied\":\"++++++++\",\"banzaicloud.com/last-applied\":"
        "\"++++++++\",\"kopf.zalando.org/last-handled-configuration\":\"++++++++\","
        "\"qbec.io/last-applied\":\"++++++++\",\"a\":\"b\"}}}");
}

static void each_item_of_a_list_is_masked(void **state)
{
    (void)state;
    assert_masked(
        "{\"kind\":\"SecretList\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":["
        "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"eA==\"}},{\"data\":null}]}",
        false,
        "{\"kind\":\"SecretList\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":["
        "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"++++++++\"}},{\"data\":null}]}");
}

static void each_event_of_a_watch_is_masked(void **state)
{
    (void)state;
    assert_masked(
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Secret\",\"data\":{\"k\":\"eA==\"}}}\n"
        "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Secret\"}}\n"
        "\n" /* says nothing, and is left out */
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n",
        true,
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Secret\",\"data\":{\"k\":\"++++++++\"}}}\n"
        "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Secret\"}}\n"
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n");
}

static void an_event_is_passed_on_when_it_is_complete(void **state)
{
    (void)state;
    ab_resource_mask m;
    ab_buf out;
    ab_buf_init(&out, 4096);
    ab_resource_mask_init(&m, true);
    ab_str event = AB_STR("{\"type\":\"ADDED\",\"object\":{\"kind\":\"Secret\"}}");
    assert_int_equal(ab_resource_mask_feed(&m, event, &out, NULL), AB_ERR_OK);
    assert_int_equal(out.len, 0);
    assert_int_equal(ab_resource_mask_feed(&m, AB_STR("\n"), &out, NULL), AB_ERR_OK);
    assert_int_equal(out.len, event.len + 1);
    ab_resource_mask_fini(&m);
    ab_buf_fini(&out);
}

static void what_is_not_understood_is_never_passed_on(void **state)
{
    (void)state;
    assert_denied("{\"kind\":\"Table\",\"rows\":[{\"object\":{\"data\":{\"a\":\"eA==\"}}}]}",
                  false);
    assert_denied("{\"kind\":\"List\",\"items\":[{\"kind\":\"Secret\",\"data\":{\"a\":\"eA==\"}}]}",
                  false);
    assert_denied("{\"data\":{\"a\":\"eA==\"}}", false);
    assert_denied("{\"kind\":\"Secret\",\"kind\":\"Status\",\"data\":{\"a\":\"eA==\"}}", false);
    assert_denied("{\"kind\":\"Secret\",\"data\":{\"a\":\"eA==\"}", false);
    assert_denied("k8s\x01\x02", false);
    assert_denied("[]", false);
    assert_denied("{\"kind\":\"SecretList\",\"items\":[[{\"data\":{\"a\":\"eA==\"}}]]}", false);
    assert_denied("{\"kind\":\"SecretList\",\"items\":[\"eA==\"]}", false);
    assert_denied("{\"type\":\"ADDED\",\"object\":{\"kind\":\"Table\"}}\n", true);
    assert_denied("{\"kind\":\"Secret\",\"data\":{\"a\":\"eA==\"}}\n", true);
}

static void an_answer_too_large_to_hold_is_refused(void **state)
{
    (void)state;
    ab_resource_mask m;
    ab_buf out;
    static char piece[1024 * 1024];
    ab_err e = AB_ERR_OK;
    ab_error err = {0};
    memset(piece, 'x', sizeof(piece));
    ab_buf_init(&out, 4096);
    ab_resource_mask_init(&m, false);
    for (int i = 0; i < 5 && e == AB_ERR_OK; i++)
        e = ab_resource_mask_feed(&m, (ab_str){piece, sizeof(piece)}, &out, &err);
    assert_int_equal(e, AB_ERR_TOOBIG);
    assert_non_null(strstr(err.text, "cannot be masked"));
    assert_int_equal(out.len, 0);
    ab_resource_mask_fini(&m);
    ab_buf_fini(&out);
}

#define APPLIED                                                                                    \
    "{\"kind\":\"Secret\",\"metadata\":{\"annotations\":{\"kapp.k14s.io/original\":\"eA==\","      \
    "\"kubectl.kubernetes.io/last-applied-configuration\":\"{\\\"data\\\":{\\\"a\\\":"             \
    "\\\"eA==\\\"}}\"}},\"data\":{\"a\":\"eA==\"}}"

/* Each allocation fails once, in turn. */
static void no_value_is_passed_on_when_memory_is_short(void **state)
{
    bool refused = true;
    (void)state;
    for (long i = 0; refused; i++) {
        ab_resource_mask m;
        ab_buf out;
        ab_error err = {0};
        ab_buf_init(&out, 4096);
        ab_resource_mask_init(&m, false);
        scarce_allocations_left = i;
        ab_err e = ab_resource_mask_feed(&m, AB_STR(APPLIED), &out, &err);
        if (e == AB_ERR_OK)
            e = ab_resource_mask_end(&m, &out, &err);
        refused = scarce_allocations_left < 0;
        scarce_allocations_left = -1;
        assert_null(memmem(ab_buf_str(&out).ptr, out.len, "eA==", 4));
        assert_true(refused || e == AB_ERR_OK);
        ab_resource_mask_fini(&m);
        ab_buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_masked_and_all_else_stays),
        cmocka_unit_test(values_of_another_form_are_left_out),
        cmocka_unit_test(what_was_applied_is_masked_too),
        cmocka_unit_test(what_was_applied_within_what_was_applied_is_left_out),
        cmocka_unit_test(what_other_tools_keep_of_it_is_masked_too),
        cmocka_unit_test(each_item_of_a_list_is_masked),
        cmocka_unit_test(each_event_of_a_watch_is_masked),
        cmocka_unit_test(an_event_is_passed_on_when_it_is_complete),
        cmocka_unit_test(what_is_not_understood_is_never_passed_on),
        cmocka_unit_test(an_answer_too_large_to_hold_is_refused),
        cmocka_unit_test(no_value_is_passed_on_when_memory_is_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
