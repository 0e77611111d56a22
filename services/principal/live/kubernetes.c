/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/live/kubernetes.h"

#include "live/resource/identity.h"
#include "net/address.h"

static const ab_option rows[] = {
    {.name = "live.resource.listen",
     .kind = AB_OPT_STRING,
     .help = "host:port where the Kubernetes APIs of agents are served for argocd-server; unset: "
             "they are not."},
    {.name = "live.resource.tls.ca",
     .kind = AB_OPT_FILE,
     .help = "CAs of client certificates, whose common name is the agent that they may reach; "
             "unset: clients need a token."},
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

/* Agents' authorities are not trusted here by default: a common name that one of them has certified
 * need not be the name by which agents log in. */
static ab_err read_options(const ab_config *c, ab_address *at, ab_tls *tls, ab_error *err)
{
    const char *ca = ab_config_str(c, "live.resource.tls.ca");
    ab_err e = ab_address_parse("live.resource.listen", ab_config_str(c, "live.resource.listen"),
                                -1, at, err);
    if (e != AB_ERR_OK)
        return e;
    *tls =
        (ab_tls){.ca = ca,
                 .cert = ab_service_file(c, "live.resource.tls.cert", "cert"),
                 .key = ab_service_file(c, "live.resource.tls.key", "key"),
                 .min_version = "1.2",
                 .client_cert = ca == NULL ? AB_TLS_CLIENT_CERT_NONE : AB_TLS_CLIENT_CERT_REQUEST};
    if (tls->cert == NULL || tls->key == NULL)
        return ab_fail(
            err, AB_ERR_CONFIG,
            "live.resource.listen needs live.resource.tls.cert and live.resource.tls.key");
    if (ca == NULL && ab_config_str(c, "live.resource.tokens") == NULL &&
        ab_config_str(c, "registration.token-key") == NULL)
        return ab_fail(err, AB_ERR_CONFIG,
                       "live.resource.listen needs live.resource.tokens, live.resource.tls.ca or "
                       "registration.token-key: nobody could ask");
    return AB_ERR_OK;
}

static ab_err check_tokens(const ab_config *c, ab_error *err)
{
    ab_resource_identities *ids = NULL;
    ab_err e = ab_resource_identities_new(ab_config_str(c, "live.resource.tokens"), &ab_clock_real,
                                          NULL, &ids, err);
    ab_resource_identities_free(ids);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "live.resource.tokens");
    return e;
}

ab_err ab_principal_live_kubernetes_check(const ab_config *config, ab_error *err)
{
    ab_address at;
    ab_tls tls;
    if (ab_config_str(config, "live.resource.listen") == NULL)
        return AB_ERR_OK;
    ab_err e = read_options(config, &at, &tls, err);
    if (e != AB_ERR_OK)
        return e;
    e = ab_tls_check(&tls, true, err);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "live.resource.tls");
    return e == AB_ERR_OK ? check_tokens(config, err) : e;
}

ab_err ab_principal_live_kubernetes_start(const ab_daemon *daemon, ab_live_hub *hub,
                                          ab_revoked_ask revoked, ab_resource_front **out,
                                          ab_error *err)
{
    ab_address at;
    ab_tls tls;
    *out = NULL;
    if (ab_config_str(daemon->config, "live.resource.listen") == NULL)
        return AB_ERR_OK;
    ab_err e = read_options(daemon->config, &at, &tls, err);
    if (e != AB_ERR_OK)
        return e;
    const ab_resource_front_env env = {
        .loop = daemon->loop,
        .host = at.host,
        .port = at.port,
        .tls = &tls,
        .tokens = ab_config_str(daemon->config, "live.resource.tokens"),
        .token_key = ab_config_str(daemon->config, "registration.token-key"),
        .revoked = revoked,
        .clock = daemon->clock,
        .hub = hub,
        .log = daemon->log,
        .metrics = daemon->metrics};
    e = ab_resource_front_start(&env, out, err);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "live.resource");
    return e;
}
