/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/check/findings.h"

#include "services/ctl/output.h"
#include "services/ctl/plain.h"

#include <stdarg.h>
#include <stdio.h>

#define TEXT_MAX   2048
#define OUTPUT_MAX ((size_t)4 * 1024 * 1024)

static const char *const names[] = {"ok", "warning", "error"};

void ab_findings_init(ab_findings *f)
{
    *f = (ab_findings){.list = cJSON_CreateArray()};
    f->complete = f->list != NULL;
}

void ab_findings_fini(ab_findings *f)
{
    cJSON_Delete(f->list);
    *f = (ab_findings){0};
}

/* Texts may come from elsewhere, and are cut in the middle of a character. */
static ab_str printable(const char *text)
{
    ab_str s = ab_str_of(text);
    return ab_str_is_utf8(s) ? s : AB_STR("(not printable)");
}

AB_PRINTF(6, 0)
static void add(ab_findings *f, ab_severity severity, const char *where, const char *remedy,
                ab_str version, const char *format, va_list args)
{
    char what[TEXT_MAX];
    vsnprintf(what, sizeof(what), format, args);
    cJSON *item = cJSON_CreateObject();
    bool made = item != NULL && ab_doc_add_str(item, "severity", ab_str_of(names[severity])) &&
                ab_doc_add_str(item, "where", printable(where)) &&
                (version.ptr == NULL || ab_doc_add_str(item, "version", version)) &&
                ab_doc_add_str(item, "what", printable(what)) &&
                (remedy == NULL || ab_doc_add_str(item, "remedy", printable(remedy))) &&
                cJSON_AddItemToArray(f->list, item);
    if (!made)
        cJSON_Delete(item);
    f->complete = f->complete && made;
    f->failed = f->failed || severity == AB_FOUND_ERROR;
}

void ab_findings_add(ab_findings *f, ab_severity severity, const char *where, const char *remedy,
                     const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(f, severity, where, remedy, AB_STR_NONE, format, args);
    va_end(args);
}

void ab_findings_add_version(ab_findings *f, const char *where, ab_str version, const char *format,
                             ...)
{
    va_list args;
    va_start(args, format);
    add(f, AB_FOUND_OK, where, NULL, version, format, args);
    va_end(args);
}

static void put_line(const cJSON *item, ab_buf *out)
{
    ab_str remedy = ab_doc_text(item, "remedy");
    size_t begin = out->len;
    ab_buf_printf(out, "%-8.*s %.*s: %.*s", AB_STR_ARG(ab_doc_text(item, "severity")),
                  AB_STR_ARG(ab_doc_text(item, "where")), AB_STR_ARG(ab_doc_text(item, "what")));
    if (remedy.ptr != NULL)
        ab_buf_printf(out, "; %.*s", AB_STR_ARG(remedy));
    if (out->len > begin)
        ab_ctl_make_plain(out->ptr + begin, out->len - begin, false);
    ab_buf_putc(out, '\n');
}

static int print_lines(const ab_findings *f)
{
    const cJSON *item;
    ab_buf out = ab_buf_up_to(OUTPUT_MAX);
    cJSON_ArrayForEach(item, f->list)
    {
        put_line(item, &out);
    }
    int code = ab_ctl_print(&out);
    ab_buf_fini(&out);
    return code;
}

int ab_findings_print(const ab_findings *f, const ab_ctl *ctl)
{
    if (!f->complete)
        return ab_ctl_fail(AB_CTL_FAILED, "cannot print the findings");
    int code = ctl->form == AB_CTL_TABLE ? print_lines(f) : ab_ctl_show(ctl, f->list, NULL, NULL);
    return f->failed ? AB_CTL_FAILED : code;
}
