/* SPDX-License-Identifier: Apache-2.0
 *
 * inotify over the root, its namespaces and their kinds. A folder is watched before it is listed,
 * so nothing falls between; events only say which file to read again, and reading compares digests,
 * so an event too many costs little. When the kernel drops events, everything is listed again.
 */
#include "store/directory/directory_priv.h"

#include <assert.h>
#include <dirent.h>
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
    char path[130];
} folder;

struct ab_dir_watch {
    ab_dir *dir;
    int fd;
    uv_poll_t poll;
    folder *folders;
    size_t count;
    size_t room;
};

typedef enum { ROOT, NAMESPACE, KIND } level;

static level level_of(const char *path)
{
    if (path[0] == '\0')
        return ROOT;
    return strchr(path, '/') == NULL ? NAMESPACE : KIND;
}

static folder *find_wd(struct ab_dir_watch *w, int wd)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->folders[i].wd == wd)
            return &w->folders[i];
    return NULL;
}

static void fault_at(ab_dir *d, const char *path, const char *name, const ab_error *err)
{
    char where[PATH_MAX];
    (void)snprintf(where, sizeof(where), "%s%s%s", path, path[0] != '\0' ? "/" : "", name);
    ab_dir_fault(d, where, err);
}

static void unlisted(ab_dir *d, const char *path, const char *name, const ab_error *err)
{
    d->unlisted++;
    fault_at(d, path, name, err);
}

static ab_err add_watch(struct ab_dir_watch *w, const char *path, int fd, ab_error *err)
{
    /* Through the descriptor that was opened without following links. */
    char by_fd[40];
    (void)snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d", fd);
    int wd = inotify_add_watch(w->fd, by_fd, level_of(path) == KIND ? FILES_MASK : FOLDER_MASK);
    if (wd < 0)
        return ab_fail_errno(err, AB_ERR_IO, errno, "cannot watch the folder%s",
                             errno == ENOSPC ? ", raise fs.inotify.max_user_watches" : "");
    folder *f = find_wd(w, wd);
    if (f == NULL && w->count == w->room) {
        size_t room = w->room == 0 ? 16 : w->room * 2;
        folder *folders = realloc(w->folders, room * sizeof(*folders));
        if (folders == NULL)
            return ab_fail(err, AB_ERR_NOMEM, "no memory to watch a folder");
        w->folders = folders;
        w->room = room;
    }
    if (f == NULL)
        f = &w->folders[w->count++];
    f->wd = wd;
    (void)snprintf(f->path, sizeof(f->path), "%s", path);
    return AB_ERR_OK;
}

static void touch_path(ab_dir *d, const char *path, const char *name)
{
    char file[sizeof(ab_place)];
    int n = snprintf(file, sizeof(file), "%s/%s", path, name);
    if (n < 0 || (size_t)n >= sizeof(file))
        return;
    ab_dir_file *f = ab_dir_file_at(d, file);
    if (f == NULL) {
        ab_error err = {0};
        (void)ab_fail(&err, AB_ERR_NOMEM, "no memory for a file");
        ab_dir_fault(d, file, &err);
        return;
    }
    ab_dir_touch(d, f);
}

static bool is_kind(const ab_dir *d, const char *name)
{
    for (const char *const *k = d->base.env.kinds; *k != NULL; k++)
        if (strcmp(*k, name) == 0)
            return true;
    return false;
}

/* Is an entry of a folder one of ours? Says so when a person may think that it is and it is not. */
static bool is_ours(ab_dir *d, const char *path, const char *name)
{
    ab_error err = {0};
    if (name[0] == '.')
        return false;
    switch (level_of(path)) {
    case ROOT:
        if (strcmp(name, "lost+found") == 0)
            return false;
        if (ab_str_is_dns_label(ab_str_of(name)))
            return true;
        (void)ab_fail(&err, AB_ERR_INVALID,
                      "the folder's name is no namespace (lower-case letters, "
                      "digits and '-'; at most 63); rename it");
        unlisted(d, path, name, &err);
        return false;
    case NAMESPACE:
        return is_kind(d, name);
    case KIND:
        return ab_disk_is_manifest(name);
    }
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

typedef struct {
    char **items;
    size_t count;
} names;

static void names_fini(names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->items[i]);
    free(n->items);
}

static ab_err add_name(names *n, const char *name)
{
    char **items = realloc(n->items, (n->count + 1) * sizeof(*items));
    if (items == NULL)
        return AB_ERR_NOMEM;
    n->items = items;
    items[n->count] = strdup(name);
    return items[n->count] == NULL ? AB_ERR_NOMEM : (n->count++, AB_ERR_OK);
}

/* The entries of a folder in order of name, so that two starts see them in the same order. Closes
 * `fd`. */
static ab_err list(int fd, names *out, ab_error *err)
{
    DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        int number = errno;
        (void)close(fd);
        return ab_fail_errno(err, AB_ERR_IO, number, "cannot list the folder");
    }
    ab_err e = AB_ERR_OK;
    errno = 0;
    for (struct dirent *entry = readdir(dir); entry != NULL && e == AB_ERR_OK; entry = readdir(dir))
        e = add_name(out, entry->d_name);
    if (e == AB_ERR_OK && errno != 0)
        e = ab_fail_errno(err, AB_ERR_IO, errno, "cannot list the folder");
    else if (e != AB_ERR_OK)
        (void)ab_fail(err, e, "no memory to list the folder");
    (void)closedir(dir);
    if (out->count > 1)
        qsort(out->items, out->count, sizeof(*out->items), by_name);
    return e;
}

static void remove_leftovers(int parent)
{
    int fd = -1;
    names n = {0};
    if (ab_disk_open_dir(parent, AB_DISK_META, &fd, NULL) != AB_ERR_OK)
        return;
    int meta = dup(fd);
    if (list(fd, &n, NULL) == AB_ERR_OK && meta >= 0)
        for (size_t i = 0; i < n.count; i++)
            if (strncmp(n.items[i], ".tmp-", 5) == 0)
                (void)unlinkat(meta, n.items[i], 0);
    if (meta >= 0)
        (void)close(meta);
    names_fini(&n);
}

static void child_of(const char *path, const char *name, char out[130])
{
    (void)snprintf(out, 130, "%.63s%s%.63s", path, path[0] != '\0' ? "/" : "", name);
}

/* Watch and list one folder. Its folders are given to `children`, its files are touched. */
static ab_err visit(ab_dir *d, const char *path, int fd, names *children, ab_error *err)
{
    struct ab_dir_watch *w = d->watch;
    names found = {0};
    ab_err e = add_watch(w, path, fd, err);
    if (e != AB_ERR_OK) {
        (void)close(fd);
        return e;
    }
    if (level_of(path) == KIND && !d->listed)
        remove_leftovers(fd);
    e = list(fd, &found, err);
    for (size_t i = 0; i < found.count && e == AB_ERR_OK; i++) {
        if (!is_ours(d, path, found.items[i]))
            continue;
        if (level_of(path) == KIND)
            touch_path(d, path, found.items[i]);
        else
            e = add_name(children, found.items[i]);
    }
    names_fini(&found);
    return e;
}

static ab_err visit_named(ab_dir *d, const char *path, names *children, ab_error *err)
{
    char parent[130];
    (void)snprintf(parent, sizeof(parent), "%s", path);
    char *slash = strchr(parent, '/');
    int fd = -1;
    ab_err e;
    if (path[0] == '\0') {
        e = ab_disk_open_dir(d->root, ".", &fd, err);
    } else if (slash == NULL) {
        e = ab_disk_open_dir(d->root, path, &fd, err);
    } else {
        int ns = -1;
        *slash = '\0';
        e = ab_disk_open_dir(d->root, parent, &ns, err);
        if (e == AB_ERR_OK)
            e = ab_disk_open_dir(ns, slash + 1, &fd, err);
        if (ns >= 0)
            (void)close(ns);
    }
    return e == AB_ERR_OK ? visit(d, path, fd, children, err) : e;
}

/* A folder that vanished meanwhile is reported by its parent's events. */
static void visit_or_fault(ab_dir *d, const char *path, names *children)
{
    ab_error err = {0};
    ab_err e = visit_named(d, path, children, &err);
    if (e != AB_ERR_OK && e != AB_ERR_NOTFOUND)
        unlisted(d, path, "", &err);
}

static void visit_kinds(ab_dir *d, const char *ns)
{
    names kinds = {0};
    visit_or_fault(d, ns, &kinds);
    for (size_t i = 0; i < kinds.count; i++) {
        char path[130];
        child_of(ns, kinds.items[i], path);
        visit_or_fault(d, path, NULL);
    }
    names_fini(&kinds);
}

static ab_err visit_all(ab_dir *d, ab_error *err)
{
    names namespaces = {0};
    d->unlisted = 0;
    ab_err e = visit_named(d, "", &namespaces, err);
    for (size_t i = 0; i < namespaces.count && e == AB_ERR_OK; i++)
        visit_kinds(d, namespaces.items[i]);
    names_fini(&namespaces);
    return e;
}

/* Files below `path` are read again; that finds those that are no longer there. */
static void touch_known(ab_dir *d, const char *path)
{
    size_t len = strlen(path);
    for (ab_map_iter i = ab_map_first(d->files); i.entry != NULL; ab_map_next(&i)) {
        ab_dir_file *f = i.value;
        if (len == 0 || (strncmp(f->path, path, len) == 0 && f->path[len] == '/'))
            ab_dir_touch(d, f);
    }
}

static void list_again(ab_dir *d)
{
    ab_error err = {0};
    touch_known(d, "");
    if (visit_all(d, &err) != AB_ERR_OK)
        unlisted(d, d->path, "", &err);
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
    char child[130];
    child_of(path, event->name, child);
    if (event->mask & (IN_MOVED_FROM | IN_DELETE)) {
        unwatch(d->watch, child);
        touch_known(d, child);
    }
    /* It may be what was wrong with a folder that has been put right. */
    if (d->unlisted > 0)
        list_again(d);
    if (d->unlisted > 0 || (event->mask & (IN_MOVED_FROM | IN_DELETE | IN_ATTRIB)))
        return;
    if (!is_ours(d, path, event->name))
        return;
    if (level_of(path) == ROOT) {
        visit_kinds(d, child);
    } else {
        visit_or_fault(d, child, NULL);
    }
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
    touch_path(d, path, event->name);
}

static void root_lost(ab_dir *d)
{
    ab_error err = {0};
    if (d->lost)
        return;
    d->lost = true;
    (void)ab_fail(&err, AB_ERR_IO,
                  "the folder was moved, removed or unmounted; bring it back and "
                  "start again; until then nothing is read or reported as deleted");
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
    if (level_of(at.path) == ROOT && (event->mask & (IN_MOVE_SELF | IN_DELETE_SELF | IN_UNMOUNT)))
        root_lost(d);
    else if (event->mask & IN_IGNORED)
        *f = d->watch->folders[--d->watch->count];
    else if (event->len == 0)
        return;
    else if (level_of(at.path) == KIND)
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
        return ab_fail(err, AB_ERR_NOMEM, "no memory to watch %s", d->path);
    d->watch = w;
    w->dir = d;
    w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (w->fd < 0)
        return ab_fail_errno(err, AB_ERR_IO, errno, "cannot watch files");
    remove_leftovers(d->root);
    ab_err e = visit_all(d, err);
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

static bool has_broken(const ab_dir *d, const char *path)
{
    size_t len = strlen(path);
    for (ab_map_iter i = ab_map_first(d->files); i.entry != NULL; ab_map_next(&i)) {
        const ab_dir_file *f = i.value;
        if (f->broken && strncmp(f->path, path, len) == 0 && f->path[len] == '/')
            return true;
    }
    return false;
}

static void sweep_sidecar(ab_dir *d, const char *path, const char *file)
{
    ab_place place;
    char whole[sizeof(ab_place)];
    char key[AB_OBJECT_KEY_MAX];
    size_t len = strlen(file);
    if (file[0] == '.' || len <= 5 || len > 258 || strcmp(file + len - 5, ".json") != 0)
        return;
    (void)snprintf(whole, sizeof(whole), "%s/%s", path, file);
    if (!ab_place_of(whole, &place))
        return;
    (void)snprintf(key, sizeof(key), "%s/%s/%.*s", place.kind, place.ns, (int)(len - 5), file);
    if (ab_dir_entry_find(d, key) != NULL)
        return;
    (void)snprintf(whole, sizeof(whole), "%s/" AB_DISK_META "/%s", path, file);
    (void)unlinkat(d->root, whole, 0);
}

/* A broken file may hold the object of any sidecar in its folder, so all of them stay then. */
void ab_dir_watch_sweep(ab_dir *d)
{
    for (size_t i = 0; i < d->watch->count; i++) {
        const char *path = d->watch->folders[i].path;
        names found = {0};
        int kind = -1;
        int meta = -1;
        if (level_of(path) != KIND || has_broken(d, path))
            continue;
        kind = openat(d->root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (kind >= 0 && ab_disk_open_dir(kind, AB_DISK_META, &meta, NULL) == AB_ERR_OK &&
            list(meta, &found, NULL) == AB_ERR_OK)
            for (size_t j = 0; j < found.count; j++)
                sweep_sidecar(d, path, found.items[j]);
        if (kind >= 0)
            (void)close(kind);
        names_fini(&found);
    }
}

static void on_closed(uv_handle_t *handle)
{
    struct ab_dir_watch *w = handle->data;
    w->dir->handles--;
    ab_dir_settle(w->dir);
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
