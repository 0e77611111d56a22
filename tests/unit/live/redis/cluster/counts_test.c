/* SPDX-License-Identifier: Apache-2.0 */
#include "live/redis/cluster/counts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>
#include <zlib.h>

/* As Argo CD 3 writes it. */
#define INFO                                                                                       \
    "{\"connectionState\":{\"status\":\"Successful\",\"message\":\"\",\"attemptedAt\":null},"      \
    "\"serverVersion\":\"1.33\",\"cacheInfo\":{\"resourcesCount\":412,\"apisCount\":61,"           \
    "\"lastCacheSyncTime\":\"2026-11-23T10:00:00Z\"},\"applicationsCount\":3,"                     \
    "\"apiVersions\":[\"v1\",\"apps/v1\"]}"

static void assert_counts(const ab_redis_cluster_counts *c, int64_t apps, int64_t resources,
                          int64_t apis)
{
    assert_int_equal(c->applications, apps);
    assert_int_equal(c->resources, resources);
    assert_int_equal(c->apis, apis);
}

static ab_str compressed(const char *text, size_t len, char *out, size_t room)
{
    z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)text,
                  .avail_in = (uInt)len,
                  .next_out = (Bytef *)out,
                  .avail_out = (uInt)room};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return (ab_str){out, room - z.avail_out};
}

static void reads_what_a_controller_keeps(void **state)
{
    (void)state;
    char bytes[4096];
    ab_redis_cluster_counts c;
    ab_str packed = compressed(INFO, strlen(INFO), bytes, sizeof(bytes));
    assert_int_equal(ab_redis_cluster_counts_read_info(AB_STR(INFO), false, &c), AB_ERR_OK);
    assert_counts(&c, 3, 412, 61);
    c = (ab_redis_cluster_counts){0};
    assert_int_equal(ab_redis_cluster_counts_read_info(packed, true, &c), AB_ERR_OK);
    assert_counts(&c, 3, 412, 61);
}

static void takes_what_is_left_out_for_0(void **state)
{
    (void)state;
    ab_redis_cluster_counts c = {1, 1, 1};
    assert_int_equal(
        ab_redis_cluster_counts_read_info(AB_STR("{\"applicationsCount\":2}"), false, &c),
        AB_ERR_OK);
    assert_counts(&c, 2, 0, 0);
}

static void reads_the_report_that_it_writes(void **state)
{
    (void)state;
    ab_buf report;
    ab_redis_cluster_counts c;
    const ab_redis_cluster_counts most = {INT64_MAX, INT64_MAX - 1, INT64_MAX - 2};
    ab_buf_init(&report, AB_REDIS_CLUSTER_REPORT_MAX);
    ab_redis_cluster_counts_write(&(ab_redis_cluster_counts){3, 412, 61}, &report);
    assert_true(ab_str_is(ab_buf_str(&report),
                          "{\"applicationsCount\":3,\"apisCount\":61,\"resourcesCount\":412}"));
    ab_buf_clear(&report);
    ab_redis_cluster_counts_write(&most, &report);
    assert_int_equal(ab_redis_cluster_counts_read(ab_buf_str(&report), &c), AB_ERR_OK);
    assert_true(ab_redis_cluster_counts_are_same(&c, &most));
    c.apis++;
    assert_false(ab_redis_cluster_counts_are_same(&c, &most));
    ab_buf_fini(&report);
}

static void refuses_what_is_not_a_report(void **state)
{
    (void)state;
    char longer[AB_REDIS_CLUSTER_REPORT_MAX + 2];
    static const char *const texts[] = {"",
                                        "null",
                                        "[]",
                                        "3",
                                        "{\"applicationsCount\":-1}",
                                        "{\"apisCount\":\"3\"}",
                                        "{\"resourcesCount\":1.5}",
                                        "{\"resourcesCount\":99999999999999999999}"};
    ab_redis_cluster_counts c = {7, 7, 7};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(ab_redis_cluster_counts_read(ab_str_of(texts[i]), &c), AB_ERR_PARSE);
    memset(longer, ' ', sizeof(longer));
    memcpy(longer, "{}", 2);
    assert_int_equal(ab_redis_cluster_counts_read((ab_str){longer, sizeof(longer) - 1}, &c),
                     AB_ERR_TOOBIG);
    assert_counts(&c, 7, 7, 7);
}

static void refuses_values_that_are_cut_or_swell(void **state)
{
    (void)state;
    static char zeros[2 * AB_REDIS_CLUSTER_INFO_MAX];
    char bytes[16384];
    ab_redis_cluster_counts c = {7, 7, 7};
    ab_str packed = compressed(INFO, strlen(INFO), bytes, sizeof(bytes));
    for (size_t len = 0; len < packed.len; len++)
        assert_int_equal(ab_redis_cluster_counts_read_info((ab_str){packed.ptr, len}, true, &c),
                         AB_ERR_PARSE);
    assert_int_equal(ab_redis_cluster_counts_read_info(AB_STR(INFO), true, &c), AB_ERR_PARSE);
    packed = compressed(zeros, sizeof(zeros), bytes, sizeof(bytes));
    assert_int_equal(ab_redis_cluster_counts_read_info(packed, true, &c), AB_ERR_TOOBIG);
    assert_int_equal(ab_redis_cluster_counts_read_info((ab_str){zeros, sizeof(zeros)}, false, &c),
                     AB_ERR_TOOBIG);
    assert_counts(&c, 7, 7, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_a_controller_keeps),
        cmocka_unit_test(takes_what_is_left_out_for_0),
        cmocka_unit_test(reads_the_report_that_it_writes),
        cmocka_unit_test(refuses_what_is_not_a_report),
        cmocka_unit_test(refuses_values_that_are_cut_or_swell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
