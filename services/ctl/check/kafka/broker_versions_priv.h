/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "services/ctl/check/findings.h"
#include "services/ctl/check/kafka/api_versions.h"

/** Add what this answer of a broker says. @param where  the broker */
void ab_broker_versions_judge(const ab_api_versions *v, const char *where, ab_findings *out);
