/* SPDX-License-Identifier: Apache-2.0 */
#include "services/daemon/notify_priv.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

void ab_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (path == NULL || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof(to.sun_path))
        return;
    size_t len = strlen(path);
    memcpy(to.sun_path, path, len);
    if (path[0] == '@')
        to.sun_path[0] = '\0'; /* the abstract namespace */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&to, size);
    close(fd);
}

void ab_notify_reloading(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    char state[64];
    snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
             (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    ab_notify(state);
}

void ab_notify_waiting(ab_str why, ab_notified told)
{
    ab_notified state;
    ab_str line = ab_str_cut(&why, '\n');
    snprintf(state, sizeof(state), "STATUS=not ready: %.*s", AB_STR_ARG(line));
    if (strcmp(state, told) == 0)
        return;
    memcpy(told, state, strlen(state) + 1);
    ab_notify(state);
}
