/* SPDX-License-Identifier: Apache-2.0 */
#include "event/codec_protobuf.h"

#include "base/base64.h"
#include "event/draft_priv.h"
#include "event/value_priv.h"
#include "schema/attributes.h"
#include "schema/proto/cloudevents.pb-c.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef Io__Cloudevents__V1__CloudEvent pb_event;
typedef Io__Cloudevents__V1__AttributeEntry pb_entry;
typedef Io__Cloudevents__V1__AttributeValue pb_value;
typedef Io__Cloudevents__V1__Timestamp pb_time;

#define VALUE(name) IO__CLOUDEVENTS__V1__ATTRIBUTE_VALUE__ATTR_##name
#define DATA(name)  IO__CLOUDEVENTS__V1__CLOUD_EVENT__DATA_##name

/* ----- out ----- */

/* The message, its parts and what they point to besides the event itself. */
typedef struct {
    pb_event message;
    pb_entry entries[AB_EVENT_ATTRS_MAX];
    pb_entry *entry_list[AB_EVENT_ATTRS_MAX];
    pb_value values[AB_EVENT_ATTRS_MAX];
    pb_time times[AB_EVENT_ATTRS_MAX];
    ab_buf bytes[AB_EVENT_ATTRS_MAX];
} encoder;

/** protobuf-c has no const; it only reads what it packs. */
static ProtobufCBinaryData borrow(ab_str s)
{
    return (ProtobufCBinaryData){s.len, (uint8_t *)(uintptr_t)s.ptr};
}

static void set_time(encoder *enc, size_t i, ab_str text)
{
    pb_time *t = &enc->times[i];
    io__cloudevents__v1__timestamp__init(t);
    ab_value_time_parse(text, &t->seconds, &t->nanos);
    enc->values[i].attr_case = VALUE(CE_TIMESTAMP);
    enc->values[i].ce_timestamp = t;
}

static ab_err set_bytes(encoder *enc, size_t i, ab_str text)
{
    ab_buf *bytes = &enc->bytes[i];
    ab_base64_decode(text, bytes);
    enc->values[i].attr_case = VALUE(CE_BYTES);
    enc->values[i].ce_bytes = borrow(ab_buf_str(bytes));
    return ab_buf_status(bytes);
}

/** Values are valid for their type: ab_event_new saw to it. */
static ab_err set_value(encoder *enc, size_t i, ab_attr a)
{
    pb_value *value = &enc->values[i];
    io__cloudevents__v1__attribute_value__init(value);
    switch (a.type) {
    case AB_ATTR_STRING:
        value->attr_case = VALUE(CE_STRING);
        value->ce_string = borrow(a.value);
        break;
    case AB_ATTR_BOOLEAN:
        value->attr_case = VALUE(CE_BOOLEAN);
        value->ce_boolean = ab_str_is(a.value, "true");
        break;
    case AB_ATTR_INTEGER:
        value->attr_case = VALUE(CE_INTEGER);
        ab_value_integer_parse(a.value, &value->ce_integer);
        break;
    case AB_ATTR_BYTES:
        return set_bytes(enc, i, a.value);
    case AB_ATTR_URI:
        value->attr_case = VALUE(CE_URI);
        value->ce_uri = borrow(a.value);
        break;
    case AB_ATTR_URI_REF:
        value->attr_case = VALUE(CE_URI_REF);
        value->ce_uri_ref = borrow(a.value);
        break;
    case AB_ATTR_TIMESTAMP:
        set_time(enc, i, a.value);
        break;
    }
    return AB_ERR_OK;
}

static ab_err add_entry(encoder *enc, ab_attr a)
{
    size_t i = enc->message.n_attributes++;
    pb_entry *entry = &enc->entries[i];
    io__cloudevents__v1__attribute_entry__init(entry);
    entry->key = borrow(a.name);
    entry->value = &enc->values[i];
    enc->entry_list[i] = entry;
    return set_value(enc, i, a);
}

/** Where the message has a field of its own for this attribute, NULL when it goes among the others.
 */
static ProtobufCBinaryData *field_of(pb_event *message, ab_str name)
{
    if (ab_str_is(name, AB_CE_ID))
        return &message->id;
    if (ab_str_is(name, AB_CE_SOURCE))
        return &message->source;
    if (ab_str_is(name, AB_CE_SPECVERSION))
        return &message->spec_version;
    return ab_str_is(name, AB_CE_TYPE) ? &message->type : NULL;
}

static void encoder_init(encoder *enc)
{
    io__cloudevents__v1__cloud_event__init(&enc->message);
    enc->message.attributes = enc->entry_list;
    for (size_t i = 0; i < AB_EVENT_ATTRS_MAX; i++)
        ab_buf_init(&enc->bytes[i], AB_EVENT_ATTR_VALUE_MAX);
}

static void encoder_fini(encoder *enc)
{
    for (size_t i = 0; i < AB_EVENT_ATTRS_MAX; i++)
        ab_buf_fini(&enc->bytes[i]);
}

static ab_err fill(encoder *enc, const ab_event *e)
{
    for (size_t i = 0; i < ab_event_attr_count(e); i++) {
        ab_attr a = ab_event_attr_at(e, i);
        ProtobufCBinaryData *field = field_of(&enc->message, a.name);
        if (field != NULL) {
            *field = borrow(a.value);
            continue;
        }
        ab_err r = add_entry(enc, a);
        if (r != AB_ERR_OK)
            return r;
    }
    ab_str data = ab_event_data(e);
    if (data.ptr != NULL) {
        enc->message.data_case = DATA(BINARY_DATA);
        enc->message.binary_data = borrow(data);
    }
    return AB_ERR_OK;
}

/* Lets protobuf-c pack straight into our buffer, which keeps a failure. */
typedef struct {
    ProtobufCBuffer base;
    ab_buf *out;
} sink;

static void sink_append(ProtobufCBuffer *base, size_t len, const uint8_t *bytes)
{
    ab_buf_put(((sink *)base)->out, (ab_str){(const char *)bytes, len});
}

ab_err ab_event_to_protobuf(const ab_event *e, ab_buf *out)
{
    encoder enc;
    encoder_init(&enc);
    ab_err r = fill(&enc, e);
    if (r == AB_ERR_OK) {
        sink s = {{sink_append}, out};
        io__cloudevents__v1__cloud_event__pack_to_buffer(&enc.message, &s.base);
        r = ab_buf_status(out);
    }
    encoder_fini(&enc);
    return r;
}

/* ----- in ----- */

/* protobuf-c allocates some sixty bytes for an entry that takes two on the wire. Each message gets
 * as much memory as an honest one of its size needs. */
typedef struct {
    size_t left;
    bool exceeded;
    bool out_of_memory;
} budget;

#define BUDGET_OVERHEAD (64u * 1024)

static void *budget_alloc(void *arg, size_t size)
{
    budget *b = arg;
    if (size > b->left) {
        b->exceeded = true;
        return NULL;
    }
    b->left -= size;
    void *p = malloc(size);
    b->out_of_memory = b->out_of_memory || p == NULL;
    return p;
}

static void budget_free(void *arg, void *p)
{
    (void)arg;
    free(p);
}

static ab_err unpack(ab_str bytes, pb_event **out, ab_error *err)
{
    budget b = {.left = bytes.len + BUDGET_OVERHEAD};
    ProtobufCAllocator allocator = {budget_alloc, budget_free, &b};
    if (bytes.len > AB_EVENT_DATA_MAX + (size_t)AB_EVENT_ATTRS_MAX * AB_EVENT_ATTR_VALUE_MAX)
        return ab_fail(err, AB_ERR_TOOBIG, "message has %zu bytes", bytes.len);
    *out =
        io__cloudevents__v1__cloud_event__unpack(&allocator, bytes.len, (const uint8_t *)bytes.ptr);
    if (*out != NULL)
        return AB_ERR_OK;
    if (b.out_of_memory)
        return ab_fail(err, AB_ERR_NOMEM, "no memory for an event");
    if (b.exceeded)
        return ab_fail(err, AB_ERR_TOOBIG, "message has far too many fields");
    return ab_fail(err, AB_ERR_PARSE, "bytes are no CloudEvent message");
}

typedef struct {
    ab_event_draft draft;
    ab_buf texts[AB_EVENT_ATTRS_MAX]; /* of the attributes that are not text on the wire */
    size_t text_count;
    ab_error *err;
} decoder;

/** Of a field that is set: never absent. */
static ab_str view(ProtobufCBinaryData b)
{
    return b.len == 0 ? AB_STR("") : (ab_str){(const char *)b.data, b.len};
}

static ab_err time_text(const pb_time *t, ab_buf *out)
{
    char text[AB_VALUE_TIME_MAX];
    if (!ab_value_time_format(t->seconds, t->nanos, text))
        return AB_ERR_INVALID;
    ab_buf_puts(out, text);
    return ab_buf_status(out);
}

/** Write the text of a value that is not text on the wire. */
static ab_err value_text(const pb_value *v, ab_buf *out)
{
    if (v->attr_case == VALUE(CE_TIMESTAMP))
        return time_text(v->ce_timestamp, out);
    if (v->attr_case == VALUE(CE_INTEGER))
        ab_buf_printf(out, "%" PRId32, v->ce_integer);
    else
        ab_base64_encode(view(v->ce_bytes), out);
    return ab_buf_status(out);
}

static ab_err add_converted(decoder *d, ab_str name, const pb_value *v, ab_attr_type type)
{
    ab_buf *text = &d->texts[d->text_count++];
    ab_buf_init(text, AB_EVENT_ATTR_VALUE_MAX);
    ab_err e = value_text(v, text);
    if (e != AB_ERR_OK)
        return ab_fail(d->err, e, "attribute %.*s: %s", AB_STR_ARG(name), ab_err_text(e));
    return ab_draft_add(&d->draft, name, ab_buf_str(text), type, d->err);
}

static ab_err add_value(decoder *d, ab_str name, const pb_value *v)
{
    ab_str boolean;
    switch (v->attr_case) {
    case VALUE(CE_BOOLEAN):
        boolean = v->ce_boolean ? AB_STR("true") : AB_STR("false");
        return ab_draft_add(&d->draft, name, boolean, AB_ATTR_BOOLEAN, d->err);
    case VALUE(CE_INTEGER):
        return add_converted(d, name, v, AB_ATTR_INTEGER);
    case VALUE(CE_STRING):
        return ab_draft_add(&d->draft, name, view(v->ce_string), AB_ATTR_STRING, d->err);
    case VALUE(CE_BYTES):
        return add_converted(d, name, v, AB_ATTR_BYTES);
    case VALUE(CE_URI):
        return ab_draft_add(&d->draft, name, view(v->ce_uri), AB_ATTR_URI, d->err);
    case VALUE(CE_URI_REF):
        return ab_draft_add(&d->draft, name, view(v->ce_uri_ref), AB_ATTR_URI_REF, d->err);
    case VALUE(CE_TIMESTAMP):
        return add_converted(d, name, v, AB_ATTR_TIMESTAMP);
    default: /* no value, or one of a later version */
        return AB_ERR_OK;
    }
}

static ab_err take_attributes(decoder *d, const pb_event *m)
{
    if (m->n_attributes > AB_EVENT_ATTRS_MAX)
        return ab_fail(d->err, AB_ERR_TOOBIG, "more than %d attributes", AB_EVENT_ATTRS_MAX);
    for (size_t i = 0; i < m->n_attributes; i++) {
        const pb_entry *entry = m->attributes[i];
        if (entry->value == NULL)
            continue;
        ab_err e = add_value(d, view(entry->key), entry->value);
        if (e != AB_ERR_OK)
            return e;
    }
    return AB_ERR_OK;
}

/** Proto3 does not tell an empty field from one that is not there. */
static void take_field(decoder *d, const char *name, ProtobufCBinaryData field, ab_str otherwise)
{
    ab_event_set(&d->draft, name, field.len == 0 ? otherwise : view(field));
}

static void take_data(decoder *d, const pb_event *m)
{
    switch (m->data_case) {
    case DATA(BINARY_DATA):
        d->draft.data = view(m->binary_data);
        break;
    case DATA(TEXT_DATA):
        d->draft.data = view(m->text_data);
        break;
    case DATA(PROTO_DATA):
        d->draft.data = view(m->proto_data->value);
        break;
    default:
        break;
    }
}

static ab_err decode(decoder *d, const pb_event *m, bool lenient)
{
    ab_str nameless = lenient ? AB_STR("-") : AB_STR_NONE;
    take_field(d, AB_CE_ID, m->id, nameless);
    take_field(d, AB_CE_SOURCE, m->source, nameless);
    take_field(d, AB_CE_SPECVERSION, m->spec_version, AB_STR_NONE);
    take_field(d, AB_CE_TYPE, m->type, AB_STR_NONE);
    take_data(d, m);
    return take_attributes(d, m);
}

ab_err ab_event_from_protobuf(ab_str bytes, bool lenient, ab_event **out, ab_error *err)
{
    pb_event *message = NULL;
    ab_err e = unpack(bytes, &message, err);
    if (message == NULL)
        return e;
    decoder d = {.err = err};
    e = decode(&d, message, lenient);
    if (e == AB_ERR_OK)
        e = ab_event_new(&d.draft, out, err);
    for (size_t i = 0; i < d.text_count; i++)
        ab_buf_fini(&d.texts[i]);
    ProtobufCAllocator allocator = {budget_alloc, budget_free, NULL};
    io__cloudevents__v1__cloud_event__free_unpacked(message, &allocator);
    return e;
}
