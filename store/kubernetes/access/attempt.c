/* SPDX-License-Identifier: Apache-2.0 */
#include "store/kubernetes/access/attempt.h"

#include <assert.h>
#include <stdlib.h>

#define URL_MAX        (96u * 1024)
#define TOKEN_MAX      (1024u * 1024)
#define LINE_MAX_BYTES (64u * 1024)

TAILQ_HEAD(list, ab_kube_attempt);

struct ab_kube_attempts {
    ab_kube_access *access;
    const ab_kube_attempt_ops *ops;
    uv_timer_t *later; /* tells of failed attempts; frees itself */
    struct list list;
    struct list failed;
};

static struct list *list_of(const ab_kube_attempt *a)
{
    return a->failed ? &a->all->failed : &a->all->list;
}

void ab_kube_attempt_free(ab_kube_attempt *a)
{
    TAILQ_REMOVE(list_of(a), a, link);
    free(a->path);
    a->all->ops->free(a);
}

/* --- what could not be asked --- */

static void on_later(uv_timer_t *timer)
{
    ab_kube_attempts *all = timer->data;
    ab_kube_attempt *a = TAILQ_FIRST(&all->failed);
    if (a == NULL)
        return;
    (void)uv_timer_start(timer, on_later, 0, 0); /* there may be more */
    if (!a->cancelled)
        all->ops->failed(a, &a->err);
    ab_kube_attempt_free(a);
}

static void fail_later(ab_kube_attempt *a, ab_err code)
{
    if (a->err.text[0] == '\0')
        (void)ab_fail(&a->err, code, "%s", ab_err_text(code));
    TAILQ_REMOVE(&a->all->list, a, link);
    a->failed = true;
    TAILQ_INSERT_TAIL(&a->all->failed, a, link);
    (void)uv_timer_start(a->all->later, on_later, 0, 0);
}

/* --- the token --- */

static ab_err begin(ab_kube_attempt *a, const char *bearer)
{
    ab_buf url = ab_buf_up_to(URL_MAX);
    ab_buf authorization = ab_buf_secret_up_to(TOKEN_MAX);
    ab_buf_printf(&url, "%s%s", ab_kube_access_server(a->all->access), a->path);
    if (bearer != NULL)
        ab_buf_printf(&authorization, "Authorization: Bearer %s", bearer);
    ab_err e = ab_buf_status(&url);
    if (e == AB_ERR_OK)
        e = ab_buf_status(&authorization);
    if (e == AB_ERR_OK)
        e = a->all->ops->begin(a, url.ptr, bearer == NULL ? NULL : authorization.ptr, &a->err);
    ab_buf_fini(&url);
    ab_buf_fini(&authorization);
    return e;
}

static void on_token(void *arg, ab_err code, const char *bearer, const ab_error *err)
{
    ab_kube_attempt *a = arg;
    a->waits = false;
    if (a->cancelled) {
        ab_kube_attempt_free(a);
        return;
    }
    if (code == AB_ERR_OK)
        code = begin(a, bearer);
    else
        a->err = *err;
    if (code != AB_ERR_OK)
        fail_later(a, code);
}

void ab_kube_attempt_start(ab_kube_attempt *a)
{
    a->waits = true;
    ab_kube_access_token(a->all->access, on_token, a);
}

bool ab_kube_attempt_again(ab_kube_attempt *a, int status)
{
    if (status != 401 || a->asked || a->cancelled)
        return false;
    a->asked = true;
    ab_kube_access_rejected(a->all->access);
    ab_kube_attempt_start(a);
    return true;
}

bool ab_kube_attempt_cancel(ab_kube_attempt *a)
{
    a->cancelled = true;
    return !a->waits && !a->failed;
}

/* --- fields --- */

bool ab_kube_lines_add(ab_kube_lines *l, const ab_http_field *fields, size_t count)
{
    assert(l->count + count <= AB_KUBE_FIELDS_MAX + 1);
    for (size_t i = 0; i < count; i++) {
        ab_buf line = ab_buf_up_to(LINE_MAX_BYTES);
        ab_buf_printf(&line, "%.*s: %.*s", AB_STR_ARG(fields[i].name), AB_STR_ARG(fields[i].value));
        char *text = ab_buf_take(&line);
        if (text == NULL)
            return false;
        l->line[l->count++] = text;
    }
    return true;
}

const char *const *ab_kube_lines_with(ab_kube_lines *l, const char *authorization)
{
    l->line[l->count] = (char *)(uintptr_t)authorization;
    return (const char *const *)l->line;
}

void ab_kube_lines_fini(ab_kube_lines *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->line[i]);
}

/* --- all of them --- */

ab_err ab_kube_attempt_init(ab_kube_attempt *a, ab_kube_attempts *all, const char *path)
{
    *a = (ab_kube_attempt){.all = all, .path = ab_str_dup(ab_str_of(path))};
    TAILQ_INSERT_TAIL(&all->list, a, link);
    return a->path == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
}

ab_err ab_kube_attempts_new(uv_loop_t *loop, ab_kube_access *access, const ab_kube_attempt_ops *ops,
                            ab_kube_attempts **out)
{
    ab_kube_attempts *all = calloc(1, sizeof(*all));
    uv_timer_t *timer = calloc(1, sizeof(*timer));
    *out = all;
    if (all == NULL || timer == NULL) {
        free(all);
        free(timer);
        *out = NULL;
        return AB_ERR_NOMEM;
    }
    int failed = uv_timer_init(loop, timer);
    assert(failed == 0);
    (void)failed;
    timer->data = all;
    *all = (ab_kube_attempts){.access = access, .ops = ops, .later = timer};
    TAILQ_INIT(&all->list);
    TAILQ_INIT(&all->failed);
    return AB_ERR_OK;
}

static void free_timer(uv_handle_t *handle)
{
    free(handle);
}

void ab_kube_attempts_free(ab_kube_attempts *all)
{
    if (all == NULL)
        return;
    while (!TAILQ_EMPTY(&all->list))
        ab_kube_attempt_free(TAILQ_FIRST(&all->list));
    while (!TAILQ_EMPTY(&all->failed))
        ab_kube_attempt_free(TAILQ_FIRST(&all->failed));
    uv_close((uv_handle_t *)all->later, free_timer);
    free(all);
}
