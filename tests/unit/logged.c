/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/logged.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_MAX (1024u * 1024)

FILE *logged_open(const ab_clock *clock, ab_log **out)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(ab_log_new(fileno(file), "debug", AB_LOG_TEXT, clock, out, NULL), AB_ERR_OK);
    return file;
}

size_t logged_count(FILE *file, const char *text)
{
    size_t count = 0;
    char *all = calloc(1, LOG_MAX);
    assert_non_null(all);
    assert_true(pread(fileno(file), all, LOG_MAX - 1, 0) >= 0);
    for (const char *at = all; (at = strstr(at, text)) != NULL; at++)
        count++;
    free(all);
    return count;
}
