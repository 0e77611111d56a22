/* SPDX-License-Identifier: Apache-2.0 */
#include "services/control.h"

#include "services/control_path.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 4

struct ab_control {
    uv_pipe_t listener;
    ab_control_handler handler;
    void *arg;
    ab_log *log;
    LIST_HEAD(, client) clients;
};

struct client {
    uv_pipe_t pipe;
    LIST_ENTRY(client) link;
    ab_control *control; /* NULL: that is gone */
    uv_write_t write;
    ab_buf answer;
    size_t len;
    char request[AB_CONTROL_REQUEST_MAX];
};

static void client_closed(uv_handle_t *handle)
{
    struct client *c = handle->data;
    ab_buf_fini(&c->answer);
    free(c);
}

static void drop(struct client *c)
{
    if (c->control != NULL)
        LIST_REMOVE(c, link);
    c->control = NULL;
    if (!uv_is_closing((uv_handle_t *)&c->pipe))
        uv_close((uv_handle_t *)&c->pipe, client_closed);
}

static void on_written(uv_write_t *write, int status)
{
    (void)status;
    drop(write->data);
}

static void carry_out(struct client *c, size_t line)
{
    (void)uv_read_stop((uv_stream_t *)&c->pipe);
    c->control->handler(c->control->arg, (ab_str){c->request, line}, &c->answer);
    ab_buf_putc(&c->answer, '\n');
    c->write.data = c;
    uv_buf_t out = uv_buf_init(c->answer.ptr, (unsigned)c->answer.len);
    if (ab_buf_status(&c->answer) != AB_ERR_OK ||
        uv_write(&c->write, (uv_stream_t *)&c->pipe, &out, 1, on_written) != 0)
        drop(c);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    struct client *c = handle->data;
    (void)suggested;
    *out = uv_buf_init(c->request + c->len, (unsigned)(sizeof(c->request) - c->len));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct client *c = stream->data;
    (void)buf;
    if (n == 0)
        return;
    if (n < 0) { /* it went, or sent more than a request may be long */
        drop(c);
        return;
    }
    const char *end = memchr(c->request + c->len, '\n', (size_t)n);
    c->len += (size_t)n;
    if (end != NULL)
        carry_out(c, (size_t)(end - c->request));
}

static bool may_speak(const uv_pipe_t *pipe)
{
    uv_os_fd_t fd;
    struct ucred who;
    socklen_t len = sizeof(who);
    return uv_fileno((const uv_handle_t *)pipe, &fd) == 0 &&
           getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 &&
           (who.uid == 0 || who.uid == geteuid());
}

static void on_connection(uv_stream_t *listener, int status)
{
    ab_control *control = listener->data;
    struct client *c = status == 0 ? calloc(1, sizeof(*c)) : NULL;
    if (c == NULL)
        return;
    c->control = control;
    LIST_INSERT_HEAD(&control->clients, c, link);
    ab_buf_init(&c->answer, AB_CONTROL_ANSWER_MAX);
    (void)uv_pipe_init(listener->loop, &c->pipe, 0); /* cannot fail on Unix */
    c->pipe.data = c;
    if (uv_accept(listener, (uv_stream_t *)&c->pipe) != 0 || !may_speak(&c->pipe) ||
        uv_read_start((uv_stream_t *)&c->pipe, on_room, on_read) != 0)
        drop(c);
}

/* --- life cycle --- */

static void control_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static bool is_listened_to(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is = false;
    if (fd >= 0 && strlen(path) < sizeof(at.sun_path)) {
        memcpy(at.sun_path, path, strlen(path) + 1);
        /* EAGAIN: so many wait that there is no room for one more. */
        is = connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 || errno == EAGAIN;
    }
    if (fd >= 0)
        (void)close(fd);
    return is;
}

static void remove_left(const char *path)
{
    struct stat left;
    if (lstat(path, &left) == 0 && S_ISSOCK(left.st_mode))
        (void)unlink(path); /* where this fails, binding says why */
}

static int listen_at(ab_control *c, const char *path)
{
    remove_left(path);
    mode_t before = umask(0177);
    int code = uv_pipe_bind(&c->listener, path);
    (void)umask(before);
    return code == 0 ? uv_listen((uv_stream_t *)&c->listener, BACKLOG, on_connection) : code;
}

static ab_err start_at(uv_loop_t *loop, const char *path, const ab_control *wanted,
                       ab_control **out, ab_error *err)
{
    if (is_listened_to(path))
        return ab_fail(err, AB_ERR_EXISTS,
                       "control.socket: another process listens on %s: set another path", path);
    ab_control *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    *c = *wanted;
    (void)uv_pipe_init(loop, &c->listener, 0); /* cannot fail on Unix */
    c->listener.data = c;
    int code = listen_at(c, path);
    if (code != 0) {
        uv_close((uv_handle_t *)&c->listener, control_closed);
        return ab_fail(err, AB_ERR_UNAVAILABLE, "control.socket: cannot listen on %s: %s", path,
                       uv_strerror(code));
    }
    AB_INFO(c->log, MAIN, "listening for argobusctl", AB_KV("socket", path));
    *out = c;
    return AB_ERR_OK;
}

static ab_err start_somewhere(uv_loop_t *loop, const char *program, const ab_control *wanted,
                              ab_control **out, ab_error *err)
{
    char path[AB_CONTROL_PATH_MAX];
    ab_err e = ab_fail(err, AB_ERR_UNAVAILABLE, "it has no folder");
    for (size_t i = 0; i < AB_CONTROL_PATHS && e == AB_ERR_UNAVAILABLE; i++)
        if (ab_control_path(i, program, path) && ab_control_folder_claim(path))
            e = start_at(loop, path, wanted, out, err);
    return e;
}

ab_err ab_control_open(uv_loop_t *loop, const char *option, const char *program,
                       ab_control_handler handler, void *arg, ab_log *log, ab_control **out,
                       ab_error *err)
{
    const ab_control wanted = {.handler = handler, .arg = arg, .log = log};
    ab_error why = {0};
    *out = NULL;
    if (strcmp(option, AB_CONTROL_NONE) == 0)
        return AB_ERR_OK;
    if (strcmp(option, AB_CONTROL_AUTO) != 0)
        return start_at(loop, option, &wanted, out, err);
    if (start_somewhere(loop, program, &wanted, out, &why) != AB_ERR_OK)
        AB_INFO(log, MAIN, "argobusctl cannot reach this process: set control.socket",
                AB_KV("why", why.text));
    return AB_ERR_OK;
}

void ab_control_free(ab_control *c)
{
    if (c == NULL)
        return;
    while (!LIST_EMPTY(&c->clients))
        drop(LIST_FIRST(&c->clients));
    uv_close((uv_handle_t *)&c->listener, control_closed);
}
