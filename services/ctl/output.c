/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/output.h"

#include "base/yaml/yaml.h"
#include "services/ctl/plain.h"

#include <stdio.h>

/* As long as the longest answer of a principal, with blanks in between. */
#define SHOWN_MAX (256u * 1024 * 1024)
#define CELL_MAX  (128u * 1024)

int ab_ctl_print(const ab_buf *text)
{
    ab_str shown = ab_buf_str(text);
    bool whole = ab_buf_status(text) == AB_ERR_OK &&
                 fwrite(shown.ptr, 1, shown.len, stdout) == shown.len && fflush(stdout) == 0;
    return whole ? AB_CTL_OK : ab_ctl_fail(AB_CTL_FAILED, "cannot write the output");
}

/* --- cells --- */

void ab_ctl_put_age(double seconds, ab_buf *out)
{
    unsigned long s = seconds > 0 ? (unsigned long)seconds : 0;
    unsigned long minutes = s / 60, hours = s / 3600, days = s / 86400;
    if (minutes == 0)
        ab_buf_printf(out, "%lus", s);
    else if (hours == 0)
        ab_buf_printf(out, "%lum%02lus", minutes, s % 60);
    else if (days == 0)
        ab_buf_printf(out, "%luh%02lum", hours, minutes % 60);
    else
        ab_buf_printf(out, "%lud%02luh", days, hours % 24);
}

void ab_ctl_put_member(const cJSON *object, const char *name, ab_buf *out)
{
    ab_buf_put(out, ab_doc_text(object, name));
}

static void put_cell(const ab_ctl_column *column, const cJSON *row, ab_buf *cell)
{
    ab_buf_clear(cell);
    if (column->put != NULL)
        column->put(row, cell);
    else
        ab_ctl_put_member(row, column->member, cell);
    if (cell->len == 0)
        ab_buf_putc(cell, '-');
    ab_ctl_make_plain(cell->ptr, cell->len, false);
}

/* --- the table --- */

/* Characters, not bytes. */
static size_t width_of(ab_str text)
{
    size_t width = 0;
    for (size_t i = 0; i < text.len; i++)
        width += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
    return width;
}

static void measure(const cJSON *rows, const ab_ctl_table *table, size_t *widths, ab_buf *cell)
{
    for (size_t i = 0; i < table->count; i++)
        widths[i] = width_of(ab_str_of(table->columns[i].title));
    for (const cJSON *row = rows->child; row != NULL; row = row->next)
        for (size_t i = 0; i < table->count; i++) {
            put_cell(&table->columns[i], row, cell);
            size_t width = width_of(ab_buf_str(cell));
            widths[i] = width > widths[i] ? width : widths[i];
        }
}

static void put_padded(ab_str text, size_t width, bool last, ab_buf *out)
{
    ab_buf_put(out, text);
    if (last)
        ab_buf_putc(out, '\n');
    else
        ab_buf_printf(out, "%*s", (int)(width - width_of(text)) + 2, "");
}

void ab_ctl_put_table(const cJSON *rows, const ab_ctl_table *table, ab_buf *out)
{
    size_t widths[AB_CTL_COLUMNS_MAX];
    ab_buf cell = ab_buf_up_to(CELL_MAX);
    measure(rows, table, widths, &cell);
    for (size_t i = 0; i < table->count; i++)
        put_padded(ab_str_of(table->columns[i].title), widths[i], i + 1 == table->count, out);
    for (const cJSON *row = rows->child; row != NULL; row = row->next)
        for (size_t i = 0; i < table->count; i++) {
            put_cell(&table->columns[i], row, &cell);
            put_padded(ab_buf_str(&cell), widths[i], i + 1 == table->count, out);
        }
    ab_buf_fini(&cell);
}

/* --- forms --- */

/* cJSON leaves such controls as they are; there are none outside strings. */
static void put_escaped(const char *json, ab_buf *out)
{
    for (; *json != '\0'; json++) {
        if (ab_ctl_is_c1_control(json, 2))
            ab_buf_printf(out, "\\u%04x", (unsigned)(unsigned char)*++json);
        else if (*json == 0x7f)
            ab_buf_puts(out, "\\u007f");
        else
            ab_buf_putc(out, *json);
    }
    ab_buf_putc(out, '\n');
}

void ab_ctl_put_json(const cJSON *doc, ab_buf *out)
{
    char *text = cJSON_Print(doc);
    if (text != NULL)
        put_escaped(text, out);
    cJSON_free(text);
}

static void put_yaml(const cJSON *doc, ab_buf *out)
{
    ab_error err = {0};
    char *text = cJSON_PrintUnformatted(doc);
    if (text != NULL && ab_yaml_from_json(ab_str_of(text), out, &err) != AB_ERR_OK)
        ab_ctl_fail(0, "cannot write YAML: %s", err.text);
    cJSON_free(text);
}

int ab_ctl_show(const ab_ctl *ctl, const cJSON *doc, const cJSON *rows, const ab_ctl_table *table)
{
    if (ctl->form == AB_CTL_TABLE && (rows == NULL || rows->child == NULL)) {
        fprintf(stderr, "%s\n", table->none);
        return AB_CTL_OK;
    }
    ab_buf text = ab_buf_up_to(SHOWN_MAX);
    if (ctl->form == AB_CTL_TABLE)
        ab_ctl_put_table(rows, table, &text);
    else if (ctl->form == AB_CTL_JSON)
        ab_ctl_put_json(doc, &text);
    else
        put_yaml(doc, &text);
    int code = text.len > 0 ? ab_ctl_print(&text)
                            : ab_ctl_fail(AB_CTL_FAILED, "cannot write the output: out of memory");
    ab_buf_fini(&text);
    return code;
}
