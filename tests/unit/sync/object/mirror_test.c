/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/object/mirror.h"

#include "schema/attributes.h"
#include "sync/object/mirror_project.h"
#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define APP(metadata, rest)                                                                        \
    "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{\"name\":"    \
    "\"a\",\"namespace\":\"argocd\",\"uid\":\"u-1\"" metadata "}" rest "}"
#define PROJECT(spec)                                                                              \
    "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\",\"metadata\":{\"name\":"     \
    "\"p\",\"namespace\":\"argocd\",\"uid\":\"u-2\"},\"spec\":" spec "}"

/* --- helpers --- */

static ab_object *place(const char *source, const char *hub, ab_mirror_params how)
{
    ab_object *s = sample_object(source);
    ab_object *h = hub == NULL ? NULL : sample_object(hub);
    ab_buf text;
    ab_buf_init(&text, AB_SPAN_SIZE_MAX);
    bool app = ab_str_is(ab_object_kind(s), "Application");
    how.agent = "w1";
    how.key = app ? AB_STR("Application/w1/a") : AB_STR("AppProject/hub/w1-p");
    how.uid = ab_object_uid(s);
    how.stamp = AB_STR("1.2/w1");
    assert_int_equal(ab_mirror_render(s, h, &how, &text), AB_ERR_OK);
    ab_buf_putc(&text, '\0');
    ab_object *out = sample_object(text.ptr);
    ab_buf_fini(&text);
    ab_object_unref(s);
    ab_object_unref(h);
    return out;
}

static ab_spanv spec(const ab_object *o, const char *member)
{
    return ab_span_get(ab_object_field(o, "spec"), member);
}

static void assert_same(ab_spanv v, const char *json)
{
    ab_span *doc = sample_json(json);
    if (!ab_span_same(v, ab_span_root(doc)))
        fail_msg("%.*s is not %s", AB_STR_ARG(ab_span_raw(v)), json);
    ab_span_free(doc);
}

/* --- payload --- */

static void what_is_published_has_nothing_that_a_server_sets_anew(void **state)
{
    (void)state;
    ab_buf text;
    ab_object *o = sample_object(
        APP(",\"resourceVersion\":\"7\",\"generation\":3,\"managedFields\":[],\"ownerReferences\":"
            "[{}],\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"labels\":{\"l\":\"1\"},"
            "\"annotations\":{\"" AB_ANN_LAST_APPLIED "\":\"x\",\"k\":\"1\"}",
            ",\"spec\":{\"n\":1},\"status\":{\"n\":2},\"operation\":{\"n\":3}"));
    ab_buf_init(&text, AB_SPAN_SIZE_MAX);
    assert_int_equal(ab_mirror_payload(o, &text), AB_ERR_OK);
    ab_buf_putc(&text, '\0');
    ab_span *doc = sample_json(text.ptr);
    assert_same(ab_span_root(doc),
                APP(",\"labels\":{\"l\":\"1\"},\"annotations\":{\"k\":\"1\"}",
                    ",\"spec\":{\"n\":1},\"status\":{\"n\":2},\"operation\":{\"n\":3}"));
    ab_span_free(doc);
    ab_buf_fini(&text);
    ab_object_unref(o);
}

/* --- keys --- */

static void a_mirror_is_named_by_kind_and_agent(void **state)
{
    (void)state;
    char key[AB_OBJECT_KEY_MAX];
    assert_int_equal(ab_mirror_key(&ab_kind_application, "w1", AB_STR("a"), "hub", key), AB_ERR_OK);
    assert_string_equal(key, "Application/w1/a");
    assert_int_equal(ab_mirror_key(&ab_kind_appproject, "w1", AB_STR("p"), "hub", key), AB_ERR_OK);
    assert_string_equal(key, "AppProject/hub/w1-p");
    assert_int_equal(ab_mirror_key(&ab_kind_repository, "w1", AB_STR("r"), "hub", key),
                     AB_ERR_INVALID);
}

static void a_mirrors_key_leads_back_to_the_agents_object(void **state)
{
    (void)state;
    char key[AB_OBJECT_KEY_MAX];
    assert_int_equal(ab_mirror_source_key(AB_STR("Application/w1/a"), "w1", "hub", "own", key),
                     AB_ERR_OK);
    assert_string_equal(key, "Application/own/a");
    assert_int_equal(ab_mirror_source_key(AB_STR("AppProject/hub/w1-p-q"), "w1", "hub", "own", key),
                     AB_ERR_OK);
    assert_string_equal(key, "AppProject/own/p-q");
}

static void what_is_no_mirror_of_this_agent_leads_nowhere(void **state)
{
    static const char *const keys[] = {
        "Application/w2/a",
        "Application/hub/a",
        "AppProject/hub/p",
        "AppProject/hub/w1-",
        "AppProject/hub/w1",
        "AppProject/w1/p",
        "AppProject/hub/w1p",
        "AppProject/hub/w10-p",
        "Secret/w1/a",
        "Secret/hub/w1-a",
        "cmd/x",
        "ctl/hello",
        "error/Application/a",
        "Application/w1",
        "",
    };
    (void)state;
    char key[AB_OBJECT_KEY_MAX];
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        assert_int_equal(ab_mirror_source_key(ab_str_of(keys[i]), "w1", "hub", "own", key),
                         AB_ERR_INVALID);
}

static void a_name_that_would_be_too_long_is_refused(void **state)
{
    (void)state;
    char key[AB_OBJECT_KEY_MAX], name[253];
    memset(name, 'p', sizeof(name));
    assert_int_equal(ab_mirror_key(&ab_kind_appproject, "w1", (ab_str){name, 250}, "hub", key),
                     AB_ERR_OK);
    assert_int_equal(ab_mirror_key(&ab_kind_appproject, "w1", (ab_str){name, 251}, "hub", key),
                     AB_ERR_TOOBIG);
    assert_int_equal(ab_mirror_key(&ab_kind_application, "w1", (ab_str){name, 253}, "hub", key),
                     AB_ERR_OK);
}

/* --- Application --- */

static void an_application_gets_the_agents_project_destination_and_place(void **state)
{
    (void)state;
    ab_object *o = place(
        APP(",\"labels\":{\"l\":\"1\"},\"finalizers\":[\"f\"]",
            ",\"spec\":{\"project\":\"p\",\"source\":{\"path\":\"x\"},\"destination\":{\"server\":"
            "\"https://kubernetes.default.svc\",\"namespace\":\"n\"}}"),
        NULL, (ab_mirror_params){0});
    assert_string_equal(ab_object_key(o), "Application/w1/a");
    assert_same(ab_object_field(o, "spec"),
                "{\"project\":\"w1-p\",\"source\":{\"path\":\"x\"},\"destination\":{\"name\":"
                "\"w1\",\"namespace\":\"n\"}}");
    assert_same(ab_object_meta(o, "labels"), "{\"l\":\"1\"}");
    assert_false(ab_span_present(ab_object_meta(o, "finalizers")));
    assert_same(ab_object_meta(o, "annotations"),
                "{\"" AB_ANN_SOURCE_UID "\":\"u-1\",\"" AB_ANN_MIRROR "\":\"1.2/w1\",\"" AB_ANN_NAME
                "\":\"a\"}");
    ab_object_unref(o);
}

/* Argo CD at the hub would prune it with an Application of the hub that is called so. */
static void a_mirror_is_no_part_of_an_application_of_the_hub(void **state)
{
    (void)state;
    ab_object *o = place(APP(",\"annotations\":{\"" AB_ANN_TRACKING_ID
                             "\":\"apps:argoproj.io/Application:w1/a\",\"k\":\"1\"},\"labels\":{"
                             "\"app.kubernetes.io\\/instance\":\"apps\",\"l\":\"1\"}",
                             ",\"spec\":{}"),
                         NULL, (ab_mirror_params){0});
    assert_same(ab_object_meta(o, "labels"), "{\"l\":\"1\"}");
    assert_false(
        ab_span_present(ab_span_get(ab_object_meta(o, "annotations"), AB_ANN_TRACKING_ID)));
    assert_true(ab_str_is(ab_object_annotation(o, "k"), "1"));
    ab_object_unref(o);
}

/* At the hub it would log in wherever the agent wants, with any Secret that the agent names. */
static void the_hubs_image_updater_gets_no_orders_from_an_agent(void **state)
{
    (void)state;
    ab_object *o =
        place(APP(",\"annotations\":{\"argocd-image-updater.argoproj.io/git-repository\":"
                  "\"https://example.com/r\",\"argocd-image-updater.argoproj.io/write-back-"
                  "method\":\"git:secret:argocd/repo-1\",\"k\":\"1\"}",
                  ",\"spec\":{}"),
              NULL, (ab_mirror_params){0});
    assert_same(ab_object_meta(o, "annotations"),
                "{\"k\":\"1\",\"" AB_ANN_SOURCE_UID "\":\"u-1\",\"" AB_ANN_MIRROR
                "\":\"1.2/w1\",\"" AB_ANN_NAME "\":\"a\"}");
    ab_object_unref(o);
}

/* They would be sent with the hub's tokens for Slack, mail servers and so on. */
static void the_hub_notifies_nobody_whom_an_agent_names(void **state)
{
    (void)state;
    static const char *const names[] = {
        "notifications.argoproj.io/subscribe.on-sync-failed.slack",
        "notifications.argoproj.io/subscribe.email",
        "notifications.argoproj.io/subscriptions",
        "recipients.argocd-notifications.argoproj.io",
        "on-sync-failed.recipients.argocd-notifications.argoproj.io",
    };
    for (size_t i = 0; i < 2 * sizeof(names) / sizeof(names[0]); i++) {
        char json[600];
        if (i % 2 == 0)
            snprintf(
                json, sizeof(json),
                APP(",\"annotations\":{\"%s\":\"all@example.com\",\"k\":\"1\"}", ",\"spec\":{}"),
                names[i / 2]);
        else
            snprintf(json, sizeof(json),
                     "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\","
                     "\"metadata\":{\"name\":\"p\",\"namespace\":\"argocd\",\"uid\":\"u-2\","
                     "\"annotations\":{\"%s\":\"all@example.com\",\"k\":\"1\"}},\"spec\":{}}",
                     names[i / 2]);
        ab_object *o = place(json, NULL, (ab_mirror_params){0});
        assert_false(ab_span_present(ab_span_get(ab_object_meta(o, "annotations"), names[i / 2])));
        assert_true(ab_str_is(ab_object_annotation(o, "k"), "1"));
        ab_object_unref(o);
    }
}

static void an_application_without_project_is_of_project_default(void **state)
{
    (void)state;
    static const char *const specs[] = {APP("", ",\"spec\":{}"),
                                        APP("", ",\"spec\":{\"project\":\"\"}")};
    for (size_t i = 0; i < 2; i++) {
        ab_object *o = place(specs[i], NULL, (ab_mirror_params){0});
        assert_true(ab_span_is(spec(o, "project"), "w1-default"));
        ab_object_unref(o);
    }
}

static void what_an_agent_writes_with_escapes_is_left_out_as_well(void **state)
{
    (void)state;
    ab_object *o =
        place(APP(",\"annotations\":{\"\\u0061rgobus.io/refresh-id\":\"r\",\"argocd.argoproj.io\\/"
                  "refresh\":"
                  "\"hard\",\"mine\":\"1\"}",
                  ",\"oper\\u0061tion\":{\"sync\":{}},\"spec\":{\"destination\":{\"s\\u0065rver\":"
                  "\"https://kubernetes.default.svc\",\"namespace\":\"n\"}}"),
              NULL, (ab_mirror_params){0});
    assert_same(spec(o, "destination"), "{\"name\":\"w1\",\"namespace\":\"n\"}");
    assert_false(ab_span_present(ab_object_field(o, "operation")));
    assert_same(ab_object_meta(o, "annotations"),
                "{\"mine\":\"1\",\"" AB_ANN_SOURCE_UID "\":\"u-1\",\"" AB_ANN_MIRROR
                "\":\"1.2/w1\",\"" AB_ANN_NAME "\":\"a\"}");
    ab_object_unref(o);
}

#define ASKED                                                                                      \
    APP(",\"annotations\":{\"" AB_ANN_REFRESH "\":\"hard\",\"" AB_ANN_HYDRATE                      \
        "\":\"hard\",\"" AB_ANN_REFRESH_ID "\":\"r\",\"" AB_ANN_OPERATION_ID                       \
        "\":\"o\",\"theirs\":\"1\","                                                               \
        "\"notified.notifications.argoproj.io\":\"x\"}",                                           \
        ",\"operation\":{\"sync\":{}}")

static void what_is_asked_for_at_the_hub_stays_and_other_changes_do_not(void **state)
{
    (void)state;
    ab_object *o = place(APP(",\"annotations\":{\"" AB_ANN_REFRESH "\":\"normal\",\"" AB_ANN_HYDRATE
                             "\":\"normal\",\"" AB_ANN_REFRESH_TIMESTAMP "\":\"t\",\"mine\":\"1\"}",
                             ",\"operation\":{\"its\":{}}"),
                         ASKED, (ab_mirror_params){0});
    assert_true(ab_str_is(ab_object_annotation(o, AB_ANN_REFRESH), "hard"));
    assert_true(ab_str_is(ab_object_annotation(o, AB_ANN_HYDRATE), "hard"));
    assert_int_equal(ab_object_annotation(o, AB_ANN_REFRESH_TIMESTAMP).len, 0);
    assert_true(ab_str_is(ab_object_annotation(o, AB_ANN_REFRESH_ID), "r"));
    assert_true(ab_str_is(ab_object_annotation(o, AB_ANN_OPERATION_ID), "o"));
    assert_true(ab_str_is(ab_object_annotation(o, "notified.notifications.argoproj.io"), "x"));
    assert_true(ab_str_is(ab_object_annotation(o, "mine"), "1"));
    assert_int_equal(ab_object_annotation(o, "theirs").len, 0);
    assert_same(ab_object_field(o, "operation"), "{\"sync\":{}}");
    ab_object_unref(o);
}

static void what_is_done_is_taken_off(void **state)
{
    (void)state;
    ab_object *o =
        place(APP("", ""), ASKED, (ab_mirror_params){.drop_operation = true, .drop_refresh = true});
    assert_int_equal(ab_object_annotation(o, AB_ANN_REFRESH).len, 0);
    assert_int_equal(ab_object_annotation(o, AB_ANN_HYDRATE).len, 0);
    assert_int_equal(ab_object_annotation(o, AB_ANN_REFRESH_ID).len, 0);
    assert_int_equal(ab_object_annotation(o, AB_ANN_OPERATION_ID).len, 0);
    assert_false(ab_span_present(ab_object_field(o, "operation")));
    ab_object_unref(o);
}

static void child_applications_are_where_their_mirrors_are(void **state)
{
    (void)state;
    ab_object *o = sample_object(
        APP("", ",\"status\":{\"sync\":{},\"resources\":[{\"group\":\"argoproj.io\",\"kind\":"
                "\"Application\",\"name\":\"c\",\"namespace\":\"argocd\"},{\"kind\":\"Service\","
                "\"namespace\":\"argocd\"},{\"group\":\"other.io\",\"kind\":\"Application\","
                "\"namespace\":\"argocd\"}]}"));
    ab_buf text;
    ab_buf_init(&text, AB_SPAN_SIZE_MAX);
    assert_int_equal(ab_mirror_status(o, "w1", &text), AB_ERR_OK);
    ab_buf_putc(&text, '\0');
    ab_span *doc = sample_json(text.ptr);
    assert_same(ab_span_root(doc),
                "{\"sync\":{},\"resources\":[{\"group\":\"argoproj.io\",\"kind\":\"Application\","
                "\"name\":\"c\",\"namespace\":\"w1\"},{\"kind\":\"Service\",\"namespace\":"
                "\"argocd\"},{\"group\":\"other.io\",\"kind\":\"Application\",\"namespace\":"
                "\"argocd\"}]}");
    ab_span_free(doc);
    ab_buf_fini(&text);
    ab_object_unref(o);
}

/* --- AppProject --- */

static void a_project_is_for_the_agent_alone(void **state)
{
    (void)state;
    ab_object *o = place(
        PROJECT(
            "{\"sourceRepos\":[\"*\"],\"sourceNamespaces\":[\"x\"],\"destinations\":[{"
            "\"server\":\"https://kubernetes.default.svc\",\"namespace\":\"n\"},{\"name\":"
            "\"other\",\"namespace\":\"!m\"},{\"server\":\"!https://b\",\"namespace\":\"*\"}]}"),
        NULL, (ab_mirror_params){0});
    assert_string_equal(ab_object_key(o), "AppProject/hub/w1-p");
    assert_same(
        ab_object_field(o, "spec"),
        "{\"sourceRepos\":[\"*\"],\"sourceNamespaces\":[\"w1\"],\"destinations\":[{\"name\":"
        "\"w1\",\"namespace\":\"n\"},{\"name\":\"w1\",\"namespace\":\"!m\"}]}");
    ab_object_unref(o);
}

static void assert_policy(const char *line, const char *expected)
{
    ab_buf out;
    ab_buf_init(&out, 4096);
    assert_int_equal(ab_mirror_policy(ab_str_of(line),
                                      &(ab_mirror_role){AB_STR("p"), AB_STR("dev"), "w1"}, &out),
                     AB_ERR_OK);
    ab_buf_putc(&out, '\0');
    assert_string_equal(out.ptr, expected);
    ab_buf_fini(&out);
}

static void policies_of_the_project_are_about_its_mirror(void **state)
{
    (void)state;
    assert_policy("p, proj:p:dev, applications, sync, p/*, allow",
                  "p, proj:w1-p:dev, applications, sync, w1-p/w1/*, allow");
    assert_policy("p,proj:p:dev,logs,get,p/a,deny", "p, proj:w1-p:dev, logs, get, w1-p/w1/a, deny");
    assert_policy("p, proj:p:dev, exec, create, p/team/a, allow",
                  "p, proj:w1-p:dev, exec, create, w1-p/w1/a, allow");
}

static void other_policies_are_left_alone(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "p, proj:q:dev, applications, sync, p/*, allow",
        "p, proj:p:dev, applications, sync, q/*, allow",
        "p, proj:p:dev, extensions, invoke, p/x, allow",
        "p, proj:p:ops, applications, get, p/*, allow",
        "p, proj:p:de, applications, get, p/*, allow",
        "p, proj:p:deva, applications, get, p/*, allow",
        "p, proj:p:, applications, get, p/*, allow",
        "p, proj:pp:dev, applications, sync, pp/*, allow",
        "p, proj:p:dev, applications, sync, p/*",
        "p, proj:p:dev, applications, sync, p/*, allow, more",
        "g, proj:p:dev, applications, sync, p/*, allow",
        "p, proj:p, applications, sync, p, allow",
        "",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_policy(lines[i], lines[i]);
}

static void a_line_that_names_another_role_stays_as_it_is(void **state)
{
    (void)state;
    ab_object *o = place(PROJECT("{\"roles\":[{\"name\":\"read-only\",\"policies\":["
                                 "\"p, proj:p:differentrole, applications, get, p/*, allow\","
                                 "\"p, proj:p:read-only, applications, get, p/*, allow\"]}]}"),
                         NULL, (ab_mirror_params){0});
    assert_same(spec(o, "roles"),
                "[{\"name\":\"read-only\",\"policies\":["
                "\"p, proj:p:differentrole, applications, get, p/*, allow\","
                "\"p, proj:w1-p:read-only, applications, get, w1-p/w1/*, allow\"]}]");
    ab_object_unref(o);
}

static void roles_keep_all_but_their_policies(void **state)
{
    (void)state;
    ab_object *o = place(PROJECT("{\"roles\":[{\"name\":\"dev\",\"groups\":[\"g\"],\"policies\":["
                                 "\"p, proj:p:dev, applications, get, p/a, allow\",7]},{\"name\":"
                                 "\"none\"}]}"),
                         NULL, (ab_mirror_params){0});
    assert_same(spec(o, "roles"),
                "[{\"name\":\"dev\",\"groups\":[\"g\"],\"policies\":[\"p, proj:w1-p:dev, "
                "applications, get, w1-p/w1/a, allow\"]},{\"name\":\"none\"}]");
    ab_object_unref(o);
}

/* Argo CD takes what a project's roles say for rules of its own, line by line. */
static void a_role_gives_rights_to_applications_only(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "p, a, clusters, create, w1-p/*, allow",
        "p, a, repositories, *, w1-p/*, allow",
        "p, a, projects, update, w1-p, allow",
        "p, a, applicationsets, create, w1-p/*, allow",
        "p, proj:p:dev, applicationsets, get, p/*, allow",
        "p, a, *, *, w1-p/*, allow",
        "p, a, app*, *, w1-p/*, allow",
        "g, a, role:admin",
        "g, a, applications, get, p/*, allow",
        "p, a, applications, get, w1-p/*, allow\\ng",
        "p, a\\np, applications, get, w1-p/*, allow",
        "p, \\u0000, applications, get, w1-p/*, allow",
        "p, a, \\\"applications\\\", get, w1-p/*, allow",
        "p, a, applications, get, w1-p/*",
        "",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char project[512];
        snprintf(project, sizeof(project),
                 PROJECT("{\"roles\":[{\"name\":\"dev\",\"policies\":[\"%s\",\"p, a, extensions, "
                         "invoke, x, allow\"]}]}"),
                 lines[i]);
        ab_object *o = place(project, NULL, (ab_mirror_params){0});
        assert_same(spec(o, "roles"),
                    "[{\"name\":\"dev\",\"policies\":[\"p, a, extensions, invoke, x, allow\"]}]");
        ab_object_unref(o);
    }
}

static void names_of_roles_and_groups_say_no_more_than_a_name(void **state)
{
    (void)state;
    ab_object *o =
        place(PROJECT("{\"roles\":[{\"name\":\"a, clusters\"},{\"name\":\"d\\u0065v\"},{\"name\":"
                      "\"a\\np\"},{\"name\":\"\"},{},{\"name\":\"dev_1-a\",\"groups\":[\"a b\",7,"
                      "\"a, role:admin\",\"a\\ng\",\"\\\"a,b\\\"\",\"\\\"a\\\",b\\\"\",\"\\u00e4\","
                      "\"\"]}]}"),
              NULL, (ab_mirror_params){0});
    assert_same(spec(o, "roles"),
                "[{\"name\":\"dev_1-a\",\"groups\":[\"a b\",\"\\\"a,b\\\"\",\"\\u00e4\"]}]");
    ab_object_unref(o);
}

/* Argo CD gives a project what a global project allows that selects it by its labels. */
static void a_project_has_no_labels_of_the_agent(void **state)
{
    (void)state;
    ab_object *o =
        place("{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\","
              "\"metadata\":{\"name\":\"p\",\"namespace\":\"argocd\",\"uid\":\"u-2\",\"labels\":{"
              "\"global\":\"yes\"}},\"spec\":{}}",
              NULL, (ab_mirror_params){0});
    assert_false(ab_span_present(ab_object_meta(o, "labels")));
    ab_object_unref(o);
}

/* --- comparing --- */

static bool alike(const char *a, const char *b)
{
    ab_digest x, y;
    ab_object *oa = sample_object(a), *ob = sample_object(b);
    assert_int_equal(ab_mirror_digest(oa, &x), AB_ERR_OK);
    assert_int_equal(ab_mirror_digest(ob, &y), AB_ERR_OK);
    ab_object_unref(oa);
    ab_object_unref(ob);
    return ab_digest_eq(&x, &y);
}

static void what_the_store_sets_makes_no_difference(void **state)
{
    (void)state;
    assert_true(alike(APP(",\"annotations\":{\"k\":\"1\",\"" AB_ANN_STATUS_VERSION "\":\"1.1/w1\"}",
                          ",\"spec\":{\"n\":1},\"status\":{\"n\":1}"),
                      APP(",\"resourceVersion\":\"9\",\"labels\":{},\"finalizers\":[],"
                          "\"annotations\":{\"k\":\"1\",\"" AB_ANN_STATUS_VERSION "\":\"1.2/w1\"}",
                          ",\"spec\":{\"n\":1}")));
}

static void whatever_a_user_may_change_makes_a_difference(void **state)
{
    (void)state;
    static const char *const changes[] = {
        APP("", ",\"spec\":{\"n\":2}"),
        APP(",\"labels\":{\"l\":\"1\"}", ",\"spec\":{\"n\":1}"),
        APP(",\"finalizers\":[\"f\"]", ",\"spec\":{\"n\":1}"),
        APP(",\"annotations\":{\"k\":\"1\"}", ",\"spec\":{\"n\":1}"),
        APP("", ",\"spec\":{\"n\":1},\"operation\":{}"),
    };
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
        assert_false(alike(APP("", ",\"spec\":{\"n\":1}"), changes[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_published_has_nothing_that_a_server_sets_anew),
        cmocka_unit_test(a_mirror_is_named_by_kind_and_agent),
        cmocka_unit_test(a_mirrors_key_leads_back_to_the_agents_object),
        cmocka_unit_test(what_is_no_mirror_of_this_agent_leads_nowhere),
        cmocka_unit_test(a_name_that_would_be_too_long_is_refused),
        cmocka_unit_test(an_application_gets_the_agents_project_destination_and_place),
        cmocka_unit_test(what_an_agent_writes_with_escapes_is_left_out_as_well),
        cmocka_unit_test(a_mirror_is_no_part_of_an_application_of_the_hub),
        cmocka_unit_test(the_hubs_image_updater_gets_no_orders_from_an_agent),
        cmocka_unit_test(the_hub_notifies_nobody_whom_an_agent_names),
        cmocka_unit_test(an_application_without_project_is_of_project_default),
        cmocka_unit_test(what_is_asked_for_at_the_hub_stays_and_other_changes_do_not),
        cmocka_unit_test(what_is_done_is_taken_off),
        cmocka_unit_test(child_applications_are_where_their_mirrors_are),
        cmocka_unit_test(a_project_is_for_the_agent_alone),
        cmocka_unit_test(policies_of_the_project_are_about_its_mirror),
        cmocka_unit_test(other_policies_are_left_alone),
        cmocka_unit_test(a_line_that_names_another_role_stays_as_it_is),
        cmocka_unit_test(roles_keep_all_but_their_policies),
        cmocka_unit_test(a_role_gives_rights_to_applications_only),
        cmocka_unit_test(a_project_has_no_labels_of_the_agent),
        cmocka_unit_test(names_of_roles_and_groups_say_no_more_than_a_name),
        cmocka_unit_test(what_the_store_sets_makes_no_difference),
        cmocka_unit_test(whatever_a_user_may_change_makes_a_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
