/* SPDX-License-Identifier: Apache-2.0
 *
 * A disk that answers nobody for a while, for a program of ours that is started with this library
 * in LD_PRELOAD. Reads, writes and syncs of what is below the folder AB_HELD_FOLDER wait as long as
 * somebody has an exclusive lock on the file AB_HELD_LOCK. Whoever waits says so first: the file
 * AB_HELD_LOCK.waits is there then.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The C library's own names of these parameters are not for us.
 * NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */

static bool is_below(int fd, const char *folder)
{
    char link[64];
    char path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof(path) - 1);
    return len > 0 && strncmp(path, folder, strlen(folder)) == 0;
}

static void say_that_one_waits(const char *lock)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s.waits", lock);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        abort();
    close(fd);
}

static void wait_for_disk(int of)
{
    const char *folder = getenv("AB_HELD_FOLDER");
    const char *lock = getenv("AB_HELD_LOCK");
    if (folder == NULL || lock == NULL || !is_below(of, folder))
        return;
    int fd = open(lock, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        abort();
    if (flock(fd, LOCK_SH | LOCK_NB) != 0) {
        say_that_one_waits(lock);
        if (flock(fd, LOCK_SH) != 0)
            abort();
    }
    close(fd);
}

ssize_t pread64(int fd, void *buf, size_t count, off64_t offset)
{
    wait_for_disk(fd);
    return syscall(SYS_pread64, fd, buf, count, offset);
}

ssize_t pwrite64(int fd, const void *buf, size_t count, off64_t offset)
{
    wait_for_disk(fd);
    return syscall(SYS_pwrite64, fd, buf, count, offset);
}

int fdatasync(int fd)
{
    wait_for_disk(fd);
    return (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
    wait_for_disk(fd);
    return (int)syscall(SYS_fsync, fd);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
