/* SPDX-License-Identifier: Apache-2.0
 *
 * A log with timestamps that goes on after its stream was lost: whole lines are passed on, and the
 * last one is remembered. The log is then asked for again from that second on, and all up to that
 * line is left out. So no line is missing, and none comes twice, also where stdout and stderr are
 * not in the order of their timestamps.
 *
 * Where no line was passed on, what counts back from now (tailLines, sinceSeconds) counts from when
 * the log was opened, so that nothing is missing that was written since then. Loop thread. No I/O.
 */
#pragma once

#include "base/core/digest.h"
#include "live/resource/map.h"

/* "2026-01-02T03:04:05.123456789+01:00" and the NUL. */
#define AB_RESOURCE_STAMP_MAX 40
/* Bytes of one line; a kubelet splits them at 16 KiB. */
#define AB_RESOURCE_LINE_MAX (1024u * 1024)

typedef struct {
    ab_buf line; /* the beginning of one that is not whole yet */
    /* The last line that was passed on, and how many like it in a row. */
    char stamp[AB_RESOURCE_STAMP_MAX]; /* "": none yet */
    ab_digest digest;
    size_t same;
    char newest[AB_RESOURCE_STAMP_MAX]; /* timestamp of all that were passed on */
    size_t seen;                        /* of the last line, after a resumption */
    bool resumed;                       /* lines up to the last come again */
    int64_t opened_s;                   /* by our clock, since 1970 */
    bool unsure;  /* the next line shows whether those before it are missing */
    bool overrun; /* they are: more have come than its tailLines */
} ab_resource_logs;

/** True for a log that is followed with timestamps and without a limit in bytes. */
bool ab_resource_logs_can_resume(const ab_resource_map *m);
/** @param opened_us  by the wall clock, when it was asked for */
void ab_resource_logs_init(ab_resource_logs *l, int64_t opened_us);
void ab_resource_logs_fini(ab_resource_logs *l);
/** The next piece of the log. @param out  receives the lines to pass on
 *  @return TOOBIG: a line is too long; PARSE: one has no timestamp; NOMEM; CONFLICT: lines before
 * these are missing, and none was passed on: break the stream off, and resume */
AB_MUST_USE ab_err ab_resource_logs_feed(ab_resource_logs *l, ab_str piece, ab_buf *out);
/** The stream has ended for good: pass on what has no newline. */
void ab_resource_logs_end(ab_resource_logs *l, ab_buf *out);
/** The stream was lost: forget the line that was not whole, and append the target that asks for the
 * rest of the log. */
void ab_resource_logs_resume(ab_resource_logs *l, const ab_resource_map *m, ab_buf *target);
