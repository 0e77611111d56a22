/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints, and deletes nothing: `kubectl delete` does it, and asks for nothing else. The agent's
 * namespace is not among it, because the agent's Applications would go with it.
 */
#include "services/ctl/agent/agent.h"
#include "services/ctl/agent/manifests.h"
#include "services/ctl/pki/options.h"
#include "services/ctl/pki/pair.h"

#include <stdio.h>

static const ab_ctl_flag flags[] = {
    {"namespace", "NAME", "of Argo CD in the control plane (default: argocd)"},
};

static ab_err print(const char *namespace_name, const char *agent, ab_error *err)
{
    ab_buf text;
    ab_buf_init(&text, AB_PKI_TEXT_MAX);
    ab_onboarding_put_deleted(namespace_name, agent, &text);
    ab_err e = ab_buf_status(&text);
    if (e == AB_ERR_OK)
        e = ab_pki_print(ab_buf_str(&text), err);
    ab_buf_fini(&text);
    if (e == AB_ERR_OK)
        fprintf(stderr,
                "argobusctl: this prints the cluster Secret only. Delete the agent's Applications "
                "before it, if their workloads are to go too; then uninstall its Helm release, "
                "delete its topics and ACLs (deploy/kafka/provision remove %s), and revoke its "
                "certificate\n",
                agent);
    return e;
}

static int run(const ab_ctl *ctl)
{
    ab_error err = {0};
    const char *agent = ctl->operands[0];
    const char *namespace_name = ab_pki_value(ctl, "namespace", "argocd");
    ab_err e = ab_onboarding_check_name(agent, &err);
    if (e == AB_ERR_OK && !ab_str_is_dns_label(ab_str_of(namespace_name)))
        e = ab_fail(&err, AB_ERR_INVALID, "--namespace: \"%s\" is not a DNS label", namespace_name);
    if (e == AB_ERR_OK)
        e = print(namespace_name, agent, &err);
    return ab_pki_end(e, &err);
}

const ab_ctl_command ab_ctl_agent_delete = {
    .name = "agent delete",
    .operands = "NAME",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Print what to delete in the control plane, for kubectl delete",
    .examples = "  argobusctl agent delete w1 | kubectl --context hub delete -f -\n",
    .flags = flags,
    .flag_count = sizeof(flags) / sizeof(*flags),
    .run = run,
};
