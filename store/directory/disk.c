/* SPDX-License-Identifier: Apache-2.0 */
#include "store/directory/disk.h"

#include "base/core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

bool ab_disk_is_manifest(const char *name)
{
    static const char *const endings[] = {".yaml", ".yml", ".json"};
    size_t len = strlen(name);
    if (name[0] == '.')
        return false;
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        size_t ending = strlen(endings[i]);
        if (len > ending && strcmp(name + len - ending, endings[i]) == 0)
            return true;
    }
    return false;
}

static ab_err fail(ab_error *err, int number, const char *what, const char *name)
{
    return ab_fail_errno(err, ab_err_from_errno(number), number, "cannot %s %s", what, name);
}

ab_err ab_disk_open_dir(int parent, const char *name, int *out, ab_error *err)
{
    int fd = openat(parent, name, DIR_FLAGS);
    if (fd >= 0) {
        *out = fd;
        return AB_ERR_OK;
    }
    if (errno == ELOOP || errno == ENOTDIR)
        return ab_fail(err, AB_ERR_DENIED, "%s is not a folder (symbolic links are not followed)",
                       name);
    return fail(err, errno, "open folder", name);
}

static ab_err make_dir(int parent, const char *name, ab_error *err)
{
    if (mkdirat(parent, name, 0777) == 0)
        return ab_disk_sync_dir(parent, err);
    return errno == EEXIST ? AB_ERR_OK : fail(err, errno, "make folder", name);
}

static ab_err enter(int parent, const char *name, bool make, int *out, ab_error *err)
{
    ab_err e = ab_disk_open_dir(parent, name, out, err);
    if (e != AB_ERR_NOTFOUND || !make)
        return e;
    e = make_dir(parent, name, err);
    return e == AB_ERR_OK ? ab_disk_open_dir(parent, name, out, err) : e;
}

ab_err ab_folder_open(int root, const char *ns, const char *kind, bool make, ab_folder *out,
                      ab_error *err)
{
    ab_folder f = {-1, -1};
    int parent = -1;
    ab_err e = enter(root, ns, make, &parent, err);
    if (e != AB_ERR_OK)
        return e;
    e = enter(parent, kind, make, &f.manifests, err);
    (void)close(parent);
    if (e != AB_ERR_OK)
        return e;
    e = enter(f.manifests, AB_DISK_META, make, &f.meta, err);
    if (e != AB_ERR_OK && (make || e != AB_ERR_NOTFOUND)) {
        ab_folder_close(&f);
        return e;
    }
    *out = f;
    return AB_ERR_OK;
}

void ab_folder_close(ab_folder *f)
{
    if (f->manifests >= 0)
        (void)close(f->manifests);
    if (f->meta >= 0)
        (void)close(f->meta);
    *f = (ab_folder){-1, -1};
}

ab_err ab_disk_read(int dir, const char *name, ab_buf *out, ab_error *err)
{
    /* O_NONBLOCK: a FIFO in the tree must not hold the worker. */
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ELOOP)
        return ab_fail(
            err, AB_ERR_DENIED,
            "%s is a symbolic link, which is not followed; put the file itself in the folder",
            name);
    if (fd < 0)
        return fail(err, errno, "open", name);
    ab_err e = ab_file_read_fd(fd, name, out, NULL, err);
    (void)close(fd);
    return e;
}

void ab_disk_hide(int dir, const char *name)
{
    struct stat st;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_IROTH) != 0)
        (void)fchmod(fd, 0600);
    (void)close(fd);
}

ab_err ab_temp_write(int meta, int slot, mode_t mode, ab_str text, ab_temp *out, ab_error *err)
{
    ab_temp t;
    (void)snprintf(t.name, sizeof(t.name), ".tmp-%d-%d", (int)gettid(), slot);
    int fd = openat(meta, t.name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        return fail(err, errno, "make", t.name);
    int number = ab_file_write_fd(fd, text);
    (void)close(fd); /* fsync has told all that it could */
    if (number != 0) {
        ab_temp_drop(meta, &t);
        /* EFBIG is the process's file size limit: as little room as a full disk. */
        ab_err code = number == EFBIG ? AB_ERR_NOSPACE : ab_err_from_errno(number);
        return ab_fail_errno(err, code, number, "cannot write a file of %zu bytes", text.len);
    }
    *out = t;
    return AB_ERR_OK;
}

ab_err ab_temp_place(int meta, ab_temp *t, int dir, const char *name, ab_error *err)
{
    if (renameat(meta, t->name, dir, name) != 0) {
        if (errno == ENAMETOOLONG)
            return ab_fail(err, AB_ERR_INVALID, "the name is too long for a file");
        return fail(err, errno, "rename a temporary file to", name);
    }
    t->name[0] = '\0';
    return AB_ERR_OK;
}

void ab_temp_drop(int meta, ab_temp *t)
{
    if (t->name[0] != '\0')
        (void)unlinkat(meta, t->name, 0);
    t->name[0] = '\0';
}

ab_err ab_disk_unlink(int dir, const char *name, ab_error *err)
{
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
        return AB_ERR_OK;
    return fail(err, errno, "remove", name);
}

ab_err ab_disk_sync_dir(int dir, ab_error *err)
{
    return fsync(dir) == 0 ? AB_ERR_OK : fail(err, errno, "sync", "folder");
}

static ab_err read_starts(int meta, const char *path, uint64_t *out, ab_error *err)
{
    ab_buf text = ab_buf_up_to(64);
    ab_err e = ab_disk_read(meta, "starts", &text, err);
    ab_str digits = ab_buf_str(&text);
    if (digits.len > 0 && digits.ptr[digits.len - 1] == '\n')
        digits.len--;
    if (e == AB_ERR_NOTFOUND) {
        *out = 0;
        e = AB_ERR_OK;
    } else if (e == AB_ERR_TOOBIG || (e == AB_ERR_OK && ab_str_to_u64(digits, out) != AB_ERR_OK)) {
        e = ab_fail(err, AB_ERR_CONFIG,
                    "%s/%s/starts does not hold a number: stop the program, and write one into it "
                    "that is above the number of all starts so far, 10000 for example",
                    path, AB_DISK_META);
    }
    ab_buf_fini(&text);
    return e;
}

static ab_err count_start(int meta, const char *path, uint64_t *out_start, ab_error *err)
{
    uint64_t before = 0;
    ab_err e = read_starts(meta, path, &before, err);
    if (e != AB_ERR_OK)
        return e;
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRIu64 "\n", before + 1);
    ab_temp temp = {0};
    e = ab_temp_write(meta, 0, 0666, ab_str_of(text), &temp, err);
    if (e == AB_ERR_OK)
        e = ab_temp_place(meta, &temp, meta, "starts", err);
    if (e == AB_ERR_OK)
        e = ab_disk_sync_dir(meta, err);
    ab_temp_drop(meta, &temp);
    *out_start = before + 1;
    return e;
}

static ab_err lock_tree(int meta, const char *path, int *out_lock, ab_error *err)
{
    int fd = openat(meta, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return fail(err, errno, "open the lock of", path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        (void)close(fd);
        return ab_fail(err, AB_ERR_CONFIG, "%s is in use by another process", path);
    }
    *out_lock = fd;
    return AB_ERR_OK;
}

ab_err ab_disk_claim(const char *path, int *out_root, int *out_lock, uint64_t *out_start,
                     ab_error *err)
{
    int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return ab_fail_errno(err, AB_ERR_CONFIG, errno,
                             "store.directory.path: cannot open folder %s", path);
    int meta = -1;
    int lock = -1;
    ab_err e = enter(root, AB_DISK_META, true, &meta, err);
    if (e == AB_ERR_OK)
        e = lock_tree(meta, path, &lock, err);
    if (e == AB_ERR_OK)
        e = count_start(meta, path, out_start, err);
    if (meta >= 0)
        (void)close(meta);
    if (e != AB_ERR_OK) {
        if (lock >= 0)
            (void)close(lock);
        (void)close(root);
        return e;
    }
    *out_root = root;
    *out_lock = lock;
    return AB_ERR_OK;
}
