/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/recipients.h"

#include "tests/unit/base/made_cert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct {
    made_cert ca, other_ca, west, east, stranger;
} certs;

static ab_recipients *r;

static int make_certs(void **state)
{
    (void)state;
    certs.ca = make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "ca", .ca = true});
    certs.other_ca = make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "other", .ca = true});
    certs.west =
        make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "west", .issuer = &certs.ca});
    certs.east =
        make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "east", .issuer = &certs.ca});
    certs.stranger =
        make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "west", .issuer = &certs.other_ca});
    return 0;
}

static int free_certs(void **state)
{
    (void)state;
    made_cert *all[] = {&certs.ca, &certs.other_ca, &certs.west, &certs.east, &certs.stranger};
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

/* Recipients whose secrets.ca is this file; NULL: unset. */
static void make(const char *ca)
{
    static const ab_option rows[] = {
        {.name = "transport", .kind = AB_OPT_STRING, .deflt = "kafka", .help = "."},
        {.name = "secrets.ca", .kind = AB_OPT_FILE, .help = "."},
        {.name = "kafka.tls.ca", .kind = AB_OPT_FILE, .help = "."},
    };
    char set[100];
    const ab_options table = {rows, 3};
    const char *sets[] = {set};
    snprintf(set, sizeof(set), "secrets.ca=%s", ca == NULL ? "" : ca);
    const ab_config_sources sources = {.set = sets, .set_count = 1};
    ab_config *config = NULL;
    ab_error err = {0};
    if (ab_config_load(&table, 1, &sources, &config, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
    assert_int_equal(ab_recipients_new(config, NULL, &r, &err), AB_ERR_OK);
    ab_config_free(config);
}

static char ca_path[64];

static int with_ca(void **state)
{
    (void)state;
    snprintf(ca_path, sizeof(ca_path), "/tmp/argobus-recipients-XXXXXX");
    write_file(ca_path, certs.ca.cert);
    make(ca_path);
    return 0;
}

static int without_ca(void **state)
{
    (void)state;
    make(NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ab_recipients_free(r);
    (void)unlink(ca_path);
    return 0;
}

static ab_err give(const char *agent, const char *pem)
{
    char path[] = "/tmp/argobus-recipients-XXXXXX";
    ab_error err = {0};
    write_file(path, pem);
    ab_err e = ab_recipients_give(r, agent, path, &err);
    unlink(path);
    return e;
}

/* Seal for `agent` and open with this certificate. */
static bool opens(const char *agent, const made_cert *m)
{
    ab_buf sealed, opened;
    ab_error err = {0};
    ab_seal_opener *opener = NULL;
    const ab_seal_binding binding = {ab_str_of(agent), AB_STR("k"), AB_STR("1.1")};
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
    assert_true(ab_recipients_tell(r, "west", certs.west.cert));
    assert_non_null(ab_recipients_id(r, "west"));
    assert_true(opens("west", &certs.west));
    assert_false(ab_recipients_tell(r, "west", certs.west.cert));
    assert_false(ab_recipients_tell(r, "west", ""));
    assert_true(opens("west", &certs.west));
}

static void one_of_another_agent_or_authority_is_not_used(void **state)
{
    (void)state;
    assert_false(ab_recipients_tell(r, "west", certs.east.cert));
    assert_false(ab_recipients_tell(r, "west", certs.stranger.cert));
    assert_false(ab_recipients_tell(r, "west", "nonsense"));
    assert_null(ab_recipients_id(r, "west"));
    assert_true(ab_recipients_tell(r, "west", certs.west.cert));
    assert_false(ab_recipients_tell(r, "west", certs.stranger.cert));
    assert_true(opens("west", &certs.west));
}

static void without_an_authority_nothing_that_is_told_is_used(void **state)
{
    (void)state;
    assert_false(ab_recipients_tell(r, "west", certs.west.cert));
    assert_null(ab_recipients_id(r, "west"));
}

static void one_that_is_given_is_used_whatever_the_agent_tells(void **state)
{
    (void)state;
    assert_int_equal(give("west", certs.stranger.cert), AB_ERR_OK);
    assert_true(opens("west", &certs.stranger));
    assert_false(ab_recipients_tell(r, "west", certs.west.cert));
    assert_true(opens("west", &certs.stranger));
    assert_int_equal(ab_recipients_give(r, "west", NULL, NULL), AB_ERR_OK);
    assert_true(opens("west", &certs.west));
}

static void a_file_that_is_none_changes_nothing(void **state)
{
    (void)state;
    ab_error err = {0};
    assert_int_equal(give("west", certs.west.cert), AB_ERR_OK);
    assert_int_not_equal(give("west", "nonsense"), AB_ERR_OK);
    assert_int_equal(ab_recipients_give(r, "west", "/nowhere/x", &err), AB_ERR_CONFIG);
    assert_non_null(strstr(err.text, "west"));
    assert_true(opens("west", &certs.west));
}

static void an_agent_that_goes_is_forgotten(void **state)
{
    (void)state;
    assert_true(ab_recipients_tell(r, "west", certs.west.cert));
    ab_recipients_forget(r, "west");
    ab_recipients_forget(r, "west");
    assert_null(ab_recipients_id(r, "west"));
}

/* Write a file that is there already. */
static void rewrite(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
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
    ab_recipients_renew(r, count, &times);
    return times;
}

static void a_given_file_that_changes_is_read_again(void **state)
{
    (void)state;
    char path[] = "/tmp/argobus-recipients-XXXXXX";
    write_file(path, certs.west.cert);
    assert_int_equal(ab_recipients_give(r, "west", path, NULL), AB_ERR_OK);
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
    assert_false(ab_recipients_tell(r, "west", certs.stranger.cert));
    assert_null(ab_recipients_id(r, "west"));
    assert_int_equal(renewed(), 0);
    rewrite(ca_path, certs.other_ca.cert);
    assert_int_equal(renewed(), 1);
    assert_true(opens("west", &certs.stranger));
    assert_int_equal(renewed(), 0);
}

#define TEST(f)     cmocka_unit_test_setup_teardown(f, with_ca, teardown)
#define ORPHANED(f) cmocka_unit_test_setup_teardown(f, without_ca, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_sealed_to_an_unknown_agent),
        TEST(a_certificate_that_the_agent_tells_is_used),
        TEST(one_of_another_agent_or_authority_is_not_used),
        ORPHANED(without_an_authority_nothing_that_is_told_is_used),
        TEST(one_that_is_given_is_used_whatever_the_agent_tells),
        TEST(a_file_that_is_none_changes_nothing),
        TEST(an_agent_that_goes_is_forgotten),
        TEST(a_given_file_that_changes_is_read_again),
        TEST(what_an_agent_told_is_judged_again_by_other_authorities),
    };
    return cmocka_run_group_tests(tests, make_certs, free_certs);
}
