/* SPDX-License-Identifier: Apache-2.0
 *
 * YAML in and out, through libyaml. Reading gives JSON text with scalars typed as kubectl types
 * them (sigs.k8s.io/yaml, that is YAML 1.1 booleans, 0x/0o/0b/0 integers, dates stay strings;
 * quoted scalars are strings; numbers keep their text where JSON allows it).
 */
#pragma once

#include "base/core/buf.h"

/* What one stream may cost; alias expansion counts as what it expands to. */
typedef struct {
    size_t bytes_max; /* of input, and of output per document */
    size_t nodes_max; /* per document, aliases expanded */
    size_t depth_max;
    size_t documents_max;
} ab_yaml_limits;

/** 4 MiB, 100,000 nodes, depth 100, 1,000 documents: an object larger than that is refused anyway.
 */
extern const ab_yaml_limits ab_yaml_default_limits;

/** One document as compact JSON. `line` is where it begins (1 = first). Borrowed for the call.
 *  Return an error to stop the stream. */
typedef ab_err (*ab_yaml_document)(void *arg, ab_str json, size_t line);

/**
 * Convert every document of a stream, in order. Empty documents are left out. A text that begins
 * with '{' is read as JSON first, so that every JSON document is accepted, also where YAML differs.
 *
 * @return PARSE or TOOBIG with line, column and reason in `err`; documents before the fault were
 * given out; duplicate keys, merge keys of non-maps, undefined and recursive aliases and invalid
 * UTF-8 are PARSE; or what `on_document` returned
 */
AB_MUST_USE ab_err ab_yaml_to_json(ab_str text, const ab_yaml_limits *limits,
                                   ab_yaml_document on_document, void *arg, ab_error *err);

/**
 * Write a JSON document as block-style YAML that a person can edit and that reads back as the same
 * JSON (same canonical text): strings that would read as something else are quoted, numbers keep
 * their text.
 * @return PARSE, UNSUPPORTED for text that YAML cannot hold (a lone surrogate escape), NOMEM,
 * TOOBIG
 */
AB_MUST_USE ab_err ab_yaml_from_json(ab_str json, ab_buf *out, ab_error *err);

/** Append a string as a scalar in double quotes. What is not UTF-8 makes the buffer's status
 *  INVALID. */
void ab_yaml_put_quoted(ab_buf *out, ab_str text);
