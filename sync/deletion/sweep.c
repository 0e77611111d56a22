/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/deletion/sweep.h"

#include "base/json/object.h"

#include <stdio.h>

/* How long nothing more is missed before what is inferred to be gone is judged. */
#define JUDGE_AFTER_MS 1000

/* One pass over the log. */
struct pass {
    const ab_sweep_role *role;
    ab_confirmed confirmed;
    bool too_many;
    size_t total;
    ab_missing inferred; /* would be ended, if they are not too many */
    size_t allowed;      /* these, and all others that may be ended */
    ab_missing unproved;
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
    facts.confirmed = p->confirmed == AB_CONFIRMED_ALL || (p->confirmed == AB_CONFIRMED_UNPROVED &&
                                                           *verdict == AB_DELETION_HELD_NO_PROOF);
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
    p->unknown += verdict == AB_DELETION_NOT_KNOWN_YET;
    if (ab_deletion_is_inferred(verdict))
        ab_missing_add(&p->inferred, key);
    if (verdict != AB_DELETION_HELD_NO_PROOF)
        return;
    if (p->unproved.count == 0)
        snprintf(p->first, sizeof(p->first), "%.*s", AB_STR_ARG(key));
    ab_missing_add(&p->unproved, key);
}

static void end_key(void *arg, ab_str key)
{
    const struct pass *p = arg;
    ab_deletion verdict;
    if (judge(p, key, &verdict) && ab_deletion_is_allowed(verdict))
        p->role->end(p->role->arg, key, verdict);
}

ab_confirmed ab_sweep_confirm(ab_sweep *s, ab_digest *confirmed, ab_missing *proved,
                              ab_missing *unproved, int64_t now_ms, size_t total)
{
    ab_missing all = ab_missing_join(proved, unproved);
    bool is_all = ab_missing_is_set(&all, confirmed);
    bool is_unproved = ab_missing_is_set(unproved, confirmed);
    *confirmed = (ab_digest){{0}};
    if (!is_all && !is_unproved)
        return AB_CONFIRMED_NONE;
    ab_guard_note_confirmed(&s->guard, now_ms, is_all ? all.count : unproved->count, total);
    *unproved = (ab_missing){0};
    if (is_all)
        *proved = (ab_missing){0};
    return is_all ? AB_CONFIRMED_ALL : AB_CONFIRMED_UNPROVED;
}

bool ab_sweep_may_end(ab_sweep *s, const ab_sweep_role *role, int64_t now_ms, size_t missing,
                      size_t unproved, size_t total)
{
    size_t before = s->guard.held;
    bool may = ab_guard_all(&s->guard, now_ms, missing, unproved, total);
    role->show(role->arg, !may && s->guard.held != before, total);
    return may;
}

/* What is held is known before any of it is shown. */
static bool ask_guard(ab_sweep *s, const struct pass *p, int64_t now_ms)
{
    size_t before = s->guard.held;
    bool may = ab_guard_all(&s->guard, now_ms, p->inferred.count, p->unproved.count, p->total);
    s->held = may ? p->unproved : ab_missing_join(&p->inferred, &p->unproved);
    if (p->role->hold_unproved != NULL)
        p->role->hold_unproved(p->role->arg, p->unproved.count, p->first);
    p->role->show(p->role->arg, !may && s->guard.held != before, p->total);
    return may;
}

void ab_sweep_log(ab_sweep *s, ab_writer *w, const ab_sweep_role *role, int64_t now_ms)
{
    struct pass p = {.role = role};
    ab_writer_each(w, "", count_key, &p);
    p.confirmed = ab_sweep_confirm(s, &s->confirmed, &p.inferred, &p.unproved, now_ms, p.total);
    p.too_many = !ask_guard(s, &p, now_ms);
    s->done = s->held.count == 0 && p.unknown == 0;
    if (p.allowed > 0 || p.confirmed != AB_CONFIRMED_NONE)
        ab_writer_each(w, "", end_key, &p);
}
