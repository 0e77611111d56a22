/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers of a Kubernetes API server, read as they come: the items of a list one by one, the events
 * of a watch one by one. Memory is bounded by the largest single object, whatever the answer's
 * size.
 */
#pragma once

#include "base/json/span.h"

typedef enum {
    AB_KUBE_LIST,  /* {"kind":"...List","metadata":{...},"items":[...]}: each item, then the rest */
    AB_KUBE_WATCH, /* {"type":"ADDED","object":{...}} after another */
    AB_KUBE_WHOLE, /* one document: a Status, an object */
} ab_kube_shape;

typedef struct {
    ab_kube_shape shape;
    size_t object_max; /* bytes of one item or event; more is TOOBIG */
    /** One item, event or document; borrowed. Anything but OK ends the reading with that code. */
    ab_err (*on_value)(void *arg, ab_str json);
    /** LIST, at its end: the list without its items. */
    ab_err (*on_rest)(void *arg, ab_str json);
    void *arg;
} ab_kube_stream_env;

typedef struct ab_kube_stream ab_kube_stream;

/** @return NULL when out of memory */
ab_kube_stream *ab_kube_stream_new(const ab_kube_stream_env *env);
void ab_kube_stream_free(ab_kube_stream *s);
/** The next piece. @return PARSE (not JSON, or not of this shape), TOOBIG, NOMEM, or what an upcall
 * said; the stream takes nothing more then */
AB_MUST_USE ab_err ab_kube_stream_feed(ab_kube_stream *s, ab_str piece, ab_error *err);
/** A member of a JSON object, as its text and without a look into it: it may be nested as deeply as
 * it likes, and need not be JSON. Absent when there is none, or the text ends before. */
ab_str ab_kube_member(ab_str object, const char *name);
/** No more comes. @return PARSE when a document is cut off, and for LIST without its end */
AB_MUST_USE ab_err ab_kube_stream_end(ab_kube_stream *s, ab_error *err);
