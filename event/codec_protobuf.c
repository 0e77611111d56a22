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

/* At most: what is around a name and a value, and around the data. */
#define ENTRY_HEADS 40
#define DATA_HEAD   11
/* Tags and lengths, or all there is of a number. */
#define VALUE_HEAD_MAX 24

/* The value of an attribute as it goes out. */
typedef struct {
    char head[VALUE_HEAD_MAX];
    const char *end; /* of `head` */
    ab_str body;     /* what follows it */
    ab_buf bytes;    /* the body, where it is no text */
} value_out;

/** The field of an attribute that has one of its own, or 0. */
static unsigned core_number(ab_str name)
{
    static const uint8_t by_len[] = {[sizeof(AB_CE_ID) - 1] = EVENT_ID,
                                     [sizeof(AB_CE_SOURCE) - 1] = EVENT_SOURCE,
                                     [sizeof(AB_CE_SPECVERSION) - 1] = EVENT_SPECVERSION,
                                     [sizeof(AB_CE_TYPE) - 1] = EVENT_TYPE};
    unsigned number = name.len < sizeof(by_len) ? by_len[name.len] : 0;
    return number > 0 && ab_str_eq(name, core_names[number]) ? number : 0;
}

static void lay_out_text(value_out *v, unsigned number, ab_str text)
{
    v->end = ab_pb_put_head(v->head, number, text.len);
    v->body = text;
}

static void lay_out_number(value_out *v, unsigned number, uint64_t value)
{
    v->end = ab_pb_put_varint(ab_pb_put_tag(v->head, number, AB_PB_VARINT), value);
}

static void lay_out_time(value_out *v, int64_t seconds, int32_t nanos)
{
    char fields[VALUE_HEAD_MAX];
    char *to = fields;
    if (seconds != 0)
        to = ab_pb_put_varint(ab_pb_put_tag(to, TIME_SECONDS, AB_PB_VARINT), (uint64_t)seconds);
    if (nanos != 0)
        to = ab_pb_put_varint(ab_pb_put_tag(to, TIME_NANOS, AB_PB_VARINT), (uint64_t)nanos);
    v->end = ab_pb_put_bytes(v->head, VALUE_TIMESTAMP, (ab_str){fields, (size_t)(to - fields)});
}

/** Values are valid for their type: ab_event_new saw to it. */
static ab_err lay_out(value_out *v, const ab_attr *attr)
{
    int32_t integer = 0, nanos = 0;
    int64_t seconds = 0;
    v->body = AB_STR("");
    switch (attr->type) {
    case AB_ATTR_BOOLEAN:
        lay_out_number(v, VALUE_BOOLEAN, ab_str_is(attr->value, "true") ? 1 : 0);
        break;
    case AB_ATTR_INTEGER:
        ab_value_integer_parse(attr->value, &integer);
        lay_out_number(v, VALUE_INTEGER, (uint64_t)(int64_t)integer);
        break;
    case AB_ATTR_BYTES:
        ab_base64_decode(attr->value, &v->bytes);
        lay_out_text(v, VALUE_BYTES, ab_buf_str(&v->bytes));
        break;
    case AB_ATTR_TIMESTAMP:
        ab_value_time_parse(attr->value, &seconds, &nanos);
        lay_out_time(v, seconds, nanos);
        break;
    case AB_ATTR_STRING:
        lay_out_text(v, VALUE_STRING, attr->value);
        break;
    case AB_ATTR_URI:
        lay_out_text(v, VALUE_URI, attr->value);
        break;
    case AB_ATTR_URI_REF:
        lay_out_text(v, VALUE_URI_REF, attr->value);
        break;
    }
    return ab_buf_status(&v->bytes);
}

static char *put(char *to, ab_str bytes)
{
    if (bytes.len > 0)
        memcpy(to, bytes.ptr, bytes.len);
    return to + bytes.len;
}

static char *put_entry(char *to, ab_str name, const value_out *v)
{
    ab_str head = {v->head, (size_t)(v->end - v->head)};
    size_t len = head.len + v->body.len;
    to = ab_pb_put_head(to, EVENT_ATTRIBUTES, ab_pb_bytes_size(name.len) + ab_pb_bytes_size(len));
    to = ab_pb_put_bytes(to, ENTRY_KEY, name);
    to = ab_pb_put_head(to, ENTRY_VALUE, len);
    return put(put(to, head), v->body);
}

/** @return NULL when out of memory */
static char *put_attribute(char *to, const ab_attr *attr)
{
    value_out v;
    ab_buf_init(&v.bytes, AB_EVENT_ATTR_VALUE_MAX);
    ab_err r = lay_out(&v, attr);
    to = r == AB_ERR_OK ? put_entry(to, attr->name, &v) : NULL;
    ab_buf_fini(&v.bytes);
    return to;
}

static char *put_core(char *to, const ab_event *e)
{
    ab_str core[EVENT_ATTRIBUTES] = {0}; /* and first whatever is none */
    for (size_t i = 0; i < ab_event_attr_count(e); i++) {
        ab_attr attr = ab_event_attr_at(e, i);
        core[core_number(attr.name)] = attr.value;
    }
    for (unsigned i = EVENT_ID; i < EVENT_ATTRIBUTES; i++)
        to = ab_pb_put_bytes(to, i, core[i]);
    return to;
}

/** @return NULL when out of memory */
static char *put_head(char *to, const ab_event *e)
{
    ab_str data = ab_event_data(e);
    to = put_core(to, e);
    for (size_t i = 0; i < ab_event_attr_count(e) && to != NULL; i++) {
        ab_attr attr = ab_event_attr_at(e, i);
        if (core_number(attr.name) == 0)
            to = put_attribute(to, &attr);
    }
    return data.ptr == NULL || to == NULL ? to : ab_pb_put_head(to, EVENT_BINARY, data.len);
}

ab_err ab_event_to_protobuf_head(const ab_event *e, ab_buf *out)
{
    size_t before = out->len;
    size_t most =
        ab_event_size(e) - ab_event_data(e).len + ab_event_attr_count(e) * ENTRY_HEADS + DATA_HEAD;
    char *to = ab_buf_extend(out, most);
    if (to == NULL)
        return ab_buf_status(out);
    const char *end = put_head(to, e);
    assert(end == NULL || end <= to + most);
    out->len = end != NULL ? before + (size_t)(end - to) : before;
    return end != NULL ? AB_ERR_OK : AB_ERR_NOMEM;
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
    ab_str entries[AB_EVENT_ATTRS_MAX]; /* attributes as they come */
    size_t entry_count;
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

static ab_err add_entry(decoder *d, ab_str in)
{
    ab_str name;
    value v = {0};
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

static ab_err take_entry(decoder *d, ab_str in)
{
    if (d->entry_count == AB_EVENT_ATTRS_MAX)
        return ab_fail(d->err, AB_ERR_TOOBIG, "more than %d attributes", AB_EVENT_ATTRS_MAX);
    d->entries[d->entry_count++] = in;
    return AB_ERR_OK;
}

static ab_err read_fields(decoder *d, ab_str in)
{
    ab_err e = AB_ERR_OK;
    ab_pb_field f;
    while (take_known(&in, event_types, EVENT_PROTO + 1, &f, &e)) {
        if (f.number < EVENT_ATTRIBUTES)
            d->core[f.number] = f.bytes;
        else if (f.number == EVENT_ATTRIBUTES)
            e = take_entry(d, f.bytes);
        else
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

static ab_err add_entries(decoder *d)
{
    ab_err e = AB_ERR_OK;
    for (size_t i = 0; i < d->entry_count && e == AB_ERR_OK; i++)
        e = add_entry(d, d->entries[i]);
    return e;
}

static void decoder_init(decoder *d, ab_error *err)
{
    ab_draft_init(&d->draft);
    for (unsigned i = EVENT_ID; i < EVENT_ATTRIBUTES; i++)
        d->core[i] = AB_STR_NONE;
    d->entry_count = 0;
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
        e = add_entries(&d);
    }
    if (e == AB_ERR_OK)
        e = ab_event_new(&d.draft, out, err);
    for (size_t i = 0; i < d.text_count; i++)
        ab_buf_fini(&d.texts[i]);
    return e;
}
