/* SPDX-License-Identifier: Apache-2.0
 *
 * What a command shows: one document, as JSON, as YAML, or as an aligned table of one of its lists.
 */
#pragma once

#include "base/json/document.h"
#include "services/ctl/command.h"

typedef struct {
    const char *title;
    const char *member; /* the text of the row that is the cell, unless `put` makes it */
    void (*put)(const cJSON *row, ab_buf *cell); /* append the cell; nothing is shown as "-" */
} ab_ctl_column;

typedef struct {
    const ab_ctl_column *columns;
    size_t count;     /* at most AB_CTL_COLUMNS_MAX */
    const char *none; /* what is said, on standard error, when there is no row */
} ab_ctl_table;

#define AB_CTL_COLUMNS_MAX 12

/**
 * Show a document in the form that the user wants.
 * @param rows  the list of it that makes the table
 * @return AB_CTL_OK; FAILED, which is said on standard error
 */
int ab_ctl_show(const ab_ctl *ctl, const cJSON *doc, const cJSON *rows, const ab_ctl_table *table);
/** Append the table alone. Control characters in cells become blanks, U+0080 to U+009F too. */
void ab_ctl_put_table(const cJSON *rows, const ab_ctl_table *table, ab_buf *out);
/** Append a document as JSON; no control character is in it but line ends. Nothing when out of
 * memory. */
void ab_ctl_put_json(const cJSON *doc, ab_buf *out);
/** Append a time as people say it: "12s", "3m12s", "4h05m", "2d03h". */
void ab_ctl_put_age(double seconds, ab_buf *out);
/** Append a text member, nothing when it has no text. */
void ab_ctl_put_member(const cJSON *object, const char *name, ab_buf *out);
/** Write this to standard output. @return AB_CTL_OK; FAILED, which is said on standard error */
int ab_ctl_print(const ab_buf *text);
