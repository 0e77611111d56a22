/* SPDX-License-Identifier: Apache-2.0
 *
 * Projects, repository Secrets and GPG keys: which agents get them, in which form, and when they
 * lose them.
 */
#include "schema/attributes.h"
#include "sync/object/secret.h"
#include "tests/unit/logged.h"
#include "tests/unit/sync/world/edit.h"
#include "tests/unit/sync/world/hub.h"
#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PROJECT "AppProject/" HUB_NAMESPACE "/team"
#define SECRET  "Secret/" HUB_NAMESPACE "/repo"
#define KEYS    "ConfigMap/" HUB_NAMESPACE "/" AB_NAME_GPG_KEYS
#define OTHER   "AppProject/" HUB_NAMESPACE "/other"
#define OTHERS  "\"project\":\"b3RoZXI=\",\"password\":\"aHVudGVyMg==\""
#define SCOPED  "\"project\":\"dGVhbQ==\",\"password\":\"aHVudGVyMg==\""

static hub h;
static const char *certificate;     /* that both agents have */
static char context[AB_DIGEST_HEX]; /* of what was sealed last */

static const char *recipient(void *arg, const char *agent)
{
    (void)arg;
    (void)agent;
    return certificate;
}

/* Not sealed at all, but it shows to whom and what it would be bound to. */
static ab_err seal(void *arg, const char *agent, const ab_seal_binding *binding, ab_str payload,
                   ab_buf *out, ab_error *err)
{
    (void)arg;
    (void)err;
    assert_true(ab_str_is(binding->agent, agent));
    snprintf(context, sizeof(context), "%.*s", AB_STR_ARG(binding->context));
    assert_true(ab_str_is(payload, "{\"data\":{" SCOPED "}}"));
    ab_buf_printf(out, "%s %s %.*s %.*s", certificate, agent, AB_STR_ARG(binding->key),
                  AB_STR_ARG(binding->version));
    return ab_buf_status(out);
}

static int setup(void **state)
{
    (void)state;
    hub_init(&h);
    h.sealing = (ab_principal_sealing){.recipient = recipient, .seal = seal};
    certificate = "c1";
    hub_add(&h, "a1");
    hub_add(&h, "a2");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    hub_fini(&h);
    return 0;
}
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static void put(const char *json)
{
    ab_object *o = sample_object(json);
    fake_store_put(h.store, o);
    ab_object_unref(o);
}

/* A project for the agents that `glob` matches. */
static void put_project_of(const char *name, const char *meta, const char *glob)
{
    char json[600];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\",\"metadata\":"
             "{\"name\":\"%s\",\"namespace\":\"" HUB_NAMESPACE "\"%s},\"spec\":{\"destinations\":"
             "[{\"name\":\"%s\"}],\"sourceNamespaces\":[\"*\"]}}",
             name, meta, glob);
    put(json);
}

static void put_project(const char *glob)
{
    put_project_of("team", "", glob);
}

static void put_secret(const char *data)
{
    char json[600];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"type\":\"Opaque\",\"metadata\":"
             "{\"name\":\"repo\",\"namespace\":\"" HUB_NAMESPACE
             "\",\"labels\":{\"" AB_LABEL_SECRET_TYPE "\":\"repository\"}},\"data\":{%s}}",
             data);
    put(json);
}

static void put_keys(void)
{
    put("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" AB_NAME_GPG_KEYS
        "\",\"namespace\":\"" HUB_NAMESPACE "\"},\"data\":{\"k\":\"v\"}}");
}

static bool has(const char *agent, const char *key)
{
    return hub_sent(&h, agent, key) != NULL;
}

static bool says(const char *agent, const char *key, const char *part)
{
    ab_str data = ab_event_data(hub_sent(&h, agent, key));
    return memmem(data.ptr, data.len, part, strlen(part)) != NULL;
}

/* --- projects --- */

static void a_project_goes_to_the_agents_it_is_for(void **state)
{
    (void)state;
    put_project("a1");
    hub_start(&h);
    assert_true(has("a1", PROJECT));
    assert_false(has("a2", PROJECT));
    assert_true(says("a1", PROJECT, "in-cluster"));
    const ab_event *event = hub_sent(&h, "a1", PROJECT);
    assert_true(ab_str_is(ab_event_attr(event, AB_CE_DATASCHEMA), "appproject"));
    assert_true(ab_str_is(ab_event_attr(event, AB_CE_SUBJECT), HUB_NAMESPACE "/team"));
}

/* The states between come yet: it would be said before them. */
static void what_is_read_before_the_store_has_shown_it_is_not_sent(void **state)
{
    (void)state;
    put_project("a*");
    hub_start(&h);
    hub_add(&h, "a3"); /* for which it is read */
    assert_int_equal(fake_store_choices(h.store), 1);
    put_project("a?");
    put_project("a3");
    fake_store_step(h.store, 0, false);
    fake_store_step(h.store, 0, false);
    assert_false(hub_is_sending(&h));
    hub_settle(&h);
    assert_true(has("a3", PROJECT));
    assert_false(has("a1", PROJECT));
}

static void a_project_that_changes_comes_and_goes(void **state)
{
    (void)state;
    put_project("a1");
    hub_start(&h);
    put_project("a2");
    hub_settle(&h);
    assert_false(has("a1", PROJECT));
    assert_true(has("a2", PROJECT));
    fake_store_erase(h.store, PROJECT);
    hub_settle(&h);
    assert_false(has("a2", PROJECT));
}

/* As Argo CD: nested braces, which are no glob here. */
static void a_denial_that_cannot_be_evaluated_takes_project_and_secrets_from_all(void **state)
{
    (void)state;
    FILE *file = logged_open(&h.clock, &h.log);
    put_project("*");
    put_secret(SCOPED);
    hub_start(&h);
    assert_true(has("a1", SECRET));
    put_project("*\"},{\"name\":\"!{a,{b,c}}1");
    hub_settle(&h);
    assert_false(has("a1", PROJECT));
    assert_false(has("a1", SECRET));
    assert_false(has("a2", SECRET));
    hub_add(&h, "a3"); /* for which it is read */
    hub_settle(&h);
    assert_false(has("a3", SECRET));
    assert_int_equal(logged_count(file, "cannot evaluate a denied destination"), 1);
    assert_int_equal(logged_count(file, "object=" PROJECT " glob={a,{b,c}}1"), 1);
    put_project("*\"},{\"name\":\"!a1");
    hub_settle(&h);
    assert_false(has("a1", SECRET));
    assert_true(has("a2", SECRET));
    ab_log_free(h.log);
    h.log = NULL;
    fclose(file);
}

static void a_project_of_another_namespace_is_not_sent(void **state)
{
    (void)state;
    put("{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\",\"metadata\":"
        "{\"name\":\"team\",\"namespace\":\"other\"},\"spec\":{\"destinations\":"
        "[{\"name\":\"*\"}],\"sourceNamespaces\":[\"*\"]}}");
    hub_start(&h);
    assert_int_equal(hub_keys(&h, "a1", ""), 0);
}

static void an_ignored_project_is_taken_away(void **state)
{
    (void)state;
    put_project("*");
    hub_start(&h);
    set_in(h.store, PROJECT, "labels", AB_LABEL_IGNORE_SYNC, "true");
    hub_settle(&h);
    assert_false(has("a1", PROJECT));
}

static void a_mirrored_project_is_not_sent(void **state)
{
    (void)state;
    put_project("*");
    set_in(h.store, PROJECT, "annotations", AB_ANN_SOURCE_UID, "x");
    hub_start(&h);
    assert_false(has("a1", PROJECT));
}

/* kubectl get -o yaml at the agent, kubectl apply at the hub. */
static void a_project_copied_from_an_agent_is_the_hubs_own(void **state)
{
    (void)state;
    put("{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\",\"metadata\":"
        "{\"name\":\"team\",\"namespace\":\"" HUB_NAMESPACE
        "\",\"annotations\":{\"" AB_ANN_SOURCE_UID "\":\"u\",\"" AB_ANN_PRINCIPAL_UID
        "\":\"p\",\"theirs\":\"1\"}},\"spec\":{\"destinations\":[{\"name\":\"*\"}],"
        "\"sourceNamespaces\":[\"*\"]}}");
    hub_start(&h);
    assert_true(has("a1", PROJECT));
    assert_true(says("a1", PROJECT, "\"annotations\":{\"theirs\":\"1\"}"));
}

static void a_project_that_is_being_deleted_is_let_go(void **state)
{
    (void)state;
    put_project("*");
    hub_start(&h);
    ab_object *o = fake_store_find(h.store, PROJECT);
    assert_non_null(o);
    put("{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\",\"metadata\":"
        "{\"name\":\"team\",\"namespace\":\"" HUB_NAMESPACE
        "\",\"finalizers\":[\"x/y\"]},\"spec\":{\"destinations\":[{\"name\":\"*\"}],"
        "\"sourceNamespaces\":[\"*\"]}}");
    hub_settle(&h);
    fake_store_erase(h.store, PROJECT);
    assert_non_null(fake_store_find(h.store, PROJECT));
    hub_settle(&h);
    assert_null(fake_store_find(h.store, PROJECT));
    assert_false(has("a1", PROJECT));
}

static void what_has_not_changed_is_not_sent_again(void **state)
{
    (void)state;
    put_project("*");
    put_secret(SCOPED);
    put_keys();
    hub_start(&h);
    size_t sent = hub_sent_count(&h, "a1");
    assert_int_equal(sent, 3);
    hub_restart(&h);
    assert_int_equal(hub_sent_count(&h, "a1"), sent);
}

/* Let all happen but what the store has to tell. */
static void go_on_unseeing(void)
{
    while (hub_choices(&h) > fake_store_choices(h.store))
        hub_step(&h, fake_store_choices(h.store));
}

/* It is to be looked at; when that is done, the store has not told of the new one yet. */
static void a_read_that_is_newer_than_what_was_seen_is_not_sent_before_that(void **state)
{
    (void)state;
    put_project("a1");
    hub_start(&h);
    hub_add(&h, "a3");
    assert_int_equal(fake_store_choices(h.store), 1);
    fake_store_erase(h.store, PROJECT);
    put_project("a2");
    fake_store_step(h.store, 0, false); /* the read takes place */
    fake_store_step(h.store, 0, false); /* and is answered */
    go_on_unseeing();
    assert_true(has("a1", PROJECT));
    assert_false(has("a2", PROJECT));
    hub_settle(&h);
    assert_false(has("a1", PROJECT));
    assert_true(has("a2", PROJECT));
    assert_int_equal(hub_sent_count(&h, "a2"), 1);
}

/* --- Secrets --- */

static void a_secret_goes_where_its_project_goes(void **state)
{
    (void)state;
    put_project("a1");
    put_secret(SCOPED);
    hub_start(&h);
    assert_true(has("a1", SECRET));
    assert_false(has("a2", SECRET));
    put_project("a2");
    hub_settle(&h);
    assert_false(has("a1", SECRET));
    assert_true(has("a2", SECRET));
    fake_store_erase(h.store, PROJECT);
    hub_settle(&h);
    assert_false(has("a2", SECRET));
}

/* In one go the project is taken from an agent, and the password changed. Of projects and Secrets
 * the store tells each in its own order. */
static void a_new_password_does_not_go_to_whom_the_project_named_before(void **state)
{
    (void)state;
    put_project("a1");
    put_secret(SCOPED);
    hub_start(&h);
    size_t sent = hub_sent_count(&h, "a1");
    put_project("a2");
    set_in(h.store, SECRET, "labels", "changed", "1");
    fake_store_step(h.store, 1, false); /* the Secret's change is seen */
    go_on_unseeing();
    assert_int_equal(hub_sent_count(&h, "a1"), sent);
    fake_store_step(h.store, 0, false); /* the project is read */
    fake_store_step(h.store, 0, false); /* and is newer */
    go_on_unseeing();
    assert_int_equal(hub_sent_count(&h, "a1"), sent);
    assert_false(has("a2", SECRET));
    hub_settle(&h);
    assert_false(has("a1", SECRET));
    assert_true(has("a2", SECRET));
    assert_int_equal(hub_sent_count(&h, "a1"), sent + 2); /* both are ended */
}

/* It is at a1, and moves to project "other". Its change is seen first. */
static void move_secret(void)
{
    put_secret(OTHERS);
    fake_store_step(h.store, fake_store_choices(h.store) - 1, false);
    go_on_unseeing();
    assert_true(has("a1", SECRET));
    assert_int_equal(hub_sent_count(&h, "a1"), 2);
    fake_store_step(h.store, 0, false); /* the project is read */
    fake_store_step(h.store, 0, false);
    go_on_unseeing();
}

static void start_with_secret_at_a1(void)
{
    h.sealing = (ab_principal_sealing){.off = true};
    put_project("a1");
    put_secret(SCOPED);
    hub_start(&h);
    assert_int_equal(hub_sent_count(&h, "a1"), 2);
}

static void a_secret_that_moves_to_a_new_project_stays_where_it_belongs(void **state)
{
    (void)state;
    start_with_secret_at_a1();
    put_project_of("other", "", "a?");
    move_secret();
    assert_int_equal(hub_sent_count(&h, "a1"), 2);
    assert_false(has("a2", SECRET));
    hub_settle(&h);
    assert_true(says("a1", SECRET, OTHERS));
    assert_true(says("a2", SECRET, OTHERS));
    assert_int_equal(hub_sent_count(&h, "a1"), 4); /* the new project, and the Secret */
}

static void a_secret_that_moves_to_a_new_project_goes_where_that_denies_it(void **state)
{
    (void)state;
    start_with_secret_at_a1();
    put_project_of("other", "", "a2");
    move_secret();
    assert_true(has("a1", SECRET));
    hub_settle(&h);
    assert_false(has("a1", SECRET));
    assert_true(has("a2", SECRET));
}

static void a_new_project_that_is_not_synchronised_is_none(void **state)
{
    (void)state;
    start_with_secret_at_a1();
    put_project_of("other", ",\"labels\":{\"" AB_LABEL_IGNORE_SYNC "\":\"true\"}", "a1");
    move_secret();
    hub_settle(&h);
    assert_false(has("a1", SECRET));
}

static void nor_is_one_that_is_being_deleted(void **state)
{
    (void)state;
    start_with_secret_at_a1();
    put_project_of("other", ",\"finalizers\":[\"x/y\"]", "a1");
    fake_store_erase(h.store, OTHER);
    move_secret();
    hub_settle(&h);
    assert_false(has("a1", SECRET));
    assert_null(fake_store_find(h.store, OTHER));
}

/* It is deleted while the watch has a gap. */
static void a_new_project_that_is_never_shown_is_read_until_it_is_gone(void **state)
{
    (void)state;
    start_with_secret_at_a1();
    put_project_of("other", "", "a1");
    move_secret();
    fake_store_lose(h.store, OTHER);
    fake_store_step(h.store, 0, true);
    hub_settle(&h);
    assert_true(has("a1", SECRET));
    hub_tick(&h, 1000);
    assert_false(has("a1", SECRET));
}

static void a_secret_without_a_project_stays(void **state)
{
    (void)state;
    put_project("*");
    put_secret("\"password\":\"aHVudGVyMg==\"");
    hub_start(&h);
    assert_false(has("a1", SECRET));
    put_secret(SCOPED);
    hub_settle(&h);
    assert_true(has("a1", SECRET));
    put_secret("\"project\":\"b3RoZXI=\"");
    hub_settle(&h);
    assert_false(has("a1", SECRET));
}

static void a_project_that_comes_late_finds_its_secrets(void **state)
{
    (void)state;
    put_secret(SCOPED);
    hub_start(&h);
    assert_false(has("a1", SECRET));
    put_project("a1");
    hub_settle(&h);
    assert_true(has("a1", SECRET));
}

static void a_secret_is_sealed_to_its_receiver_and_place(void **state)
{
    (void)state;
    put_project("*");
    put_secret(SCOPED);
    hub_start(&h);
    char expected[200];
    const ab_event *event = hub_sent(&h, "a2", SECRET);
    ab_version version;
    assert_int_equal(ab_version_of(event, &version, NULL), AB_ERR_OK);
    snprintf(expected, sizeof(expected), "\"sealed\":\"c1 a2 " SECRET " %llu.%llu\"",
             (unsigned long long)version.epoch, (unsigned long long)version.version);
    assert_true(says("a2", SECRET, expected));
    assert_false(says("a2", SECRET, "aHVudGVyMg=="));
}

static void a_secret_is_sealed_in_the_context_that_the_agent_will_see(void **state)
{
    (void)state;
    char seen[AB_DIGEST_HEX];
    ab_object *payload = NULL;
    put_project("*");
    put_secret(SCOPED);
    hub_start(&h);
    assert_int_equal(ab_object_parse(ab_event_data(hub_sent(&h, "a2", SECRET)), &payload, NULL),
                     AB_ERR_OK);
    assert_int_equal(ab_secret_context(payload, seen), AB_ERR_OK);
    assert_string_equal(seen, context);
    ab_object_unref(payload);
}

static void after_a_loss_of_the_log_it_is_sealed_anew(void **state)
{
    (void)state;
    put_project("*");
    put_secret(SCOPED);
    hub_start(&h);
    hub_connect(&h, "a2", false);
    h.agents[1].connected = true;
    fake_log *lost = h.agents[1].down;
    h.agents[1].down = fake_log_new();
    (void)fake_log_next_epoch(h.agents[1].down);
    (void)fake_log_next_epoch(h.agents[1].down);
    fake_log_free(lost);
    hub_connect(&h, "a2", true);
    hub_settle(&h);
    ab_version version;
    char text[AB_VERSION_TEXT];
    assert_int_equal(ab_version_of(hub_sent(&h, "a2", SECRET), &version, NULL), AB_ERR_OK);
    assert_int_equal(version.epoch, 3);
    ab_version_format(version, text);
    assert_true(says("a2", SECRET, text));
}

static void secrets_wait_for_a_certificate(void **state)
{
    (void)state;
    certificate = NULL;
    put_project("*");
    put_secret(SCOPED);
    put_keys();
    hub_start(&h);
    hub_tick(&h, 1000);
    assert_false(has("a1", SECRET));
    assert_true(hub_gauge(&h, "argobus_secrets_waiting", "a1") == 1);
    certificate = "c1";
    ab_principal_recipient_changed(h.principal, "a1");
    hub_settle(&h);
    assert_true(has("a1", SECRET));
    hub_tick(&h, 1000);
    assert_true(hub_gauge(&h, "argobus_secrets_waiting", "a1") == 0);
}

static ab_err seal_never(void *arg, const char *agent, const ab_seal_binding *binding,
                         ab_str payload, ab_buf *out, ab_error *err)
{
    (void)arg;
    (void)agent;
    (void)binding;
    (void)payload;
    (void)out;
    return ab_fail(err, AB_ERR_FATAL, "cannot seal");
}

static void a_secret_that_cannot_be_sealed_counts_as_pending(void **state)
{
    (void)state;
    bool ours;
    h.sealing.seal = seal_never;
    put_project("a1");
    put_secret(SCOPED);
    hub_start(&h);
    assert_false(has("a1", SECRET));
    assert_string_equal(h.deferred, SECRET);
    assert_true(ab_str_is(ab_principal_why_deferred(h.principal, "a1", ab_str_of(SECRET), &ours),
                          "cannot seal"));
    put_project("a2");
    hub_settle(&h);
    assert_null(ab_principal_why_deferred(h.principal, "a1", ab_str_of(SECRET), &ours).ptr);
    assert_non_null(ab_principal_why_deferred(h.principal, "a2", ab_str_of(SECRET), &ours).ptr);
    fake_store_erase(h.store, SECRET);
    hub_settle(&h);
    assert_null(ab_principal_why_deferred(h.principal, "a2", ab_str_of(SECRET), &ours).ptr);
}

static void a_new_certificate_seals_it_anew(void **state)
{
    (void)state;
    put_project("*");
    put_secret(SCOPED);
    hub_start(&h);
    certificate = "c2";
    ab_principal_recipient_changed(h.principal, "a1");
    hub_settle(&h);
    assert_true(says("a1", SECRET, "\"sealed\":\"c2 a1 "));
}

static void protection_can_be_switched_off(void **state)
{
    (void)state;
    h.sealing = (ab_principal_sealing){.off = true};
    put_project("*");
    put_secret(SCOPED);
    hub_start(&h);
    assert_true(says("a1", SECRET, "aHVudGVyMg=="));
    hub_crash(&h);
    h.sealing = (ab_principal_sealing){.recipient = recipient, .seal = seal};
    hub_start(&h);
    assert_false(says("a1", SECRET, "aHVudGVyMg=="));
}

static void secrets_of_other_types_stay(void **state)
{
    (void)state;
    put_project("*");
    put_secret(SCOPED);
    set_in(h.store, SECRET, "labels", AB_LABEL_SECRET_TYPE, "cluster");
    hub_start(&h);
    assert_false(has("a1", SECRET));
}

/* --- keys, agents, sweeps --- */

static void gpg_keys_go_to_everybody(void **state)
{
    (void)state;
    put_keys();
    put("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"other\","
        "\"namespace\":\"" HUB_NAMESPACE "\"},\"data\":{}}");
    hub_start(&h);
    assert_true(has("a1", KEYS));
    assert_true(has("a2", KEYS));
    assert_int_equal(hub_keys(&h, "a1", ""), 1);
    fake_store_erase(h.store, KEYS);
    hub_settle(&h);
    assert_false(has("a1", KEYS));
}

/* As argocd-agent copies one to an agent, and a user then that to another control plane. */
static void a_copied_secret_or_config_map_is_never_a_mirror(void **state)
{
    (void)state;
    put_project("*");
    put_secret(SCOPED);
    put_keys();
    hub_start(&h);
    set_in(h.store, SECRET, "annotations", AB_ANN_SOURCE_UID, "x");
    set_in(h.store, KEYS, "annotations", AB_ANN_SOURCE_UID, "x");
    hub_settle(&h);
    assert_true(has("a1", SECRET));
    assert_true(has("a1", KEYS));
}

static void an_agent_that_comes_late_gets_them(void **state)
{
    (void)state;
    put_project("*");
    put_secret(SCOPED);
    put_keys();
    hub_start(&h);
    hub_add(&h, "a3");
    hub_settle(&h);
    assert_int_equal(hub_keys(&h, "a3", ""), 3);
    hub_remove(&h, "a3");
    put_project("a1");
    hub_settle(&h);
    assert_int_equal(hub_keys(&h, "a3", ""), 3);
    hub_add(&h, "a3");
    hub_settle(&h);
    assert_int_equal(hub_keys(&h, "a3", ""), 1);
}

static void what_was_deleted_while_it_was_down_is_ended(void **state)
{
    (void)state;
    put_project("*");
    put_secret(SCOPED);
    put_keys();
    hub_start(&h);
    hub_crash(&h);
    fake_store_erase(h.store, PROJECT);
    hub_start(&h);
    assert_int_equal(hub_keys(&h, "a1", ""), 1);
    assert_true(has("a1", KEYS));
}

static void while_the_end_of_a_project_is_held_back_its_secrets_stay(void **state)
{
    (void)state;
    h.deletions_max = 0;
    put_project("*");
    put_secret(SCOPED);
    put_keys();
    hub_start(&h);
    hub_crash(&h);
    fake_store_erase(h.store, PROJECT);
    fake_store_erase(h.store, KEYS);
    hub_start(&h);
    hub_tick(&h, 2000);
    assert_true(has("a1", PROJECT));
    assert_true(has("a1", SECRET));
    assert_int_equal(hub_confirm(&h, "a1"), AB_ERR_OK);
    hub_settle(&h);
    assert_false(has("a1", PROJECT));
    assert_false(has("a1", SECRET));
}

static void while_a_project_cannot_be_read_its_secrets_stay(void **state)
{
    (void)state;
    put_project("*");
    put_secret(SCOPED);
    hub_start(&h);
    hub_crash(&h);
    h.unreadable = true;
    fake_store_erase(h.store, PROJECT);
    hub_start(&h);
    assert_true(has("a1", PROJECT));
    assert_true(has("a1", SECRET));
    ab_principal_on_synced(h.principal);
    hub_settle(&h);
    assert_int_equal(hub_keys(&h, "a1", ""), 0);
}

static void no_agent_has_errors_kept_without_bound(void **state)
{
    (void)state;
    hub_start(&h);
    char key[64];
    hub_word word = {.agent = "a1",
                     .key = key,
                     .subject = "at-agent/x",
                     .target = AB_TARGET_APPPROJECT,
                     .type = AB_TYPE_ERROR,
                     .data = "{\"message\":\"why\"}",
                     .version = 1};
    for (int i = 0; i <= 1000; i++) {
        snprintf(key, sizeof(key), AB_KEY_ERROR "AppProject/at-agent/p%d", i);
        hub_say(&h, &word);
    }
    hub_settle(&h);
    const ab_label labels[] = {{"agent", AB_STR("a1")}, {"kind", AB_STR("AppProject")}};
    ab_metric *errors =
        ab_metric_get(h.metrics, AB_METRIC_GAUGE, "argobus_agent_errors", "", labels, 2);
    assert_true(ab_metric_value(errors) == 1000);
}

static void what_an_agent_cannot_do_is_counted(void **state)
{
    (void)state;
    put_project("*");
    hub_start(&h);
    hub_word word = {.agent = "a1",
                     .key = AB_KEY_ERROR "AppProject/at-agent/team",
                     .subject = "at-agent/team",
                     .target = AB_TARGET_APPPROJECT,
                     .type = AB_TYPE_ERROR,
                     .data = "{\"message\":\"why\"}",
                     .version = 1};
    const ab_label labels[] = {{"agent", AB_STR("a1")}, {"kind", AB_STR("AppProject")}};
    hub_say(&h, &word);
    hub_settle(&h);
    ab_metric *errors =
        ab_metric_get(h.metrics, AB_METRIC_GAUGE, "argobus_agent_errors", "", labels, 2);
    assert_true(ab_metric_value(errors) == 1);
    assert_string_equal(h.deferred, "AppProject/argocd/team");
    word.data = NULL;
    word.version = 2;
    hub_say(&h, &word);
    hub_settle(&h);
    assert_true(ab_metric_value(errors) == 0);
    assert_string_equal(h.deferred, "");
    assert_true(hub_all_acknowledged(&h));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_project_goes_to_the_agents_it_is_for),
        TEST(what_is_read_before_the_store_has_shown_it_is_not_sent),
        TEST(a_project_that_changes_comes_and_goes),
        TEST(a_denial_that_cannot_be_evaluated_takes_project_and_secrets_from_all),
        TEST(a_project_of_another_namespace_is_not_sent),
        TEST(an_ignored_project_is_taken_away),
        TEST(a_mirrored_project_is_not_sent),
        TEST(a_project_copied_from_an_agent_is_the_hubs_own),
        TEST(a_project_that_is_being_deleted_is_let_go),
        TEST(what_has_not_changed_is_not_sent_again),
        TEST(a_read_that_is_newer_than_what_was_seen_is_not_sent_before_that),
        TEST(a_secret_goes_where_its_project_goes),
        TEST(a_new_password_does_not_go_to_whom_the_project_named_before),
        TEST(a_secret_that_moves_to_a_new_project_stays_where_it_belongs),
        TEST(a_secret_that_moves_to_a_new_project_goes_where_that_denies_it),
        TEST(a_new_project_that_is_not_synchronised_is_none),
        TEST(nor_is_one_that_is_being_deleted),
        TEST(a_new_project_that_is_never_shown_is_read_until_it_is_gone),
        TEST(a_secret_without_a_project_stays),
        TEST(a_project_that_comes_late_finds_its_secrets),
        TEST(a_secret_is_sealed_to_its_receiver_and_place),
        TEST(a_secret_is_sealed_in_the_context_that_the_agent_will_see),
        TEST(after_a_loss_of_the_log_it_is_sealed_anew),
        TEST(secrets_wait_for_a_certificate),
        TEST(a_secret_that_cannot_be_sealed_counts_as_pending),
        TEST(a_new_certificate_seals_it_anew),
        TEST(protection_can_be_switched_off),
        TEST(secrets_of_other_types_stay),
        TEST(gpg_keys_go_to_everybody),
        TEST(a_copied_secret_or_config_map_is_never_a_mirror),
        TEST(an_agent_that_comes_late_gets_them),
        TEST(what_was_deleted_while_it_was_down_is_ended),
        TEST(while_the_end_of_a_project_is_held_back_its_secrets_stay),
        TEST(while_a_project_cannot_be_read_its_secrets_stay),
        TEST(no_agent_has_errors_kept_without_bound),
        TEST(what_an_agent_cannot_do_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
