/* SPDX-License-Identifier: Apache-2.0
 *
 * A CloudEvent 1.0: context attributes and data. Immutable and shared by reference count (loop
 * thread only; one allocation per event, two if it took its data over). Unknown attributes are
 * kept. Attribute values are text in the canonical form of CloudEvents §3 type system whatever
 * their type; the type is kept for the formats that carry it.
 */
#pragma once

#include "base/core/buf.h"
#include "base/core/digest.h"

#define AB_EVENT_ATTRS_MAX      64
#define AB_EVENT_ATTR_NAME_MAX  64
#define AB_EVENT_ATTR_VALUE_MAX (16u * 1024)
/* Data is bounded by what a transport takes; this is the bound of every decoder. */
#define AB_EVENT_DATA_MAX (64u * 1024 * 1024)
/* How many values one draft takes from ab_event_set_u64. */
#define AB_EVENT_NUMBERS_MAX 8

typedef enum {
    AB_ATTR_STRING,
    AB_ATTR_BOOLEAN,
    AB_ATTR_INTEGER,
    AB_ATTR_BYTES, /* value is its base64 text */
    AB_ATTR_URI,
    AB_ATTR_URI_REF,
    AB_ATTR_TIMESTAMP,
} ab_attr_type;

typedef struct {
    ab_str name;
    ab_str value;
    ab_attr_type type;
} ab_attr;

typedef struct ab_event ab_event;

/* Collects attributes and data (all borrowed until ab_event_new returns). Initialise with {0}; do
 * not copy it, because attributes may point to its own numbers. */
typedef struct {
    ab_attr attrs[AB_EVENT_ATTRS_MAX];
    size_t count;
    uint64_t name_bits; /* of the names that are set: most others need not be searched for */
    ab_str data;        /* ptr NULL = the event has no data, which is not the same as empty data */
    void *block;        /* NULL, or what malloc() gave and `data` begins: the event takes it over */
    ab_err status;      /* first failure of ab_event_set, reported by ab_event_new */
    char numbers[AB_EVENT_NUMBERS_MAX][20]; /* digits of ab_event_set_u64 */
    size_t number_count;
} ab_event_draft;

/** Add or replace an attribute: a core attribute has the type that its name says, others have the
 * one given. An absent value is ignored. */
void ab_event_set_typed(ab_event_draft *d, ab_str name, ab_str value, ab_attr_type type);

/* Inline because most names are literals, whose length the compiler knows. */

/** As ab_event_set_typed, for a STRING. */
static inline void ab_event_set(ab_event_draft *d, const char *name, ab_str value)
{
    ab_event_set_typed(d, ab_str_of(name), value, AB_ATTR_STRING);
}

/** As ab_event_set for a NUL-terminated value; NULL is ignored. */
static inline void ab_event_set_text(ab_event_draft *d, const char *name, const char *value)
{
    ab_event_set(d, name, ab_str_of(value));
}

/** As ab_event_set for the digits of a number. */
void ab_event_set_u64(ab_event_draft *d, const char *name, uint64_t value);

/**
 * Check the draft and make the event: id, source, specversion (must be "1.0") and type present and
 * not empty (CloudEvents 1.0 §2.4; specversion is set when absent), names of lower-case letters and
 * digits, values UTF-8 without control characters, bounds kept.
 *
 * @param out  one reference, owned by the caller; nothing is borrowed from the draft any more, and
 * the draft's block is the event's
 * @return INVALID naming the attribute, TOOBIG, NOMEM
 */
AB_MUST_USE ab_err ab_event_new(const ab_event_draft *d, ab_event **out, ab_error *err);
ab_event *ab_event_ref(ab_event *e);
/** NULL is allowed. */
void ab_event_unref(ab_event *e);
/** Are there other references than one? */
bool ab_event_is_shared(const ab_event *e);

/** Value of an attribute, absent when not set. Borrowed. */
ab_str ab_event_attr(const ab_event *e, const char *name);
/** Value as a number. @return NOTFOUND, PARSE */
AB_MUST_USE ab_err ab_event_attr_u64(const ab_event *e, const char *name, uint64_t *out);
/** Attribute contenthash; none where it is missing or cannot be read, so that the content counts as
 * different from any. */
ab_digest ab_event_content_hash(const ab_event *e);
size_t ab_event_attr_count(const ab_event *e);
/** The i-th attribute, in order of setting. */
ab_attr ab_event_attr_at(const ab_event *e, size_t i);
/** Data, absent when the event has none. Borrowed. */
ab_str ab_event_data(const ab_event *e);
/** Bytes of attributes and data: what the event costs in memory and roughly on the wire. */
size_t ab_event_size(const ab_event *e);
