/* SPDX-License-Identifier: Apache-2.0
 *
 * How often somebody may fail. Each key may do so some times at once, and then again once per
 * interval. An attempt is noted before it is known to fail, so that attempts at the same time are
 * limited too. The table is bounded: past its end the key that was noted first is forgotten.
 */
#pragma once

#include "auth/auth.h"
#include "base/core/map.h"

#define AB_AUTH_LIMITER_KEYS 4096

/* How much is allowed. */
typedef struct {
    int64_t burst;
    int64_t interval_ms; /* of one more */
} ab_auth_allowance;

typedef struct {
    ab_map *keys;
} ab_auth_limiter;

/** The key by which the failures of a peer are counted: of its address (an IPv6 one by its /64;
 * an IPv4 one that is mapped into it is given as IPv4), and of whom it says it is. */
void ab_auth_limiter_key(const char *address, ab_str who, uint8_t out[AB_AUTH_HASH_BYTES]);

/** @return NOMEM */
AB_MUST_USE ab_err ab_auth_limiter_init(ab_auth_limiter *l);
/** `l` is zeroed or initialised. */
void ab_auth_limiter_fini(ab_auth_limiter *l);
/** Whether `key` has failed too often to try again at `now_ms` (monotonic). */
bool ab_auth_limiter_is_shut(const ab_auth_limiter *l, ab_str key, ab_auth_allowance allowance,
                             int64_t now_ms);
/** Note an attempt of a key that is not shut out. Without memory it is not noted. */
void ab_auth_limiter_note(ab_auth_limiter *l, ab_str key, ab_auth_allowance allowance,
                          int64_t now_ms);
/** Take one back: the attempt did not fail. */
void ab_auth_limiter_forgive(ab_auth_limiter *l, ab_str key, ab_auth_allowance allowance);
