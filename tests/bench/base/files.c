/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/base/files.h"

#include "base/yaml/yaml.h"
#include "tests/bench/base/payload.h"
#include "tests/bench/base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define MANIFEST_MAX  (1024u * 1024)
#define NAME_MAX_OURS 48
#define LOOK_MS       100

static bool make_manifest(const ab_bench_files *files, size_t index, ab_buf *out)
{
    ab_buf json;
    ab_buf_init(&json, MANIFEST_MAX);
    ab_bench_application(&json, index, files->revision, files->bytes);
    ab_err e = ab_buf_status(&json);
    if (e == AB_ERR_OK)
        e = ab_yaml_from_json(ab_buf_str(&json), out, NULL);
    ab_buf_fini(&json);
    return e == AB_ERR_OK;
}

static bool put_one(int dir, size_t index, ab_str text, bool durable)
{
    char name[NAME_MAX_OURS];
    (void)snprintf(name, sizeof(name), "app-%zu.yaml", index);
    int fd = openat(dir, ".next", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    bool ok = write(fd, text.ptr, text.len) == (ssize_t)text.len;
    if (ok && durable)
        ok = fsync(fd) == 0;
    ok = close(fd) == 0 && ok;
    return ok && renameat(dir, ".next", dir, name) == 0;
}

bool ab_bench_files_put(const char *folder, const ab_bench_files *files)
{
    int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = dir >= 0;
    ab_buf text;
    ab_buf_init(&text, MANIFEST_MAX);
    for (size_t i = files->first; i < files->first + files->count && ok; i++) {
        ab_buf_clear(&text);
        ok = make_manifest(files, i, &text) && put_one(dir, i, ab_buf_str(&text), files->durable);
    }
    ab_buf_fini(&text);
    if (dir >= 0)
        (void)close(dir);
    return ok;
}

/* NULL when there is none. */
static const char *read_one(int dir, size_t index)
{
    static char text[MANIFEST_MAX];
    char name[NAME_MAX_OURS];
    (void)snprintf(name, sizeof(name), "app-%zu.yaml", index);
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    (void)close(fd);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static bool report_one(int dir, size_t index)
{
    static const char status[] = "status:\n  health:\n    status: Healthy\n"
                                 "  sync:\n    revision: \"%040zx\"\n    status: Synced\n";
    const char *text = read_one(dir, index);
    ab_buf reported;
    if (text == NULL)
        return false;
    ab_buf_init(&reported, MANIFEST_MAX);
    ab_buf_puts(&reported, text);
    ab_buf_printf(&reported, status, index);
    bool ok =
        ab_buf_status(&reported) == AB_ERR_OK && put_one(dir, index, ab_buf_str(&reported), false);
    ab_buf_fini(&reported);
    return ok;
}

static bool remove_one(int dir, size_t index)
{
    char name[NAME_MAX_OURS];
    (void)snprintf(name, sizeof(name), "app-%zu.yaml", index);
    return unlinkat(dir, name, 0) == 0;
}

static bool each(const char *folder, const ab_bench_files *files, bool (*visit)(int dir, size_t i))
{
    int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = dir >= 0;
    for (size_t i = files->first; i < files->first + files->count && ok; i++)
        ok = visit(dir, i);
    if (dir >= 0)
        (void)close(dir);
    return ok;
}

bool ab_bench_files_report(const char *folder, const ab_bench_files *files)
{
    return each(folder, files, report_one);
}

bool ab_bench_files_remove(const char *folder, const ab_bench_files *files)
{
    return each(folder, files, remove_one);
}

/* The revision is the one thing that tells them apart. */
static bool is_current(int dir, size_t index, const char *revision)
{
    const char *text = read_one(dir, index);
    return text != NULL && strstr(text, revision) != NULL;
}

size_t ab_bench_files_count(const char *folder, const ab_bench_files *files)
{
    char revision[64];
    (void)snprintf(revision, sizeof(revision), "targetRevision: v1.0.%u\n", files->revision);
    int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return 0;
    size_t found = 0;
    for (size_t i = files->first; i < files->first + files->count; i++)
        found += is_current(dir, i, revision) ? 1 : 0;
    (void)close(dir);
    return found;
}

bool ab_bench_files_wait(const char *folder, const ab_bench_files *files, int timeout_ms)
{
    int64_t end = ab_bench_now_ns() + timeout_ms * 1000000LL;
    while (ab_bench_files_count(folder, files) < files->count) {
        if (ab_bench_now_ns() > end) {
            fprintf(stderr, "argobus-bench: Applications do not come to %s\n", folder);
            return false;
        }
        ab_bench_pause(LOOK_MS);
    }
    return true;
}

bool ab_bench_watch_open(ab_bench_watch *w, const char *folder, size_t count)
{
    *w = (ab_bench_watch){.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), .count = count};
    w->at_ns = calloc(count, sizeof(*w->at_ns));
    if (w->fd >= 0 && w->at_ns != NULL &&
        inotify_add_watch(w->fd, folder, IN_MOVED_TO | IN_ONLYDIR) >= 0)
        return true;
    ab_bench_watch_close(w);
    return false;
}

void ab_bench_watch_close(ab_bench_watch *w)
{
    if (w->fd >= 0)
        (void)close(w->fd);
    free(w->at_ns);
    *w = (ab_bench_watch){.fd = -1};
}

static void note(ab_bench_watch *w, const char *name, int64_t now)
{
    size_t index = 0;
    int end = 0;
    if (sscanf(name, "app-%zu.yaml%n", &index, &end) != 1 || name[end] != '\0' || index >= w->count)
        return;
    w->placed++;
    if (w->at_ns[index] != 0)
        return;
    w->at_ns[index] = now;
    w->seen++;
}

static void take_in(ab_bench_watch *w)
{
    _Alignas(struct inotify_event) char buffer[64 * 1024];
    ssize_t n = 0;
    while ((n = read(w->fd, buffer, sizeof(buffer))) > 0) {
        int64_t now = ab_bench_now_ns();
        for (const char *p = buffer; p < buffer + n;) {
            struct inotify_event head;
            memcpy(&head, p, sizeof(head));
            p += sizeof(head);
            if (head.len > 0)
                note(w, p, now);
            p += head.len;
        }
    }
}

bool ab_bench_watch_wait(ab_bench_watch *w, size_t wanted, int timeout_ms)
{
    int64_t end = ab_bench_now_ns() + timeout_ms * 1000000LL;
    take_in(w);
    while (w->seen < wanted) {
        int64_t left_ms = (end - ab_bench_now_ns()) / 1000000;
        struct pollfd p = {.fd = w->fd, .events = POLLIN};
        if (left_ms <= 0 || poll(&p, 1, (int)left_ms) < 0)
            return false;
        take_in(w);
    }
    return true;
}
