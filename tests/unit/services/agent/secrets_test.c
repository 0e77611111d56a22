/* SPDX-License-Identifier: Apache-2.0 */
#include "services/agent/secrets.h"

#include "services/agent/agent.h"
#include "tests/unit/base/crypto/made_cert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct {
    char folder[64];
    made_cert mine, other;
    FILE *log_file;
    ab_clock clock;
    ab_log *log;
    ab_config *config; /* NULL: not loaded */
    ab_agent_secrets secrets;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    snprintf(f->folder, sizeof(f->folder), "/tmp/argobus-secrets-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    f->mine = make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "w1"});
    f->other = make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "w2"});
    write_pem(f->folder, "mine.crt", f->mine.cert);
    write_pem(f->folder, "mine.key", f->mine.key);
    write_pem(f->folder, "other.crt", f->other.cert);
    f->log_file = tmpfile();
    assert_non_null(f->log_file);
    f->clock = ab_clock_real;
    assert_int_equal(ab_log_new(fileno(f->log_file), "info", AB_LOG_TEXT, &f->clock, &f->log, NULL),
                     AB_ERR_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"mine.crt", "mine.key", "other.crt"};
    fixture *f = *state;
    char path[128];
    ab_agent_secrets_free(&f->secrets);
    ab_config_free(f->config);
    ab_log_free(f->log);
    fclose(f->log_file);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s/%s", f->folder, names[i]);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(f->folder), 0);
    made_cert_free(&f->mine);
    made_cert_free(&f->other);
    free(f);
    return 0;
}

/* Loads with these two options set to files of the folder; NULL names are not set. */
static ab_err load(fixture *f, const char *cert_option, const char *cert, const char *key_option,
                   const char *key, ab_error *err)
{
    char text[2][192];
    const char *set[2];
    size_t count = 0;
    ab_options tables[AB_SERVICE_OPTIONS_MAX];
    const char *const options[] = {cert_option, key_option};
    const char *const files[] = {cert, key};
    for (size_t i = 0; i < 2; i++) {
        if (files[i] == NULL)
            continue;
        snprintf(text[count], sizeof(text[count]), "%s=%s/%s", options[i], f->folder, files[i]);
        set[count] = text[count];
        count++;
    }
    const ab_config_sources sources = {.set = set, .set_count = count};
    ab_agent_secrets_free(&f->secrets);
    ab_config_free(f->config);
    assert_int_equal(ab_config_load(tables, ab_agent_options(tables), &sources, &f->config, err),
                     AB_ERR_OK);
    return ab_agent_secrets_load(f->config, f->log, &f->secrets, err);
}

static bool warned(fixture *f)
{
    char text[4096];
    rewind(f->log_file);
    size_t n = fread(text, 1, sizeof(text) - 1, f->log_file);
    text[n] = '\0';
    return strstr(text, "cannot receive repository credentials") != NULL;
}

static void assert_opens_what_is_sealed_to(fixture *f, const char *certificate)
{
    ab_seal_recipient *to;
    ab_buf sealed, opened;
    const ab_seal_binding binding = {AB_STR("w1"), AB_STR("Secret/argocd/r"), AB_STR("1.2"),
                                     AB_STR("c0ffee")};
    ab_buf_init(&sealed, 1 << 20);
    ab_buf_init(&opened, 1 << 20);
    assert_int_equal(
        ab_seal_recipient_new(ab_str_of(certificate), AB_STR_NONE, NULL, "w1", &to, NULL),
        AB_ERR_OK);
    assert_int_equal(ab_seal(to, &binding, AB_STR("{}"), &sealed, NULL), AB_ERR_OK);
    assert_int_equal(
        ab_agent_secrets_open(&f->secrets, &binding, ab_buf_str(&sealed), &opened, NULL),
        AB_ERR_OK);
    assert_true(ab_str_is(ab_buf_str(&opened), "{}"));
    ab_seal_recipient_free(to);
    ab_buf_fini(&sealed);
    ab_buf_fini(&opened);
}

static void what_is_sealed_to_the_certificate_opens(void **state)
{
    fixture *f = *state;
    ab_error err = {0};
    assert_int_equal(load(f, "secrets.certificate", "mine.crt", "secrets.key", "mine.key", &err),
                     AB_ERR_OK);
    assert_string_equal(f->secrets.certificate, f->mine.cert);
    assert_opens_what_is_sealed_to(f, f->mine.cert);
    assert_false(warned(f));
}

static void the_connections_certificate_serves_too(void **state)
{
    fixture *f = *state;
    ab_error err = {0};
    assert_int_equal(load(f, "kafka.tls.cert", "mine.crt", "kafka.tls.key", "mine.key", &err),
                     AB_ERR_OK);
    assert_opens_what_is_sealed_to(f, f->mine.cert);
}

static void a_key_in_the_file_of_the_certificate_is_not_told(void **state)
{
    fixture *f = *state;
    ab_error err = {0};
    char both[8192];
    snprintf(both, sizeof(both), "a comment\n%s%s", f->mine.key, f->mine.cert);
    write_pem(f->folder, "mine.crt", both);
    assert_int_equal(load(f, "kafka.tls.cert", "mine.crt", "kafka.tls.key", "mine.crt", &err),
                     AB_ERR_OK);
    assert_string_equal(f->secrets.certificate, f->mine.cert);
    assert_opens_what_is_sealed_to(f, f->secrets.certificate);
    snprintf(both, sizeof(both), "%s%s", f->other.cert, f->other.key);
    write_pem(f->folder, "mine.crt", both);
    assert_true(ab_agent_secrets_renew(&f->secrets, f->log));
    assert_string_equal(f->secrets.certificate, f->other.cert);
}

static void without_a_certificate_there_is_a_warning(void **state)
{
    fixture *f = *state;
    ab_error err = {0};
    assert_int_equal(load(f, "", NULL, "", NULL, &err), AB_ERR_OK);
    assert_null(f->secrets.opener);
    assert_null(f->secrets.certificate);
    assert_true(warned(f));
}

static void a_certificate_of_its_own_that_cannot_be_used_is_an_error(void **state)
{
    fixture *f = *state;
    ab_error err = {0};
    assert_int_equal(load(f, "secrets.certificate", "other.crt", "secrets.key", "mine.key", &err),
                     AB_ERR_CONFIG);
    assert_non_null(strstr(err.text, "secrets.certificate"));
    assert_int_equal(load(f, "secrets.certificate", "mine.crt", "", NULL, &err), AB_ERR_CONFIG);
    assert_non_null(strstr(err.text, "must be set together"));
    assert_null(f->secrets.opener);
}

static void the_connections_certificate_that_cannot_be_used_is_a_warning(void **state)
{
    fixture *f = *state;
    ab_error err = {0};
    assert_int_equal(load(f, "kafka.tls.cert", "other.crt", "kafka.tls.key", "mine.key", &err),
                     AB_ERR_OK);
    assert_null(f->secrets.opener);
    assert_null(f->secrets.certificate);
    assert_true(warned(f));
}

static void files_that_change_are_read_again_and_what_was_sealed_before_still_opens(void **state)
{
    fixture *f = *state;
    ab_error err = {0};
    assert_int_equal(load(f, "secrets.certificate", "mine.crt", "secrets.key", "mine.key", &err),
                     AB_ERR_OK);
    assert_false(ab_agent_secrets_renew(&f->secrets, f->log));
    write_pem(f->folder, "mine.crt", f->other.cert);
    assert_false(ab_agent_secrets_renew(&f->secrets, f->log)); /* its key is not there yet */
    assert_opens_what_is_sealed_to(f, f->mine.cert);
    write_pem(f->folder, "mine.key", f->other.key);
    assert_true(ab_agent_secrets_renew(&f->secrets, f->log));
    assert_string_equal(f->secrets.certificate, f->other.cert);
    assert_opens_what_is_sealed_to(f, f->other.cert);
    assert_opens_what_is_sealed_to(f, f->mine.cert);
    assert_false(ab_agent_secrets_renew(&f->secrets, f->log));
}

static void a_file_written_again_is_no_other_certificate(void **state)
{
    fixture *f = *state;
    ab_error err = {0};
    assert_int_equal(load(f, "secrets.certificate", "mine.crt", "secrets.key", "mine.key", &err),
                     AB_ERR_OK);
    write_pem(f->folder, "mine.crt", f->mine.cert);
    assert_false(ab_agent_secrets_renew(&f->secrets, f->log));
    assert_opens_what_is_sealed_to(f, f->mine.cert);
}

static void a_connections_certificate_that_becomes_usable_is_used(void **state)
{
    fixture *f = *state;
    ab_error err = {0};
    assert_int_equal(load(f, "kafka.tls.cert", "other.crt", "kafka.tls.key", "mine.key", &err),
                     AB_ERR_OK);
    write_pem(f->folder, "other.crt", f->mine.cert);
    assert_true(ab_agent_secrets_renew(&f->secrets, f->log));
    assert_opens_what_is_sealed_to(f, f->mine.cert);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_is_sealed_to_the_certificate_opens),
        CASE(the_connections_certificate_serves_too),
        CASE(a_key_in_the_file_of_the_certificate_is_not_told),
        CASE(without_a_certificate_there_is_a_warning),
        CASE(a_certificate_of_its_own_that_cannot_be_used_is_an_error),
        CASE(the_connections_certificate_that_cannot_be_used_is_a_warning),
        CASE(files_that_change_are_read_again_and_what_was_sealed_before_still_opens),
        CASE(a_file_written_again_is_no_other_certificate),
        CASE(a_connections_certificate_that_becomes_usable_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
