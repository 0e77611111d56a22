/* SPDX-License-Identifier: Apache-2.0
 *
 * inotify over the root, its namespaces and their kinds. A folder is watched before it is listed,
 * so nothing falls between; events only say which file to read again, and reading compares digests,
 * so an event too many costs little. When the kernel drops events, everything is listed again.
 */
#include "store/directory/listing.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER_MASK                                                                                \
    (IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB | IN_MOVE_SELF |              \
     IN_DELETE_SELF | IN_ONLYDIR)
#define FILES_MASK (FOLDER_MASK | IN_CLOSE_WRITE)

/* A watched folder: "" is the root, "<namespace>", "<namespace>/<kind>". */
typedef struct {
    int wd;
    char path[AB_FOLDER_PATH];
} folder;

struct ab_dir_watch {
    ab_dir *dir;
    int fd;
    uv_poll_t poll;
    folder *folders;
    size_t count;
    size_t room;
};

static folder *find_wd(struct ab_dir_watch *w, int wd)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->folders[i].wd == wd)
            return &w->folders[i];
    return NULL;
}

ab_err ab_dir_watch_add(ab_dir *d, const char *path, int fd, ab_error *err)
{
    struct ab_dir_watch *w = d->watch;
    /* Through the descriptor that was opened without following links. */
    char by_fd[40];
    (void)snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d", fd);
    int wd = inotify_add_watch(w->fd, by_fd,
                               ab_level_of(path) == AB_LEVEL_KIND ? FILES_MASK : FOLDER_MASK);
    if (wd < 0)
        return ab_fail_errno(err, AB_ERR_IO, errno, "cannot watch the folder%s",
                             errno == ENOSPC ? ", raise fs.inotify.max_user_watches" : "");
    folder *f = find_wd(w, wd);
    if (f == NULL && w->count == w->room) {
        size_t room = w->room == 0 ? 16 : w->room * 2;
        folder *folders = realloc(w->folders, room * sizeof(*folders));
        if (folders == NULL)
            return ab_fail(err, AB_ERR_NOMEM, "out of memory watching a folder");
        w->folders = folders;
        w->room = room;
    }
    if (f == NULL)
        f = &w->folders[w->count++];
    f->wd = wd;
    (void)snprintf(f->path, sizeof(f->path), "%s", path);
    return AB_ERR_OK;
}

const char *ab_dir_watch_path(const ab_dir *d, size_t i)
{
    return i < d->watch->count ? d->watch->folders[i].path : NULL;
}

/* Files below `path` are read again; that finds those that are no longer there. */
static void touch_known(ab_dir *d, const char *path)
{
    size_t len = strlen(path);
    for (ab_map_iter i = ab_map_first(d->files); i.entry != NULL; ab_map_next(&i)) {
        ab_dir_file *f = i.value;
        if (len > 0 && (strncmp(f->path, path, len) != 0 || f->path[len] != '/'))
            continue;
        ab_dir_file_set_relisted(f);
        ab_dir_touch(d, f);
    }
}

static void list_again(ab_dir *d)
{
    ab_error err = {0};
    touch_known(d, "");
    if (ab_dir_list_all(d, &err) != AB_ERR_OK)
        ab_dir_unlisted(d, d->path, "", &err);
}

static void unwatch(struct ab_dir_watch *w, const char *path)
{
    size_t len = strlen(path);
    size_t kept = 0;
    for (size_t i = 0; i < w->count; i++) {
        folder *f = &w->folders[i];
        bool below =
            strncmp(f->path, path, len) == 0 && (f->path[len] == '/' || f->path[len] == '\0');
        if (below)
            (void)inotify_rm_watch(w->fd, f->wd);
        else
            w->folders[kept++] = *f;
    }
    w->count = kept;
}

static void on_folder_event(ab_dir *d, const char *path, const struct inotify_event *event)
{
    char child[AB_FOLDER_PATH];
    ab_folder_child(path, event->name, child);
    if (event->mask & (IN_MOVED_FROM | IN_DELETE)) {
        unwatch(d->watch, child);
        touch_known(d, child);
    }
    /* It may be what was wrong with a folder that has been put right. */
    if (d->unlisted > 0)
        list_again(d);
    if (d->unlisted > 0 || (event->mask & (IN_MOVED_FROM | IN_DELETE | IN_ATTRIB)))
        return;
    if (ab_dir_is_ours(d, path, event->name))
        ab_dir_list_folder(d, child);
}

/* A file that was opened to be written is read when it is closed. Only links are whole when they
 * are made. */
static bool is_whole(ab_dir *d, const char *path, const char *name)
{
    char file[PATH_MAX];
    struct stat st;
    (void)snprintf(file, sizeof(file), "%s/%s", path, name);
    if (fstatat(d->root, file, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    return !S_ISREG(st.st_mode) || st.st_nlink > 1;
}

static void on_file_event(ab_dir *d, const char *path, const struct inotify_event *event)
{
    if (!ab_disk_is_manifest(event->name))
        return;
    if ((event->mask & IN_CREATE) && !is_whole(d, path, event->name))
        return;
    if (event->mask & IN_ATTRIB) {
        char file[PATH_MAX];
        (void)snprintf(file, sizeof(file), "%s/%s", path, event->name);
        ab_dir_file *f = ab_map_find(d->files, ab_str_of(file));
        if (f == NULL || !f->broken)
            return;
    }
    ab_dir_touch_path(d, path, event->name);
}

static void root_lost(ab_dir *d)
{
    ab_error err = {0};
    if (d->lost)
        return;
    d->lost = true;
    (void)ab_fail(&err, AB_ERR_IO,
                  "the folder was moved, removed or unmounted; restore it and restart; until then "
                  "nothing is read or reported as deleted");
    ab_dir_fault(d, d->path, &err);
}

static void on_event(ab_dir *d, const struct inotify_event *event)
{
    if (event->mask & IN_Q_OVERFLOW) {
        list_again(d);
        return;
    }
    folder *f = find_wd(d->watch, event->wd);
    if (f == NULL)
        return;
    folder at = *f;
    if (ab_level_of(at.path) == AB_LEVEL_ROOT &&
        (event->mask & (IN_MOVE_SELF | IN_DELETE_SELF | IN_UNMOUNT)))
        root_lost(d);
    else if (event->mask & IN_IGNORED)
        *f = d->watch->folders[--d->watch->count];
    else if (event->len == 0)
        return;
    else if (ab_level_of(at.path) == AB_LEVEL_KIND)
        on_file_event(d, at.path, event);
    else if (event->mask & (IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB))
        on_folder_event(d, at.path, event);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct ab_dir_watch *w = poll->data;
    _Alignas(struct inotify_event) char buffer[65536];
    (void)status;
    (void)events;
    for (;;) {
        ssize_t n = read(w->fd, buffer, sizeof(buffer));
        if (n <= 0)
            break;
        for (ssize_t at = 0; at < n;) {
            const struct inotify_event *event = (const void *)(buffer + at);
            on_event(w->dir, event);
            at += (ssize_t)(sizeof(*event) + event->len);
        }
    }
    ab_dir_load_next(w->dir);
}

ab_err ab_dir_watch_start(ab_dir *d, ab_error *err)
{
    struct ab_dir_watch *w = calloc(1, sizeof(*w));
    if (w == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory watching %s", d->path);
    d->watch = w;
    w->dir = d;
    w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (w->fd < 0)
        return ab_fail_errno(err, AB_ERR_IO, errno, "cannot watch %s%s", d->path,
                             errno == EMFILE ? ", raise fs.inotify.max_user_instances (sysctl), or "
                                               "the limit of open files"
                                             : "");
    ab_err e = ab_dir_list_all(d, err);
    if (e != AB_ERR_OK)
        return e;
    int failed = uv_poll_init(d->base.env.loop, &w->poll, w->fd);
    if (failed != 0)
        return ab_fail(err, AB_ERR_IO, "cannot watch files: %s", uv_strerror(failed));
    w->poll.data = w;
    d->handles++;
    (void)uv_poll_start(&w->poll, UV_READABLE, on_readable);
    return AB_ERR_OK;
}

static void on_closed(uv_handle_t *handle)
{
    struct ab_dir_watch *w = handle->data;
    w->dir->handles--;
    ab_dir_finish_stop(w->dir);
}

void ab_dir_watch_stop(ab_dir *d)
{
    uv_handle_t *handle = (uv_handle_t *)&d->watch->poll;
    if (!uv_is_closing(handle))
        uv_close(handle, on_closed);
}

void ab_dir_watch_free(ab_dir *d)
{
    if (d->watch == NULL)
        return;
    if (d->watch->fd >= 0)
        (void)close(d->watch->fd);
    free(d->watch->folders);
    free(d->watch);
    d->watch = NULL;
}
