/* SPDX-License-Identifier: Apache-2.0
 *
 * One time per key: when it will have paid for all that was noted, at one per interval. It is shut
 * out while that lies further ahead than the burst allows.
 */
#include "auth/limiter.h"

#include <openssl/evp.h>
#include <string.h>
#include <uv.h>

typedef struct {
    int64_t paid_ms;
} entry;

void ab_auth_limiter_key(const char *address, ab_str who, uint8_t out[AB_AUTH_HASH_BYTES])
{
    struct in6_addr ip;
    ab_str where = ab_str_of(address);
    /* Whoever has one address of IPv6 has the 2^64 of its network. */
    if (uv_inet_pton(AF_INET6, address, &ip) == 0)
        where = (ab_str){(const char *)&ip, sizeof(ip) / 2};
    ab_buf text = ab_buf_up_to(64 * 1024);
    ab_buf_put(&text, where);
    ab_buf_putc(&text, '\0');
    ab_buf_put(&text, who);
    ab_str all = ab_buf_str(&text);
    /* Without memory, or OpenSSL, all share one key: that limits more, not less. */
    if (EVP_Digest(all.ptr, all.len, out, NULL, EVP_sha256(), NULL) != 1)
        memset(out, 0, AB_AUTH_HASH_BYTES);
    ab_buf_fini(&text);
}

ab_err ab_auth_limiter_init(ab_auth_limiter *l)
{
    l->keys = ab_map_new();
    return l->keys == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
}

void ab_auth_limiter_fini(ab_auth_limiter *l)
{
    ab_map_free(l->keys, NULL);
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
        ab_map_drop(l->keys, ab_map_first(l->keys).value);
    return ab_map_make(l->keys, key, sizeof(entry));
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
