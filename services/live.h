/* SPDX-License-Identifier: Apache-2.0
 *
 * What live access needs at both ends: the certificate that sessions are sealed with, whose the
 * other end's must be, and the transport's live lane.
 */
#pragma once

#include "base/crypto/certificate.h"
#include "base/crypto/revoked.h"
#include "live/lane/lane.h"
#include "services/service.h"

/* Zero-initialised: none. */
typedef struct {
    ab_service *service;
    ab_tls_context tls; /* when sealed */
    unsigned trusted;   /* its reloads, when sessions were looked at last */
    bool sealed;
    ab_identity_rule *identity; /* when sealed: how a name is read from a certificate */
    const char *principal;      /* AGENT: that the other end must have; PRINCIPAL: NULL */
    ab_revoked_file revoked;    /* when sealed: certificates that the other end may not show */
    ab_revoked_ask blocked;     /* likewise, beside that file */
    char off[256];              /* why there is no live access; "": there is */
    /** Take an event whose other end is an argocd-agent, or the principal of one; as
     * ab_live_lane_env.send. NOTFOUND: it is an argobus. NULL: none is an argocd-agent. */
    ab_err (*divert)(void *arg, const char *agent, ab_event *event, ab_sent done, void *done_arg);
    void *divert_arg;
} ab_service_live;

/** The options live.* that both daemons have. */
extern const ab_options ab_service_live_options;

/** Whether sessions could be sealed as the options say. @param agent  at an agent
 *  @return CONFIG naming the option, NOMEM */
AB_MUST_USE ab_err ab_service_live_check(const ab_config *config, bool agent, ab_error *err);
/**
 * Read the options. Where sessions cannot be sealed and must be, live access is off, which is
 * logged.
 * @param out  where it is, it stays; ab_service_live_fini in any case
 * @return CONFIG (live.* is set and cannot be used: says why), NOMEM
 */
AB_MUST_USE ab_err ab_service_live_init(ab_service_live *out, ab_service *service,
                                        const char *principal, ab_error *err);
void ab_service_live_fini(ab_service_live *l);
/** Read certificates, authorities and the list of revoked certificates again if their files have
 * changed; what cannot be read is logged and changes nothing. @return true: sessions may be open
 * that are not admitted any more */
bool ab_service_live_renew(ab_service_live *l);
/** Send an event of live access of an argocd-agent's wire; what becomes of it is not told. @return
 * as ab_transport_send */
AB_MUST_USE ab_err ab_service_live_send(ab_service_live *l, const char *agent, ab_event *event);
/** For the sessions of this end. @param source  borrowed */
ab_live_lane_env ab_service_live_env(ab_service_live *l, const char *source);
