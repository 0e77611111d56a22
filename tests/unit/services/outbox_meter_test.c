/* SPDX-License-Identifier: Apache-2.0 */
#include "services/outbox_meter.h"

#include "schema/attributes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static ab_event *make_event(void)
{
    ab_event *event = NULL;
    ab_event_draft draft = {.data = AB_STR("{}")};
    ab_event_set_text(&draft, AB_CE_ID, "1");
    ab_event_set_text(&draft, AB_CE_SOURCE, "test");
    ab_event_set_text(&draft, AB_CE_TYPE, "test");
    assert_int_equal(ab_event_new(&draft, &event, NULL), AB_ERR_OK);
    return event;
}

static void assert_shows(ab_metrics *metrics, const char *name, size_t value)
{
    const ab_label label = {"agent", AB_STR("w1")};
    ab_metric *s = ab_metric_get(metrics, AB_METRIC_GAUGE, name, "", &label, 1);
    assert_int_equal((size_t)ab_metric_value(s), value);
}

static void it_shows_what_waits(void **state)
{
    (void)state;
    ab_metrics *metrics = ab_metrics_new();
    ab_outbox *outbox = ab_outbox_new(NULL, NULL);
    ab_event *event = make_event();
    assert_non_null(metrics);
    assert_non_null(outbox);
    ab_outbox_meter meter = ab_outbox_meter_make(outbox, metrics, "w1");
    assert_int_equal(ab_outbox_put(outbox, AB_STR("a"), event, false, NULL, 0), AB_ERR_OK);
    assert_int_equal(ab_outbox_put(outbox, AB_STR("b"), event, false, NULL, 0), AB_ERR_OK);
    ab_outbox_meter_measure(&meter);
    assert_shows(metrics, "argobus_outbox_events", 2);
    assert_shows(metrics, "argobus_outbox_bytes", 2 * ab_event_size(event));
    ab_outbox_drop(outbox);
    ab_outbox_meter_measure(&meter);
    assert_shows(metrics, "argobus_outbox_events", 0);
    assert_shows(metrics, "argobus_outbox_bytes", 0);
    ab_event_unref(event);
    ab_outbox_free(outbox);
    ab_metrics_free(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_shows_what_waits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
