/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent is whom a header names that a service mesh puts there after it has verified the peer
 * (for Istio x-forwarded-client-cert). Whoever can reach us past the mesh could write that header
 * himself; so it is believed only from this machine, where the sidecar is, unless the operator says
 * otherwise.
 */
#include "auth/method.h"
#include "base/core/pattern.h"

#include <ctype.h>
#include <stdlib.h>

typedef struct {
    ab_auth_method base;
    char *name; /* lower case */
    bool trusts_network;
    ab_expression *identity;
} header;

static ab_err read_name(header *h, const ab_config *config, ab_error *err)
{
    ab_str name = ab_str_of(ab_config_str(config, "grpc.auth.header.name"));
    bool good = name.ptr != NULL && name.len > 0;
    for (size_t i = 0; good && i < name.len; i++)
        good = isalnum((unsigned char)name.ptr[i]) || memchr("-_.", name.ptr[i], 3) != NULL;
    if (!good)
        return ab_fail(err, AB_ERR_CONFIG,
                       "grpc.auth.header.name is not set: give the header that the mesh sets, e.g. "
                       "x-forwarded-client-cert");
    h->name = ab_str_dup(name);
    if (h->name == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for the name of a header");
    for (char *c = h->name; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    return AB_ERR_OK;
}

static ab_err init(ab_auth_method *self, ab_error *err)
{
    header *h = (header *)self;
    const ab_config *config = self->env->config;
    const char *identity = ab_config_str(config, "grpc.auth.header.identity");
    ab_err e = read_name(h, config, err);
    if (e != AB_ERR_OK)
        return e;
    h->trusts_network = ab_config_is(config, "grpc.auth.header.trust", "network");
    e = ab_expression_new(ab_str_of(identity == NULL ? "" : identity), &h->identity, err);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "grpc.auth.header.identity");
    if (e == AB_ERR_OK && h->trusts_network)
        AB_WARN(self->env->log, AUTH,
                "the identity header is trusted from every peer: make sure that only the mesh can "
                "reach this port",
                AB_KV("header", h->name));
    return e == AB_ERR_INVALID ? AB_ERR_CONFIG : e;
}

/* The one value of the header. */
static ab_auth_reason get_value(const header *h, const ab_auth_peer *peer, ab_str *out)
{
    if (!peer->loopback && !h->trusts_network)
        return AB_AUTH_UNTRUSTED;
    size_t count = peer->metadata(peer->metadata_arg, h->name, out);
    /* Of two, one might be the peer's own. */
    return count == 0 ? AB_AUTH_NO_HEADER : count > 1 ? AB_AUTH_HEADER_REPEATED : AB_AUTH_NONE;
}

static void begin(ab_auth_method *self, const ab_auth_peer *peer, const ab_auth_request *request,
                  ab_auth_check *check)
{
    const header *h = (const header *)self;
    ab_str value = AB_STR_NONE;
    (void)request;
    check->reason = get_value(h, peer, &value);
    if (check->reason == AB_AUTH_NONE)
        ab_auth_check_captured(check, ab_expression_first_group(h->identity, value),
                               AB_AUTH_HEADER);
}

static bool claim(ab_auth_method *self, const ab_auth_peer *peer, const ab_auth_request *request,
                  ab_buf *out)
{
    ab_str value = AB_STR_NONE;
    (void)request;
    if (get_value((const header *)self, peer, &value) != AB_AUTH_NONE)
        return false;
    ab_buf_put(out, value);
    return true;
}

static void fini(ab_auth_method *self)
{
    header *h = (header *)self;
    ab_expression_free(h->identity);
    free(h->name);
}

const ab_auth_method_ops ab_auth_header = {
    .name = "header",
    .size = sizeof(header),
    .init = init,
    .claim = claim,
    .begin = begin,
    .fini = fini,
};
