/* SPDX-License-Identifier: Apache-2.0 */
#include "store/kubernetes/kubernetes_priv.h"

static const char *reason_of(ab_err code)
{
    switch (code) {
    case AB_ERR_PARSE:
    case AB_ERR_INVALID:
        return "parse";
    case AB_ERR_TOOBIG:
        return "too_big";
    case AB_ERR_DENIED:
        return "denied";
    case AB_ERR_NOTFOUND:
        return "not_served";
    case AB_ERR_TIMEOUT:
        return "timeout";
    default:
        return "unavailable";
    }
}

void ab_kube_fault(ab_kube *k, const char *where, const ab_error *err)
{
    ab_label reason = {"reason", ab_str_of(reason_of(err->code))};
    ab_metric_add(
        ab_metric_get(k->base.env.metrics, AB_METRIC_COUNTER, "argobus_store_faults_total",
                      "Lists, watches, objects and files of the store that could not be read.",
                      &reason, 1),
        1);
    AB_WARN(k->base.env.log, STORE, "cannot read", AB_KV("where", where),
            AB_KV("reason", (const char *)err->text));
    k->base.env.events.on_fault(k->base.env.events.arg, where, err);
}
