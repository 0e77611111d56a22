/* SPDX-License-Identifier: Apache-2.0
 *
 * One time per key: when it will have paid for all that was noted, at one per interval. It is shut
 * out while that lies further ahead than the burst allows.
 */
#include "transport/grpc/auth/limiter_priv.h"

#include <stdlib.h>

typedef struct {
    int64_t paid_ms;
} entry;

ab_err ab_auth_limiter_init(ab_auth_limiter *l)
{
    l->keys = ab_map_new();
    return l->keys == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
}

void ab_auth_limiter_fini(ab_auth_limiter *l)
{
    ab_map_free(l->keys, free);
    l->keys = NULL;
}

bool ab_auth_limiter_is_shut(const ab_auth_limiter *l, ab_str key, ab_auth_allowance allowance,
                             int64_t now_ms)
{
    const entry *e = ab_map_find(l->keys, key);
    return e != NULL && e->paid_ms - now_ms > (allowance.burst - 1) * allowance.interval_ms;
}

static entry *add(ab_auth_limiter *l, ab_str key)
{
    if (ab_map_count(l->keys) >= AB_AUTH_LIMITER_KEYS)
        free(ab_map_take(l->keys, ab_map_first(l->keys).key));
    entry *e = calloc(1, sizeof(*e));
    if (e == NULL || ab_map_put(l->keys, key, e, NULL) == AB_ERR_OK)
        return e;
    free(e);
    return NULL;
}

void ab_auth_limiter_note(ab_auth_limiter *l, ab_str key, ab_auth_allowance allowance,
                          int64_t now_ms)
{
    entry *e = ab_map_find(l->keys, key);
    if (e == NULL)
        e = add(l, key);
    if (e == NULL)
        return;
    e->paid_ms = (e->paid_ms > now_ms ? e->paid_ms : now_ms) + allowance.interval_ms;
}

void ab_auth_limiter_forgive(ab_auth_limiter *l, ab_str key, ab_auth_allowance allowance)
{
    entry *e = ab_map_find(l->keys, key);
    if (e != NULL)
        e->paid_ms -= allowance.interval_ms;
}
