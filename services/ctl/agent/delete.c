/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints what `kubectl delete` is to delete. The agent's namespace is not among it, because the
 * agent's Applications would go with it. Topics and ACLs go only when that is asked for by name:
 * what waits in them is lost.
 */
#include "services/ctl/agent/agent.h"
#include "services/ctl/agent/manifests.h"
#include "services/ctl/agent/provision.h"
#include "services/ctl/pki/options.h"
#include "services/ctl/pki/pair.h"

#include <stdio.h>

static const ab_ctl_flag flags[] = {
    {"namespace", "NAME", "of Argo CD in the control plane (default: argocd)"},
    {"delete-topics", NULL, "also delete its topics and ACLs, at the brokers of --config"},
    {"config", "FILE", "principal's or administrator's, for --delete-topics; also -c"},
    AB_PROVISION_FLAG_USER,
    {"dry-run", NULL, "say which topics and ACLs would be deleted, and delete none"},
};

static void say_next(const char *agent, bool topics_deleted)
{
    fprintf(stderr,
            "argobusctl: this prints the cluster Secret only. Delete the agent's Applications "
            "before it, if their workloads are to go too; then uninstall its Helm release, ");
    if (!topics_deleted)
        fprintf(stderr,
                "delete its topics and ACLs (--delete-topics, or deploy/kafka/provision remove "
                "%s), ",
                agent);
    fprintf(stderr, "and revoke its certificate\n");
}

static ab_err print(const char *namespace_name, const char *agent, ab_error *err)
{
    ab_buf text = ab_buf_up_to(AB_PKI_TEXT_MAX);
    ab_onboarding_put_deleted(namespace_name, agent, &text);
    ab_err e = ab_buf_status(&text);
    if (e == AB_ERR_OK)
        e = ab_pki_print(ab_buf_str(&text), err);
    ab_buf_fini(&text);
    return e;
}

/* ----- topics and ACLs ----- */

static ab_err delete_topics(const ab_ctl *ctl, bool dry_run, ab_error *err)
{
    ab_provision *p = NULL;
    if (ab_ctl_value(ctl, "config") == NULL)
        return ab_fail(err, AB_ERR_INVALID,
                       "--delete-topics needs the configuration of a principal or an "
                       "administrator, with the brokers: -c FILE");
    ab_err e = ab_provision_new(ctl, ctl->operands[0], &p, err);
    if (e == AB_ERR_OK)
        e = ab_provision_delete(p, dry_run, stderr, err);
    ab_provision_free(p);
    return e;
}

static ab_err check_flags(const ab_ctl *ctl, ab_error *err)
{
    static const char *const dependent[] = {"config", "kafka-user", "dry-run"};
    for (size_t i = 0; i < sizeof(dependent) / sizeof(*dependent); i++)
        if (ab_ctl_value(ctl, dependent[i]) != NULL && ab_ctl_value(ctl, "delete-topics") == NULL)
            return ab_fail(err, AB_ERR_INVALID, "--%s is for --delete-topics", dependent[i]);
    return AB_ERR_OK;
}

static int run(const ab_ctl *ctl)
{
    ab_error err = {0};
    const char *agent = ctl->operands[0];
    const char *namespace_name = ab_pki_value(ctl, "namespace", "argocd");
    bool topics = ab_ctl_value(ctl, "delete-topics") != NULL;
    ab_err e = ab_onboarding_check_name(agent, &err);
    if (e == AB_ERR_OK && !ab_str_is_dns_label(ab_str_of(namespace_name)))
        e = ab_fail(&err, AB_ERR_INVALID, "--namespace: \"%s\" is not a DNS label", namespace_name);
    if (e == AB_ERR_OK)
        e = check_flags(ctl, &err);
    if (e == AB_ERR_OK && topics)
        e = delete_topics(ctl, ab_ctl_value(ctl, "dry-run") != NULL, &err);
    if (e == AB_ERR_OK)
        e = print(namespace_name, agent, &err);
    if (e == AB_ERR_OK)
        say_next(agent, topics);
    return ab_pki_end(e, &err);
}

const ab_ctl_command ab_ctl_agent_delete = {
    .name = "agent delete",
    .operands = "NAME",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Print what to delete in the control plane, for kubectl delete",
    .examples = "  argobusctl agent delete w1 | kubectl --context hub delete -f -\n"
                "  argobusctl agent delete w1 --delete-topics -c admin.yaml --dry-run\n",
    .flags = flags,
    .flag_count = sizeof(flags) / sizeof(*flags),
    .run = run,
};
