/* SPDX-License-Identifier: Apache-2.0 */
#include "live/redis/front/front_priv.h"

#include <stdlib.h>

ab_redis_expect *ab_redis_front_expect_first(const ab_redis_conn *c)
{
    return ab_link_is_in_use(&c->expected) ? AB_LINK_OF(c->expected.next, ab_redis_expect, link)
                                           : NULL;
}

void ab_redis_front_expect_free(ab_redis_conn *c)
{
    for (ab_redis_expect *e = ab_redis_front_expect_first(c); e != NULL;
         e = ab_redis_front_expect_first(c)) {
        ab_link_remove(&e->link);
        free(e);
    }
    c->expected_count = 0;
}

void ab_redis_front_expect_done(ab_redis_conn *c)
{
    ab_redis_expect *e = ab_redis_front_expect_first(c);
    if (e == NULL)
        return;
    if (e->kind == AB_REDIS_PASS)
        c->expected_count--;
    if (--e->count > 0)
        return;
    if (e->kind != AB_REDIS_PASS)
        c->expected_count--;
    ab_link_remove(&e->link);
    free(e);
}
