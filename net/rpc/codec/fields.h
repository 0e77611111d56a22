/* SPDX-License-Identifier: Apache-2.0
 *
 * The texts that gRPC has in headers, and what they mean. Bytes from outside come here: nothing is
 * asserted of them.
 */
#pragma once

#include "net/rpc/rpc.h"

/* Eight digits, a unit and the NUL. */
#define AB_RPC_TIMEOUT_TEXT 10

/** grpc-timeout: at most eight digits and one of H M S m u n. Rounded up, so that a timeout that is
 * given is never none. @return false for any other text */
bool ab_rpc_timeout_parse(ab_str text, int64_t *ms);
/** The largest timeout that is not above `ms`, which is above 0. */
void ab_rpc_timeout_format(int64_t ms, char out[AB_RPC_TIMEOUT_TEXT]);

/** grpc-message: append `text` with all but printable ASCII, and the percent sign, escaped. */
void ab_rpc_text_encode(ab_str text, ab_buf *out);
/** The reverse. An escape that is none stays as it is, since the text is for people; what is not a
 * UTF-8 then is replaced by question marks. */
void ab_rpc_text_decode(ab_str text, ab_buf *out);

/** A number from 0 to 16, else UNKNOWN. */
ab_rpc_status ab_rpc_status_parse(ab_str text);
/** What an HTTP status other than 200 means for a call. */
ab_rpc_status ab_rpc_status_of_http(ab_str http_status);
/** What RST_STREAM with this code means for a call. */
ab_rpc_status ab_rpc_status_of_reset(uint32_t code);

/** A name of metadata that a caller may give: lower-case letters, digits, "-", "_" and ".", not one
 * that belongs to gRPC. */
bool ab_rpc_name_is_valid(ab_str name);
/** Belongs to HTTP or gRPC itself: is not metadata for the layer above. */
bool ab_rpc_name_is_reserved(ab_str name);
/** Ends in "-bin". */
bool ab_rpc_name_is_binary(ab_str name);
/** Append binary metadata in base64 without padding. */
void ab_rpc_binary_encode(ab_str bytes, ab_buf *out);
/** Append the bytes of base64 with or without padding. @return false when it is none */
bool ab_rpc_binary_decode(ab_str text, ab_buf *out);
