/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/grpc/auth/file_priv.h"

#include <assert.h>
#include <stdlib.h>

/* After something happened in the folder, so that whoever writes a file is done with it. */
#define SETTLE_MS 100
#define LOOK_MS   10000

void ab_auth_watch_add(ab_auth_watch *w, const char *path, ab_auth_file_changed changed, void *arg)
{
    assert(w->count < AB_AUTH_FILES_MAX && w->open == 0);
    w->files[w->count++] = (ab_auth_file){
        .path = path, .changed = changed, .arg = arg, .seen = ab_file_stamp_of(path)};
}

static void on_time(uv_timer_t *timer)
{
    ab_auth_watch *w = timer->data;
    (void)uv_timer_start(timer, on_time, LOOK_MS, 0);
    for (size_t i = 0; i < w->count; i++) {
        ab_auth_file *f = &w->files[i];
        ab_file_stamp now = ab_file_stamp_of(f->path);
        if (ab_file_stamp_eq(&now, &f->seen))
            continue;
        f->seen = now;
        f->changed(f->arg);
    }
}

static void on_event(uv_fs_event_t *event, const char *name, int events, int status)
{
    ab_auth_watch *w = event->data;
    (void)name;
    (void)events;
    (void)status;
    (void)uv_timer_start(&w->timer, on_time, SETTLE_MS, 0);
}

static int watch_folder(ab_auth_file *f)
{
    const char *slash = strrchr(f->path, '/');
    size_t len = slash == NULL ? 0 : (size_t)(slash - f->path);
    char *folder = slash == NULL      ? strdup(".")
                   : slash == f->path ? strdup("/")
                                      : ab_str_dup((ab_str){f->path, len});
    int rc = folder == NULL ? UV_ENOMEM : uv_fs_event_start(&f->event, on_event, folder, 0);
    free(folder);
    return rc;
}

static const char *advice(int rc)
{
    if (rc == UV_EMFILE)
        return "raise fs.inotify.max_user_instances (sysctl), or the limit of open files";
    return rc == UV_ENOSPC ? "raise fs.inotify.max_user_watches (sysctl)" : "";
}

void ab_auth_watch_start(ab_auth_watch *w, uv_loop_t *loop, ab_log *log)
{
    int rc = uv_timer_init(loop, &w->timer);
    w->timer.data = w;
    w->open = 1;
    if (rc == 0)
        (void)uv_timer_start(&w->timer, on_time, LOOK_MS, 0);
    for (size_t i = 0; i < w->count; i++) {
        ab_auth_file *f = &w->files[i];
        rc = uv_fs_event_init(loop, &f->event);
        f->event.data = w;
        w->open++;
        if (rc == 0)
            rc = watch_folder(f);
        if (rc != 0)
            AB_WARN(log, AUTH, "cannot watch a file; looking every ten seconds instead",
                    AB_KV("file", f->path), AB_KV("error", uv_strerror(rc)),
                    AB_KV("advice", advice(rc)));
    }
}

static void on_closed(uv_handle_t *handle)
{
    ab_auth_watch *w = handle->data;
    if (--w->open == 0)
        w->closed(w->arg);
}

void ab_auth_watch_close(ab_auth_watch *w, void (*closed)(void *arg), void *arg)
{
    w->closed = closed;
    w->arg = arg;
    if (w->open == 0) {
        closed(arg);
        return;
    }
    for (size_t i = 0; i < w->count; i++)
        uv_close((uv_handle_t *)&w->files[i].event, on_closed);
    uv_close((uv_handle_t *)&w->timer, on_closed);
}
