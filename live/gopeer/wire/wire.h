/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON in argocd-agent's events of live access, as its Go structs are written: members that are
 * empty are left out where Go leaves them out, bytes are base64. Pure functions; any thread.
 */
#pragma once

#include "base/core/buf.h"
#include "base/core/error.h"
#include "live/resource/map.h"

/** Whether argocd-agent has a form for this request, but for PATCH types.
 *  @param status  the HTTP status to refuse it with when it has none
 *  @return UNSUPPORTED with the reason; OK */
AB_MUST_USE ab_err ab_gopeer_wire_check(const ab_resource_map *m, int *status, ab_error *err);
/** Append a resource request, one that ab_gopeer_wire_check has found good.
 *  @param method  "GET", "POST", "PATCH", "DELETE". @param body  may be empty
 *  @return INVALID: the query cannot be read; what the buffer says */
AB_MUST_USE ab_err ab_gopeer_wire_put_request(const char *uuid, ab_str method,
                                              const ab_resource_map *m, ab_str body, ab_buf *out,
                                              ab_error *err);
/** Read the response to one. @param resource  appended: the object, nothing when there is none
 *  @return PARSE: not such a response, or a status that is none; NOMEM, TOOBIG */
AB_MUST_USE ab_err ab_gopeer_wire_read_response(ab_str data, int *status, ab_buf *resource,
                                                ab_error *err);

/* A resource request that was read. */
typedef struct {
    const char *method; /* a literal */
    ab_buf target;      /* path and query, to be read as any other */
    ab_buf body;
    bool is_groups; /* all groups of the API, the core group too */
} ab_gopeer_asked;

/** Read a resource request. @param out  ab_gopeer_wire_free_asked in any case
 *  @return PARSE, INVALID: not such a request; TOOBIG, NOMEM */
AB_MUST_USE ab_err ab_gopeer_wire_read_asked(ab_str data, ab_gopeer_asked *out, ab_error *err);
void ab_gopeer_wire_free_asked(ab_gopeer_asked *asked);
/** Append the response to one; the buffer keeps a failure: INVALID when `resource` is no UTF-8.
 *  @param resource  the object; absent: none */
void ab_gopeer_wire_put_response(const char *uuid, int status, ab_str resource, ab_buf *out);

typedef enum {
    AB_GOPEER_REDIS_GET,
    AB_GOPEER_REDIS_SUBSCRIBE,
    AB_GOPEER_REDIS_PING,
    AB_GOPEER_REDIS_MESSAGE, /* comes unasked, after a subscription */
} ab_gopeer_redis_what;

typedef struct {
    ab_gopeer_redis_what what; /* that it answers */
    bool hit;                  /* GET: there is a value */
    char error[256];           /* "" = none */
} ab_gopeer_redis_response;

/** Append a request of the redis proxy, any but a MESSAGE; the buffer keeps a failure.
 *  @param key  or channel; not of a PING */
void ab_gopeer_wire_put_redis(const char *uuid, const char *connection, ab_gopeer_redis_what what,
                              ab_str key, ab_buf *out);
/** Read a response. @param value  appended: that of a GET
 *  @return PARSE: not such a response; NOMEM, TOOBIG */
AB_MUST_USE ab_err ab_gopeer_wire_read_redis(ab_str data, ab_gopeer_redis_response *out,
                                             ab_buf *value, ab_error *err);

/* A request of the redis proxy that was read. */
typedef struct {
    ab_gopeer_redis_what what; /* any but MESSAGE */
    char connection[64];
    char key[1025]; /* or channel */
} ab_gopeer_redis_asked;

/** Read a request. @return PARSE, INVALID: not such a request; TOOBIG: the key; NOMEM */
AB_MUST_USE ab_err ab_gopeer_wire_read_redis_asked(ab_str data, ab_gopeer_redis_asked *out,
                                                   ab_error *err);
/** Append a response; the buffer keeps a failure. @param value  where `said` has a hit */
void ab_gopeer_wire_put_redis_response(const char *uuid, const ab_gopeer_redis_asked *asked,
                                       const ab_gopeer_redis_response *said, ab_str value,
                                       ab_buf *out);
