/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors are values. An ab_err says what went wrong, its class says what a caller does about it,
 * and an ab_error adds the text a person reads. Passed by value, nothing to free, no thread-local
 * state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define AB_MUST_USE     __attribute__((warn_unused_result))
#define AB_PRINTF(a, b) __attribute__((format(printf, a, b)))

/* What a caller does about an error. */
typedef enum {
    AB_CLASS_NONE,      /* no error */
    AB_CLASS_TRANSIENT, /* try again after a back-off */
    AB_CLASS_STALE,     /* re-read what it was based on, then decide again */
    AB_CLASS_PERMANENT, /* the same input fails again: report it and go on with the next */
    AB_CLASS_FATAL,     /* the process cannot do its job: end it in order */
} ab_err_class;

/* name, class, text */
#define AB_ERR_TABLE(X)                                                                            \
    X(OK, NONE, "success")                                                                         \
    X(NOMEM, FATAL, "out of memory")                                                               \
    X(CONFIG, FATAL, "bad configuration")                                                          \
    X(IO, TRANSIENT, "input or output failed")                                                     \
    X(NOSPACE, TRANSIENT, "no space left")                                                         \
    X(TIMEOUT, TRANSIENT, "deadline passed")                                                       \
    X(UNAVAILABLE, TRANSIENT, "peer or service not reachable")                                     \
    X(FULL, TRANSIENT, "queue full")                                                               \
    X(CLOSED, TRANSIENT, "closed")                                                                 \
    X(CONFLICT, STALE, "changed underneath")                                                       \
    X(NOTFOUND, STALE, "not found")                                                                \
    X(EXISTS, STALE, "exists already")                                                             \
    X(PARSE, PERMANENT, "not well-formed")                                                         \
    X(INVALID, PERMANENT, "not valid")                                                             \
    X(TOOBIG, PERMANENT, "larger than the limit")                                                  \
    X(DENIED, PERMANENT, "not allowed")                                                            \
    X(UNSUPPORTED, PERMANENT, "not supported")                                                     \
    X(FATAL, FATAL, "cannot go on")

typedef enum {
#define AB_ERR_ENUM(name, class, text) AB_ERR_##name,
    AB_ERR_TABLE(AB_ERR_ENUM)
#undef AB_ERR_ENUM
} ab_err;

/* Room for one line; a longer text is cut. */
#define AB_ERROR_TEXT_MAX 384

/* An error with its text. Zero-initialised means no error. Copy it freely. */
typedef struct {
    ab_err code;
    int foreign; /* errno, Kafka or HTTP code where there is one, else 0 */
    char text[AB_ERROR_TEXT_MAX];
} ab_error;

/** Class of `code`: what the caller does about it. Any thread. */
ab_err_class ab_err_class_of(ab_err code);

/** Fixed English text of `code`, never NULL. Any thread. */
const char *ab_err_text(ab_err code);

/**
 * Set `err` and return `code`, so that a function can `return ab_fail(err, AB_ERR_PARSE, "line %d",
 * n)`.
 *
 * @param err   where to put code and text; NULL is allowed and drops the text
 * @param fmt   what, where and what to do, in one line without a final full stop
 */
ab_err ab_fail(ab_error *err, ab_err code, const char *fmt, ...) AB_PRINTF(3, 4);

/** As ab_fail, with `foreign` kept and, when it is an errno (positive), its text appended. */
ab_err ab_fail_errno(ab_error *err, ab_err code, int foreign, const char *fmt, ...) AB_PRINTF(4, 5);

/** Put `fmt...: ` before the text that `err` has, to say where it happened. NULL is allowed. */
void ab_error_prefix(ab_error *err, const char *fmt, ...) AB_PRINTF(2, 3);

/** ENOSPC and EDQUOT give NOSPACE, EACCES and EPERM DENIED, ENOENT NOTFOUND, ENOMEM NOMEM, all else
 * IO. */
ab_err ab_err_from_errno(int err_no);
