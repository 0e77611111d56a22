/* SPDX-License-Identifier: Apache-2.0 */
#include "live/gopeer/loop.h"

#include <stdlib.h>
#include <sys/queue.h>

typedef struct parcel {
    TAILQ_ENTRY(parcel) at;
    void *to;
    void (*deliver)(void *to, const ab_event *event);
    ab_event *event;
    ab_sent done;
    void *arg;
} parcel;

struct ab_gopeer_loop {
    uv_idle_t *idle; /* active while something is queued; frees itself */
    TAILQ_HEAD(, parcel) queue;
    size_t count;
};

static parcel *take(ab_gopeer_loop *l, parcel *p)
{
    TAILQ_REMOVE(&l->queue, p, at);
    l->count--;
    return p;
}

static void finish(parcel *p, ab_err code)
{
    ab_error err = {0};
    if (code != AB_ERR_OK)
        (void)ab_fail(&err, code, "the argocd-agent disconnected");
    p->done(p->arg, code, &err);
    ab_event_unref(p->event);
    free(p);
}

/* What is queued meanwhile has its turn in the next round. */
static void on_idle(uv_idle_t *idle)
{
    ab_gopeer_loop *l = idle->data;
    for (size_t left = l->count; left > 0 && l->count > 0; left--) {
        parcel *p = take(l, TAILQ_FIRST(&l->queue));
        p->deliver(p->to, p->event);
        finish(p, AB_ERR_OK);
    }
    if (l->count == 0)
        (void)uv_idle_stop(idle);
}

ab_err ab_gopeer_loop_new(uv_loop_t *loop, ab_gopeer_loop **out)
{
    ab_gopeer_loop *l = calloc(1, sizeof(*l));
    uv_idle_t *idle = calloc(1, sizeof(*idle));
    if (l == NULL || idle == NULL) {
        free(l);
        free(idle);
        return AB_ERR_NOMEM;
    }
    (void)uv_idle_init(loop, idle); /* cannot fail */
    idle->data = l;
    l->idle = idle;
    TAILQ_INIT(&l->queue);
    *out = l;
    return AB_ERR_OK;
}

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

void ab_gopeer_loop_free(ab_gopeer_loop *l)
{
    if (l == NULL)
        return;
    uv_close((uv_handle_t *)l->idle, free_handle);
    free(l);
}

ab_err ab_gopeer_loop_put(ab_gopeer_loop *l, void *to,
                          void (*deliver)(void *to, const ab_event *event), ab_event *event,
                          ab_sent done, void *arg)
{
    parcel *p = malloc(sizeof(*p));
    if (p == NULL)
        return AB_ERR_NOMEM;
    *p = (parcel){
        .to = to, .deliver = deliver, .event = ab_event_ref(event), .done = done, .arg = arg};
    TAILQ_INSERT_TAIL(&l->queue, p, at);
    l->count++;
    (void)uv_idle_start(l->idle, on_idle); /* of a callback that is not NULL */
    return AB_ERR_OK;
}

void ab_gopeer_loop_drop(ab_gopeer_loop *l, const void *to)
{
    parcel *next = NULL;
    for (parcel *p = TAILQ_FIRST(&l->queue); p != NULL; p = next) {
        next = TAILQ_NEXT(p, at);
        if (p->to == to)
            finish(take(l, p), AB_ERR_UNAVAILABLE);
    }
}
