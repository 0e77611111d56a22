/* SPDX-License-Identifier: Apache-2.0
 *
 * The address of a socket, as the log and the limits on logins see it.
 */
#include "auth/limiter.h"
#include "net/rpc/rpc_priv.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct {
    ab_rpc_peer peer;
    char text[AB_RPC_ADDRESS_MAX];
    uint8_t key[AB_AUTH_HASH_BYTES];  /* of its logins */
    char network[AB_RPC_ADDRESS_MAX]; /* of its connections */
} seen;

static seen *describe(seen *s, const struct sockaddr *from)
{
    *s = (seen){0};
    ab_rpc_peer_set_address(&s->peer, from, s->text);
    ab_auth_limiter_key(s->peer.address, AB_STR_NONE, s->key);
    ab_rpc_peer_network(from, s->network);
    return s;
}

static seen *from_ipv6(seen *s, const char *address, uint32_t zone)
{
    struct sockaddr_in6 in = {
        .sin6_family = AF_INET6, .sin6_port = htons(4711), .sin6_scope_id = zone};
    assert_int_equal(inet_pton(AF_INET6, address, &in.sin6_addr), 1);
    return describe(s, (const struct sockaddr *)&in);
}

static seen *from_ipv4(seen *s, const char *address)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(4711)};
    assert_int_equal(inet_pton(AF_INET, address, &in.sin_addr), 1);
    return describe(s, (const struct sockaddr *)&in);
}

static void assert_seen(const seen *s, const char *address, bool loopback)
{
    assert_string_equal(s->peer.address, address);
    assert_int_equal(s->peer.port, 4711);
    assert_int_equal(s->peer.loopback, loopback);
}

static void assert_one(const seen *one, const seen *other)
{
    assert_memory_equal(one->key, other->key, sizeof(one->key));
    assert_string_equal(one->network, other->network);
}

static void assert_apart(const seen *one, const seen *other)
{
    assert_memory_not_equal(one->key, other->key, sizeof(one->key));
    assert_string_not_equal(one->network, other->network);
}

static void an_address_is_told_whole_and_without_its_port(void **state)
{
    (void)state;
    seen s;
    assert_seen(from_ipv4(&s, "192.0.2.7"), "192.0.2.7", false);
    assert_seen(from_ipv4(&s, "127.0.0.9"), "127.0.0.9", true);
    assert_seen(from_ipv6(&s, "::1", 0), "::1", true);
    assert_seen(from_ipv6(&s, "2001:db8:1:2:3:4:5:6", 0), "2001:db8:1:2:3:4:5:6", false);
    assert_seen(from_ipv6(&s, "fe80::1", 3), "fe80::1%3", false);
    assert_seen(from_ipv6(&s, "fe80:1111:2222:3333:4444:5555:6666:7777", UINT32_MAX),
                "fe80:1111:2222:3333:4444:5555:6666:7777%4294967295", false);
}

static void ipv4_mapped_into_ipv6_is_ipv4(void **state)
{
    (void)state;
    seen plain, mapped, other;
    assert_seen(from_ipv6(&mapped, "::ffff:192.0.2.7", 0), "192.0.2.7", false);
    from_ipv4(&plain, "192.0.2.7");
    assert_one(&plain, &mapped);
    assert_apart(&mapped, from_ipv6(&other, "::ffff:192.0.2.8", 0));
    assert_seen(from_ipv6(&mapped, "::ffff:127.0.0.1", 0), "127.0.0.1", true);
}

static void ipv6_is_limited_by_its_network_of_64_bits(void **state)
{
    (void)state;
    seen one, same, other;
    from_ipv6(&one, "2001:db8:0:1::1", 0);
    from_ipv6(&same, "2001:db8:0:1:ffff:ffff:ffff:ffff", 0);
    from_ipv6(&other, "2001:db8:0:2::1", 0);
    assert_one(&one, &same);
    assert_apart(&one, &other);
    from_ipv6(&one, "fe80::1", 3);
    from_ipv6(&same, "fe80::2", 3);
    assert_one(&one, &same);
}

static void ipv4_is_limited_by_its_address(void **state)
{
    (void)state;
    seen one, other;
    from_ipv4(&one, "192.0.2.7");
    from_ipv4(&other, "192.0.2.8");
    assert_apart(&one, &other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_told_whole_and_without_its_port),
        cmocka_unit_test(ipv4_mapped_into_ipv6_is_ipv4),
        cmocka_unit_test(ipv6_is_limited_by_its_network_of_64_bits),
        cmocka_unit_test(ipv4_is_limited_by_its_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
