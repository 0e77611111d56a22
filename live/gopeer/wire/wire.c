/* SPDX-License-Identifier: Apache-2.0 */
#include "live/gopeer/wire/wire.h"

#include "base/core/base64.h"
#include "base/json/span.h"
#include "live/resource/query.h"

#define PARAMS_MAX 64
#define BASE64_MAX (8u * 1024 * 1024)

/* ----- resource requests ----- */

static ab_err refuse(int *status, int with, ab_error *err, const char *what)
{
    *status = with;
    return ab_fail(err, AB_ERR_UNSUPPORTED, "%s: this agent is an argocd-agent", what);
}

/* /api, /apis, /api/v1, /apis/GROUP/VERSION */
static bool is_known_discovery(const ab_resource_map *m)
{
    bool core = m->part_count > 0 && ab_str_is(m->parts[0], "api");
    bool groups = m->part_count > 0 && ab_str_is(m->parts[0], "apis");
    return m->kind == AB_RESOURCE_DISCOVERY &&
           ((core && m->part_count <= 2) || (groups && (m->part_count == 1 || m->part_count == 3)));
}

ab_err ab_gopeer_wire_check(const ab_resource_map *m, int *status, ab_error *err)
{
    if (m->kind != AB_RESOURCE_OBJECTS)
        return is_known_discovery(m) ? AB_ERR_OK
                                     : refuse(status, 501, err, "this path is not served");
    if (ab_resource_map_is_core(m, "pods") && ab_str_is(m->subresource, "log"))
        return refuse(status, 501, err, "logs are not served");
    switch (m->verb) {
    case AB_RESOURCE_WATCH:
        return refuse(status, 501, err, "watches are not served");
    case AB_RESOURCE_UPDATE:
        return refuse(status, 405, err, "PUT is not served, send a merge patch");
    case AB_RESOURCE_DELETECOLLECTION:
        return refuse(status, 405, err, "collections are not deleted");
    case AB_RESOURCE_CONNECT:
        return refuse(status, 501, err, "attach, ports and proxies are not served");
    default:
        return AB_ERR_OK;
    }
}

/* Of a parameter that is there twice argocd-agent has the first. */
static bool is_repeated(const ab_buf *names, size_t count, ab_str name)
{
    for (size_t i = 0; i < count; i++) {
        if (ab_str_eq(ab_buf_str(&names[i]), name))
            return true;
    }
    return false;
}

static ab_err put_param(ab_spanw *w, ab_str param, ab_buf *names, size_t count)
{
    ab_buf value = ab_buf_up_to(AB_RESOURCE_TARGET_MAX);
    ab_err e = ab_resource_query_decode(ab_str_cut(&param, '='), true, &names[count]);
    if (e == AB_ERR_OK)
        e = ab_resource_query_decode(param, true, &value);
    if (e == AB_ERR_OK && !is_repeated(names, count, ab_buf_str(&names[count]))) {
        ab_spanw_key(w, ab_buf_str(&names[count]));
        ab_spanw_str(w, ab_buf_str(&value));
    }
    ab_buf_fini(&value);
    return e;
}

static ab_err put_each_param(ab_spanw *w, ab_str query, ab_buf *names, size_t *count)
{
    ab_err e = AB_ERR_OK;
    while (query.len > 0 && e == AB_ERR_OK) {
        ab_str param = ab_str_cut(&query, '&');
        if (*count == PARAMS_MAX)
            return AB_ERR_INVALID;
        if (param.len > 0) {
            ab_buf_init(&names[*count], AB_RESOURCE_TARGET_MAX);
            e = put_param(w, param, names, *count);
            (*count)++;
        }
    }
    return e;
}

static ab_err put_params(ab_spanw *w, ab_str query)
{
    ab_buf names[PARAMS_MAX];
    size_t count = 0;
    if (query.len == 0)
        return AB_ERR_OK;
    ab_spanw_key_object(w, "params");
    ab_err e = put_each_param(w, query, names, &count);
    ab_spanw_object_end(w);
    for (size_t i = 0; i < count; i++)
        ab_buf_fini(&names[i]);
    return e;
}

static void put_if(ab_spanw *w, const char *name, ab_str value)
{
    if (value.len > 0)
        ab_spanw_key_str(w, name, value);
}

static void put_always(ab_spanw *w, const char *name, ab_str value)
{
    ab_spanw_key_str(w, name, value.len > 0 ? value : AB_STR(""));
}

static ab_err put_body(ab_spanw *w, ab_str body)
{
    if (body.len == 0)
        return AB_ERR_OK;
    ab_buf text = ab_buf_secret_up_to(BASE64_MAX);
    ab_base64_encode(body, &text);
    ab_err e = ab_buf_status(&text);
    if (e == AB_ERR_OK)
        ab_spanw_key_str(w, "body", ab_buf_str(&text));
    ab_buf_wipe(&text);
    return e;
}

static void put_names(ab_spanw *w, const ab_resource_map *m)
{
    /* A Namespace is in no namespace, although RBAC has it so. */
    if (!ab_resource_map_is_core(m, "namespaces"))
        put_if(w, "namespace", m->ns);
    put_always(w, "name", m->name);
    put_if(w, "subresource", m->subresource);
    put_always(w, "group", m->group);
    put_always(w, "version", m->version);
    put_always(w, "resource", m->resource);
}

ab_err ab_gopeer_wire_put_request(const char *uuid, ab_str method, const ab_resource_map *m,
                                  ab_str body, ab_buf *out, ab_error *err)
{
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_key_str(&w, "uuid", ab_str_of(uuid));
    put_names(&w, m);
    ab_spanw_key_str(&w, "method", method);
    ab_err e = put_body(&w, body);
    if (e == AB_ERR_OK)
        e = put_params(&w, m->query);
    ab_spanw_object_end(&w);
    if (e == AB_ERR_INVALID)
        return ab_fail(err, e, "the query cannot be read, or has more than %d parameters",
                       PARAMS_MAX);
    return e == AB_ERR_OK ? ab_buf_status(out) : e;
}

/* ----- their responses ----- */

static ab_err read_response(ab_spanv root, int *status, ab_buf *resource)
{
    int64_t code = 0;
    ab_spanv object = ab_span_get(root, "resource");
    if (ab_span_i64(ab_span_get(root, "status"), &code) != AB_ERR_OK || code < 200 || code > 599)
        return AB_ERR_PARSE;
    if (ab_span_present(object) && ab_span_typeof(object) != AB_SPAN_STRING)
        return AB_ERR_PARSE;
    *status = (int)code;
    return ab_span_present(object) ? ab_span_copy(object, resource) : AB_ERR_OK;
}

ab_err ab_gopeer_wire_read_response(ab_str data, int *status, ab_buf *resource, ab_error *err)
{
    ab_span *doc = NULL;
    ab_err e = ab_span_parse(data, &doc, err);
    if (e != AB_ERR_OK)
        return e;
    e = read_response(ab_span_root(doc), status, resource);
    ab_span_wipe(doc);
    return e == AB_ERR_PARSE ? ab_fail(err, e, "it has no status, or no text as its resource") : e;
}
