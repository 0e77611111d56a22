/* SPDX-License-Identifier: Apache-2.0
 *
 * A bearer token for the brokers, as an authorization server gives it (RFC 6749 section 5.1) or as
 * a file holds it, and what is read from it. The token is not verified here: that is the brokers'
 * job. Pure; any thread.
 */
#pragma once

#include "base/core/buf.h"
#include "base/core/error.h"

#define AB_OAUTH_TOKEN_MAX ((size_t)64 * 1024)
#define AB_OAUTH_NAME_MAX  256

/* To be wiped by ab_oauth_token_fini. */
typedef struct {
    char *text;                   /* NUL-terminated */
    int64_t expires_ms;           /* since 1970 */
    char name[AB_OAUTH_NAME_MAX]; /* whose it is, for the logs of brokers */
} ab_oauth_token;

/**
 * A token that is a JWT with the claim "exp" (RFC 7519 section 4.1.4); its subject is the name.
 * @param text  white space around it is allowed
 * @param out   untouched on failure
 * @return PARSE: it is none, or has no exp; INVALID: it has other characters than librdkafka sends;
 * NOMEM
 */
AB_MUST_USE ab_err ab_oauth_token_read(ab_str text, ab_oauth_token *out, ab_error *err);
/**
 * The answer of an authorization server, with its members access_token and, unless the token is a
 * JWT with an end of its own, expires_in.
 * @param client  the name, unless the token says another
 * @param now_ms  wall clock
 * @return as ab_oauth_token_read; PARSE with the server's words when the answer is an error
 */
AB_MUST_USE ab_err ab_oauth_token_take(ab_str json, const char *client, int64_t now_ms,
                                       ab_oauth_token *out, ab_error *err);
/** Also of a zeroed one. */
void ab_oauth_token_fini(ab_oauth_token *t);
