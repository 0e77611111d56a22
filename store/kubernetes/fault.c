/* SPDX-License-Identifier: Apache-2.0 */
#include "store/kubernetes/fault.h"

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
    ab_store_fault(&k->base, reason_of(err->code), where, err);
}
