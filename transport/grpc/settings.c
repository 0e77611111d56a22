/* SPDX-License-Identifier: Apache-2.0 */
#include "net/address.h"
#include "transport/grpc/grpc_priv.h"

#include <string.h>

/* argocd-agent reads no larger ones from a WebSocket, the five bytes of the prefix included. */
#define WEBSOCKET_MAX (64u * 1024 * 1024 - 5)
/* What the encoding adds to an event of the most attributes. */
#define ENCODING_MAX 4096

static ab_err read_address(const char *name, const char *text, ab_grpc_settings *out, ab_error *err)
{
    ab_address address;
    ab_err e = ab_address_parse(name, text, AB_GRPC_PORT, &address, err);
    if (e != AB_ERR_OK)
        return e;
    memcpy(out->host, address.host, sizeof(out->host));
    out->port = address.port;
    return AB_ERR_OK;
}

static ab_err read_place(const ab_config *c, ab_role role, ab_grpc_settings *out, ab_error *err)
{
    if (role == AB_ROLE_PRINCIPAL)
        return read_address("grpc.listen", ab_config_str(c, "grpc.listen"), out, err);
    const char *address = ab_config_str(c, "grpc.address");
    if (address == NULL || address[0] == '\0')
        return ab_fail(err, AB_ERR_CONFIG,
                       "grpc.address is not set: give the principal's address, e.g. "
                       "principal.example.com:8443");
    ab_err e = read_address("grpc.address", address, out, err);
    if (e == AB_ERR_OK && out->host[0] == '\0')
        return ab_fail(err, AB_ERR_CONFIG, "grpc.address: \"%s\" has no host", address);
    return e;
}

/* Whom TLS may turn away, since no method would take him either. */
static bool takes_only_certificates(const ab_config *c)
{
    bool only = true;
    for (size_t i = 0; i < ab_config_count(c, "grpc.auth.accept"); i++)
        only = only && strcmp(ab_config_item(c, "grpc.auth.accept", i), "mtls") == 0;
    return only;
}

static ab_tls_client_cert client_cert(const ab_config *c, bool principal, const char *ca)
{
    if (ca == NULL)
        return AB_TLS_CLIENT_CERT_NONE;
    return principal && takes_only_certificates(c) ? AB_TLS_CLIENT_CERT_REQUIRE
                                                   : AB_TLS_CLIENT_CERT_REQUEST;
}

static ab_err read_tls(const ab_config *c, ab_role role, ab_tls *out, ab_error *err)
{
    bool principal = role == AB_ROLE_PRINCIPAL;
    *out = (ab_tls){
        .insecure = ab_config_bool(c, "grpc.insecure"),
        .websocket = ab_config_bool(c, "grpc.websocket"),
        .ca = ab_config_str(c, "grpc.tls.ca"),
        .cert = ab_config_str(c, "grpc.tls.cert"),
        .key = ab_config_str(c, "grpc.tls.key"),
        .min_version = ab_config_str(c, "grpc.tls.min-version"),
        .ciphers = ab_config_str(c, "grpc.tls.ciphers"),
        .server_name = ab_config_str(c, "grpc.tls.server-name"),
    };
    out->client_cert = client_cert(c, principal, out->ca);
    if (out->insecure)
        return AB_ERR_OK;
    if (principal && (out->cert == NULL || out->key == NULL))
        return ab_fail(err, AB_ERR_CONFIG,
                       "grpc.tls.cert and grpc.tls.key are not set: agents are served over TLS "
                       "(grpc.insecure: true is for a service mesh)");
    if (principal && out->ca == NULL && takes_only_certificates(c))
        return ab_fail(err, AB_ERR_CONFIG,
                       "grpc.tls.ca is not set: agents log in with certificates "
                       "(grpc.auth.accept), which this CA must have signed");
    if ((out->cert == NULL) != (out->key == NULL))
        return ab_fail(err, AB_ERR_CONFIG, "grpc.tls.cert and grpc.tls.key must be set together");
    return AB_ERR_OK;
}

ab_err ab_grpc_settings_read(const ab_config *c, ab_role role, ab_grpc_settings *out, ab_error *err)
{
    ab_err e = read_place(c, role, out, err);
    if (e == AB_ERR_OK)
        e = read_tls(c, role, &out->tls, err);
    if (e != AB_ERR_OK)
        return e;
    size_t message_max = (size_t)ab_config_int(c, "grpc.message-max");
    if (out->tls.websocket && message_max > WEBSOCKET_MAX)
        message_max = WEBSOCKET_MAX;
    out->limits = ab_rpc_default_limits;
    out->limits.message_bytes = message_max;
    if (out->tls.websocket) /* each call has one */
        out->limits.agent_connections = out->limits.streams + out->limits.agent_connections;
    out->limits.ping_ms = ab_config_int(c, "grpc.keepalive");
    out->limits.ping_timeout_ms = ab_config_int(c, "grpc.keepalive-timeout");
    out->limits.login_ms = out->limits.handshake_ms + out->limits.ping_timeout_ms;
    out->message_max = message_max - ENCODING_MAX;
    if (out->message_max > AB_EVENT_DATA_MAX)
        out->message_max = AB_EVENT_DATA_MAX;
    out->queue_bytes = (size_t)ab_config_int(c, "grpc.queue");
    out->compress = ab_config_is(c, "grpc.compression", "gzip");
    out->peer_version = ab_config_str(c, "grpc.peer-version");
    if (out->peer_version == NULL)
        out->peer_version = AB_VERSION;
    return AB_ERR_OK;
}
