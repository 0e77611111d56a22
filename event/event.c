/* SPDX-License-Identifier: Apache-2.0
 *
 * An event is one block: header, one slot per attribute, then all names and values end to end, then
 * the data, unless that came in a block of its own. Slots hold offsets instead of pointers, which
 * halves them: an agent keeps thousands of events in its outbox.
 */
#include "event/event.h"

#include "event/draft_priv.h"
#include "event/value_priv.h"
#include "schema/attributes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint32_t at; /* of the name in the text; the value follows it */
    uint16_t value_len;
    uint8_t name_len;
    uint8_t type;
} slot;

struct ab_event {
    uint32_t refs;
    uint32_t count;
    uint32_t text_len;
    uint32_t data_len;
    bool has_data;
    void *block; /* of the data; NULL: it follows the text */
    slot slots[];
};

_Static_assert(AB_EVENT_ATTR_VALUE_MAX <= UINT16_MAX, "value_len holds every legal length");
_Static_assert(AB_EVENT_ATTR_NAME_MAX <= UINT8_MAX, "name_len holds every legal length");

/** Formats differ in what they call the core attributes' types; the specification decides. */
static ab_attr_type type_of(ab_str name, ab_attr_type otherwise)
{
    if (ab_str_is(name, AB_CE_SOURCE))
        return AB_ATTR_URI_REF;
    if (ab_str_is(name, AB_CE_TIME))
        return AB_ATTR_TIMESTAMP;
    if (ab_str_is(name, AB_CE_DATASCHEMA))
        return AB_ATTR_URI;
    if (otherwise == AB_ATTR_STRING)
        return AB_ATTR_STRING;
    bool text = ab_str_is(name, AB_CE_ID) || ab_str_is(name, AB_CE_SPECVERSION) ||
                ab_str_is(name, AB_CE_TYPE) || ab_str_is(name, AB_CE_SUBJECT) ||
                ab_str_is(name, AB_CE_DATACONTENTTYPE);
    return text ? AB_ATTR_STRING : otherwise;
}

/** One bit of 64: names of different bits differ. */
static uint64_t name_bit(ab_str name)
{
    if (name.len == 0)
        return 1;
    unsigned ends = (unsigned char)name.ptr[0] + (unsigned char)name.ptr[name.len - 1];
    return UINT64_C(1) << ((name.len + 3 * ends) % 64);
}

/** Where the attribute is, or `count`. */
static size_t find_in_draft(const ab_event_draft *d, ab_str name)
{
    if ((d->name_bits & name_bit(name)) == 0)
        return d->count;
    size_t i = 0;
    while (i < d->count && !ab_str_eq(d->attrs[i].name, name))
        i++;
    return i;
}

static void set_at(ab_event_draft *d, size_t i, const ab_attr *attr)
{
    if (attr->value.ptr == NULL || d->status != AB_ERR_OK)
        return;
    if (i == AB_EVENT_ATTRS_MAX) {
        d->status = AB_ERR_TOOBIG;
        return;
    }
    d->attrs[i] = (ab_attr){attr->name, attr->value, type_of(attr->name, attr->type)};
    d->name_bits |= name_bit(attr->name);
    if (i == d->count)
        d->count++;
}

void ab_event_set_typed(ab_event_draft *d, ab_str name, ab_str value, ab_attr_type type)
{
    const ab_attr attr = {name, value, type};
    set_at(d, find_in_draft(d, name), &attr);
}

void ab_event_set_u64(ab_event_draft *d, const char *name, uint64_t value)
{
    if (d->number_count == AB_EVENT_NUMBERS_MAX) {
        d->status = AB_ERR_TOOBIG;
        return;
    }
    char *room = d->numbers[d->number_count++];
    size_t at = sizeof(d->numbers[0]);
    do {
        room[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    ab_event_set(d, name, (ab_str){room + at, sizeof(d->numbers[0]) - at});
}

void ab_draft_init(ab_event_draft *d)
{
    d->count = 0;
    d->name_bits = 0;
    d->data = AB_STR_NONE;
    d->block = NULL;
    d->status = AB_ERR_OK;
    d->number_count = 0;
}

ab_err ab_draft_add(ab_event_draft *d, ab_str name, ab_str value, ab_attr_type type, ab_error *err)
{
    const ab_attr attr = {name, value, type};
    if (find_in_draft(d, name) < d->count)
        return ab_fail(err, AB_ERR_INVALID, "attribute %.*s is given twice", AB_STR_ARG(name));
    set_at(d, d->count, &attr);
    if (d->status != AB_ERR_OK)
        return ab_fail(err, d->status, "more than %d attributes", AB_EVENT_ATTRS_MAX);
    return AB_ERR_OK;
}

ab_str ab_draft_get(const ab_event_draft *d, const char *name)
{
    size_t i = find_in_draft(d, ab_str_of(name));
    return i < d->count ? d->attrs[i].value : AB_STR_NONE;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

#define EACH_BYTE(value) ((value)*UINT64_C(0x0101010101010101))

/** Of each byte, the highest bit: set where it is `first` to `last`. One that is none of ASCII's
 * is not; what it carries into the byte beside it does not matter, for the answer is known to be no
 * already. */
static uint64_t in_range(uint64_t word, unsigned char first, unsigned char last)
{
    return (word + EACH_BYTE(0x80u - first)) & ~(word + EACH_BYTE(0x7fu - last));
}

static bool is_name_word(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    const uint64_t high = EACH_BYTE(0x80u);
    return ((in_range(word, 'a', 'z') | in_range(word, '0', '9')) & high) == high;
}

/** Eight at once, which is half of the names that events have: it is done for each, at each end. */
static bool has_name_chars(ab_str name)
{
    const size_t step = sizeof(uint64_t);
    size_t i = 0;
    for (; name.len - i >= step; i += step) {
        if (!is_name_word(name.ptr + i))
            return false;
    }
    if (i > 0) /* the last word, of which some have been seen */
        return is_name_word(name.ptr + name.len - step);
    while (i < name.len && is_name_char(name.ptr[i]))
        i++;
    return i == name.len;
}

static bool is_name(ab_str name)
{
    /* JSON has the data beside the attributes, so no attribute may be called like it. */
    return name.len > 0 && name.len <= AB_EVENT_ATTR_NAME_MAX && has_name_chars(name) &&
           !ab_str_is(name, "data");
}

static ab_err check_attributes(const ab_event_draft *d, ab_error *err)
{
    for (size_t i = 0; i < d->count; i++) {
        const ab_attr *a = &d->attrs[i];
        if (!is_name(a->name))
            return ab_fail(err, AB_ERR_INVALID,
                           "attribute %zu: a name has 1 to %d lower-case letters and digits and "
                           "is not \"data\"",
                           i, AB_EVENT_ATTR_NAME_MAX);
        if (a->value.len > AB_EVENT_ATTR_VALUE_MAX)
            return ab_fail(err, AB_ERR_TOOBIG, "attribute %.*s has %zu bytes, more than %u",
                           AB_STR_ARG(a->name), a->value.len, AB_EVENT_ATTR_VALUE_MAX);
        if (!ab_value_is_valid(a->type, a->value))
            return ab_fail(err, AB_ERR_INVALID, "attribute %.*s has no valid value of its type",
                           AB_STR_ARG(a->name));
    }
    return AB_ERR_OK;
}

static ab_err check_required(const ab_event_draft *d, ab_error *err)
{
    static const char *const required[] = {AB_CE_ID, AB_CE_SOURCE, AB_CE_TYPE};
    for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
        if (ab_draft_get(d, required[i]).len == 0)
            return ab_fail(err, AB_ERR_INVALID, "required attribute %s is missing or empty",
                           required[i]);
    }
    if (!ab_str_is(ab_draft_get(d, AB_CE_SPECVERSION), "1.0"))
        return ab_fail(err, AB_ERR_INVALID, "attribute specversion must be 1.0");
    return AB_ERR_OK;
}

static ab_err check(const ab_event_draft *d, ab_error *err)
{
    if (d->status != AB_ERR_OK)
        return ab_fail(err, d->status, "more than %d attributes or %d numbers", AB_EVENT_ATTRS_MAX,
                       AB_EVENT_NUMBERS_MAX);
    if (d->data.len > AB_EVENT_DATA_MAX)
        return ab_fail(err, AB_ERR_TOOBIG, "data has %zu bytes, more than %u", d->data.len,
                       AB_EVENT_DATA_MAX);
    ab_err e = check_attributes(d, err);
    return e != AB_ERR_OK ? e : check_required(d, err);
}

static char *text_of(ab_event *e)
{
    return (char *)&e->slots[e->count];
}

static const char *text_in(const ab_event *e)
{
    return (const char *)&e->slots[e->count];
}

static void copy_draft(ab_event *e, const ab_event_draft *d)
{
    char *text = text_of(e);
    uint32_t at = 0;
    for (size_t i = 0; i < d->count; i++) {
        const ab_attr *a = &d->attrs[i];
        e->slots[i] = (slot){at, (uint16_t)a->value.len, (uint8_t)a->name.len, (uint8_t)a->type};
        memcpy(text + at, a->name.ptr, a->name.len);
        memcpy(text + at + a->name.len, a->value.ptr, a->value.len);
        at += (uint32_t)(a->name.len + a->value.len);
    }
    if (e->has_data && e->block == NULL)
        memcpy(text + at, d->data.ptr, e->data_len);
}

static ab_err make(const ab_event_draft *d, ab_event **out, ab_error *err)
{
    size_t text_len = 0;
    for (size_t i = 0; i < d->count; i++)
        text_len += d->attrs[i].name.len + d->attrs[i].value.len;
    size_t data_len = d->block == NULL ? d->data.len : 0;
    ab_event *e = malloc(sizeof(*e) + d->count * sizeof(slot) + text_len + data_len);
    if (e == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for an event");
    *e = (ab_event){
        .refs = 1,
        .count = (uint32_t)d->count,
        .text_len = (uint32_t)text_len,
        .data_len = (uint32_t)d->data.len,
        .has_data = d->data.ptr != NULL,
        .block = d->block,
    };
    copy_draft(e, d);
    *out = e;
    return AB_ERR_OK;
}

/** A draft has room for far more than most events need: copying all of it would show. */
static void copy_used(ab_event_draft *to, const ab_event_draft *from)
{
    memcpy(to->attrs, from->attrs, from->count * sizeof(from->attrs[0]));
    to->count = from->count;
    to->name_bits = from->name_bits;
    to->data = from->data;
    to->block = from->block;
    to->status = from->status;
}

static ab_err check_and_make(const ab_event_draft *d, ab_event **out, ab_error *err)
{
    ab_err e = check(d, err);
    return e != AB_ERR_OK ? e : make(d, out, err);
}

ab_err ab_event_new(const ab_event_draft *d, ab_event **out, ab_error *err)
{
    if (ab_draft_get(d, AB_CE_SPECVERSION).ptr != NULL)
        return check_and_make(d, out, err);
    ab_event_draft full;
    copy_used(&full, d);
    ab_event_set_text(&full, AB_CE_SPECVERSION, "1.0");
    return check_and_make(&full, out, err);
}

ab_event *ab_event_ref(ab_event *e)
{
    e->refs++;
    return e;
}

bool ab_event_is_shared(const ab_event *e)
{
    return e->refs > 1;
}

void ab_event_unref(ab_event *e)
{
    if (e == NULL)
        return;
    assert(e->refs > 0);
    if (--e->refs > 0)
        return;
    free(e->block);
    free(e);
}

ab_str ab_event_attr(const ab_event *e, const char *name)
{
    const char *text = text_in(e);
    size_t len = strlen(name);
    for (uint32_t i = 0; i < e->count; i++) {
        const slot *s = &e->slots[i];
        if (s->name_len == len && memcmp(text + s->at, name, len) == 0)
            return (ab_str){text + s->at + len, s->value_len};
    }
    return AB_STR_NONE;
}

ab_err ab_event_attr_u64(const ab_event *e, const char *name, uint64_t *out)
{
    ab_str value = ab_event_attr(e, name);
    return value.ptr == NULL ? AB_ERR_NOTFOUND : ab_str_to_u64(value, out);
}

ab_digest ab_event_content_hash(const ab_event *e)
{
    ab_digest hash;
    ab_str text = ab_event_attr(e, AB_CE_CONTENTHASH);
    return ab_digest_parse(text, &hash) == AB_ERR_OK ? hash : (ab_digest){0};
}

size_t ab_event_attr_count(const ab_event *e)
{
    return e->count;
}

ab_attr ab_event_attr_at(const ab_event *e, size_t i)
{
    assert(i < e->count);
    const slot *s = &e->slots[i];
    const char *name = text_in(e) + s->at;
    return (ab_attr){
        {name, s->name_len}, {name + s->name_len, s->value_len}, (ab_attr_type)s->type};
}

ab_str ab_event_data(const ab_event *e)
{
    const char *data = e->block != NULL ? e->block : text_in(e) + e->text_len;
    return e->has_data ? (ab_str){data, e->data_len} : AB_STR_NONE;
}

size_t ab_event_size(const ab_event *e)
{
    return sizeof(*e) + e->count * sizeof(slot) + e->text_len + e->data_len;
}
