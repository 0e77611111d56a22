/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sync/world/world_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static ab_str keep_text(struct world_row *row, size_t i, ab_str text)
{
    if (text.ptr == NULL)
        return AB_STR_NONE;
    row->texts[i] = ab_str_dup(text);
    assert_non_null(row->texts[i]);
    return (ab_str){row->texts[i], text.len};
}

struct world_row *world_row_new(const ab_received_state *kept)
{
    struct world_row *row = calloc(1, sizeof(*row));
    assert_non_null(row);
    row->kept = *kept;
    row->kept.uid = keep_text(row, 0, kept->uid);
    row->kept.owner = keep_text(row, 1, kept->owner);
    row->kept.owned = keep_text(row, 2, kept->owned);
    row->kept.desired = keep_text(row, 3, kept->desired);
    row->kept.source = keep_text(row, 4, kept->source);
    return row;
}

void world_row_free(void *value)
{
    struct world_row *row = value;
    if (row == NULL)
        return;
    for (size_t i = 0; i < 5; i++)
        free(row->texts[i]);
    free(row);
}

ab_map *world_rows_copy(const ab_map *rows)
{
    ab_map *copy = ab_map_new();
    assert_non_null(copy);
    for (ab_map_iter i = ab_map_first(rows); i.entry != NULL; ab_map_next(&i)) {
        const struct world_row *row = i.value;
        assert_int_equal(ab_map_put(copy, i.key, world_row_new(&row->kept), NULL), AB_ERR_OK);
    }
    return copy;
}
