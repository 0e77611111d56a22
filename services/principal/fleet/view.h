/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of the fleet as JSON, made when somebody asks: argobusctl, or an HTTP endpoint. Figures
 * of one agent cost the same whatever is pending; only its objects, which are written for one
 * agent, cost as much as there are. Nothing is kept. Loop thread.
 *
 * The fleet is {"principal":PRINCIPAL,"agents":[AGENT,...]}, one agent
 * {"principal":PRINCIPAL,"agent":AGENT,"objects":[OBJECT,...],"objects_left_out":N}.
 *
 * PRINCIPAL
 *   version, transport ("kafka", "grpc"), mapping ("namespace", "destination")
 *   uid         of the installation; null until it is known
 *   started     when this process began; times are RFC 3339 in UTC
 *   ready, why  as /readyz; why is null when it is ready
 * AGENT
 *   name
 *   mode          "managed", "autonomous": what it is to be; null while that is not known
 *   claimed_mode  what it says it is; null while it has not said
 *   connected     whether it is heard now
 *   since         when it connected, or disconnected; null: not heard since the principal started
 *   version       of argobus there, or "argocd-agent"; null while it is not known
 *   pending       {"down":COUNT,"up":COUNT}: changes that are not in effect yet; COUNT is
 *                 {"count":N,"oldest":TIME,"age_seconds":S}, since when and how long
 *                 the oldest of them waits, TIME null when N is 0; or null while it is not known
 *   held          {"count":N,"token":T}: deletions that are held back; null when none is. T
 *                 confirms them as annotation argobus.io/confirm-deletions; null: there is none
 *   applications  {"count":N,"sync":{...},"health":{...}}: how many stand at the control plane, and
 *                 how many of them with each word of Argo CD's; words that none has are left out
 *   secrets_waiting  how many Secrets wait for its certificate
 *   refused       why nothing is sent to it or taken from it; null when it is served
 *   certificate   {"sha256":ID,"expires":TIME} of the one that Secrets are sealed to, TIME null
 *                 where it cannot be read; null when there is none
 * OBJECT: a change that is not in effect, the oldest first in each direction
 *   direction     "down" to the agent, "up" from it
 *   kind, namespace, name  as its sender calls it; of a command kind is "command", namespace null
 *                 and name its id
 *   action        "update" or "delete"; of a command "command"
 *   state         "unsent", "unacknowledged", "received" (and not written yet),
 *                 "deferred" (acknowledged, and cannot be put into effect), "unanswered" (a
 *                 command), "waits-for-certificate", "held" (a deletion)
 *   reason        the same in words, with what else is known
 *   since         when that began, as far as known; null when it is not known
 *   age_seconds   how long that has been so; null when it is not known
 */
#pragma once

#include "services/principal/state.h"

/* Most objects that are written, so that the loop is not held up; more are counted. */
#define AB_FLEET_OBJECTS_MAX 2000

/** Append the state of all agents. Failures stick in the buffer. */
void ab_fleet_view_write(const service *s, ab_buf *out);
/** Append the state of one agent and of its objects. @return NOTFOUND, and nothing is written */
AB_MUST_USE ab_err ab_fleet_view_write_agent(const service *s, ab_str agent, ab_buf *out);
/** Append PRINCIPAL. */
void ab_fleet_view_write_principal(const service *s, ab_buf *out);
/** Append AGENT without age_seconds, so that the text changes only when something happens; nothing
 * when it is not served. */
void ab_fleet_view_write_figures(const service *s, ab_str agent, ab_buf *out);
