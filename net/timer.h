/* SPDX-License-Identifier: Apache-2.0
 *
 * Timers for those who are freed at once, while libuv needs a handle until the loop has closed it.
 * Loop thread.
 */
#pragma once

#include <uv.h>

/** A timer that is not started. @param data  of the handle. @return NULL: out of memory */
uv_timer_t *ab_timer_new(uv_loop_t *loop, void *data);
/** Stop it: it frees itself when the loop has closed it. NULL is allowed. */
void ab_timer_free(uv_timer_t *timer);
