/* SPDX-License-Identifier: Apache-2.0
 *
 * What requests (raw.c) and WebSockets (raw_socket.c) to the API server share.
 */
#pragma once

#include "store/kubernetes/raw_socket.h"

#include <sys/queue.h>

struct ab_kube_raw {
    uv_loop_t *loop;
    ab_kube_access *access;
    ab_http *http;
    uv_timer_t *later; /* tells of what failed before the server was asked; frees itself */
    LIST_HEAD(, ab_kube_raw_call) calls;
    LIST_HEAD(, ab_kube_raw_socket) sockets;
};

/** Something has failed, which is to be told from the loop. */
void ab_kube_raw_tell_later(ab_kube_raw *raw);
/** Tell of one that has failed. @return false: there is none */
bool ab_kube_raw_socket_tell(ab_kube_raw *raw);
/** Free them all, without upcalls. */
void ab_kube_raw_socket_free_all(ab_kube_raw *raw);
