/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/recipients.h"

#include "base/core/file.h"
#include "tests/unit/base/crypto/made_cert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct {
    made_cert ca, other_ca, west, next, east, stranger, spiffe;
} certs;

static ab_recipients *r;
static ab_metrics *metrics;
static int64_t now_ms;

static int64_t mono_ms(void *arg)
{
    (void)arg;
    return now_ms;
}

static int64_t wall_us(void *arg)
{
    (void)arg;
    return ab_clock_wall_us(&ab_clock_real);
}

static const ab_clock test_clock = {mono_ms, wall_us, NULL};

static int make_certs(void **state)
{
    (void)state;
    certs.ca = make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "ca", .ca = true});
    certs.other_ca = make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "other", .ca = true});
    certs.west =
        make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "west", .issuer = &certs.ca});
    certs.next =
        make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "west", .issuer = &certs.ca});
    certs.spiffe = make_cert(&(made_cert_spec){
        .type = "EC-P-256", .san = "URI:spiffe://example.org/agent/west", .issuer = &certs.ca});
    certs.east =
        make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "east", .issuer = &certs.ca});
    certs.stranger =
        make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "west", .issuer = &certs.other_ca});
    return 0;
}

static int free_certs(void **state)
{
    (void)state;
    made_cert *all[] = {&certs.ca,   &certs.other_ca, &certs.west,  &certs.next,
                        &certs.east, &certs.stranger, &certs.spiffe};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        made_cert_free(all[i]);
    return 0;
}

static void write_file(char path[], const char *text)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static char ca_path[64], revoked_path[64];
static FILE *log_file;
static ab_log *log_made;

/* With these settings, "secrets.ca=...". */
static void make(const char *const *sets, size_t count)
{
    static const ab_option rows[] = {
        {.name = "transport", .kind = AB_OPT_STRING, .deflt = "kafka", .help = "."},
        {.name = "secrets.ca", .kind = AB_OPT_FILE, .help = "."},
        {.name = "secrets.identity", .kind = AB_OPT_STRING, .help = "."},
        {.name = "secrets.revoked", .kind = AB_OPT_FILE, .help = "."},
        {.name = "kafka.tls.ca", .kind = AB_OPT_FILE, .help = "."},
        {.name = "grpc.auth.mtls.identity",
         .kind = AB_OPT_STRING,
         .deflt = "subject:CN=([^,]+)",
         .help = "."},
        {.name = "grpc.auth.revoked", .kind = AB_OPT_FILE, .help = "."},
    };
    const ab_options table = {rows, sizeof(rows) / sizeof(rows[0])};
    const ab_config_sources sources = {.set = sets, .set_count = count};
    ab_config *config = NULL;
    ab_error err = {0};
    if (ab_config_load(&table, 1, &sources, &config, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
    log_file = tmpfile();
    assert_non_null(log_file);
    assert_int_equal(
        ab_log_new(fileno(log_file), "info", AB_LOG_TEXT, &ab_clock_real, &log_made, NULL),
        AB_ERR_OK);
    metrics = ab_metrics_new();
    assert_non_null(metrics);
    if (ab_recipients_new(config, log_made, metrics, &test_clock, &r, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
    ab_config_free(config);
}

static size_t count_logged(const char *text)
{
    char line[4096];
    size_t count = 0;
    rewind(log_file);
    while (fgets(line, sizeof(line), log_file) != NULL)
        count += strstr(line, text) != NULL;
    return count;
}

/* Does one line of the log say all of these? NULL: any. */
static bool logged(const char *a, const char *b, const char *c)
{
    char line[4096];
    bool found = false;
    rewind(log_file);
    while (!found && fgets(line, sizeof(line), log_file) != NULL)
        found = strstr(line, a) != NULL && (b == NULL || strstr(line, b) != NULL) &&
                (c == NULL || strstr(line, c) != NULL);
    return found;
}

static void make_with(const char *identity, const char *revoked_option)
{
    char ca[100], rule[100], revoked[100];
    const char *sets[3] = {ca};
    size_t count = 1;
    snprintf(ca_path, sizeof(ca_path), "/tmp/argobus-recipients-XXXXXX");
    write_file(ca_path, certs.ca.cert);
    snprintf(ca, sizeof(ca), "secrets.ca=%s", ca_path);
    if (identity != NULL) {
        snprintf(rule, sizeof(rule), "%s", identity);
        sets[count++] = rule;
    }
    if (revoked_option != NULL) {
        snprintf(revoked_path, sizeof(revoked_path), "/tmp/argobus-recipients-XXXXXX");
        write_file(revoked_path, "# nobody\n");
        snprintf(revoked, sizeof(revoked), "%s=%s", revoked_option, revoked_path);
        sets[count++] = revoked;
    }
    make(sets, count);
}

static int with_ca(void **state)
{
    (void)state;
    make_with(NULL, NULL);
    return 0;
}

static int with_revoked(void **state)
{
    (void)state;
    make_with(NULL, "secrets.revoked");
    return 0;
}

static int with_revoked_logins(void **state)
{
    (void)state;
    make_with(NULL, "grpc.auth.revoked");
    return 0;
}

static int with_rule_of_logins(void **state)
{
    (void)state;
    make_with("grpc.auth.mtls.identity=uri:^spiffe://example[.]org/agent/([^/]+)$", NULL);
    return 0;
}

static int with_own_rule(void **state)
{
    (void)state;
    make_with("secrets.identity=uri:^spiffe://example[.]org/agent/([^/]+)$", NULL);
    return 0;
}

static int without_ca(void **state)
{
    (void)state;
    make(NULL, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ab_recipients_free(r);
    ab_metrics_free(metrics);
    ab_log_free(log_made);
    assert_int_equal(fclose(log_file), 0);
    (void)unlink(ca_path);
    (void)unlink(revoked_path);
    return 0;
}

static ab_err give(const char *agent, const char *pem)
{
    char path[] = "/tmp/argobus-recipients-XXXXXX";
    ab_error err = {0};
    write_file(path, pem);
    ab_err e = ab_recipients_configure(r, agent, path, &err);
    unlink(path);
    return e;
}

/* Seal for `agent` and open with this certificate. */
static bool opens(const char *agent, const made_cert *m)
{
    ab_buf sealed, opened;
    ab_error err = {0};
    ab_seal_opener *opener = NULL;
    const ab_seal_binding binding = {ab_str_of(agent), AB_STR("k"), AB_STR("1.1"),
                                     AB_STR("c0ffee")};
    ab_buf_init(&sealed, 65536);
    ab_buf_init(&opened, 65536);
    assert_int_equal(ab_seal_opener_new(ab_str_of(m->cert), ab_str_of(m->key), &opener, &err),
                     AB_ERR_OK);
    ab_err e = ab_recipients_seal(r, agent, &binding, AB_STR("text"), &sealed, &err);
    if (e == AB_ERR_OK)
        e = ab_seal_open(opener, &binding, ab_buf_str(&sealed), &opened, &err);
    bool same = e == AB_ERR_OK && ab_str_is(ab_buf_str(&opened), "text");
    ab_seal_opener_free(opener);
    ab_buf_fini(&sealed);
    ab_buf_fini(&opened);
    return same;
}

static void nothing_is_sealed_to_an_unknown_agent(void **state)
{
    (void)state;
    assert_null(ab_recipients_id(r, "west"));
    assert_false(opens("west", &certs.west));
}

static void a_certificate_that_the_agent_tells_is_used(void **state)
{
    (void)state;
    assert_true(ab_recipients_offer(r, "west", certs.west.cert));
    assert_non_null(ab_recipients_id(r, "west"));
    assert_true(opens("west", &certs.west));
    assert_false(ab_recipients_offer(r, "west", certs.west.cert));
    assert_false(ab_recipients_offer(r, "west", ""));
    assert_true(opens("west", &certs.west));
}

static void one_of_another_agent_or_authority_is_not_used(void **state)
{
    (void)state;
    assert_false(ab_recipients_offer(r, "west", certs.east.cert));
    assert_false(ab_recipients_offer(r, "west", certs.stranger.cert));
    assert_false(ab_recipients_offer(r, "west", "nonsense"));
    assert_null(ab_recipients_id(r, "west"));
    assert_true(ab_recipients_offer(r, "west", certs.west.cert));
    assert_false(ab_recipients_offer(r, "west", certs.stranger.cert));
    assert_true(opens("west", &certs.west));
}

static void without_an_authority_nothing_that_is_told_is_used(void **state)
{
    (void)state;
    assert_false(ab_recipients_offer(r, "west", certs.west.cert));
    assert_null(ab_recipients_id(r, "west"));
}

static void one_that_is_given_is_used_whatever_the_agent_tells(void **state)
{
    (void)state;
    assert_int_equal(give("west", certs.stranger.cert), AB_ERR_OK);
    assert_true(opens("west", &certs.stranger));
    assert_false(ab_recipients_offer(r, "west", certs.west.cert));
    assert_true(opens("west", &certs.stranger));
    assert_int_equal(ab_recipients_configure(r, "west", NULL, NULL), AB_ERR_OK);
    assert_true(opens("west", &certs.west));
}

static void a_file_that_is_none_changes_nothing(void **state)
{
    (void)state;
    ab_error err = {0};
    assert_int_equal(give("west", certs.west.cert), AB_ERR_OK);
    assert_int_not_equal(give("west", "nonsense"), AB_ERR_OK);
    assert_int_equal(ab_recipients_configure(r, "west", "/nowhere/x", &err), AB_ERR_CONFIG);
    assert_non_null(strstr(err.text, "west"));
    assert_true(opens("west", &certs.west));
}

static void an_agent_that_goes_is_forgotten(void **state)
{
    (void)state;
    assert_true(ab_recipients_offer(r, "west", certs.west.cert));
    ab_recipients_forget(r, "west");
    ab_recipients_forget(r, "west");
    assert_null(ab_recipients_id(r, "west"));
}

/* Write a file that is there already. */
static void rewrite(const char *path, const char *text)
{
    assert_int_equal(ab_file_replace(path, ab_str_of(text), NULL), AB_ERR_OK);
}

static void count(void *arg, const char *agent)
{
    int *times = arg;
    assert_string_equal(agent, "west");
    ++*times;
}

static int renewed(void)
{
    int times = 0;
    ab_recipients_reload(r, count, &times);
    return times;
}

static void a_given_file_that_changes_is_read_again(void **state)
{
    (void)state;
    char path[] = "/tmp/argobus-recipients-XXXXXX";
    write_file(path, certs.west.cert);
    assert_int_equal(ab_recipients_configure(r, "west", path, NULL), AB_ERR_OK);
    assert_int_equal(renewed(), 0);
    rewrite(path, "nonsense");
    assert_int_equal(renewed(), 0);
    assert_true(opens("west", &certs.west));
    rewrite(path, certs.stranger.cert);
    assert_int_equal(renewed(), 1);
    assert_true(opens("west", &certs.stranger));
    assert_int_equal(renewed(), 0);
    unlink(path);
    assert_int_equal(renewed(), 0);
    assert_true(opens("west", &certs.stranger));
}

static void what_an_agent_told_is_judged_again_by_other_authorities(void **state)
{
    (void)state;
    assert_false(ab_recipients_offer(r, "west", certs.stranger.cert));
    assert_null(ab_recipients_id(r, "west"));
    assert_int_equal(renewed(), 0);
    rewrite(ca_path, certs.other_ca.cert);
    assert_int_equal(renewed(), 1);
    assert_true(opens("west", &certs.stranger));
    assert_int_equal(renewed(), 0);
}

static void nothing_is_sealed_to_one_of_an_authority_that_is_trusted_no_more(void **state)
{
    (void)state;
    char id[80], both[16384];
    assert_true(ab_recipients_offer(r, "west", certs.west.cert));
    snprintf(id, sizeof(id), "%s", ab_recipients_id(r, "west"));
    snprintf(both, sizeof(both), "%s%s", certs.ca.cert, certs.other_ca.cert);
    rewrite(ca_path, both);
    assert_int_equal(renewed(), 0);
    assert_true(opens("west", &certs.west));
    rewrite(ca_path, ""); /* as a file that is just being written */
    assert_int_equal(renewed(), 0);
    assert_true(opens("west", &certs.west));
    rewrite(ca_path, certs.other_ca.cert);
    assert_int_equal(renewed(), 1);
    assert_null(ab_recipients_id(r, "west"));
    assert_false(opens("west", &certs.west));
    assert_true(logged("the agent's certificate is gone", "agent=west", id));
    assert_true(ab_recipients_offer(r, "west", certs.stranger.cert));
    assert_true(opens("west", &certs.stranger));
}

enum { MANY = 50, JUDGED_MAX = 20 };

static const char *name_of(size_t n)
{
    static char name[16];
    snprintf(name, sizeof(name), "agent-%zu", n);
    return name;
}

static void count_any(void *arg, const char *agent)
{
    size_t *times = arg;
    (void)agent;
    ++*times;
}

static void of_many_agents_some_are_judged_again_and_the_others_when_they_are_used(void **state)
{
    (void)state;
    size_t times = 0;
    for (size_t i = 0; i < MANY; i++) {
        made_cert cert = make_cert(
            &(made_cert_spec){.type = "EC-P-256", .name = name_of(i), .issuer = &certs.ca});
        assert_true(ab_recipients_offer(r, name_of(i), cert.cert));
        made_cert_free(&cert);
    }
    rewrite(ca_path, certs.other_ca.cert);
    ab_recipients_reload(r, count_any, &times);
    assert_int_equal(times, JUDGED_MAX);
    assert_null(ab_recipients_id(r, name_of(MANY - 1)));
    assert_int_equal(count_logged("the agent's certificate is gone"), JUDGED_MAX + 1);
    ab_recipients_reload(r, count_any, &times);
    assert_int_equal(times, 2 * JUDGED_MAX);
    ab_recipients_forget(r, name_of(MANY - 2));
    ab_recipients_reload(r, count_any, &times);
    assert_int_equal(times, MANY - 1); /* also the one that was used meanwhile */
    ab_recipients_reload(r, count_any, &times);
    assert_int_equal(times, MANY - 1);
}

static void the_name_is_read_by_the_rule_of_logins(void **state)
{
    (void)state;
    assert_false(ab_recipients_offer(r, "west", certs.west.cert));
    assert_true(ab_recipients_offer(r, "west", certs.spiffe.cert));
    assert_false(ab_recipients_offer(r, "east", certs.spiffe.cert));
}

/* The fingerprint as the recipients have it now. */
static void copy_id(char out[80])
{
    snprintf(out, 80, "%s", ab_recipients_id(r, "west"));
}

static void another_certificate_is_logged_with_both_fingerprints(void **state)
{
    (void)state;
    char first[80], second[80];
    assert_true(ab_recipients_offer(r, "west", certs.west.cert));
    copy_id(first);
    assert_true(logged("sealing Secrets to the agent's certificate", "agent=west", first));
    assert_true(ab_recipients_offer(r, "west", certs.next.cert));
    copy_id(second);
    assert_true(logged("sealing Secrets to another certificate", first, second));
    assert_int_equal(give("west", certs.stranger.cert), AB_ERR_OK);
    copy_id(first);
    assert_true(logged("sealing Secrets to another certificate", second, first));
}

/* The list has this one and no other. */
static void revoke_only(const char *id)
{
    char text[200];
    snprintf(text, sizeof(text), "%s\n", id);
    rewrite(revoked_path, text);
}

static void nothing_is_sealed_to_a_revoked_certificate(void **state)
{
    (void)state;
    char id[80];
    assert_true(ab_recipients_offer(r, "west", certs.west.cert));
    copy_id(id);
    revoke_only(id);
    assert_int_equal(renewed(), 1);
    assert_null(ab_recipients_id(r, "west"));
    assert_false(opens("west", &certs.west));
    assert_true(logged("revoked", "agent=west", id));
    assert_int_equal(renewed(), 0);
    assert_false(ab_recipients_offer(r, "west", certs.west.cert));
    assert_null(ab_recipients_id(r, "west"));
    assert_true(ab_recipients_offer(r, "west", certs.next.cert));
    assert_true(opens("west", &certs.next));
}

static void one_that_is_revoked_no_more_is_used_again(void **state)
{
    (void)state;
    char id[80];
    assert_true(ab_recipients_offer(r, "west", certs.west.cert));
    copy_id(id);
    revoke_only(id);
    assert_int_equal(renewed(), 1);
    rewrite(revoked_path, "nonsense\n");
    assert_int_equal(renewed(), 0);
    assert_null(ab_recipients_id(r, "west"));
    rewrite(revoked_path, "# nobody again\n");
    assert_int_equal(renewed(), 1);
    assert_true(opens("west", &certs.west));
}

static void what_the_blocklist_names_is_revoked_too(void **state)
{
    (void)state;
    char id[80];
    int times = 0;
    ab_revoked blocked = {0};
    assert_true(ab_recipients_offer(r, "west", certs.west.cert));
    copy_id(id);
    assert_int_equal(ab_revoked_parse(ab_str_of(id), &blocked, NULL), AB_ERR_OK);
    ab_recipients_block(r, &blocked, count, &times);
    assert_int_equal(times, 1);
    assert_null(ab_recipients_id(r, "west"));
    assert_true(logged("revoked", "agent=west", id));
    assert_false(ab_recipients_offer(r, "west", certs.west.cert));
    assert_null(ab_recipients_id(r, "west"));
    ab_revoked_fini(&blocked);
    ab_recipients_block(r, &blocked, count, &times);
    assert_int_equal(times, 2);
    assert_true(opens("west", &certs.west));
}

/* What the agent tells does not take the place of the one that the operator gave. */
static void a_given_certificate_may_be_revoked_too(void **state)
{
    (void)state;
    char path[] = "/tmp/argobus-recipients-XXXXXX";
    char id[80];
    write_file(path, certs.west.cert);
    assert_int_equal(ab_recipients_configure(r, "west", path, NULL), AB_ERR_OK);
    copy_id(id);
    revoke_only(id);
    assert_int_equal(renewed(), 1);
    assert_null(ab_recipients_id(r, "west"));
    assert_false(ab_recipients_offer(r, "west", certs.next.cert));
    assert_null(ab_recipients_id(r, "west"));
    assert_int_equal(ab_recipients_configure(r, "west", path, NULL), AB_ERR_OK);
    assert_null(ab_recipients_id(r, "west"));
    rewrite(revoked_path, "# nobody again\n");
    assert_int_equal(renewed(), 1);
    assert_true(opens("west", &certs.west));
    unlink(path);
}

static void a_given_certificate_is_revoked_also_when_its_file_is_gone(void **state)
{
    (void)state;
    char path[] = "/tmp/argobus-recipients-XXXXXX";
    char id[80];
    write_file(path, certs.west.cert);
    assert_int_equal(ab_recipients_configure(r, "west", path, NULL), AB_ERR_OK);
    copy_id(id);
    unlink(path);
    revoke_only(id);
    assert_int_equal(renewed(), 1);
    assert_null(ab_recipients_id(r, "west"));
}

static void of_many_given_files_each_is_looked_at_in_its_turn(void **state)
{
    (void)state;
    char path[250][40];
    const size_t seen[] = {100, 200, 250, 250};
    for (size_t i = 0; i < 250; i++) {
        char agent[16];
        snprintf(path[i], sizeof(path[i]), "/tmp/argobus-recipients-XXXXXX");
        write_file(path[i], certs.west.cert);
        snprintf(agent, sizeof(agent), "agent-%zu", i);
        assert_int_equal(ab_recipients_configure(r, agent, path[i], NULL), AB_ERR_OK);
    }
    for (size_t i = 0; i < 250; i++)
        (void)unlink(path[i]);
    for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
        assert_int_equal(renewed(), 0);
        assert_int_equal(count_logged("cannot load the new certificate"), seen[i]);
    }
}

/* Two certificates that are not trusted, in turns. */
static void tell_strangers(size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_false(
            ab_recipients_offer(r, "west", (i % 2 == 0 ? certs.stranger : certs.east).cert));
}

static void of_certificates_that_an_agent_tells_in_turns_ten_a_minute_are_checked(void **state)
{
    (void)state;
    tell_strangers(40);
    assert_int_equal(count_logged("is not trusted"), 10);
    assert_true(ab_recipients_offer(r, "east", certs.east.cert)); /* another agent's minute */
    assert_int_equal(renewed(), 0);
    assert_int_equal(count_logged("is not trusted"), 10);
    now_ms += 60000;
    tell_strangers(1);
    assert_int_equal(count_logged("held_back=30"), 1);
    assert_int_equal(renewed(), 0);
    assert_int_equal(count_logged("is not trusted"), 11); /* nothing waits any more */
}

/* Also when they are good: each costs all Secrets of the agent. */
static void the_certificate_that_an_agent_told_last_is_checked_when_the_minute_is_over(void **state)
{
    (void)state;
    assert_true(ab_recipients_offer(r, "west", certs.west.cert));
    tell_strangers(39);
    assert_false(ab_recipients_offer(r, "west", certs.next.cert));
    assert_true(opens("west", &certs.west));
    now_ms += 59999;
    assert_int_equal(renewed(), 0);
    now_ms += 1;
    assert_int_equal(renewed(), 1);
    assert_true(opens("west", &certs.next));
    assert_int_equal(renewed(), 0);
    tell_strangers(1);
    assert_int_equal(count_logged("held_back=30"), 1); /* without the one that was checked */
}

static void an_agent_that_is_forgotten_waits_for_no_check(void **state)
{
    (void)state;
    tell_strangers(40);
    ab_recipients_forget(r, "west");
    now_ms += 60000;
    assert_int_equal(renewed(), 0);
    assert_int_equal(count_logged("is not trusted"), 10);
}

#define TEST(f)     cmocka_unit_test_setup_teardown(f, with_ca, teardown)
#define ORPHANED(f) cmocka_unit_test_setup_teardown(f, without_ca, teardown)

/* When west's certificate expires as shown, seconds from now. */
static double expires_in_s(void)
{
    const ab_label label = {"agent", AB_STR("west")};
    double at_s = ab_metric_value(
        ab_metric_get(metrics, AB_METRIC_GAUGE,
                      "argobus_agent_certificate_expiry_timestamp_seconds", "", &label, 1));
    return at_s - (double)ab_clock_wall_us(&ab_clock_real) / 1e6;
}

static void it_shows_when_the_certificate_in_use_expires(void **state)
{
    (void)state;
    made_cert later = make_cert(&(made_cert_spec){.type = "EC-P-256",
                                                  .name = "west",
                                                  .issuer = &certs.ca,
                                                  .from_s = -3600,
                                                  .until_s = 86400});
    assert_true(ab_recipients_offer(r, "west", certs.west.cert));
    assert_true(expires_in_s() > 3000 && expires_in_s() < 3601);
    assert_true(ab_recipients_offer(r, "west", later.cert));
    assert_true(expires_in_s() > 86000 && expires_in_s() < 86401);
    assert_false(ab_recipients_offer(r, "west", certs.stranger.cert));
    assert_true(expires_in_s() > 86000);
    made_cert_free(&later);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(of_many_given_files_each_is_looked_at_in_its_turn),
        TEST(of_certificates_that_an_agent_tells_in_turns_ten_a_minute_are_checked),
        TEST(the_certificate_that_an_agent_told_last_is_checked_when_the_minute_is_over),
        TEST(an_agent_that_is_forgotten_waits_for_no_check),
        cmocka_unit_test_setup_teardown(the_name_is_read_by_the_rule_of_logins, with_own_rule,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_name_is_read_by_the_rule_of_logins, with_rule_of_logins,
                                        teardown),
        TEST(another_certificate_is_logged_with_both_fingerprints),
        cmocka_unit_test_setup_teardown(nothing_is_sealed_to_a_revoked_certificate, with_revoked,
                                        teardown),
        cmocka_unit_test_setup_teardown(nothing_is_sealed_to_a_revoked_certificate,
                                        with_revoked_logins, teardown),
        cmocka_unit_test_setup_teardown(one_that_is_revoked_no_more_is_used_again, with_revoked,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_given_certificate_is_revoked_also_when_its_file_is_gone,
                                        with_revoked, teardown),
        cmocka_unit_test_setup_teardown(a_given_certificate_may_be_revoked_too, with_revoked,
                                        teardown),
        TEST(what_the_blocklist_names_is_revoked_too),
        TEST(it_shows_when_the_certificate_in_use_expires),
        TEST(nothing_is_sealed_to_an_unknown_agent),
        TEST(a_certificate_that_the_agent_tells_is_used),
        TEST(one_of_another_agent_or_authority_is_not_used),
        ORPHANED(without_an_authority_nothing_that_is_told_is_used),
        TEST(one_that_is_given_is_used_whatever_the_agent_tells),
        TEST(a_file_that_is_none_changes_nothing),
        TEST(an_agent_that_goes_is_forgotten),
        TEST(a_given_file_that_changes_is_read_again),
        TEST(what_an_agent_told_is_judged_again_by_other_authorities),
        TEST(nothing_is_sealed_to_one_of_an_authority_that_is_trusted_no_more),
        TEST(of_many_agents_some_are_judged_again_and_the_others_when_they_are_used),
    };
    return cmocka_run_group_tests(tests, make_certs, free_certs);
}
