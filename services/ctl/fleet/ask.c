/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/fleet/ask.h"

#include "services/control.h"
#include "services/control_path.h"
#include "services/ctl/fleet/server.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define PROGRAM   "argobus-principal"
#define TIMEOUT_S 10

static int connect_to(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = TIMEOUT_S};
    if (strlen(path) >= sizeof(at.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(at.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    /* Also of connect: a principal that does not run on lets nobody in once enough wait there. */
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0 &&
        connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0)
        return fd;
    int number = errno;
    close(fd);
    errno = number;
    return -1;
}

/* Root trusts a folder of the principal's own user, whichever that is, where not everybody could
 * have made it. */
static bool may_ask_at(const char *path)
{
    struct stat st;
    bool is_any = geteuid() == 0 && !ab_control_folder_is_anybodys(path) && lstat(path, &st) == 0;
    return ab_control_folder_is_safe(path, is_any ? st.st_uid : geteuid());
}

static int find_principal(void)
{
    char path[AB_CONTROL_PATH_MAX];
    int fd = -1;
    for (size_t i = 0; fd < 0 && i < AB_CONTROL_PATHS; i++)
        if (ab_control_path(i, PROGRAM, path) && may_ask_at(path))
            fd = connect_to(path);
    if (fd < 0)
        ab_ctl_fail(AB_CTL_UNREACHABLE,
                    "no principal of this user listens on this machine; run it as the principal's "
                    "user or root, or name its control.socket with --socket");
    return fd;
}

static int reach_principal(const ab_ctl *ctl)
{
    if (ctl->socket == NULL)
        return find_principal();
    int fd = connect_to(ctl->socket);
    if (fd < 0)
        ab_ctl_fail(AB_CTL_UNREACHABLE, "%s: %s: does a principal listen there (control.socket)?",
                    ctl->socket, strerror(errno));
    return fd;
}

static bool exchange(int fd, const ab_buf *request, ab_buf *answer)
{
    char piece[16384];
    if (send(fd, request->ptr, request->len, MSG_NOSIGNAL) != (ssize_t)request->len)
        return false;
    ssize_t n = read(fd, piece, sizeof(piece));
    while (n > 0) {
        ab_buf_put(answer, (ab_str){piece, (size_t)n});
        n = read(fd, piece, sizeof(piece));
    }
    return n == 0 && answer->len > 0 && ab_buf_status(answer) == AB_ERR_OK;
}

/* {"error":TEXT,"code":"not-found"} is the one form in which a principal refuses. */
static int judge(ab_str text, cJSON **answer)
{
    cJSON *doc = NULL;
    if (ab_doc_parse(text, AB_CTL_ANSWER_MAX, &doc, NULL) != AB_ERR_OK)
        return ab_ctl_fail(AB_CTL_FAILED, "cannot read the principal's response");
    ab_str error = ab_doc_text(doc, "error");
    if (error.ptr == NULL) {
        *answer = doc;
        return AB_CTL_OK;
    }
    bool absent = ab_doc_is(doc, "code", "not-found");
    ab_ctl_fail(0, "%.*s", AB_STR_ARG(error));
    cJSON_Delete(doc);
    return absent ? AB_CTL_NOT_FOUND : AB_CTL_FAILED;
}

static int ask_socket(const ab_ctl *ctl, cJSON *request, ab_buf *answer)
{
    ab_buf out = ab_buf_up_to(AB_CONTROL_REQUEST_MAX);
    (void)ab_doc_finish(request, true, &out); /* the buffer keeps what goes wrong */
    ab_buf_putc(&out, '\n');
    int fd = ab_buf_status(&out) == AB_ERR_OK ? reach_principal(ctl) : -1;
    int code = ab_buf_status(&out) == AB_ERR_OK ? AB_CTL_UNREACHABLE
                                                : ab_ctl_fail(AB_CTL_USAGE, "request too long");
    if (fd >= 0)
        code = exchange(fd, &out, answer)
                   ? AB_CTL_OK
                   : ab_ctl_fail(AB_CTL_UNREACHABLE, "the principal does not respond");
    ab_buf_fini(&out);
    if (fd >= 0)
        close(fd);
    return code;
}

int ab_ctl_ask(const ab_ctl *ctl, cJSON *request, cJSON **answer)
{
    if (request == NULL)
        return ab_ctl_fail(AB_CTL_FAILED, "out of memory");
    ab_buf text = ab_buf_up_to(AB_CTL_ANSWER_MAX);
    int code;
    if (ctl->server == NULL) {
        code = ask_socket(ctl, request, &text);
    } else {
        code = ab_ctl_ask_server(ctl, request, &text);
        cJSON_Delete(request);
    }
    if (code == AB_CTL_OK)
        code = judge(ab_buf_str(&text), answer);
    ab_buf_fini(&text);
    return code;
}
