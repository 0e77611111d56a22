/* SPDX-License-Identifier: Apache-2.0
 *
 * The documents that an agent sends besides objects: errors about an object, answers to commands.
 * argobus writes and reads them itself, so cJSON does it (decision 0001). Pure; any thread.
 */
#pragma once

#include "event/event.h"

/** Append the document of an error: {"resourceName", "resourceNamespace", "message"}.
 *  @return NOMEM, also when a text is not UTF-8; TOOBIG */
ab_err ab_feedback_error(ab_str name, ab_str ns, const char *message, ab_buf *out);
/** Append the answer to a command: {"id", "error"}. @param why  NULL: it was executed
 *  @return as ab_feedback_error */
ab_err ab_feedback_answer(ab_str id, const char *why, ab_buf *out);
/**
 * Read a text of such a document: 4 KiB of it at most.
 * @param prefix  put before it; less than 4 KiB
 * @return owned by the caller; NULL when the event has no data or no such text, or out of memory
 */
char *ab_feedback_text(const ab_event *event, const char *member, const char *prefix);
