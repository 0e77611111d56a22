/* SPDX-License-Identifier: Apache-2.0
 *
 * The labels that this agent brings when it registers itself: option agent.labels.
 */
#pragma once

#include "base/config/config.h"
#include "base/core/buf.h"

/** As one text (schema/labels.h). @return CONFIG naming the label, NOMEM */
AB_MUST_USE ab_err ab_agent_labels_write(const ab_config *config, ab_buf *out, ab_error *err);
/** Whether they are good. @return as ab_agent_labels_write */
AB_MUST_USE ab_err ab_agent_labels_check(const ab_config *config, ab_error *err);
