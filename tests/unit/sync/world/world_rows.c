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

/* --- what it was asked for --- */

struct world_keeping {
    struct world_keeping *next;
    char *key;
    struct world_row *row; /* NULL: to be read, not written */
    ab_asker *asker;
};

static struct world_keeping *take_keeping(struct world_cache *c)
{
    struct world_keeping *k = c->keeping;
    c->keeping = k->next;
    return k;
}

static void write_row(struct world_cache *c, struct world_keeping *k)
{
    void *old = NULL;
    assert_int_equal(ab_map_put(c->rows, ab_str_of(k->key), k->row, &old), AB_ERR_OK);
    k->row = NULL;
    world_row_free(old);
}

static void keeping_free(struct world_keeping *k)
{
    world_row_free(k->row);
    free(k->key);
    free(k);
}

void world_cache_begin(struct world_cache *c, ab_str key, struct world_row *row, ab_asker *asker)
{
    struct world_keeping *k = calloc(1, sizeof(*k));
    assert_non_null(k);
    *k = (struct world_keeping){.key = ab_str_dup(key), .row = row, .asker = asker};
    struct world_keeping **end = &c->keeping;
    while (*end != NULL)
        end = &(*end)->next;
    *end = k;
}

void world_cache_step(struct world_cache *c, bool fails)
{
    struct world_keeping *k = take_keeping(c);
    ab_asker *asker = k->asker;
    ab_err code = fails ? AB_ERR_IO : AB_ERR_OK;
    if (code == AB_ERR_OK && k->row != NULL)
        write_row(c, k);
    const struct world_row *row =
        code == AB_ERR_OK ? ab_map_find(c->rows, ab_str_of(k->key)) : NULL;
    if (code == AB_ERR_OK && row == NULL)
        code = AB_ERR_NOTFOUND;
    keeping_free(k);
    ab_effects_row_done(asker, code, row == NULL ? NULL : &row->kept, NULL);
}

bool world_cache_is_writing(const struct world_cache *c)
{
    return c->keeping->row != NULL;
}

void world_cache_drop(struct world_cache *c, bool written)
{
    struct world_keeping *k = take_keeping(c);
    if (written)
        write_row(c, k);
    keeping_free(k);
}
