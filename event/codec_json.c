/* SPDX-License-Identifier: Apache-2.0 */
#include "event/codec_json.h"

#include "base/core/base64.h"
#include "base/json/span.h"
#include "event/draft_priv.h"
#include "event/value_priv.h"
#include "schema/attributes.h"

#include <string.h>
#include <strings.h>

#define DATA        "data"
#define DATA_BASE64 "data_base64"

/** "application/json", "text/json" and every "…+json"; no media type at all means JSON (§3.1.1). */
static bool is_json_type(ab_str media_type)
{
    static const char *const endings[] = {"/json", "+json"};
    if (media_type.ptr == NULL)
        return true;
    ab_str type = ab_str_cut(&media_type, ';');
    while (type.len > 0 && type.ptr[type.len - 1] == ' ')
        type.len--;
    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(endings[i]);
        if (type.len > n && strncasecmp(type.ptr + type.len - n, endings[i], n) == 0)
            return true;
    }
    return false;
}

typedef struct {
    ab_event_draft draft;
    ab_buf texts[AB_EVENT_ATTRS_MAX]; /* of the attributes that were written with escapes */
    size_t text_count;
    ab_spanv data; /* the members of these names */
    ab_spanv data_base64;
    ab_buf bytes; /* the data, where it is not a piece of the document */
    ab_error *err;
} decoder;

static void decoder_init(decoder *d, ab_error *err)
{
    *d = (decoder){.err = err};
    ab_buf_init(&d->bytes, AB_EVENT_DATA_MAX);
}

static void decoder_fini(decoder *d)
{
    for (size_t i = 0; i < d->text_count; i++)
        ab_buf_fini(&d->texts[i]);
    ab_buf_fini(&d->bytes);
}

/** The content of a string, in a buffer of its own when it has escapes. */
static ab_err string_value(decoder *d, ab_spanv v, ab_str *out)
{
    *out = ab_span_plain(v);
    if (out->ptr != NULL)
        return AB_ERR_OK;
    if (d->text_count == AB_EVENT_ATTRS_MAX)
        return ab_fail(d->err, AB_ERR_TOOBIG, "more than %d attributes", AB_EVENT_ATTRS_MAX);
    ab_buf *text = &d->texts[d->text_count++];
    ab_buf_init(text, AB_EVENT_ATTR_VALUE_MAX);
    ab_err e = ab_span_copy(v, text);
    *out = ab_buf_str(text);
    return e == AB_ERR_OK ? e : ab_fail(d->err, e, "attribute value: %s", ab_err_text(e));
}

static ab_err add_attribute(decoder *d, ab_str name, ab_spanv v)
{
    ab_str value = ab_span_raw(v);
    ab_attr_type type = AB_ATTR_STRING;
    ab_err e = AB_ERR_OK;
    switch (ab_span_typeof(v)) {
    case AB_SPAN_NULL: /* §2.2: as if it were not there */
        return AB_ERR_OK;
    case AB_SPAN_STRING:
        e = string_value(d, v, &value);
        break;
    case AB_SPAN_NUMBER:
        type = AB_ATTR_INTEGER;
        break;
    case AB_SPAN_TRUE:
    case AB_SPAN_FALSE:
        type = AB_ATTR_BOOLEAN;
        break;
    case AB_SPAN_NONE:
    case AB_SPAN_ARRAY:
    case AB_SPAN_OBJECT:
        return ab_fail(d->err, AB_ERR_INVALID, "attribute %.*s is an object or an array",
                       AB_STR_ARG(name));
    }
    return e == AB_ERR_OK ? ab_draft_add(&d->draft, name, value, type, d->err) : e;
}

static ab_err add_member(decoder *d, ab_spanv v)
{
    ab_str name = ab_span_plain_key(v);
    if (name.ptr == NULL)
        return ab_fail(d->err, AB_ERR_INVALID, "a member name has escapes");
    if (ab_str_is(name, DATA))
        d->data = v;
    else if (ab_str_is(name, DATA_BASE64))
        d->data_base64 = v;
    else
        return add_attribute(d, name, v);
    return AB_ERR_OK;
}

static ab_err take_base64(decoder *d)
{
    ab_str text = ab_span_plain(d->data_base64);
    if (text.ptr == NULL || !ab_base64_decode(text, &d->bytes))
        return ab_fail(d->err, AB_ERR_INVALID, "member data_base64 is not base64");
    d->draft.data = ab_buf_str(&d->bytes);
    return ab_buf_status(&d->bytes);
}

/** Data of a type that is not JSON is the content of the string that it is written as (§3.1). */
static ab_err take_data(decoder *d)
{
    bool json = is_json_type(ab_draft_get(&d->draft, AB_CE_DATACONTENTTYPE));
    if (json || ab_span_typeof(d->data) != AB_SPAN_STRING) {
        d->draft.data = ab_span_raw(d->data);
        return AB_ERR_OK;
    }
    ab_err e = ab_span_copy(d->data, &d->bytes);
    d->draft.data = ab_buf_str(&d->bytes);
    return e;
}

static ab_err decode(decoder *d, ab_spanv root, ab_str partitionkey)
{
    if (ab_span_typeof(root) != AB_SPAN_OBJECT)
        return ab_fail(d->err, AB_ERR_PARSE, "an event must be a JSON object");
    for (ab_spanv v = ab_span_first(root); ab_span_present(v); v = ab_span_next(v)) {
        ab_err e = add_member(d, v);
        if (e != AB_ERR_OK)
            return e;
    }
    ab_event_set(&d->draft, AB_CE_PARTITIONKEY, partitionkey);
    if (ab_span_present(d->data) && ab_span_present(d->data_base64))
        return ab_fail(d->err, AB_ERR_INVALID,
                       "members data and data_base64 are mutually exclusive");
    if (ab_span_present(d->data))
        return take_data(d);
    return ab_span_present(d->data_base64) ? take_base64(d) : AB_ERR_OK;
}

ab_err ab_event_from_json(ab_str text, ab_str partitionkey, ab_event **out, ab_error *err)
{
    decoder d;
    ab_span *doc;
    ab_err e = ab_span_parse(text, &doc, err);
    if (e != AB_ERR_OK)
        return e;
    decoder_init(&d, err);
    e = decode(&d, ab_span_root(doc), partitionkey);
    if (e == AB_ERR_OK)
        e = ab_event_new(&d.draft, out, err);
    decoder_fini(&d);
    ab_span_free(doc);
    return e;
}
