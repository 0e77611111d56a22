/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/fleet/hub_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOT ((size_t)64 * 1024) /* the file is sparse */

bool ab_bench_hub_file_open(const char *folder, int *file, int *changes)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/objects", folder);
    *file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    (void)snprintf(path, sizeof(path), "%s/changes", folder);
    if (*file < 0 || (mkfifo(path, 0666) != 0 && errno != EEXIST))
        return false;
    /* Both directions, so that it stays open whoever else ends. */
    *changes = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    return *changes >= 0;
}

size_t ab_bench_hub_file_count(int file)
{
    struct stat st;
    return fstat(file, &st) == 0 ? ((size_t)st.st_size + SLOT - 1) / SLOT : 0;
}

bool ab_bench_hub_file_put(int file, size_t slot, ab_str text)
{
    char image[SLOT];
    uint32_t len = (uint32_t)text.len;
    size_t whole = sizeof(len) + text.len;
    errno = EFBIG;
    if (whole > SLOT)
        return false;
    memcpy(image, &len, sizeof(len));
    if (text.len > 0)
        memcpy(image + sizeof(len), text.ptr, text.len);
    return pwrite(file, image, whole, (off_t)(slot * SLOT)) == (ssize_t)whole;
}

bool ab_bench_hub_file_get(int file, size_t slot, ab_buf *out)
{
    char image[SLOT];
    uint32_t len = 0;
    ssize_t n = pread(file, image, 8192, (off_t)(slot * SLOT)); /* most have no more */
    if (n < (ssize_t)sizeof(len))
        return false;
    memcpy(&len, image, sizeof(len));
    if (sizeof(len) + len > (size_t)n)
        n = pread(file, image, SLOT, (off_t)(slot * SLOT));
    errno = EIO;
    if (sizeof(len) + len > (size_t)n)
        return false;
    ab_buf_put(out, (ab_str){image + sizeof(len), len});
    return ab_buf_status(out) == AB_ERR_OK;
}
