/* SPDX-License-Identifier: Apache-2.0
 *
 * The hello of an argobus peer: the first event on a stream in either direction, and again when
 * what it says has changed. A heartbeat to peers that know no better.
 */
#pragma once

#include "event/event.h"

/* A certificate with its chain, and the rest. */
#define AB_GRPC_HELLO_MAX 65536

typedef struct {
    char mode[16];
    char version[32];
    char instance[40];   /* of this end of the link; another one means that its memory is another */
    uint64_t epoch;      /* of what it writes */
    uint64_t seen;       /* highest epoch of the other side, of former instances; 0 = none */
    int64_t time_ms;     /* its clock */
    int64_t inflight;    /* state events that it takes before it has acknowledged one */
    int64_t message_max; /* bytes */
    int64_t backlog;     /* state events that wait here for the other side */
    bool fresh;          /* what it received before is lost */
    bool leaving;
    const char *certificate; /* PEM, NUL-terminated; "" = none */
    ab_buf text;             /* of a hello that was read: what `certificate` points to */
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
