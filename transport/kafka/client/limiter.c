/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/client/limiter.h"

#define INTERVAL_MS 60000

/* FNV-1a, over the final NUL too so that ("ab", "c") differs from ("a", "bc"). */
static uint64_t mix(uint64_t hash, const char *text)
{
    do {
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    } while (*text++ != '\0');
    return hash;
}

bool ab_limiter_pass(ab_limiter *l, const char *what, const char *whom, int64_t now_ms,
                     int64_t *held)
{
    uint64_t key = mix(mix(14695981039346656037u, what), whom);
    size_t i = key % AB_LIMITER_SLOTS;
    bool mine = l->slots[i].key == key;
    if (now_ms < l->slots[i].until_ms) {
        l->slots[i].held += mine ? 1 : 0;
        return false;
    }
    *held = mine ? l->slots[i].held : 0;
    l->slots[i].key = key;
    l->slots[i].until_ms = now_ms + INTERVAL_MS;
    l->slots[i].held = 0;
    return true;
}
