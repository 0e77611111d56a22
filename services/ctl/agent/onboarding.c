/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/agent/onboarding.h"

#include "schema/attributes.h"
#include "schema/topics.h"
#include "services/ctl/pki/options.h"

#include <string.h>

ab_err ab_onboarding_check_name(const char *agent, ab_error *err)
{
    if (ab_str_is_dns_label(ab_str_of(agent)))
        return AB_ERR_OK;
    return ab_fail(err, AB_ERR_INVALID,
                   "\"%s\" is not a name for an agent: use at most 63 of a-z, 0-9 and -, beginning "
                   "and ending with a letter or digit",
                   agent);
}

static ab_err check_choice(const char *flag, const char *value, const char *a, const char *b,
                           ab_error *err)
{
    if (strcmp(value, a) == 0 || strcmp(value, b) == 0)
        return AB_ERR_OK;
    return ab_fail(err, AB_ERR_INVALID, "--%s: \"%s\" is not %s or %s", flag, value, a, b);
}

static ab_err check_choices(const ab_onboarding *o, ab_error *err)
{
    ab_err e = check_choice("mode", o->mode, "managed", "autonomous", err);
    if (e == AB_ERR_OK)
        e = check_choice("transport", o->transport, "kafka", "grpc", err);
    if (e == AB_ERR_OK)
        e = check_choice("mapping", o->mapping, "namespace", "destination", err);
    if (e != AB_ERR_OK)
        return e;
    if (strcmp(o->mode, "autonomous") == 0 && strcmp(o->mapping, "destination") == 0)
        return ab_fail(err, AB_ERR_INVALID,
                       "--mapping destination is for managed agents: leave it out, or use --mode "
                       "managed");
    if (!ab_str_is_dns_label(ab_str_of(o->namespace_name)))
        return ab_fail(err, AB_ERR_INVALID, "--namespace: \"%s\" is not a DNS label",
                       o->namespace_name);
    return AB_ERR_OK;
}

/* "host:port", or several with commas between them. What the host is, the program finds out. */
static bool are_addresses(const char *text)
{
    for (;;) {
        size_t len = strcspn(text, ",");
        ab_str part = {text, len};
        const char *colon = memrchr(text, ':', len);
        uint64_t port = 0;
        if (colon == NULL || colon == text || !ab_str_is_printable(part) ||
            memchr(text, ' ', len) != NULL)
            return false;
        ab_str digits = {colon + 1, (size_t)(text + len - colon - 1)};
        if (ab_str_to_u64(digits, &port) != AB_ERR_OK || port == 0 || port > 65535)
            return false;
        if (text[len] == '\0')
            return true;
        text += len + 1;
    }
}

/* A KafkaTopic has the name of its topic. */
static ab_err check_strimzi(const ab_onboarding *o, ab_error *err)
{
    if (!ab_str_is_dns_subdomain(ab_str_of(o->strimzi)))
        return ab_fail(err, AB_ERR_INVALID,
                       "--strimzi-cluster: \"%s\" is not the name of a Kafka resource", o->strimzi);
    if (!ab_str_is_dns_subdomain(ab_str_of(o->prefix)))
        return ab_fail(
            err, AB_ERR_INVALID,
            "--prefix: \"%s\" cannot begin the name of a KafkaTopic, which may have small "
            "letters, digits, - and . only: use another prefix, or leave "
            "--strimzi-cluster out and create the topics with deploy/kafka/provision",
            o->prefix);
    return AB_ERR_OK;
}

static ab_err check_kafka(const ab_onboarding *o, ab_error *err)
{
    char topic[AB_TOPIC_NAME_MAX];
    if (o->address != NULL)
        return ab_fail(err, AB_ERR_INVALID,
                       "--address is for --transport grpc: name the brokers with --brokers");
    if (o->brokers == NULL)
        return ab_fail(err, AB_ERR_INVALID,
                       "--transport kafka needs the brokers: --brokers HOST:PORT,...");
    if (!are_addresses(o->brokers))
        return ab_fail(err, AB_ERR_INVALID,
                       "--brokers: \"%s\" is not host:port, or several with commas between them",
                       o->brokers);
    if (!ab_topic_format(o->prefix, AB_DOWN, o->agent, false, topic))
        return ab_fail(err, AB_ERR_INVALID, "--prefix: \"%s\" does not begin a topic's name",
                       o->prefix);
    return o->strimzi == NULL ? AB_ERR_OK : check_strimzi(o, err);
}

static ab_err check_grpc(const ab_onboarding *o, ab_error *err)
{
    if (o->brokers != NULL || o->strimzi != NULL)
        return ab_fail(err, AB_ERR_INVALID,
                       "--brokers and --strimzi-cluster are for --transport kafka: name the "
                       "principal with --address");
    if (o->address == NULL)
        return ab_fail(err, AB_ERR_INVALID,
                       "--transport grpc needs the principal's address: --address HOST:PORT");
    if (!are_addresses(o->address) || strchr(o->address, ',') != NULL)
        return ab_fail(err, AB_ERR_INVALID, "--address: \"%s\" is not host:port", o->address);
    return AB_ERR_OK;
}

ab_err ab_onboarding_read(const ab_ctl *ctl, ab_onboarding *out, ab_error *err)
{
    ab_onboarding o = {.agent = ctl->operands[0],
                       .mode = ab_pki_value(ctl, "mode", "managed"),
                       .transport = ab_pki_value(ctl, "transport", "kafka"),
                       .mapping = ab_pki_value(ctl, "mapping", "namespace"),
                       .namespace_name = ab_pki_value(ctl, "namespace", "argocd"),
                       .brokers = ab_ctl_value(ctl, "brokers"),
                       .prefix = ab_pki_value(ctl, "prefix", "argobus"),
                       .address = ab_ctl_value(ctl, "address"),
                       .live_server = ab_pki_value(ctl, "live-server", "argobus-principal:9090"),
                       .strimzi = ab_ctl_value(ctl, "strimzi-cluster")};
    ab_err e = ab_onboarding_check_name(o.agent, err);
    if (strcmp(o.agent, AB_NAME_LOCAL_CLUSTER) == 0)
        e = ab_fail(err, AB_ERR_INVALID,
                    "\"" AB_NAME_LOCAL_CLUSTER
                    "\" is Argo CD's name of the control plane's own cluster: give the agent "
                    "another name");
    if (e == AB_ERR_OK)
        e = check_choices(&o, err);
    if (e == AB_ERR_OK)
        e = strcmp(o.transport, "kafka") == 0 ? check_kafka(&o, err) : check_grpc(&o, err);
    if (e == AB_ERR_OK && !are_addresses(o.live_server))
        e = ab_fail(err, AB_ERR_INVALID, "--live-server: \"%s\" is not host:port", o.live_server);
    if (e == AB_ERR_OK)
        *out = o;
    return e;
}
