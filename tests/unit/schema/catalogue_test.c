/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/catalogue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#define M   AB_MANAGED
#define A   AB_AUTONOMOUS
#define ANY (AB_MANAGED | AB_AUTONOMOUS)

#define EVENT "io.argoproj.argocd-agent.event."

/* argocd-agent's event matrix, row by row, by its names on the wire. */
static const struct {
    const char *target;
    const char *type;
    unsigned down_modes;
    unsigned up_modes;
    ab_carry carry;
} matrix[] = {
    {"application", EVENT "create", M, A, AB_CARRY_STATE},
    {"application", EVENT "spec-update", ANY, A, AB_CARRY_STATE},
    {"application", EVENT "status-update", 0, M, AB_CARRY_STATE},
    {"application", EVENT "set-operation", ANY, 0, AB_CARRY_COMMAND},
    {"application", EVENT "terminate-operation", ANY, 0, AB_CARRY_COMMAND},
    {"application", EVENT "delete", M, ANY, AB_CARRY_STATE},
    {"application", EVENT "error", 0, ANY, AB_CARRY_STATE},
    {"appproject", EVENT "create", M, A, AB_CARRY_STATE},
    {"appproject", EVENT "spec-update", M, A, AB_CARRY_STATE},
    {"appproject", EVENT "delete", M, A, AB_CARRY_STATE},
    {"repository", EVENT "create", M, 0, AB_CARRY_STATE},
    {"repository", EVENT "spec-update", M, 0, AB_CARRY_STATE},
    {"repository", EVENT "delete", M, 0, AB_CARRY_STATE},
    {"gpgkey", EVENT "create", M, 0, AB_CARRY_STATE},
    {"gpgkey", EVENT "spec-update", M, 0, AB_CARRY_STATE},
    {"gpgkey", EVENT "delete", M, 0, AB_CARRY_STATE},
    {"resource", "GET", ANY, 0, AB_CARRY_LIVE},
    {"resource", "POST", ANY, 0, AB_CARRY_LIVE},
    {"resource", "PATCH", ANY, 0, AB_CARRY_LIVE},
    {"resource", "DELETE", ANY, 0, AB_CARRY_LIVE},
    {"resource", EVENT "response", 0, ANY, AB_CARRY_LIVE},
    {"containerlog", "GET", ANY, 0, AB_CARRY_LIVE},
    {"terminal", EVENT "terminal-request", M, 0, AB_CARRY_LIVE},
    {"redis", EVENT "redis-request", ANY, 0, AB_CARRY_LIVE},
    {"redis", EVENT "redis-response", 0, ANY, AB_CARRY_LIVE},
    {"resourceResync", EVENT "request-synced-resource-list", A, M, AB_CARRY_STATE},
    {"resourceResync", EVENT "response-synced-resource", M, A, AB_CARRY_STATE},
    {"resourceResync", EVENT "request-update", A, M, AB_CARRY_STATE},
    {"resourceResync", EVENT "request-resource-resync", M, A, AB_CARRY_STATE},
    {"clusterCacheInfoUpdate", EVENT "cluster-cache-info-update", 0, ANY, AB_CARRY_LIVE},
    {"heartbeat", EVENT "ping", 0, ANY, AB_CARRY_STATE},
    {"eventProcessed", EVENT "processed", ANY, ANY, AB_CARRY_COMMAND},
    /* Ours. */
    {"live", EVENT "frame", ANY, ANY, AB_CARRY_LIVE},
    {"live", EVENT "close", ANY, ANY, AB_CARRY_LIVE},
    {"application", EVENT "refresh", ANY, 0, AB_CARRY_COMMAND},
    {"application", EVENT "release", ANY, ANY, AB_CARRY_STATE},
    {"appproject", EVENT "release", ANY, ANY, AB_CARRY_STATE},
    {"repository", EVENT "release", ANY, 0, AB_CARRY_STATE},
    {"gpgkey", EVENT "release", ANY, 0, AB_CARRY_STATE},
    {"appproject", EVENT "error", 0, ANY, AB_CARRY_STATE},
    {"repository", EVENT "error", 0, M, AB_CARRY_STATE},
    {"gpgkey", EVENT "error", 0, M, AB_CARRY_STATE},
    {"resourceResync", EVENT "resync", ANY, ANY, AB_CARRY_STATE},
    {"resourceResync", EVENT "inventory", ANY, ANY, AB_CARRY_STATE},
};

#define MATRIX_ROWS (sizeof(matrix) / sizeof(matrix[0]))

static const ab_catalogue_row *row_of(const char *target, const char *type)
{
    ab_target t;
    ab_type y;
    assert_true(ab_target_parse(target, strlen(target), &t));
    assert_true(ab_type_parse(type, strlen(type), &y));
    return ab_catalogue_find(t, y);
}

static void every_row_of_the_matrix_is_known_with_its_modes_and_carry(void **state)
{
    (void)state;
    for (size_t i = 0; i < MATRIX_ROWS; i++) {
        const ab_catalogue_row *row = row_of(matrix[i].target, matrix[i].type);
        assert_non_null(row);
        assert_int_equal(row->down_modes, matrix[i].down_modes);
        assert_int_equal(row->up_modes, matrix[i].up_modes);
        assert_int_equal(row->carry, matrix[i].carry);
    }
}

static void the_directions_of_a_row_are_those_that_some_mode_may_use(void **state)
{
    (void)state;
    for (size_t i = 0; i < MATRIX_ROWS; i++) {
        const ab_catalogue_row *row = row_of(matrix[i].target, matrix[i].type);
        unsigned expected =
            (matrix[i].down_modes != 0 ? AB_DOWN : 0u) | (matrix[i].up_modes != 0 ? AB_UP : 0u);
        assert_int_equal(row->directions, expected);
    }
}

static void the_catalogue_has_no_row_besides_the_matrix(void **state)
{
    (void)state;
    size_t count;
    const ab_catalogue_row *rows = ab_catalogue_rows(&count);
    assert_non_null(rows);
    assert_int_equal(count, MATRIX_ROWS);
    for (size_t i = 0; i < count; i++)
        assert_ptr_equal(ab_catalogue_find(rows[i].target, rows[i].type), &rows[i]);
}

static void an_event_is_allowed_only_in_its_direction_and_mode(void **state)
{
    (void)state;
    for (size_t i = 0; i < MATRIX_ROWS; i++) {
        const ab_catalogue_row *row = row_of(matrix[i].target, matrix[i].type);
        assert_int_equal(ab_catalogue_allows(row, AB_DOWN, M), (matrix[i].down_modes & M) != 0);
        assert_int_equal(ab_catalogue_allows(row, AB_DOWN, A), (matrix[i].down_modes & A) != 0);
        assert_int_equal(ab_catalogue_allows(row, AB_UP, M), (matrix[i].up_modes & M) != 0);
        assert_int_equal(ab_catalogue_allows(row, AB_UP, A), (matrix[i].up_modes & A) != 0);
    }
}

static void a_pair_that_means_nothing_is_not_found(void **state)
{
    (void)state;
    assert_null(ab_catalogue_find(AB_TARGET_HEARTBEAT, AB_TYPE_PONG));
    assert_null(ab_catalogue_find(AB_TARGET_REPOSITORY, AB_TYPE_STATUS_UPDATE));
    assert_null(ab_catalogue_find(AB_TARGET_CONTAINER_LOG, AB_TYPE_HTTP_POST));
}

static void every_target_and_type_is_found_by_its_own_name(void **state)
{
    (void)state;
    for (ab_target t = 0; t < AB_TARGET_COUNT; t++) {
        ab_target parsed = AB_TARGET_COUNT;
        assert_true(ab_target_parse(ab_target_name(t), strlen(ab_target_name(t)), &parsed));
        assert_int_equal(parsed, t);
    }
    for (ab_type t = 0; t < AB_TYPE_COUNT; t++) {
        ab_type parsed = AB_TYPE_COUNT;
        assert_true(ab_type_parse(ab_type_name(t), strlen(ab_type_name(t)), &parsed));
        assert_int_equal(parsed, t);
    }
}

static void a_name_counts_only_whole_and_in_its_own_case(void **state)
{
    (void)state;
    ab_target t;
    ab_type y;
    assert_false(ab_target_parse("application", 3, &t));
    assert_false(ab_target_parse("applications", 12, &t));
    assert_false(ab_target_parse("Application", 11, &t));
    assert_false(ab_target_parse("", 0, &t));
    assert_false(ab_target_parse(NULL, 0, &t));
    assert_false(ab_type_parse("create", 6, &y));
    assert_false(ab_type_parse("get", 3, &y));
    assert_false(ab_type_parse(EVENT, strlen(EVENT), &y));
    assert_false(ab_type_parse(NULL, 0, &y));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_the_matrix_is_known_with_its_modes_and_carry),
        cmocka_unit_test(the_directions_of_a_row_are_those_that_some_mode_may_use),
        cmocka_unit_test(the_catalogue_has_no_row_besides_the_matrix),
        cmocka_unit_test(an_event_is_allowed_only_in_its_direction_and_mode),
        cmocka_unit_test(a_pair_that_means_nothing_is_not_found),
        cmocka_unit_test(every_target_and_type_is_found_by_its_own_name),
        cmocka_unit_test(a_name_counts_only_whole_and_in_its_own_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
