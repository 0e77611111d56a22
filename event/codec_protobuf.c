/* SPDX-License-Identifier: Apache-2.0
 *
 * The message is written and read without a tree of its parts: an event lies in memory about as it
 * does on the wire, name by name and value by value.
 */
#include "event/codec_protobuf.h"

#include "base/base64.h"
#include "base/protobuf.h"
#include "event/draft_priv.h"
#include "event/value_priv.h"
#include "schema/attributes.h"

#include <assert.h>
#include <inttypes.h>

/* Numbers of the fields (schema/proto/cloudevents.proto). The first four are attributes too. */
enum { EVENT_ID = 1, EVENT_SOURCE, EVENT_SPECVERSION, EVENT_TYPE, EVENT_ATTRIBUTES };
enum { EVENT_BINARY = 6, EVENT_TEXT, EVENT_PROTO };
enum { ENTRY_KEY = 1, ENTRY_VALUE };
enum { VALUE_BOOLEAN = 1, VALUE_INTEGER, VALUE_STRING, VALUE_BYTES, VALUE_URI, VALUE_URI_REF };
enum { VALUE_TIMESTAMP = 7, VALUE_END };
enum { TIME_SECONDS = 1, TIME_NANOS };
enum { ANY_VALUE = 2 };

#define NAME(literal)                                                                              \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }
static const ab_str core_names[] = {
    [EVENT_ID] = NAME(AB_CE_ID),
    [EVENT_SOURCE] = NAME(AB_CE_SOURCE),
    [EVENT_SPECVERSION] = NAME(AB_CE_SPECVERSION),
    [EVENT_TYPE] = NAME(AB_CE_TYPE),
};
#undef NAME

/* ----- out ----- */

/* An attribute that goes among the others, and what is not plain text of it. */
typedef struct {
    ab_attr attr;
    size_t len; /* of its value */
    ab_buf bytes;
    uint64_t number; /* boolean, integer; seconds */
    int32_t nanos;
} part;

typedef struct {
    ab_str core[EVENT_ATTRIBUTES];
    part parts[AB_EVENT_ATTRS_MAX];
    size_t count;
} layout;

/** The number of its own field, or that of the attributes. */
static unsigned field_of(ab_str name)
{
    for (unsigned i = EVENT_ID; i < EVENT_ATTRIBUTES; i++) {
        if (ab_str_eq(name, core_names[i]))
            return i;
    }
    return EVENT_ATTRIBUTES;
}

static size_t time_size(const part *p)
{
    return (p->number == 0 ? 0 : 1 + ab_pb_varint_size(p->number)) +
           (p->nanos == 0 ? 0 : 1 + ab_pb_varint_size((uint64_t)p->nanos));
}

/** Values are valid for their type: ab_event_new saw to it. */
static ab_err measure(part *p)
{
    int32_t integer = 0;
    int64_t seconds = 0;
    switch (p->attr.type) {
    case AB_ATTR_BOOLEAN:
        p->number = ab_str_is(p->attr.value, "true") ? 1 : 0;
        p->len = 2;
        break;
    case AB_ATTR_INTEGER:
        ab_value_integer_parse(p->attr.value, &integer);
        p->number = (uint64_t)(int64_t)integer;
        p->len = 1 + ab_pb_varint_size(p->number);
        break;
    case AB_ATTR_BYTES:
        ab_buf_init(&p->bytes, AB_EVENT_ATTR_VALUE_MAX);
        ab_base64_decode(p->attr.value, &p->bytes);
        p->len = ab_pb_bytes_size(p->bytes.len);
        return ab_buf_status(&p->bytes);
    case AB_ATTR_TIMESTAMP:
        ab_value_time_parse(p->attr.value, &seconds, &p->nanos);
        p->number = (uint64_t)seconds;
        p->len = ab_pb_bytes_size(time_size(p));
        break;
    case AB_ATTR_STRING:
    case AB_ATTR_URI:
    case AB_ATTR_URI_REF:
        p->len = ab_pb_bytes_size(p->attr.value.len);
        break;
    }
    return AB_ERR_OK;
}

static size_t entry_size(const part *p)
{
    return ab_pb_bytes_size(p->attr.name.len) + ab_pb_bytes_size(p->len);
}

static ab_err lay_out(layout *l, const ab_event *e)
{
    for (size_t i = 0; i < ab_event_attr_count(e); i++) {
        ab_attr attr = ab_event_attr_at(e, i);
        unsigned number = field_of(attr.name);
        if (number < EVENT_ATTRIBUTES) {
            l->core[number] = attr.value;
            continue;
        }
        part *p = &l->parts[l->count++];
        p->attr = attr;
        ab_err r = measure(p);
        if (r != AB_ERR_OK)
            return r;
    }
    return AB_ERR_OK;
}

static void layout_fini(layout *l)
{
    for (size_t i = 0; i < l->count; i++) {
        if (l->parts[i].attr.type == AB_ATTR_BYTES)
            ab_buf_fini(&l->parts[i].bytes);
    }
}

static size_t layout_size(const layout *l, ab_str data)
{
    size_t size = data.ptr == NULL ? 0 : ab_pb_bytes_size(data.len) - data.len;
    for (unsigned i = EVENT_ID; i < EVENT_ATTRIBUTES; i++)
        size += ab_pb_bytes_size(l->core[i].len);
    for (size_t i = 0; i < l->count; i++)
        size += ab_pb_bytes_size(entry_size(&l->parts[i]));
    return size;
}

static char *put_time(char *to, const part *p)
{
    to = ab_pb_put_head(to, VALUE_TIMESTAMP, time_size(p));
    if (p->number != 0)
        to = ab_pb_put_varint(ab_pb_put_tag(to, TIME_SECONDS, AB_PB_VARINT), p->number);
    if (p->nanos != 0)
        to = ab_pb_put_varint(ab_pb_put_tag(to, TIME_NANOS, AB_PB_VARINT), (uint64_t)p->nanos);
    return to;
}

static char *put_value(char *to, const part *p)
{
    switch (p->attr.type) {
    case AB_ATTR_BOOLEAN:
        return ab_pb_put_varint(ab_pb_put_tag(to, VALUE_BOOLEAN, AB_PB_VARINT), p->number);
    case AB_ATTR_INTEGER:
        return ab_pb_put_varint(ab_pb_put_tag(to, VALUE_INTEGER, AB_PB_VARINT), p->number);
    case AB_ATTR_BYTES:
        return ab_pb_put_bytes(to, VALUE_BYTES, ab_buf_str(&p->bytes));
    case AB_ATTR_TIMESTAMP:
        return put_time(to, p);
    case AB_ATTR_STRING:
        return ab_pb_put_bytes(to, VALUE_STRING, p->attr.value);
    case AB_ATTR_URI:
        return ab_pb_put_bytes(to, VALUE_URI, p->attr.value);
    case AB_ATTR_URI_REF:
        return ab_pb_put_bytes(to, VALUE_URI_REF, p->attr.value);
    }
    return to;
}

static char *put_layout(char *to, const layout *l, ab_str data)
{
    for (unsigned i = EVENT_ID; i < EVENT_ATTRIBUTES; i++)
        to = ab_pb_put_bytes(to, i, l->core[i]);
    for (size_t i = 0; i < l->count; i++) {
        const part *p = &l->parts[i];
        to = ab_pb_put_head(to, EVENT_ATTRIBUTES, entry_size(p));
        to = ab_pb_put_bytes(to, ENTRY_KEY, p->attr.name);
        to = put_value(ab_pb_put_head(to, ENTRY_VALUE, p->len), p);
    }
    return data.ptr == NULL ? to : ab_pb_put_head(to, EVENT_BINARY, data.len);
}

ab_err ab_event_to_protobuf_head(const ab_event *e, ab_buf *out)
{
    layout l;
    l.count = 0;
    ab_err r = lay_out(&l, e);
    if (r == AB_ERR_OK) {
        size_t size = layout_size(&l, ab_event_data(e));
        char *to = ab_buf_extend(out, size);
        if (to != NULL) {
            const char *end = put_layout(to, &l, ab_event_data(e));
            assert(end == to + size);
            (void)end; /* where assertions are off */
        }
        r = ab_buf_status(out);
    }
    layout_fini(&l);
    return r;
}

ab_err ab_event_to_protobuf(const ab_event *e, ab_buf *out)
{
    ab_err r = ab_event_to_protobuf_head(e, out);
    if (r == AB_ERR_OK && ab_event_data(e).len > 0)
        ab_buf_put(out, ab_event_data(e));
    return r == AB_ERR_OK ? ab_buf_status(out) : r;
}

/* ----- in ----- */

typedef struct {
    uint64_t number; /* of its field; 0 = none is set */
    ab_pb_field field;
    int64_t seconds;
    int32_t nanos;
} value;

typedef struct {
    ab_event_draft draft;
    ab_str core[EVENT_ATTRIBUTES];
    size_t entries;
    uint64_t data_number;
    ab_buf texts[AB_EVENT_ATTRS_MAX]; /* of the attributes that are not text on the wire */
    size_t text_count;
    ab_error *err;
} decoder;

static ab_err no_message(const decoder *d)
{
    return ab_fail(d->err, AB_ERR_PARSE, "bytes are no CloudEvent message");
}

/** Take a field of a message whose known fields have these types. Unknown ones are passed over.
 *  @return false at the end, or when `*e` has become PARSE */
static bool take_known(ab_str *in, const ab_pb_type *types, size_t count, ab_pb_field *out,
                       ab_err *e)
{
    while (in->len > 0) {
        *e = ab_pb_take(in, out);
        if (*e != AB_ERR_OK)
            return false;
        if (out->number >= count)
            continue;
        if (out->type != types[out->number])
            *e = AB_ERR_PARSE;
        return *e == AB_ERR_OK;
    }
    return false;
}

static ab_err read_time(ab_str in, value *v)
{
    static const ab_pb_type types[] = {[TIME_SECONDS] = AB_PB_VARINT, [TIME_NANOS] = AB_PB_VARINT};
    ab_err e = AB_ERR_OK;
    ab_pb_field f;
    while (take_known(&in, types, TIME_NANOS + 1, &f, &e)) {
        if (f.number == TIME_SECONDS)
            v->seconds = (int64_t)f.value;
        else
            v->nanos = (int32_t)(uint32_t)f.value;
    }
    return e;
}

/** Of the fields that exclude each other the last one counts, and what is said of it before that is
 * the same. */
static ab_err read_value(ab_str in, value *v)
{
    static const ab_pb_type types[VALUE_END] = {
        [VALUE_BOOLEAN] = AB_PB_VARINT, [VALUE_INTEGER] = AB_PB_VARINT,
        [VALUE_STRING] = AB_PB_BYTES,   [VALUE_BYTES] = AB_PB_BYTES,
        [VALUE_URI] = AB_PB_BYTES,      [VALUE_URI_REF] = AB_PB_BYTES,
        [VALUE_TIMESTAMP] = AB_PB_BYTES};
    ab_err e = AB_ERR_OK;
    ab_pb_field f;
    while (take_known(&in, types, VALUE_END, &f, &e)) {
        if (f.number != v->number)
            *v = (value){.number = f.number};
        v->field = f;
        if (f.number == VALUE_TIMESTAMP)
            e = read_time(f.bytes, v);
        if (e != AB_ERR_OK)
            return e;
    }
    return e;
}

static ab_err read_entry(ab_str in, ab_str *key, value *v)
{
    static const ab_pb_type types[] = {[ENTRY_KEY] = AB_PB_BYTES, [ENTRY_VALUE] = AB_PB_BYTES};
    ab_err e = AB_ERR_OK;
    ab_pb_field f;
    *key = AB_STR("");
    while (take_known(&in, types, ENTRY_VALUE + 1, &f, &e)) {
        if (f.number == ENTRY_KEY)
            *key = f.bytes;
        else
            e = read_value(f.bytes, v);
        if (e != AB_ERR_OK)
            return e;
    }
    return e;
}

/** Write the text of a value that is not text on the wire. */
static ab_err value_text(const value *v, ab_buf *out)
{
    char time[AB_VALUE_TIME_MAX];
    if (v->number == VALUE_TIMESTAMP) {
        if (!ab_value_time_format(v->seconds, v->nanos, time))
            return AB_ERR_INVALID;
        ab_buf_puts(out, time);
    } else if (v->number == VALUE_INTEGER) {
        ab_buf_printf(out, "%" PRId32, (int32_t)(uint32_t)v->field.value);
    } else {
        ab_base64_encode(v->field.bytes, out);
    }
    return ab_buf_status(out);
}

static ab_err add_converted(decoder *d, ab_str name, const value *v, ab_attr_type type)
{
    ab_buf *text = &d->texts[d->text_count++];
    ab_buf_init(text, AB_EVENT_ATTR_VALUE_MAX);
    ab_err e = value_text(v, text);
    if (e != AB_ERR_OK)
        return ab_fail(d->err, e, "attribute %.*s: %s", AB_STR_ARG(name), ab_err_text(e));
    return ab_draft_add(&d->draft, name, ab_buf_str(text), type, d->err);
}

static ab_err add_value(decoder *d, ab_str name, const value *v)
{
    ab_str boolean = v->field.value != 0 ? AB_STR("true") : AB_STR("false");
    switch (v->number) {
    case VALUE_BOOLEAN:
        return ab_draft_add(&d->draft, name, boolean, AB_ATTR_BOOLEAN, d->err);
    case VALUE_INTEGER:
        return add_converted(d, name, v, AB_ATTR_INTEGER);
    case VALUE_STRING:
        return ab_draft_add(&d->draft, name, v->field.bytes, AB_ATTR_STRING, d->err);
    case VALUE_BYTES:
        return add_converted(d, name, v, AB_ATTR_BYTES);
    case VALUE_URI:
        return ab_draft_add(&d->draft, name, v->field.bytes, AB_ATTR_URI, d->err);
    case VALUE_URI_REF:
        return ab_draft_add(&d->draft, name, v->field.bytes, AB_ATTR_URI_REF, d->err);
    case VALUE_TIMESTAMP:
        return add_converted(d, name, v, AB_ATTR_TIMESTAMP);
    default: /* no value, or one of a later version */
        return AB_ERR_OK;
    }
}

static ab_err take_attribute(decoder *d, ab_str in)
{
    ab_str name;
    value v = {0};
    if (d->entries++ == AB_EVENT_ATTRS_MAX)
        return ab_fail(d->err, AB_ERR_TOOBIG, "more than %d attributes", AB_EVENT_ATTRS_MAX);
    if (read_entry(in, &name, &v) != AB_ERR_OK)
        return no_message(d);
    return add_value(d, name, &v);
}

static ab_err read_any(decoder *d, ab_str in)
{
    static const ab_pb_type types[] = {[1] = AB_PB_BYTES, [ANY_VALUE] = AB_PB_BYTES};
    ab_err e = AB_ERR_OK;
    ab_pb_field f;
    while (take_known(&in, types, ANY_VALUE + 1, &f, &e)) {
        if (f.number == ANY_VALUE)
            d->draft.data = f.bytes;
    }
    return e == AB_ERR_OK ? e : no_message(d);
}

static ab_err take_data(decoder *d, const ab_pb_field *f)
{
    bool other = f->number != d->data_number;
    d->data_number = f->number;
    if (f->number != EVENT_PROTO) {
        d->draft.data = f->bytes;
        return AB_ERR_OK;
    }
    if (other)
        d->draft.data = AB_STR("");
    return read_any(d, f->bytes);
}

static const ab_pb_type event_types[] = {
    [EVENT_ID] = AB_PB_BYTES,   [EVENT_SOURCE] = AB_PB_BYTES,     [EVENT_SPECVERSION] = AB_PB_BYTES,
    [EVENT_TYPE] = AB_PB_BYTES, [EVENT_ATTRIBUTES] = AB_PB_BYTES, [EVENT_BINARY] = AB_PB_BYTES,
    [EVENT_TEXT] = AB_PB_BYTES, [EVENT_PROTO] = AB_PB_BYTES};

/** All but the attributes. */
static ab_err read_fields(decoder *d, ab_str in)
{
    ab_err e = AB_ERR_OK;
    ab_pb_field f;
    while (take_known(&in, event_types, EVENT_PROTO + 1, &f, &e)) {
        if (f.number < EVENT_ATTRIBUTES)
            d->core[f.number] = f.bytes;
        else if (f.number > EVENT_ATTRIBUTES)
            e = take_data(d, &f);
        if (e != AB_ERR_OK)
            return e;
    }
    return e == AB_ERR_OK ? e : no_message(d);
}

/** Proto3 does not tell an empty field from one that is not there. */
static void add_fields(decoder *d, bool lenient)
{
    for (unsigned i = EVENT_ID; i < EVENT_ATTRIBUTES; i++) {
        bool nameless = lenient && (i == EVENT_ID || i == EVENT_SOURCE);
        if (d->core[i].len > 0)
            ab_event_set_typed(&d->draft, core_names[i], d->core[i], AB_ATTR_STRING);
        else if (nameless)
            ab_event_set_typed(&d->draft, core_names[i], AB_STR("-"), AB_ATTR_STRING);
    }
}

/** What has been read once already. */
static ab_err read_attributes(decoder *d, ab_str in)
{
    ab_err e = AB_ERR_OK;
    ab_pb_field f;
    while (take_known(&in, event_types, EVENT_PROTO + 1, &f, &e)) {
        if (f.number == EVENT_ATTRIBUTES)
            e = take_attribute(d, f.bytes);
        if (e != AB_ERR_OK)
            return e;
    }
    return e;
}

static void decoder_init(decoder *d, ab_error *err)
{
    ab_draft_init(&d->draft);
    for (unsigned i = EVENT_ID; i < EVENT_ATTRIBUTES; i++)
        d->core[i] = AB_STR_NONE;
    d->entries = 0;
    d->data_number = 0;
    d->text_count = 0;
    d->err = err;
}

ab_err ab_event_from_protobuf(ab_str bytes, bool lenient, ab_event **out, ab_error *err)
{
    decoder d;
    if (bytes.len > AB_EVENT_DATA_MAX + (size_t)AB_EVENT_ATTRS_MAX * AB_EVENT_ATTR_VALUE_MAX)
        return ab_fail(err, AB_ERR_TOOBIG, "message has %zu bytes", bytes.len);
    decoder_init(&d, err);
    ab_err e = read_fields(&d, bytes);
    if (e == AB_ERR_OK) {
        add_fields(&d, lenient);
        e = read_attributes(&d, bytes);
    }
    if (e == AB_ERR_OK)
        e = ab_event_new(&d.draft, out, err);
    for (size_t i = 0; i < d.text_count; i++)
        ab_buf_fini(&d.texts[i]);
    return e;
}
