/* SPDX-License-Identifier: Apache-2.0
 *
 * What is read out of texts that name a version.
 */
#pragma once

#include "base/core/buf.h"

/** Whether Kubernetes is older than what argobus supports, by a text like "v1.36.0-eks-a5565ad".
 * False also when the text is none. */
bool ab_version_kubernetes_is_old(ab_str version);
/** The tag in "registry:5000/argocd:v3.5.0@sha256:...". @return borrowed; absent: there is none */
ab_str ab_version_image_tag(ab_str image);
