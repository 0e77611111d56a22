/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/registration/policy.h"
#include "services/principal/registration/registration_priv.h"

#include "base/crypto/pem.h"
#include "live/resource/agent_key.h"

#include <string.h>

static const ab_option rows[] = {
    {.name = "registration.enabled",
     .kind = AB_OPT_BOOL,
     .deflt = "false",
     .help = "Whether the principal creates the cluster Secret of an agent that logs in over gRPC "
             "and that neither a cluster Secret nor option agents names."},
    {.name = "registration.server",
     .kind = AB_OPT_STRING,
     .help = "URL at which Argo CD reaches live.resource.listen, such as "
             "https://argobus-principal:9090; /agents/NAME is added in each cluster Secret."},
    {.name = "registration.ca",
     .kind = AB_OPT_FILE,
     .help = "CAs (PEM) of the certificate of live.resource.listen, for caData of the cluster "
             "Secrets; unset: grpc.tls.ca. Read again when the file changes."},
    {.name = "registration.token-key",
     .kind = AB_OPT_FILE,
     .help = "Key of the agents' bearer tokens for live access: a file of 32 random bytes or more. "
             "Read again when it changes; tokens of the former key end then."},
    {.name = "registration.names",
     .kind = AB_OPT_LIST,
     .help = "Names that agents may register: globs, or regular expressions between slashes; "
             "unset: all."},
    {.name = "registration.mode",
     .kind = AB_OPT_ENUM,
     .deflt = "managed",
     .choices = "managed|autonomous",
     .help = "Mode of agents that register, unless registration.modes lets them choose."},
    {.name = "registration.modes",
     .kind = AB_OPT_LIST,
     .help = "Modes that an agent may choose when it registers: managed, autonomous; unset: none."},
    {.name = "registration.labels",
     .kind = AB_OPT_LIST,
     .help = "Labels (agent.labels) that an agent may bring to its cluster Secret when it "
             "registers: globs of their keys, or regular expressions between slashes; unset: none. "
             "Never those of Argo CD, argobus and Kubernetes."},
    {.name = "registration.approval",
     .kind = AB_OPT_ENUM,
     .deflt = "automatic",
     .choices = "automatic|manual",
     .help = "Whether an agent that registered is served at once (automatic), or when label "
             "argobus.io/approved of its cluster Secret is set to true (manual)."},
    {.name = "registration.max",
     .kind = AB_OPT_INT,
     .deflt = "1000",
     .min = 1,
     .max = 100000,
     .help = "Maximum number of agents that have registered themselves."},
};
const ab_options ab_registration_options = {rows, sizeof(rows) / sizeof(rows[0])};

static ab_err fail_missing(const char *option, const char *remedy, ab_error *err)
{
    return ab_fail(err, AB_ERR_CONFIG, "registration.enabled: %s: %s", option, remedy);
}

static ab_err check_others(const ab_config *c, ab_error *err)
{
    if (!ab_config_is(c, "transport", "grpc"))
        return fail_missing("works with transport: grpc only",
                            "over Kafka an unknown agent has no topics and no ACLs, so it cannot "
                            "be heard; use argobusctl agent create",
                            err);
    if (!ab_config_bool(c, "agent-secrets"))
        return fail_missing("agent-secrets is false", "set it to true", err);
    if (ab_config_str(c, "registration.token-key") == NULL)
        return fail_missing("registration.token-key is not set",
                            "make a key with openssl rand -out FILE 32", err);
    return AB_ERR_OK;
}

static ab_err check_server(const ab_config *c, ab_error *err)
{
    const char *server = ab_config_str(c, "registration.server");
    ab_str text = ab_str_of(server == NULL ? "" : server);
    bool good = text.len > 8 && strncmp(text.ptr, "https://", 8) == 0 && ab_str_is_printable(text);
    for (size_t i = 0; good && i < text.len; i++)
        good = strchr(" \"\\?#", text.ptr[i]) == NULL;
    return good ? AB_ERR_OK
                : ab_fail(err, AB_ERR_CONFIG,
                          "registration.server: \"%s\" is not a URL that begins with https://, "
                          "such as https://argobus-principal:9090",
                          server == NULL ? "" : server);
}

static ab_err check_modes(const ab_config *c, const ab_registration_policy *p, ab_error *err)
{
    bool autonomous = strcmp(p->mode, "autonomous") == 0 || p->claims[1] != NULL;
    if (autonomous && ab_config_str(c, "principal.data") == NULL)
        return ab_fail(err, AB_ERR_CONFIG,
                       "principal.data is not set, and registration.mode or registration.modes "
                       "names autonomous: give a folder, e.g. /var/lib/argobus-principal");
    return AB_ERR_OK;
}

static ab_err check_policy(const ab_config *c, ab_error *err)
{
    ab_registration_policy policy = {0};
    ab_err e = ab_registration_policy_init(c, &policy, err);
    if (e == AB_ERR_OK)
        e = check_modes(c, &policy, err);
    ab_registration_policy_fini(&policy);
    return e;
}

static ab_err check_files(const ab_config *c, ab_error *err)
{
    ab_agent_key *key = NULL;
    ab_err e = ab_agent_key_new(ab_config_str(c, "registration.token-key"), &ab_clock_real, NULL,
                                &key, err);
    ab_agent_key_free(key);
    if (e != AB_ERR_OK) {
        ab_error_prefix(err, "registration.token-key");
        return e;
    }
    ab_buf ca = ab_buf_up_to(AB_REGISTRATION_CA_MAX);
    e = ab_registration_read_ca(ab_registration_ca_file(c), &ca, err);
    ab_buf_fini(&ca);
    return e;
}

const char *ab_registration_ca_file(const ab_config *c)
{
    const char *own = ab_config_str(c, "registration.ca");
    return own == NULL ? ab_config_str(c, "grpc.tls.ca") : own;
}

ab_err ab_registration_read_ca(const char *path, ab_buf *out, ab_error *err)
{
    if (path == NULL)
        return AB_ERR_OK;
    ab_buf text = ab_buf_secret_up_to(AB_REGISTRATION_CA_MAX);
    ab_err e = ab_file_read_named(path, &text, err);
    if (e == AB_ERR_OK) {
        e = ab_pem_copy_certs(ab_buf_str(&text), out);
        if (e != AB_ERR_OK)
            e = ab_fail(err, AB_ERR_CONFIG, "%s: not a PEM certificate", path);
    }
    ab_buf_wipe(&text);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "registration.ca");
    return e;
}

ab_err ab_registration_check(const ab_config *config, ab_error *err)
{
    if (!ab_config_bool(config, "registration.enabled"))
        return AB_ERR_OK;
    ab_err e = check_others(config, err);
    if (e == AB_ERR_OK)
        e = check_server(config, err);
    if (e == AB_ERR_OK)
        e = check_policy(config, err);
    return e == AB_ERR_OK ? check_files(config, err) : e;
}
