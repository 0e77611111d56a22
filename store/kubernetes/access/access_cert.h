/* SPDX-License-Identifier: Apache-2.0
 *
 * Are certificates usable?
 */
#pragma once

#include "base/core/buf.h"

/** @return CONFIG: no certificate, a key that does not belong to it, an encrypted key; NOMEM
 *  @param until_s  when the certificate expires, seconds since 1970 */
AB_MUST_USE ab_err ab_kube_check_pair(ab_str cert, ab_str key, int64_t *until_s, ab_error *err);
/** @return CONFIG unless there is at least one certificate; NOMEM */
AB_MUST_USE ab_err ab_kube_check_ca(ab_str ca, ab_error *err);
