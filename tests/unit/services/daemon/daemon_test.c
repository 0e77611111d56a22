/* SPDX-License-Identifier: Apache-2.0
 *
 * A real process (tiny_daemon.c), real signals, a real socket for systemd's protocol.
 */
#include "base/core/buf.h"
#include "base/core/clock.h"

#include "base/core/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 120000
#define ARGS_MAX    16

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/daemon_test.XXXXXX");
    return mkdtemp(folder) == NULL;
}

static const char *config_file(void)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/tiny.yaml", folder);
    return path;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(config_file());
    return rmdir(folder);
}

static void write_config(const char *text)
{
    assert_int_equal(ab_file_replace(config_file(), ab_str_of(text), NULL), AB_ERR_OK);
}

/* The daemon as a child; what it writes to standard output and error comes together. */
typedef struct {
    pid_t pid;
    int fd;
    ab_buf output;
} child;

/* `args` ends with NULL; `notify` is the socket of systemd's protocol, NULL = none. */
static child start(const char *notify, const char *const *args)
{
    int fds[2];
    const char *argv[ARGS_MAX] = {AB_TINY_DAEMON};
    for (size_t i = 0; args[i] != NULL; i++)
        argv[i + 1] = args[i];
    assert_int_equal(pipe(fds), 0);
    child c = {.pid = fork(), .fd = fds[0]};
    assert_true(c.pid >= 0);
    if (c.pid == 0) {
        dup2(fds[1], STDOUT_FILENO);
        dup2(fds[1], STDERR_FILENO);
        close(fds[0]);
        close(fds[1]);
        unsetenv("NOTIFY_SOCKET");
        if (notify != NULL)
            setenv("NOTIFY_SOCKET", notify, 1);
        execv(argv[0], (char **)(uintptr_t)argv);
        _exit(127);
    }
    close(fds[1]);
    ab_buf_init(&c.output, 1u << 20);
    return c;
}

/* Read some more of the output; false at its end or when patience is. */
static bool read_more(child *c, int64_t until)
{
    int64_t left = until - ab_clock_mono_ms(&ab_clock_real);
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    char part[4096];
    if (left <= 0 || poll(&p, 1, (int)left) <= 0)
        return false;
    ssize_t n = read(c->fd, part, sizeof(part));
    if (n <= 0)
        return false;
    ab_buf_put(&c->output, (ab_str){part, (size_t)n});
    return true;
}

/* Wait until the output has `text`, and drop what is before its end. */
static void await(child *c, const char *text)
{
    int64_t until = ab_clock_mono_ms(&ab_clock_real) + PATIENCE_MS;
    const char *found = NULL;
    while (c->output.ptr == NULL || (found = strstr(c->output.ptr, text)) == NULL) {
        if (!read_more(c, until))
            fail_msg("\"%s\" did not come; there was:\n%s", text,
                     c->output.ptr == NULL ? "nothing" : c->output.ptr);
    }
    ab_buf rest;
    ab_buf_init(&rest, 1u << 20);
    ab_buf_puts(&rest, found + strlen(text));
    ab_buf_fini(&c->output);
    c->output = rest;
}

/* Wait for the end; the exit code, or minus the signal. The output, from the last `await` on,
 * stays. */
static int end_of(child *c)
{
    int64_t until = ab_clock_mono_ms(&ab_clock_real) + PATIENCE_MS;
    while (read_more(c, until))
        continue;
    if (ab_clock_mono_ms(&ab_clock_real) >= until)
        kill(c->pid, SIGKILL);
    int status = 0;
    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    close(c->fd);
    ab_buf_putc(&c->output, '\0');
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void assert_said(child *c, const char *text)
{
    if (strstr(c->output.ptr, text) == NULL)
        fail_msg("\"%s\" is not in:\n%s", text, c->output.ptr);
    ab_buf_fini(&c->output);
}

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define QUIET     "--set", "http.address="

static void sigterm_drains_and_ends_with_0(void **state)
{
    (void)state;
    child c = start(NULL, ARGS("--set=http.address=127.0.0.1:0"));
    await(&c, "main: ready");
    kill(c.pid, SIGTERM);
    assert_int_equal(end_of(&c), 0);
    assert_said(&c, "drained");
}

static void sigint_does_the_same(void **state)
{
    (void)state;
    child c = start(NULL, ARGS(QUIET));
    await(&c, "main: ready");
    kill(c.pid, SIGINT);
    assert_int_equal(end_of(&c), 0);
    assert_said(&c, "released");
}

static void a_second_signal_ends_at_once_with_1(void **state)
{
    (void)state;
    child c = start(NULL, ARGS(QUIET, "--set", "tiny.stop=never"));
    await(&c, "main: ready");
    kill(c.pid, SIGTERM);
    await(&c, "stopping");
    kill(c.pid, SIGTERM);
    assert_int_equal(end_of(&c), 1);
    assert_said(&c, "a second signal");
}

static void stopping_for_too_long_ends_at_once_with_1(void **state)
{
    (void)state;
    child c = start(NULL, ARGS(QUIET, "--set", "tiny.stop=never", "--set", "stop.timeout=100ms"));
    await(&c, "main: ready");
    kill(c.pid, SIGTERM);
    assert_int_equal(end_of(&c), 1);
    assert_said(&c, "stop.timeout passed");
}

static void sighup_reloads(void **state)
{
    (void)state;
    write_config("http: {address: \"\"}\ntiny: {word: one, fixed: 1}\n");
    child c = start(NULL, ARGS("-c", config_file()));
    await(&c, "main: ready");
    write_config("http: {address: \"\"}\nlog: {level: debug}\ntiny: {word: two, fixed: 2}\n");
    kill(c.pid, SIGHUP);
    await(&c, "word=two");
    await(&c, "configuration reloaded");
    write_config("http: {address: \"\"}\nlog: {level: warn}\ntiny: {word: three, fixed: 2}\n");
    kill(c.pid, SIGHUP);
    /* The level is in force at once, so only the warning is seen: still about the value at start.
     */
    await(&c, "takes effect only after a restart option=tiny.fixed");
    kill(c.pid, SIGTERM);
    assert_int_equal(end_of(&c), 0);
    ab_buf_fini(&c.output);
}

static void a_bad_file_at_reload_keeps_the_old_configuration(void **state)
{
    (void)state;
    write_config("http: {address: \"\"}\ntiny: {word: one}\n");
    child c = start(NULL, ARGS("-c", config_file()));
    await(&c, "main: ready");
    write_config("tiny:\n  wrod: two\n");
    kill(c.pid, SIGHUP);
    await(&c, "unknown key \\\"tiny.wrod\\\": did you mean \\\"tiny.word\\\"?");
    write_config("log: {level: loud}\n");
    kill(c.pid, SIGHUP);
    await(&c, "unknown log level");
    write_config("http: {address: \"\"}\ntiny: {word: three}\n");
    kill(c.pid, SIGHUP);
    await(&c, "word before word=one");
    kill(c.pid, SIGTERM);
    assert_int_equal(end_of(&c), 0);
    ab_buf_fini(&c.output);
}

/* A datagram socket as systemd has it; `name` begins with '@' for the abstract name space. */
static int notify_socket(const char *name)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    size_t len = strlen(name);
    assert_true(len < sizeof(at.sun_path));
    memcpy(at.sun_path, name, len);
    if (name[0] == '@')
        at.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    return fd;
}

static void await_notice(int fd, const char *want)
{
    char text[256];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
    ssize_t n = recv(fd, text, sizeof(text) - 1, 0);
    assert_true(n >= 0);
    text[n] = '\0';
    assert_int_equal(strncmp(text, want, strlen(want)), 0);
}

static void notices_come_in_order(const char *socket_name)
{
    int fd = notify_socket(socket_name);
    child c = start(socket_name, ARGS(QUIET));
    await_notice(fd, "READY=1");
    kill(c.pid, SIGHUP);
    await_notice(fd, "RELOADING=1\nMONOTONIC_USEC=");
    await_notice(fd, "READY=1");
    kill(c.pid, SIGTERM);
    await_notice(fd, "STOPPING=1");
    assert_int_equal(end_of(&c), 0);
    ab_buf_fini(&c.output);
    close(fd);
}

static void systemd_is_told_of_every_step(void **state)
{
    (void)state;
    char name[128];
    snprintf(name, sizeof(name), "%s/notify", folder);
    notices_come_in_order(name);
    (void)unlink(name);
    snprintf(name, sizeof(name), "@argobus-daemon-test-%d", (int)getpid());
    notices_come_in_order(name);
}

static void what_does_not_get_ready_says_why_once_and_not_that_it_is(void **state)
{
    (void)state;
    char name[128];
    snprintf(name, sizeof(name), "@argobus-daemon-test-%d", (int)getpid());
    int fd = notify_socket(name);
    child c = start(name, ARGS(QUIET, "--set", "tiny.ready=false"));
    await_notice(fd, "STATUS=not ready: tiny.ready is false");
    kill(c.pid, SIGHUP); /* the loop turns, and neither repeats it nor ends the start by READY=1 */
    await(&c, "configuration reloaded");
    await_notice(fd, "RELOADING=1");
    kill(c.pid, SIGTERM);
    await_notice(fd, "STOPPING=1"); /* and no READY=1 before it */
    assert_int_equal(end_of(&c), 0);
    ab_buf_fini(&c.output);
    close(fd);
}

static void failing_to_start_ends_with_1(void **state)
{
    (void)state;
    child c = start(NULL, ARGS("--set=http.address=127.0.0.1:0", "--set", "tiny.start=fail"));
    assert_int_equal(end_of(&c), 1);
    assert_non_null(strstr(c.output.ptr, "released"));
    assert_said(&c, "cannot start error=\"told to fail\"");
}

static void a_fatal_error_drains_and_ends_with_1(void **state)
{
    (void)state;
    child c = start(NULL, ARGS(QUIET, "--set", "tiny.start=fatal"));
    assert_int_equal(end_of(&c), 1);
    assert_non_null(strstr(c.output.ptr, "drained"));
    assert_null(strstr(c.output.ptr, "main: ready"));
    assert_said(&c, "cannot go on error=\"told to die\"");
}

static void ends_with(int code, const char *said, const char *const *args)
{
    child c = start(NULL, args);
    assert_int_equal(end_of(&c), code);
    assert_said(&c, said);
}

static void check_config_says_ok_or_what_is_wrong(void **state)
{
    (void)state;
    write_config("tiny: {word: one}\n");
    ends_with(0, "tiny.yaml: ok\n", ARGS("--check-config", "-c", config_file()));
    write_config("tiny: {fixed: one}\n");
    ends_with(2, "tiny.yaml:1: tiny.fixed: expected a whole number like 10, got the text \"one\"",
              ARGS("--check-config", "-c", config_file()));
    ends_with(2, "cannot read the configuration file /nowhere/x: No such file or directory",
              ARGS("--check-config", "--config=/nowhere/x"));
}

static void memory_is_dumped_only_if_the_configuration_says_so(void **state)
{
    (void)state;
    child c = start(NULL, ARGS("--set=http.address=127.0.0.1:0", "--set", "tiny.start=fail"));
    assert_int_equal(end_of(&c), 1);
    assert_said(&c, "dumpable value=0");
    c = start(NULL, ARGS("--set=http.address=127.0.0.1:0", "--set", "tiny.start=fail", "--set",
                         "core-dumps=true"));
    assert_int_equal(end_of(&c), 1);
    assert_said(&c, "dumpable value=1");
}

static void own_options_are_checked_too(void **state)
{
    (void)state;
    ends_with(2, "http.address: expected host:port",
              ARGS("--check-config", "--set", "http.address=x"));
    ends_with(2, "http.address: \"99999\" is not a port",
              ARGS("--check-config", "--set", "http.address=x:99999"));
    ends_with(2, "log.level: unknown log level \"loud\"",
              ARGS("--check-config", "--set", "log.level=loud"));
    ends_with(0, "ok", ARGS("--check-config", "--set", "http.address=[::1]:80"));
    ends_with(1, "cannot listen on 192.0.2.1:80", ARGS("--set", "http.address=192.0.2.1:80"));
}

static void usage_errors_end_with_2(void **state)
{
    (void)state;
    ends_with(2, "--wat: unknown argument", ARGS("--wat"));
    ends_with(2, "-c: unknown argument, or nothing follows it", ARGS("-c"));
    ends_with(2, "unknown argument", ARGS("stray"));
    ends_with(2, "--set: unknown key \"tiny.wrod\"", ARGS("--set", "tiny.wrod=x"));
}

static void what_can_be_printed_is_printed(void **state)
{
    (void)state;
    ends_with(0, "tiny-daemon 0.", ARGS("--version"));
    ends_with(0, "usage: tiny-daemon", ARGS("--help"));
    ends_with(0, "| `http.address` | text | `127.0.0.1:8080` | no |", ARGS("--print-options"));
    ends_with(0, "word: \"x\"  # from --set\n", ARGS("--print-config", "--set", "tiny.word=x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sigterm_drains_and_ends_with_0),
        cmocka_unit_test(sigint_does_the_same),
        cmocka_unit_test(a_second_signal_ends_at_once_with_1),
        cmocka_unit_test(stopping_for_too_long_ends_at_once_with_1),
        cmocka_unit_test(sighup_reloads),
        cmocka_unit_test(a_bad_file_at_reload_keeps_the_old_configuration),
        cmocka_unit_test(systemd_is_told_of_every_step),
        cmocka_unit_test(what_does_not_get_ready_says_why_once_and_not_that_it_is),
        cmocka_unit_test(failing_to_start_ends_with_1),
        cmocka_unit_test(a_fatal_error_drains_and_ends_with_1),
        cmocka_unit_test(check_config_says_ok_or_what_is_wrong),
        cmocka_unit_test(memory_is_dumped_only_if_the_configuration_says_so),
        cmocka_unit_test(own_options_are_checked_too),
        cmocka_unit_test(usage_errors_end_with_2),
        cmocka_unit_test(what_can_be_printed_is_printed),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
