/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/client/wheel.h"

void ab_wheel_init(ab_wheel *w, int64_t width_ms, int64_t now_ms)
{
    for (size_t i = 0; i < AB_WHEEL_SLOTS; i++)
        ab_link_init(&w->slots[i]);
    w->width_ms = width_ms;
    w->turned = now_ms / width_ms;
}

void ab_wheel_timer_init(ab_wheel_timer *t)
{
    ab_link_init(&t->at);
}

static ab_link *slot_of(ab_wheel *w, int64_t number)
{
    return &w->slots[number % AB_WHEEL_SLOTS];
}

void ab_wheel_set(ab_wheel *w, ab_wheel_timer *t, int64_t due_ms)
{
    if (ab_link_is_in_use(&t->at) && t->due_ms <= due_ms)
        return;
    int64_t number = due_ms / w->width_ms;
    t->due_ms = due_ms;
    ab_list_append(slot_of(w, number > w->turned ? number : w->turned), &t->at);
}

void ab_wheel_timer_stop(ab_wheel_timer *t)
{
    ab_link_remove(&t->at);
}

static void empty_slot(ab_link *slot, int64_t now_ms, ab_link *due)
{
    for (ab_list_iter i = ab_list_first(slot); i.link != NULL; ab_list_next(&i)) {
        if (AB_LINK_OF(i.link, ab_wheel_timer, at)->due_ms <= now_ms)
            ab_list_append(due, i.link);
    }
}

void ab_wheel_turn(ab_wheel *w, int64_t now_ms, ab_link *due)
{
    int64_t last = now_ms / w->width_ms;
    int64_t first = w->turned;
    if (first <= last - AB_WHEEL_SLOTS)
        first = last - AB_WHEEL_SLOTS + 1;
    for (int64_t number = first; number <= last; number++)
        empty_slot(slot_of(w, number), now_ms, due);
    w->turned = last > w->turned ? last : w->turned;
}
