/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sync/world/records.h"

#include "schema/attributes.h"
#include "sync/kind/kind.h"
#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define TEXT_MAX 4096

static uint64_t version;
static bool held;
static const char *resource; /* NULL: none is named */

void begin(void)
{
    held = false;
    world_start_agent(&w);
    world_settle(&w);
}

void hold(void)
{
    held = true;
}

void settle(void)
{
    held = false;
    while (fake_log_has_next(w.down)) {
        fake_delivery *d = fake_log_next(w.down);
        ab_agent_deliver(w.agent, fake_delivery_event(d), d);
    }
    world_settle(&w);
}

const char *last_version(void)
{
    static char text[40];
    snprintf(text, sizeof(text), "1.%llu", (unsigned long long)version);
    return text;
}

static void split(const char *key, ab_str *kind, ab_str *ns, ab_str *name)
{
    assert_int_equal(ab_object_key_split(ab_str_of(key), kind, ns, name), AB_ERR_OK);
}

/* `object` is what it is about: the subject. */
static void send(const char *id, const char *key, ab_target target, ab_type type,
                 const char *object, bool remapped, const char *data)
{
    ab_event *event = NULL;
    ab_event_draft d = {.data = ab_str_of(data)};
    ab_event_set_text(&d, AB_CE_ID, id);
    ab_event_set_text(&d, AB_CE_SOURCE, AB_SOURCE_PRINCIPAL);
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(type));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(target));
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, key);
    ab_event_set_text(&d, AB_CE_SUBJECT, strchr(object, '/') + 1);
    ab_event_set_text(&d, AB_CE_PRINCIPALUID, "principal-1");
    ab_event_set_text(&d, AB_CE_RESOURCEID, resource);
    if (remapped)
        ab_event_set_text(&d, AB_CE_REMAPPED, "true");
    ab_event_set_u64(&d, AB_CE_WRITEREPOCH, 1);
    ab_event_set_u64(&d, AB_CE_OBJVERSION, ++version);
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    fake_log_append(w.down, event);
    ab_event_unref(event);
    if (!held)
        world_settle(&w);
}

static void object_text(const char *key, const char *meta, const char *rest, char out[TEXT_MAX])
{
    ab_str kind, ns, name;
    split(key, &kind, &ns, &name);
    int n = snprintf(out, TEXT_MAX,
                     "{\"apiVersion\":\"v1\",\"kind\":\"%.*s\",\"metadata\":{\"name\":\"%.*s\","
                     "\"namespace\":\"%.*s\"%s}%s}",
                     AB_STR_ARG(kind), AB_STR_ARG(name), AB_STR_ARG(ns), meta, rest);
    assert_true(n > 0 && n < TEXT_MAX);
}

static void send_state(const char *key, ab_type type, bool remapped, const char *data)
{
    ab_str kind, ns, name;
    split(key, &kind, &ns, &name);
    send("e", key, ab_kind_of(kind)->target, type, key, remapped, data);
}

void desired(const char *key, ab_type type, const char *meta, const char *rest)
{
    char text[TEXT_MAX];
    object_text(key, meta, rest, text);
    send_state(key, type, false, text);
}

void desired_of(const char *key, const char *uid, const char *meta, const char *rest)
{
    char text[TEXT_MAX], named[TEXT_MAX];
    snprintf(text, sizeof(text), "%s_%s", strrchr(key, '/') + 1, uid);
    snprintf(named, sizeof(named), ",\"uid\":\"%s\"%s", uid, meta);
    resource = text;
    desired(key, AB_TYPE_SPEC_UPDATE, named, rest);
    resource = NULL;
}

void remapped_desired(const char *key, ab_type type, const char *meta, const char *rest)
{
    char text[TEXT_MAX];
    object_text(key, meta, rest, text);
    send_state(key, type, true, text);
}

void payload(const char *key, bool remapped, const char *text)
{
    send_state(key, AB_TYPE_CREATE, remapped, text);
}

void end(const char *key)
{
    send_state(key, AB_TYPE_DELETE, false, NULL);
}

void end_of(const char *key, const char *uid)
{
    char text[TEXT_MAX];
    snprintf(text, sizeof(text), "%s_%s", strrchr(key, '/') + 1, uid);
    resource = text;
    end(key);
    resource = NULL;
}

void remapped_end(const char *key)
{
    send_state(key, AB_TYPE_DELETE, true, NULL);
}

void ask_operation(const char *id, const char *key, bool remapped, int n)
{
    char text[TEXT_MAX], rest[64], record[80];
    snprintf(rest, sizeof(rest), ",\"operation\":{\"n\":%d}", n);
    snprintf(record, sizeof(record), AB_KEY_COMMAND "%s", id);
    object_text(key, "", rest, text);
    send(id, record, AB_TARGET_APPLICATION, AB_TYPE_SET_OPERATION, key, remapped, text);
}

void ask_terminate(const char *id, const char *key)
{
    char text[TEXT_MAX], record[80];
    snprintf(record, sizeof(record), AB_KEY_COMMAND "%s", id);
    object_text(key, "", "", text);
    send(id, record, AB_TARGET_APPLICATION, AB_TYPE_TERMINATE_OPERATION, key, false, text);
}

void end_command(const char *id, const char *key, bool remapped)
{
    char record[80];
    snprintf(record, sizeof(record), AB_KEY_COMMAND "%s", id);
    send("end", record, AB_TARGET_APPLICATION, AB_TYPE_SET_OPERATION, key, remapped, NULL);
}

struct search {
    const char *key;
    const ab_event *found;
};

static void look_at(void *arg, const ab_event *head)
{
    struct search *s = arg;
    if (ab_str_is(ab_event_attr(head, AB_CE_PARTITIONKEY), s->key))
        s->found = head;
}

const ab_event *said(const char *key)
{
    struct search s = {.key = key};
    fake_log_heads(w.up, look_at, &s);
    return s.found;
}

bool said_with(const char *key, const char *text)
{
    const ab_event *event = said(key);
    assert_non_null(event);
    ab_str data = ab_event_data(event);
    return memmem(data.ptr, data.len, text, strlen(text)) != NULL;
}

bool said_of_target(const char *key, ab_target target, bool remapped)
{
    const ab_event *event = said(key);
    return event != NULL &&
           ab_str_is(ab_event_attr(event, AB_CE_DATASCHEMA), ab_target_name(target)) &&
           ab_str_is(ab_event_attr(event, AB_CE_REMAPPED), "true") == remapped;
}

int refused(const char *reason)
{
    ab_label label = {"reason", ab_str_of(reason)};
    return (int)ab_metric_value(ab_metric_get(w.agent_metrics, AB_METRIC_COUNTER,
                                              "argobus_events_refused_total", "", &label, 1));
}

ab_object *at(const char *key)
{
    return fake_store_find(w.local, key);
}

bool has_field(const ab_object *o, const char *member, const char *json)
{
    assert_non_null(o);
    ab_spanv v = ab_object_field(o, member);
    return json == NULL ? !ab_span_present(v) : ab_str_is(ab_span_raw(v), json);
}

void put(const char *key, const char *meta, const char *rest)
{
    char text[TEXT_MAX];
    object_text(key, meta, rest, text);
    ab_object *o = sample_object(text);
    fake_store_put(w.local, o);
    ab_object_unref(o);
    if (w.agent != NULL)
        world_settle(&w);
}
