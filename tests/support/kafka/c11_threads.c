/* SPDX-License-Identifier: Apache-2.0
 *
 * C11's threads by POSIX ones, for builds with the thread sanitizer only: it does not see through
 * the C library's own, by which librdkafka makes its threads, and would know neither them nor their
 * locks. Relies on glibc, whose types of both kinds are the same objects.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "glibc's mutexes are of one kind");
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "glibc's conditions are of one kind");

typedef struct {
    thrd_start_t run;
    void *arg;
} beginning;

static int told(int code)
{
    if (code == ETIMEDOUT)
        return thrd_timedout;
    return code == 0 ? thrd_success : thrd_error;
}

static void *begin(void *arg)
{
    beginning b = *(beginning *)arg;
    free(arg);
    return (void *)(intptr_t)b.run(b.arg);
}

int thrd_create(thrd_t *thread, thrd_start_t run, void *arg)
{
    beginning *b = malloc(sizeof(*b));
    if (b == NULL)
        return thrd_nomem;
    *b = (beginning){run, arg};
    int code = pthread_create(thread, NULL, begin, b);
    if (code != 0)
        free(b);
    return told(code);
}

int thrd_join(thrd_t thread, int *result)
{
    void *out = NULL;
    int code = pthread_join(thread, &out);
    if (code == 0 && result != NULL)
        *result = (int)(intptr_t)out;
    return told(code);
}

int mtx_init(mtx_t *mutex, int type)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    if ((type & mtx_recursive) != 0)
        pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    int code = pthread_mutex_init((pthread_mutex_t *)mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return told(code);
}

void mtx_destroy(mtx_t *mutex)
{
    pthread_mutex_destroy((pthread_mutex_t *)mutex);
}

int mtx_lock(mtx_t *mutex)
{
    return told(pthread_mutex_lock((pthread_mutex_t *)mutex));
}

int mtx_unlock(mtx_t *mutex)
{
    return told(pthread_mutex_unlock((pthread_mutex_t *)mutex));
}

int cnd_init(cnd_t *condition)
{
    return told(pthread_cond_init((pthread_cond_t *)condition, NULL));
}

void cnd_destroy(cnd_t *condition)
{
    pthread_cond_destroy((pthread_cond_t *)condition);
}

int cnd_signal(cnd_t *condition)
{
    return told(pthread_cond_signal((pthread_cond_t *)condition));
}

int cnd_broadcast(cnd_t *condition)
{
    return told(pthread_cond_broadcast((pthread_cond_t *)condition));
}

int cnd_wait(cnd_t *condition, mtx_t *mutex)
{
    return told(pthread_cond_wait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex));
}

int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex,
                  const struct timespec *restrict until)
{
    return told(
        pthread_cond_timedwait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex, until));
}
