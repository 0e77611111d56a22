/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/agent/agent.h"
#include "services/ctl/agent/manifests.h"
#include "services/ctl/agent/provision.h"
#include "services/ctl/pki/authority.h"
#include "services/ctl/pki/key.h"
#include "services/ctl/pki/manifest.h"
#include "services/ctl/pki/options.h"
#include "services/ctl/pki/pair.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAYS 365

static const ab_ctl_flag flags[] = {
    {"mode", "MODE", "managed (default) or autonomous"},
    {"transport", "NAME", "kafka (default) or grpc"},
    {"brokers", "LIST", "brokers, HOST:PORT,..."},
    {"prefix", "NAME", "prefix of topics (default: argobus)"},
    {"address", "HOST:PORT", "address of the principal, for gRPC"},
    {"mapping", "NAME", "namespace (default) or destination"},
    {"namespace", "NAME", "of Argo CD in both clusters (default: argocd)"},
    {"live-server", "ADDR", "principal's live access (argobus-principal:9090)"},
    {"strimzi-cluster", "NAME", "also write topics and user for this Kafka of Strimzi"},
    AB_PKI_FLAG_CA_DIR,
    {"server-ca", "FILE", "CA of brokers or principal (default: that of --ca-dir)"},
    AB_PKI_FLAG_KEY_TYPE,
    {"days", "N", "how long its certificate is valid (default: 365)"},
    {"config", "FILE", "also create topics and ACLs, at the brokers of this file; also -c"},
    AB_PROVISION_FLAG_USER,
    {"dry-run", NULL, "say what would be created, and create nothing"},
    {"out", "DIR", "folder to create (default: the agent's name)"},
};

typedef struct {
    const ab_ctl *ctl;
    ab_onboarding about;
    ab_provision *provision; /* NULL: topics and ACLs are somebody else's */
    bool dry_run;
    int64_t days;
    ab_buf cert; /* PEM */
    ab_buf key;
    ab_buf ca; /* that the agent trusts */
    ab_error *err;
} creation;

/* ----- its certificate ----- */

static ab_err sign(creation *c, const ab_pki_authority *ca, EVP_PKEY *key)
{
    X509_NAME *subject = NULL;
    X509 *cert = NULL;
    ab_err e = ab_pki_subject_new(c->about.agent, &subject, c->err);
    ab_pki_request request = {.subject = subject, .usage = AB_PKI_CLIENT, .days = c->days};
    if (e == AB_ERR_OK)
        e = ab_pki_sign(&request, key, &ca->signer, &cert, c->err);
    if (e == AB_ERR_OK)
        e = ab_pki_chain_pem(ca, cert, &c->cert);
    X509_free(cert);
    X509_NAME_free(subject);
    return e;
}

static ab_err read_trust(creation *c, const ab_pki_authority *ca)
{
    const char *path = ab_ctl_value(c->ctl, "server-ca");
    if (path == NULL)
        return ab_pki_authority_pem(ca, &c->ca);
    ab_pki_authority other = {0};
    ab_err e = ab_pki_read_certs(path, &other.certs, c->err);
    if (e == AB_ERR_OK)
        e = ab_pki_authority_pem(&other, &c->ca);
    ab_pki_authority_fini(&other);
    return e;
}

static ab_err make_certificate(creation *c)
{
    EVP_PKEY *key = NULL;
    ab_pki_authority ca = {0};
    ab_err e = ab_pki_authority_read(ab_pki_value(c->ctl, "ca-dir", "ca"), true, &ca, c->err);
    if (e == AB_ERR_OK)
        e = read_trust(c, &ca);
    if (e == AB_ERR_OK)
        e = ab_pki_key_new(ab_ctl_value(c->ctl, "key-type"), &key, c->err);
    if (e == AB_ERR_OK)
        e = ab_pki_key_pem(key, &c->key);
    if (e == AB_ERR_OK)
        e = sign(c, &ca, key);
    EVP_PKEY_free(key);
    ab_pki_authority_fini(&ca);
    return e;
}

/* ----- its folder ----- */

static ab_err write_text(const char *folder, const char *name, const ab_buf *text, mode_t mode,
                         ab_error *err)
{
    char path[AB_PKI_PATH_MAX];
    if (ab_buf_status(text) != AB_ERR_OK)
        return ab_buf_status(text);
    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= AB_PKI_PATH_MAX)
        return ab_fail(err, AB_ERR_INVALID, "--out: the path is too long");
    return ab_pki_file_create(path, ab_buf_str(text), mode, err);
}

static ab_err write_made(const creation *c, const char *folder, const char *name,
                         void (*put)(const ab_onboarding *, ab_buf *))
{
    ab_buf text = ab_buf_up_to(AB_PKI_TEXT_MAX);
    put(&c->about, &text);
    ab_err e = write_text(folder, name, &text, 0644, c->err);
    ab_buf_fini(&text);
    return e;
}

static ab_err write_secret(const creation *c, const char *folder)
{
    ab_buf text = ab_buf_secret_up_to(AB_PKI_TEXT_MAX);
    ab_pki_manifest m = {.name = "argocd-agent-client-tls",
                         .namespace_name = c->about.namespace_name,
                         .cert = ab_buf_str(&c->cert),
                         .key = ab_buf_str(&c->key),
                         .ca = ab_buf_str(&c->ca)};
    ab_err e = ab_pki_manifest_secret(&m, &text, c->err);
    if (e == AB_ERR_OK)
        e = write_text(folder, "workload-cluster.yaml", &text, 0600, c->err);
    ab_buf_wipe(&text);
    return e;
}

static ab_err write_pair(const creation *c, const char *folder)
{
    ab_pki_paths paths;
    ab_err e = ab_pki_paths_in(folder, c->about.agent, &paths, c->err);
    if (e == AB_ERR_OK)
        e = ab_pki_pair_create(&paths, ab_buf_str(&c->cert), ab_buf_str(&c->key), c->err);
    return e == AB_ERR_OK ? write_text(folder, "ca.crt", &c->ca, 0644, c->err) : e;
}

static ab_err write_folder(const creation *c, const char *folder)
{
    ab_err e = write_pair(c, folder);
    if (e == AB_ERR_OK)
        e = write_secret(c, folder);
    if (e == AB_ERR_OK)
        e = write_made(c, folder, "control-plane.yaml", ab_onboarding_put_control_plane);
    if (e == AB_ERR_OK)
        e = write_made(c, folder, "values.yaml", ab_onboarding_put_values);
    if (e == AB_ERR_OK)
        e = write_made(c, folder, "agent.yaml", ab_onboarding_put_config);
    if (e == AB_ERR_OK && c->about.strimzi != NULL)
        e = write_made(c, folder, "strimzi.yaml", ab_onboarding_put_strimzi);
    return e;
}

static void say_next(const creation *c, const char *folder)
{
    const char *ns = c->about.namespace_name;
    printf("wrote %s; next, with the contexts of your clusters:\n", folder);
    if (c->about.strimzi != NULL)
        printf("  kubectl -n NAMESPACE-OF-KAFKA apply -f %s/strimzi.yaml\n", folder);
    if (c->provision != NULL)
        ab_provision_say_quota(c->provision, stdout);
    printf("  kubectl --context CONTROL-PLANE apply -f %s/control-plane.yaml\n", folder);
    printf("  kubectl --context WORKLOAD-CLUSTER apply -f %s/workload-cluster.yaml\n", folder);
    printf("  helm --kube-context WORKLOAD-CLUSTER -n %s install argobus-agent CHART "
           "-f %s/values.yaml --set image.repository=REGISTRY/argobus\n",
           ns, folder);
}

static ab_err check_folder(const creation *c, const char *folder)
{
    if (access(folder, F_OK) == 0)
        return ab_fail(c->err, AB_ERR_EXISTS,
                       "%s exists already: remove it, or name another folder (--out)", folder);
    return AB_ERR_OK;
}

/* What is in it this call has made: the folder is new. With it, the next call would refuse. */
static void remove_folder(const creation *c, const char *folder)
{
    static const char *const names[] = {
        "ca.crt",     "workload-cluster.yaml", "control-plane.yaml", "values.yaml",
        "agent.yaml", "strimzi.yaml"};
    char path[AB_PKI_PATH_MAX];
    ab_pki_paths pair;
    if (ab_pki_paths_in(folder, c->about.agent, &pair, NULL) == AB_ERR_OK) {
        (void)unlink(pair.cert);
        (void)unlink(pair.key);
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (snprintf(path, sizeof(path), "%s/%s", folder, names[i]) < AB_PKI_PATH_MAX)
            (void)unlink(path);
    (void)rmdir(folder);
}

static ab_err make_folder(const creation *c, const char *folder)
{
    if (mkdir(folder, 0700) != 0)
        return ab_fail_errno(c->err, ab_err_from_errno(errno), errno, "cannot create %s", folder);
    ab_err e = write_folder(c, folder);
    if (e == AB_ERR_OK)
        say_next(c, folder);
    else
        remove_folder(c, folder);
    return e;
}

/* The brokers before the folder: they may refuse, and then the same command can be given again. */
static ab_err create(creation *c)
{
    const char *folder = ab_pki_value(c->ctl, "out", c->about.agent);
    ab_err e = make_certificate(c);
    if (e == AB_ERR_OK)
        e = check_folder(c, folder);
    if (e == AB_ERR_OK && c->provision != NULL)
        e = ab_provision_make(c->provision, c->dry_run, stdout, c->err);
    if (e == AB_ERR_OK && c->dry_run)
        printf("would write %s\n", folder);
    else if (e == AB_ERR_OK)
        e = make_folder(c, folder);
    return e;
}

/* ----- the command line ----- */

static ab_err read_provision(creation *c)
{
    const char *given = ab_ctl_value(c->ctl, "prefix");
    if (ab_ctl_value(c->ctl, "config") == NULL)
        return ab_ctl_value(c->ctl, "kafka-user") == NULL
                   ? AB_ERR_OK
                   : ab_fail(c->err, AB_ERR_INVALID,
                             "--kafka-user is for --config, which creates topics and ACLs");
    if (strcmp(c->about.transport, "kafka") != 0 || c->about.strimzi != NULL)
        return ab_fail(c->err, AB_ERR_INVALID,
                       "--config creates topics and ACLs: leave it out with --transport grpc, and "
                       "with --strimzi-cluster, which leaves them to Strimzi");
    ab_err e = ab_provision_new(c->ctl, c->about.agent, &c->provision, c->err);
    if (e != AB_ERR_OK)
        return e;
    const char *prefix = ab_provision_prefix(c->provision);
    if (given != NULL && strcmp(given, prefix) != 0)
        return ab_fail(c->err, AB_ERR_INVALID, "--prefix: \"%s\" is not the kafka.prefix of %s: %s",
                       given, ab_ctl_value(c->ctl, "config"), prefix);
    c->about.prefix = prefix;
    return AB_ERR_OK;
}

static ab_err read_command(creation *c)
{
    c->dry_run = ab_ctl_value(c->ctl, "dry-run") != NULL;
    ab_err e = ab_onboarding_read(c->ctl, &c->about, c->err);
    if (e == AB_ERR_OK)
        e = read_provision(c);
    return e == AB_ERR_OK ? ab_pki_days(c->ctl, DAYS, &c->days, c->err) : e;
}

static int run(const ab_ctl *ctl)
{
    ab_error err = {0};
    creation c = {.ctl = ctl, .err = &err};
    ab_buf_init(&c.cert, AB_PKI_TEXT_MAX);
    ab_buf_init_secret(&c.key, AB_PKI_TEXT_MAX);
    ab_buf_init(&c.ca, AB_PKI_TEXT_MAX);
    ab_err e = read_command(&c);
    if (e == AB_ERR_OK)
        e = create(&c);
    ab_provision_free(c.provision);
    ab_buf_fini(&c.cert);
    ab_buf_wipe(&c.key);
    ab_buf_fini(&c.ca);
    return ab_pki_end(e, &err);
}

const ab_ctl_command ab_ctl_agent_create = {
    .name = "agent create",
    .operands = "NAME",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Write all that a new agent needs: certificate, manifests, Helm values",
    .examples =
        "  argobusctl agent create w1 --brokers kafka-1.example.com:9093\n"
        "  argobusctl agent create w1 --brokers kafka-1.example.com:9093 -c admin.yaml --dry-run\n"
        "  argobusctl agent create w2 --transport grpc --address principal.example.com:8443\n",
    .flags = flags,
    .flag_count = sizeof(flags) / sizeof(*flags),
    .run = run,
};
