/* SPDX-License-Identifier: Apache-2.0
 *
 * argobusctl: what an operator asks of a running principal, over its control socket.
 */
#include "base/json/document.h"
#include "services/control_path.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define PROGRAM    "argobus-principal"
#define TIMEOUT_S  10
#define ANSWER_MAX 4096

static const char usage[] =
    "usage: argobusctl [--socket PATH] resync [--agent NAME] [--confirm]\n"
    "\n"
    "  resync     compare the inventories of principal and agents, and repair differences\n"
    "  --agent    only with this agent\n"
    "  --confirm  confirm the deletions that are held back\n"
    "  --socket   control.socket of the principal (ARGOBUS_CONTROL_SOCKET); without it\n"
    "             control.sock is looked for in $RUNTIME_DIRECTORY, /run/" PROGRAM ",\n"
    "             $XDG_RUNTIME_DIR/" PROGRAM " and /tmp/" PROGRAM "-UID\n";

static int fail(const char *what)
{
    fprintf(stderr, "argobusctl: %s\n", what);
    return 1;
}

static int connect_to(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = TIMEOUT_S};
    if (strlen(path) >= sizeof(at.sun_path))
        return -1;
    memcpy(at.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 &&
        connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Root trusts a folder of the principal's own user, whichever that is. */
static bool may_ask_at(const char *path)
{
    struct stat st;
    unsigned owner = geteuid() == 0 && lstat(path, &st) == 0 ? st.st_uid : geteuid();
    return ab_control_folder_is_safe(path, owner);
}

/* @param path  NULL: wherever a principal listens */
static int find_principal(const char *path)
{
    char place[AB_CONTROL_PATH_MAX];
    int fd = path == NULL ? -1 : connect_to(path);
    if (path != NULL && fd < 0)
        fprintf(stderr, "argobusctl: %s: %s: does a principal listen there (control.socket)?\n",
                path, strerror(errno));
    for (size_t i = 0; path == NULL && fd < 0 && i < AB_CONTROL_PATHS; i++)
        if (ab_control_path(i, PROGRAM, place) && may_ask_at(place))
            fd = connect_to(place);
    if (path == NULL && fd < 0)
        fprintf(stderr,
                "argobusctl: no principal of this user listens on this machine; run it as the "
                "principal's user or root, or name its control.socket with --socket\n");
    return fd;
}

static void write_request(const char *agent, bool confirm, ab_buf *out)
{
    cJSON *doc = cJSON_CreateObject();
    bool complete = ab_doc_add_str(doc, "do", AB_STR("resync")) &&
                    (agent == NULL || ab_doc_add_str(doc, "agent", ab_str_of(agent))) &&
                    ab_doc_add_bool(doc, "confirm", confirm);
    if (ab_doc_finish(doc, complete, out) == AB_ERR_OK)
        ab_buf_putc(out, '\n');
}

/* One line of answer, without its end. */
static bool read_answer(int fd, ab_buf *out)
{
    char piece[512];
    ssize_t n = read(fd, piece, sizeof(piece));
    while (n > 0) {
        ab_buf_put(out, (ab_str){piece, (size_t)n});
        n = read(fd, piece, sizeof(piece));
    }
    return n == 0 && out->len > 0 && ab_buf_status(out) == AB_ERR_OK;
}

static int show(ab_str answer)
{
    cJSON *doc = NULL;
    if (ab_doc_parse(answer, ANSWER_MAX, &doc, NULL) != AB_ERR_OK)
        return fail("cannot read the principal's response");
    ab_str error = ab_doc_text(doc, "error");
    ab_str ok = ab_doc_text(doc, "ok");
    if (error.ptr != NULL)
        fprintf(stderr, "argobusctl: %.*s\n", AB_STR_ARG(error));
    else
        printf("%.*s\n", AB_STR_ARG(ok));
    int code = error.ptr != NULL;
    cJSON_Delete(doc);
    return code;
}

static int resync(const char *socket_path, const char *agent, bool confirm)
{
    ab_buf request, answer;
    int code;
    int fd = find_principal(socket_path);
    if (fd < 0)
        return 1;
    ab_buf_init(&request, 4096);
    ab_buf_init(&answer, ANSWER_MAX);
    write_request(agent, confirm, &request);
    if (ab_buf_status(&request) != AB_ERR_OK ||
        write(fd, request.ptr, request.len) != (ssize_t)request.len || !read_answer(fd, &answer))
        code = fail("the principal does not respond");
    else
        code = show(ab_buf_str(&answer));
    ab_buf_fini(&request);
    ab_buf_fini(&answer);
    close(fd);
    return code;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"socket", required_argument, NULL, 's'}, {"agent", required_argument, NULL, 'a'},
        {"confirm", no_argument, NULL, 'c'},      {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},         {0}};
    const char *socket_path = getenv("ARGOBUS_CONTROL_SOCKET");
    const char *agent = NULL;
    bool confirm = false;
    for (int o = getopt_long(argc, argv, "", options, NULL); o != -1;
         o = getopt_long(argc, argv, "", options, NULL)) {
        switch (o) {
        case 's':
            socket_path = optarg;
            break;
        case 'a':
            agent = optarg;
            break;
        case 'c':
            confirm = true;
            break;
        case 'v':
            puts("argobusctl " AB_VERSION);
            return 0;
        case 'h':
            fputs(usage, stdout);
            return 0;
        default:
            fputs(usage, stderr);
            return 2;
        }
    }
    if (argc - optind != 1 || strcmp(argv[optind], "resync") != 0) {
        fputs(usage, stderr);
        return 2;
    }
    return resync(socket_path, agent, confirm);
}
