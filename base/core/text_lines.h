/* SPDX-License-Identifier: Apache-2.0
 *
 * A text line by line, without the white space around each.
 */
#pragma once

#include "base/core/buf.h"

/* Set `rest` to the text; `number` is that of the line given last, from 1. */
typedef struct {
    ab_str rest;
    size_t number;
} ab_text_lines;

/** @return false: there is no further line. `line` is borrowed from the text */
bool ab_text_lines_next(ab_text_lines *l, ab_str *line);
