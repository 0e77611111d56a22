/* SPDX-License-Identifier: Apache-2.0
 *
 * What argocd-agent's principal has asked, for the files that make it up:
 *
 *   principal.c  life, and the session with the spoke
 *   send.c       what is asked of the spoke, and sent to the principal
 *   reply.c      a request that is answered by a side call
 *   logs.c       logs
 *   resource.c   requests to the Kubernetes API
 *   redis.c      keys and channels of redis
 *   terminal.c   terminals
 */
#pragma once

#include "base/core/list.h"
#include "base/core/map.h"
#include "live/gopeer/loop.h"
#include "live/gopeer/principal/principal.h"
#include "live/gopeer/wire/side.h"
#include "live/gopeer/wire/wire.h"
#include "live/lane/hub.h"
#include "live/resource/messages.h"
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
    ab_map *answered; /* that ended, oldest first: a late acknowledgement repeats one, too */
    ab_link channels; /* that are subscribed to */
    ab_link held;     /* logs whose call was lost */
    ab_link waiting;  /* events that the transport has not taken */
    size_t waiting_bytes;
    uv_timer_t *tick; /* frees itself */
};

/* send.c */
/** Whether the request of this id is under way, or was answered lately. */
bool ab_gopeer_principal_knows(const ab_gopeer_principal *p, ab_str id);
/** The request of this id is under way no more. */
void ab_gopeer_principal_finish(ab_gopeer_principal *p, const char *id);
/** Ask the spoke, with nothing after `request` unless `more`. @return as ab_live_hub_request */
AB_MUST_USE ab_err ab_gopeer_principal_ask(ab_gopeer_principal *p, const ab_live_request *request,
                                           const ab_live_handler *handler, void *arg,
                                           ab_live_stream **out, ab_error *err);
/** Send a response to the request of this id. */
void ab_gopeer_principal_respond(ab_gopeer_principal *p, ab_target target, ab_type type,
                                 const char *id, ab_str data);

/** What waits to be sent is sent no more. */
void ab_gopeer_principal_forget(ab_gopeer_principal *p);

/* A request that is answered by a side call. It ends with either: the stream to the spoke, or the
 * call. The first member of what is made of it. */
typedef struct ab_gopeer_reply {
    ab_gopeer_principal *p;
    const struct ab_gopeer_reply_use *use;
    ab_live_stream *stream; /* NULL: not begun, or over */
    ab_side *side;          /* NULL: not begun, or over */
    char id[64];
    int status;               /* of the spoke's answer; 0: none came */
    ab_buf refusal;           /* its body, when it is not 200 */
    ab_resource_messages out; /* messages that the call has not taken */
    size_t owed;              /* bytes of the stream that they stand for */
    bool ends;                /* nothing follows what is in `out` */
    bool broken;              /* a message could not be made */
} ab_gopeer_reply;

/* What is made of it. */
typedef struct ab_gopeer_reply_use {
    ab_side_kind kind;
    /** Bytes of the spoke's answer that is 200. */
    void (*on_data)(ab_gopeer_reply *r, ab_str bytes);
    /** A message of the principal; NULL: it says nothing. */
    void (*on_message)(ab_gopeer_reply *r, const ab_gopeer_side_message *m);
    /** The spoke takes more; NULL: it is sent nothing. */
    void (*on_room)(ab_gopeer_reply *r);
    /** All has come from the spoke: put what is still to be sent; NULL: nothing is. */
    void (*on_end)(ab_gopeer_reply *r);
    /** Its call was lost, or the connection. @return true: it goes on later, by
     * ab_gopeer_reply_open; false, and NULL: it is freed */
    bool (*on_lost)(ab_gopeer_reply *r);
    /** Free it; ab_gopeer_reply_fini is a part of that. */
    void (*free)(ab_gopeer_reply *r);
} ab_gopeer_reply_use;

/* reply.c */
/** Begin the side call. @return as ab_transport_open_side; NOMEM. Unless OK, use->free */
AB_MUST_USE ab_err ab_gopeer_reply_init(ab_gopeer_reply *r, const ab_gopeer_reply_use *use,
                                        ab_gopeer_principal *p, const char *id);
/** Begin another side call, after on_lost. @return as ab_transport_open_side */
AB_MUST_USE ab_err ab_gopeer_reply_open(ab_gopeer_reply *r);
/** Forget the call and the stream, and what is on its way. */
void ab_gopeer_reply_close(ab_gopeer_reply *r);
void ab_gopeer_reply_fini(ab_gopeer_reply *r);
/** Ask the spoke; where that cannot be, the principal is told. @return false: it may be gone */
bool ab_gopeer_reply_ask(ab_gopeer_reply *r, const ab_live_request *request);
/** Send a message; its uuid is set here. */
void ab_gopeer_reply_put(ab_gopeer_reply *r, ab_gopeer_side_message m);
/** Send the last message, which says so. @param error  empty: all went well. It may be gone then */
void ab_gopeer_reply_end(ab_gopeer_reply *r, ab_str error);
/** Send what waits. It may be gone then. */
void ab_gopeer_reply_flush(ab_gopeer_reply *r);

/* logs.c */
/** A request for a log. */
void ab_gopeer_principal_take_logs(ab_gopeer_principal *p, const char *id, ab_str data);
/** Go on with the logs whose call was lost; those for which that is too late are forgotten. */
void ab_gopeer_principal_resume_logs(ab_gopeer_principal *p);
/** Forget them. */
void ab_gopeer_principal_drop_logs(ab_gopeer_principal *p);

/* terminal.c */
/** A request for a terminal. */
void ab_gopeer_principal_take_terminal(ab_gopeer_principal *p, const char *id, ab_str data);

/* resource.c */
/** A resource request. */
void ab_gopeer_principal_take_resource(ab_gopeer_principal *p, const char *id, ab_str data);

/* redis.c */
/** A request of the redis proxy. */
void ab_gopeer_principal_take_redis(ab_gopeer_principal *p, const char *id, ab_str data);
/** Time has passed: ask again for channels that were lost, and end those that nobody pings for. */
void ab_gopeer_principal_check_channels(ab_gopeer_principal *p);
/** End all subscriptions. */
void ab_gopeer_principal_end_channels(ab_gopeer_principal *p);
