/* SPDX-License-Identifier: Apache-2.0 */
#include "net/address.h"

#include <string.h>

ab_err ab_address_parse(const char *option, const char *text, int default_port, ab_address *out,
                        ab_error *err)
{
    const char *colon = strrchr(text, ':');
    if (colon != NULL && strchr(colon, ']') != NULL)
        colon = NULL;
    if (colon == NULL && default_port < 0)
        return ab_fail(err, AB_ERR_CONFIG,
                       "%s: expected host:port like \"127.0.0.1:8080\", got \"%s\"", option, text);
    ab_str host = colon == NULL ? ab_str_of(text) : (ab_str){text, (size_t)(colon - text)};
    uint64_t port = (uint64_t)default_port;
    if (colon != NULL && (ab_str_to_u64(ab_str_of(colon + 1), &port) != AB_ERR_OK || port > 65535))
        return ab_fail(err, AB_ERR_CONFIG, "%s: \"%s\" is not a port", option, colon + 1);
    if (host.len >= 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']')
        host = (ab_str){host.ptr + 1, host.len - 2};
    if (host.len >= sizeof(out->host))
        return ab_fail(err, AB_ERR_CONFIG, "%s: the host is too long", option);
    memcpy(out->host, host.ptr, host.len);
    out->host[host.len] = '\0';
    out->port = (int)port;
    return AB_ERR_OK;
}
