/* SPDX-License-Identifier: Apache-2.0
 *
 * What a new agent needs, as text: manifests, Helm values, a configuration. Buffers keep failures.
 */
#pragma once

#include "base/core/buf.h"
#include "services/ctl/agent/onboarding.h"

/** For the control plane: the agent's namespace (with namespace mapping), its cluster Secret. */
void ab_onboarding_put_control_plane(const ab_onboarding *o, ab_buf *out);
/** The same cluster Secret by its name only, for `kubectl delete`. */
void ab_onboarding_put_deleted(const char *namespace_name, const char *agent, ab_buf *out);
/** Values of the Helm chart for the agent. */
void ab_onboarding_put_values(const ab_onboarding *o, ab_buf *out);
/** A configuration for the agent on a plain host, with its certificate beside it. */
void ab_onboarding_put_config(const ab_onboarding *o, ab_buf *out);
/** Strimzi's KafkaTopics and KafkaUser: the same as deploy/kafka/strimzi/agent.yaml, but for a
 *  certificate that Strimzi has not issued. */
void ab_onboarding_put_strimzi(const ab_onboarding *o, ab_buf *out);
