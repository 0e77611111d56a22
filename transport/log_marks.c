/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/log_marks.h"

#include <stdlib.h>
#include <string.h>

static void thin(ab_log_marks *m)
{
    for (size_t i = 1; 2 * i < m->count; i++)
        m->rows[i] = m->rows[2 * i];
    m->count = (m->count + 1) / 2;
    m->stride *= 2;
}

void ab_log_marks_add(ab_log_marks *m, int64_t offset, int64_t written_ms)
{
    if (m->rows == NULL) {
        *m = (ab_log_marks){.rows = malloc(AB_LOG_MARKS_MAX * sizeof(*m->rows)), .stride = 1};
        if (m->rows == NULL)
            return;
    }
    if (m->seen++ % m->stride != 0)
        return;
    if (m->count == AB_LOG_MARKS_MAX)
        thin(m);
    m->rows[m->count++] = (ab_log_mark){offset, written_ms};
}

/* @return the index of the first at or after it */
static size_t find(const ab_log_marks *m, int64_t offset)
{
    size_t low = 0, high = m->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->rows[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void ab_log_marks_drop(ab_log_marks *m, int64_t offset)
{
    size_t i = find(m, offset);
    if (i == m->count || m->rows[i].offset != offset)
        return;
    m->count--;
    memmove(m->rows + i, m->rows + i + 1, (m->count - i) * sizeof(*m->rows));
}

const ab_log_mark *ab_log_marks_find(const ab_log_marks *m, int64_t offset)
{
    size_t i = find(m, offset);
    return i < m->count ? &m->rows[i] : NULL;
}

void ab_log_marks_clear(ab_log_marks *m)
{
    free(m->rows);
    *m = (ab_log_marks){0};
}
