/* SPDX-License-Identifier: Apache-2.0 */
#include "event/codec_kafka.h"

#include "event/codec_json_priv.h"
#include "event/draft_priv.h"
#include "schema/attributes.h"

#include <string.h>
#include <strings.h>

#define CE_PREFIX    "ce_"
#define CONTENT_TYPE "content-type"
/* What tells structured mode from binary mode (§3). */
#define STRUCTURED "application/cloudevents"

static ab_header header_of(ab_attr attr, char **names)
{
    if (ab_str_is(attr.name, AB_CE_DATACONTENTTYPE))
        return (ab_header){AB_STR(CONTENT_TYPE), attr.value};
    char *name = *names;
    size_t len = strlen(CE_PREFIX) + attr.name.len;
    memcpy(name, CE_PREFIX, strlen(CE_PREFIX));
    memcpy(name + strlen(CE_PREFIX), attr.name.ptr, attr.name.len);
    name[len] = '\0'; /* librdkafka and others want C strings */
    *names += len + 1;
    return (ab_header){{name, len}, attr.value};
}

void ab_kafka_encode(const ab_event *e, ab_record *out)
{
    char *names = out->names;
    out->header_count = ab_event_attr_count(e);
    for (size_t i = 0; i < out->header_count; i++)
        out->headers[i] = header_of(ab_event_attr_at(e, i), &names);
    out->key = ab_event_attr(e, AB_CE_PARTITIONKEY);
    out->value = ab_event_data(e);
}

static bool same_ignoring_case(ab_str s, const char *text)
{
    return s.len == strlen(text) && strncasecmp(s.ptr, text, s.len) == 0;
}

static ab_err set_content_type(ab_str *content_type, ab_str value, ab_error *err)
{
    if (content_type->ptr != NULL)
        return ab_fail(err, AB_ERR_INVALID, "header content-type is there twice");
    *content_type = value;
    return AB_ERR_OK;
}

static ab_err find_content_type(const ab_record *r, ab_str *out, ab_error *err)
{
    *out = AB_STR_NONE;
    for (size_t i = 0; i < r->header_count; i++) {
        const ab_header *h = &r->headers[i];
        if (h->value.len == 0 || !same_ignoring_case(h->name, CONTENT_TYPE))
            continue;
        ab_err e = set_content_type(out, h->value, err);
        if (e != AB_ERR_OK)
            return e;
    }
    return AB_ERR_OK;
}

/** Parameters after the media type say nothing that matters: the JSON format is UTF-8 anyway. */
static bool is_media_type(ab_str value, const char *type)
{
    size_t len = strlen(type);
    if (value.len < len || strncasecmp(value.ptr, type, len) != 0)
        return false;
    return value.len == len || value.ptr[len] == ';' || value.ptr[len] == ' ';
}

/** The record's key; an empty one says no more than none. */
static ab_str key_of(const ab_record *r)
{
    return r->key.len == 0 ? AB_STR_NONE : r->key;
}

static ab_err decode_structured(const ab_record *r, ab_str content_type, ab_event **out,
                                ab_error *err)
{
    if (!is_media_type(content_type, STRUCTURED "+json"))
        return ab_fail(err, AB_ERR_UNSUPPORTED,
                       "content type %.*s: only " STRUCTURED "+json is understood",
                       AB_STR_ARG(content_type));
    ab_str text = r->value.ptr == NULL ? AB_STR("") : r->value;
    return ab_event_from_json_keyed(text, key_of(r), out, err);
}

static ab_err add_header(ab_event_draft *d, const ab_header *h, ab_error *err)
{
    if (h->value.len == 0 || !ab_str_starts(h->name, CE_PREFIX))
        return AB_ERR_OK;
    ab_str name = {h->name.ptr + strlen(CE_PREFIX), h->name.len - strlen(CE_PREFIX)};
    return ab_draft_add(d, name, h->value, AB_ATTR_STRING, err);
}

static ab_err decode_binary(const ab_record *r, ab_str content_type, ab_event **out, ab_error *err)
{
    ab_event_draft d = {.data = r->value};
    ab_event_set(&d, AB_CE_DATACONTENTTYPE, content_type);
    for (size_t i = 0; i < r->header_count; i++) {
        ab_err e = add_header(&d, &r->headers[i], err);
        if (e != AB_ERR_OK)
            return e;
    }
    ab_event_set(&d, AB_CE_PARTITIONKEY, key_of(r));
    return ab_event_new(&d, out, err);
}

ab_err ab_kafka_decode(const ab_record *r, ab_event **out, ab_error *err)
{
    ab_str content_type;
    ab_err e = find_content_type(r, &content_type, err);
    if (e != AB_ERR_OK)
        return e;
    bool structured = content_type.ptr != NULL && content_type.len >= strlen(STRUCTURED) &&
                      strncasecmp(content_type.ptr, STRUCTURED, strlen(STRUCTURED)) == 0;
    return structured ? decode_structured(r, content_type, out, err)
                      : decode_binary(r, content_type, out, err);
}
