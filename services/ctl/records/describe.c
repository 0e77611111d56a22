/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/records/describe.h"

#include "transport/kafka/client/record.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool is_one_of(const char *name, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, words[i]) == 0)
            return true;
    return false;
}

static bool has_secret_values(const char *name)
{
    static const char *const names[] = {"data", "stringData", "binaryData"};
    return is_one_of(name, names, sizeof(names) / sizeof(*names));
}

static bool is_secret(const char *name)
{
    static const char *const words[] = {"password",   "token",   "secret",
                                        "credential", "private", "last-applied-configuration"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcasestr(name, words[i]) != NULL)
            return true;
    return false;
}

/* Without memory for the words nothing is left of the text, which needs none. */
static void hide_text(cJSON *value)
{
    if (cJSON_SetValuestring(value, AB_RECORD_REDACTED) == NULL)
        (void)cJSON_SetValuestring(value, "");
}

/* {"name": "db.password", "value": "x"}, as parameters of Helm and variables of a plugin have it.
 */
static bool is_named_value(const cJSON *object, const char *member)
{
    static const char *const values[] = {"value", "string", "array", "map"};
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "name"));
    return name != NULL && is_secret(name) &&
           is_one_of(member, values, sizeof(values) / sizeof(*values));
}

/* A file in a text, as values of Helm and patches of kustomize are. */
static bool is_file_with_secrets(const char *text)
{
    return strchr(text, '\n') != NULL && is_secret(text);
}

/* https://user:password@host, or https://token@host; the user of ssh://git@host is none. */
static bool has_login(const char *text)
{
    for (const char *at = strstr(text, "://"); at != NULL; at = strstr(at, "://")) {
        bool ssh = at - text >= 3 && strncmp(at - 3, "ssh", 3) == 0;
        at += 3;
        size_t len = strcspn(at, "/?#\"' \t\n");
        const char *end = memrchr(at, '@', len);
        if (end != NULL && (!ssh || memchr(at, ':', (size_t)(end - at)) != NULL))
            return true;
    }
    return false;
}

/* @param all  every text of it, however deep */
static void redact(cJSON *value, bool all)
{
    for (cJSON *child = value->child; child != NULL; child = child->next) {
        const char *name = child->string == NULL ? "" : child->string;
        bool hide = all || is_secret(name) || is_named_value(value, name);
        if (cJSON_IsString(child) &&
            (hide || is_file_with_secrets(child->valuestring) || has_login(child->valuestring)))
            hide_text(child);
        else
            redact(child, hide || has_secret_values(name));
    }
}

void ab_record_redact(cJSON *object)
{
    redact(object, false);
}

/* --- the record --- */

static bool add_time(cJSON *doc, const rd_kafka_message_t *m)
{
    struct tm parts;
    char text[40];
    rd_kafka_timestamp_type_t type;
    int64_t ms = rd_kafka_message_timestamp(m, &type);
    time_t seconds = (time_t)(ms / 1000);
    if (ms <= 0 || gmtime_r(&seconds, &parts) == NULL)
        return true;
    size_t len = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return ab_doc_add_str(doc, "time", (ab_str){text, len});
}

static bool add_attributes(cJSON *doc, const ab_event *event)
{
    cJSON *attributes = cJSON_AddObjectToObject(doc, "attributes");
    bool ok = attributes != NULL;
    for (size_t i = 0; ok && i < ab_event_attr_count(event); i++) {
        ab_attr a = ab_event_attr_at(event, i);
        char *name = ab_str_dup(a.name);
        ok = name != NULL && ab_doc_add_str(attributes, name,
                                            is_secret(name) ? AB_STR(AB_RECORD_REDACTED) : a.value);
        free(name);
    }
    return ok;
}

static bool add_data(cJSON *doc, const ab_event *event)
{
    cJSON *data = NULL;
    ab_str text = ab_event_data(event);
    if (text.len == 0 || ab_doc_parse(text, AB_EVENT_DATA_MAX, &data, NULL) != AB_ERR_OK)
        return cJSON_AddNullToObject(doc, "data") != NULL;
    ab_record_redact(data);
    if (cJSON_AddItemToObject(doc, "data", data))
        return true;
    cJSON_Delete(data);
    return false;
}

static bool add_event(cJSON *doc, const rd_kafka_message_t *m)
{
    ab_event *event = NULL;
    const char *reason = NULL;
    ab_error err = {0};
    if (ab_kafka_record_decode(m, true, &event, &reason, &err) != AB_ERR_OK)
        return ab_doc_add_str(doc, "error", ab_str_of(err.text));
    bool ok = add_attributes(doc, event) && add_data(doc, event);
    ab_event_unref(event);
    return ok;
}

cJSON *ab_record_describe(const char *direction, const rd_kafka_message_t *m)
{
    cJSON *doc = cJSON_CreateObject();
    ab_str key = {m->key, m->key == NULL ? 0 : m->key_len};
    if (ab_doc_add_str(doc, "direction", ab_str_of(direction)) &&
        cJSON_AddNumberToObject(doc, "offset", (double)m->offset) != NULL && add_time(doc, m) &&
        ab_doc_add_str(doc, "key", key.ptr == NULL ? AB_STR("") : key) &&
        cJSON_AddNumberToObject(doc, "bytes", (double)m->len) != NULL && add_event(doc, m))
        return doc;
    cJSON_Delete(doc);
    return NULL;
}
