/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/event_same.h"

#include <string.h>

/** Does `b` have all that `a` has? */
static bool has_all(const ab_event *a, const ab_event *b)
{
    for (size_t i = 0; i < ab_event_attr_count(a); i++) {
        ab_attr attr = ab_event_attr_at(a, i);
        char name[AB_EVENT_ATTR_NAME_MAX + 1] = {0};
        memcpy(name, attr.name.ptr, attr.name.len);
        if (attr.value.len > 0 && !ab_str_eq(ab_event_attr(b, name), attr.value))
            return false;
    }
    return true;
}

bool event_same(const ab_event *a, const ab_event *b)
{
    return has_all(a, b) && has_all(b, a) && ab_str_eq(ab_event_data(a), ab_event_data(b));
}
