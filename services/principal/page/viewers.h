/* SPDX-License-Identifier: Apache-2.0
 *
 * The browsers that follow the fleet by server-sent events (WHATWG HTML, section 9.2). Each is sent
 * what has changed since it was last sent something, as fast as it takes it; none waits for
 * another. While nobody looks, nothing is kept and no time is spent. Loop thread.
 *
 * Events, each with JSON: `principal`, an object; `begin`, all agents follow; `agents`, a list of
 * those that are new or have changed; `gone`, a list of names.
 */
#pragma once

#include "live/resource/identity.h"
#include "net/http/https_server.h"
#include "services/principal/page/page.h"

typedef struct ab_page_viewers ab_page_viewers;

/** @param source  copied @return NULL when out of memory */
ab_page_viewers *ab_page_viewers_new(uv_loop_t *loop, const ab_page_source *source);
/** After the server, which has ended all requests. NULL is allowed. The loop must be run
 * afterwards. */
void ab_page_viewers_free(ab_page_viewers *all);
/** From inside on_request: answer with the stream, until the token goes by which it was let in.
 *  @param authorization  with its token; absent: it was let in without one */
void ab_page_viewers_take(ab_page_viewers *all, ab_https_request *request,
                          ab_resource_identities *ids, ab_str authorization);
/** An agent is served from now on, or not any more. */
void ab_page_viewers_note(ab_page_viewers *all, ab_str agent, bool served);
