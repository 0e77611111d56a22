/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/revocations.h"

#define OPTION "grpc.auth.revoked"

ab_err ab_revocations_open(ab_revocations *r, const ab_config *config, ab_error *err)
{
    if (!ab_blocklist_has_clients(config))
        return AB_ERR_OK;
    ab_err e = ab_revoked_file_open(ab_config_str(config, OPTION), &r->file, err);
    if (e == AB_ERR_OK)
        return e;
    ab_error_prefix(err, OPTION);
    return e == AB_ERR_NOMEM ? e : AB_ERR_CONFIG;
}

ab_err ab_revocations_check(const ab_config *config, ab_error *err)
{
    ab_revocations r = {0};
    ab_err e = ab_revocations_open(&r, config, err);
    ab_revocations_fini(&r);
    return e;
}

void ab_revocations_renew(ab_revocations *r)
{
    ab_error err = {0};
    bool changed = false;
    if (ab_revoked_file_renew(&r->file, &changed, &err) != AB_ERR_OK)
        AB_WARN(r->log, AUTH,
                "cannot read the revoked certificates of clients; still using the previous list",
                AB_KV("why", err.text));
    else if (changed)
        AB_INFO(r->log, AUTH, "revoked certificates of clients reloaded",
                AB_KV("count", r->file.list.count));
}

static bool has(void *arg, const uint8_t fingerprint[AB_FINGERPRINT_BYTES])
{
    const ab_revocations *r = arg;
    return ab_revoked_has(&r->file.list, fingerprint) ||
           ab_blocklist_has(r->blocklist, fingerprint);
}

ab_revoked_ask ab_revocations_ask(ab_revocations *r)
{
    return (ab_revoked_ask){has, r};
}

void ab_revocations_fini(ab_revocations *r)
{
    ab_revoked_file_fini(&r->file);
}
