/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/commands.h"

#include "services/ctl/agent/agent.h"
#include "services/ctl/check/check.h"
#include "services/ctl/complete.h"
#include "services/ctl/fleet/fleet.h"
#include "services/ctl/pki/pki.h"
#include "services/ctl/records/records.h"

static const ab_ctl_command *const rows[] = {
    &ab_ctl_agent_list,    &ab_ctl_agent_inspect, &ab_ctl_agent_create, &ab_ctl_agent_delete,
    &ab_ctl_lag,           &ab_ctl_pending,       &ab_ctl_deletions,    &ab_ctl_resync,
    &ab_ctl_pki_init,      &ab_ctl_pki_issue,     &ab_ctl_pki_renew,    &ab_ctl_pki_inspect,
    &ab_ctl_pki_propagate, &ab_ctl_revoke,        &ab_ctl_unrevoke,     &ab_ctl_revoked,
    &ab_ctl_check,         &ab_ctl_connect,       &ab_ctl_records,      &ab_ctl_completion,
};

const ab_ctl_commands ab_ctl_all_commands = {rows, sizeof(rows) / sizeof(rows[0])};
