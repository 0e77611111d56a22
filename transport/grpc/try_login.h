/* SPDX-License-Identifier: Apache-2.0
 *
 * An agent's login by itself, for who wants to know whether it works. It opens no stream, and so
 * takes nothing from an agent of that name that runs: the principal serves whoever opens a stream.
 */
#pragma once

#include "transport/transport.h"

#define AB_GRPC_VERSION_TEXT 128

/**
 * Connect, log in, ask whether the agent is served, and close. Waits, 15 s at most: not for a
 * program that has anything else to do.
 *
 * Only an argobus principal says whether it serves the agent: it renews no login of another. With
 * registration, a login of an agent that is unknown registers it, as its own first one would.
 *
 * @param env      an agent's; its loop is run, and runs nothing else; no events are told
 * @param version  what the principal says of itself
 * @return CONFIG; UNAVAILABLE, TIMEOUT: no connection, or it broke; DENIED: refused, in the words
 * of the principal; NOTFOUND: the login is good, but the agent is not served; NOMEM
 */
AB_MUST_USE ab_err ab_grpc_try_login(const ab_transport_env *env,
                                     char version[AB_GRPC_VERSION_TEXT], ab_error *err);
