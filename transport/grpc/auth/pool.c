/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/grpc/auth/pool_priv.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define THREADS 2
/* A tenth of the share of a thread that does not give way. */
#define NICE 10

STAILQ_HEAD(tasks, ab_auth_task);

struct ab_auth_pool {
    uv_async_t told; /* something is done, or a thread has ended */
    uv_thread_t threads[THREADS];
    unsigned started;
    void (*closed)(void *arg);
    void *closed_arg;
    uv_mutex_t lock; /* of what follows */
    uv_cond_t wanted;
    struct tasks waiting;
    size_t waiting_count;
    struct tasks done;
    bool stopping;
    unsigned ended;
};

/* ----- the threads ----- */

static ab_auth_task *take_first(struct tasks *list)
{
    ab_auth_task *task = STAILQ_FIRST(list);
    if (task != NULL)
        STAILQ_REMOVE_HEAD(list, at);
    return task;
}

/* With the lock, which is let go meanwhile. */
static void do_one(ab_auth_pool *p)
{
    ab_auth_task *task = take_first(&p->waiting);
    p->waiting_count--;
    if (!p->stopping) {
        uv_mutex_unlock(&p->lock);
        task->work(task);
        uv_mutex_lock(&p->lock);
    }
    STAILQ_INSERT_TAIL(&p->done, task, at);
    uv_async_send(&p->told);
}

static void run(void *arg)
{
    ab_auth_pool *p = arg;
    /* Linux counts the priority per thread. Without it the checks only take more from others. */
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
    uv_mutex_lock(&p->lock);
    while (!p->stopping || !STAILQ_EMPTY(&p->waiting)) {
        if (STAILQ_EMPTY(&p->waiting))
            uv_cond_wait(&p->wanted, &p->lock);
        else
            do_one(p);
    }
    p->ended++;
    uv_async_send(&p->told); /* before the lock is gone: the loop frees the handle after that */
    uv_mutex_unlock(&p->lock);
}

/* ----- the loop ----- */

static void on_closed(uv_handle_t *handle)
{
    ab_auth_pool *p = handle->data;
    uv_cond_destroy(&p->wanted);
    uv_mutex_destroy(&p->lock);
    void (*closed)(void *arg) = p->closed;
    void *arg = p->closed_arg;
    free(p);
    closed(arg);
}

/* They have ended: joining does not block. */
static void join(ab_auth_pool *p)
{
    for (unsigned i = 0; i < p->started; i++)
        (void)uv_thread_join(&p->threads[i]);
    uv_close((uv_handle_t *)&p->told, on_closed);
}

static void on_told(uv_async_t *told)
{
    ab_auth_pool *p = told->data;
    struct tasks done = STAILQ_HEAD_INITIALIZER(done);
    uv_mutex_lock(&p->lock);
    STAILQ_CONCAT(&done, &p->done);
    bool over = p->stopping && p->ended == p->started;
    uv_mutex_unlock(&p->lock);
    for (ab_auth_task *task = take_first(&done); task != NULL; task = take_first(&done))
        task->after(task);
    if (over)
        join(p);
}

static void ignore(void *arg)
{
    (void)arg;
}

ab_err ab_auth_pool_new(uv_loop_t *loop, ab_auth_pool **out)
{
    ab_auth_pool *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return AB_ERR_NOMEM;
    STAILQ_INIT(&p->waiting);
    STAILQ_INIT(&p->done);
    if (uv_mutex_init(&p->lock) != 0 || uv_cond_init(&p->wanted) != 0 ||
        uv_async_init(loop, &p->told, on_told) != 0) {
        free(p);
        return AB_ERR_NOMEM;
    }
    p->told.data = p;
    while (p->started < THREADS && uv_thread_create(&p->threads[p->started], run, p) == 0)
        p->started++;
    if (p->started == THREADS) {
        *out = p;
        return AB_ERR_OK;
    }
    ab_auth_pool_close(p, ignore, NULL);
    return AB_ERR_FATAL;
}

ab_err ab_auth_pool_add(ab_auth_pool *pool, ab_auth_task *task)
{
    uv_mutex_lock(&pool->lock);
    bool room = pool->waiting_count < AB_AUTH_POOL_QUEUE;
    if (room) {
        STAILQ_INSERT_TAIL(&pool->waiting, task, at);
        pool->waiting_count++;
        uv_cond_signal(&pool->wanted);
    }
    uv_mutex_unlock(&pool->lock);
    return room ? AB_ERR_OK : AB_ERR_FULL;
}

void ab_auth_pool_close(ab_auth_pool *pool, void (*closed)(void *arg), void *arg)
{
    pool->closed = closed;
    pool->closed_arg = arg;
    uv_mutex_lock(&pool->lock);
    pool->stopping = true;
    uv_cond_broadcast(&pool->wanted);
    uv_mutex_unlock(&pool->lock);
    uv_async_send(&pool->told); /* where there is no thread to do it */
}
