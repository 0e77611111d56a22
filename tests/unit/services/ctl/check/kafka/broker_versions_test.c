/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said of a broker. A real one is asked in tests/integration/ctl/check_test.py.
 */
#include "services/ctl/check/kafka/broker_versions_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static ab_findings found;

static int set_up(void **state)
{
    (void)state;
    ab_findings_init(&found);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ab_findings_fini(&found);
    return 0;
}

static const cJSON *only(void)
{
    assert_int_equal(cJSON_GetArraySize(found.list), 1);
    return cJSON_GetArrayItem(found.list, 0);
}

/* Of a broker that knows every request. */
static void judge(int16_t supported, int16_t finalized)
{
    ab_api_versions v = {.supported = supported, .finalized = finalized};
    for (size_t i = 0; i < AB_API_KEYS; i++)
        v.newest[i] = 20;
    ab_findings_fini(&found);
    ab_findings_init(&found);
    ab_broker_versions_judge(&v, "k:9092", &found);
}

static void a_release_is_told_by_its_newest_level(void **state)
{
    (void)state;
    judge(30, 30);
    assert_true(ab_doc_is(only(), "version", "4.3"));
    assert_true(ab_doc_is(only(), "what", "Kafka 4.3, by its metadata.version (30)"));
    judge(25, 0);
    assert_true(ab_doc_is(only(), "version", "4.0"));
    judge(19, 19);
    assert_true(ab_doc_is(only(), "version", "3.7"));
    judge(31, 31);
    assert_true(ab_doc_is(only(), "version", "newer than 4.3"));
}

static void a_cluster_that_is_behind_its_broker_is_told(void **state)
{
    (void)state;
    judge(29, 21);
    assert_true(ab_doc_is(only(), "version", "4.2"));
    assert_true(ab_doc_is(only(), "what",
                          "Kafka 4.2, by its metadata.version (29); the cluster uses the one of "
                          "Kafka 3.9 (21)"));
}

static void a_broker_that_names_no_level_is_not_guessed_at(void **state)
{
    (void)state;
    judge(0, 0);
    assert_null(ab_doc_text(only(), "version").ptr);
    assert_true(ab_doc_is(only(), "severity", "ok"));
    assert_true(ab_str_starts(ab_doc_text(only(), "what"), "version not known: "));
}

static void a_broker_that_refuses_the_question_is_a_warning(void **state)
{
    (void)state;
    ab_broker_versions_judge(&(ab_api_versions){.is_refused = true}, "k:9092", &found);
    assert_true(ab_doc_is(only(), "severity", "warning"));
}

static void a_request_that_a_broker_lacks_is_an_error(void **state)
{
    (void)state;
    ab_api_versions v = {.supported = 30};
    for (size_t i = 0; i < AB_API_KEYS; i++)
        v.newest[i] = 20;
    v.newest[0] = 2;   /* Produce without headers */
    v.newest[22] = -1; /* InitProducerId */
    ab_broker_versions_judge(&v, "k:9092", &found);
    const cJSON *lacks = cJSON_GetArrayItem(found.list, 1);
    assert_true(ab_doc_is(lacks, "severity", "error"));
    assert_true(ab_doc_is(lacks, "what",
                          "does not know these requests, or not in this version: Produce 3, "
                          "InitProducerId 0"));
    assert_non_null(ab_doc_text(lacks, "remedy").ptr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_release_is_told_by_its_newest_level, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cluster_that_is_behind_its_broker_is_told, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_broker_that_names_no_level_is_not_guessed_at, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_broker_that_refuses_the_question_is_a_warning, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_request_that_a_broker_lacks_is_an_error, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
