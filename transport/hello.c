/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/hello.h"

#include "base/clock.h"
#include "base/digest.h"
#include "schema/attributes.h"
#include "schema/catalogue.h"

#include <stdio.h>

static void write_number(ab_jsonw *w, ab_str name, int64_t value)
{
    ab_jsonw_key(w, name);
    ab_jsonw_int(w, value);
}

void ab_hello_write(const ab_hello *hello, ab_jsonw *w)
{
    ab_jsonw_key_str(w, "mode", ab_str_of(hello->mode));
    ab_jsonw_key_str(w, "version", ab_str_of(hello->version));
    ab_jsonw_key_str(w, "instance", ab_str_of(hello->instance));
    write_number(w, AB_STR("epoch"), (int64_t)hello->epoch);
    write_number(w, AB_STR("time_ms"), hello->time_ms);
    ab_jsonw_key(w, AB_STR("leaving"));
    ab_jsonw_bool(w, hello->leaving);
    if (hello->certificate[0] != '\0')
        ab_jsonw_key_str(w, "certificate", ab_str_of(hello->certificate));
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

ab_err ab_hello_parse(const ab_event *event, ab_json **out, ab_error *err)
{
    ab_str data = ab_event_data(event);
    if (data.ptr == NULL || data.len > AB_HELLO_MAX)
        return ab_fail(err, AB_ERR_INVALID, "a hello of %zu bytes", data.len);
    return ab_json_parse(data, out, err);
}

static void read_text(ab_jsonv from, const char *name, char *out, size_t room)
{
    snprintf(out, room, "%.*s", AB_STR_ARG(ab_json_plain(ab_json_get(from, name))));
}

static bool read_number(ab_jsonv from, const char *name, int64_t max, int64_t *out)
{
    return ab_json_i64(ab_json_get(from, name), out) == AB_ERR_OK && *out >= 0 && *out <= max;
}

static ab_err read_certificate(ab_jsonv from, ab_hello *out)
{
    ab_jsonv certificate = ab_json_get(from, "certificate");
    if (!ab_json_present(certificate))
        return AB_ERR_OK;
    ab_err e = ab_json_copy(certificate, &out->text);
    if (e == AB_ERR_OK)
        e = ab_buf_status(&out->text);
    if (e == AB_ERR_OK && out->text.ptr != NULL)
        out->certificate = out->text.ptr;
    return e;
}

ab_err ab_hello_read(ab_jsonv from, ab_hello *out, ab_error *err)
{
    int64_t epoch = 0;
    *out = (ab_hello){.certificate = ""};
    ab_buf_init(&out->text, AB_HELLO_MAX);
    read_text(from, "mode", out->mode, sizeof(out->mode));
    read_text(from, "version", out->version, sizeof(out->version));
    read_text(from, "instance", out->instance, sizeof(out->instance));
    out->leaving = ab_json_typeof(ab_json_get(from, "leaving")) == AB_JSON_TRUE;
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
