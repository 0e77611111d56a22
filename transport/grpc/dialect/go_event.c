/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/grpc/dialect/go_event.h"

#include "base/protobuf.h"
#include "event/codec_protobuf.h"
#include "schema/attributes.h"
#include "transport/grpc/wire.h"

/* Room for attributes and framing beside the data. */
#define MESSAGE_OVERHEAD (4u * 1024 * 1024)

/* Fields of io.cloudevents.v1.CloudEvent, and the cases of an attribute's value. */
enum { FIELD_SOURCE = 2, FIELD_VERSION = 3, FIELD_TYPE = 4, FIELD_ATTRIBUTE = 5, FIELD_DATA = 6 };
enum { VALUE_STRING = 3, VALUE_URI = 5 };

/* ----- out ----- */

static void put_field(ab_buf *out, unsigned number, ab_str bytes)
{
    char *to = ab_buf_extend(out, ab_pb_bytes_size(bytes.len));
    if (to != NULL)
        ab_pb_put_bytes(to, number, bytes);
}

static void put_attribute(ab_buf *out, ab_str name, unsigned kind, ab_str text)
{
    ab_buf value, entry;
    if (text.len == 0)
        return;
    ab_buf_init(&value, AB_EVENT_ATTR_VALUE_MAX * 2);
    ab_buf_init(&entry, AB_EVENT_ATTR_VALUE_MAX * 2);
    put_field(&value, kind, text);
    put_field(&entry, 1, name);
    put_field(&entry, 2, ab_buf_str(&value));
    if (ab_buf_status(&value) == AB_ERR_OK && ab_buf_status(&entry) == AB_ERR_OK)
        put_field(out, FIELD_ATTRIBUTE, ab_buf_str(&entry));
    else
        out->status = AB_ERR_NOMEM;
    ab_buf_fini(&value);
    ab_buf_fini(&entry);
}

static void put_text(ab_buf *out, const char *name, const char *text)
{
    put_attribute(out, ab_str_of(name), VALUE_STRING, ab_str_of(text));
}

static void put_head(ab_buf *out, ab_target target, ab_type type, const char *source)
{
    if (source[0] != '\0')
        put_field(out, FIELD_SOURCE, ab_str_of(source));
    put_field(out, FIELD_VERSION, AB_STR("1.0"));
    put_field(out, FIELD_TYPE, ab_str_of(ab_type_name(type)));
    put_attribute(out, AB_STR(AB_CE_DATASCHEMA), VALUE_URI, ab_str_of(ab_target_name(target)));
}

static void finish(ab_buf *event, ab_buf *out)
{
    ab_err e = ab_buf_status(event);
    if (e == AB_ERR_OK)
        ab_grpc_write_text(ab_buf_str(event), out);
    else
        out->status = e;
    ab_buf_wipe(event); /* it may have been a Secret */
}

void ab_go_event_write(const ab_go_event *e, const char *source, ab_buf *out)
{
    ab_buf event;
    ab_buf_init(&event, AB_EVENT_DATA_MAX + MESSAGE_OVERHEAD);
    put_head(&event, e->target, e->type, source);
    put_text(&event, AB_CE_SUBJECT, e->subject);
    put_text(&event, AB_CE_RESOURCEID, e->resourceid);
    put_text(&event, AB_CE_EVENTID, e->eventid);
    put_text(&event, AB_CE_PRINCIPALUID, e->principaluid);
    put_text(&event, AB_CE_SENTAT, e->sentat);
    if (e->data.ptr != NULL) {
        put_text(&event, AB_CE_DATACONTENTTYPE, "application/json");
        put_field(&event, FIELD_DATA, e->data);
    }
    finish(&event, out);
}

/* What a CloudEvent has of its own; all else is an extension. */
static bool is_core(ab_str name)
{
    static const char *const core[] = {AB_CE_ID,         AB_CE_SOURCE,         AB_CE_SPECVERSION,
                                       AB_CE_TYPE,       AB_CE_SUBJECT,        AB_CE_TIME,
                                       AB_CE_DATASCHEMA, AB_CE_DATACONTENTTYPE};
    for (size_t i = 0; i < sizeof(core) / sizeof(core[0]); i++)
        if (ab_str_is(name, core[i]))
            return true;
    return false;
}

void ab_go_ack_write(const ab_event *event, const char *source, ab_buf *out)
{
    ab_buf ack;
    ab_buf_init(&ack, MESSAGE_OVERHEAD);
    put_head(&ack, AB_TARGET_EVENT_PROCESSED, AB_TYPE_PROCESSED, source);
    for (size_t i = 0; i < ab_event_attr_count(event); i++) {
        ab_attr attr = ab_event_attr_at(event, i);
        if (!is_core(attr.name))
            put_attribute(&ack, attr.name, VALUE_STRING, attr.value);
    }
    finish(&ack, out);
}

/* ----- in ----- */

ab_err ab_go_event_read(ab_str message, ab_event **out, ab_error *err)
{
    ab_str bytes;
    ab_err e = ab_grpc_read_text(message, &bytes);
    if (e != AB_ERR_OK)
        return ab_fail(err, e, "message is no event of a stream");
    return ab_event_from_protobuf(bytes, true, out, err);
}
