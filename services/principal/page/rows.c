/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/page/rows.h"

#include "base/core/map.h"

#include <stdlib.h>
#include <sys/queue.h>

#define TEXT_MAX (64u * 1024)

struct ab_page_row {
    TAILQ_ENTRY(ab_page_row) at;    /* among those to look at */
    TAILQ_ENTRY(ab_page_row) order; /* of changes; only once it has a number */
    const char *name;               /* the key's */
    uint64_t number;                /* of its last change; 0: it was not looked at yet */
    char *text;
    size_t len;
};

struct ab_page_rows {
    ab_page_write write;
    void *arg;
    ab_map *rows; /* agent -> ab_page_row */
    uint64_t number;
    TAILQ_HEAD(, ab_page_row) next; /* the one to look at next first */
    TAILQ_HEAD(changes, ab_page_row) changed;
};

ab_page_rows *ab_page_rows_new(ab_page_write write, void *arg)
{
    ab_page_rows *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return NULL;
    *r = (ab_page_rows){.write = write, .arg = arg, .rows = ab_map_new()};
    TAILQ_INIT(&r->next);
    TAILQ_INIT(&r->changed);
    if (r->rows != NULL)
        return r;
    free(r);
    return NULL;
}

static void row_fini(void *value)
{
    ab_page_row *row = value;
    free(row->text);
}

void ab_page_rows_free(ab_page_rows *r)
{
    if (r == NULL)
        return;
    ab_map_free(r->rows, row_fini);
    free(r);
}

ab_err ab_page_rows_add(ab_page_rows *r, ab_str agent)
{
    ab_page_row *row = ab_map_make(r->rows, agent, sizeof(*row));
    if (row == NULL)
        return AB_ERR_NOMEM;
    if (row->name != NULL)
        return AB_ERR_OK;
    row->name = ab_map_at(row).key.ptr;
    TAILQ_INSERT_HEAD(&r->next, row, at);
    return AB_ERR_OK;
}

void ab_page_rows_remove(ab_page_rows *r, ab_str agent)
{
    ab_page_row *row = ab_map_find(r->rows, agent);
    if (row == NULL)
        return;
    TAILQ_REMOVE(&r->next, row, at);
    if (row->number > 0)
        TAILQ_REMOVE(&r->changed, row, order);
    row_fini(row);
    ab_map_drop(r->rows, row);
}

size_t ab_page_rows_count(const ab_page_rows *r)
{
    return ab_map_count(r->rows);
}

static void set_text(ab_page_rows *r, ab_page_row *row, ab_str text)
{
    char *copy = malloc(text.len);
    if (copy == NULL)
        return;
    memcpy(copy, text.ptr, text.len);
    free(row->text);
    row->text = copy;
    row->len = text.len;
    if (row->number > 0)
        TAILQ_REMOVE(&r->changed, row, order);
    row->number = ++r->number;
    TAILQ_INSERT_TAIL(&r->changed, row, order);
}

static void look_at(ab_page_rows *r, ab_page_row *row, ab_buf *text)
{
    ab_buf_clear(text);
    r->write(r->arg, row->name, text);
    bool same = row->number > 0 && text->len == row->len &&
                (row->len == 0 || memcmp(text->ptr, row->text, row->len) == 0);
    if (ab_buf_status(text) == AB_ERR_OK && text->len > 0 && !same)
        set_text(r, row, ab_buf_str(text));
}

void ab_page_rows_refresh(ab_page_rows *r, size_t count)
{
    ab_buf text = ab_buf_up_to(TEXT_MAX);
    size_t left = count < ab_map_count(r->rows) ? count : ab_map_count(r->rows);
    for (; left > 0; left--) {
        ab_page_row *row = TAILQ_FIRST(&r->next);
        TAILQ_REMOVE(&r->next, row, at);
        TAILQ_INSERT_TAIL(&r->next, row, at);
        look_at(r, row, &text);
    }
    ab_buf_fini(&text);
}

const ab_page_row *ab_page_rows_after(const ab_page_rows *r, uint64_t seen)
{
    const ab_page_row *first = NULL;
    const ab_page_row *row = seen == 0 ? NULL : TAILQ_LAST(&r->changed, changes);
    if (seen == 0)
        return TAILQ_FIRST(&r->changed);
    for (; row != NULL && row->number > seen; row = TAILQ_PREV(row, changes, order))
        first = row;
    return first;
}

const ab_page_row *ab_page_row_next(const ab_page_row *row)
{
    return TAILQ_NEXT(row, order);
}

uint64_t ab_page_row_number(const ab_page_row *row)
{
    return row->number;
}

ab_str ab_page_row_text(const ab_page_row *row)
{
    return (ab_str){row->text, row->len};
}
