/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's machine and the kinds that are shared: projects, repository Secrets, GPG keys.
 */
#include "base/core/digest.h"
#include "base/observe/log_quota.h"
#include "schema/attributes.h"
#include "tests/unit/logged.h"
#include "tests/unit/sync/world/records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PROJECT      "AppProject/hub/p"
#define PROJECT_HERE "AppProject/argocd/p"
#define SECRET       "Secret/hub/r"
#define SECRET_HERE  "Secret/argocd/r"
#define KEYS         "ConfigMap/hub/argocd-gpg-keys-cm"
#define KEYS_HERE    "ConfigMap/argocd/argocd-gpg-keys-cm"

#define UID(u)     ",\"uid\":\"" u "\""
#define SPEC(n)    ",\"spec\":{\"n\":" #n "}"
#define DATA(text) ",\"data\":{\"k\":\"" text "\"}"
#define REPOSITORY ",\"labels\":{\"" AB_LABEL_SECRET_TYPE "\":\"repository\"}"
#define ADOPTABLE  ",\"annotations\":{\"" AB_ANN_ADOPTION_POLICY "\":\"always\"}"
#define SEALED     ",\"sealed\":\"c2VhbGVk\""

static const struct kind {
    const char *key;
    const char *here;
    const char *meta; /* what makes it one of ours */
    const char *member;
    ab_target target;
} shared[] = {
    {PROJECT, PROJECT_HERE, "", "spec", AB_TARGET_APPPROJECT},
    {SECRET, SECRET_HERE, REPOSITORY, "data", AB_TARGET_REPOSITORY},
    {KEYS, KEYS_HERE, "", "data", AB_TARGET_GPGKEY},
};

#define KINDS (sizeof(shared) / sizeof(shared[0]))

/* A desired state whose content is {"k":"<content>"}. */
static void desired_kind(const struct kind *k, ab_type type, const char *uid, const char *content)
{
    char meta[256], rest[256];
    snprintf(meta, sizeof(meta), ",\"uid\":\"%s\"%s", uid, k->meta);
    snprintf(rest, sizeof(rest), ",\"%s\":{\"k\":\"%s\"}", k->member, content);
    desired(k->key, type, meta, rest);
}

static bool has_content(const struct kind *k, const char *content)
{
    char json[80];
    snprintf(json, sizeof(json), "{\"k\":\"%s\"}", content);
    return has_field(at(k->here), k->member, json);
}

static void tamper(const struct kind *k)
{
    set_field(w.local, k->here, k->member, "{\"tampered\":\"1\"}");
}

static const char *error_key(const struct kind *k)
{
    static char key[128];
    snprintf(key, sizeof(key), AB_KEY_ERROR "%s", k->here);
    return key;
}

/* --- placing --- */

static void shared_objects_are_placed_in_argo_cds_namespace(void **state)
{
    (void)state;
    begin();
    for (const struct kind *k = shared; k < shared + KINDS; k++) {
        desired_kind(k, AB_TYPE_CREATE, "u-1", "1");
        assert_true(has_content(k, "1"));
        assert_true(has_in(at(k->here), "annotations", AB_ANN_SOURCE_UID, "u-1"));
        assert_true(has_in(at(k->here), "annotations", AB_ANN_PRINCIPAL_UID, "principal-1"));
    }
    assert_at_rest();
}

static void destination_mapping_changes_nothing_for_them(void **state)
{
    (void)state;
    w.policy.by_destination = true;
    begin();
    for (const struct kind *k = shared; k < shared + KINDS; k++) {
        desired_kind(k, AB_TYPE_CREATE, "u-1", "1");
        assert_true(has_content(k, "1"));
    }
    assert_at_rest();
}

static void changes_and_ends_follow(void **state)
{
    (void)state;
    begin();
    for (const struct kind *k = shared; k < shared + KINDS; k++) {
        desired_kind(k, AB_TYPE_CREATE, "u-1", "1");
        desired_kind(k, AB_TYPE_SPEC_UPDATE, "u-1", "2");
        assert_true(has_content(k, "2"));
        end(k->key);
        assert_null(at(k->here));
    }
    assert_at_rest();
}

static void the_end_of_another_object_removes_nothing(void **state)
{
    (void)state;
    begin();
    for (const struct kind *k = shared; k < shared + KINDS; k++) {
        desired_kind(k, AB_TYPE_CREATE, "u-1", "1");
        end_of(k->key, "u-0");
        assert_true(has_content(k, "1"));
        end_of(k->key, "u-1");
        assert_null(at(k->here));
    }
    assert_at_rest();
}

static void labels_of_others_stay_and_dropped_ones_go(void **state)
{
    (void)state;
    begin();
    desired(PROJECT, AB_TYPE_CREATE, UID("u-1") ",\"labels\":{\"team\":\"x\"}", SPEC(1));
    set_in(w.local, PROJECT_HERE, "labels", "theirs", "1");
    desired(PROJECT, AB_TYPE_SPEC_UPDATE, UID("u-1"), SPEC(1));
    assert_true(has_in(at(PROJECT_HERE), "labels", "team", NULL));
    assert_true(has_in(at(PROJECT_HERE), "labels", "theirs", "1"));
    assert_at_rest();
}

static void local_edits_and_deletions_are_reverted(void **state)
{
    (void)state;
    begin();
    for (const struct kind *k = shared; k < shared + KINDS; k++) {
        desired_kind(k, AB_TYPE_CREATE, "u-1", "1");
        tamper(k);
        world_settle(&w);
        assert_true(has_content(k, "1"));
        fake_store_erase(w.local, k->here);
        world_settle(&w);
        assert_true(has_content(k, "1"));
    }
    assert_true(world_count(w.agent_metrics, "argobus_reverts_total") == 6);
    assert_at_rest();
}

static void those_made_while_the_agent_was_down_are_reverted(void **state)
{
    (void)state;
    begin();
    for (const struct kind *k = shared; k < shared + KINDS; k++) {
        desired_kind(k, AB_TYPE_CREATE, "u-1", "1");
        world_crash_agent(&w);
        tamper(k);
        begin();
        assert_true(has_content(k, "1"));
        world_crash_agent(&w);
        fake_store_erase(w.local, k->here);
        begin();
        assert_true(has_content(k, "1"));
    }
    assert_at_rest();
}

static void a_label_that_makes_it_a_repository_is_restored(void **state)
{
    (void)state;
    begin();
    desired_kind(&shared[1], AB_TYPE_CREATE, "u-1", "1");
    set_in(w.local, SECRET_HERE, "labels", AB_LABEL_SECRET_TYPE, NULL);
    world_settle(&w);
    assert_true(has_in(at(SECRET_HERE), "labels", AB_LABEL_SECRET_TYPE, "repository"));
    assert_at_rest();
}

static void one_that_was_created_anew_at_the_source_is_replaced(void **state)
{
    (void)state;
    begin();
    for (const struct kind *k = shared; k < shared + KINDS; k++) {
        char before[40];
        desired_kind(k, AB_TYPE_CREATE, "u-1", "1");
        snprintf(before, sizeof(before), "%.*s", AB_STR_ARG(ab_object_uid(at(k->here))));
        desired_kind(k, AB_TYPE_CREATE, "u-2", "1");
        assert_true(has_in(at(k->here), "annotations", AB_ANN_SOURCE_UID, "u-2"));
        assert_false(ab_str_is(ab_object_uid(at(k->here)), before));
    }
    assert_at_rest();
}

/* Only of Applications a finalizer of this name says what becomes of what was deployed. */
static void a_project_that_was_created_anew_keeps_its_finalizers_until_it_is_gone(void **state)
{
    (void)state;
    begin();
    desired(PROJECT, AB_TYPE_CREATE, UID("u-1") ",\"finalizers\":[\"" AB_FINALIZER_RESOURCES "\"]",
            SPEC(1));
    assert_int_equal(ab_span_count(ab_object_meta(at(PROJECT_HERE), "finalizers")), 1);
    desired(PROJECT, AB_TYPE_CREATE, UID("u-2"), SPEC(2));
    assert_true(ab_object_deleting(at(PROJECT_HERE)));
    assert_int_equal(ab_span_count(ab_object_meta(at(PROJECT_HERE), "finalizers")), 1);
    drop_finalizers(w.local, PROJECT_HERE);
    world_run(&w, 2);
    assert_int_equal(spec_of(at(PROJECT_HERE)), 2);
    assert_at_rest();
}

static void a_deletion_time_stamp_of_a_project_means_nothing(void **state)
{
    (void)state;
    begin();
    desired(PROJECT, AB_TYPE_CREATE, UID("u-1") ",\"deletionTimestamp\":\"x\"", SPEC(1));
    assert_int_equal(spec_of(at(PROJECT_HERE)), 1);
    assert_false(ab_object_deleting(at(PROJECT_HERE)));
    assert_at_rest();
}

/* --- whose is it --- */

static void unmanaged_projects_and_gpg_keys_are_adopted(void **state)
{
    (void)state;
    put(PROJECT_HERE, "", SPEC(7));
    put(KEYS_HERE, "", DATA("theirs"));
    begin();
    desired_kind(&shared[0], AB_TYPE_SPEC_UPDATE, "u-1", "1");
    desired_kind(&shared[2], AB_TYPE_SPEC_UPDATE, "u-1", "1");
    assert_true(has_content(&shared[0], "1"));
    assert_true(has_content(&shared[2], "1"));
    assert_at_rest();
}

static void an_unmanaged_secret_is_reported_and_not_touched(void **state)
{
    (void)state;
    put(SECRET_HERE, REPOSITORY, DATA("theirs"));
    begin();
    desired_kind(&shared[1], AB_TYPE_CREATE, "u-1", "1");
    assert_true(has_content(&shared[1], "theirs"));
    assert_true(said_of_target(error_key(&shared[1]), AB_TARGET_REPOSITORY, false));
    assert_at_rest();
    end(SECRET);
    assert_true(has_content(&shared[1], "theirs"));
    assert_null(said(error_key(&shared[1])));
    assert_at_rest();
}

static void an_unmanaged_secret_may_say_that_it_can_be_adopted(void **state)
{
    (void)state;
    put(SECRET_HERE, REPOSITORY ADOPTABLE, DATA("theirs"));
    begin();
    desired_kind(&shared[1], AB_TYPE_SPEC_UPDATE, "u-1", "1");
    assert_true(has_content(&shared[1], "1"));
    assert_at_rest();
}

static void what_is_excluded_from_synchronisation_is_not_adopted(void **state)
{
    (void)state;
    put(PROJECT_HERE, ",\"labels\":{\"" AB_LABEL_IGNORE_SYNC "\":\"true\"}", SPEC(7));
    begin();
    desired_kind(&shared[0], AB_TYPE_CREATE, "u-1", "1");
    world_run(&w, 20);
    assert_int_equal(spec_of(at(PROJECT_HERE)), 7);
    assert_non_null(said(error_key(&shared[0])));
}

static void another_secret_of_the_name_is_not_overwritten(void **state)
{
    (void)state;
    put(SECRET_HERE, "", DATA("theirs")); /* no repository: not even looked at */
    begin();
    desired_kind(&shared[1], AB_TYPE_CREATE, "u-1", "1");
    world_run(&w, 20);
    assert_true(has_content(&shared[1], "theirs"));
    assert_non_null(said(error_key(&shared[1])));
    assert_int_equal(fake_log_open(w.down), 0);
}

static void what_has_no_source_is_not_touched(void **state)
{
    (void)state;
    put(PROJECT_HERE, "", SPEC(7));
    put(SECRET_HERE, REPOSITORY, DATA("x"));
    put(KEYS_HERE, "", DATA("x"));
    uint64_t writes = fake_store_changes(w.local);
    begin();
    assert_int_equal(fake_store_changes(w.local), writes);
    assert_int_equal(fake_log_appended(w.up), 1); /* the request for a resync */
    assert_at_rest();
}

/* --- what goes up --- */

static void nothing_goes_up_but_errors(void **state)
{
    (void)state;
    begin();
    for (const struct kind *k = shared; k < shared + KINDS; k++) {
        desired_kind(k, AB_TYPE_CREATE, "u-1", "1");
        assert_int_equal(fake_log_appended(w.up), 1); /* the request for a resync */
    }
    w.local_refuses = AB_ERR_DENIED;
    for (const struct kind *k = shared; k < shared + KINDS; k++) {
        desired_kind(k, AB_TYPE_SPEC_UPDATE, "u-1", "2");
        assert_true(said_of_target(error_key(k), k->target, false));
    }
    assert_int_equal(fake_log_appended(w.up), 4);
    w.local_refuses = AB_ERR_OK;
    for (const struct kind *k = shared; k < shared + KINDS; k++) {
        desired_kind(k, AB_TYPE_SPEC_UPDATE, "u-1", "3");
        assert_null(said(error_key(k)));
    }
    assert_at_rest();
}

static void what_is_not_synchronised_is_refused(void **state)
{
    (void)state;
    begin();
    desired("Secret/hub/argocd-secret", AB_TYPE_CREATE, UID("u-1"), DATA("1"));
    desired("ConfigMap/hub/argocd-cm", AB_TYPE_CREATE, UID("u-1"), DATA("1"));
    assert_null(at("Secret/argocd/argocd-secret"));
    assert_null(at("ConfigMap/argocd/argocd-cm"));
    assert_int_equal(refused("payload"), 2);
    assert_int_equal(fake_log_open(w.down), 0);
}

static void a_principal_that_is_refused_again_and_again_does_not_fill_the_log(void **state)
{
    (void)state;
    FILE *file = logged_open(&w.clock, &w.log);
    begin();
    for (int i = 0; i < 30; i++)
        desired("ConfigMap/hub/argocd-cm", AB_TYPE_CREATE, UID("u-1"), DATA("1"));
    assert_int_equal(refused("payload"), 30);
    assert_int_equal(logged_count(file, "event refused"), AB_LOG_QUOTA_LINES);
    world_tick(&w, 60000);
    desired("ConfigMap/hub/argocd-cm", AB_TYPE_CREATE, UID("u-1"), DATA("1"));
    assert_int_equal(logged_count(file, "held_back=20"), 1);
    fclose(file);
}

static void a_payload_of_another_object_is_refused(void **state)
{
    (void)state;
    static const char *const others[] = {
        "{\"kind\":\"AppProject\",\"metadata\":{\"namespace\":\"hub\",\"name\":\"q\"}}",
        "{\"kind\":\"AppProject\",\"metadata\":{\"namespace\":\"other\",\"name\":\"p\"}}",
        "{\"kind\":\"Application\",\"metadata\":{\"namespace\":\"hub\",\"name\":\"p\"}}",
    };
    begin();
    for (int i = 0; i < 3; i++) {
        payload(PROJECT, false, others[i]);
        assert_int_equal(refused("payload"), i + 1);
        assert_null(fake_store_at(w.local, 0));
    }
    assert_at_rest();
}

static void what_another_version_kept_is_passed_over(void **state)
{
    (void)state;
    const ab_received_state kept = {.version = {1, 1}, .desired = AB_STR("{}")};
    begin();
    assert_int_equal(ab_agent_restore(w.agent, AB_STR("Job/argocd/j"), &kept), AB_ERR_OK);
    assert_int_equal(ab_agent_restore(w.agent, AB_STR("what"), &kept), AB_ERR_OK);
    assert_at_rest();
}

/* --- sealed --- */

static struct {
    char agent[40], key[80], version[40], sealed[40], context[AB_DIGEST_HEX];
    ab_err code;
    int calls;
} opener;

static void copy(char *out, size_t size, ab_str text)
{
    snprintf(out, size, "%.*s", AB_STR_ARG(text));
}

static ab_err fake_open(void *arg, const ab_seal_binding *binding, ab_str sealed, ab_buf *out,
                        ab_error *err)
{
    assert_ptr_equal(arg, &opener);
    opener.calls++;
    copy(opener.agent, sizeof(opener.agent), binding->agent);
    copy(opener.key, sizeof(opener.key), binding->key);
    copy(opener.version, sizeof(opener.version), binding->version);
    copy(opener.sealed, sizeof(opener.sealed), sealed);
    copy(opener.context, sizeof(opener.context), binding->context);
    if (opener.code != AB_ERR_OK)
        return ab_fail(err, opener.code, "sealed for another key");
    ab_buf_puts(out, "{\"data\":{\"k\":\"hunter2\"}}");
    return ab_buf_status(out);
}

static int set_up(void **state)
{
    (void)setup(state);
    memset(&opener, 0, sizeof(opener));
    w.policy.name = "w1";
    w.policy.sealed_only = true;
    w.policy.open = fake_open;
    w.policy.open_arg = &opener;
    return 0;
}

/* Of a Secret no snapshot is kept: it is read. */
static void an_edit_that_is_seen_while_the_object_is_read_is_reverted(void **state)
{
    const struct kind *k = &shared[1];
    (void)state;
    begin();
    desired_kind(k, AB_TYPE_CREATE, "u-1", "1");
    /* A redelivery makes the agent look again; the edit is seen before the answer, which is older.
     */
    fake_log_replay(w.down);
    while (fake_log_has_next(w.down))
        world_step(&w, 0);
    assert_int_equal(fake_store_choices(w.local), 1);
    fake_store_step(w.local, 0, false); /* the read takes place */
    tamper(k);
    assert_int_equal(fake_store_choices(w.local), 2);
    fake_store_step(w.local, 1, false); /* the edit is seen */
    world_settle(&w);
    assert_true(has_content(k, "1"));
    assert_at_rest();
}

#define SEALED_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, teardown)

static void desired_sealed(void)
{
    desired(SECRET, AB_TYPE_CREATE, UID("u-1") REPOSITORY, ",\"type\":\"Opaque\"" SEALED);
}

static void a_sealed_secret_is_opened_when_it_is_placed(void **state)
{
    (void)state;
    begin();
    desired_sealed();
    assert_true(has_content(&shared[1], "hunter2"));
    assert_true(has_field(at(SECRET_HERE), "sealed", NULL));
    assert_true(has_field(at(SECRET_HERE), "type", "\"Opaque\""));
    assert_string_equal(opener.agent, "w1");
    assert_string_equal(opener.key, SECRET);
    assert_string_equal(opener.version, last_version());
    assert_string_equal(opener.sealed, "c2VhbGVk");
    assert_at_rest();
}

static void a_seal_is_opened_in_the_context_of_its_labels(void **state)
{
    char first[AB_DIGEST_HEX];
    (void)state;
    begin();
    desired_sealed();
    assert_int_equal(strlen(opener.context), AB_DIGEST_HEX - 1);
    snprintf(first, sizeof(first), "%s", opener.context);
    desired(SECRET, AB_TYPE_SPEC_UPDATE, UID("u-1") REPOSITORY, ",\"type\":\"other\"" SEALED);
    assert_string_not_equal(opener.context, first);
    desired(SECRET, AB_TYPE_SPEC_UPDATE, UID("u-1") REPOSITORY,
            ",\"type\":\"Opaque\",\"sealed\":\"b3RoZXI=\"");
    assert_string_equal(opener.context, first);
    assert_at_rest();
}

static bool is_in_cache(const char *text)
{
    ab_received_state row;
    assert_int_equal(world_recall(&w, AB_STR(SECRET_HERE), &row), AB_ERR_OK);
    return memmem(row.desired.ptr, row.desired.len, text, strlen(text)) != NULL;
}

static void it_is_kept_sealed_and_reverted_after_a_restart(void **state)
{
    (void)state;
    begin();
    desired_sealed();
    char version[40];
    snprintf(version, sizeof(version), "%s", last_version());
    assert_true(is_in_cache("c2VhbGVk"));
    assert_false(is_in_cache("hunter2"));
    world_crash_agent(&w);
    tamper(&shared[1]);
    opener.version[0] = '\0';
    begin();
    assert_true(has_content(&shared[1], "hunter2"));
    assert_string_equal(opener.version, version);
    assert_at_rest();
}

static void one_that_does_not_open_is_reported_and_changes_nothing(void **state)
{
    (void)state;
    begin();
    desired_sealed();
    opener.code = AB_ERR_DENIED;
    desired(SECRET, AB_TYPE_SPEC_UPDATE, UID("u-1") REPOSITORY ",\"x\":1", SEALED);
    assert_true(has_content(&shared[1], "hunter2"));
    assert_true(said_of_target(error_key(&shared[1]), AB_TARGET_REPOSITORY, false));
    assert_int_equal(fake_log_open(w.down), 0);
    opener.code = AB_ERR_OK;
    desired_sealed();
    assert_null(said(error_key(&shared[1])));
    assert_at_rest();
}

static void without_a_key_nothing_is_placed_until_there_is_one(void **state)
{
    (void)state;
    w.policy.open = NULL;
    begin();
    desired_sealed();
    assert_null(at(SECRET_HERE));
    assert_non_null(said(error_key(&shared[1])));
    assert_int_equal(fake_log_open(w.down), 0);
    world_crash_agent(&w);
    w.policy.open = fake_open;
    begin();
    assert_true(has_content(&shared[1], "hunter2"));
    assert_null(said(error_key(&shared[1])));
    assert_at_rest();
}

static void one_that_comes_unsealed_is_refused_and_not_kept(void **state)
{
    (void)state;
    ab_received_state row;
    begin();
    desired_kind(&shared[1], AB_TYPE_CREATE, "u-1", "clear");
    desired(SECRET, AB_TYPE_CREATE, UID("u-1") REPOSITORY, SEALED DATA("clear"));
    desired(SECRET, AB_TYPE_CREATE, UID("u-1") REPOSITORY,
            SEALED ",\"stringData\":{\"k\":\"clear\"}");
    assert_null(at(SECRET_HERE));
    assert_int_equal(refused("unsealed"), 3);
    assert_non_null(said(error_key(&shared[1])));
    assert_int_equal(world_recall(&w, AB_STR(SECRET_HERE), &row), AB_ERR_NOTFOUND);
    assert_at_rest();
}

static void only_secrets_must_be_sealed(void **state)
{
    (void)state;
    begin();
    desired_kind(&shared[0], AB_TYPE_CREATE, "u-1", "1");
    desired_kind(&shared[2], AB_TYPE_CREATE, "u-1", "1");
    assert_true(has_content(&shared[0], "1"));
    assert_true(has_content(&shared[2], "1"));
    assert_int_equal(opener.calls, 0);
    assert_at_rest();
}

static void nothing_that_was_sealed_is_logged_or_goes_up(void **state)
{
    (void)state;
    char text[65536];
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(ab_log_new(fileno(file), "debug", AB_LOG_JSON, &w.clock, &w.log, NULL),
                     AB_ERR_OK);
    begin();
    desired_sealed();
    tamper(&shared[1]);
    world_settle(&w);
    w.local_refuses = AB_ERR_DENIED;
    tamper(&shared[1]);
    world_settle(&w);
    assert_non_null(said(error_key(&shared[1])));
    assert_false(said_with(error_key(&shared[1]), "hunter2"));
    rewind(file);
    size_t n = fread(text, 1, sizeof(text) - 1, file);
    text[n] = '\0';
    assert_non_null(strstr(text, "local change reverted"));
    assert_null(strstr(text, "hunter2"));
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(shared_objects_are_placed_in_argo_cds_namespace),
        TEST(destination_mapping_changes_nothing_for_them),
        TEST(changes_and_ends_follow),
        TEST(the_end_of_another_object_removes_nothing),
        TEST(labels_of_others_stay_and_dropped_ones_go),
        TEST(local_edits_and_deletions_are_reverted),
        TEST(an_edit_that_is_seen_while_the_object_is_read_is_reverted),
        TEST(those_made_while_the_agent_was_down_are_reverted),
        TEST(a_label_that_makes_it_a_repository_is_restored),
        TEST(one_that_was_created_anew_at_the_source_is_replaced),
        TEST(a_project_that_was_created_anew_keeps_its_finalizers_until_it_is_gone),
        TEST(a_deletion_time_stamp_of_a_project_means_nothing),
        TEST(unmanaged_projects_and_gpg_keys_are_adopted),
        TEST(an_unmanaged_secret_is_reported_and_not_touched),
        TEST(an_unmanaged_secret_may_say_that_it_can_be_adopted),
        TEST(what_is_excluded_from_synchronisation_is_not_adopted),
        TEST(another_secret_of_the_name_is_not_overwritten),
        TEST(what_has_no_source_is_not_touched),
        TEST(nothing_goes_up_but_errors),
        TEST(what_is_not_synchronised_is_refused),
        TEST(a_principal_that_is_refused_again_and_again_does_not_fill_the_log),
        TEST(a_payload_of_another_object_is_refused),
        TEST(what_another_version_kept_is_passed_over),
        SEALED_TEST(a_sealed_secret_is_opened_when_it_is_placed),
        SEALED_TEST(a_seal_is_opened_in_the_context_of_its_labels),
        SEALED_TEST(it_is_kept_sealed_and_reverted_after_a_restart),
        SEALED_TEST(one_that_does_not_open_is_reported_and_changes_nothing),
        SEALED_TEST(without_a_key_nothing_is_placed_until_there_is_one),
        SEALED_TEST(one_that_comes_unsealed_is_refused_and_not_kept),
        SEALED_TEST(only_secrets_must_be_sealed),
        SEALED_TEST(nothing_that_was_sealed_is_logged_or_goes_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
