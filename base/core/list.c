/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/list.h"

void ab_link_init(ab_link *l)
{
    l->prev = l->next = l;
}

bool ab_link_is_in_use(const ab_link *l)
{
    return l->next != l;
}

void ab_link_remove(ab_link *l)
{
    l->prev->next = l->next;
    l->next->prev = l->prev;
    ab_link_init(l);
}

static void put_between(ab_link *l, ab_link *prev, ab_link *next)
{
    l->prev = prev;
    l->next = next;
    prev->next = next->prev = l;
}

void ab_list_append(ab_link *list, ab_link *l)
{
    ab_link_remove(l);
    put_between(l, list->prev, list);
}

void ab_list_prepend(ab_link *list, ab_link *l)
{
    ab_link_remove(l);
    put_between(l, list, list->next);
}

ab_link *ab_list_pop(ab_link *list)
{
    ab_link *first = list->next;
    if (first == list)
        return NULL;
    ab_link_remove(first);
    return first;
}

void ab_list_move_all(ab_link *from, ab_link *to)
{
    if (!ab_link_is_in_use(from))
        return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    ab_link_init(from);
}

static ab_list_iter at(const ab_link *list, ab_link *l)
{
    return (ab_list_iter){list, l == list ? NULL : l, l->next};
}

ab_list_iter ab_list_first(const ab_link *list)
{
    return at(list, list->next);
}

void ab_list_next(ab_list_iter *i)
{
    *i = at(i->list, i->next);
}
