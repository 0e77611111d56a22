/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/deletion/sweep.h"

#include "base/json/object.h"

#include <stdio.h>

/* How long nothing more is missed before what is inferred to be gone is judged. */
#define JUDGE_AFTER_MS 1000

/* One pass over the log. */
struct pass {
    const ab_sweep_role *role;
    bool too_many;
    size_t total;
    size_t inferred; /* would be ended, if they are not too many */
    size_t allowed;  /* these, and all others that may be ended */
    size_t unproved;
    size_t unknown;
    char first[AB_OBJECT_KEY_MAX]; /* of those without a proof */
};

void ab_sweep_init(ab_sweep *s, ab_guard_limits limits)
{
    *s = (ab_sweep){0};
    ab_guard_init(&s->guard, limits);
}

void ab_sweep_miss(ab_sweep *s, int64_t now_ms)
{
    s->done = false;
    s->due_at = now_ms + JUDGE_AFTER_MS;
}

void ab_sweep_again(ab_sweep *s)
{
    s->done = false;
    s->due_at = 0;
}

bool ab_sweep_begin(ab_sweep *s, int64_t now_ms)
{
    if (s->done || now_ms < s->due_at)
        return false;
    s->due_at = 0;
    return true;
}

bool ab_sweep_is_due(ab_sweep *s, int64_t now_ms)
{
    bool missed = s->due_at != 0 && now_ms >= s->due_at;
    return ab_guard_is_due(&s->guard, now_ms) || missed;
}

static bool judge(const struct pass *p, ab_str key, ab_deletion *verdict)
{
    ab_deletion_facts facts = {0};
    if (!p->role->know(p->role->arg, key, &facts))
        return false;
    facts.too_many = p->too_many;
    *verdict = ab_deletion_judge(&facts);
    return true;
}

static void count_key(void *arg, ab_str key)
{
    struct pass *p = arg;
    ab_deletion verdict;
    if (!judge(p, key, &verdict))
        return;
    p->total++;
    p->allowed += ab_deletion_is_allowed(verdict);
    p->inferred += ab_deletion_is_inferred(verdict);
    p->unknown += verdict == AB_DELETION_NOT_KNOWN_YET;
    if (verdict == AB_DELETION_HELD_NO_PROOF && p->unproved++ == 0)
        snprintf(p->first, sizeof(p->first), "%.*s", AB_STR_ARG(key));
}

static void end_key(void *arg, ab_str key)
{
    const struct pass *p = arg;
    ab_deletion verdict;
    if (judge(p, key, &verdict) && ab_deletion_is_allowed(verdict))
        p->role->end(p->role->arg, key, verdict);
}

bool ab_sweep_may_end(ab_sweep *s, const ab_sweep_role *role, int64_t now_ms, size_t missing,
                      size_t unproved, size_t total)
{
    size_t before = s->guard.held;
    bool may = ab_guard_all(&s->guard, now_ms, missing, unproved, total);
    role->show(role->arg, !may && s->guard.held != before, total);
    return may;
}

void ab_sweep_log(ab_sweep *s, ab_writer *w, const ab_sweep_role *role, int64_t now_ms)
{
    struct pass p = {.role = role};
    ab_writer_each(w, "", count_key, &p);
    if (role->hold_unproved != NULL)
        role->hold_unproved(role->arg, p.unproved, p.first);
    p.too_many = !ab_sweep_may_end(s, role, now_ms, p.inferred, p.unproved, p.total);
    s->done = !p.too_many && p.unproved == 0 && p.unknown == 0;
    if (p.allowed > 0)
        ab_writer_each(w, "", end_key, &p);
}
