/* SPDX-License-Identifier: Apache-2.0 */
#include "services/pem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static ab_err read_all(int fd, const char *path, ab_buf *out, ab_error *err)
{
    char piece[4096];
    ssize_t n;
    while ((n = read(fd, piece, sizeof(piece))) > 0)
        ab_buf_put(out, (ab_str){piece, (size_t)n});
    int error = errno;
    explicit_bzero(piece, sizeof(piece));
    if (n < 0)
        return ab_fail_errno(err, AB_ERR_CONFIG, error, "%s", path);
    if (ab_buf_status(out) == AB_ERR_NOMEM)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    if (ab_buf_status(out) != AB_ERR_OK)
        return ab_fail(err, AB_ERR_CONFIG, "%s is too long for a certificate or key", path);
    return AB_ERR_OK;
}

ab_err ab_pem_read(const char *path, ab_buf *out, ab_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return ab_fail_errno(err, AB_ERR_CONFIG, errno, "%s", path);
    ab_err e = read_all(fd, path, out, err);
    close(fd);
    return e;
}
