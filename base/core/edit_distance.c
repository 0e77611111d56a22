/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/edit_distance.h"

/* Longer texts are not compared: nobody misspells those. */
#define TEXT_MAX_BYTES 96

/* Insertions, deletions, replacements and swaps of neighbours, by rows of the usual table. */
size_t ab_edit_distance(ab_str a, ab_str b)
{
    size_t rows[3][TEXT_MAX_BYTES + 1] = {{0}};
    if (a.len > TEXT_MAX_BYTES || b.len > TEXT_MAX_BYTES)
        return a.len + b.len + 1;
    for (size_t k = 0; k <= b.len; k++)
        rows[0][k] = k;
    for (size_t i = 1; i <= a.len; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i - 1) % 3];
        const size_t *above2 = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t k = 1; k <= b.len; k++) {
            size_t replaced = above[k - 1] + (a.ptr[i - 1] != b.ptr[k - 1]);
            size_t best = above[k] < row[k - 1] ? above[k] + 1 : row[k - 1] + 1;
            best = replaced < best ? replaced : best;
            bool swapped =
                i > 1 && k > 1 && a.ptr[i - 1] == b.ptr[k - 2] && a.ptr[i - 2] == b.ptr[k - 1];
            if (swapped && above2[k - 2] + 1 < best)
                best = above2[k - 2] + 1;
            row[k] = best;
        }
    }
    return rows[a.len % 3][b.len];
}
