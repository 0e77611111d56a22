/* SPDX-License-Identifier: Apache-2.0 */
#include "store/directory/folders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define FOLDER_MASK                                                                                \
    (IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB | IN_MOVE_SELF | IN_ONLYDIR)
#define FILES_MASK (FOLDER_MASK | IN_CLOSE_WRITE | IN_MODIFY | IN_EXCL_UNLINK)

typedef struct ab_dir_folder {
    int wd;
    char path[AB_FOLDER_PATH];
} folder;

ab_level ab_level_of(const char *path)
{
    if (path[0] == '\0')
        return AB_LEVEL_ROOT;
    return strchr(path, '/') == NULL ? AB_LEVEL_NAMESPACE : AB_LEVEL_KIND;
}

void ab_folder_child(const char *path, const char *name, char out[AB_FOLDER_PATH])
{
    (void)snprintf(out, AB_FOLDER_PATH, "%.63s%s%.63s", path, path[0] != '\0' ? "/" : "", name);
}

ab_err ab_dir_folders_open(ab_dir *d, ab_error *err)
{
    d->folders.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (d->folders.fd >= 0)
        return AB_ERR_OK;
    return ab_fail_errno(err, AB_ERR_IO, errno, "cannot watch %s%s", d->path,
                         errno == EMFILE ? ", raise fs.inotify.max_user_instances (sysctl), or "
                                           "the limit of open files"
                                         : "");
}

static folder *find(const ab_dir *d, int wd)
{
    for (size_t i = 0; i < d->folders.count; i++)
        if (d->folders.items[i].wd == wd)
            return &d->folders.items[i];
    return NULL;
}

static folder *append(ab_dir_folders *w)
{
    if (w->count == w->room) {
        size_t room = w->room == 0 ? 16 : w->room * 2;
        folder *items = realloc(w->items, room * sizeof(*items));
        if (items == NULL)
            return NULL;
        w->items = items;
        w->room = room;
    }
    return &w->items[w->count++];
}

ab_err ab_dir_folders_add(ab_dir *d, const char *path, int fd, ab_error *err)
{
    /* Through the descriptor that was opened without following links. */
    char by_fd[40];
    (void)snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d", fd);
    int wd = inotify_add_watch(d->folders.fd, by_fd,
                               ab_level_of(path) == AB_LEVEL_KIND ? FILES_MASK : FOLDER_MASK);
    if (wd < 0)
        return ab_fail_errno(err, AB_ERR_IO, errno, "cannot watch the folder%s",
                             errno == ENOSPC ? ", raise fs.inotify.max_user_watches" : "");
    folder *f = find(d, wd);
    if (f == NULL)
        f = append(&d->folders);
    if (f == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory watching a folder");
    f->wd = wd;
    (void)snprintf(f->path, sizeof(f->path), "%s", path);
    return AB_ERR_OK;
}

const char *ab_dir_folders_path(const ab_dir *d, size_t i)
{
    return i < d->folders.count ? d->folders.items[i].path : NULL;
}

bool ab_dir_folders_find(const ab_dir *d, int wd, char out[AB_FOLDER_PATH])
{
    const folder *f = find(d, wd);
    if (f != NULL)
        memcpy(out, f->path, sizeof(f->path));
    return f != NULL;
}

void ab_dir_folders_ended(ab_dir *d, int wd)
{
    folder *f = find(d, wd);
    if (f != NULL)
        *f = d->folders.items[--d->folders.count];
}

void ab_dir_folders_remove(ab_dir *d, const char *path)
{
    size_t len = strlen(path);
    size_t kept = 0;
    for (size_t i = 0; i < d->folders.count; i++) {
        const folder *f = &d->folders.items[i];
        bool below =
            strncmp(f->path, path, len) == 0 && (f->path[len] == '/' || f->path[len] == '\0');
        if (below)
            (void)inotify_rm_watch(d->folders.fd, f->wd);
        else
            d->folders.items[kept++] = *f;
    }
    d->folders.count = kept;
}

void ab_dir_folders_close(ab_dir *d)
{
    if (d->folders.fd >= 0)
        (void)close(d->folders.fd);
    free(d->folders.items);
}
