/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *text;
    ab_err_class class;
} err_row;

static const err_row err_rows[] = {
#define ERR_ROW(name, class, text) [AB_ERR_##name] = {text, AB_CLASS_##class},
    AB_ERR_TABLE(ERR_ROW)
#undef ERR_ROW
};

static const err_row *row_of(ab_err code)
{
    size_t i = (size_t)code;
    return i < sizeof(err_rows) / sizeof(err_rows[0]) ? &err_rows[i] : &err_rows[AB_ERR_FATAL];
}

ab_err_class ab_err_class_of(ab_err code)
{
    return row_of(code)->class;
}

const char *ab_err_text(ab_err code)
{
    return row_of(code)->text;
}

ab_err ab_fail(ab_error *err, ab_err code, const char *fmt, ...)
{
    if (err == NULL)
        return code;
    err->code = code;
    err->foreign = 0;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(err->text, sizeof(err->text), fmt, args);
    va_end(args);
    return code;
}

ab_err ab_fail_errno(ab_error *err, ab_err code, int foreign, const char *fmt, ...)
{
    if (err == NULL)
        return code;
    err->code = code;
    err->foreign = foreign;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(err->text, sizeof(err->text), fmt, args);
    va_end(args);
    size_t used = strlen(err->text);
    if (foreign > 0) {
        char reason[128];
        const char *text = strerror_r(foreign, reason, sizeof(reason));
        (void)snprintf(err->text + used, sizeof(err->text) - used, ": %s", text);
    }
    return code;
}

void ab_error_prefix(ab_error *err, const char *fmt, ...)
{
    if (err == NULL)
        return;
    char rest[AB_ERROR_TEXT_MAX];
    memcpy(rest, err->text, sizeof(rest));
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(err->text, sizeof(err->text), fmt, args);
    va_end(args);
    size_t used = strlen(err->text);
    (void)snprintf(err->text + used, sizeof(err->text) - used, ": %s", rest);
}

ab_err ab_err_from_errno(int err_no)
{
    switch (err_no) {
    case ENOSPC:
    case EDQUOT:
        return AB_ERR_NOSPACE;
    case EACCES:
    case EPERM:
        return AB_ERR_DENIED;
    case ENOENT:
        return AB_ERR_NOTFOUND;
    case ENOMEM:
        return AB_ERR_NOMEM;
    default:
        return AB_ERR_IO;
    }
}
