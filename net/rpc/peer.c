/* SPDX-License-Identifier: Apache-2.0
 *
 * The peer's address as text. An IPv4 address that comes mapped into IPv6 reads as IPv4, so that a
 * host has one name however the socket listens.
 */
#include "net/rpc/rpc_priv.h"

#include <arpa/inet.h>
#include <stdio.h>

static void set_ipv4(ab_rpc_peer *peer, const struct in_addr *a, char text[AB_RPC_ADDRESS_MAX])
{
    (void)inet_ntop(AF_INET, a, text, AB_RPC_ADDRESS_MAX);
    peer->loopback = ntohl(a->s_addr) >> 24 == IN_LOOPBACKNET;
}

static void set_ipv6(ab_rpc_peer *peer, const struct sockaddr_in6 *in,
                     char text[AB_RPC_ADDRESS_MAX])
{
    const struct in6_addr *a = &in->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(a)) {
        struct in_addr v4;
        memcpy(&v4, a->s6_addr + 12, sizeof(v4));
        set_ipv4(peer, &v4, text);
        return;
    }
    (void)inet_ntop(AF_INET6, a, text, AB_RPC_ADDRESS_MAX);
    peer->loopback = IN6_IS_ADDR_LOOPBACK(a);
    size_t len = strlen(text);
    if (in->sin6_scope_id != 0)
        snprintf(text + len, AB_RPC_ADDRESS_MAX - len, "%%%u", (unsigned)in->sin6_scope_id);
}

void ab_rpc_peer_network(const struct sockaddr *from, char text[AB_RPC_ADDRESS_MAX])
{
    ab_rpc_peer peer = {0};
    const struct sockaddr_in6 *in = (const void *)from;
    if (from->sa_family != AF_INET6 || IN6_IS_ADDR_V4MAPPED(&in->sin6_addr)) {
        ab_rpc_peer_set_address(&peer, from, text);
        return;
    }
    struct in6_addr network = in->sin6_addr;
    memset(network.s6_addr + 8, 0, 8);
    (void)inet_ntop(AF_INET6, &network, text, AB_RPC_ADDRESS_MAX);
}

void ab_rpc_peer_set_address(ab_rpc_peer *peer, const struct sockaddr *from,
                             char text[AB_RPC_ADDRESS_MAX])
{
    text[0] = '\0';
    if (from->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)from;
        peer->port = ntohs(in->sin_port);
        set_ipv4(peer, &in->sin_addr, text);
    } else if (from->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const void *)from;
        peer->port = ntohs(in->sin6_port);
        set_ipv6(peer, in, text);
    }
    peer->address = text;
}
