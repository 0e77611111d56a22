/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands that make certificates, show them and revoke them. They need no principal, and only
 * those with --configmap need a cluster: they read and write files, or print manifests for kubectl.
 */
#pragma once

#include "services/ctl/command.h"

extern const ab_ctl_command ab_ctl_pki_init;
extern const ab_ctl_command ab_ctl_pki_issue;
extern const ab_ctl_command ab_ctl_pki_renew;
extern const ab_ctl_command ab_ctl_pki_inspect;
extern const ab_ctl_command ab_ctl_pki_propagate;
extern const ab_ctl_command ab_ctl_revoke;
extern const ab_ctl_command ab_ctl_unrevoke;
extern const ab_ctl_command ab_ctl_revoked;
