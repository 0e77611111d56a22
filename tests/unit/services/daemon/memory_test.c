/* SPDX-License-Identifier: Apache-2.0 */
#include "services/daemon/memory.h"

#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LARGE      ((size_t)1024 * 1024)
#define THREADS    12
#define ARENAS_MAX 4
#define REPORT_MAX (256 * 1024)

static bool is_glibc;

/* Sanitizers bring a malloc of their own. That a first large block is mapped says nothing else: it
 * is by default, too. */
static int look_at_malloc(void **state)
{
    (void)state;
    size_t before = mallinfo2().hblks;
    void *block = malloc(LARGE);
    is_glibc = block != NULL && mallinfo2().hblks > before;
    free(block);
    return 0;
}

static void a_large_block_goes_back_to_the_kernel_also_the_second_time(void **state)
{
    (void)state;
    if (!is_glibc)
        skip();
    size_t before = mallinfo2().hblks;
    void *block = malloc(LARGE);
    assert_non_null(block);
    assert_int_equal(mallinfo2().hblks, before + 1);
    free(block);
    assert_int_equal(mallinfo2().hblks, before);
}

static void *hold(void *barrier)
{
    void *block = malloc(64);
    (void)pthread_barrier_wait(barrier);
    free(block);
    return NULL;
}

static size_t count_arenas(void)
{
    static char text[REPORT_MAX];
    FILE *out = fmemopen(text, sizeof(text) - 1, "w");
    assert_non_null(out);
    assert_int_equal(malloc_info(0, out), 0);
    assert_int_equal(fclose(out), 0);
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, "<heap nr=")) != NULL; at++)
        count++;
    return count;
}

static void many_threads_share_few_arenas(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    if (!is_glibc)
        skip();
    assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hold, &barrier), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    (void)pthread_barrier_destroy(&barrier);
    assert_in_range(count_arenas(), 1, ARENAS_MAX);
}

int main(void)
{
    ab_memory_bound();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_block_goes_back_to_the_kernel_also_the_second_time),
        cmocka_unit_test(many_threads_share_few_arenas),
    };
    return cmocka_run_group_tests_name("memory", tests, look_at_malloc, NULL);
}
