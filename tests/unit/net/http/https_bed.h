/* SPDX-License-Identifier: Apache-2.0
 *
 * A server on a loop, with an application that answers by path and notes what it is told. Clients
 * are plain sockets of this process; the loop is turned until what they wait for is there. What
 * fails here fails the test.
 */
#pragma once

#include "net/http/https_server.h"
#include "tests/unit/net/http/sockets.h"

#define PATIENCE_MS 60000
#define STREAM      (32u * 1024 * 1024) /* bytes of /stream */
#define HOST        "Host: x\r\n"

typedef struct fixture {
    uv_loop_t loop;
    ab_https_server *server;
    int requests;
    int overs;
    int closed; /* overs because the client has gone */
    ab_err why; /* of the last over */
    unsigned code;
    size_t came;            /* bytes of bodies */
    size_t messages;        /* that came whole */
    size_t accepted;        /* bytes of /stream that the server took */
    ab_https_request *held; /* the last of /hold, /pause, /later */
} fixture;

/* A busy machine does not let its clients down. Who sends nothing makes room soon. */
extern const ab_https_limits patient;

/** Set up a test. @return 0 */
int start_with(void **state, const ab_https_limits *limits, bool one_request);
/** ... with limits that are patient. */
int start(void **state);
/** ... of which each connection has one request. */
int start_one_request(void **state);
/** ... with limits that run out soon. */
int start_hasty(void **state);
int stop(void **state);

/** @return a socket that is connected, or is about to be */
int dial(const fixture *f);
/** Turn the loop once and wait a little for the client. */
void turn(fixture *f, int fd, short events);
/** Send all of `text`; what the server no longer takes is left out. */
void send_all(fixture *f, int fd, ab_str text);
/** Read until `text` has come, or to the end of the connection where it is NULL. */
bool read_until(fixture *f, int fd, ab_buf *out, const char *text);
/** A new connection, on which `request` is sent, and read until `text` comes (NULL: the end). */
void expect(fixture *f, const char *request, const char *text);
/** As expect, and the connection ends. */
void expect_end(fixture *f, const char *request, const char *text);

#define WAIT_FOR(f, condition)                                                                     \
    do {                                                                                           \
        int64_t until_ = now_ms() + PATIENCE_MS;                                                   \
        while (!(condition) && now_ms() < until_)                                                  \
            turn(f, -1, 0);                                                                        \
        assert_true(condition);                                                                    \
    } while (0)
