/* SPDX-License-Identifier: Apache-2.0 */
#include "net/timer.h"

#include <stdlib.h>

uv_timer_t *ab_timer_new(uv_loop_t *loop, void *data)
{
    uv_timer_t *timer = calloc(1, sizeof(*timer));
    if (timer == NULL)
        return NULL;
    (void)uv_timer_init(loop, timer); /* cannot fail, nor starting it */
    timer->data = data;
    return timer;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

void ab_timer_free(uv_timer_t *timer)
{
    if (timer != NULL)
        uv_close((uv_handle_t *)timer, on_closed);
}
