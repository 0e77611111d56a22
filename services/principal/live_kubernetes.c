/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/live_kubernetes.h"

#include "net/address.h"

static const ab_option rows[] = {
    {.name = "live.resource.listen",
     .kind = AB_OPT_STRING,
     .help = "host:port where the Kubernetes APIs of agents are served for argocd-server; unset: "
             "they are not."},
    {.name = "live.resource.tls.ca",
     .kind = AB_OPT_FILE,
     .help = "CAs of client certificates, whose common name is the agent that they may reach; "
             "unset: those of the transport in use."},
    {.name = "live.resource.tls.cert",
     .kind = AB_OPT_FILE,
     .help = "Certificate of this server; unset: that of the transport in use."},
    {.name = "live.resource.tls.key",
     .kind = AB_OPT_FILE,
     .help = "Its key; unset: that of the transport in use."},
    {.name = "live.resource.tokens",
     .kind = AB_OPT_FILE,
     .help = "File of bearer tokens, a line each: the token and the agent that it may reach, or * "
             "for all. Read again when it changes."},
};
const ab_options ab_principal_live_kubernetes_options = {rows, sizeof(rows) / sizeof(rows[0])};

static const char *file_of(const ab_config *config, const char *own, const char *what)
{
    const char *path = ab_config_str(config, own);
    return path == NULL ? ab_service_tls(config, what) : path;
}

ab_err ab_principal_live_kubernetes_start(const ab_daemon *daemon, ab_live_hub *hub,
                                          ab_resource_front **out, ab_error *err)
{
    const ab_config *c = daemon->config;
    const char *listen = ab_config_str(c, "live.resource.listen");
    ab_address at;
    *out = NULL;
    if (listen == NULL)
        return AB_ERR_OK;
    ab_err e = ab_address_parse("live.resource.listen", listen, -1, &at, err);
    if (e != AB_ERR_OK)
        return e;
    const char *ca = file_of(c, "live.resource.tls.ca", "ca");
    const ab_tls tls = {.ca = ca,
                        .cert = file_of(c, "live.resource.tls.cert", "cert"),
                        .key = file_of(c, "live.resource.tls.key", "key"),
                        .min_version = "1.2",
                        .client_cert =
                            ca == NULL ? AB_TLS_CLIENT_CERT_NONE : AB_TLS_CLIENT_CERT_REQUEST};
    if (tls.cert == NULL || tls.key == NULL)
        return ab_fail(
            err, AB_ERR_CONFIG,
            "live.resource.listen needs live.resource.tls.cert and live.resource.tls.key");
    if (ca == NULL && ab_config_str(c, "live.resource.tokens") == NULL)
        return ab_fail(err, AB_ERR_CONFIG,
                       "live.resource.listen needs live.resource.tokens or live.resource.tls.ca: "
                       "nobody could ask");
    const ab_resource_front_env env = {.loop = daemon->loop,
                                       .host = at.host,
                                       .port = at.port,
                                       .tls = &tls,
                                       .tokens = ab_config_str(c, "live.resource.tokens"),
                                       .clock = daemon->clock,
                                       .hub = hub,
                                       .log = daemon->log,
                                       .metrics = daemon->metrics};
    e = ab_resource_front_start(&env, out, err);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "live.resource");
    return e;
}
