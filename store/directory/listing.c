/* SPDX-License-Identifier: Apache-2.0 */
#include "store/directory/listing.h"

#include "store/directory/disk.h"
#include "store/directory/folders.h"
#include "store/directory/index.h"
#include "store/directory/missing.h"
#include "store/directory/queue.h"
#include "store/directory/record.h"
#include "store/directory/report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Who began to write a file before the start is not waited for longer. */
#define WRITING_US 30000000

static void fault_at(ab_dir *d, const char *path, const char *name, const ab_error *err)
{
    char where[PATH_MAX];
    (void)snprintf(where, sizeof(where), "%s%s%s", path, path[0] != '\0' ? "/" : "", name);
    ab_dir_fault(d, where, err);
}

void ab_dir_unlisted(ab_dir *d, const char *path, const char *name, const ab_error *err)
{
    d->unlisted++;
    fault_at(d, path, name, err);
}

void ab_dir_touch_path(ab_dir *d, const char *path, const char *name)
{
    char file[sizeof(ab_place)];
    int n = snprintf(file, sizeof(file), "%s/%s", path, name);
    if (n < 0 || (size_t)n >= sizeof(file))
        return;
    ab_dir_file *f = ab_dir_file_at(d, file);
    if (f == NULL) {
        ab_error err = {0};
        (void)ab_fail(&err, AB_ERR_NOMEM, "out of memory for a file");
        ab_dir_fault(d, file, &err);
        return;
    }
    ab_dir_touch(d, f);
}

/* Is an entry of a folder one of ours? Says so when a person may think that it is and it is not. */
bool ab_dir_is_ours(ab_dir *d, const char *path, const char *name)
{
    ab_error err = {0};
    if (name[0] == '.')
        return false;
    switch (ab_level_of(path)) {
    case AB_LEVEL_ROOT:
        if (strcmp(name, "lost+found") == 0)
            return false;
        if (ab_str_is_dns_label(ab_str_of(name)))
            return true;
        (void)ab_fail(&err, AB_ERR_INVALID,
                      "the folder's name is not a namespace (lower-case letters, digits and '-'; "
                      "at most 63); rename it");
        ab_dir_unlisted(d, path, name, &err);
        return false;
    case AB_LEVEL_NAMESPACE:
        return ab_dir_is_watched(d, ab_str_of(name));
    case AB_LEVEL_KIND:
        return ab_disk_is_manifest(name);
    }
    return false;
}

typedef struct {
    char **items;
    size_t count;
} names;

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

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
        (void)ab_fail(err, e, "out of memory listing the folder");
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

/* Watch and list one folder. Its folders are given to `children`, its files are touched. */
static ab_err visit(ab_dir *d, const char *path, int fd, names *children, ab_error *err)
{
    names found = {0};
    ab_err e = ab_dir_folders_add(d, path, fd, err);
    if (e != AB_ERR_OK) {
        (void)close(fd);
        return e;
    }
    if (!d->listed)
        remove_leftovers(fd);
    e = list(fd, &found, err);
    for (size_t i = 0; i < found.count && e == AB_ERR_OK; i++) {
        if (!ab_dir_is_ours(d, path, found.items[i]))
            continue;
        if (ab_level_of(path) == AB_LEVEL_KIND)
            ab_dir_touch_path(d, path, found.items[i]);
        else
            e = add_name(children, found.items[i]);
    }
    names_fini(&found);
    return e;
}

static ab_err visit_named(ab_dir *d, const char *path, names *children, ab_error *err)
{
    char parent[AB_FOLDER_PATH];
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

/* A folder that was removed meanwhile is reported by its parent's events. */
static void visit_or_fault(ab_dir *d, const char *path, names *children)
{
    ab_error err = {0};
    ab_err e = visit_named(d, path, children, &err);
    if (e != AB_ERR_OK && e != AB_ERR_NOTFOUND)
        ab_dir_unlisted(d, path, "", &err);
}

static void visit_kinds(ab_dir *d, const char *ns)
{
    names kinds = {0};
    visit_or_fault(d, ns, &kinds);
    for (size_t i = 0; i < kinds.count; i++) {
        char path[AB_FOLDER_PATH];
        ab_folder_child(ns, kinds.items[i], path);
        visit_or_fault(d, path, NULL);
    }
    names_fini(&kinds);
}

void ab_dir_list_folder(ab_dir *d, const char *path)
{
    if (ab_level_of(path) == AB_LEVEL_NAMESPACE)
        visit_kinds(d, path);
    else
        visit_or_fault(d, path, NULL);
}

ab_err ab_dir_list_all(ab_dir *d, ab_error *err)
{
    names namespaces = {0};
    d->unlisted = 0;
    ab_err e = visit_named(d, "", &namespaces, err);
    for (size_t i = 0; i < namespaces.count && e == AB_ERR_OK; i++)
        visit_kinds(d, namespaces.items[i]);
    names_fini(&namespaces);
    return e;
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

typedef struct {
    uv_work_t work;
    ab_dir *dir;
    int64_t now_us;
    names folders;
    names partial;   /* files that may have lost an object only for now */
    int64_t wait_us; /* until all of them count */
    int64_t away_us; /* until all files count as gone that are not there */
    void (*done)(ab_dir *d);
} sweep;

/* A folder that is swept. */
typedef struct {
    const char *path;
    int manifests;
    int meta;
} swept;

/* Since the file or the folder was changed. */
static int64_t age_us(const sweep *s, const struct stat *st)
{
    int64_t changed_us = (int64_t)st->st_mtim.tv_sec * 1000000 + st->st_mtim.tv_nsec / 1000;
    return s->now_us > changed_us ? s->now_us - changed_us : 0;
}

/* How long the file that had the object may still hold but a part of what its writer, whom nobody
 * has watched, has to say. */
static int64_t partial_us(const sweep *s, const swept *folder, const char *file)
{
    struct stat st;
    if (fstatat(folder->manifests, file, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
        return 0;
    return WRITING_US - age_us(s, &st);
}

/* Is the file not there, perhaps only because somebody is about to put a new one into its place?
 * It counts as gone once the folder has been as it is for as long as when this is watched. */
static bool is_away(sweep *s, const swept *folder, const char *file)
{
    struct stat st;
    if (s->dir->waited || fstatat(folder->manifests, file, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
        errno != ENOENT || fstat(folder->manifests, &st) != 0)
        return false;
    int64_t us = AB_DIR_GRACE_MS * INT64_C(1000) - age_us(s, &st);
    s->away_us = us > s->away_us ? us : s->away_us;
    return us > 0;
}

/* @return true: the object may come back: its file is to be read again, or looked for */
static bool may_come_back(sweep *s, const swept *folder, const char *name)
{
    ab_sidecar sidecar = {0};
    char path[sizeof(ab_place)];
    if (ab_dir_sidecar_read(folder->meta, name, &sidecar, NULL) != AB_ERR_OK)
        return false;
    (void)snprintf(path, sizeof(path), "%s/%s", folder->path, sidecar.file);
    bool away = is_away(s, folder, sidecar.file);
    int64_t us = partial_us(s, folder, sidecar.file);
    ab_sidecar_fini(&sidecar);
    s->wait_us = us > s->wait_us ? us : s->wait_us;
    return away || (us > 0 && add_name(&s->partial, path) == AB_ERR_OK);
}

static void sweep_sidecar(sweep *s, const swept *folder, const char *file)
{
    ab_place place;
    char whole[sizeof(ab_place)];
    char key[AB_OBJECT_KEY_MAX];
    char name[256];
    size_t len = strlen(file);
    if (file[0] == '.' || len <= 5 || len > 258 || strcmp(file + len - 5, ".json") != 0)
        return;
    (void)snprintf(whole, sizeof(whole), "%s/%s", folder->path, file);
    if (!ab_place_of(whole, &place))
        return;
    (void)snprintf(name, sizeof(name), "%.*s", (int)(len - 5), file);
    (void)snprintf(key, sizeof(key), "%s/%s/%s", place.kind, place.ns, name);
    if (ab_dir_entry_find(s->dir, key) == NULL && !may_come_back(s, folder, name))
        (void)unlinkat(folder->meta, file, 0);
}

/* Which of them to look at: a broken file may hold the object of any sidecar in its folder. */
static ab_err folders_to_sweep(const ab_dir *d, names *out)
{
    ab_err e = AB_ERR_OK;
    size_t i = 0;
    for (const char *path = ab_dir_folders_path(d, i); path != NULL && e == AB_ERR_OK;
         path = ab_dir_folders_path(d, ++i))
        if (ab_level_of(path) == AB_LEVEL_KIND && (d->broken == 0 || !has_broken(d, path)))
            e = add_name(out, path);
    return e;
}

static void sweep_folder(sweep *s, const char *path)
{
    names found = {0};
    int fd = -1;
    swept folder = {path, -1, -1};
    folder.manifests = openat(s->dir->root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder.manifests >= 0 &&
        ab_disk_open_dir(folder.manifests, AB_DISK_META, &fd, NULL) == AB_ERR_OK) {
        folder.meta = dup(fd);
        if (list(fd, &found, NULL) == AB_ERR_OK && folder.meta >= 0)
            for (size_t i = 0; i < found.count; i++)
                sweep_sidecar(s, &folder, found.items[i]);
    }
    if (folder.manifests >= 0)
        (void)close(folder.manifests);
    if (folder.meta >= 0)
        (void)close(folder.meta);
    names_fini(&found);
}

static void run_sweep(uv_work_t *work)
{
    sweep *s = work->data;
    for (size_t i = 0; i < s->folders.count; i++)
        sweep_folder(s, s->folders.items[i]);
}

/* --- what was written just before the start --- */

/* Nobody has closed it since. */
static void read_partial(uv_timer_t *timer)
{
    ab_dir *d = timer->data;
    for (ab_map_iter i = ab_map_first(d->files); i.entry != NULL; ab_map_next(&i)) {
        ab_dir_file *f = i.value;
        if (!f->partial)
            continue;
        ab_dir_file_set_partial(d, f, false);
        f->must_read = true;
        ab_dir_touch(d, f);
    }
    d->read_dirty(d);
}

static void await_partial(const sweep *s)
{
    ab_dir *d = s->dir;
    for (size_t i = 0; i < s->partial.count; i++) {
        ab_dir_file *f = ab_map_find(d->files, ab_str_of(s->partial.items[i]));
        if (f == NULL || f->partial)
            continue;
        ab_dir_file_set_partial(d, f, true);
        AB_INFO(d->base.env.log, STORE,
                "a file was written just before the start, and lacks objects that it had: they are "
                "not deleted until it is closed, or read again",
                AB_KV("file", f->path), AB_KV("wait_ms", s->wait_us / 1000));
    }
    if (d->partial > 0)
        (void)uv_timer_start(&d->reread, read_partial, (uint64_t)(s->wait_us / 1000) + 1, 0);
}

static void on_waited(uv_timer_t *timer)
{
    ab_dir *d = timer->data;
    d->read_dirty(d);
}

static void after_sweep(uv_work_t *work, int status)
{
    sweep *s = work->data;
    ab_dir *d = s->dir;
    (void)status;
    d->sweeping = false;
    if (s->away_us > 0 && !d->stopping) {
        d->waited = true;
        (void)uv_timer_start(&d->reread, on_waited, (uint64_t)(s->away_us / 1000) + 1, 0);
        d->read_dirty(d); /* what came meanwhile */
    } else {
        if (!d->stopping)
            await_partial(s);
        s->done(d);
    }
    names_fini(&s->folders);
    names_fini(&s->partial);
    free(s);
}

ab_err ab_dir_sweep(ab_dir *d, void (*done)(ab_dir *d))
{
    sweep *s = calloc(1, sizeof(*s));
    if (s == NULL || folders_to_sweep(d, &s->folders) != AB_ERR_OK) {
        if (s != NULL)
            names_fini(&s->folders);
        free(s);
        return AB_ERR_NOMEM;
    }
    s->work.data = s;
    s->dir = d;
    s->now_us = ab_clock_wall_us(d->base.env.clock);
    s->done = done;
    d->sweeping = true;
    ab_dir_work(d, &s->work, run_sweep, after_sweep);
    return AB_ERR_OK;
}
