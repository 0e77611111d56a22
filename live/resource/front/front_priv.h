/* SPDX-License-Identifier: Apache-2.0
 *
 * One request at the front, for the files that make it up:
 *
 *   front.c     the server: who asks, which agent is meant, what is asked
 *   pass.c      an ordinary request: bodies both ways, logs that go on after a cut
 *   terminal.c  a terminal: messages both ways
 *   audit.c     the line in the log, and the metrics
 *   held.c      the bound on what all clients together have not read
 */
#pragma once

#include "base/observe/log_quota.h"
#include "live/resource/fields.h"
#include "live/resource/front/front.h"
#include "live/resource/identity.h"
#include "live/resource/logs.h"
#include "live/resource/map.h"
#include "live/resource/messages.h"
#include "net/http/https_server.h"

#include <sys/queue.h>

/* What a request is, for metrics. */
typedef enum {
    AB_RESOURCE_FRONT_REQUEST,
    AB_RESOURCE_FRONT_WATCH,
    AB_RESOURCE_FRONT_LOG,
    AB_RESOURCE_FRONT_TERMINAL,
    AB_RESOURCE_FRONT_KINDS,
} ab_resource_front_kind;

typedef struct ab_resource_front_request {
    ab_resource_front *front;
    LIST_ENTRY(ab_resource_front_request) waiting_at;
    ab_https_request *http;
    ab_live_stream *stream; /* NULL: not begun, or over */
    /* Who asked for what. */
    const char *who; /* "token", "certificate", "none" */
    bool known;      /* that is somebody's, and good */
    ab_resource_grant grant;
    char agent[AB_RESOURCE_AGENT_MAX];
    char *method;
    char *target; /* without the agent's prefix; what `map` borrows from */
    ab_resource_fields fields;
    ab_resource_map map;
    bool mapped;
    ab_resource_front_kind kind;
    /* What came of it. */
    uint64_t begun_ns;
    uint64_t bytes; /* of the answer's body */
    int status;     /* that was answered; 0: none */
    /* Bodies. */
    ab_buf up;        /* what the agent's stream has not taken */
    size_t up_sent;   /* of that, what it has */
    bool up_ended;    /* the client's body is whole */
    ab_buf down;      /* what the client has not taken */
    size_t down_sent; /* of that, what it has */
    size_t owed;      /* bytes that came from the agent, and for which no credits were given back */
    size_t held;      /* of `down`, or of `messages`, as the front counts them */
    bool gave_way;    /* it is cut: its client has not read, and others hold much, too */
    TAILQ_ENTRY(ab_resource_front_request) holder_at; /* while `held` is not 0 */
    bool down_ended;
    /* A terminal. */
    char *offer;                   /* protocols */
    ab_buf message;                /* of the client, not whole yet */
    ab_resource_messages messages; /* of the agent */
    /* A log that goes on after a cut. */
    bool resumable;
    bool waiting; /* for the agent, until `give_up_ms` */
    int64_t give_up_ms;
    int64_t asked_ms; /* of the agent, the last time */
    ab_resource_logs logs;
} ab_resource_front_request;

struct ab_resource_front {
    ab_resource_front_env env;
    ab_resource_identities *identities;
    ab_https_server *server;
    bool stopping;
    uv_timer_t *retry; /* of those that wait; frees itself */
    LIST_HEAD(, ab_resource_front_request) waiting;
    /* Those whose clients have not read all; who has taken nothing for longest is the first. */
    TAILQ_HEAD(, ab_resource_front_request) holders;
    size_t held; /* by all of them */
    size_t held_max;
    ab_metric *open[AB_RESOURCE_FRONT_KINDS];
    ab_metric *bytes[AB_RESOURCE_FRONT_KINDS];
    ab_metric *seconds;
    ab_log_quota strangers; /* lines about their requests */
};

/* pass.c */
extern const ab_https_handler ab_resource_front_handler;
/** Answer with a Status of ours. */
void ab_resource_front_refuse(ab_resource_front_request *r, int status, const char *why);
/** Answer why the agent could not be asked. @param err  its text may be empty */
void ab_resource_front_refuse_unasked(ab_resource_front_request *r, ab_err code,
                                      const ab_error *err);
/** Ask the agent. */
void ab_resource_front_ask(ab_resource_front_request *r);
/** End those that wait for their agent, in order. */
void ab_resource_front_end_waiting(ab_resource_front *front);

/** The status for what ended a stream before its answer. */
int ab_resource_front_status_of(ab_err code);
/** Whether it may go on: as ab_https_handler.may_go_on. */
bool ab_resource_front_may_go_on(void *arg);
/** The HTTP request is over: free it all. As ab_https_handler.on_over. */
void ab_resource_front_end(void *arg, ab_err why, unsigned close_code);

/* terminal.c */
extern const ab_https_handler ab_resource_front_terminal_handler;
/** Ask the agent for a terminal. */
void ab_resource_front_open_terminal(ab_resource_front_request *r, const ab_https_info *info);

/* held.c */
/** The most that all hold, when a front starts. */
#define AB_RESOURCE_FRONT_HELD_MAX (128u * 1024 * 1024)
/**
 * So much of an answer is held for a client. Who has taken nothing for longest is cut when all hold
 * too much: in a later turn of the loop, and it may be this one.
 * @param moved  the client has taken some since this was called last
 */
void ab_resource_front_hold(ab_resource_front_request *r, size_t bytes, bool moved);

/* audit.c */
void ab_resource_front_audit_init(ab_resource_front *front);
/** A request has begun; its kind is known. */
void ab_resource_front_audit_begin(ab_resource_front_request *r);
/** It is over. @param why  as on_over of ab_https_handler */
void ab_resource_front_audit_end(ab_resource_front_request *r, ab_err why);
