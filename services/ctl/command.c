/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *ab_ctl_value(const ab_ctl *ctl, const char *flag)
{
    for (size_t i = 0; i < ctl->command->flag_count; i++)
        if (strcmp(ctl->command->flags[i].name, flag) == 0)
            return ctl->values[i];
    return NULL;
}

int ab_ctl_fail(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("argobusctl: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return code;
}
