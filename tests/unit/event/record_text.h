/* SPDX-License-Identifier: Apache-2.0
 *
 * A Kafka record as a text file, for golden files and fuzz corpora:
 *
 *     key: <record key>
 *     time_ms: <the record's own time>
 *     <header name>: <header value>
 *     <header name>             (null header value)
 *                               (an empty line, when the value is not null)
 *     <value: all the rest>
 */
#pragma once

#include "event/codec_kafka.h"

/** Every text is a record; headers past what ab_record holds are dropped. `out` borrows from
 * `text`. */
void record_from_text(ab_str text, ab_record *out);
