/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/deletion/guard.h"

void ab_guard_init(ab_guard *g, ab_guard_limits limits)
{
    *g = (ab_guard){.limits = limits};
}

static bool is_idle(const ab_guard *g, int64_t now_ms)
{
    bool over = g->made == 0 || now_ms - g->since > g->limits.window_ms;
    return over && g->held == 0; /* as long as something is held, it is all one deletion */
}

static void open_window(ab_guard *g, int64_t now_ms, size_t total)
{
    if (!is_idle(g, now_ms))
        return;
    g->since = now_ms;
    g->total = total;
    g->made = 0;
}

static bool is_too_many(const ab_guard *g, size_t count)
{
    return count > g->limits.max && count * 100 > g->limits.percent * g->total;
}

bool ab_guard_all(ab_guard *g, int64_t now_ms, size_t missing, size_t unproved, size_t total)
{
    open_window(g, now_ms, total);
    if (missing > 0 && is_too_many(g, g->made + missing + unproved)) {
        g->held = missing;
        g->due_at = now_ms + g->limits.window_ms;
        return false;
    }
    g->held = 0;
    g->made += missing;
    return true;
}

void ab_guard_note_confirmed(ab_guard *g, int64_t now_ms, size_t count, size_t total)
{
    g->held = 0;
    open_window(g, now_ms, total);
    g->since = now_ms;
    g->made += count;
}

bool ab_guard_is_due(ab_guard *g, int64_t now_ms)
{
    if (g->held == 0 || now_ms < g->due_at)
        return false;
    g->due_at = now_ms + g->limits.window_ms;
    return true;
}
