/* SPDX-License-Identifier: Apache-2.0
 *
 * What of a record is shown, and what is not.
 */
#include "services/ctl/records/describe.h"

#include "base/core/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void redacts(const char *given, const char *expected)
{
    cJSON *doc = NULL;
    ab_buf out;
    ab_buf_init(&out, 4096);
    assert_int_equal(ab_doc_parse(ab_str_of(given), 4096, &doc, NULL), AB_ERR_OK);
    ab_record_redact(doc);
    assert_int_equal(ab_doc_finish(doc, true, &out), AB_ERR_OK);
    assert_string_equal(out.ptr, expected);
    ab_buf_fini(&out);
}

static void values_of_a_secret_are_hidden_and_its_names_are_not(void **state)
{
    (void)state;
    redacts(
        "{\"kind\":\"Secret\",\"data\":{\"url\":\"aHR0\",\"n\":1},\"stringData\":{\"a\":\"b\"}}",
        "{\"kind\":\"Secret\",\"data\":{\"url\":\"<redacted>\",\"n\":1},"
        "\"stringData\":{\"a\":\"<redacted>\"}}");
}

static void a_text_with_a_telling_name_is_hidden_however_deep(void **state)
{
    (void)state;
    redacts(
        "{\"spec\":{\"list\":[{\"clientSecret\":\"x\",\"path\":\"apps\"}],\"bearerToken\":\"y\"}}",
        "{\"spec\":{\"list\":[{\"clientSecret\":\"<redacted>\",\"path\":\"apps\"}],"
        "\"bearerToken\":\"<redacted>\"}}");
    redacts("{\"credentials\":{\"user\":\"a\",\"more\":[\"b\"]}}",
            "{\"credentials\":{\"user\":\"<redacted>\",\"more\":[\"<redacted>\"]}}");
}

static void a_url_with_a_password_is_hidden(void **state)
{
    (void)state;
    redacts("{\"repoURL\":\"https://me:hunter2@git.example.com/a\"}",
            "{\"repoURL\":\"<redacted>\"}");
    redacts("{\"message\":\"cannot fetch https://hunter2@git.example.com/a\",\"n\":"
            "[\"ssh://me:hunter2@git.example.com/a\"]}",
            "{\"message\":\"<redacted>\",\"n\":[\"<redacted>\"]}");
    redacts("{\"a\":\"https://git.example.com/a@b\",\"b\":\"ssh://git@git.example.com/a\","
            "\"c\":\"git@git.example.com:a\",\"d\":\"a://\"}",
            "{\"a\":\"https://git.example.com/a@b\",\"b\":\"ssh://git@git.example.com/a\","
            "\"c\":\"git@git.example.com:a\",\"d\":\"a://\"}");
}

static void a_value_beside_a_telling_name_is_hidden(void **state)
{
    (void)state;
    redacts("{\"parameters\":[{\"name\":\"db.password\",\"value\":\"x\"},"
            "{\"name\":\"replicas\",\"value\":\"2\"}]}",
            "{\"parameters\":[{\"name\":\"db.password\",\"value\":\"<redacted>\"},"
            "{\"name\":\"replicas\",\"value\":\"2\"}]}");
    redacts("{\"parameters\":[{\"name\":\"tokens\",\"array\":[\"x\"]},"
            "{\"map\":{\"a\":\"y\"},\"name\":\"Secrets\"}]}",
            "{\"parameters\":[{\"name\":\"tokens\",\"array\":[\"<redacted>\"]},"
            "{\"map\":{\"a\":\"<redacted>\"},\"name\":\"Secrets\"}]}");
    redacts("{\"metadata\":{\"name\":\"private\",\"namespace\":\"w1\"}}",
            "{\"metadata\":{\"name\":\"private\",\"namespace\":\"w1\"}}");
}

static void a_file_that_speaks_of_secrets_is_hidden(void **state)
{
    (void)state;
    redacts("{\"helm\":{\"values\":\"db:\\n  password: x\\n\",\"version\":\"v3\"}}",
            "{\"helm\":{\"values\":\"<redacted>\",\"version\":\"v3\"}}");
    redacts("[\"db:\\n  size: 1\\n\",\"no password is set\"]",
            "[\"db:\\n  size: 1\\n\",\"no password is set\"]");
}

static void what_kubectl_repeats_is_hidden(void **state)
{
    (void)state;
    redacts("{\"annotations\":{\"kubectl.kubernetes.io/"
            "last-applied-configuration\":\"{}\",\"a\":\"b\"}}",
            "{\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":\"<redacted>\","
            "\"a\":\"b\"}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_a_secret_are_hidden_and_its_names_are_not),
        cmocka_unit_test(a_text_with_a_telling_name_is_hidden_however_deep),
        cmocka_unit_test(a_url_with_a_password_is_hidden),
        cmocka_unit_test(a_value_beside_a_telling_name_is_hidden),
        cmocka_unit_test(a_file_that_speaks_of_secrets_is_hidden),
        cmocka_unit_test(what_kubectl_repeats_is_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
