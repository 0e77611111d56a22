/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a credential plugin. Loop thread.
 */
#pragma once

#include "store/kubernetes/access/exec_credential.h"
#include "store/kubernetes/access/kubeconfig.h"

#include <uv.h>

typedef struct ab_kube_exec ab_kube_exec;

/** OK: `credential` is the upcall's, to take apart. Else as ab_kube_credential_read; TIMEOUT. */
typedef void (*ab_kube_exec_done)(void *arg, ab_err code, ab_kube_credential *credential,
                                  const ab_error *err);

/** Run the plugin, for `limit_ms` at most. `done` once, later. @return UNAVAILABLE: it cannot be
 * started; NOMEM */
AB_MUST_USE ab_err ab_kube_exec_start(uv_loop_t *loop, const ab_kubeconfig *config,
                                      uint64_t limit_ms, ab_kube_exec_done done, void *arg,
                                      ab_kube_exec **out, ab_error *err);
/** End it without its upcall; what it holds goes once the loop has closed the handles. */
void ab_kube_exec_cancel(ab_kube_exec *run);
