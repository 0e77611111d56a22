/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/grpc/compat/go_event.h"

#include "schema/attributes.h"
#include "schema/proto/cloudevents.pb-c.h"
#include "transport/grpc/wire.h"

typedef Io__Cloudevents__V1__AttributeEntry entry;
typedef Io__Cloudevents__V1__AttributeValue value;

/* ----- out ----- */

/* A message that is being made; all texts are borrowed. */
typedef struct {
    Io__Cloudevents__V1__CloudEvent event;
    entry *list[AB_EVENT_ATTRS_MAX];
    entry entries[AB_EVENT_ATTRS_MAX];
    value values[AB_EVENT_ATTRS_MAX];
} message;

static value *add_attribute(message *m, ab_str name)
{
    size_t i = m->event.n_attributes++;
    io__cloudevents__v1__attribute_value__init(&m->values[i]);
    io__cloudevents__v1__attribute_entry__init(&m->entries[i]);
    m->entries[i].key = ab_pb_bytes(name);
    m->entries[i].value = &m->values[i];
    m->list[i] = &m->entries[i];
    return &m->values[i];
}

static void add_string(message *m, ab_str name, ab_str text)
{
    if (text.len == 0 || m->event.n_attributes == AB_EVENT_ATTRS_MAX)
        return;
    value *v = add_attribute(m, name);
    v->attr_case = IO__CLOUDEVENTS__V1__ATTRIBUTE_VALUE__ATTR_CE_STRING;
    v->ce_string = ab_pb_bytes(text);
}

static void add_text(message *m, const char *name, const char *text)
{
    add_string(m, ab_str_of(name), ab_str_of(text));
}

static void begin(message *m, ab_target target, ab_type type, const char *source)
{
    io__cloudevents__v1__cloud_event__init(&m->event);
    m->event.attributes = m->list;
    m->event.source = ab_pb_bytes(ab_str_of(source));
    m->event.spec_version = ab_pb_bytes(AB_STR("1.0"));
    m->event.type = ab_pb_bytes(ab_str_of(ab_type_name(type)));
    value *v = add_attribute(m, AB_STR(AB_CE_DATASCHEMA));
    v->attr_case = IO__CLOUDEVENTS__V1__ATTRIBUTE_VALUE__ATTR_CE_URI;
    v->ce_uri = ab_pb_bytes(ab_str_of(ab_target_name(target)));
}

void ab_go_event_write(const ab_go_event *e, const char *source, ab_buf *out)
{
    message m;
    begin(&m, e->target, e->type, source);
    add_text(&m, AB_CE_SUBJECT, e->subject);
    add_text(&m, AB_CE_RESOURCEID, e->resourceid);
    add_text(&m, AB_CE_EVENTID, e->eventid);
    add_text(&m, AB_CE_PRINCIPALUID, e->principaluid);
    add_text(&m, AB_CE_SENTAT, e->sentat);
    if (e->data.ptr != NULL) {
        add_text(&m, AB_CE_DATACONTENTTYPE, "application/json");
        m.event.data_case = IO__CLOUDEVENTS__V1__CLOUD_EVENT__DATA_BINARY_DATA;
        m.event.binary_data = ab_pb_bytes(e->data);
    }
    ab_grpc_write_message(&m.event, out);
}

void ab_go_ack_write(const ab_event *event, const char *source, ab_buf *out)
{
    message m;
    begin(&m, AB_TARGET_EVENT_PROCESSED, AB_TYPE_PROCESSED, source);
    for (size_t i = 0; i < ab_event_attr_count(event); i++) {
        ab_attr attr = ab_event_attr_at(event, i);
        if (ab_grpc_is_extension(attr.name))
            add_string(&m, attr.name, attr.value);
    }
    ab_grpc_write_message(&m.event, out);
}
