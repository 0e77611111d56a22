/* SPDX-License-Identifier: Apache-2.0
 *
 * CloudEvents Kafka protocol binding 1.0: binary mode out (§3.2), binary and structured JSON in
 * (§3.2, §3.3). Knows nothing of librdkafka.
 */
#pragma once

#include "event/event.h"

typedef struct {
    ab_str name;
    ab_str value; /* absent = null header value */
} ab_header;

/* A record as the binding sees it; everything borrowed. */
typedef struct {
    ab_header headers[AB_EVENT_ATTRS_MAX + 1];
    size_t header_count;
    ab_str key;
    ab_str value;    /* absent = null: a tombstone when compacted */
    int64_t time_ms; /* its own time since 1970; 0 = none */
    /* For encoding: where prefixed names ("ce_id") are kept; give it room once, reuse it. */
    char names[(AB_EVENT_ATTR_NAME_MAX + 4) * AB_EVENT_ATTRS_MAX];
} ab_record;

/**
 * Binary mode: every attribute but datacontenttype as header ce_<name>, datacontenttype as
 * content-type, data as value, attribute partitionkey as key, time as the record's. Not in a header
 * is what the reader finds anyway: subject, which follows the kind in the key of an object,
 * dataschema that is this kind in lower case, time in milliseconds, and writerepoch and objversion
 * at the end of an id <...>.<writerepoch>.<objversion>. Where an event lacks these, it has them
 * when it was read. Data that is itself a CloudEvent, by its datacontenttype, cannot
 * travel in binary mode: a reader takes the record for that event.
 *
 * @param out  filled with slices of `e` (and of its own `names`): valid while `e` lives and `out`
 * is not reused
 */
void ab_kafka_encode(const ab_event *e, ab_record *out);

/**
 * The record's key becomes attribute partitionkey (in structured mode too, over what the event
 * says). In binary mode key, id and time also say what ab_kafka_encode leaves to them, unless a
 * header does. Headers that are not ce_… or content-type are ignored; null and empty header values
 * are too.
 *
 * @return PARSE (structured value is not a JSON event), INVALID (required attribute missing, says
 * which; several values of one attribute), UNSUPPORTED (content type application/cloudevents… that
 * is not JSON), TOOBIG, NOMEM
 */
AB_MUST_USE ab_err ab_kafka_decode(const ab_record *r, ab_event **out, ab_error *err);
