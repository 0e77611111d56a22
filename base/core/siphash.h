/* SPDX-License-Identifier: Apache-2.0
 *
 * SipHash-2-4 (Aumasson and Bernstein, 2012): a hash that nobody can foretell who does not know its
 * key. Those of tables that anybody can calculate let whoever chooses the names put all of them in
 * one chain.
 */
#pragma once

#include "base/core/buf.h"

typedef struct {
    uint64_t words[2];
} ab_siphash_key;

/** Any thread. */
uint64_t ab_siphash(const ab_siphash_key *key, ab_str bytes);
/** The key of this process, the same at each call. Any thread. */
const ab_siphash_key *ab_siphash_own_key(void);
