/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/command.h"

#include "services/ctl/plain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const ab_ctl_flag *ab_ctl_find_flag(const ab_ctl_flag *rows, size_t count, ab_str name)
{
    for (size_t i = 0; i < count; i++)
        if (ab_str_is(name, rows[i].name))
            return &rows[i];
    return NULL;
}

const char *ab_ctl_value(const ab_ctl *ctl, const char *flag)
{
    const ab_ctl_command *c = ctl->command;
    const ab_ctl_flag *found = ab_ctl_find_flag(c->flags, c->flag_count, ab_str_of(flag));
    return found == NULL ? NULL : ctl->values[found - c->flags];
}

static const char *program = "argobusctl";

void ab_ctl_set_program(const char *argv0)
{
    const char *slash = strrchr(argv0, '/');
    bool plugin = strcmp(slash == NULL ? argv0 : slash + 1, "kubectl-argobus") == 0;
    program = plugin ? "kubectl argobus" : "argobusctl";
}

const char *ab_ctl_program(void)
{
    return program;
}

int ab_ctl_fail(int code, const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    if (len >= 0)
        ab_ctl_make_plain(text, (size_t)len, true);
    fprintf(stderr, "%s: %s\n", program, len >= 0 ? text : "out of memory");
    if (len >= 0)
        free(text);
    return code;
}
