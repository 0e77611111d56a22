/* SPDX-License-Identifier: Apache-2.0
 *
 * Of an answer that its client does not read, a window of its stream is held. Of a thousand such
 * clients that would be more than a principal may have, so all of them together have a bound, which
 * clients that read never come near.
 */
#include "live/resource/front/front_priv.h"

static void cut(ab_resource_front_request *r)
{
    ab_resource_front *front = r->front;
    TAILQ_REMOVE(&front->holders, r, holder_at);
    front->held -= r->held;
    r->held = 0;
    r->gave_way = true;
    ab_https_abort(r->http);
}

void ab_resource_front_hold(ab_resource_front_request *r, size_t bytes, bool moved)
{
    ab_resource_front *front = r->front;
    if (r->gave_way)
        return;
    if (r->held > 0 && (moved || bytes == 0))
        TAILQ_REMOVE(&front->holders, r, holder_at);
    if (bytes > 0 && (moved || r->held == 0))
        TAILQ_INSERT_TAIL(&front->holders, r, holder_at);
    front->held = front->held - r->held + bytes;
    r->held = bytes;
    while (front->held > front->held_max)
        cut(TAILQ_FIRST(&front->holders));
}
