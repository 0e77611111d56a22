/* SPDX-License-Identifier: Apache-2.0 */
#include "base/observe/process.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static double cpu_seconds(void)
{
    struct rusage r;
    if (getrusage(RUSAGE_SELF, &r) != 0)
        return 0;
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

static double resident_bytes(void)
{
    unsigned long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f == NULL)
        return 0;
    int n = fscanf(f, "%lu %lu", &size, &resident);
    fclose(f);
    return n == 2 ? (double)resident * (double)sysconf(_SC_PAGESIZE) : 0;
}

static double open_fds(void)
{
    double count = 0;
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL)
        return 0;
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        count += e->d_name[0] != '.';
    closedir(dir);
    return count - 1; /* the one we looked through */
}

static ab_metric *series(ab_metrics *m, ab_metric_kind kind, const char *name, const char *help)
{
    return ab_metric_get(m, kind, name, help, NULL, 0);
}

static void refresh(void *arg)
{
    ab_metrics *m = arg;
    ab_metric *cpu = series(m, AB_METRIC_COUNTER, "process_cpu_seconds_total",
                            "User and system CPU time spent.");
    ab_metric_add(cpu, cpu_seconds() - ab_metric_value(cpu));
    ab_metric_set(
        series(m, AB_METRIC_GAUGE, "process_resident_memory_bytes", "Resident memory size."),
        resident_bytes());
    ab_metric_set(series(m, AB_METRIC_GAUGE, "process_open_fds", "Open file descriptors."),
                  open_fds());
}

void ab_process_metrics(ab_metrics *m, int64_t now_us)
{
    ab_metric_set(series(m, AB_METRIC_GAUGE, "process_start_time_seconds",
                         "Start of the process since 1970."),
                  (double)now_us / 1e6);
    refresh(m);
    ab_metrics_on_render(m, refresh, m);
}
