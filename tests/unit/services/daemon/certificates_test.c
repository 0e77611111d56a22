/* SPDX-License-Identifier: Apache-2.0 */
#include "services/daemon/certificates.h"

#include "base/core/clock.h"
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

#define HOUR 3600

static const ab_option rows[] = {
    {.name = "x.tls.ca", .kind = AB_OPT_FILE, .help = "."},
    {.name = "x.tls.cert", .kind = AB_OPT_FILE, .help = "."},
    {.name = "x.tls.key", .kind = AB_OPT_FILE, .help = "."},
    {.name = "y.certificate", .kind = AB_OPT_FILE, .help = "."},
};

static struct {
    char folder[64];
    char path[100];
    ab_config *config;
    ab_metrics *metrics;
    ab_certificates *certificates;
} t;

static int setup(void **state)
{
    (void)state;
    snprintf(t.folder, sizeof(t.folder), "/tmp/argobus-certificates-XXXXXX");
    assert_non_null(mkdtemp(t.folder));
    snprintf(t.path, sizeof(t.path), "%s/pem", t.folder);
    t.metrics = ab_metrics_new();
    assert_non_null(t.metrics);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ab_certificates_free(t.certificates);
    ab_metrics_free(t.metrics);
    ab_config_free(t.config);
    (void)unlink(t.path);
    (void)rmdir(t.folder);
    memset(&t, 0, sizeof(t));
    return 0;
}

static void write_file(const char *text)
{
    ab_error err = {0};
    if (ab_file_replace(t.path, ab_str_of(text), &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
}

static char *make_text(int64_t until_s)
{
    made_cert made = make_cert(
        &(made_cert_spec){.type = "EC-P-256", .name = "w1", .from_s = -HOUR, .until_s = until_s});
    char *text = strdup(made.cert);
    made_cert_free(&made);
    assert_non_null(text);
    return text;
}

/* A file with two certificates. */
static void write_pair(int64_t first_s, int64_t second_s)
{
    char both[8192];
    char *first = make_text(first_s), *second = make_text(second_s);
    snprintf(both, sizeof(both), "%s%s", first, second);
    write_file(both);
    free(first);
    free(second);
}

static void write_one(int64_t until_s)
{
    char *text = make_text(until_s);
    write_file(text);
    free(text);
}

/* The file is that of this option. */
static void begin(const char *option)
{
    char setting[200];
    const char *const set = setting;
    const ab_options table = {rows, sizeof(rows) / sizeof(rows[0])};
    const ab_config_sources sources = {.set = &set, .set_count = 1};
    ab_error err = {0};
    snprintf(setting, sizeof(setting), "%s=%s", option, t.path);
    if (ab_config_load(&table, 1, &sources, &t.config, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
    assert_int_equal(ab_certificates_new(&table, 1, t.config, t.metrics, &t.certificates),
                     AB_ERR_OK);
}

/* How many hours from now the certificate of this option expires, as a scrape shows it; -1: it
 * shows none. */
static int shown_hours(const char *option)
{
    char series[200];
    ab_buf page;
    ab_buf_init(&page, 64 * 1024);
    (void)ab_metrics_render(t.metrics, &(ab_rendering){0}, &page, SIZE_MAX);
    ab_buf_putc(&page, '\0');
    snprintf(series, sizeof(series),
             "\nargobus_certificate_expiry_timestamp_seconds{option=\"%s\"} ", option);
    const char *at = strstr(page.ptr, series);
    double now_s = (double)ab_clock_wall_us(&ab_clock_real) / 1e6;
    double hours = at == NULL ? -1 : (strtod(at + strlen(series), NULL) - now_s) / HOUR;
    ab_buf_fini(&page);
    return at == NULL ? -1 : (int)(hours + 0.5);
}

static void it_shows_the_end_of_validity(void **state)
{
    (void)state;
    write_one(48 * HOUR);
    begin("y.certificate");
    assert_int_equal(shown_hours("y.certificate"), 48);
}

static void an_option_that_is_not_set_shows_nothing(void **state)
{
    (void)state;
    write_one(48 * HOUR);
    begin("x.tls.cert");
    assert_int_equal(shown_hours("x.tls.cert"), 48);
    assert_int_equal(shown_hours("x.tls.ca"), -1);
}

static void a_key_is_no_certificate(void **state)
{
    (void)state;
    write_one(48 * HOUR);
    begin("x.tls.key");
    assert_int_equal(shown_hours("x.tls.key"), -1);
}

static void of_a_chain_the_first_to_expire_counts(void **state)
{
    (void)state;
    write_pair(48 * HOUR, 24 * HOUR);
    begin("x.tls.cert");
    assert_int_equal(shown_hours("x.tls.cert"), 24);
}

static void of_authorities_the_last_to_expire_counts(void **state)
{
    (void)state;
    write_pair(24 * HOUR, 48 * HOUR);
    begin("x.tls.ca");
    assert_int_equal(shown_hours("x.tls.ca"), 48);
}

static void a_file_that_changes_is_read_again(void **state)
{
    (void)state;
    write_one(24 * HOUR);
    begin("x.tls.cert");
    assert_int_equal(shown_hours("x.tls.cert"), 24);
    write_one(72 * HOUR);
    assert_int_equal(shown_hours("x.tls.cert"), 72);
}

static void what_cannot_be_read_changes_nothing(void **state)
{
    (void)state;
    write_one(24 * HOUR);
    begin("x.tls.cert");
    assert_int_equal(shown_hours("x.tls.cert"), 24);
    write_file("no certificate");
    assert_int_equal(shown_hours("x.tls.cert"), 24);
    assert_int_equal(unlink(t.path), 0);
    assert_int_equal(shown_hours("x.tls.cert"), 24);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(it_shows_the_end_of_validity),
        TEST(an_option_that_is_not_set_shows_nothing),
        TEST(a_key_is_no_certificate),
        TEST(of_a_chain_the_first_to_expire_counts),
        TEST(of_authorities_the_last_to_expire_counts),
        TEST(a_file_that_changes_is_read_again),
        TEST(what_cannot_be_read_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
