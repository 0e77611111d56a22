/* SPDX-License-Identifier: Apache-2.0
 *
 * A wall clock that is wrong, for a program of ours that is started with this library in
 * LD_PRELOAD. By how many seconds says the file that AB_CLOCK_SHIFT names, an int64_t of this
 * machine; who writes another number there sets the clock of the running program. The monotonic
 * clock is right.
 *
 * Who waits until a time of day (librdkafka does) wakes by the wrong clock as it would on such a
 * machine: libfaketime does not know that call of the C library, and would make it hours.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000
/* How soon a waiter sees that the clock was set. */
#define LOOK_NS 100000000

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "glibc's mutexes are of one kind");
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "glibc's conditions are of one kind");

/* The C library's own names of these parameters are not for us.
 * NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */

static const _Atomic int64_t *shift_s;

__attribute__((constructor)) static void find_shift(void)
{
    const char *path = getenv("AB_CLOCK_SHIFT");
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        abort();
    const void *at = mmap(NULL, sizeof(*shift_s), PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        abort();
    close(fd);
    shift_s = at;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    int code = (int)syscall(SYS_clock_gettime, clock, t);
    if (code == 0 && shift_s != NULL && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        t->tv_sec += atomic_load(shift_s);
    return code;
}

static struct timespec now(void)
{
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return t;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    (void)zone;
    struct timespec t = now();
    *tv = (struct timeval){.tv_sec = t.tv_sec, .tv_usec = t.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *out)
{
    time_t t = now().tv_sec;
    if (out != NULL)
        *out = t;
    return t;
}

int timespec_get(struct timespec *t, int base)
{
    *t = now();
    return base;
}

static int64_t ns_until(const struct timespec *until)
{
    struct timespec t = now();
    return (int64_t)(until->tv_sec - t.tv_sec) * NS_PER_S + until->tv_nsec - t.tv_nsec;
}

static struct timespec mono_in(int64_t ns)
{
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    ns += t.tv_nsec;
    return (struct timespec){.tv_sec = t.tv_sec + ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex,
                  const struct timespec *restrict until)
{
    for (;;) {
        int64_t left = ns_until(until);
        if (left <= 0)
            return thrd_timedout;
        struct timespec look = mono_in(left < LOOK_NS ? left : LOOK_NS);
        int code = pthread_cond_clockwait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex,
                                          CLOCK_MONOTONIC, &look);
        if (code != ETIMEDOUT)
            return code == 0 ? thrd_success : thrd_error;
    }
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
