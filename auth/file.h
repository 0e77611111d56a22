/* SPDX-License-Identifier: Apache-2.0
 *
 * The files that authentication reads, looked at once a second while the process runs, as the files
 * of all connections are (base/core/file_stamp.h): that also finds a mounted ConfigMap or Secret
 * changed.
 */
#pragma once

#include "base/core/file.h"

#include <uv.h>

#define AB_AUTH_FILES_MAX  3
#define AB_AUTH_FILE_BYTES (8u * 1024 * 1024)

/** The file at `path` is another one now; it may also be gone. Loop thread. */
typedef void (*ab_auth_file_changed)(void *arg);

typedef struct {
    const char *path;
    ab_auth_file_changed changed;
    void *arg;
    ab_file_stamp seen;
} ab_auth_file;

/* Watches up to AB_AUTH_FILES_MAX files. */
typedef struct {
    ab_auth_file files[AB_AUTH_FILES_MAX];
    size_t count;
    uv_timer_t timer;
    bool open; /* the timer is the loop's */
    void (*closed)(void *arg);
    void *arg;
} ab_auth_watch;

/** Note a file; before it is read for the first time, and before the start. `path` is borrowed. */
void ab_auth_watch_add(ab_auth_watch *w, const char *path, ab_auth_file_changed changed, void *arg);
/** Watch from now on. `w` stays where it is until closed. */
void ab_auth_watch_start(ab_auth_watch *w, uv_loop_t *loop);
/** `closed` is called once, later, on the loop; also when it was never started (then at once). */
void ab_auth_watch_close(ab_auth_watch *w, void (*closed)(void *arg), void *arg);
