/* SPDX-License-Identifier: Apache-2.0
 *
 * argocd-agent's list of blocked certificates: the keys of a ConfigMap in the principal's
 * namespace are their SHA-256 fingerprints, the values mean nothing. It counts beside the files of
 * grpc.auth.revoked, secrets.revoked and live.revoked: for logins over gRPC, for clients, for
 * sealed Secrets and for live access over Kafka. The store watches it as one of its kinds: agents
 * and clients are served only when it was read, or does not exist; what was read last stays in
 * force while it cannot be read. A key that is not a fingerprint is logged and blocks nothing; the
 * others count.
 *
 * Loop thread.
 */
#pragma once

#include "base/config/config.h"
#include "base/crypto/revoked.h"
#include "base/json/object.h"
#include "base/observe/log.h"

/* What it says. `log` is set, everything else zero-initialised: none is blocked. */
typedef struct {
    ab_log *log;
    ab_revoked revoked;
    bool awaited;     /* it has not been read: all certificates are blocked */
    size_t bad_count; /* keys that are not fingerprints */
    char bad[256];    /* the first of them, "": there is none */
} ab_blocklist;

/** Whether a listener for clients (live.resource, fleet) takes certificates. */
bool ab_blocklist_has_clients(const ab_config *config);
/** The name of the ConfigMap that the options say. @return NULL: none is to be read; borrowed from
 *  the configuration */
const char *ab_blocklist_name(const ab_config *config);
/** Whether the options are good. @return CONFIG naming the option */
AB_MUST_USE ab_err ab_blocklist_check(const ab_config *config, ab_error *err);
/** Is this object that ConfigMap? */
bool ab_blocklist_is(const ab_config *config, const ab_object *object);

/** Take what the ConfigMap says now; what cannot be taken is logged, and what was said before stays
 *  in force. @param config_map  NULL: there is none
 *  @return whether other certificates are blocked than before */
bool ab_blocklist_take(ab_blocklist *b, const ab_object *config_map);
/** Is the certificate of this fingerprint blocked? */
bool ab_blocklist_has(const ab_blocklist *b, const uint8_t fingerprint[AB_FINGERPRINT_BYTES]);
/** The same for others; `b` must outlive them. */
ab_revoked_ask ab_blocklist_ask(ab_blocklist *b);
void ab_blocklist_fini(ab_blocklist *b);
