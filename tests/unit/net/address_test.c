/* SPDX-License-Identifier: Apache-2.0 */
#include "net/address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static void assert_parsed(const char *text, int default_port, const char *host, int port)
{
    ab_address a;
    assert_int_equal(ab_address_parse("x", text, default_port, &a, NULL), AB_ERR_OK);
    assert_string_equal(a.host, host);
    assert_int_equal(a.port, port);
}

static void assert_refused(const char *text, int default_port, const char *why)
{
    ab_address a;
    ab_error err = {0};
    assert_int_equal(ab_address_parse("x.y", text, default_port, &a, &err), AB_ERR_CONFIG);
    assert_non_null(strstr(err.text, why));
    assert_non_null(strstr(err.text, "x.y: "));
}

static void a_host_and_a_port_are_taken_apart(void **state)
{
    (void)state;
    assert_parsed("a.example:80", -1, "a.example", 80);
    assert_parsed(":65535", -1, "", 65535);
    assert_parsed("[::1]:443", -1, "::1", 443);
}

static void a_port_may_be_left_out_where_there_is_a_default(void **state)
{
    (void)state;
    assert_parsed("a", 443, "a", 443);
    assert_parsed("[::1]", 443, "::1", 443);
    assert_parsed("", 443, "", 443);
    assert_refused("a", -1, "expected host:port");
    assert_refused("[::1]", -1, "expected host:port");
}

static void what_is_no_port_and_too_long_is_refused(void **state)
{
    (void)state;
    char host[300];
    assert_refused("a:", 443, "is not a port");
    assert_refused("a:b", 443, "is not a port");
    assert_refused("a:65536", -1, "is not a port");
    memset(host, 'a', sizeof(host) - 1);
    host[sizeof(host) - 1] = '\0';
    assert_refused(host, 443, "the host is too long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_and_a_port_are_taken_apart),
        cmocka_unit_test(a_port_may_be_left_out_where_there_is_a_default),
        cmocka_unit_test(what_is_no_port_and_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
