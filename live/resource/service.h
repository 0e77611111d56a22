/* SPDX-License-Identifier: Apache-2.0
 *
 * What both ends of live access to an agent's Kubernetes API must agree on, beside what is written.
 */
#pragma once

/* Services as the streams name them. */
#define AB_RESOURCE_SERVICE      "kubernetes"
#define AB_RESOURCE_EXEC_SERVICE "exec"

/* Bytes of a request's body; an API server takes 3 MiB. */
#define AB_RESOURCE_BODY_MAX (3u * 1024 * 1024)
