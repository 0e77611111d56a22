/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/base/process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUN_MAX_S  300
#define END_MAX_NS (60 * 1000000000LL)
#define LOOK_MS    20
#define LISTEN_NS  (20 * 1000000000LL)

/* Below those that the kernel gives to connections, which would take them from us. */
#define PORT_FIRST 10000
#define PORTS      5000

int64_t ab_bench_now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void ab_bench_pause(int ms)
{
    (void)poll(NULL, 0, ms);
}

pid_t ab_bench_fork(int (*fn)(const void *arg), const void *arg)
{
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)alarm(RUN_MAX_S);
    (void)signal(SIGPIPE, SIG_IGN);
    int code = fn(arg);
    (void)fflush(NULL);
    _exit(code);
}

pid_t ab_bench_spawn(char *const argv[], const char *log)
{
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0)
        _exit(126);
    (void)execv(argv[0], argv);
    fprintf(stderr, "cannot run %s\n", argv[0]);
    _exit(127);
}

static void take_cost(const struct rusage *usage, ab_bench_cost *cost)
{
    const struct timeval *user = &usage->ru_utime;
    const struct timeval *kernel = &usage->ru_stime;
    cost->cpu_s =
        (double)(user->tv_sec + kernel->tv_sec) + (double)(user->tv_usec + kernel->tv_usec) / 1e6;
    cost->rss_kib = (double)usage->ru_maxrss;
}

bool ab_bench_wait(pid_t pid)
{
    int status = 0;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

bool ab_bench_wait_both(const pid_t pid[2], ab_bench_cost cost[2])
{
    pid_t left[2] = {pid[0], pid[1]};
    bool ok = pid[0] > 0 && pid[1] > 0;
    while (left[0] > 0 || left[1] > 0) {
        int status = 0;
        struct rusage usage;
        for (int i = 0; i < 2 && !ok; i++)
            if (left[i] > 0)
                (void)kill(left[i], SIGKILL);
        pid_t ended = wait4(-1, &status, 0, &usage);
        if (ended < 0)
            return false;
        int which = ended == pid[1];
        left[which] = 0;
        take_cost(&usage, &cost[which]);
        ok = ok && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return ok;
}

bool ab_bench_end(pid_t pid, ab_bench_cost *cost)
{
    int status = 0;
    struct rusage usage;
    (void)kill(pid, SIGTERM);
    int64_t end = ab_bench_now_ns() + END_MAX_NS;
    pid_t ended = 0;
    while ((ended = wait4(pid, &status, WNOHANG, &usage)) == 0 && ab_bench_now_ns() < end)
        ab_bench_pause(LOOK_MS);
    if (ended == 0) {
        (void)kill(pid, SIGKILL);
        ended = wait4(pid, &status, 0, &usage);
    }
    if (ended != pid)
        return false;
    take_cost(&usage, cost);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool read_proc(pid_t pid, const char *file, char *out, size_t room)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    size_t n = fread(out, 1, room - 1, f);
    out[n] = '\0';
    (void)fclose(f);
    return n > 0;
}

double ab_bench_memory(pid_t pid, const char *name)
{
    char text[4096];
    if (!read_proc(pid, "status", text, sizeof(text)))
        return 0;
    const char *at = strstr(text, name);
    return at == NULL ? 0 : strtod(at + strlen(name) + 1, NULL);
}

bool ab_bench_memory_reset(pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/clear_refs", (int)pid);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool ok = write(fd, "5", 1) == 1; /* proc(5): the peak only */
    return close(fd) == 0 && ok;
}

double ab_bench_cpu(pid_t pid)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return 0;
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool is_free(uint16_t port)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0;
    if (fd >= 0)
        (void)close(fd);
    return ok;
}

uint16_t ab_bench_free_port(void)
{
    static unsigned next;
    for (unsigned i = 0; i < PORTS; i++) {
        uint16_t port = (uint16_t)(PORT_FIRST + ((unsigned)getpid() * 7 + next++) % PORTS);
        if (is_free(port))
            return port;
    }
    return 0;
}

/* Asked of the kernel: a connection that says nothing would be refused, logged and counted. */
static bool is_listening(int port)
{
    char wanted[64];
    char line[256];
    bool found = false;
    (void)snprintf(wanted, sizeof(wanted), " 0100007F:%04X 00000000:0000 0A ", (unsigned)port);
    FILE *f = fopen("/proc/net/tcp", "re");
    while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL)
        found = strstr(line, wanted) != NULL;
    if (f != NULL)
        (void)fclose(f);
    return found;
}

bool ab_bench_wait_port(int port)
{
    int64_t end = ab_bench_now_ns() + LISTEN_NS;
    while (!is_listening(port)) {
        if (ab_bench_now_ns() > end) {
            fprintf(stderr, "argobus-bench: nobody listens on port %d\n", port);
            return false;
        }
        ab_bench_pause(LOOK_MS);
    }
    return true;
}

bool ab_bench_temporary(char out[PATH_MAX])
{
    const char *folder = getenv("TMPDIR");
    int n = snprintf(out, PATH_MAX, "%s/argobus-bench-XXXXXX",
                     folder == NULL || *folder == '\0' ? "/tmp" : folder);
    return n > 0 && n < PATH_MAX;
}
