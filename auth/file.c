/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/file.h"

#include <assert.h>

#define CHECK_MS 1000

void ab_auth_watch_add(ab_auth_watch *w, const char *path, ab_auth_file_changed changed, void *arg)
{
    assert(w->count < AB_AUTH_FILES_MAX && !w->open);
    w->files[w->count++] = (ab_auth_file){
        .path = path, .changed = changed, .arg = arg, .seen = ab_file_stamp_of(path)};
}

static void on_time(uv_timer_t *timer)
{
    ab_auth_watch *w = timer->data;
    for (size_t i = 0; i < w->count; i++) {
        ab_auth_file *f = &w->files[i];
        ab_file_stamp now = ab_file_stamp_of(f->path);
        if (ab_file_stamp_eq(&now, &f->seen))
            continue;
        f->seen = now;
        f->changed(f->arg);
    }
}

void ab_auth_watch_start(ab_auth_watch *w, uv_loop_t *loop)
{
    (void)uv_timer_init(loop, &w->timer); /* never fails */
    w->timer.data = w;
    w->open = true;
    (void)uv_timer_start(&w->timer, on_time, CHECK_MS, CHECK_MS);
}

static void on_closed(uv_handle_t *handle)
{
    ab_auth_watch *w = handle->data;
    w->open = false;
    w->closed(w->arg);
}

void ab_auth_watch_close(ab_auth_watch *w, void (*closed)(void *arg), void *arg)
{
    w->closed = closed;
    w->arg = arg;
    if (w->open)
        uv_close((uv_handle_t *)&w->timer, on_closed);
    else
        closed(arg);
}
