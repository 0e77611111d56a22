/* SPDX-License-Identifier: Apache-2.0
 *
 * A front of redis. The test is all that is around it: its clients and the control plane's redis,
 * which are plain sockets of this process, and the agent "w1", to which requests come as streams.
 * The agent "w2" is served too, and is away. What fails here fails the test.
 */
#pragma once

#include "live/redis/front/front_priv.h"
#include "tests/unit/live/asked.h"
#include "tests/unit/live/sockets.h"
#include "tests/unit/logged.h"

/* Keys of w1's Application, and where w1 is asked for them. */
#define TREE         "app|resources-tree|w1_guestbook|1.8.3.gz"
#define TREE_PATH    "/app%7Cresources-tree%7Cguestbook%7C1.8.3.gz"
#define CHANNEL      "app|managed-resources|w1_guestbook|1.8.3"
#define CHANNEL_PATH "/app%7Cmanaged-resources%7Cguestbook%7C1.8.3"
#define AWAY         "app|resources-tree|w2_guestbook|1.8.3.gz" /* of w2 */

typedef struct {
    joined ends;
    ab_live_service services[2];
    ab_redis_front *front;
    ab_log *log;
    FILE *lines;      /* of the log */
    int redis;        /* where the control plane's redis listens */
    bool is_removed;  /* w1 is served no more */
    asked_list agent; /* what w1 was asked */
    size_t taken;     /* of it, by bed_asked */
} bed;

/** The mapping is by namespace. */
int bed_start(void **state);
/** By destination: guestbook in the namespace team is w1's. */
int bed_start_by_destination(void **state);
int bed_stop(void **state);

/** Words between blanks as redis speaks: an array of bulk strings. Valid for a few calls. */
const char *bed_words(const char *line);
/** A new client. */
int bed_client(bed *b);
/** The next connection that the control plane's redis gets. Each client has its own there, from its
 * first command on. */
int bed_redis(bed *b);
void bed_send(bed *b, int fd, const char *text);
/** This comes next. */
void bed_expect(bed *b, int fd, const char *text);
/** The client sends a command, and redis hears it. */
void bed_tell(bed *b, int client, int redis, const char *line);
/** A new client sends this, and the control plane's redis gets it. @param redis  its connection */
int bed_begin(bed *b, const char *text, int *redis);

/** The next request reaches the agent. */
asked *bed_asked(bed *b, const char *method, const char *path);
/** The agent was asked no more than so often. */
void bed_asked_only(bed *b, size_t count);
/** The agent has the value, of which `text` is sent, and ends unless more is to come. */
void bed_has(asked *a, size_t length, const char *text);
/** The agent answers with a status, and a field unless its name is NULL. */
void bed_answer(asked *a, int status, const char *name, const char *value);
/** The agent has a value of so many bytes, and sends it as fast as it is taken. */
void bed_flood(asked *a, size_t bytes);
void bed_lose_agent(bed *b);
/** The agent is connected again. */
void bed_find_agent(bed *b);
