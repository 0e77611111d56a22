/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages of argocd-agent's services (schema/proto/argocd_agent.proto), as the transport wants
 * them; protobuf-c reads and writes the bytes. Reading is tolerant: fields that are unknown are
 * passed over.
 */
#pragma once

#include "event/event.h"
#include "schema/protobuf.h"

struct Io__Cloudevents__V1__CloudEvent; /* schema/proto/cloudevents.pb-c.h */

/* Paths of the services that both ends speak. */
#define AB_GRPC_AUTHENTICATE "/authapi.Authentication/Authenticate"
#define AB_GRPC_REFRESH      "/authapi.Authentication/RefreshToken"
#define AB_GRPC_VERSION      "/versionapi.Version/Version"
#define AB_GRPC_SUBSCRIBE    "/eventstreamapi.EventStream/Subscribe"
#define AB_GRPC_PUSH         "/eventstreamapi.EventStream/Push"
#define AB_GRPC_PING         "/eventstreamapi.EventStream/Ping"
/* Side calls: an agent opens one for each log and each terminal. */
#define AB_GRPC_STREAM_LOGS     "/principal.apis.logstreamapi.LogStreamService/StreamLogs"
#define AB_GRPC_STREAM_TERMINAL "/terminalstreamapi.TerminalStreamService/StreamTerminal"
/* Ours: live events, in both directions; an agent opens it when its principal asks. */
#define AB_GRPC_LIVE_FRAMES "/argobus.Live/Frames"

/* Metadata: the access token; and what an argobus peer says of itself, which others do not. */
#define AB_GRPC_META_TOKEN   "authorization"
#define AB_GRPC_META_VERSION "argobus-version"
/* Of AB_GRPC_LIVE_FRAMES: the instance that the agent's hello names. */
/* Of Authenticate: the labels of an agent (schema/labels.h). */
#define AB_GRPC_META_LABELS   "argobus-labels"
#define AB_GRPC_META_INSTANCE "argobus-instance"

/* Larger requests and answers of the unary calls are refused unread. */
#define AB_GRPC_UNARY_MAX       65536
#define AB_GRPC_CREDENTIALS_MAX 16

typedef struct {
    ab_str name;
    ab_str value;
} ab_grpc_credential;

typedef struct {
    ab_str method;
    ab_str mode;
    ab_str version;
    ab_str namespace; /* of the agent */
    ab_grpc_credential credentials[AB_GRPC_CREDENTIALS_MAX];
    size_t credential_count;
} ab_grpc_login;

typedef struct {
    ab_str access;
    ab_str refresh;
    ab_str version;
    ab_str namespace; /* of the principal */
} ab_grpc_grant;

/* Each appends to `out`; failures show in ab_buf_status. Empty texts are left out, as proto3 does.
 */
void ab_grpc_write_login(const ab_grpc_login *login, ab_buf *out);
void ab_grpc_write_grant(const ab_grpc_grant *grant, ab_buf *out);
void ab_grpc_write_refresh(ab_str token, ab_buf *out);
void ab_grpc_write_version(ab_str version, ab_buf *out);
/** PushSummary: how many events have come, at most INT32_MAX of them. */
void ab_grpc_write_push_summary(uint32_t received, ab_buf *out);

/**
 * StreamEvent, all but the bytes of the event's data, which end it.
 *
 * @param out   is overwritten
 * @param head  borrowed from `out`
 * @return what `out` reports, NOMEM
 */
AB_MUST_USE ab_err ab_grpc_write_event(const ab_event *event, ab_buf *out, ab_str *head);

/** Append the whole StreamEvent of a message. */
void ab_grpc_write_message(struct Io__Cloudevents__V1__CloudEvent *event, ab_buf *out);

/** Read a StreamEvent.
 *  @param out  one reference
 *  @return PARSE, INVALID, TOOBIG, NOMEM */
AB_MUST_USE ab_err ab_grpc_read_event(ab_str bytes, ab_event **out, ab_error *err);

/** An attribute that is none of a CloudEvent's own: acknowledgements repeat them. */
bool ab_grpc_is_extension(ab_str name);

/* Acknowledged events of one writer: what two ends of argobus tell each other in one message. */
typedef struct {
    uint64_t epoch;           /* its writerepoch */
    const uint64_t *versions; /* borrowed */
    size_t count;
} ab_grpc_acks;

/** Append the list. */
void ab_grpc_write_acks(const ab_grpc_acks *acks, ab_buf *out);
/** @param arena  initialised here, to be released whatever is returned; the versions lie in it
 *  @return PARSE, TOOBIG, NOMEM */
AB_MUST_USE ab_err ab_grpc_read_acks(ab_str bytes, ab_pb_arena *arena, ab_grpc_acks *out);

/* Each initialises the arena, which is to be released whatever is returned (and wiped after
 * passwords and tokens), and fills `out` with texts that lie in it; what is not there is empty.
 * @return PARSE; TOOBIG: too many credentials or other parts; NOMEM */
AB_MUST_USE ab_err ab_grpc_read_login(ab_str bytes, ab_pb_arena *arena, ab_grpc_login *out);
AB_MUST_USE ab_err ab_grpc_read_grant(ab_str bytes, ab_pb_arena *arena, ab_grpc_grant *out);
AB_MUST_USE ab_err ab_grpc_read_refresh(ab_str bytes, ab_pb_arena *arena, ab_str *token);
AB_MUST_USE ab_err ab_grpc_read_version(ab_str bytes, ab_pb_arena *arena, ab_str *version);
