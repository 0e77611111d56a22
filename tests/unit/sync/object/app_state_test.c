/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/object/app_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static ab_object *app_with(const char *status)
{
    char text[512];
    ab_object *o = NULL;
    snprintf(text, sizeof(text),
             "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\","
             "\"metadata\":{\"name\":\"a\",\"namespace\":\"w1\"}%s%s}",
             status[0] == '\0' ? "" : ",\"status\":", status);
    assert_int_equal(ab_object_parse(ab_str_of(text), &o, NULL), AB_ERR_OK);
    return o;
}

static void set(ab_app_counts *counts, ab_app_state *state, const char *status)
{
    ab_object *o = app_with(status);
    ab_app_counts_set(counts, state, o);
    ab_object_unref(o);
}

static void each_word_of_argo_cd_has_its_count(void **state)
{
    (void)state;
    ab_app_counts counts = {0};
    for (unsigned sync = 0; sync < AB_APP_SYNCS; sync++)
        for (unsigned health = 0; health < AB_APP_HEALTHS; health++) {
            ab_app_state app = {0};
            char text[128];
            snprintf(text, sizeof(text),
                     "{\"sync\":{\"status\":\"%s\"},\"health\":{\"status\":\"%s\"}}",
                     ab_app_sync_name(sync), ab_app_health_name(health));
            set(&counts, &app, text);
            assert_int_equal(app.sync, sync);
            assert_int_equal(app.health, health);
        }
    assert_int_equal(counts.all, AB_APP_SYNCS * AB_APP_HEALTHS);
    for (unsigned i = 0; i < AB_APP_SYNCS; i++)
        assert_int_equal(counts.sync[i], AB_APP_HEALTHS);
    for (unsigned i = 0; i < AB_APP_HEALTHS; i++)
        assert_int_equal(counts.health[i], AB_APP_SYNCS);
}

static void an_application_counts_once(void **state)
{
    (void)state;
    ab_app_counts counts = {0};
    ab_app_state app = {0};
    set(&counts, &app, "");
    assert_int_equal(counts.sync[AB_APP_SYNC_UNKNOWN], 1);
    set(&counts, &app, "{\"sync\":{\"status\":\"OutOfSync\"}}");
    assert_int_equal(counts.all, 1);
    assert_int_equal(counts.sync[AB_APP_SYNC_UNKNOWN], 0);
    assert_int_equal(counts.sync[AB_APP_OUT_OF_SYNC], 1);
    assert_int_equal(counts.health[AB_APP_HEALTH_UNKNOWN], 1);
    set(&counts, &app, "{\"sync\":{\"status\":\"Odd\"},\"health\":7}");
    assert_int_equal(counts.sync[AB_APP_SYNC_UNKNOWN], 1);
    assert_int_equal(counts.health[AB_APP_HEALTH_UNKNOWN], 1);
    ab_app_counts_set(&counts, &app, NULL);
    ab_app_counts_set(&counts, &app, NULL);
    assert_int_equal(counts.all, 0);
    assert_int_equal(counts.sync[AB_APP_SYNC_UNKNOWN], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_word_of_argo_cd_has_its_count),
        cmocka_unit_test(an_application_counts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
