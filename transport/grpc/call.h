/* SPDX-License-Identifier: Apache-2.0
 *
 * One call that an agent makes, whatever it asks for: who calls, and the end.
 */
#pragma once

#include "transport/grpc/grpc_priv.h"

/* One call that was taken on. It lives until the call is over and no login is under way for it. */
struct ab_grpc_call {
    TAILQ_ENTRY(ab_grpc_call) at;
    ab_grpc *grpc;
    ab_rpc_call *call; /* NULL: it is over */
    const ab_rpc_peer *peer;
    char *texts; /* copies of the metadata, which authentication asks for again */
    ab_rpc_field *metadata;
    size_t metadata_count;
    bool asked;                       /* unary: the request has come */
    bool checking;                    /* authentication is at work */
    ab_grpc_link *link;               /* of all but unary calls: ab_grpc_call_join */
    ab_compat *compat;                /* of a stream of an agent that is not argobus */
    bool paused;                      /* of a stream */
    LIST_HEAD(, ab_grpc_call) pushes; /* of a stream: calls of Push that say more on it */
    struct ab_grpc_call *onto;        /* of a push: that stream, as long as it is there */
    LIST_ENTRY(ab_grpc_call) pushes_at;
    uint32_t received; /* of a push: events */
    ab_side side;      /* of a side call, with what follows */
    ab_side_kind kind;
    int64_t first_by_ms; /* until its first message has come; else 0 */
    LIST_ENTRY(ab_grpc_call) side_at;
    ab_auth_identity identity;
};

/** Take a call on. @param handler  borrowed; gets the ab_grpc_call as its argument
 *  @return NULL when out of memory, and the call was refused */
ab_grpc_call *ab_grpc_call_accept(ab_grpc *g, ab_rpc_call *call, const ab_rpc_request *request,
                                  const ab_rpc_handler *handler);
/** Free it, unless it goes on or a login is under way for it. */
void ab_grpc_call_free(ab_grpc_call *c);
/** It has to do with this link until it is over. */
void ab_grpc_call_join(ab_grpc_call *c, ab_grpc_link *l);
/** ab_rpc_handler.on_end of a call that is nothing but a call. */
void ab_grpc_call_on_end(void *arg, ab_rpc_status status, ab_str text);
/** What authentication is told of the peer. Borrows from the call. */
ab_auth_peer ab_grpc_call_describe(ab_grpc_call *c);
/** Whose access token it is: sets `identity`. @return false when the call was refused */
bool ab_grpc_call_verify(ab_grpc_call *c);
/** Further messages of a unary call are passed over, and one that is too large is refused.
 *  @return false: this is such a one */
bool ab_grpc_call_is_first(ab_grpc_call *c, ab_str bytes);
/** Tell the peer that we are argobus. An agent must know before it opens a stream.
 *  @return as ab_rpc_respond */
AB_MUST_USE ab_err ab_grpc_call_introduce(const ab_grpc_call *c);
/** Answer with what the buffer holds, and release it. */
void ab_grpc_call_reply(const ab_grpc_call *c, ab_buf *response);

/* login.c */
extern const ab_rpc_handler ab_grpc_login_authenticate;
extern const ab_rpc_handler ab_grpc_login_refresh;

/* stream.c */
extern const ab_rpc_handler ab_grpc_stream_subscribe;
extern const ab_rpc_handler ab_grpc_stream_push;
/** Begin the stream of an agent that was verified, or refuse the call. */
void ab_grpc_stream_open(ab_grpc_call *c);
/** The same for a call of Push, which says more on the stream that its agent has open. */
void ab_grpc_stream_open_push(ab_grpc_call *c);
/** Renew the identities of streams, and of the calls beside them, that end by then (seconds since
 * 1970), or end them. */
void ab_grpc_stream_renew(ab_grpc *g, int64_t by_s);
/** The principal stops: end all of these. */
void ab_grpc_stream_end_all(ab_grpc *g);

/* live.c */
extern const ab_rpc_handler ab_grpc_live_frames;
/** Begin the call for live events of an agent that was verified and has a stream, or refuse it. */
void ab_grpc_live_open(ab_grpc_call *c);

/* side.c */
extern const ab_rpc_handler ab_grpc_side_call;
/** Begin a side call of an agent that was verified and has a stream, or refuse it. */
void ab_grpc_side_open_logs(ab_grpc_call *c);
void ab_grpc_side_open_terminal(ab_grpc_call *c);
/** It will bring nothing more: who has it, if anybody does, is told. */
void ab_grpc_side_lost(ab_grpc_call *c, const char *why);
/** Time has passed: refuse those whose first message does not come. */
void ab_grpc_side_tick(ab_grpc *g);
