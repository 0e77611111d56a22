/* SPDX-License-Identifier: Apache-2.0 */
#include "services/data.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ab_err note(const char *path, const char *mapping, ab_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return ab_fail_errno(err, AB_ERR_IO, errno, "%s", path);
    size_t len = strlen(mapping);
    bool written = write(fd, mapping, len) == (ssize_t)len && fsync(fd) == 0;
    int code = errno;
    close(fd);
    return written ? AB_ERR_OK : ab_fail_errno(err, AB_ERR_IO, code, "%s", path);
}

/* Empty: a crash came before it was written. */
static ab_err compare(int fd, const char *path, const char *mapping, const char *option,
                      ab_error *err)
{
    char former[64];
    ssize_t n = read(fd, former, sizeof(former) - 1);
    if (n < 0)
        return ab_fail_errno(err, AB_ERR_IO, errno, "%s", path);
    former[n] = '\0';
    former[strcspn(former, "\r\n")] = '\0';
    if (former[0] == '\0')
        return note(path, mapping, err);
    if (strcmp(former, mapping) == 0)
        return AB_ERR_OK;
    return ab_fail(err, AB_ERR_CONFIG,
                   "mapping is %s, and %s was used with %s: Applications would be left "
                   "behind or deleted. Take it back, or follow \"To change the mapping\" in "
                   "docs/operate/modes.md",
                   mapping, option, former);
}

ab_err ab_data_claim(const char *folder, const char *mapping, const char *option, ab_error *err)
{
    char path[4096];
    int n = snprintf(path, sizeof(path), "%s/mapping", folder);
    if (n < 0 || (size_t)n >= sizeof(path))
        return ab_fail(err, AB_ERR_CONFIG, "%s is too long a path", option);
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return ab_fail_errno(err, AB_ERR_CONFIG, errno, "%s: the folder %s cannot be made", option,
                             folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return note(path, mapping, err);
    if (fd < 0)
        return ab_fail_errno(err, AB_ERR_IO, errno, "%s", path);
    ab_err e = compare(fd, path, mapping, option, err);
    close(fd);
    return e;
}
