/* SPDX-License-Identifier: Apache-2.0 */
#include "event/codec_protobuf.h"

#include "base/core/base64.h"
#include "base/core/rfc3339.h"
#include "event/draft_priv.h"
#include "event/value_priv.h"
#include "schema/attributes.h"
#include "schema/proto/cloudevents.pb-c.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef Io__Cloudevents__V1__CloudEvent message;
typedef Io__Cloudevents__V1__AttributeEntry entry;
typedef Io__Cloudevents__V1__AttributeValue value;
typedef Io__Cloudevents__V1__Timestamp timestamp;

/* Larger messages are refused unread. */
#define MESSAGE_MAX (AB_EVENT_DATA_MAX + (size_t)AB_EVENT_ATTRS_MAX * AB_EVENT_ATTR_VALUE_MAX)

/* The attributes that have a field of their own. */
enum { CORE_ID, CORE_SOURCE, CORE_SPECVERSION, CORE_TYPE, CORE_COUNT };
#define NAME(literal)                                                                              \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }
static const ab_str core_names[CORE_COUNT] = {
    [CORE_ID] = NAME(AB_CE_ID),
    [CORE_SOURCE] = NAME(AB_CE_SOURCE),
    [CORE_SPECVERSION] = NAME(AB_CE_SPECVERSION),
    [CORE_TYPE] = NAME(AB_CE_TYPE),
};
#undef NAME

/* ----- out ----- */

/* An attribute as it goes out. */
typedef struct {
    entry entry;
    value value;
} pair;

/** The field of an attribute that has one of its own, or NULL. */
static ProtobufCBinaryData *core_field(message *m, ab_str name)
{
    ProtobufCBinaryData *const fields[] = {&m->id, &m->source, &m->spec_version, &m->type};
    for (size_t i = 0; i < CORE_COUNT; i++)
        if (ab_str_eq(name, core_names[i]))
            return fields[i];
    return NULL;
}

static ab_err set_bytes(value *v, ab_str base64, ab_pb_arena *arena)
{
    ab_buf bytes = ab_buf_up_to(AB_EVENT_ATTR_VALUE_MAX);
    (void)ab_base64_decode(base64, &bytes);
    char *kept = ab_pb_alloc(arena, bytes.len);
    if (kept != NULL && bytes.len > 0)
        memcpy(kept, bytes.ptr, bytes.len);
    ab_err e = kept == NULL ? arena->status : ab_buf_status(&bytes);
    v->ce_bytes = ab_pb_bytes((ab_str){kept, bytes.len});
    ab_buf_fini(&bytes);
    return e;
}

static ab_err set_time(value *v, ab_str text, ab_pb_arena *arena)
{
    timestamp *t = ab_pb_alloc(arena, sizeof(*t));
    if (t == NULL)
        return arena->status;
    io__cloudevents__v1__timestamp__init(t);
    (void)ab_rfc3339_parse(text, &t->seconds, &t->nanos);
    v->ce_timestamp = t;
    return AB_ERR_OK;
}

#define ATTR(name) IO__CLOUDEVENTS__V1__ATTRIBUTE_VALUE__ATTR_CE_##name

/** Values are valid for their type: ab_event_new saw to it. */
static ab_err set_value(value *v, const ab_attr *attr, ab_pb_arena *arena)
{
    static const Io__Cloudevents__V1__AttributeValue__AttrCase cases[] = {
        [AB_ATTR_STRING] = ATTR(STRING),
        [AB_ATTR_BOOLEAN] = ATTR(BOOLEAN),
        [AB_ATTR_INTEGER] = ATTR(INTEGER),
        [AB_ATTR_BYTES] = ATTR(BYTES),
        [AB_ATTR_URI] = ATTR(URI),
        [AB_ATTR_URI_REF] = ATTR(URI_REF),
        [AB_ATTR_TIMESTAMP] = ATTR(TIMESTAMP),
    };
    io__cloudevents__v1__attribute_value__init(v);
    v->attr_case = cases[attr->type];
    switch (attr->type) {
    case AB_ATTR_BOOLEAN:
        v->ce_boolean = ab_str_is(attr->value, "true");
        break;
    case AB_ATTR_INTEGER:
        (void)ab_value_integer_parse(attr->value, &v->ce_integer);
        break;
    case AB_ATTR_BYTES:
        return set_bytes(v, attr->value, arena);
    case AB_ATTR_TIMESTAMP:
        return set_time(v, attr->value, arena);
    case AB_ATTR_STRING:
    case AB_ATTR_URI:
    case AB_ATTR_URI_REF: /* one member of the union: bytes */
        v->ce_string = ab_pb_bytes(attr->value);
        break;
    }
    return AB_ERR_OK;
}

static ab_err set_attribute(message *m, pair *room, const ab_attr *attr, ab_pb_arena *arena)
{
    ProtobufCBinaryData *field = core_field(m, attr->name);
    if (field != NULL) {
        *field = ab_pb_bytes(attr->value);
        return AB_ERR_OK;
    }
    pair *p = &room[m->n_attributes];
    io__cloudevents__v1__attribute_entry__init(&p->entry);
    p->entry.key = ab_pb_bytes(attr->name);
    p->entry.value = &p->value;
    m->attributes[m->n_attributes++] = &p->entry;
    return set_value(&p->value, attr, arena);
}

static ab_err set_attributes(message *m, const ab_event *e, ab_pb_arena *arena)
{
    size_t count = ab_event_attr_count(e);
    m->attributes = ab_pb_alloc(arena, count * sizeof(entry *));
    pair *room = ab_pb_alloc(arena, count * sizeof(pair));
    if (m->attributes == NULL || room == NULL)
        return arena->status;
    ab_err r = AB_ERR_OK;
    for (size_t i = 0; i < count && r == AB_ERR_OK; i++) {
        ab_attr attr = ab_event_attr_at(e, i);
        r = set_attribute(m, room, &attr, arena);
    }
    return r;
}

/* The last field of an event's message. Messages that follow each other are one message, so it may
 * be written by itself. */
static void pack_data_head(ab_str data, ab_buf *out)
{
    message m;
    io__cloudevents__v1__cloud_event__init(&m);
    m.data_case = IO__CLOUDEVENTS__V1__CLOUD_EVENT__DATA_BINARY_DATA;
    m.binary_data = ab_pb_bytes(data);
    ab_pb_pack_head(&m.base, data, out);
}

ab_err ab_event_to_protobuf_head(const ab_event *e, ab_buf *out)
{
    ab_pb_arena arena;
    message m;
    io__cloudevents__v1__cloud_event__init(&m);
    ab_pb_arena_init(&arena, ab_event_size(e) + AB_PB_OVERHEAD);
    ab_err r = set_attributes(&m, e, &arena);
    if (r == AB_ERR_OK)
        ab_pb_pack(&m.base, out);
    if (ab_event_data(e).ptr != NULL)
        pack_data_head(ab_event_data(e), out);
    ab_pb_arena_fini(&arena);
    return r == AB_ERR_OK ? ab_buf_status(out) : r;
}

/* ----- in ----- */

typedef struct {
    ab_event_draft draft;
    ab_pb_arena *arena;
    ab_error *err;
} decoder;

/** Add an attribute whose value is not text in the message. */
static ab_err add_converted(decoder *d, ab_str name, ab_str text, ab_attr_type type)
{
    char *kept = ab_pb_alloc(d->arena, text.len);
    if (kept == NULL)
        return ab_fail(d->err, d->arena->status, "attribute %.*s: %s", AB_STR_ARG(name),
                       ab_err_text(d->arena->status));
    memcpy(kept, text.ptr, text.len);
    return ab_draft_add(&d->draft, name, (ab_str){kept, text.len}, type, d->err);
}

static ab_err add_integer(decoder *d, ab_str name, int32_t integer)
{
    char text[16];
    snprintf(text, sizeof(text), "%" PRId32, integer);
    return add_converted(d, name, ab_str_of(text), AB_ATTR_INTEGER);
}

static ab_err add_bytes(decoder *d, ab_str name, ProtobufCBinaryData bytes)
{
    ab_buf text = ab_buf_up_to(AB_EVENT_ATTR_VALUE_MAX);
    ab_base64_encode(ab_pb_str(bytes), &text);
    ab_err e = ab_buf_status(&text);
    if (e == AB_ERR_OK)
        e = add_converted(d, name, ab_buf_str(&text), AB_ATTR_BYTES);
    else
        ab_fail(d->err, e, "attribute %.*s: %s", AB_STR_ARG(name), ab_err_text(e));
    ab_buf_fini(&text);
    return e;
}

static ab_err add_time(decoder *d, ab_str name, const timestamp *t)
{
    char text[AB_RFC3339_MAX];
    if (!ab_rfc3339_format(t->seconds, t->nanos, text))
        return ab_fail(d->err, AB_ERR_INVALID, "attribute %.*s: the time is out of range",
                       AB_STR_ARG(name));
    return add_converted(d, name, ab_str_of(text), AB_ATTR_TIMESTAMP);
}

static ab_err add_text(decoder *d, ab_str name, ProtobufCBinaryData text, ab_attr_type type)
{
    return ab_draft_add(&d->draft, name, ab_pb_str(text), type, d->err);
}

static ab_err add_value(decoder *d, ab_str name, const value *v)
{
    switch (v->attr_case) {
    case ATTR(BOOLEAN):
        return ab_draft_add(&d->draft, name, v->ce_boolean ? AB_STR("true") : AB_STR("false"),
                            AB_ATTR_BOOLEAN, d->err);
    case ATTR(INTEGER):
        return add_integer(d, name, v->ce_integer);
    case ATTR(STRING):
        return add_text(d, name, v->ce_string, AB_ATTR_STRING);
    case ATTR(BYTES):
        return add_bytes(d, name, v->ce_bytes);
    case ATTR(URI):
        return add_text(d, name, v->ce_uri, AB_ATTR_URI);
    case ATTR(URI_REF):
        return add_text(d, name, v->ce_uri_ref, AB_ATTR_URI_REF);
    case ATTR(TIMESTAMP):
        return add_time(d, name, v->ce_timestamp);
    default: /* no value, or one of a later version */
        return AB_ERR_OK;
    }
}

static ab_err add_entries(decoder *d, const message *m)
{
    ab_err e = AB_ERR_OK;
    for (size_t i = 0; i < m->n_attributes && e == AB_ERR_OK; i++) {
        const entry *a = m->attributes[i];
        if (a->value != NULL)
            e = add_value(d, ab_pb_str(a->key), a->value);
    }
    return e;
}

/** Proto3 does not tell an empty field from one that is not there. */
static void add_core(decoder *d, const message *m, bool lenient)
{
    const ab_str fields[CORE_COUNT] = {ab_pb_str(m->id), ab_pb_str(m->source),
                                       ab_pb_str(m->spec_version), ab_pb_str(m->type)};
    for (size_t i = 0; i < CORE_COUNT; i++) {
        bool nameless = lenient && (i == CORE_ID || i == CORE_SOURCE);
        if (fields[i].len > 0)
            ab_event_set_typed(&d->draft, core_names[i], fields[i], AB_ATTR_STRING);
        else if (nameless)
            ab_event_set_typed(&d->draft, core_names[i], AB_STR("-"), AB_ATTR_STRING);
    }
}

static ab_str data_of(const message *m)
{
    switch (m->data_case) {
    case IO__CLOUDEVENTS__V1__CLOUD_EVENT__DATA_BINARY_DATA:
        return ab_pb_str(m->binary_data);
    case IO__CLOUDEVENTS__V1__CLOUD_EVENT__DATA_TEXT_DATA:
        return ab_pb_str(m->text_data);
    case IO__CLOUDEVENTS__V1__CLOUD_EVENT__DATA_PROTO_DATA:
        return ab_pb_str(m->proto_data->value);
    default:
        return AB_STR_NONE;
    }
}

/* Large data lies in a block of its own, which becomes the event's. */
static ab_err make_event(decoder *d, ab_event **out)
{
    if (ab_pb_take(d->arena, d->draft.data.ptr))
        d->draft.block = (void *)(uintptr_t)d->draft.data.ptr;
    ab_err e = ab_event_new(&d->draft, out, d->err);
    if (e != AB_ERR_OK)
        free(d->draft.block);
    return e;
}

ab_err ab_event_from_message(const message *m, ab_pb_arena *arena, bool lenient, ab_event **out,
                             ab_error *err)
{
    decoder d;
    if (m->n_attributes > AB_EVENT_ATTRS_MAX)
        return ab_fail(err, AB_ERR_TOOBIG, "more than %d attributes", AB_EVENT_ATTRS_MAX);
    ab_draft_init(&d.draft);
    d.arena = arena;
    d.err = err;
    d.draft.data = data_of(m);
    add_core(&d, m, lenient);
    ab_err e = add_entries(&d, m);
    return e == AB_ERR_OK ? make_event(&d, out) : e;
}

ab_err ab_event_unpack(ab_pb_arena *arena, const ProtobufCMessageDescriptor *type, ab_str bytes,
                       const ProtobufCMessage **out, ab_error *err)
{
    ab_pb_arena_init(arena, bytes.len + AB_PB_OVERHEAD);
    if (bytes.len > MESSAGE_MAX)
        return ab_fail(err, AB_ERR_TOOBIG, "message has %zu bytes", bytes.len);
    ab_err e = ab_pb_unpack(arena, type, bytes, out);
    if (e == AB_ERR_TOOBIG)
        return ab_fail(err, e, "message has more fields than an event of %d attributes",
                       AB_EVENT_ATTRS_MAX);
    return e == AB_ERR_OK ? e : ab_fail(err, e, "cannot read a CloudEvent: %s", ab_err_text(e));
}
