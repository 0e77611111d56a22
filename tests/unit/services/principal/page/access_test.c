/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may look at the fleet page, and what of the options is refused.
 */
#include "services/principal/page/access.h"

#include "base/core/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static ab_page_access access_now;
static ab_error err;
static char file[] = "/tmp/argobus-page-XXXXXX";

/* Options with their values, NULL at the end; files are `file`. */
static ab_err read_access(const char *const *set, size_t count)
{
    ab_config *config = NULL;
    const ab_config_sources sources = {NULL, NULL, set, count};
    assert_int_equal(ab_config_load(&ab_page_options, 1, &sources, &config, &err), AB_ERR_OK);
    ab_err e = ab_page_access_read(config, &access_now, &err);
    ab_config_free(config);
    return e;
}

static const char *with_file(const char *option)
{
    static char text[8][96];
    static unsigned next;
    char *out = text[next++ % 8];
    snprintf(out, sizeof(text[0]), "%s=%s", option, file);
    return out;
}

static void listens_on_loopback_unless_told_otherwise(void **state)
{
    (void)state;
    const char *port_only[] = {"fleet.listen=:8090"};
    assert_int_equal(read_access(port_only, 1), AB_ERR_OK);
    assert_string_equal(access_now.at.host, "127.0.0.1");
    assert_int_equal(access_now.at.port, 8090);
    assert_true(access_now.open);
}

static void other_machines_need_tls_and_somebody_who_may_look(void **state)
{
    (void)state;
    const char *bare[] = {"fleet.listen=0.0.0.0:8090"};
    const char *tokens_in_clear[] = {"fleet.listen=10.0.0.1:8090", with_file("fleet.tokens")};
    const char *nobody[] = {"fleet.listen=fleet.example.com:8090", with_file("fleet.tls.cert"),
                            with_file("fleet.tls.key")};
    const char *good[] = {"fleet.listen=0.0.0.0:8090", with_file("fleet.tls.cert"),
                          with_file("fleet.tls.key"), with_file("fleet.tokens")};
    assert_int_equal(read_access(bare, 1), AB_ERR_CONFIG);
    assert_string_equal(err.text,
                        "fleet.listen: other machines reach 0.0.0.0: set fleet.tls.cert and "
                        "fleet.tls.key, and fleet.tokens or fleet.tls.ca; or listen on 127.0.0.1");
    assert_int_equal(read_access(tokens_in_clear, 2), AB_ERR_CONFIG);
    assert_int_equal(read_access(nobody, 3), AB_ERR_CONFIG);
    assert_int_equal(read_access(good, 4), AB_ERR_OK);
    assert_false(access_now.open);
}

static void a_star_is_all_addresses(void **state)
{
    (void)state;
    const char *bare[] = {"fleet.listen=*:8090"};
    const char *good[] = {"fleet.listen=*:8090", with_file("fleet.tls.cert"),
                          with_file("fleet.tls.key"), with_file("fleet.tokens")};
    assert_int_equal(read_access(bare, 1), AB_ERR_CONFIG);
    assert_int_equal(read_access(good, 4), AB_ERR_OK);
    assert_string_equal(access_now.at.host, "");
}

static void certificates_are_set_in_pairs_and_with_tls(void **state)
{
    (void)state;
    const char *half[] = {"fleet.listen=:8090", with_file("fleet.tls.cert")};
    const char *ca_only[] = {"fleet.listen=:8090", with_file("fleet.tls.ca")};
    assert_int_equal(read_access(half, 2), AB_ERR_CONFIG);
    assert_string_equal(err.text, "fleet.tls.cert and fleet.tls.key must be set together");
    assert_int_equal(read_access(ca_only, 2), AB_ERR_CONFIG);
    assert_string_equal(err.text,
                        "fleet.tls.ca needs fleet.tls.cert and fleet.tls.key: without TLS "
                        "nobody shows a certificate");
}

static int judge(const ab_page_access *access, ab_resource_identities *ids, const char *field,
                 const char *value)
{
    ab_http_head head = {.field_count = 1, .fields = {{ab_str_of(field), ab_str_of(value)}}};
    const ab_https_info info = {.head = &head, .common_name = ""};
    return ab_page_access_judge(access, ids, &info);
}

static void names_that_lead_elsewhere_are_refused_on_loopback(void **state)
{
    (void)state;
    const ab_page_access open = {.open = true};
    assert_int_equal(judge(&open, NULL, "host", "localhost:8090"), 200);
    assert_int_equal(judge(&open, NULL, "host", "127.0.0.1:8090"), 200);
    assert_int_equal(judge(&open, NULL, "host", "127.1.2.3"), 200);
    assert_int_equal(judge(&open, NULL, "host", "[::1]:8090"), 200);
    assert_int_equal(judge(&open, NULL, "host", "evil.example.com:8090"), 403);
    assert_int_equal(judge(&open, NULL, "host", "localhost.evil.example.com"), 403);
    assert_int_equal(judge(&open, NULL, "host", "128.0.0.1"), 403);
    assert_int_equal(judge(&open, NULL, "host", "[::2]:8090"), 403);
    assert_int_equal(judge(&open, NULL, "host", "[::1"), 403);
    assert_int_equal(judge(&open, NULL, "x-host", "localhost"), 403);
}

static void a_token_must_be_for_all_agents(void **state)
{
    (void)state;
    const ab_page_access closed = {.open = false};
    ab_resource_identities *ids = NULL;
    const ab_str tokens = AB_STR("all-of-them-0123456789 *\nonly-one-01234567890 w1\n");
    assert_int_equal(ab_file_replace(file, tokens, NULL), AB_ERR_OK);
    assert_int_equal(ab_resource_identities_new(file, &ab_clock_real, NULL, &ids, &err), AB_ERR_OK);
    assert_int_equal(judge(&closed, ids, "authorization", "Bearer all-of-them-0123456789"), 200);
    assert_int_equal(judge(&closed, ids, "authorization", "Bearer only-one-01234567890"), 401);
    assert_int_equal(judge(&closed, ids, "authorization", "Bearer nobody-0123456789"), 401);
    assert_int_equal(judge(&closed, ids, "host", "localhost"), 401);
    assert_int_equal(judge(&closed, NULL, "authorization", "Bearer all-of-them-0123456789"), 401);
    ab_resource_identities_free(ids);
}

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(file);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listens_on_loopback_unless_told_otherwise),
        cmocka_unit_test(other_machines_need_tls_and_somebody_who_may_look),
        cmocka_unit_test(a_star_is_all_addresses),
        cmocka_unit_test(certificates_are_set_in_pairs_and_with_tls),
        cmocka_unit_test(names_that_lead_elsewhere_are_refused_on_loopback),
        cmocka_unit_test(a_token_must_be_for_all_agents),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
