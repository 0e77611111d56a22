/* SPDX-License-Identifier: Apache-2.0
 *
 * A front, whose agent "w1" the test is: what clients ask comes to it as streams. Clients are plain
 * sockets of this process. What fails here fails the test.
 */
#pragma once

#include "live/resource/front/front_priv.h"
#include "tests/unit/live/asked.h"
#include "tests/unit/live/joined.h"
#include "tests/unit/logged.h"

#define TOKEN_ANY "0123456789abcdef-any" /* for every agent */
#define TOKEN_W1  "0123456789abcdef-w1"
#define AS_W1     "Host: x\r\nAuthorization: Bearer " TOKEN_W1 "\r\n"
#define PODS      "/api/v1/namespaces/web/pods"

typedef struct {
    joined ends;
    ab_live_service services[3];
    ab_resource_front *front;
    char tokens[64];
    ab_log *log;
    FILE *lines;      /* of the log */
    asked_list agent; /* what w1 was asked */
} bed;

int bed_start(void **state);
int bed_stop(void **state);
/** A new connection. */
int bed_dial(const bed *b);
/** Send as much as is taken. @return bytes */
size_t bed_offer(bed *b, int fd, ab_str bytes);
/** Send all of it. */
void bed_send(bed *b, int fd, const char *text);
/** Read until `text` has come, or to the end where it is NULL; fail without. What was read is in
 * `out`, which the caller has initialised. */
void bed_read(bed *b, int fd, const char *text, ab_buf *out);
/** A new connection with a request of w1's token on it, and the agent has it. */
int bed_ask(bed *b, const char *method, const char *target);
/** ... and the agent has begun to answer with 200, no length, and `text`, which has come. */
int bed_begin(bed *b, const char *target, const char *text);
/** Send a request on a new connection, and read the Status that it is answered with; `out` ends
 * with a NUL. */
void bed_refused(bed *b, const char *head, ab_buf *out);
/** The last request that has reached the agent. */
asked *bed_last(bed *b);
/** Send this as the agent. */
void bed_answer(asked *a, int status, const char *text);
/** Send so many bytes as the agent, as fast as they are taken, and end. */
void bed_flood(asked *a, size_t bytes);
/** The agent's connection is lost. */
void bed_lose_agent(bed *b);
