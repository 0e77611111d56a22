/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of a manifest file: one or several documents, YAML or JSON. Pure functions, any thread.
 */
#pragma once

#include "store/directory/manifest/manifest.h"

/* Everything that a file's text says. */
typedef struct {
    ab_manifest *items;
    size_t count;
    size_t documents; /* also those that are not objects of this place */
    ab_error *faults; /* what is wrong with it; a syntax error is the last one */
    size_t fault_count;
    bool readable; /* all documents were reached: an object not among `items` is not in the file,
                      unless it is one with a fault */
} ab_stream;

/**
 * Read all documents as objects of this namespace and kind.
 * @param out  owned by the caller: ab_stream_fini; what is wrong with the text is in its faults
 * @return NOMEM
 */
AB_MUST_USE ab_err ab_stream_read(ab_str text, ab_str kind, ab_str ns, ab_stream *out,
                                  ab_error *err);
void ab_stream_fini(ab_stream *s);
/** The document with this metadata.name, NULL if there is none. Borrowed. */
const ab_manifest *ab_stream_find(const ab_stream *s, const char *name);

/** The text of a file with this one document. @return TOOBIG, NOMEM, PARSE */
AB_MUST_USE ab_err ab_stream_write(ab_str json, bool as_json, ab_buf *out, ab_error *err);
/* A change of one document. */
typedef struct {
    ab_str kind;
    ab_str ns;
    const char *name;
    ab_str json; /* its new content; absent: leave it out */
    bool as_json;
} ab_stream_edit;
/**
 * The text of a file with one document replaced, added or left out; the text of the others stays as
 * it is, byte for byte.
 * @return INVALID when the text cannot be read or cannot be changed exactly (split the file); else
 * as write
 */
AB_MUST_USE ab_err ab_stream_change(ab_str text, const ab_stream_edit *edit, ab_buf *out,
                                    ab_error *err);
