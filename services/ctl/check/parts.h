/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a check. Each adds what it finds, good and bad; what cannot be asked is a finding
 * too, and ends that part only.
 */
#pragma once

#include "services/ctl/check/findings.h"
#include "services/ctl/check/setup.h"

/** The program's certificate: readable, its key, dates, usage, name, chain. */
void ab_check_certificates(const ab_setup *s, ab_findings *out);
/** The API server: reachable, its clock and version, Argo CD's CRDs, version and
 * settings, and every right. */
void ab_check_kubernetes(const ab_setup *s, ab_findings *out);
/** The brokers: reachable, their versions, the topics of this agent, or of the configured agents,
 * and every right on topics and groups. */
void ab_check_kafka(const ab_setup *s, ab_findings *out);
/** The login at a principal over gRPC, without opening the agent's stream. */
void ab_check_login(const ab_setup *s, ab_findings *out);
