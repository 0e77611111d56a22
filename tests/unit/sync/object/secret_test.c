/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/object/secret.h"

#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PASSWORD "aHVudGVyMg=="

static ab_object *secret_with(const char *version, const char *rest)
{
    char json[2048];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"type\":\"Opaque\",\"metadata\":"
             "{\"name\":\"s\",\"namespace\":\"argocd\",\"uid\":\"u\",\"resourceVersion\":\"%s\","
             "\"labels\":{\"app.kubernetes.io/instance\":\"apps\",\"l\":\"1\"},"
             "\"annotations\":{\"argocd.argoproj.io/tracking-id\":\"apps:/Secret:argocd/"
             "s\",\"kubectl.kubernetes.io/last-applied-configuration\":"
             "\"" PASSWORD "\",\"kapp.k14s.io/original\":\"" PASSWORD "\","
             "\"objectset.rio.cattle.io/applied\":\"" PASSWORD
             "\",\"banzaicloud.com/last-applied\":"
             "\"" PASSWORD "\",\"kopf.zalando.org/last-handled-configuration\":\"" PASSWORD
             "\",\"qbec.io/last-applied\":\"" PASSWORD "\",\"a\":\"1\"}}%s}",
             version, rest);
    return sample_object(json);
}

static void data_names_the_project(void **state)
{
    (void)state;
    static const struct {
        const char *rest;
        const char *project; /* NULL: none */
    } rows[] = {
        {",\"data\":{\"project\":\"dGVhbQ==\"}", "team"},
        {",\"data\":{\"project\":\"\"}", NULL},
        {",\"data\":{\"project\":\"?\"}", NULL},
        {",\"data\":{\"project\":\"Li4vLi4=\"}", NULL}, /* no name */
        {",\"data\":{\"project\":7}", NULL},
        {",\"data\":{}", NULL},
        {",\"stringData\":{\"project\":\"team\"}", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *project = NULL;
        ab_object *o = secret_with("1", rows[i].rest);
        assert_int_equal(ab_secret_project(o, &project), AB_ERR_OK);
        if (rows[i].project == NULL)
            assert_null(project);
        else
            assert_string_equal(project, rows[i].project);
        free(project);
        ab_object_unref(o);
    }
}

static void a_sealed_payload_tells_nothing_of_the_data(void **state)
{
    (void)state;
    ab_buf out;
    ab_object *o = secret_with("1", ",\"data\":{\"password\":\"" PASSWORD
                                    "\"},\"stringData\":{\"x\":\"" PASSWORD "\"}");
    ab_buf_init(&out, 4096);
    assert_int_equal(ab_secret_sealed(o, AB_STR("c2VhbGVk"), &out), AB_ERR_OK);
    assert_string_equal(out.ptr,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"type\":\"Opaque\","
                        "\"metadata\":{\"name\":\"s\",\"namespace\":\"argocd\","
                        "\"uid\":\"u\",\"labels\":{\"l\":\"1\"},\"annotations\":{\"a\":\"1\"}},"
                        "\"sealed\":\"c2VhbGVk\"}");
    ab_buf_clear(&out);
    assert_int_equal(ab_secret_content(o, &out), AB_ERR_OK);
    assert_string_equal(out.ptr, "{\"data\":{\"password\":\"" PASSWORD "\"}}");
    ab_buf_fini(&out);
    ab_object_unref(o);
}

static ab_digest digest(const char *version, const char *rest, const char *recipient)
{
    ab_digest d;
    ab_object *o = secret_with(version, rest);
    assert_int_equal(ab_secret_sealed_digest(o, recipient, &d), AB_ERR_OK);
    ab_object_unref(o);
    return d;
}

static void its_digest_follows_version_and_recipient_and_never_the_content(void **state)
{
    (void)state;
    ab_digest d = digest("1", ",\"data\":{\"p\":\"QQ==\"}", "r");
    ab_digest content = digest("1", ",\"data\":{\"p\":\"Qg==\"}", "r");
    ab_digest version = digest("2", ",\"data\":{\"p\":\"QQ==\"}", "r");
    ab_digest recipient = digest("1", ",\"data\":{\"p\":\"QQ==\"}", "q");
    assert_true(ab_digest_eq(&d, &content));
    assert_false(ab_digest_eq(&d, &version));
    assert_false(ab_digest_eq(&d, &recipient));
}

static ab_digest digest_of_write(const char *time)
{
    char json[400];
    ab_digest d;
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\","
             "\"namespace\":\"argocd\",\"uid\":\"u\",\"resourceVersion\":\"1\","
             "\"managedFields\":[{\"manager\":\"kubectl\",\"time\":\"%s\"}]}}",
             time);
    ab_object *o = sample_object(json);
    assert_int_equal(ab_secret_sealed_digest(o, "r", &d), AB_ERR_OK);
    ab_object_unref(o);
    return d;
}

/* After a restore, an API server gives versions out that it gave out before. */
static void its_digest_follows_the_time_of_the_write(void **state)
{
    (void)state;
    ab_digest d = digest_of_write("2024-05-01T10:00:00Z");
    ab_digest same = digest_of_write("2024-05-01T10:00:00Z");
    ab_digest later = digest_of_write("2024-05-01T10:00:01Z");
    assert_true(ab_digest_eq(&d, &same));
    assert_false(ab_digest_eq(&d, &later));
}

static void context_of(const char *json, char out[AB_DIGEST_HEX])
{
    ab_object *o = sample_object(json);
    assert_int_equal(ab_secret_context(o, out), AB_ERR_OK);
    ab_object_unref(o);
}

#define CLEAR(type, labels, rest)                                                                  \
    "{\"apiVersion\":\"v1\",\"kind\":\"Secret\"," type "\"metadata\":{\"name\":\"s\","             \
    "\"namespace\":\"argocd\",\"labels\":{" labels "}}" rest "}"
#define TYPE   "\"type\":\"Opaque\","
#define LABELS "\"a\":\"1\",\"b\":\"2\""

static void the_context_is_all_that_is_said_beside_the_seal(void **state)
{
    (void)state;
    char wanted[AB_DIGEST_HEX], found[AB_DIGEST_HEX];
    static const char *const others[] = {
        CLEAR("\"type\":\"kubernetes.io/tls\",", LABELS, ""),
        CLEAR("", LABELS, ""),
        CLEAR(TYPE, "\"a\":\"1\"", ""),
        CLEAR(TYPE, "\"a\":\"1\",\"b\":\"3\"", ""),
        CLEAR(TYPE, LABELS, ",\"stringData\":{\"url\":\"https://elsewhere\"}"),
        CLEAR(TYPE, LABELS, ",\"data\":{}"),
        CLEAR(TYPE, LABELS, ",\"immutable\":true"),
    };
    context_of(CLEAR(TYPE, LABELS, ""), wanted);
    context_of(CLEAR(TYPE, LABELS, ",\"sealed\":\"c2VhbGVk\""), found);
    assert_string_equal(found, wanted);
    context_of(CLEAR(TYPE, "\"b\" : \"2\", \"a\":\"1\"", ""), found);
    assert_string_equal(found, wanted);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        context_of(others[i], found);
        if (strcmp(found, wanted) == 0)
            fail_msg("%s", others[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_names_the_project),
        cmocka_unit_test(a_sealed_payload_tells_nothing_of_the_data),
        cmocka_unit_test(its_digest_follows_version_and_recipient_and_never_the_content),
        cmocka_unit_test(its_digest_follows_the_time_of_the_write),
        cmocka_unit_test(the_context_is_all_that_is_said_beside_the_seal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
