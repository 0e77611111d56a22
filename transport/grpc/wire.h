/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages of argocd-agent's services as bytes (schema/proto/argocd_agent.proto). They are few,
 * flat, and carry passwords, tokens and large events: so they are read in place, without a copy.
 * Reading is tolerant: fields that are unknown are passed over.
 */
#pragma once

#include "event/event.h"

/* Paths of the services that both ends speak. */
#define AB_GRPC_AUTHENTICATE "/authapi.Authentication/Authenticate"
#define AB_GRPC_REFRESH      "/authapi.Authentication/RefreshToken"
#define AB_GRPC_VERSION      "/versionapi.Version/Version"
#define AB_GRPC_SUBSCRIBE    "/eventstreamapi.EventStream/Subscribe"
#define AB_GRPC_PUSH         "/eventstreamapi.EventStream/Push"
#define AB_GRPC_PING         "/eventstreamapi.EventStream/Ping"

/* Metadata: the access token; and what an argobus peer says of itself, which others do not. */
#define AB_GRPC_META_TOKEN   "authorization"
#define AB_GRPC_META_VERSION "argobus-version"

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
/** RefreshTokenRequest and VersionResponse: one field of text. */
void ab_grpc_write_text(ab_str text, ab_buf *out);
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

/* One event that is acknowledged, of a list of them: argobus's own, field after field. */
typedef struct {
    uint64_t epoch; /* its writerepoch; is told when it is another one than the last */
    uint64_t version;
} ab_grpc_ack;

/** Append one. @param last  the one before it; zeroed for the first */
void ab_grpc_write_ack(const ab_grpc_ack *ack, const ab_grpc_ack *last, ab_buf *out);
/**
 * Read on in a list.
 *
 * @param ack    the last one that was found, zeroed at first; becomes the next
 * @param found  whether it is one; else it is a part of the next, or unknown
 * @return PARSE
 */
AB_MUST_USE ab_err ab_grpc_read_ack(ab_str *list, ab_grpc_ack *ack, bool *found);

/* Each fills `out` with texts that are borrowed from `bytes`; what is not there is empty.
 * @return PARSE; TOOBIG: too many credentials */
AB_MUST_USE ab_err ab_grpc_read_login(ab_str bytes, ab_grpc_login *out);
AB_MUST_USE ab_err ab_grpc_read_grant(ab_str bytes, ab_grpc_grant *out);
/* Of a StreamEvent, too: the event. */
AB_MUST_USE ab_err ab_grpc_read_text(ab_str bytes, ab_str *out);
