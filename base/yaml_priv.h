/* SPDX-License-Identifier: Apache-2.0
 *
 * What a YAML scalar is, for the reader and the writer.
 */
#pragma once

#include "base/buf.h"

typedef enum {
    AB_YAML_STRING,
    AB_YAML_NULL,
    AB_YAML_BOOL,
    AB_YAML_INT,
    AB_YAML_FLOAT,
    AB_YAML_NOT_FINITE, /* .inf and .nan, which JSON cannot hold */
} ab_yaml_kind;

/** What `text` is when it stands plain. Any but a string or a number that is not finite is appended
 * to `json` as JSON text. */
ab_yaml_kind ab_yaml_resolve(ab_str text, ab_buf *json);

/**
 * Append a scalar as JSON.
 *
 * @param tag     its tag in full, NULL for none
 * @param plain   it stands without quotes
 * @param reason  set on failure; static text
 * @return PARSE when it cannot be JSON or is not what its tag says; NOMEM, TOOBIG of the buffer
 */
AB_MUST_USE ab_err ab_yaml_scalar(ab_str text, const char *tag, bool plain, ab_buf *json,
                                  const char **reason);
