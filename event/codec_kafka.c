/* SPDX-License-Identifier: Apache-2.0 */
#include "event/codec_kafka.h"

#include "base/core/rfc3339.h"
#include "event/codec_json.h"
#include "event/draft_priv.h"
#include "schema/attributes.h"

#include <string.h>
#include <strings.h>

#define CE_PREFIX    "ce_"
#define CONTENT_TYPE "content-type"
/* What tells structured mode from binary mode (§3). */
#define STRUCTURED "application/cloudevents"

/* --- what a record says without a header --- */

/** "Application/argocd/a" is about "argocd/a". Keys that begin with no kind name no object. */
static ab_str subject_of(ab_str key)
{
    bool object = key.len > 0 && key.ptr[0] >= 'A' && key.ptr[0] <= 'Z';
    (void)ab_str_cut(&key, '/');
    return object && key.len > 0 ? key : AB_STR_NONE;
}

/** Take the digits behind the last dot off `s`. @return them; empty when there are none */
static ab_str take_number(ab_str *s)
{
    size_t at = s->len;
    while (at > 0 && s->ptr[at - 1] >= '0' && s->ptr[at - 1] <= '9')
        at--;
    if (at == 0 || s->ptr[at - 1] != '.')
        return AB_STR_NONE;
    ab_str digits = {s->ptr + at, s->len - at};
    s->len = at - 1;
    return digits;
}

#define TARGET_SIZE 32 /* of the name of a kind, and its end */

/* Attributes that follow from the key, the id and the record's time; absent ones do not. */
typedef struct {
    ab_str subject;
    ab_str epoch;
    ab_str version;
    char target[TARGET_SIZE]; /* the kind in lower case; empty: none */
    char time[AB_RFC3339_MAX];
} implied;

/** `kind` ends where the subject begins. */
static void put_target(ab_str kind, char out[TARGET_SIZE])
{
    size_t len = kind.len < TARGET_SIZE ? kind.len : 0;
    for (size_t i = 0; i < len; i++)
        out[i] = (char)(kind.ptr[i] | (kind.ptr[i] >= 'A' && kind.ptr[i] <= 'Z' ? 0x20 : 0));
    out[len] = '\0';
}

static void put_time(int64_t ms, char out[AB_RFC3339_MAX])
{
    if (ms <= 0 || !ab_rfc3339_format(ms / 1000, (int32_t)(ms % 1000) * 1000000, out))
        out[0] = '\0';
}

static void imply(ab_str key, ab_str id, int64_t time_ms, implied *i)
{
    put_time(time_ms, i->time);
    i->subject = subject_of(key);
    i->version = take_number(&id);
    i->epoch = take_number(&id);
    if (i->epoch.len == 0 || i->version.len == 0)
        i->epoch = i->version = AB_STR_NONE;
    bool object = i->subject.ptr != NULL;
    put_target((ab_str){key.ptr, object ? key.len - i->subject.len - 1 : 0}, i->target);
}

/* --- writing --- */

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

static bool is_implied(ab_attr attr, const implied *by)
{
    if (ab_str_is(attr.name, AB_CE_SUBJECT))
        return ab_str_eq(attr.value, by->subject);
    if (ab_str_is(attr.name, AB_CE_DATASCHEMA))
        return ab_str_is(attr.value, by->target);
    if (ab_str_is(attr.name, AB_CE_TIME))
        return ab_str_is(attr.value, by->time);
    /* Only both of them are taken out of an id. */
    if (ab_str_is(attr.name, AB_CE_WRITEREPOCH) || ab_str_is(attr.name, AB_CE_OBJVERSION))
        return by->epoch.len > 0;
    return ab_str_is(attr.name, AB_CE_PARTITIONKEY) && attr.value.len > 0;
}

/** What a record's own time can say. @return 0 when the event has no time, or one before 1970 */
static int64_t time_ms_of(const ab_event *e)
{
    int64_t seconds;
    int32_t nanos;
    if (!ab_rfc3339_parse(ab_event_attr(e, AB_CE_TIME), &seconds, &nanos) || seconds < 0)
        return 0;
    return seconds * 1000 + nanos / 1000000;
}

static void imply_in(const ab_event *e, const ab_record *r, implied *by)
{
    imply(r->key, ab_event_attr(e, AB_CE_ID), r->time_ms, by);
    if (!ab_str_eq(ab_event_attr(e, AB_CE_WRITEREPOCH), by->epoch) ||
        !ab_str_eq(ab_event_attr(e, AB_CE_OBJVERSION), by->version))
        by->epoch = by->version = AB_STR_NONE;
}

void ab_kafka_encode(const ab_event *e, ab_record *out)
{
    char *names = out->names;
    out->key = ab_event_attr(e, AB_CE_PARTITIONKEY);
    out->value = ab_event_data(e);
    implied by;
    out->time_ms = time_ms_of(e);
    imply_in(e, out, &by);
    size_t count = ab_event_attr_count(e);
    out->header_count = 0;
    for (size_t i = 0; i < count; i++) {
        ab_attr attr = ab_event_attr_at(e, i);
        if (!is_implied(attr, &by))
            out->headers[out->header_count++] = header_of(attr, &names);
    }
}

/* --- reading --- */

static bool same_ignoring_case(ab_str s, const char *text)
{
    return s.len == strlen(text) && strncasecmp(s.ptr, text, s.len) == 0;
}

static ab_err set_content_type(ab_str *content_type, ab_str value, ab_error *err)
{
    if (content_type->ptr != NULL)
        return ab_fail(err, AB_ERR_INVALID, "header content-type is given twice");
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
    return ab_event_from_json(text, key_of(r), out, err);
}

static ab_err add_header(ab_event_draft *d, const ab_header *h, ab_error *err)
{
    ab_str name = ab_str_after(h->name, CE_PREFIX);
    if (h->value.len == 0 || name.ptr == NULL)
        return AB_ERR_OK;
    return ab_draft_add(d, name, h->value, AB_ATTR_STRING, err);
}

/** What a header says counts. `by` must live as long as the draft. */
static void add_implied(ab_event_draft *d, const ab_record *r, implied *by)
{
    ab_str key = key_of(r);
    imply(key, ab_draft_get(d, AB_CE_ID), r->time_ms, by);
    ab_event_set(d, AB_CE_PARTITIONKEY, key);
    if (by->time[0] != '\0' && ab_draft_get(d, AB_CE_TIME).ptr == NULL)
        ab_event_set_text(d, AB_CE_TIME, by->time);
    if (ab_draft_get(d, AB_CE_SUBJECT).ptr == NULL)
        ab_event_set(d, AB_CE_SUBJECT, by->subject);
    if (by->target[0] != '\0' && ab_draft_get(d, AB_CE_DATASCHEMA).ptr == NULL)
        ab_event_set_text(d, AB_CE_DATASCHEMA, by->target);
    if (ab_draft_get(d, AB_CE_WRITEREPOCH).ptr == NULL &&
        ab_draft_get(d, AB_CE_OBJVERSION).ptr == NULL) {
        ab_event_set(d, AB_CE_WRITEREPOCH, by->epoch);
        ab_event_set(d, AB_CE_OBJVERSION, by->version);
    }
}

static ab_err decode_binary(const ab_record *r, ab_str content_type, ab_event **out, ab_error *err)
{
    ab_event_draft d;
    implied by;
    ab_draft_init(&d);
    d.data = r->value;
    ab_event_set(&d, AB_CE_DATACONTENTTYPE, content_type);
    for (size_t i = 0; i < r->header_count; i++) {
        ab_err e = add_header(&d, &r->headers[i], err);
        if (e != AB_ERR_OK)
            return e;
    }
    add_implied(&d, r, &by);
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
