/* SPDX-License-Identifier: Apache-2.0 */
#include "services/data.h"

#include "base/core/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define WORD_MAX 64

/* Empty: nobody has noted any. */
static ab_err compare(const char *former, const char *mapping, const char *option, ab_error *err)
{
    if (former[0] == '\0' || strcmp(former, mapping) == 0)
        return AB_ERR_OK;
    return ab_fail(
        err, AB_ERR_CONFIG,
        "mapping is %s, but %s was used with %s: Applications would be orphaned or deleted. Undo "
        "the change, or follow \"To change the mapping\" in docs/operate/modes.md",
        mapping, option, former);
}

static ab_err read_former(const char *path, char former[WORD_MAX], ab_error *err)
{
    ab_buf text;
    ab_buf_init(&text, WORD_MAX - 1);
    ab_err e = ab_file_read(path, &text, NULL, err);
    snprintf(former, WORD_MAX, "%.*s", AB_STR_ARG(ab_buf_str(&text)));
    former[strcspn(former, "\r\n")] = '\0';
    ab_buf_fini(&text);
    return e == AB_ERR_NOTFOUND ? AB_ERR_OK : e;
}

ab_err ab_data_claim(const char *folder, const char *mapping, const char *option, ab_error *err)
{
    char path[4096];
    int n = snprintf(path, sizeof(path), "%s/mapping", folder);
    if (n < 0 || (size_t)n >= sizeof(path))
        return ab_fail(err, AB_ERR_CONFIG, "%s: the path is too long", option);
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return ab_fail_errno(err, AB_ERR_CONFIG, errno, "%s: cannot create the folder %s", option,
                             folder);
    char former[WORD_MAX];
    ab_err e = read_former(path, former, err);
    if (e == AB_ERR_OK)
        e = compare(former, mapping, option, err);
    if (e == AB_ERR_OK && former[0] == '\0')
        e = ab_file_replace(path, ab_str_of(mapping), err);
    return e;
}
