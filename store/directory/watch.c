/* SPDX-License-Identifier: Apache-2.0
 *
 * inotify over the root, its namespaces and their kinds. A folder is watched before it is listed,
 * so nothing falls between; events only say which file to read again, and reading compares digests,
 * so an event too many costs little. When the kernel drops events, everything is listed again.
 *
 * A file that somebody is writing to holds anything, or nothing: it is as it was until it is
 * closed.
 */
#include "store/directory/watch.h"

#include "store/directory/disk.h"
#include "store/directory/folders.h"
#include "store/directory/index.h"
#include "store/directory/listing.h"
#include "store/directory/load.h"
#include "store/directory/report.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files below `path` are read again; that finds those that are no longer there.
 * @param unwatched  nor was it told when they were closed */
static void touch_known(ab_dir *d, const char *path, bool unwatched)
{
    size_t len = strlen(path);
    for (ab_map_iter i = ab_map_first(d->files); i.entry != NULL; ab_map_next(&i)) {
        ab_dir_file *f = i.value;
        if (len > 0 && (strncmp(f->path, path, len) != 0 || f->path[len] != '/'))
            continue;
        f->writing = f->writing && !unwatched;
        ab_dir_file_set_relisted(f);
        ab_dir_touch(d, f);
    }
}

static void list_again(ab_dir *d, bool unwatched)
{
    ab_error err = {0};
    touch_known(d, "", unwatched);
    if (ab_dir_list_all(d, &err) != AB_ERR_OK)
        ab_dir_unlisted(d, d->path, "", &err);
}

static void on_folder_event(ab_dir *d, const char *path, const struct inotify_event *event)
{
    char child[AB_FOLDER_PATH];
    ab_folder_child(path, event->name, child);
    if (event->mask & (IN_MOVED_FROM | IN_DELETE)) {
        ab_dir_folders_remove(d, child);
        touch_known(d, child, true);
    }
    /* It may be what was wrong with a folder that has been put right. */
    if (d->unlisted > 0)
        list_again(d, false);
    if (d->unlisted > 0 || (event->mask & (IN_MOVED_FROM | IN_DELETE | IN_ATTRIB)))
        return;
    if (ab_dir_is_ours(d, path, event->name))
        ab_dir_list_folder(d, child);
}

/* Its rights may be what was wrong with the files in it. */
static void on_self_event(ab_dir *d, const char *path, const struct inotify_event *event)
{
    if ((event->mask & IN_ATTRIB) && d->unlisted > 0)
        list_again(d, false);
    else if ((event->mask & IN_ATTRIB) && d->broken > 0)
        touch_known(d, path, false);
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

static bool is_in_part(ab_dir *d, const char *path, const struct inotify_event *event)
{
    return (event->mask & IN_MODIFY) ||
           ((event->mask & IN_CREATE) && !is_whole(d, path, event->name));
}

static void on_file_event(ab_dir *d, const char *path, const struct inotify_event *event)
{
    char file[PATH_MAX];
    if (!ab_disk_is_manifest(event->name))
        return;
    (void)snprintf(file, sizeof(file), "%s/%s", path, event->name);
    ab_dir_file *f = ab_map_find(d->files, ab_str_of(file));
    if ((event->mask & IN_ATTRIB) && (f == NULL || !f->broken))
        return;
    bool in_part = is_in_part(d, path, event);
    if (f != NULL && !(event->mask & IN_ATTRIB)) {
        f->writing = in_part;
        ab_dir_file_set_partial(d, f, f->partial && in_part);
    }
    if (!in_part)
        ab_dir_touch_path(d, path, event->name);
}

static bool is_root_there(const ab_dir *d)
{
    struct stat root;
    struct stat there;
    return fstat(d->root, &root) == 0 && stat(d->path, &there) == 0 &&
           root.st_dev == there.st_dev && root.st_ino == there.st_ino;
}

/* inotify tells of the root's own moves only: nothing when a folder above it was moved, when it is
 * removed while we have it open, or when something is mounted over it. */
static void see_root(ab_dir *d)
{
    ab_error err = {0};
    bool lost = !is_root_there(d);
    if (lost == d->lost)
        return;
    d->lost = lost;
    if (!lost) {
        AB_INFO(d->base.env.log, STORE, "the folder is back", AB_KV("path", d->path));
        list_again(d, true);
        return;
    }
    (void)ab_fail(&err, AB_ERR_IO,
                  "the folder was moved, removed, unmounted or replaced by another one: put it "
                  "back, or restart to use what is there; until then nothing counts as deleted");
    ab_dir_fault(d, d->path, &err);
}

static void on_unmounted(ab_dir *d, const char *path)
{
    ab_error err = {0};
    d->unmounted = true;
    (void)ab_fail(&err, AB_ERR_IO,
                  "the folder was unmounted; mount it and restart; until then nothing in the store "
                  "counts as deleted");
    ab_dir_fault(d, path, &err);
}

static void on_event(ab_dir *d, const struct inotify_event *event)
{
    char path[AB_FOLDER_PATH];
    if (event->mask & IN_Q_OVERFLOW) {
        list_again(d, true);
        return;
    }
    if (!ab_dir_folders_find(d, event->wd, path))
        return;
    if (event->mask & IN_UNMOUNT)
        on_unmounted(d, path);
    else if (event->mask & IN_IGNORED)
        ab_dir_folders_ended(d, event->wd);
    else if (event->len == 0)
        on_self_event(d, path, event);
    else if (ab_level_of(path) == AB_LEVEL_KIND)
        on_file_event(d, path, event);
    else if (event->mask & (IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB))
        on_folder_event(d, path, event);
}

static void see_events(ab_dir *d)
{
    _Alignas(struct inotify_event) char buffer[65536];
    see_root(d);
    for (;;) {
        ssize_t n = read(d->folders.fd, buffer, sizeof(buffer));
        if (n <= 0)
            break;
        for (ssize_t at = 0; at < n;) {
            const struct inotify_event *event = (const void *)(buffer + at);
            on_event(d, event);
            at += (ssize_t)(sizeof(*event) + event->len);
        }
    }
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    ab_dir *d = poll->data;
    (void)status;
    (void)events;
    see_events(d);
    ab_dir_load_next(d);
}

ab_err ab_dir_watch_start(ab_dir *d, ab_error *err)
{
    d->see_events = see_events;
    ab_err e = ab_dir_folders_open(d, err);
    if (e == AB_ERR_OK)
        e = ab_dir_list_all(d, err);
    if (e != AB_ERR_OK)
        return e;
    int failed = uv_poll_init(d->base.env.loop, &d->watch, d->folders.fd);
    if (failed != 0)
        return ab_fail(err, AB_ERR_IO, "cannot watch files: %s", uv_strerror(failed));
    d->watch.data = d;
    d->handles++;
    (void)uv_poll_start(&d->watch, UV_READABLE, on_readable);
    return AB_ERR_OK;
}
