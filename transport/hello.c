/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/hello.h"

#include "base/core/clock.h"
#include "base/core/digest.h"
#include "schema/attributes.h"
#include "schema/catalogue.h"

#include <stdio.h>

bool ab_hello_write(const ab_hello *hello, cJSON *object)
{
    bool certified = hello->certificate[0] != '\0';
    return ab_doc_add_str(object, "mode", ab_str_of(hello->mode)) &&
           ab_doc_add_str(object, "version", ab_str_of(hello->version)) &&
           ab_doc_add_str(object, "instance", ab_str_of(hello->instance)) &&
           ab_doc_add_i64(object, "epoch", (int64_t)hello->epoch) &&
           ab_doc_add_i64(object, "time_ms", hello->time_ms) &&
           ab_doc_add_bool(object, "leaving", hello->leaving) &&
           (!certified || ab_doc_add_str(object, "certificate", ab_str_of(hello->certificate)));
}

ab_err ab_hello_event(const ab_hello *hello, const char *source, ab_event_draft *draft,
                      ab_event **out)
{
    char id[37];
    char at[AB_TIME_TEXT];
    ab_err e = ab_uuid(id);
    if (e != AB_ERR_OK)
        return e;
    ab_time_format_ms(hello->time_ms * 1000, at);
    ab_event_set_text(draft, AB_CE_ID, id);
    ab_event_set_text(draft, AB_CE_SOURCE, source);
    ab_event_set_text(draft, AB_CE_TYPE, ab_type_name(AB_TYPE_PING));
    ab_event_set_text(draft, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_HEARTBEAT));
    ab_event_set_text(draft, AB_CE_DATACONTENTTYPE, "application/json");
    ab_event_set_text(draft, AB_CE_TIME, at);
    ab_event_set_text(draft, AB_CE_PARTITIONKEY, AB_KEY_HELLO);
    return ab_event_new(draft, out, NULL);
}

ab_err ab_hello_parse(const ab_event *event, cJSON **out, ab_error *err)
{
    ab_str data = ab_event_data(event);
    if (data.ptr == NULL || data.len > AB_HELLO_MAX)
        return ab_fail(err, AB_ERR_INVALID, "a hello of %zu bytes", data.len);
    return ab_doc_parse(data, AB_HELLO_MAX, out, err);
}

static void read_text(const cJSON *from, const char *name, char *out, size_t room)
{
    snprintf(out, room, "%.*s", AB_STR_ARG(ab_doc_text(from, name)));
}

static bool read_number(const cJSON *from, const char *name, int64_t max, int64_t *out)
{
    return ab_doc_i64(from, name, out) == AB_ERR_OK && *out >= 0 && *out <= max;
}

static ab_err read_certificate(const cJSON *from, ab_hello *out)
{
    ab_str certificate = ab_doc_text(from, "certificate");
    if (certificate.ptr == NULL)
        return cJSON_HasObjectItem(from, "certificate") ? AB_ERR_INVALID : AB_ERR_OK;
    ab_buf_put(&out->text, certificate);
    if (out->text.ptr != NULL)
        out->certificate = out->text.ptr;
    return ab_buf_status(&out->text);
}

ab_err ab_hello_read(const cJSON *from, ab_hello *out, ab_error *err)
{
    int64_t epoch = 0;
    *out = (ab_hello){.certificate = ""};
    ab_buf_init(&out->text, AB_HELLO_MAX);
    read_text(from, "mode", out->mode, sizeof(out->mode));
    read_text(from, "version", out->version, sizeof(out->version));
    read_text(from, "instance", out->instance, sizeof(out->instance));
    out->leaving = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(from, "leaving"));
    if (out->instance[0] == '\0')
        return ab_fail(err, AB_ERR_INVALID, "a hello without instance");
    if (!read_number(from, "epoch", INT64_MAX, &epoch) ||
        !read_number(from, "time_ms", INT64_MAX / 1000, &out->time_ms))
        return ab_fail(err, AB_ERR_INVALID, "a hello without epoch or time");
    out->epoch = (uint64_t)epoch;
    ab_err e = read_certificate(from, out);
    return e == AB_ERR_OK ? e : ab_fail(err, e, "the certificate of a hello: %s", ab_err_text(e));
}

bool ab_hello_is_new_certificate(const ab_hello *hello, ab_digest *told)
{
    ab_digest digest;
    /* Without a digest it counts as told. */
    if (ab_digest_of(ab_str_of(hello->certificate), &digest) != AB_ERR_OK ||
        ab_digest_eq(&digest, told))
        return false;
    *told = digest;
    return true;
}

void ab_hello_fini(ab_hello *hello)
{
    ab_buf_fini(&hello->text);
}
