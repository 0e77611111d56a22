/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/pki/authority.h"
#include "services/ctl/pki/manifest.h"
#include "services/ctl/pki/options.h"
#include "services/ctl/pki/pair.h"
#include "services/ctl/pki/pki.h"

static const ab_ctl_flag flags[] = {
    {"ca-dir", "DIR", "folder of the CA: ca.crt (default: ca)"},
    {"name", "NAME", "of the Secret or ConfigMap (default: argocd-agent-ca)"},
    AB_PKI_FLAG_NAMESPACE,
    {"configmap", NULL, "print a ConfigMap instead of a Secret"},
};

static ab_err print(const ab_ctl *ctl, const ab_pki_authority *ca, ab_error *err)
{
    ab_buf pem = ab_buf_up_to(AB_PKI_TEXT_MAX);
    ab_buf text = ab_buf_up_to(AB_PKI_TEXT_MAX);
    ab_pki_manifest m = {.name = ab_pki_value(ctl, "name", "argocd-agent-ca"),
                         .namespace_name = ab_pki_value(ctl, "namespace", "argocd")};
    ab_err e = ab_pki_authority_pem(ca, &pem);
    m.ca = ab_buf_str(&pem);
    if (e == AB_ERR_OK)
        e = ab_ctl_value(ctl, "configmap") == NULL ? ab_pki_manifest_secret(&m, &text, err)
                                                   : ab_pki_manifest_configmap(&m, &text, err);
    if (e == AB_ERR_OK)
        e = ab_pki_print(ab_buf_str(&text), err);
    ab_buf_fini(&text);
    ab_buf_fini(&pem);
    return e;
}

static int run(const ab_ctl *ctl)
{
    ab_error err = {0};
    ab_pki_authority ca = {0};
    ab_err e = ab_pki_authority_read(ab_pki_value(ctl, "ca-dir", "ca"), false, &ca, &err);
    if (e == AB_ERR_OK)
        e = print(ctl, &ca, &err);
    ab_pki_authority_fini(&ca);
    return ab_pki_end(e, &err);
}

const ab_ctl_command ab_ctl_pki_propagate = {
    .name = "pki propagate",
    .operands = "",
    .summary = "Print the CA's certificate, without its key, as a Secret for a workload cluster",
    .examples = "  argobusctl pki propagate | kubectl --context w1 apply -f -\n",
    .flags = flags,
    .flag_count = sizeof(flags) / sizeof(*flags),
    .run = run,
};
