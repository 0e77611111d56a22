/* SPDX-License-Identifier: Apache-2.0
 *
 * The same messages and answers over grpc-go: two processes of tests/support/grpc/grpc-go.
 */
#include "tests/bench/transport/event.h"
#include "tests/bench/transport/run.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define FLAGS     8
#define FLAG_SIZE (PATH_MAX + 32)

/* In the forked process: never returns. */
static void run_program(const ab_bench_run *run, int out, bool serves, size_t message, size_t ack)
{
    char text[FLAGS][FLAG_SIZE];
    char program[PATH_MAX], command[] = "bench";
    char *argv[FLAGS + 3] = {program, command};
    (void)snprintf(program, sizeof(program), "%s", run->grpc_go);
    (void)snprintf(text[0], FLAG_SIZE, "-certs=%s", run->certs);
    (void)snprintf(text[1], FLAG_SIZE, "-port=%d", run->port);
    (void)snprintf(text[2], FLAG_SIZE, "-streams=%u", run->streams);
    (void)snprintf(text[3], FLAG_SIZE, "-count=%zu", run->count);
    (void)snprintf(text[4], FLAG_SIZE, "-message=%zu", message);
    (void)snprintf(text[5], FLAG_SIZE, "-answer=%zu", ack);
    (void)snprintf(text[6], FLAG_SIZE, "-window=%d", AB_BENCH_WINDOW);
    (void)snprintf(text[7], FLAG_SIZE, "-serve=%s", serves ? "true" : "false");
    for (size_t i = 0; i < FLAGS; i++)
        argv[i + 2] = text[i];
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(out, STDOUT_FILENO) >= 0)
        (void)execv(program, argv);
    fprintf(stderr, "cannot run %s\n", program);
    _exit(127);
}

/* What the program prints at its end: nanoseconds that passed, and of CPU time. */
static bool read_result(int fd, int64_t *elapsed_ns, int64_t *cpu_ns)
{
    FILE *f = fdopen(fd, "r");
    bool ok = f != NULL && fscanf(f, "%" SCNd64 " %" SCNd64, elapsed_ns, cpu_ns) == 2;
    if (f != NULL)
        (void)fclose(f);
    return ok;
}

static bool measure_sizes(const ab_bench_run *run, size_t *message, size_t *ack)
{
    static ab_bench_messages m;
    ab_error err = {0};
    if (ab_bench_messages_init(&m, run->pool, &err) != AB_ERR_OK) {
        fprintf(stderr, "grpc.go: %s\n", err.text);
        return false;
    }
    *message = m.event[0].len;
    *ack = m.ack.len;
    return true;
}

static int run_end(const ab_bench_run *run, bool serves)
{
    size_t message = 0, ack = 0;
    int64_t elapsed_ns = 0;
    int status = 1;
    int fds[2];
    if (!measure_sizes(run, &message, &ack) || pipe2(fds, O_CLOEXEC) != 0)
        return 1;
    pid_t pid = fork();
    if (pid == 0)
        run_program(run, fds[1], serves, message, ack);
    (void)close(fds[1]);
    bool ok =
        pid > 0 && read_result(fds[0], &elapsed_ns,
                               &run->track->cpu_ns[serves ? AB_BENCH_SENDER : AB_BENCH_RECEIVER]);
    if (serves) {
        run->track->begun_ns = 0;
        run->track->ended_ns = elapsed_ns;
    }
    ok = pid > 0 && waitpid(pid, &status, 0) == pid && ok;
    return ok && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}

static int send_all(const void *run)
{
    return run_end(run, true);
}

static int receive_all(const void *run)
{
    return run_end(run, false);
}

const ab_bench_carrier ab_bench_grpc_go = {"grpc.go", send_all, receive_all};
