/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a daemon listens to argobusctl, and whom it lets be.
 */
#include "services/control.h"
#include "services/control_path.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

static struct {
    uv_loop_t loop;
    char folder[64];
    char path[96];
    ab_control *control, *second;
    ab_error err;
} t;

static int set_up(void **state)
{
    (void)state;
    memset(&t, 0, sizeof(t));
    snprintf(t.folder, sizeof(t.folder), "/tmp/ab-control-XXXXXX");
    assert_non_null(mkdtemp(t.folder));
    snprintf(t.path, sizeof(t.path), "%s/control.sock", t.folder);
    assert_int_equal(setenv("RUNTIME_DIRECTORY", t.folder, 1), 0);
    return uv_loop_init(&t.loop);
}

static int tear_down(void **state)
{
    (void)state;
    ab_control_free(t.control);
    ab_control_free(t.second);
    (void)uv_run(&t.loop, UV_RUN_DEFAULT);
    (void)unlink(t.path);
    assert_int_equal(rmdir(t.folder), 0);
    assert_int_equal(unsetenv("RUNTIME_DIRECTORY"), 0);
    return uv_loop_close(&t.loop);
}

static void answer(void *arg, ab_str request, ab_buf *out)
{
    (void)arg;
    (void)request;
    ab_buf_puts(out, "{}");
}

static ab_err open_at(const char *option, ab_control **out)
{
    return ab_control_open(&t.loop, option, "argobus-control-test", answer, NULL, NULL, out,
                           &t.err);
}

static bool is_a_socket(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && (st.st_mode & 0777) == 0600;
}

static void by_default_it_is_where_systemd_says(void **state)
{
    (void)state;
    assert_int_equal(open_at(AB_CONTROL_AUTO, &t.control), AB_ERR_OK);
    assert_non_null(t.control);
    assert_true(is_a_socket(t.path));
}

static void none_is_none(void **state)
{
    (void)state;
    assert_int_equal(open_at(AB_CONTROL_NONE, &t.control), AB_ERR_OK);
    assert_null(t.control);
    assert_false(is_a_socket(t.path));
}

/* A process that was killed leaves its socket. */
static void what_a_former_process_left_is_replaced(void **state)
{
    (void)state;
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    memcpy(at.sun_path, t.path, strlen(t.path) + 1);
    assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(open_at(t.path, &t.control), AB_ERR_OK);
    assert_true(is_a_socket(t.path));
}

static void a_file_that_is_no_socket_is_left_alone(void **state)
{
    (void)state;
    struct stat st;
    FILE *f = fopen(t.path, "w");
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(open_at(t.path, &t.control), AB_ERR_UNAVAILABLE);
    assert_true(lstat(t.path, &st) == 0 && S_ISREG(st.st_mode));
}

static void a_socket_that_is_in_use_is_left_alone(void **state)
{
    (void)state;
    assert_int_equal(open_at(AB_CONTROL_AUTO, &t.control), AB_ERR_OK);
    assert_int_equal(open_at(AB_CONTROL_AUTO, &t.second), AB_ERR_OK);
    assert_null(t.second);
    assert_int_equal(open_at(t.path, &t.second), AB_ERR_EXISTS);
    assert_non_null(strstr(t.err.text, "another process listens"));
    assert_true(is_a_socket(t.path));
}

/* Others could put a socket of theirs there. */
static void a_folder_that_others_may_write_is_not_used(void **state)
{
    (void)state;
    assert_true(ab_control_folder_claim(t.path));
    assert_int_equal(chmod(t.folder, 0777), 0);
    assert_false(ab_control_folder_claim(t.path));
    assert_false(ab_control_folder_is_safe(t.path, (unsigned)geteuid()));
}

static void a_folder_in_one_that_others_may_write_is_anybodys(void **state)
{
    (void)state;
    char inner[128];
    snprintf(inner, sizeof(inner), "%s/argobus-principal/control.sock", t.folder);
    assert_int_equal(chmod(t.folder, 0700), 0);
    assert_false(ab_control_folder_is_anybodys(inner));
    assert_int_equal(chmod(t.folder, 01777), 0);
    assert_true(ab_control_folder_is_anybodys(inner));
    assert_true(ab_control_folder_is_anybodys("/nowhere/a/b/control.sock"));
    assert_int_equal(chmod(t.folder, 0700), 0);
}

static void a_link_is_no_folder(void **state)
{
    (void)state;
    char link[96], path[128];
    snprintf(link, sizeof(link), "%s.link", t.folder);
    snprintf(path, sizeof(path), "%s/control.sock", link);
    assert_int_equal(symlink(t.folder, link), 0);
    assert_false(ab_control_folder_claim(path));
    assert_int_equal(unlink(link), 0);
}

static void a_path_that_is_too_long_is_no_place(void **state)
{
    (void)state;
    char path[AB_CONTROL_PATH_MAX], deep[160];
    memset(deep, 'x', sizeof(deep));
    deep[0] = '/';
    deep[sizeof(deep) - 1] = '\0';
    assert_int_equal(setenv("RUNTIME_DIRECTORY", deep, 1), 0);
    assert_false(ab_control_path(0, "argobus-principal", path));
    assert_int_equal(setenv("RUNTIME_DIRECTORY", "/run/a:/run/b", 1), 0);
    assert_true(ab_control_path(0, "argobus-principal", path));
    assert_string_equal(path, "/run/a/control.sock");
    assert_true(ab_control_path(1, "argobus-principal", path));
    assert_string_equal(path, "/run/argobus-principal/control.sock");
    assert_false(ab_control_path(AB_CONTROL_PATHS, "argobus-principal", path));
}

/* What it is answered; "": it is hung up on. */
static void ask(int fd, char answered[16])
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    assert_int_equal(write(fd, "status\n", 7), 7);
    for (int i = 0; i < 1000 && poll(&ready, 1, 10) == 0; i++)
        (void)uv_run(&t.loop, UV_RUN_NOWAIT);
    ssize_t n = recv(fd, answered, 15, MSG_DONTWAIT);
    assert_true(n >= 0 || errno == ECONNRESET);
    answered[n < 0 ? 0 : n] = '\0';
}

static int connect_as(uid_t user)
{
    uid_t own = geteuid();
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memcpy(at.sun_path, t.path, strlen(t.path) + 1);
    assert_int_equal(seteuid(user), 0);
    int code = connect(fd, (const struct sockaddr *)&at, sizeof(at));
    assert_int_equal(seteuid(own), 0);
    assert_int_equal(code, 0);
    return fd;
}

/* Whatever was made of the rights of folder and socket. */
static void another_user_is_hung_up_on(void **state)
{
    (void)state;
    char answered[16];
    uid_t own = geteuid();
    assert_int_equal(open_at(t.path, &t.control), AB_ERR_OK);
    assert_int_equal(chmod(t.folder, 0755), 0);
    assert_int_equal(chmod(t.path, 0666), 0);
    for (int i = 0; i < 2; i++) {
        if (i == 1 && own != 0)
            skip(); /* only root can be another one */
        int fd = connect_as(i == 0 ? own : 65534);
        ask(fd, answered);
        assert_string_equal(answered, i == 0 ? "{}\n" : "");
        assert_int_equal(close(fd), 0);
    }
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(by_default_it_is_where_systemd_says),
        T(none_is_none),
        T(what_a_former_process_left_is_replaced),
        T(a_file_that_is_no_socket_is_left_alone),
        T(a_socket_that_is_in_use_is_left_alone),
        T(a_folder_that_others_may_write_is_not_used),
        T(a_folder_in_one_that_others_may_write_is_anybodys),
        T(a_link_is_no_folder),
        T(a_path_that_is_too_long_is_no_place),
        T(another_user_is_hung_up_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
