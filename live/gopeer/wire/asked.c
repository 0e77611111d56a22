/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/base64.h"
#include "base/json/span.h"
#include "live/gopeer/wire/wire.h"
#include "live/resource/query.h"
#include "live/resource/service.h"

#define TARGET_MAX (4u * AB_RESOURCE_TARGET_MAX)

/* ----- resource requests ----- */

/* A part of the path. What does not belong into one is refused by who reads the path. */
static ab_err put_part(ab_spanv root, const char *name, const char *before, ab_buf *out)
{
    ab_spanv v = ab_span_get(root, name);
    if (!ab_span_present(v))
        return AB_ERR_OK;
    ab_buf text = ab_buf_up_to(AB_RESOURCE_PATH_MAX);
    ab_err e = ab_span_copy(v, &text);
    if (e == AB_ERR_OK && text.len > 0) {
        ab_buf_puts(out, before);
        ab_resource_query_encode(ab_buf_str(&text), out);
    }
    ab_buf_fini(&text);
    return e;
}

static ab_err put_path(ab_spanv root, ab_gopeer_asked *out)
{
    static const char *const parts[][2] = {{"version", "/"},
                                           {"namespace", "/namespaces/"},
                                           {"resource", "/"},
                                           {"name", "/"},
                                           {"subresource", "/"}};
    ab_spanv group = ab_span_get(root, "group");
    bool core = !ab_span_present(group) || ab_span_is(group, "");
    out->is_groups = core && (!ab_span_present(ab_span_get(root, "version")) ||
                              ab_span_is(ab_span_get(root, "version"), ""));
    ab_buf_puts(&out->target, core && !out->is_groups ? "/api" : "/apis");
    ab_err e = put_part(root, "group", "/", &out->target);
    for (size_t i = 0; e == AB_ERR_OK && i < sizeof(parts) / sizeof(parts[0]); i++)
        e = put_part(root, parts[i][0], parts[i][1], &out->target);
    return e;
}

static ab_err put_param(ab_spanv value, bool first, ab_buf *out)
{
    ab_str key = ab_span_raw_key(value);
    ab_buf text = ab_buf_up_to(AB_RESOURCE_TARGET_MAX);
    (void)ab_span_unescape((ab_str){key.ptr + 1, key.len - 2}, &text);
    ab_buf_putc(out, first ? '?' : '&');
    ab_resource_query_encode(ab_buf_str(&text), out);
    ab_buf_putc(out, '=');
    ab_err e = ab_buf_status(&text);
    ab_buf_clear(&text);
    if (e == AB_ERR_OK)
        e = ab_span_copy(value, &text);
    ab_resource_query_encode(ab_buf_str(&text), out);
    ab_buf_fini(&text);
    return e;
}

static ab_err put_params(ab_spanv params, ab_buf *out)
{
    ab_err e = AB_ERR_OK;
    bool first = true;
    if (ab_span_present(params) && ab_span_typeof(params) != AB_SPAN_OBJECT &&
        ab_span_typeof(params) != AB_SPAN_NULL)
        return AB_ERR_INVALID;
    for (ab_spanv v = ab_span_first(params); e == AB_ERR_OK && ab_span_present(v);
         v = ab_span_next(v)) {
        e = put_param(v, first, out);
        first = false;
    }
    return e;
}

static ab_err read_body(ab_spanv body, ab_buf *out)
{
    if (!ab_span_present(body) || ab_span_typeof(body) == AB_SPAN_NULL)
        return AB_ERR_OK;
    if (ab_span_typeof(body) != AB_SPAN_STRING || !ab_base64_decode(ab_span_plain(body), out))
        return AB_ERR_INVALID;
    return ab_buf_status(out);
}

static ab_err read_method(ab_spanv root, ab_gopeer_asked *out)
{
    static const char *const methods[] = {"GET", "POST", "PATCH", "DELETE"};
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        if (ab_span_is(ab_span_get(root, "method"), methods[i])) {
            out->method = methods[i];
            return AB_ERR_OK;
        }
    }
    return AB_ERR_INVALID;
}

ab_err ab_gopeer_wire_read_asked(ab_str data, ab_gopeer_asked *out, ab_error *err)
{
    ab_span *doc = NULL;
    *out = (ab_gopeer_asked){.method = "GET"};
    ab_buf_init(&out->target, TARGET_MAX);
    ab_buf_init_secret(&out->body, AB_RESOURCE_BODY_MAX);
    ab_err e = ab_span_parse(data, &doc, err);
    if (e != AB_ERR_OK)
        return e;
    ab_spanv root = ab_span_root(doc);
    e = read_method(root, out);
    if (e == AB_ERR_OK)
        e = put_path(root, out);
    if (e == AB_ERR_OK)
        e = put_params(ab_span_get(root, "params"), &out->target);
    if (e == AB_ERR_OK)
        e = read_body(ab_span_get(root, "body"), &out->body);
    if (e == AB_ERR_OK)
        e = ab_buf_status(&out->target);
    ab_span_wipe(doc);
    return e == AB_ERR_OK ? e : ab_fail(err, e, "it is not a resource request");
}

void ab_gopeer_wire_free_asked(ab_gopeer_asked *asked)
{
    ab_buf_fini(&asked->target);
    ab_buf_wipe(&asked->body);
}

void ab_gopeer_wire_put_response(const char *uuid, int status, ab_str resource, ab_buf *out)
{
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_key_str(&w, "uuid", ab_str_of(uuid));
    ab_spanw_key_int(&w, "status", status);
    if (resource.len > 0)
        ab_spanw_key_str(&w, "resource", resource);
    ab_spanw_object_end(&w);
}
