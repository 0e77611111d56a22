/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/grpc/hello.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/json.h"
#include "schema/attributes.h"
#include "schema/catalogue.h"

#include <inttypes.h>
#include <stdio.h>

/* Beyond them a peer means harm, or nothing. */
#define INFLIGHT_MAX 65536

static void write_number(ab_jsonw *w, const char *name, int64_t value)
{
    ab_jsonw_key(w, ab_str_of(name));
    ab_jsonw_int(w, value);
}

static void write_bool(ab_jsonw *w, const char *name, bool value)
{
    ab_jsonw_key(w, ab_str_of(name));
    ab_jsonw_bool(w, value);
}

static void write_json(const ab_grpc_hello *h, ab_buf *out)
{
    ab_jsonw w = ab_jsonw_to(out);
    ab_jsonw_object(&w);
    ab_jsonw_key_str(&w, "mode", ab_str_of(h->mode));
    ab_jsonw_key_str(&w, "version", ab_str_of(h->version));
    ab_jsonw_key_str(&w, "instance", ab_str_of(h->instance));
    write_number(&w, "epoch", (int64_t)h->epoch);
    write_number(&w, "seen", (int64_t)h->seen);
    write_number(&w, "time_ms", h->time_ms);
    write_number(&w, "inflight", h->inflight);
    write_number(&w, "message_max", h->message_max);
    write_number(&w, "backlog", h->backlog);
    write_bool(&w, "fresh", h->fresh);
    write_bool(&w, "leaving", h->leaving);
    if (h->certificate[0] != '\0')
        ab_jsonw_key_str(&w, "certificate", ab_str_of(h->certificate));
    ab_jsonw_object_end(&w);
}

ab_err ab_grpc_hello_make(const ab_grpc_hello *hello, const char *source, ab_event **out)
{
    char id[37];
    char at[AB_TIME_TEXT];
    ab_err e = ab_uuid(id);
    if (e != AB_ERR_OK)
        return e;
    ab_time_format(hello->time_ms * 1000, at);
    ab_buf data;
    ab_buf_init(&data, AB_GRPC_HELLO_MAX);
    write_json(hello, &data);
    ab_event_draft d = {.data = ab_buf_str(&data)};
    ab_event_set_text(&d, AB_CE_ID, id);
    ab_event_set_text(&d, AB_CE_SOURCE, source);
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(AB_TYPE_PING));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_HEARTBEAT));
    ab_event_set_text(&d, AB_CE_DATACONTENTTYPE, "application/json");
    ab_event_set_text(&d, AB_CE_TIME, at);
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, AB_KEY_HELLO);
    e = ab_buf_status(&data);
    if (e == AB_ERR_OK)
        e = ab_event_new(&d, out, NULL);
    ab_buf_fini(&data);
    return e;
}

static void read_text(ab_jsonv from, const char *name, char *out, size_t room)
{
    snprintf(out, room, "%.*s", AB_STR_ARG(ab_json_plain(ab_json_get(from, name))));
}

static bool read_number(ab_jsonv from, const char *name, int64_t min, int64_t max, int64_t *out)
{
    return ab_json_i64(ab_json_get(from, name), out) == AB_ERR_OK && *out >= min && *out <= max;
}

static bool read_bool(ab_jsonv from, const char *name)
{
    return ab_json_typeof(ab_json_get(from, name)) == AB_JSON_TRUE;
}

static ab_err read_numbers(ab_jsonv v, ab_grpc_hello *out, ab_error *err)
{
    int64_t epoch, seen;
    if (!read_number(v, "epoch", 0, INT64_MAX, &epoch) ||
        !read_number(v, "seen", 0, INT64_MAX, &seen))
        return ab_fail(err, AB_ERR_INVALID, "a hello without epochs");
    if (!read_number(v, "time_ms", 0, INT64_MAX / 1000, &out->time_ms) ||
        !read_number(v, "inflight", 1, INFLIGHT_MAX, &out->inflight) ||
        !read_number(v, "message_max", 1, INT64_MAX, &out->message_max) ||
        !read_number(v, "backlog", 0, INT64_MAX, &out->backlog))
        return ab_fail(err, AB_ERR_INVALID, "a hello with numbers that mean nothing");
    out->epoch = (uint64_t)epoch;
    out->seen = (uint64_t)seen;
    return AB_ERR_OK;
}

static ab_err read_certificate(ab_jsonv v, ab_grpc_hello *out)
{
    ab_jsonv certificate = ab_json_get(v, "certificate");
    if (!ab_json_present(certificate))
        return AB_ERR_OK;
    ab_err e = ab_json_copy(certificate, &out->text);
    if (e == AB_ERR_OK)
        e = ab_buf_status(&out->text);
    if (e == AB_ERR_OK && out->text.ptr != NULL)
        out->certificate = out->text.ptr;
    return e;
}

static ab_err read_members(ab_jsonv v, ab_grpc_hello *out, ab_error *err)
{
    read_text(v, "mode", out->mode, sizeof(out->mode));
    read_text(v, "version", out->version, sizeof(out->version));
    read_text(v, "instance", out->instance, sizeof(out->instance));
    out->fresh = read_bool(v, "fresh");
    out->leaving = read_bool(v, "leaving");
    if (out->instance[0] == '\0')
        return ab_fail(err, AB_ERR_INVALID, "a hello without instance");
    ab_err e = read_numbers(v, out, err);
    if (e != AB_ERR_OK)
        return e;
    e = read_certificate(v, out);
    return e == AB_ERR_OK ? e : ab_fail(err, e, "the certificate of a hello: %s", ab_err_text(e));
}

ab_err ab_grpc_hello_read(const ab_event *event, ab_grpc_hello *out, ab_error *err)
{
    ab_json *doc = NULL;
    *out = (ab_grpc_hello){.certificate = ""};
    ab_buf_init(&out->text, AB_GRPC_HELLO_MAX);
    ab_str data = ab_event_data(event);
    if (data.len > AB_GRPC_HELLO_MAX)
        return ab_fail(err, AB_ERR_INVALID, "a hello of %zu bytes", data.len);
    ab_err e = ab_json_parse(data, &doc, err);
    if (e != AB_ERR_OK)
        return e;
    e = read_members(ab_json_root(doc), out, err);
    ab_json_free(doc);
    return e;
}

void ab_grpc_hello_fini(ab_grpc_hello *hello)
{
    ab_buf_fini(&hello->text);
}
