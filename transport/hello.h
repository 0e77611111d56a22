/* SPDX-License-Identifier: Apache-2.0
 *
 * Who an argobus peer says it is: what the hellos of all transports have in common. Each transport
 * adds members and attributes of its own.
 */
#pragma once

#include "base/core/digest.h"
#include "base/json/document.h"
#include "event/event.h"

/* A certificate with its chain, and the rest. */
#define AB_HELLO_MAX 65536

typedef struct {
    char mode[16];     /* "managed", "autonomous"; "" for a principal */
    char version[32];  /* of argobus */
    char instance[40]; /* of whoever speaks; another one means that its memory is another */
    uint64_t epoch;    /* of what it writes */
    int64_t time_ms;   /* its clock */
    bool leaving;
    const char *certificate; /* PEM, NUL-terminated; "" = none */
    ab_buf text;             /* of a hello that was read: what `certificate` points to */
} ab_hello;

/** Add its members to an object. @return false when memory runs out */
bool ab_hello_write(const ab_hello *hello, cJSON *object);
/**
 * An event for it.
 *
 * @param source  attribute source
 * @param draft   the transport's own attributes, and the data; the others are added
 * @param out     one reference
 * @return NOMEM, TOOBIG
 */
AB_MUST_USE ab_err ab_hello_event(const ab_hello *hello, const char *source, ab_event_draft *draft,
                                  ab_event **out);

/** The data of an event as JSON. @param out  the caller's: cJSON_Delete
 *  @return PARSE, INVALID, NOMEM */
AB_MUST_USE ab_err ab_hello_parse(const ab_event *event, cJSON **out, ab_error *err);
/** @param out  to be released by ab_hello_fini, also after a failure
 *  @return INVALID naming what is wrong, NOMEM */
AB_MUST_USE ab_err ab_hello_read(const cJSON *from, ab_hello *out, ab_error *err);
/** Is its certificate another one than `told`, which is the digest of the last? It is from now on.
 */
bool ab_hello_is_new_certificate(const ab_hello *hello, ab_digest *told);
void ab_hello_fini(ab_hello *hello);
