/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/integration/http/peer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SERVERS_MAX 16
#define FILES_MAX   16

typedef struct {
    char name[16];
    int port;
} server;

typedef struct {
    const char *name;
    char *text;
} pem;

static struct {
    char dir[32];
    pid_t pid;
    int input;
    server servers[SERVERS_MAX];
    size_t server_count;
    pem files[FILES_MAX];
    size_t file_count;
} peer;

static void become_peer(const int input[2], const int output[2])
{
    dup2(input[0], STDIN_FILENO);
    dup2(output[1], STDOUT_FILENO);
    close(input[1]);
    execlp("python3", "python3", "-Wignore", AB_HTTP_PEER, peer.dir, (char *)NULL);
    _exit(127);
}

static int read_servers(int fd)
{
    FILE *in = fdopen(fd, "r");
    server s = {0};
    bool ready = false;
    while (in != NULL && !ready && fscanf(in, "%15s %d", s.name, &s.port) == 2) {
        ready = strcmp(s.name, "ready") == 0;
        if (!ready && peer.server_count < SERVERS_MAX)
            peer.servers[peer.server_count++] = s;
    }
    if (in != NULL)
        fclose(in);
    return ready ? 0 : -1;
}

int ab_peer_start(void **state)
{
    int input[2];
    int output[2];
    (void)state;
    snprintf(peer.dir, sizeof(peer.dir), "/tmp/argobus-http-XXXXXX");
    if (mkdtemp(peer.dir) == NULL || pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0)
        return -1;
    peer.pid = fork();
    if (peer.pid == 0)
        become_peer(input, output);
    close(input[0]);
    close(output[1]);
    peer.input = input[1];
    return peer.pid > 0 ? read_servers(output[0]) : -1;
}

int ab_peer_stop(void **state)
{
    int status = 0;
    (void)state;
    close(peer.input);
    for (size_t i = 0; i < peer.file_count; i++)
        free(peer.files[i].text);
    return waitpid(peer.pid, &status, 0) == peer.pid && status == 0 ? 0 : -1;
}

int ab_peer_port(const char *name)
{
    for (size_t i = 0; i < peer.server_count; i++)
        if (strcmp(peer.servers[i].name, name) == 0)
            return peer.servers[i].port;
    return 0;
}

const char *ab_peer_path(const char *name, char *path)
{
    snprintf(path, AB_PEER_PATH, "%s/%s", peer.dir, name);
    return path;
}

static char *read_file(const char *name)
{
    char path[AB_PEER_PATH];
    ab_buf text;
    char part[4096];
    size_t got;
    ab_buf_init(&text, 65536);
    FILE *in = fopen(ab_peer_path(name, path), "r");
    while (in != NULL && (got = fread(part, 1, sizeof(part), in)) > 0)
        ab_buf_put(&text, (ab_str){part, got});
    if (in != NULL)
        fclose(in);
    return ab_buf_take(&text);
}

ab_str ab_peer_pem(const char *name)
{
    for (size_t i = 0; i < peer.file_count; i++)
        if (strcmp(peer.files[i].name, name) == 0)
            return ab_str_of(peer.files[i].text);
    if (peer.file_count == FILES_MAX)
        return AB_STR_NONE;
    pem *file = &peer.files[peer.file_count++];
    *file = (pem){name, read_file(name)};
    return ab_str_of(file->text);
}
