/* SPDX-License-Identifier: Apache-2.0
 *
 * What an agent that means harm may say: it is refused, and leaves no more lines than it may have.
 */
#include "base/observe/log_quota.h"
#include "schema/attributes.h"
#include "schema/catalogue.h"
#include "tests/unit/logged.h"
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static double refused(const char *reason)
{
    ab_label label = {"reason", ab_str_of(reason)};
    return ab_metric_value(ab_metric_get(w.principal_metrics, AB_METRIC_COUNTER,
                                         "argobus_events_refused_total", "", &label, 1));
}

/* After it, nothing could be newer. */
static void what_is_said_in_an_epoch_that_cannot_be_is_refused(void **state)
{
    (void)state;
    placed("");
    say_up_in(UINT64_MAX, LOCAL, AB_TYPE_STATUS_UPDATE,
              "{\"metadata\":{\"name\":\"a\",\"namespace\":\"argocd\"},\"status\":{\"n\":9}}", 1);
    world_settle(&w);
    assert_int_equal(refused("version"), 1);
    assert_int_equal(status_of(hub()), -1);
    set_field(w.local, LOCAL, "status", "{\"n\":5}");
    world_settle(&w);
    assert_int_equal(status_of(hub()), 5);
    assert_at_rest();
}

static void a_peer_that_is_refused_again_and_again_does_not_fill_the_log(void **state)
{
    (void)state;
    FILE *file = logged_open(&w.clock, &w.log);
    placed("");
    for (uint64_t n = 1; n <= 50; n++)
        say_up(LOCAL, AB_TYPE_SET_OPERATION, "{}", n);
    world_settle(&w);
    assert_int_equal(refused("not_allowed"), 50);
    assert_int_equal(logged_count(file, "event refused"), AB_LOG_QUOTA_LINES);
    world_tick(&w, 60000);
    say_up(LOCAL, AB_TYPE_SET_OPERATION, "{}", 51);
    world_settle(&w);
    assert_int_equal(refused("not_allowed"), 51);
    assert_int_equal(logged_count(file, "event refused"), AB_LOG_QUOTA_LINES + 1);
    assert_int_equal(logged_count(file, "held_back=40"), 1);
    fclose(file);
}

/* Of all kinds of lines together. */
static void a_peer_that_reports_error_after_error_does_not_fill_the_log(void **state)
{
    (void)state;
    char message[40];
    FILE *file = logged_open(&w.clock, &w.log);
    placed("");
    for (uint64_t n = 1; n <= 20; n++) {
        snprintf(message, sizeof(message), "{\"message\":\"%d\"}", (int)n);
        say_up(AB_KEY_ERROR LOCAL, AB_TYPE_ERROR, message, 2 * n);
        say_up(LOCAL, AB_TYPE_STATUS_UPDATE, "{", 2 * n + 1);
        say_up(AB_KEY_ERROR "AppProject/argocd/p", AB_TYPE_ERROR, message, n);
        world_settle(&w);
    }
    size_t lines = logged_count(file, "agent reported an error") +
                   logged_count(file, "unreadable status dropped") +
                   logged_count(file, "agent cannot apply an object");
    assert_int_equal(lines, AB_LOG_QUOTA_LINES);
    assert_true(has_error(hub()));
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_said_in_an_epoch_that_cannot_be_is_refused),
        TEST(a_peer_that_is_refused_again_and_again_does_not_fill_the_log),
        TEST(a_peer_that_reports_error_after_error_does_not_fill_the_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
