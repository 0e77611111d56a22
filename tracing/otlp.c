/* SPDX-License-Identifier: Apache-2.0 */
#include "tracing/otlp.h"

#include "schema/proto/otlp.pb-c.h"
#include "schema/protobuf.h"

#include <stdlib.h>

#define STATUS_ERROR 2
#define NS_PER_US    1000

/* A list of attributes, and what it points to. */
struct attributes {
    Otlp__KeyValue pairs[AB_TRACE_ATTRIBUTES_MAX];
    Otlp__AnyValue values[AB_TRACE_ATTRIBUTES_MAX];
    Otlp__KeyValue *list[AB_TRACE_ATTRIBUTES_MAX];
    size_t count;
};

/* A span, and what it points to. */
struct written {
    Otlp__Span span;
    Otlp__Status status;
    struct attributes attributes;
};

static void add(struct attributes *a, const char *name, ab_str value)
{
    Otlp__KeyValue *pair = &a->pairs[a->count];
    Otlp__AnyValue *text = &a->values[a->count];
    otlp__any_value__init(text);
    text->value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
    text->string_value = ab_pb_bytes(value);
    otlp__key_value__init(pair);
    pair->key = ab_pb_bytes(ab_str_of(name));
    pair->value = text;
    a->list[a->count++] = pair;
}

static ProtobufCBinaryData bytes_of(const uint8_t *bytes, size_t count)
{
    return ab_pb_bytes((ab_str){(const char *)bytes, count});
}

static void fill(struct written *w, const ab_trace_span *span)
{
    Otlp__Span *s = &w->span;
    otlp__span__init(s);
    s->trace_id = bytes_of(span->context.trace, sizeof(span->context.trace));
    s->span_id = bytes_of(span->context.span, sizeof(span->context.span));
    if (span->has_parent)
        s->parent_span_id = bytes_of(span->parent, sizeof(span->parent));
    s->name = ab_pb_bytes(ab_str_of(span->name));
    s->kind = (int32_t)span->kind;
    s->start_time_unix_nano = (uint64_t)span->start_us * NS_PER_US;
    s->end_time_unix_nano = (uint64_t)span->end_us * NS_PER_US;
    s->flags = span->context.sampled;
    for (size_t i = 0; i < span->attribute_count; i++)
        add(&w->attributes, span->attributes[i].name, span->attributes[i].value);
    s->n_attributes = w->attributes.count;
    s->attributes = w->attributes.list;
    if (span->error.ptr == NULL)
        return;
    otlp__status__init(&w->status);
    w->status.code = STATUS_ERROR;
    w->status.message = ab_pb_bytes(span->error);
    s->status = &w->status;
}

static void fill_all(const ab_link *spans, size_t count, struct written *out, Otlp__Span **list)
{
    size_t n = 0;
    for (ab_list_iter i = ab_list_first(spans); i.link != NULL && n < count; ab_list_next(&i)) {
        fill(&out[n], AB_LINK_OF(i.link, ab_trace_span, link));
        list[n] = &out[n].span;
        n++;
    }
}

static void write_request(const ab_otlp_resource *resource, Otlp__Span **list, size_t count,
                          ab_buf *out)
{
    struct attributes who = {0};
    add(&who, "service.name", ab_str_of(resource->service));
    add(&who, "service.version", ab_str_of(resource->version));
    add(&who, "service.instance.id", ab_str_of(resource->instance));
    Otlp__Resource from = OTLP__RESOURCE__INIT;
    from.n_attributes = who.count;
    from.attributes = who.list;
    Otlp__Scope scope = OTLP__SCOPE__INIT;
    scope.name = ab_pb_bytes(AB_STR("argobus"));
    scope.version = ab_pb_bytes(ab_str_of(resource->version));
    Otlp__ScopeSpans of_scope = OTLP__SCOPE_SPANS__INIT;
    of_scope.scope = &scope;
    of_scope.n_spans = count;
    of_scope.spans = list;
    Otlp__ResourceSpans of_resource = OTLP__RESOURCE_SPANS__INIT;
    of_resource.resource = &from;
    of_resource.n_scope_spans = 1;
    of_resource.scope_spans = (Otlp__ScopeSpans *[]){&of_scope};
    Otlp__ExportRequest request = OTLP__EXPORT_REQUEST__INIT;
    request.n_resource_spans = 1;
    request.resource_spans = (Otlp__ResourceSpans *[]){&of_resource};
    ab_pb_pack(&request.base, out);
}

ab_err ab_otlp_write(const ab_otlp_resource *resource, const ab_link *spans, size_t count,
                     ab_buf *out)
{
    struct written *written = calloc(count, sizeof(*written));
    Otlp__Span **list = calloc(count, sizeof(void *));
    if (written != NULL && list != NULL) {
        fill_all(spans, count, written, list);
        write_request(resource, list, count, out);
    }
    bool short_of_memory = written == NULL || list == NULL;
    free(written);
    free(list);
    return short_of_memory ? AB_ERR_NOMEM : ab_buf_status(out);
}
