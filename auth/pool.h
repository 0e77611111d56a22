/* SPDX-License-Identifier: Apache-2.0
 *
 * A few threads for password checks alone. These take a long time by purpose: in libuv's pool they
 * would hold up the signatures of certificate logins, and all else that is done there. The threads
 * have a low priority, so that they do not hold up the loop either.
 */
#pragma once

#include "base/core/error.h"

#include <sys/queue.h>
#include <uv.h>

/* Tasks that may wait for a thread. */
#define AB_AUTH_POOL_QUEUE 256

typedef struct ab_auth_pool ab_auth_pool;

/* Owned by the caller, for as long as it is in the pool. */
typedef struct ab_auth_task {
    STAILQ_ENTRY(ab_auth_task) at;
    void (*work)(struct ab_auth_task *task);  /* a thread of the pool; not after the close */
    void (*after)(struct ab_auth_task *task); /* the loop; always, exactly once */
} ab_auth_task;

/** @return NOMEM, FATAL: no threads, or no descriptor */
AB_MUST_USE ab_err ab_auth_pool_new(uv_loop_t *loop, ab_auth_pool **out);
/** Loop thread. @return FULL: too many wait; `after` is not called then */
AB_MUST_USE ab_err ab_auth_pool_add(ab_auth_pool *pool, ab_auth_task *task);
/** End and free. What waits is not worked on; a task that is being worked on is waited for, without
 *  blocking. Loop thread. @param closed  called once, later, after every `after` */
void ab_auth_pool_close(ab_auth_pool *pool, void (*closed)(void *arg), void *arg);
