/* SPDX-License-Identifier: Apache-2.0 */
#include "base/observe/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void assert_rendered(ab_metrics *m, const char *want)
{
    ab_buf out;
    ab_buf_init(&out, 1u << 20);
    (void)ab_metrics_render(m, &(ab_rendering){0}, &out, SIZE_MAX);
    assert_int_equal(ab_buf_status(&out), AB_ERR_OK);
    ab_buf_putc(&out, '\0');
    assert_string_equal(out.ptr, want);
    ab_buf_fini(&out);
}

static ab_metric *counter(ab_metrics *m, const char *agent)
{
    ab_label label = {"agent", ab_str_of(agent)};
    return ab_metric_get(m, AB_METRIC_COUNTER, "sent_total", "Events sent.", &label, 1);
}

static void nothing_declared_renders_nothing(void **state)
{
    (void)state;
    ab_metrics *m = ab_metrics_new();
    assert_rendered(m, "");
    ab_metrics_free(m);
}

static void counters_show_from_the_first_with_zero(void **state)
{
    (void)state;
    ab_metrics *m = ab_metrics_new();
    (void)counter(m, "w1");
    ab_metric_add(counter(m, "w2"), 2);
    ab_metric_add(counter(m, "w2"), 1);
    assert_ptr_equal(counter(m, "w2"), counter(m, "w2"));
    assert_true(ab_metric_value(counter(m, "w2")) > 2.5);
    assert_rendered(m, "# HELP sent_total Events sent.\n# TYPE sent_total counter\n"
                       "sent_total{agent=\"w1\"} 0\nsent_total{agent=\"w2\"} 3\n");
    ab_metrics_free(m);
}

static void families_come_in_order_of_declaration(void **state)
{
    (void)state;
    ab_metrics *m = ab_metrics_new();
    ab_metric_set(ab_metric_get(m, AB_METRIC_GAUGE, "z", "Z.", NULL, 0), -1.5);
    ab_metric_set(ab_metric_get(m, AB_METRIC_GAUGE, "a", "A.", NULL, 0), 1e18);
    assert_rendered(m,
                    "# HELP z Z.\n# TYPE z gauge\nz -1.5\n# HELP a A.\n# TYPE a gauge\na 1e+18\n");
    ab_metrics_free(m);
}

static void label_values_are_escaped(void **state)
{
    (void)state;
    ab_metrics *m = ab_metrics_new();
    ab_metric_add(counter(m, "a\"b\\c\nd\xff\xc3\xa9"), 1);
    assert_rendered(m, "# HELP sent_total Events sent.\n# TYPE sent_total counter\n"
                       "sent_total{agent=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\xc3\xa9\"} 1\n");
    ab_metrics_free(m);
}

static void values_that_are_no_numbers_have_their_names(void **state)
{
    (void)state;
    ab_metrics *m = ab_metrics_new();
    ab_metric *s = ab_metric_get(m, AB_METRIC_GAUGE, "g", "G.", NULL, 0);
    ab_metric_set(s, (double)INFINITY);
    assert_rendered(m, "# HELP g G.\n# TYPE g gauge\ng +Inf\n");
    ab_metric_set(s, (double)-INFINITY);
    assert_rendered(m, "# HELP g G.\n# TYPE g gauge\ng -Inf\n");
    ab_metric_set(s, (double)NAN);
    assert_rendered(m, "# HELP g G.\n# TYPE g gauge\ng NaN\n");
    ab_metrics_free(m);
}

static void a_histogram_counts_at_and_below_each_bound(void **state)
{
    (void)state;
    ab_metrics *m = ab_metrics_new();
    ab_label label = {"op", AB_STR("put")};
    ab_metric *s = ab_metric_get(m, AB_METRIC_HISTOGRAM, "t_seconds", "Time.", &label, 1);
    ab_metric_observe(s, 0.001);
    ab_metric_observe(s, 0.2);
    ab_metric_observe(s, 100);
    assert_rendered(m, "# HELP t_seconds Time.\n# TYPE t_seconds histogram\n"
                       "t_seconds_bucket{op=\"put\",le=\"0.001\"} 1\n"
                       "t_seconds_bucket{op=\"put\",le=\"0.005\"} 1\n"
                       "t_seconds_bucket{op=\"put\",le=\"0.01\"} 1\n"
                       "t_seconds_bucket{op=\"put\",le=\"0.025\"} 1\n"
                       "t_seconds_bucket{op=\"put\",le=\"0.05\"} 1\n"
                       "t_seconds_bucket{op=\"put\",le=\"0.1\"} 1\n"
                       "t_seconds_bucket{op=\"put\",le=\"0.25\"} 2\n"
                       "t_seconds_bucket{op=\"put\",le=\"0.5\"} 2\n"
                       "t_seconds_bucket{op=\"put\",le=\"1\"} 2\n"
                       "t_seconds_bucket{op=\"put\",le=\"2.5\"} 2\n"
                       "t_seconds_bucket{op=\"put\",le=\"5\"} 2\n"
                       "t_seconds_bucket{op=\"put\",le=\"10\"} 2\n"
                       "t_seconds_bucket{op=\"put\",le=\"30\"} 2\n"
                       "t_seconds_bucket{op=\"put\",le=\"60\"} 2\n"
                       "t_seconds_bucket{op=\"put\",le=\"+Inf\"} 3\n"
                       "t_seconds_sum{op=\"put\"} 100.201\n"
                       "t_seconds_count{op=\"put\"} 3\n");
    ab_metrics_free(m);
}

static void dropping_an_agent_takes_its_series_and_no_others(void **state)
{
    (void)state;
    ab_metrics *m = ab_metrics_new();
    ab_label both[] = {{"kind", AB_STR("x")}, {"agent", AB_STR("w1")}};
    ab_label other = {"last_agent", AB_STR("w1")};
    (void)counter(m, "w1");
    (void)counter(m, "w11");
    (void)counter(m, "x\",agent=\"w1");
    (void)ab_metric_get(m, AB_METRIC_GAUGE, "depth", "Depth.", both, 2);
    (void)ab_metric_get(m, AB_METRIC_GAUGE, "seen", "Seen.", &other, 1);
    ab_metrics_drop_agent(m, AB_STR("w1"));
    assert_rendered(m, "# HELP sent_total Events sent.\n# TYPE sent_total counter\n"
                       "sent_total{agent=\"w11\"} 0\n"
                       "sent_total{agent=\"x\\\",agent=\\\"w1\"} 0\n"
                       "# HELP seen Seen.\n# TYPE seen gauge\nseen{last_agent=\"w1\"} 0\n");
    ab_metric_add(counter(m, "w1"), 5); /* it may come back */
    assert_true(ab_metric_value(counter(m, "w1")) < 5.5);
    ab_metrics_free(m);
}

static void series_are_bounded_and_null_is_harmless(void **state)
{
    (void)state;
    ab_metrics *m = ab_metrics_new();
    char name[32];
    for (unsigned i = 0; i < AB_METRICS_SERIES_MAX; i++) {
        snprintf(name, sizeof(name), "agent-%u", i);
        assert_non_null(counter(m, name));
    }
    ab_metric *none = counter(m, "one-too-many");
    assert_null(none);
    ab_metric_add(none, 1);
    ab_metric_set(none, 1);
    ab_metric_observe(none, 1);
    assert_true(ab_metric_value(none) < 0.5);
    assert_non_null(counter(m, "agent-5"));
    ab_metrics_drop_agent(m, AB_STR("agent-5"));
    assert_non_null(counter(m, "one-too-many"));
    ab_metrics_free(m);
}

static void count_call(void *arg)
{
    ++*(int *)arg;
}

static double dropped(ab_metrics *m)
{
    return ab_metric_value(
        ab_metric_get(m, AB_METRIC_COUNTER, "argobus_metrics_dropped_total", "", NULL, 0));
}

static void what_is_past_the_bound_is_counted_and_told_once(void **state)
{
    (void)state;
    ab_metrics *m = ab_metrics_new();
    char name[32];
    int told = 0;
    ab_metrics_on_full(m, count_call, &told);
    for (unsigned i = 0; i < AB_METRICS_SERIES_MAX; i++) {
        snprintf(name, sizeof(name), "agent-%u", i);
        (void)counter(m, name);
    }
    assert_int_equal(told, 0);
    assert_null(counter(m, "one-too-many"));
    assert_null(counter(m, "another"));
    assert_int_equal(told, 1);
    assert_true(dropped(m) > 1.5 && dropped(m) < 2.5);
    ab_metrics_drop_agent(m, AB_STR("agent-5"));
    assert_non_null(counter(m, "one-too-many"));
    assert_null(counter(m, "another"));
    assert_int_equal(told, 2);
    ab_metrics_free(m);
}

static void set_depth(void *arg)
{
    ab_metric_set(arg, 7);
}

static void gauges_are_brought_up_to_date_before_rendering(void **state)
{
    (void)state;
    ab_metrics *m = ab_metrics_new();
    ab_metric *s = ab_metric_get(m, AB_METRIC_GAUGE, "depth", "Depth.", NULL, 0);
    ab_metric *other = ab_metric_get(m, AB_METRIC_GAUGE, "width", "Width.", NULL, 0);
    ab_metrics_on_render(m, set_depth, s);
    ab_metrics_on_render(m, set_depth, other);
    assert_rendered(m, "# HELP depth Depth.\n# TYPE depth gauge\ndepth 7\n"
                       "# HELP width Width.\n# TYPE width gauge\nwidth 7\n");
    ab_metrics_free(m);
}

/* A rendering in portions of one series. */
static bool next_portion(ab_metrics *m, ab_rendering *r, ab_buf *out)
{
    return ab_metrics_render(m, r, out, 1);
}

static void assert_text(ab_buf *out, const char *want)
{
    ab_buf_putc(out, '\0');
    assert_string_equal(out->ptr, want);
    ab_buf_fini(out);
}

static void a_portion_ends_with_the_series_that_reaches_its_size(void **state)
{
    (void)state;
    ab_metrics *m = ab_metrics_new();
    ab_rendering r = {0};
    ab_buf out;
    char name[32];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "agent-%d", i);
        (void)counter(m, name);
    }
    ab_buf_init(&out, 1u << 20);
    size_t portions = 1;
    size_t before = 0;
    for (; ab_metrics_render(m, &r, &out, 1000); portions++) {
        assert_in_range(out.len - before, 1000, 1100);
        before = out.len;
    }
    assert_true(portions > 20);
    ab_buf_putc(&out, '\0');
    assert_rendered(m, out.ptr);
    ab_buf_fini(&out);
    ab_metrics_free(m);
}

static void what_is_dropped_between_two_portions_does_not_show(void **state)
{
    (void)state;
    ab_metrics *m = ab_metrics_new();
    ab_rendering r = {0};
    ab_buf out;
    for (const char *const *a = (const char *const[]){"w1", "w2", "w3", NULL}; *a != NULL; a++)
        (void)counter(m, *a);
    ab_buf_init(&out, 4096);
    assert_true(next_portion(m, &r, &out));
    ab_metrics_drop_agent(m, AB_STR("w1")); /* was printed */
    ab_metrics_drop_agent(m, AB_STR("w2")); /* is next */
    (void)counter(m, "w4");
    ab_metric_set(ab_metric_get(m, AB_METRIC_GAUGE, "late", "Late.", NULL, 0), 1);
    while (next_portion(m, &r, &out))
        ;
    assert_text(&out, "# HELP sent_total Events sent.\n# TYPE sent_total counter\n"
                      "sent_total{agent=\"w1\"} 0\nsent_total{agent=\"w3\"} 0\n"
                      "sent_total{agent=\"w4\"} 0\n"
                      "# HELP late Late.\n# TYPE late gauge\nlate 1\n");
    ab_metrics_free(m);
}

static void a_family_is_over_when_its_last_series_is_dropped(void **state)
{
    (void)state;
    ab_metrics *m = ab_metrics_new();
    ab_rendering r = {0};
    ab_rendering other = {0};
    ab_buf out;
    (void)counter(m, "w1");
    (void)counter(m, "w2");
    ab_metric_set(ab_metric_get(m, AB_METRIC_GAUGE, "depth", "Depth.", NULL, 0), 1);
    ab_buf_init(&out, 4096);
    assert_true(next_portion(m, &other, &out));
    ab_buf_clear(&out);
    assert_true(next_portion(m, &r, &out));
    ab_metrics_drop_agent(m, AB_STR("w2"));
    while (next_portion(m, &r, &out))
        ;
    assert_text(&out, "# HELP sent_total Events sent.\n# TYPE sent_total counter\n"
                      "sent_total{agent=\"w1\"} 0\n"
                      "# HELP depth Depth.\n# TYPE depth gauge\ndepth 1\n");
    ab_metrics_free(m);
    ab_rendering_fini(&other); /* one that was given up */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_declared_renders_nothing),
        cmocka_unit_test(counters_show_from_the_first_with_zero),
        cmocka_unit_test(families_come_in_order_of_declaration),
        cmocka_unit_test(label_values_are_escaped),
        cmocka_unit_test(values_that_are_no_numbers_have_their_names),
        cmocka_unit_test(a_histogram_counts_at_and_below_each_bound),
        cmocka_unit_test(dropping_an_agent_takes_its_series_and_no_others),
        cmocka_unit_test(series_are_bounded_and_null_is_harmless),
        cmocka_unit_test(what_is_past_the_bound_is_counted_and_told_once),
        cmocka_unit_test(a_portion_ends_with_the_series_that_reaches_its_size),
        cmocka_unit_test(what_is_dropped_between_two_portions_does_not_show),
        cmocka_unit_test(a_family_is_over_when_its_last_series_is_dropped),
        cmocka_unit_test(gauges_are_brought_up_to_date_before_rendering),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
