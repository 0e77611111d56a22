/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/client/share.h"

/* What is stuck has as much room again, and single events once more. */
#define MULTI_TIMES  2
#define SINGLE_TIMES 3

static bool is_half_full(const ab_share *s)
{
    return s->full_at > 0 && s->bytes > s->full_at / 2;
}

static bool fits_alone(const ab_budget *b, const ab_share *s, size_t bytes)
{
    if (bytes <= AB_SHARE_FLOOR)
        return true;
    if (s->stuck)
        return b->stuck + bytes <= b->max;
    return b->flowing + b->stuck + bytes <= SINGLE_TIMES * b->max;
}

/* As much as is still free, at most: then some is always free for the others. And little more than
 * the broker has taken lately. */
static bool fits_behind(const ab_budget *b, const ab_share *s, size_t bytes)
{
    return s->bytes + bytes <= b->first + s->proven && s->bytes + bytes + b->flowing <= b->max &&
           b->flowing + b->stuck + bytes <= MULTI_TIMES * b->max;
}

bool ab_share_admits(const ab_budget *b, ab_share *s, size_t bytes)
{
    bool fits = s->count == 0 ? fits_alone(b, s, bytes)
                              : !s->stuck && !is_half_full(s) && fits_behind(b, s, bytes);
    if (!fits && s->full_at == 0)
        s->full_at = s->bytes;
    if (fits)
        s->full_at = 0;
    s->waits = !fits;
    return fits;
}

void ab_share_take(ab_budget *b, ab_share *s, size_t bytes, int64_t now_ms)
{
    if (s->count == 0)
        s->progress_ms = now_ms;
    s->count++;
    s->bytes += bytes;
    *(s->stuck ? &b->stuck : &b->flowing) += bytes;
}

static void set_stuck(ab_budget *b, ab_share *s, bool stuck)
{
    if (s->stuck == stuck)
        return;
    *(s->stuck ? &b->stuck : &b->flowing) -= s->bytes;
    *(stuck ? &b->stuck : &b->flowing) += s->bytes;
    s->stuck = stuck;
}

void ab_share_give(ab_budget *b, ab_share *s, size_t bytes, bool confirmed, int64_t now_ms)
{
    s->count--;
    s->bytes -= bytes;
    *(s->stuck ? &b->stuck : &b->flowing) -= bytes;
    set_stuck(b, s, !confirmed);
    s->proven = confirmed && s->count > 0 ? s->proven + bytes : 0;
    if (confirmed)
        s->progress_ms = now_ms;
}

void ab_share_leave(ab_budget *b, ab_share *s)
{
    *(s->stuck ? &b->stuck : &b->flowing) -= s->bytes;
    *s = (ab_share){.waits = s->waits};
}

void ab_share_check(ab_budget *b, ab_share *s, int64_t now_ms)
{
    if (s->count == 0 || now_ms - s->progress_ms < b->stuck_ms)
        return;
    set_stuck(b, s, true);
    s->proven = 0;
}

bool ab_share_wakes(ab_share *s)
{
    if (!s->waits || (s->count > 0 && (s->stuck || is_half_full(s))))
        return false;
    s->waits = false;
    return true;
}

size_t ab_share_of_rest(size_t all, size_t used, size_t least, size_t most)
{
    size_t rest = used < all ? all - used : 0;
    if (rest < least)
        return least;
    return rest < most ? rest : most;
}
