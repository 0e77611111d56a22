/* SPDX-License-Identifier: Apache-2.0
 *
 * Manifests in a folder: written as a person's tools write them, and seen as they come.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The Applications app-<first> to app-<first + count - 1>. */
typedef struct {
    size_t first;
    size_t count;
    unsigned revision; /* payload.h */
    size_t bytes;      /* of the same as JSON, roughly */
    bool durable;      /* fsync each file before it gets its name */
} ab_bench_files;

/** Write them to `folder`, each to another name first and then renamed. @return false: errno says
 * why */
bool ab_bench_files_put(const char *folder, const ab_bench_files *files);
/** Give each a status that is synced and healthy, as Argo CD's controller does. They must have
 * none.
 * @return false: errno says why */
bool ab_bench_files_report(const char *folder, const ab_bench_files *files);
/** Delete them. @return false: errno says why */
bool ab_bench_files_remove(const char *folder, const ab_bench_files *files);
/** How many of them are in `folder` and of this revision. */
size_t ab_bench_files_count(const char *folder, const ab_bench_files *files);
/** Wait until all are in `folder` and of this revision. @return false; said on stderr */
bool ab_bench_files_wait(const char *folder, const ab_bench_files *files, int timeout_ms);

/* Watches a folder for manifests that get their names. */
typedef struct {
    int fd;
    size_t count;   /* of the Applications that are waited for */
    size_t seen;    /* how many of them have come */
    size_t placed;  /* how many files have: more than seen when one came twice */
    int64_t *at_ns; /* when each came first; 0 = not yet */
} ab_bench_watch;

/** Watch for app-0 to app-<count - 1>. @return false: errno says why */
bool ab_bench_watch_open(ab_bench_watch *w, const char *folder, size_t count);
/** Wait until `wanted` of them have come. @return false when they did not in this time */
bool ab_bench_watch_wait(ab_bench_watch *w, size_t wanted, int timeout_ms);
void ab_bench_watch_close(ab_bench_watch *w);
