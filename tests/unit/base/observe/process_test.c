/* SPDX-License-Identifier: Apache-2.0 */
#include "base/observe/process.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static double rendered(ab_metrics *m, const char *name)
{
    ab_buf text;
    ab_buf_init(&text, 1u << 20);
    (void)ab_metrics_render(m, &(ab_rendering){0}, &text, SIZE_MAX);
    assert_int_equal(ab_buf_status(&text), AB_ERR_OK);
    const char *line = strstr(text.ptr, name);
    while (line != NULL && line != text.ptr && line[-1] != '\n')
        line = strstr(line + 1, name);
    assert_non_null(line);
    double value = strtod(line + strlen(name), NULL);
    ab_buf_fini(&text);
    return value;
}

static void the_process_shows_what_it_uses_now(void **state)
{
    ab_metrics *m = ab_metrics_new();
    (void)state;
    assert_non_null(m);
    ab_process_metrics(m, 1500000);
    assert_true(rendered(m, "process_start_time_seconds ") == 1.5);
    assert_true(rendered(m, "process_resident_memory_bytes ") > 100000);
    double fds = rendered(m, "process_open_fds ");
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(rendered(m, "process_open_fds ") == fds + 1);
    close(fd);
    double cpu = rendered(m, "process_cpu_seconds_total ");
    while (rendered(m, "process_cpu_seconds_total ") <= cpu)
        ; /* rendering takes time too; ctest bounds it */
    ab_metrics_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_process_shows_what_it_uses_now)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
