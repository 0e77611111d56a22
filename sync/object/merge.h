/* SPDX-License-Identifier: Apache-2.0
 *
 * Three-way merges of metadata: what the source says, the object here, and what the source said
 * before. What others added here is kept; what the source said before and no longer says is
 * removed.
 *
 * "Owned" is JSON text that remembers what the source said:
 * {"labels":[..],"annotations":[..],"finalizers":[..]}.
 */
#pragma once

#include "base/json/object.h"

/* A name that the source never governs here, and the value to write for it; an absent value keeps
 * whatever stands here, or drops it. */
typedef struct {
    const char *name;
    ab_str value;
    bool dropped;
} ab_merge_rule;

/**
 * Write the merge of two string maps (labels, annotations) as an object.
 *
 * @param local   as it is; may be absent
 * @param source  as the source has it; may be absent
 * @param owned   array of names the source had before; may be absent
 * @param rules   names exempt from the source; those with a value are written with it
 * @param prefix  all names with this prefix are exempt too; NULL = none
 */
void ab_merge_map(ab_spanw *w, ab_spanv local, ab_spanv source, ab_spanv owned,
                  const ab_merge_rule *rules, size_t rule_count, const char *prefix);
/** Write the merge of two arrays of strings (finalizers) as an array. */
void ab_merge_list(ab_spanw *w, ab_spanv local, ab_spanv source, ab_spanv owned);
/** Append the "owned" text: the names that `source` has, and those of `before`, an earlier such
 * text (may be absent). Names with escapes are left out. */
void ab_merge_owned(const ab_object *source, ab_spanv before, ab_buf *out);
