/* SPDX-License-Identifier: Apache-2.0
 *
 * What the keys of argocd-agent's ConfigMap mean, and which ConfigMap it is.
 */
#include "services/principal/blocklist.h"

#include "services/principal/principal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define A "AB00000000000000000000000000000000000000000000000000000000000000"
#define B "CD00000000000000000000000000000000000000000000000000000000000000"

static const uint8_t a[AB_FINGERPRINT_BYTES] = {0xab}, b[AB_FINGERPRINT_BYTES] = {0xcd};

typedef struct {
    ab_blocklist list;
    FILE *log_file;
    char log[8192];
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->log_file = tmpfile();
    assert_non_null(f->log_file);
    assert_int_equal(
        ab_log_new(fileno(f->log_file), "info", AB_LOG_TEXT, &ab_clock_real, &f->list.log, NULL),
        AB_ERR_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    ab_log_free(f->list.log);
    ab_blocklist_fini(&f->list);
    fclose(f->log_file);
    free(f);
    return 0;
}

/* How often the log has this text. */
static size_t logged(fixture *f, const char *text)
{
    size_t count = 0;
    ssize_t len = pread(fileno(f->log_file), f->log, sizeof(f->log) - 1, 0);
    assert_true(len >= 0);
    f->log[len] = '\0';
    for (const char *at = f->log; (at = strstr(at, text)) != NULL; at++)
        count++;
    return count;
}

static ab_object *config_map(const char *name, const char *data)
{
    char json[2048];
    ab_object *o = NULL;
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\","
             "\"namespace\":\"argocd\"}%s}",
             name, data);
    assert_int_equal(ab_object_parse(ab_str_of(json), &o, NULL), AB_ERR_OK);
    return o;
}

static bool take(fixture *f, const char *data)
{
    ab_object *o = config_map("argocd-agent-tls-blocklist", data);
    bool changed = ab_blocklist_take(&f->list, o);
    ab_object_unref(o);
    return changed;
}

static bool has(const fixture *f, const uint8_t *hash)
{
    return ab_blocklist_has(&f->list, hash);
}

static void the_keys_are_the_fingerprints_that_are_blocked(void **state)
{
    fixture *f = *state;
    assert_true(take(f, ",\"data\":{\"" A "\":\"\"}"));
    assert_true(has(f, a));
    assert_false(has(f, b));
    assert_true(take(f, ",\"data\":{\"" A "\":\"\",\"" B "\":\"stolen\"}"));
    assert_true(has(f, a) && has(f, b));
    assert_true(take(f, ",\"data\":{\"" B "\":\"\"}"));
    assert_false(has(f, a));
    assert_int_equal(logged(f, "blocklist changed"), 3);
}

static void without_data_or_without_the_config_map_none_is_blocked(void **state)
{
    fixture *f = *state;
    static const char *const empty[] = {"", ",\"data\":{}", ",\"data\":null",
                                        ",\"data\":\"" A "\""};
    for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
        assert_true(take(f, ",\"data\":{\"" A "\":\"\"}"));
        assert_true(take(f, empty[i]));
        assert_false(has(f, a));
    }
    assert_true(take(f, ",\"data\":{\"" A "\":\"\"}"));
    assert_true(ab_blocklist_take(&f->list, NULL));
    assert_false(has(f, a));
    assert_false(ab_blocklist_take(&f->list, NULL));
}

static void what_changes_no_fingerprint_is_no_change(void **state)
{
    fixture *f = *state;
    assert_false(take(f, ",\"data\":{}"));
    assert_true(take(f, ",\"data\":{\"" A "\":\"\",\"" B "\":\"\"}"));
    assert_false(take(f, ",\"data\":{\"" B "\":\"x\",\"" A "\":\"\"}"));
}

static void lower_case_and_colons_mean_the_same(void **state)
{
    fixture *f = *state;
    assert_true(take(f,
                     ",\"data\":{\"ab000000000000000000000000000000000000000000000000000000000000"
                     "00\":\"\",\"CD:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:"
                     "00:00:00:00:00:00:00:00:00:00:00\":\"\"}"));
    assert_true(has(f, a) && has(f, b));
    assert_int_equal(logged(f, "block no certificate"), 0);
}

static void a_bad_key_is_told_once_and_the_others_count(void **state)
{
    fixture *f = *state;
    assert_true(take(f, ",\"data\":{\"w1\":\"\",\"" A "\":\"\",\"" A "00\":\"\"}"));
    assert_true(has(f, a));
    assert_int_equal(logged(f, "block no certificate"), 1);
    assert_int_equal(logged(f, "key=w1 count=2"), 1);
    assert_true(take(f, ",\"data\":{\"w1\":\"\",\"" B "\":\"\",\"" A "00\":\"\"}"));
    assert_int_equal(logged(f, "block no certificate"), 1);
    assert_false(take(f, ",\"data\":{\"" B "\":\"\",\"" A "00\":\"\"}"));
    assert_int_equal(logged(f, "block no certificate"), 2);
    assert_int_equal(logged(f, "key=" A "00 count=1"), 1);
    assert_false(take(f, ",\"data\":{\"" B "\":\"\"}"));
    assert_false(take(f, ",\"data\":{\"a\\nb\":\"\",\"" B "\":\"\"}"));
    assert_int_equal(logged(f, "block no certificate"), 3);
    assert_true(has(f, b));
}

/* --- which one --- */

#define KUBERNETES "store.kind=kubernetes", "transport=grpc"

static ab_config *configured(const char **set, size_t count)
{
    static ab_options tables[AB_SERVICE_OPTIONS_MAX];
    ab_error err = {0};
    ab_config *c = NULL;
    const ab_config_sources from = {.set = set, .set_count = count};
    if (ab_config_load(tables, ab_principal_options(tables), &from, &c, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
    return c;
}

#define CONFIGURED(...)                                                                            \
    configured((const char *[]){__VA_ARGS__},                                                      \
               sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *))

static bool is(ab_config *c, const char *name)
{
    ab_object *o = config_map(name, "");
    bool it_is = ab_blocklist_is(c, o);
    ab_object_unref(o);
    return it_is;
}

static void it_is_that_of_argocd_agent_unless_another_is_named(void **state)
{
    (void)state;
    ab_config *c = CONFIGURED(KUBERNETES);
    assert_true(is(c, "argocd-agent-tls-blocklist"));
    assert_false(is(c, "argocd-gpg-keys-cm"));
    ab_config_free(c);
    c = CONFIGURED(KUBERNETES, "grpc.auth.blocklist=thieves");
    assert_true(is(c, "thieves"));
    assert_false(is(c, "argocd-agent-tls-blocklist"));
    ab_config_free(c);
    c = CONFIGURED(KUBERNETES, "store.namespace=elsewhere");
    assert_false(is(c, "argocd-agent-tls-blocklist"));
    ab_config_free(c);
}

/* For sealed Secrets and live access. */
static void over_kafka_it_is_read_too(void **state)
{
    (void)state;
    ab_config *c = CONFIGURED("store.kind=kubernetes", "transport=kafka");
    assert_true(is(c, "argocd-agent-tls-blocklist"));
    ab_config_free(c);
}

static void until_it_was_read_all_are_blocked(void **state)
{
    fixture *f = *state;
    f->list.awaited = true;
    assert_true(ab_blocklist_has(&f->list, a));
    f->list.awaited = false;
    assert_false(ab_blocklist_has(&f->list, a));
}

static void without_kubernetes_or_by_wish_there_is_none(void **state)
{
    (void)state;
    ab_config *none[] = {
        CONFIGURED("store.kind=directory", "transport=grpc"),
        CONFIGURED(KUBERNETES, "grpc.auth.blocklist=none"),
    };
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        assert_null(ab_blocklist_name(none[i]));
        assert_false(is(none[i], "argocd-agent-tls-blocklist"));
        assert_false(is(none[i], "none"));
        ab_config_free(none[i]);
    }
}

static void a_name_that_no_config_map_can_have_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "A", "a&watch=1", "a/b", "a,b"};
    ab_error err = {0};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char set[64];
        snprintf(set, sizeof(set), "grpc.auth.blocklist=%s", bad[i]);
        ab_config *c = CONFIGURED(KUBERNETES, set);
        assert_int_equal(ab_blocklist_check(c, &err), AB_ERR_CONFIG);
        assert_non_null(strstr(err.text, "grpc.auth.blocklist"));
        ab_config_free(c);
    }
    ab_config *c = CONFIGURED(KUBERNETES, "grpc.auth.blocklist=none");
    assert_int_equal(ab_blocklist_check(c, &err), AB_ERR_OK);
    ab_config_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_keys_are_the_fingerprints_that_are_blocked, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(without_data_or_without_the_config_map_none_is_blocked,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_changes_no_fingerprint_is_no_change, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(lower_case_and_colons_mean_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bad_key_is_told_once_and_the_others_count, set_up,
                                        tear_down),
        cmocka_unit_test(it_is_that_of_argocd_agent_unless_another_is_named),
        cmocka_unit_test(over_kafka_it_is_read_too),
        cmocka_unit_test_setup_teardown(until_it_was_read_all_are_blocked, set_up, tear_down),
        cmocka_unit_test(without_kubernetes_or_by_wish_there_is_none),
        cmocka_unit_test(a_name_that_no_config_map_can_have_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
