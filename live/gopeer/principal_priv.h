/* SPDX-License-Identifier: Apache-2.0
 *
 * What argocd-agent's principal has asked, for the files that make it up:
 *
 *   principal.c           life, and the session with the spoke
 *   principal_send.c      what is asked of the spoke, and sent to the principal
 *   principal_resource.c  requests to the Kubernetes API
 *   principal_redis.c     keys and channels of redis
 */
#pragma once

#include "base/core/list.h"
#include "base/core/map.h"
#include "live/gopeer/loop.h"
#include "live/gopeer/principal.h"
#include "live/gopeer/wire.h"
#include "live/lane/hub.h"
#include "schema/attributes.h"
#include "schema/catalogue.h"

/* The only agent that the hub here knows. */
#define AB_GOPEER_PRINCIPAL_NAME "principal"

struct ab_gopeer_principal {
    ab_gopeer_principal_env env;
    ab_gopeer_loop *loop;
    ab_live_hub *hub;
    bool connected;
    ab_map *asked;    /* that are under way, by id: a lost acknowledgement repeats a request */
    ab_link channels; /* that are subscribed to */
    ab_link waiting;  /* events that the transport has not taken */
    size_t waiting_bytes;
    uv_timer_t *tick; /* frees itself */
};

/* principal_send.c */
/** Ask the spoke, with nothing after `request` unless `more`. @return as ab_live_hub_request */
AB_MUST_USE ab_err ab_gopeer_principal_ask(ab_gopeer_principal *p, const ab_live_request *request,
                                           const ab_live_handler *handler, void *arg,
                                           ab_live_stream **out, ab_error *err);
/** Send a response to the request of this id. */
void ab_gopeer_principal_respond(ab_gopeer_principal *p, ab_target target, ab_type type,
                                 const char *id, ab_str data);

/** What waits to be sent is sent no more. */
void ab_gopeer_principal_forget(ab_gopeer_principal *p);

/* principal_resource.c */
/** A resource request. */
void ab_gopeer_principal_take_resource(ab_gopeer_principal *p, const char *id, ab_str data);

/* principal_redis.c */
/** A request of the redis proxy. */
void ab_gopeer_principal_take_redis(ab_gopeer_principal *p, const char *id, ab_str data);
/** Time has passed: ask again for channels that were lost, and end those that nobody pings for. */
void ab_gopeer_principal_check_channels(ab_gopeer_principal *p);
/** End all subscriptions. */
void ab_gopeer_principal_end_channels(ab_gopeer_principal *p);
