/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/check/check.h"

#include "services/ctl/check/parts.h"
#include "services/ctl/pki/options.h"

#include <stdio.h>
#include <string.h>

static const ab_ctl_flag flags[] = {
    {"config", "FILE", "configuration of the program; also -c"},
    {"kubeconfig", "FILE", "of the cluster, instead of store.kubernetes.kubeconfig"},
    {"context", "NAME", "of the kubeconfig, instead of store.kubernetes.context"},
};

static void check_all(const ab_setup *s, ab_findings *out)
{
    ab_findings_add(out, AB_FOUND_OK, s->file, NULL, "the configuration is valid");
    ab_check_certificates(s, out);
    ab_check_kubernetes(s, out);
    ab_check_kafka(s, out);
}

static void check_brokers(const ab_setup *s, ab_findings *out)
{
    ab_findings_add(out, AB_FOUND_OK, s->file, NULL, "checked as the configuration of %s%s",
                    s->is_agent ? "agent " : "a principal", s->is_agent ? s->agent : "");
    ab_check_certificates(s, out);
    ab_check_kafka(s, out);
}

static ab_err read_brokers(const ab_ctl *ctl, ab_setup *out, ab_error *err)
{
    if (ab_ctl_value(ctl, "kubeconfig") != NULL || ab_ctl_value(ctl, "context") != NULL)
        return ab_fail(err, AB_ERR_INVALID,
                       "check kafka: --kubeconfig and --context are for an API server, and none is "
                       "asked: leave them out");
    return ab_setup_read_kafka(ctl, out, err);
}

static int run(const ab_ctl *ctl)
{
    ab_error err = {0};
    ab_setup setup;
    ab_findings found;
    bool only_kafka = strcmp(ctl->operands[0], "kafka") == 0;
    ab_err e = only_kafka ? read_brokers(ctl, &setup, &err)
                          : ab_setup_read(ctl, ctl->operands[0], &setup, &err);
    if (e == AB_ERR_INVALID)
        return ab_pki_end(e, &err);
    ab_findings_init(&found);
    ab_findings_add_version(&found, "argobusctl", AB_STR(AB_VERSION), "version " AB_VERSION);
    if (e != AB_ERR_OK)
        ab_findings_add(&found, AB_FOUND_ERROR, ab_ctl_value(ctl, "config"), "docs/configure.md",
                        "%s", err.text);
    else {
        (only_kafka ? check_brokers : check_all)(&setup, &found);
        ab_setup_fini(&setup);
    }
    int code = ab_findings_print(&found, ctl);
    ab_findings_fini(&found);
    return code;
}

const ab_ctl_command ab_ctl_check = {
    .name = "check",
    .operands = "agent | principal | kafka",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Check a set-up: configuration, certificates, rights, Argo CD, topics; with kafka "
               "the brokers only",
    .examples = "  argobusctl check agent -c agent.yaml\n"
                "  argobusctl check principal -c principal.yaml -o json\n"
                "  argobusctl check kafka -c agent.yaml\n",
    .flags = flags,
    .flag_count = sizeof(flags) / sizeof(*flags),
    .shows = true,
    .run = run,
};
