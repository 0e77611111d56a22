/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may look at the fleet page, and at which address it is served: the options fleet.* and what
 * follows from them (page.h). Loop thread.
 */
#pragma once

#include "live/resource/identity.h"
#include "net/address.h"
#include "net/http/https_server.h"
#include "services/principal/page/page.h"

typedef struct {
    ab_address at;
    ab_tls tls;         /* borrows from the configuration */
    const char *tokens; /* file; NULL: none */
    bool open;          /* whoever is on this machine may look */
} ab_page_access;

/** @return CONFIG naming the option and what to set */
AB_MUST_USE ab_err ab_page_access_read(const ab_config *config, ab_page_access *out, ab_error *err);
/**
 * May this request see the fleet?
 * @param ids  of the tokens' file; NULL: none
 * @return 200, or the status to refuse it with
 */
int ab_page_access_judge(const ab_page_access *access, ab_resource_identities *ids,
                         const ab_https_info *info);
