/* SPDX-License-Identifier: Apache-2.0
 *
 * What the operator may ask of a running principal, over its control socket.
 */
#pragma once

#include "services/principal/state.h"

/** Listen to the operator, where the configuration says so. @return UNAVAILABLE, NOMEM */
AB_MUST_USE ab_err ab_operator_listen(service *s, ab_error *err);
