/* SPDX-License-Identifier: Apache-2.0
 *
 * The hello of an argobus peer: the first event on a stream in either direction, and again when
 * what it says has changed. A heartbeat to peers that know no better.
 */
#pragma once

#include "transport/hello.h"

typedef struct {
    ab_hello base;        /* its instance: this end of the link */
    uint64_t seen;        /* highest epoch of the other side, of former instances; 0 = none */
    int64_t inflight;     /* state events that it takes before it has acknowledged one */
    int64_t message_max;  /* bytes */
    int64_t backlog;      /* state events that wait here for the other side */
    int64_t heartbeat_ms; /* the most that it lets the stream be silent: it says hello again; 0: it
                             does not promise that */
    bool ack_lists;       /* it reads acknowledgements of many events in one */
    bool live_call;       /* it knows the call for live events */
    bool open_live;       /* of a principal: the agent is to open that call now */
    bool fresh;           /* what it received before is lost */
} ab_grpc_hello;

/**
 * @param source  attribute source
 * @param out     one reference
 * @return NOMEM, TOOBIG
 */
AB_MUST_USE ab_err ab_grpc_hello_make(const ab_grpc_hello *hello, const char *source,
                                      ab_event **out);
/** @param out  to be released by ab_grpc_hello_fini, also after a failure
 *  @return PARSE, INVALID naming what is wrong, NOMEM */
AB_MUST_USE ab_err ab_grpc_hello_read(const ab_event *event, ab_grpc_hello *out, ab_error *err);
void ab_grpc_hello_fini(ab_grpc_hello *hello);
