/* SPDX-License-Identifier: Apache-2.0
 *
 * Small files that others replace while we run: tokens, certificates. Read on the loop: they are a
 * few KiB, in memory (a pod's volumes) or in the page cache.
 */
#include "store/kubernetes/access_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void ab_kube_wipe(char *secret)
{
    if (secret == NULL)
        return;
    explicit_bzero(secret, strlen(secret));
    free(secret);
}

void ab_kube_text_fini(ab_kube_text *t)
{
    free(t->path);
    ab_kube_wipe(t->text);
    *t = (ab_kube_text){0};
}

bool ab_kube_text_given(const ab_kube_text *t)
{
    return t->path != NULL || t->text != NULL;
}

ab_str ab_kube_text_str(const ab_kube_text *t)
{
    return ab_str_of(t->text);
}

bool ab_kube_text_changed(const ab_kube_text *t)
{
    struct stat now;
    if (t->path == NULL)
        return false;
    if (stat(t->path, &now) != 0)
        return true;
    return now.st_dev != t->stat.st_dev || now.st_ino != t->stat.st_ino ||
           now.st_size != t->stat.st_size || now.st_mtim.tv_sec != t->stat.st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != t->stat.st_mtim.tv_nsec;
}

static ab_err fail(const char *what, const char *path, ab_error *err)
{
    int number = errno;
    return ab_fail_errno(err, ab_err_from_errno(number), number, "cannot %s %s", what, path);
}

static ab_err read_all(int fd, const char *path, ab_buf *out, ab_error *err)
{
    char chunk[4096];
    ab_err e = AB_ERR_OK;
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            e = fail("read", path, err);
        if (n <= 0)
            break;
        ab_buf_put(out, (ab_str){chunk, (size_t)n});
        if ((e = ab_buf_status(out)) != AB_ERR_OK) {
            (void)ab_fail(err, e, "%s: %s (%zu bytes)", path, ab_err_text(e), out->cap);
            break;
        }
    }
    explicit_bzero(chunk, sizeof(chunk));
    return e;
}

/* `stat` is of the open file, so that it never claims more than was read. */
static ab_err read_file(const char *path, ab_buf *out, struct stat *stat, ab_error *err)
{
    /* O_NONBLOCK: a FIFO must not hold the loop. */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return fail("open", path, err);
    ab_err e = AB_ERR_OK;
    if (fstat(fd, stat) != 0)
        e = fail("read", path, err);
    else if (!S_ISREG(stat->st_mode))
        e = ab_fail(err, AB_ERR_INVALID, "%s is no regular file", path);
    else
        e = read_all(fd, path, out, err);
    (void)close(fd);
    return e;
}

ab_err ab_kube_file_read(const char *path, ab_buf *out, ab_error *err)
{
    struct stat ignored;
    return read_file(path, out, &ignored, err);
}

static ab_err load_file(ab_kube_text *t, ab_error *err)
{
    ab_buf text;
    ab_buf_init(&text, AB_KUBE_FILE_MAX);
    ab_err e = read_file(t->path, &text, &t->stat, err);
    if (e == AB_ERR_OK && text.len > 0 && memchr(text.ptr, '\0', text.len) != NULL)
        e = ab_fail(err, AB_ERR_INVALID, "%s has a NUL character", t->path);
    else if (e == AB_ERR_OK && (t->text = ab_str_dup(ab_buf_str(&text))) == NULL)
        e = ab_fail(err, AB_ERR_NOMEM, "no memory for %s", t->path);
    ab_buf_wipe(&text);
    return e;
}

ab_err ab_kube_text_load(const ab_kube_text *from, ab_kube_text *out, ab_error *err)
{
    ab_kube_text t = {.path = ab_str_dup(ab_str_of(from->path))};
    ab_err e = AB_ERR_OK;
    if (from->path != NULL && t.path == NULL)
        e = ab_fail(err, AB_ERR_NOMEM, "no memory for a path");
    else if (t.path != NULL)
        e = load_file(&t, err);
    else if (from->text != NULL && (t.text = ab_str_dup(ab_str_of(from->text))) == NULL)
        e = ab_fail(err, AB_ERR_NOMEM, "no memory for a text");
    if (e == AB_ERR_OK)
        *out = t;
    else
        ab_kube_text_fini(&t);
    return e;
}
