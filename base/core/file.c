/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static ab_err fail(const char *path, int number, ab_error *err)
{
    return ab_fail_errno(err, ab_err_from_errno(number), number, "%s", path);
}

/* ----- reading ----- */

static ab_err read_all(int fd, const char *path, ab_buf *out, ab_error *err)
{
    char piece[4096];
    ssize_t n = 1;
    while (n != 0 && ab_buf_status(out) == AB_ERR_OK) {
        n = read(fd, piece, sizeof(piece));
        if (n > 0)
            ab_buf_put(out, (ab_str){piece, (size_t)n});
        else if (n < 0 && errno != EINTR)
            break;
    }
    int number = errno;
    explicit_bzero(piece, sizeof(piece));
    if (n < 0)
        return fail(path, number, err);
    ab_err e = ab_buf_status(out);
    if (e == AB_ERR_TOOBIG)
        return ab_fail(err, e, "%s: is larger than %zu bytes: is it the right file?", path,
                       out->cap);
    return e == AB_ERR_OK ? e : ab_fail(err, e, "%s: %s", path, ab_err_text(e));
}

ab_err ab_file_read_fd(int fd, const char *path, ab_buf *out, ab_file_stamp *stamp, ab_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return fail(path, errno, err);
    if (S_ISDIR(st.st_mode))
        return ab_fail(err, AB_ERR_INVALID, "%s: is a folder, not a file", path);
    if (!S_ISREG(st.st_mode))
        return ab_fail(err, AB_ERR_INVALID, "%s: is not a regular file", path);
    /* Of before it is read, so that it never claims more than was read. */
    if (stamp != NULL)
        *stamp = ab_file_stamp_from(&st);
    return read_all(fd, path, out, err);
}

ab_err ab_file_read(const char *path, ab_buf *out, ab_file_stamp *stamp, ab_error *err)
{
    /* Without O_NONBLOCK a named pipe would hold us up. */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return fail(path, errno, err);
    ab_err e = ab_file_read_fd(fd, path, out, stamp, err);
    (void)close(fd);
    return e;
}

ab_err ab_file_read_named(const char *path, ab_buf *out, ab_error *err)
{
    ab_error why = {0};
    ab_err e = ab_file_read(path, out, NULL, &why);
    if (e == AB_ERR_OK)
        return e;
    return ab_fail(err, e == AB_ERR_NOMEM ? e : AB_ERR_CONFIG, "%s", why.text);
}

/* ----- writing ----- */

int ab_file_write_fd(int fd, ab_str text)
{
    while (text.len > 0) {
        ssize_t n = write(fd, text.ptr, text.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        text = (ab_str){text.ptr + n, text.len - (size_t)n};
    }
    return fsync(fd) == 0 ? 0 : errno;
}

static ab_err write_new(const char *path, ab_str text, ab_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(path, errno, err);
    int number = ab_file_write_fd(fd, text);
    (void)close(fd);
    if (number == 0)
        return AB_ERR_OK;
    (void)unlink(path);
    return fail(path, number, err);
}

/* The name in the folder is on the disk only when the folder is. */
static ab_err sync_folder_of(const char *path, ab_error *err)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int len = slash == NULL ? 0 : (int)(slash - path) + 1;
    snprintf(folder, sizeof(folder), "%.*s.", len, path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = fd >= 0 && fsync(fd) == 0;
    int number = errno;
    if (fd >= 0)
        (void)close(fd);
    return synced ? AB_ERR_OK : fail(folder, number, err);
}

ab_err ab_file_replace(const char *path, ab_str text, ab_error *err)
{
    char beside[PATH_MAX];
    int n = snprintf(beside, sizeof(beside), "%s.new", path);
    if (n < 0 || (size_t)n >= sizeof(beside))
        return ab_fail(err, AB_ERR_INVALID, "%s: the path is too long", path);
    ab_err e = write_new(beside, text, err);
    if (e != AB_ERR_OK)
        return e;
    if (rename(beside, path) != 0) {
        int number = errno;
        (void)unlink(beside);
        return fail(path, number, err);
    }
    return sync_folder_of(path, err);
}

void ab_file_hold_standard(void)
{
    int fd = -1;
    do
        fd = open("/dev/null", O_RDONLY); /* children are to have them, too: no O_CLOEXEC */
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        (void)close(fd);
}
