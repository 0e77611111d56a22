/* SPDX-License-Identifier: Apache-2.0
 *
 * The requests that reach an agent, as which a test answers itself. What fails here fails the test.
 */
#pragma once

#include "live/lane/stream.h"

#define ASKED_MAX 300

/* A request that has reached the agent. */
typedef struct {
    struct asked_list *list;
    ab_live_stream *stream; /* NULL: it is over */
    char service[16];
    char method[16];
    char path[256];
    size_t came; /* bytes of its body */
    bool ended;  /* its body is whole */
    ab_err code; /* how it was over */
    size_t left; /* bytes of a flood that are to be sent */
} asked;

/* All of them, in order. Zero-initialised it is empty. */
typedef struct asked_list {
    asked items[ASKED_MAX];
    size_t count;
    bool greedy; /* the agent takes bodies, and gives no credits for them */
} asked_list;

/** Of an ab_live_service whose argument is an asked_list: note the request, and hear its body. */
void asked_serve(void *list, ab_live_stream *s, const ab_live_request *request);
/** Send so many bytes, as fast as they are taken, and end. It was answered. */
void asked_flood(asked *a, size_t bytes);
