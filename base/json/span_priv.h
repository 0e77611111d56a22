/* SPDX-License-Identifier: Apache-2.0
 *
 * How a document is laid out in memory, for the files that make up span.h.
 */
#pragma once

#include "base/json/span.h"

/* One value. Nodes stand in document order, so a container's first child is the node after it and
 * the value after a container is `next`. Object keys have no node of their own: a key is found by
 * its offset and ends at the first quote that is not escaped. 16 bytes a value is what the whole
 * index costs. */
typedef struct {
    uint32_t start : 26; /* offset of the first byte in the text */
    uint32_t type : 3;   /* ab_span_type */
    uint32_t escaped : 1;
    uint32_t key_escaped : 1;
    uint32_t last : 1; /* last child of its container, or the root */
    uint32_t length;   /* bytes of text */
    uint32_t next;     /* index of the node after this value and all it contains */
    uint32_t key;      /* offset of the opening quote of the member name; 0 = no member */
} ab_span_node;

_Static_assert(sizeof(ab_span_node) == 16, "the index stays small");
_Static_assert(AB_SPAN_SIZE_MAX <= 1u << 26, "offsets fit into ab_span_node.start");
_Static_assert(AB_SPAN_OBJECT < 1u << 3, "types fit into ab_span_node.type");

struct ab_span {
    ab_span_node *nodes;
    uint32_t count;
    uint32_t len;
    char text[]; /* len bytes and a NUL */
};

/** The node of a value that is present. */
const ab_span_node *ab_span_node_of(ab_spanv v);
/** Order of the names of two members of one document, by their unescaped bytes. */
int ab_span_key_cmp(const ab_span *doc, uint32_t a, uint32_t b);
/** Indexes of the members of `object` (`count` of them) ordered by name; owned by the caller
 * (free()).
 *  @return NULL when out of memory */
uint32_t *ab_span_sorted_members(ab_spanv object, size_t count);
