/* SPDX-License-Identifier: Apache-2.0 */
#include "live/lane/stream.h"

ab_str ab_live_field_find(const ab_live_field *fields, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (ab_str_is(fields[i].name, name))
            return fields[i].value;
    }
    return AB_STR_NONE;
}
