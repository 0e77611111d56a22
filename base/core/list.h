/* SPDX-License-Identifier: Apache-2.0
 *
 * Doubly linked lists whose links are members of what is in them: adding, removing and moving
 * allocate nothing, cannot fail, and cost the same however long the list is. A list is itself a
 * link, its head. Not thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct ab_link {
    struct ab_link *prev;
    struct ab_link *next;
} ab_link;

/* The structure of `type` that has this link as its `member`. */
#define AB_LINK_OF(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

/** Make an empty list, or a link that is in none. Needed before all else. */
void ab_link_init(ab_link *l);
/** Is this link in a list? Of a list: is there anything in it? */
bool ab_link_is_in_use(const ab_link *l);
/** Take the link out of the list that it is in, if any. */
void ab_link_remove(ab_link *l);
/** Put the link at the end of the list, taking it out of the one that it is in, if any. */
void ab_list_append(ab_link *list, ab_link *l);
/** Put the link at the beginning of the list, taking it out of the one that it is in, if any. */
void ab_list_prepend(ab_link *list, ab_link *l);
/** Take the first link out. @return NULL when the list is empty */
ab_link *ab_list_pop(ab_link *list);
/** Move all of `from` to the end of `to`. */
void ab_list_move_all(ab_link *from, ab_link *to);

/* Iteration in order: for (ab_list_iter i = ab_list_first(l); i.link != NULL; ab_list_next(&i)).
 * The current link may be removed during it, others may not. */
typedef struct {
    const ab_link *list;
    ab_link *link; /* NULL: behind the last */
    ab_link *next;
} ab_list_iter;
/** Begin at the first. */
ab_list_iter ab_list_first(const ab_link *list);
/** Go on to the one that followed when the current one was reached. */
void ab_list_next(ab_list_iter *i);
