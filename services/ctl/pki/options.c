/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/pki/options.h"

#include "services/ctl/pki/manifest.h"
#include "services/ctl/pki/pair.h"

#include <stdio.h>

#define DAYS_MAX 36500

const char *ab_pki_value(const ab_ctl *ctl, const char *flag, const char *otherwise)
{
    const char *value = ab_ctl_value(ctl, flag);
    return value == NULL ? otherwise : value;
}

ab_err ab_pki_days(const ab_ctl *ctl, int64_t otherwise, int64_t *out, ab_error *err)
{
    const char *given = ab_ctl_value(ctl, "days");
    uint64_t days = (uint64_t)otherwise;
    if (given != NULL &&
        (ab_str_to_u64(ab_str_of(given), &days) != AB_ERR_OK || days == 0 || days > DAYS_MAX))
        return ab_fail(err, AB_ERR_INVALID, "--days: \"%s\" is not a whole number from 1 to %d",
                       given, DAYS_MAX);
    *out = (int64_t)days;
    return AB_ERR_OK;
}

ab_err ab_pki_print(ab_str text, ab_error *err)
{
    if (fwrite(text.ptr, 1, text.len, stdout) == text.len && fflush(stdout) == 0)
        return AB_ERR_OK;
    return ab_fail(err, AB_ERR_IO, "cannot write to standard output");
}

ab_err ab_pki_print_secret(const ab_ctl *ctl, ab_str cert, ab_str key, ab_str ca, ab_error *err)
{
    ab_buf text = ab_buf_secret_up_to(AB_PKI_TEXT_MAX);
    ab_pki_manifest m = {.name = ab_ctl_value(ctl, "kubernetes-secret"),
                         .namespace_name = ab_pki_value(ctl, "namespace", "argocd"),
                         .cert = cert,
                         .key = key,
                         .ca = ca};
    ab_err e = ab_pki_manifest_secret(&m, &text, err);
    if (e == AB_ERR_OK)
        e = ab_pki_print(ab_buf_str(&text), err);
    ab_buf_wipe(&text);
    return e;
}

int ab_pki_end(ab_err code, const ab_error *err)
{
    if (code == AB_ERR_OK)
        return AB_CTL_OK;
    int status = AB_CTL_FAILED;
    if (code == AB_ERR_INVALID)
        status = AB_CTL_USAGE;
    else if (code == AB_ERR_UNAVAILABLE || code == AB_ERR_TIMEOUT)
        status = AB_CTL_UNREACHABLE;
    return ab_ctl_fail(status, "%s", err->text[0] == '\0' ? ab_err_text(code) : err->text);
}
