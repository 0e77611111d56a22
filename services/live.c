/* SPDX-License-Identifier: Apache-2.0 */
#include "services/live.h"

#include <stdio.h>

/* Longer than a session may be silent: that a connection is slow ends none. */
#define SEND_MS 60000

static const ab_option rows[] = {
    {.name = "live.protection",
     .kind = AB_OPT_ENUM,
     .deflt = "sealed",
     .choices = "sealed|none",
     .help = "Over Kafka, whether live access (resources, logs, terminals, redis) is sealed "
             "between principal and agent by TLS with their certificates (sealed), or readable "
             "for anyone who can read the topics, and open to anyone who can write to them "
             "(none). Both ends need the same setting."},
    {.name = "live.certificate",
     .kind = AB_OPT_FILE,
     .help = "Certificate (PEM) for live access over Kafka; unset: kafka.tls.cert. Read again when "
             "it changes."},
    {.name = "live.key",
     .kind = AB_OPT_FILE,
     .help = "Private key (PEM) of live.certificate; set both or neither. Unset: kafka.tls.key."},
    {.name = "live.ca",
     .kind = AB_OPT_FILE,
     .help = "Certificate authorities (PEM) that must have issued the certificate that the other "
             "end shows for live access over Kafka; unset: kafka.tls.ca."},
    {.name = "live.revoked",
     .kind = AB_OPT_FILE,
     .help = "SHA-256 fingerprints of certificates that the other end may not show for live access "
             "over Kafka, in the form of grpc.auth.revoked; unset: at the principal "
             "secrets.revoked or else grpc.auth.revoked, at an agent none. Read again when it "
             "changes, which ends what such certificates have open."},
};
const ab_options ab_service_live_options = {rows, sizeof(rows) / sizeof(rows[0])};

static void turn_off(ab_service_live *l, const char *why)
{
    snprintf(l->off, sizeof(l->off), "%s", why);
    AB_INFO(l->service->daemon->log, LIVE, "live access is off", AB_KV("reason", why));
}

static ab_err read_identity(ab_service_live *l, const ab_config *c, ab_error *err)
{
    const char *login = ab_config_str(c, "grpc.auth.mtls.identity");
    const char *rule = l->principal != NULL ? NULL : ab_config_str(c, "secrets.identity");
    if (rule == NULL)
        rule = login != NULL ? login : "subject:CN=([^,]+)";
    ab_err e = ab_identity_rule_new(ab_str_of(rule), &l->identity, err);
    return e == AB_ERR_INVALID ? AB_ERR_CONFIG : e;
}

static bool is_set(const ab_config *c, const char *option)
{
    return ab_config_str(c, option) != NULL;
}

static bool is_complete(const ab_tls *tls)
{
    return tls->ca != NULL && tls->cert != NULL && tls->key != NULL;
}

/* @param own  whether it was set for live access, and not only for the transport */
static ab_err read_files(const ab_config *c, ab_tls *out, bool *own, ab_error *err)
{
    *own = is_set(c, "live.certificate") || is_set(c, "live.key") || is_set(c, "live.ca");
    *out = (ab_tls){.ca = ab_service_file(c, "live.ca", "ca"),
                    .cert = ab_service_file(c, "live.certificate", "cert"),
                    .key = ab_service_file(c, "live.key", "key"),
                    .client_cert = AB_TLS_CLIENT_CERT_REQUIRE};
    if (is_set(c, "live.certificate") != is_set(c, "live.key"))
        return ab_fail(err, AB_ERR_CONFIG, "live.certificate and live.key must be set together");
    if (*own && !is_complete(out))
        return ab_fail(err, AB_ERR_CONFIG,
                       "live access needs live.certificate, live.key and live.ca, or those of the "
                       "transport");
    return AB_ERR_OK;
}

/* The option that names the list; NULL: none does. */
static const char *find_revoked(const ab_config *c, bool agent)
{
    static const char *const options[] = {"live.revoked", "secrets.revoked", "grpc.auth.revoked"};
    const size_t count = agent ? 1 : sizeof(options) / sizeof(options[0]);
    for (size_t i = 0; i < count; i++)
        if (is_set(c, options[i]))
            return options[i];
    return NULL;
}

static ab_err open_revoked(const ab_config *c, bool agent, ab_revoked_file *out, ab_error *err)
{
    const char *option = find_revoked(c, agent);
    if (option == NULL)
        return AB_ERR_OK;
    ab_err e = ab_revoked_file_open(ab_config_str(c, option), out, err);
    if (e == AB_ERR_OK)
        return e;
    ab_error_prefix(err, "%s", option);
    return e == AB_ERR_NOMEM ? e : AB_ERR_CONFIG;
}

ab_err ab_service_live_check(const ab_config *config, bool agent, ab_error *err)
{
    bool own = false;
    ab_tls tls;
    ab_revoked_file revoked = {0};
    ab_err e = open_revoked(config, agent, &revoked, err);
    ab_revoked_file_fini(&revoked);
    if (e == AB_ERR_OK)
        e = read_files(config, &tls, &own, err);
    if (e != AB_ERR_OK || !own)
        return e;
    e = ab_tls_check(&tls, agent, err);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "live.certificate, live.key, live.ca");
    return e;
}

/* What was set for live access must be good; what was set for the transport may be of no use here,
 * such as a key with a password. */
static ab_err read_tls(ab_service_live *l, const ab_config *c, ab_error *err)
{
    bool own = false;
    ab_tls tls;
    ab_err e = read_files(c, &tls, &own, err);
    if (e != AB_ERR_OK)
        return e;
    if (!is_complete(&tls)) {
        turn_off(l, "live access over Kafka needs a certificate to seal with: set kafka.tls, or "
                    "live.certificate, live.key and live.ca, or live.protection: none");
        return AB_ERR_OK;
    }
    e = ab_tls_context_init(&l->tls, &tls, l->principal != NULL, "", err);
    if (e == AB_ERR_CONFIG && !own) {
        ab_error_prefix(err, "live access cannot use kafka.tls: set live.certificate, live.key and "
                             "live.ca");
        turn_off(l, err->text);
        return AB_ERR_OK;
    }
    l->sealed = e == AB_ERR_OK;
    if (e == AB_ERR_OK)
        e = open_revoked(c, l->principal != NULL, &l->revoked, err);
    return e == AB_ERR_OK ? read_identity(l, c, err) : e;
}

ab_err ab_service_live_init(ab_service_live *out, ab_service *service, const char *principal,
                            ab_error *err)
{
    const ab_config *c = service->daemon->config;
    bool sealed = ab_config_is(c, "live.protection", "sealed");
    *out = (ab_service_live){.service = service, .principal = principal};
    if (principal != NULL && !ab_config_bool(c, "live.enabled")) {
        turn_off(out, "live access is off at the agent: set live.enabled to true there");
        return AB_ERR_OK;
    }
    if (!sealed || (service->transport->ops->caps & AB_CAP_BROKER) == 0)
        return AB_ERR_OK;
    return read_tls(out, c, err);
}

void ab_service_live_fini(ab_service_live *l)
{
    ab_tls_context_fini(&l->tls);
    ab_revoked_file_fini(&l->revoked);
    ab_identity_rule_free(l->identity);
    *l = (ab_service_live){0};
}

/* @return whether other authorities may be trusted now */
static bool renew_tls(ab_service_live *l)
{
    ab_error err = {0};
    if (l->sealed && ab_tls_context_is_stale(&l->tls) &&
        ab_tls_context_reload(&l->tls, &err) != AB_ERR_OK)
        AB_ERROR(l->service->daemon->log, LIVE,
                 "cannot load the new certificate; still using the previous one",
                 AB_KV("error", err.text));
    bool changed = l->trusted != l->tls.reloads;
    l->trusted = l->tls.reloads;
    return changed;
}

static bool renew_revoked(ab_service_live *l)
{
    ab_error err = {0};
    bool changed = false;
    if (ab_revoked_file_renew(&l->revoked, &changed, &err) != AB_ERR_OK)
        AB_WARN(l->service->daemon->log, LIVE,
                "cannot read the revoked certificates of live access; still using the previous "
                "list",
                AB_KV("why", err.text));
    return changed;
}

bool ab_service_live_renew(ab_service_live *l)
{
    bool other_trust = renew_tls(l);
    return renew_revoked(l) || other_trust;
}

static ab_err check_revoked(const ab_service_live *l, const X509 *peer, ab_error *err)
{
    uint8_t print[AB_FINGERPRINT_BYTES];
    ab_err e = ab_certificate_fingerprint(peer, print);
    if (e == AB_ERR_OK && (ab_revoked_has(&l->revoked.list, print) ||
                           (l->blocked.has != NULL && l->blocked.has(l->blocked.arg, print))))
        e = ab_fail(err, AB_ERR_DENIED, "live access: the certificate of the %s is revoked",
                    l->principal == NULL ? "agent" : "principal");
    return e;
}

static ab_err admits(void *arg, const char *agent, const X509 *peer, ab_error *err)
{
    const ab_service_live *l = arg;
    const char *expected = agent != NULL ? agent : l->principal;
    ab_buf name = ab_buf_up_to(1024);
    ab_err e = ab_identity_rule_name(l->identity, peer, &name);
    if (e != AB_ERR_OK || !ab_str_is(ab_buf_str(&name), expected))
        e = ab_fail(err, AB_ERR_DENIED,
                    "live access: the certificate is of \"%.*s\", not of \"%s\"",
                    AB_STR_ARG(ab_buf_str(&name)), expected);
    ab_buf_fini(&name);
    return e == AB_ERR_OK ? check_revoked(l, peer, err) : e;
}

static ab_err send_live(void *arg, const char *agent, ab_event *event, ab_sent done, void *done_arg)
{
    const ab_service_live *l = arg;
    ab_err e = l->divert == NULL ? AB_ERR_NOTFOUND
                                 : l->divert(l->divert_arg, agent, event, done, done_arg);
    return e != AB_ERR_NOTFOUND ? e
                                : ab_transport_send(l->service->transport, agent, AB_LANE_LIVE,
                                                    event, SEND_MS, done, done_arg);
}

/* Who waits for an answer has a deadline of its own. */
static void on_gone(void *arg, ab_err code, const ab_error *err)
{
    (void)arg, (void)code, (void)err;
}

ab_err ab_service_live_send(ab_service_live *l, const char *agent, ab_event *event)
{
    return ab_transport_send(l->service->transport, agent, AB_LANE_LIVE, event, SEND_MS, on_gone,
                             NULL);
}

ab_live_lane_env ab_service_live_env(ab_service_live *l, const char *source)
{
    const ab_daemon *d = l->service->daemon;
    return (ab_live_lane_env){.loop = d->loop,
                              .log = d->log,
                              .metrics = d->metrics,
                              .clock = d->clock,
                              .source = source,
                              .off = l->off[0] == 0 ? NULL : l->off,
                              .tls = l->sealed ? &l->tls : NULL,
                              .admits = admits,
                              .send = send_live,
                              .arg = l};
}
