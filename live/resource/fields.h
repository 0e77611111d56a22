/* SPDX-License-Identifier: Apache-2.0
 *
 * The header fields of a request that reach the API server, and those of its answer that reach the
 * client. A list keeps its own texts. Loop thread.
 */
#pragma once

#include "live/lane/stream.h"

/* Of a request; who asks may add one of its own. */
#define AB_RESOURCE_FIELDS_MAX (AB_LIVE_FIELDS_MAX - 1)

typedef struct {
    ab_http_field list[AB_RESOURCE_FIELDS_MAX];
    size_t count;
    bool too_many;
    ab_buf texts; /* what the list borrows from, once it is sealed */
} ab_resource_fields;

void ab_resource_fields_init(ab_resource_fields *f);
void ab_resource_fields_fini(ab_resource_fields *f);
/** Copy a field. One too many is told by ab_resource_fields_seal: without impersonate-* a request
 * would be made with more rights than whoever asks has. */
void ab_resource_fields_add(ab_resource_fields *f, ab_str name, ab_str value);
/** No more are added: the list may be used. @return TOOBIG: more than
 * AB_RESOURCE_FIELDS_MAX, or than 16 KiB; NOMEM */
AB_MUST_USE ab_err ab_resource_fields_seal(ab_resource_fields *f);
/** A field of a request that the API server is to see: accept, accept-encoding, content-type,
 * user-agent and impersonate-*. */
bool ab_resource_fields_is_asked(ab_str name);
/** One of those by which a request is made with the rights of another. */
bool ab_resource_fields_is_impersonation(ab_str name);
/** A field of an answer that is of the connection, and not of the answer (RFC 9110 7.6.1). */
bool ab_resource_fields_is_hop(ab_str name);
