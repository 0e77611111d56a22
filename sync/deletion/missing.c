/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/deletion/missing.h"

static void mix(ab_digest *into, const ab_digest *from)
{
    for (size_t i = 0; i < sizeof(into->bytes); i++)
        into->bytes[i] ^= from->bytes[i];
}

void ab_missing_add(ab_missing *m, ab_str key)
{
    ab_digest digest = {{0}};
    m->count++;
    m->unknown |= ab_digest_of(key, &digest) != AB_ERR_OK;
    mix(&m->set, &digest);
}

ab_missing ab_missing_join(const ab_missing *a, const ab_missing *b)
{
    ab_missing all = *a;
    all.count += b->count;
    all.unknown |= b->unknown;
    mix(&all.set, &b->set);
    return all;
}

bool ab_missing_is_same(const ab_missing *a, const ab_missing *b)
{
    return a->count == b->count && ab_digest_eq(&a->set, &b->set);
}

bool ab_missing_is_set(const ab_missing *m, const ab_digest *set)
{
    return m->count > 0 && !m->unknown && ab_digest_eq(&m->set, set);
}
