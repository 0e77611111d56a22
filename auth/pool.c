/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/pool.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#define THREADS 2
/* A tenth of the share of a thread that does not give way. */
#define NICE 10

STAILQ_HEAD(tasks, ab_auth_task);

struct ab_auth_pool {
    /* Something is done, or a thread has ended. No uv_async_t: for that the loop spins until the
     * thread which sends has returned, and ours may not run for long once they have woken it. */
    uv_poll_t told;
    int fd;
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

static void tell(const ab_auth_pool *p)
{
    const uint64_t one = 1;
    ssize_t n = write(p->fd, &one, sizeof(one));
    assert(n == sizeof(one)); /* it is counted by 64 bits */
    (void)n;
}

/* With the lock, which is released meanwhile. */
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
    tell(p);
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
    tell(p); /* before the lock is gone: the loop frees the handle after that */
    uv_mutex_unlock(&p->lock);
}

/* ----- the loop ----- */

static void on_closed(uv_handle_t *handle)
{
    ab_auth_pool *p = handle->data;
    close(p->fd);
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

static void on_told(uv_poll_t *told, int status, int events)
{
    (void)status;
    (void)events;
    ab_auth_pool *p = told->data;
    uint64_t count;
    if (read(p->fd, &count, sizeof(count)) < 0)
        return;
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

static ab_err watch(ab_auth_pool *p, uv_loop_t *loop)
{
    p->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (p->fd < 0)
        return AB_ERR_FATAL;
    if (uv_poll_init(loop, &p->told, p->fd) != 0) {
        close(p->fd);
        return AB_ERR_FATAL;
    }
    p->told.data = p;
    uv_poll_start(&p->told, UV_READABLE, on_told);
    return AB_ERR_OK;
}

ab_err ab_auth_pool_new(uv_loop_t *loop, ab_auth_pool **out)
{
    ab_auth_pool *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return AB_ERR_NOMEM;
    STAILQ_INIT(&p->waiting);
    STAILQ_INIT(&p->done);
    if (uv_mutex_init(&p->lock) != 0 || uv_cond_init(&p->wanted) != 0 ||
        watch(p, loop) != AB_ERR_OK) {
        free(p);
        return AB_ERR_FATAL;
    }
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
    tell(pool); /* where there is no thread to do it */
}
