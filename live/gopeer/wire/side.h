/* SPDX-License-Identifier: Apache-2.0
 *
 * Logs and terminals on argocd-agent's wire: the JSON of the events that ask for them, and the
 * messages of the side calls that carry them. Any thread.
 */
#pragma once

#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/json/span.h"
#include "live/resource/map.h"
#include "schema/protobuf.h"
#include "transport/side.h"

/* Bytes of a side call's message that are read; argocd-agent sends 64 KiB of a log at once. */
#define AB_GOPEER_SIDE_MAX (1024u * 1024)

/* A message of either side call; what is not there is empty, never absent. */
typedef struct {
    ab_str uuid; /* of the request */
    ab_str data;
    ab_str error;
    bool eof;
    ab_str stream; /* of a terminal: "stdin", "stdout", "stderr" */
    bool resize;   /* likewise, to: */
    uint32_t rows, cols;
} ab_gopeer_side_message;

/** Read a message. @param arena  initialised here, to be released whatever is returned; the texts
 *  lie in it. @return PARSE, TOOBIG, NOMEM */
AB_MUST_USE ab_err ab_gopeer_wire_read_side(ab_side_kind kind, ab_str bytes, ab_pb_arena *arena,
                                            ab_gopeer_side_message *out);
/** Append a message; the buffer keeps a failure. */
void ab_gopeer_wire_put_side(ab_side_kind kind, const ab_gopeer_side_message *m, ab_buf *out);
/** Append the response to the messages of a log; the buffer keeps a failure. */
void ab_gopeer_wire_put_logs_end(ab_str uuid, ab_buf *out);

/** Append the request for a log, one of a checked map. @return INVALID: a parameter is not what it
 *  must be; UNSUPPORTED: argocd-agent has no form for one; what the buffer says */
AB_MUST_USE ab_err ab_gopeer_wire_put_logs(const char *uuid, const ab_resource_map *m, ab_buf *out,
                                           ab_error *err);
/** Read a request for a log. @param target  appended: path and query, to be read as any other
 *  @return PARSE, INVALID: not such a request; TOOBIG, NOMEM */
AB_MUST_USE ab_err ab_gopeer_wire_read_logs(ab_str data, ab_buf *target, ab_error *err);
/** As ab_gopeer_wire_put_logs, of a terminal. */
AB_MUST_USE ab_err ab_gopeer_wire_put_terminal(const char *uuid, const ab_resource_map *m,
                                               ab_buf *out, ab_error *err);
/** As ab_gopeer_wire_read_logs, of a terminal. @param tty  whether it has one */
AB_MUST_USE ab_err ab_gopeer_wire_read_terminal(ab_str data, ab_buf *target, bool *tty,
                                                ab_error *err);
/** Read the size of a window, as a viewer says it. @return PARSE, INVALID: it is none; NOMEM */
AB_MUST_USE ab_err ab_gopeer_wire_read_size(ab_str data, uint32_t *cols, uint32_t *rows);

/* Channels of a terminal's messages between viewer and API server, their first bytes. */
enum { AB_GOPEER_STDIN, AB_GOPEER_STDOUT, AB_GOPEER_STDERR, AB_GOPEER_STATUS, AB_GOPEER_RESIZE };

/** Append the path of the Pod that a request names, and of its subresource.
 *  @return INVALID: it names none; what the buffer says */
AB_MUST_USE ab_err ab_gopeer_wire_read_pod(ab_spanv root, const char *subresource, ab_buf *out);
