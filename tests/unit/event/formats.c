/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/event/formats.h"

#include "base/core/base64.h"
#include "base/json/span.h"
#include "schema/attributes.h"
#include "schema/proto/cloudevents.pb-c.h"

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
    const char *semicolon = memchr(media_type.ptr, ';', media_type.len);
    size_t len = semicolon == NULL ? media_type.len : (size_t)(semicolon - media_type.ptr);
    while (len > 0 && media_type.ptr[len - 1] == ' ')
        len--;
    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(endings[i]);
        if (len > n && strncasecmp(media_type.ptr + len - n, endings[i], n) == 0)
            return true;
    }
    return false;
}

/**
 * Can `data` stand in the event as it is and be read back the same? Not when it is not JSON, nor
 * with white space around it, nor when it nests as deep as the parser goes. It is tried in
 * brackets, to be as deep as it will be in the event.
 */
static bool is_embeddable(ab_str data)
{
    ab_buf b;
    ab_span *doc = NULL;
    ab_buf_init(&b, AB_SPAN_SIZE_MAX);
    ab_buf_putc(&b, '[');
    ab_buf_put(&b, data);
    ab_buf_putc(&b, ']');
    bool yes = ab_buf_status(&b) == AB_ERR_OK &&
               ab_span_parse(ab_buf_str(&b), &doc, NULL) == AB_ERR_OK &&
               ab_str_eq(ab_span_raw(ab_span_first(ab_span_root(doc))), data);
    ab_span_free(doc);
    ab_buf_fini(&b);
    return yes;
}

static void write_attribute(ab_spanw *w, ab_attr a)
{
    ab_spanw_key(w, a.name);
    if (a.type == AB_ATTR_BOOLEAN || a.type == AB_ATTR_INTEGER)
        ab_spanw_raw(w, a.value);
    else
        ab_spanw_str(w, a.value);
}

static void write_data(ab_spanw *w, const ab_event *e)
{
    ab_str data = ab_event_data(e);
    if (data.ptr == NULL)
        return;
    if (is_json_type(ab_event_attr(e, AB_CE_DATACONTENTTYPE)) && is_embeddable(data)) {
        ab_spanw_key_raw(w, DATA, data);
        return;
    }
    /* Base64 needs no escapes, so it goes straight to the buffer. */
    ab_spanw_key_raw(w, DATA_BASE64, AB_STR("\""));
    ab_base64_encode(data, w->buf);
    ab_buf_putc(w->buf, '"');
}

ab_err event_to_json(const ab_event *e, ab_buf *out)
{
    ab_spanw w = ab_spanw_to(out);
    ab_spanw_object(&w);
    for (size_t i = 0; i < ab_event_attr_count(e); i++)
        write_attribute(&w, ab_event_attr_at(e, i));
    write_data(&w, e);
    ab_spanw_object_end(&w);
    return ab_buf_status(out);
}

ab_err event_to_protobuf(const ab_event *e, ab_buf *out)
{
    ab_err r = ab_event_to_protobuf_head(e, out);
    if (r == AB_ERR_OK && ab_event_data(e).len > 0)
        ab_buf_put(out, ab_event_data(e));
    return r == AB_ERR_OK ? ab_buf_status(out) : r;
}

ab_err event_from_protobuf(ab_str bytes, bool lenient, ab_event **out, ab_error *err)
{
    ab_pb_arena arena;
    const ProtobufCMessage *m = NULL;
    ab_err e =
        ab_event_unpack(&arena, &io__cloudevents__v1__cloud_event__descriptor, bytes, &m, err);
    if (e == AB_ERR_OK)
        e = ab_event_from_message((const Io__Cloudevents__V1__CloudEvent *)m, &arena, lenient, out,
                                  err);
    ab_pb_arena_fini(&arena);
    return e;
}
