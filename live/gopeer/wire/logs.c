/* SPDX-License-Identifier: Apache-2.0
 *
 * The request for a log: the parameters of a Pod's log, by the names that Go's struct gives them.
 */
#include "base/json/span.h"
#include "live/gopeer/wire/side.h"
#include "live/resource/query.h"

#define VALUE_MAX 1024

typedef enum { TEXT, NUMBER, BOOL } param_type;

/* As in the query and in the struct, in the struct's order. */
static const struct {
    const char *name;
    param_type type;
} PARAMS[] = {{"container", TEXT},   {"follow", BOOL},
              {"tailLines", NUMBER}, {"sinceSeconds", NUMBER},
              {"sinceTime", TEXT},   {"timestamps", BOOL},
              {"previous", BOOL},    {"insecureSkipTLSVerifyBackend", BOOL},
              {"limitBytes", NUMBER}};
#define PARAM_COUNT (sizeof(PARAMS) / sizeof(PARAMS[0]))

/* ----- out ----- */

static ab_err put_number(ab_spanw *w, const char *name, ab_str text)
{
    uint64_t number = 0;
    if (ab_str_to_u64(text, &number) != AB_ERR_OK || number > INT64_MAX)
        return AB_ERR_INVALID;
    ab_spanw_key_int(w, name, (int64_t)number);
    return AB_ERR_OK;
}

static ab_err put_bool(ab_spanw *w, const char *name, ab_str query)
{
    bool value = false;
    ab_err e = ab_resource_query_bool(query, name, &value, NULL);
    if (e == AB_ERR_OK && value)
        ab_spanw_key_raw(w, name, AB_STR("true"));
    return e;
}

/* What is there twice could be read otherwise than here. */
static ab_err put_param(ab_spanw *w, size_t i, ab_str query)
{
    size_t count = 0;
    if (PARAMS[i].type == BOOL)
        return put_bool(w, PARAMS[i].name, query);
    ab_buf value = ab_buf_up_to(VALUE_MAX);
    ab_err e = ab_resource_query_find(query, PARAMS[i].name, &value, &count);
    if (e == AB_ERR_OK && count > 1)
        e = AB_ERR_INVALID;
    if (e == AB_ERR_OK && count == 1 && value.len > 0) {
        if (PARAMS[i].type == NUMBER)
            e = put_number(w, PARAMS[i].name, ab_buf_str(&value));
        else
            ab_spanw_key_str(w, PARAMS[i].name, ab_buf_str(&value));
    }
    ab_buf_fini(&value);
    return e;
}

ab_err ab_gopeer_wire_put_logs(const char *uuid, const ab_resource_map *m, ab_buf *out,
                               ab_error *err)
{
    size_t streams = 0;
    ab_spanw w = ab_spanw_to(out);
    if (ab_resource_query_find(m->query, "stream", NULL, &streams) != AB_ERR_OK || streams > 0)
        return ab_fail(err, AB_ERR_UNSUPPORTED,
                       "the parameter stream is not served: this agent is an argocd-agent");
    ab_spanw_object(&w);
    ab_spanw_key_str(&w, "uuid", ab_str_of(uuid));
    ab_spanw_key_str(&w, "namespace", m->ns);
    ab_spanw_key_str(&w, "podName", m->name);
    for (size_t i = 0; i < PARAM_COUNT; i++) {
        ab_err e = put_param(&w, i, m->query);
        if (e != AB_ERR_OK)
            return ab_fail(err, e == AB_ERR_TOOBIG ? AB_ERR_INVALID : e,
                           "the parameter %s is not what it must be", PARAMS[i].name);
    }
    ab_spanw_object_end(&w);
    return ab_buf_status(out);
}

/* ----- in ----- */

/* @param sep  what comes before the next parameter */
static void put_name(size_t i, char *sep, ab_buf *out)
{
    ab_buf_printf(out, "%c%s=", *sep, PARAMS[i].name);
    *sep = '&';
}

static ab_err read_text(ab_spanv value, size_t i, char *sep, ab_buf *out)
{
    ab_buf text = ab_buf_up_to(VALUE_MAX);
    ab_err e = ab_span_copy(value, &text);
    if (e == AB_ERR_OK && text.len > 0) {
        put_name(i, sep, out);
        ab_resource_query_encode(ab_buf_str(&text), out);
    }
    ab_buf_fini(&text);
    return e;
}

static ab_err read_param(ab_spanv value, size_t i, char *sep, ab_buf *out)
{
    int64_t number = 0;
    ab_span_type type = ab_span_typeof(value);
    if (PARAMS[i].type == TEXT)
        return read_text(value, i, sep, out);
    if (PARAMS[i].type == BOOL && type != AB_SPAN_TRUE && type != AB_SPAN_FALSE)
        return AB_ERR_INVALID;
    if (PARAMS[i].type == NUMBER && ab_span_i64(value, &number) != AB_ERR_OK)
        return AB_ERR_INVALID;
    put_name(i, sep, out);
    ab_buf_put(out, ab_span_raw(value));
    return AB_ERR_OK;
}

static ab_err read_logs(ab_spanv root, ab_buf *out)
{
    char sep = '?';
    ab_err e = ab_gopeer_wire_read_pod(root, "/log", out);
    for (size_t i = 0; e == AB_ERR_OK && i < PARAM_COUNT; i++) {
        ab_spanv value = ab_span_get(root, PARAMS[i].name);
        if (ab_span_present(value) && ab_span_typeof(value) != AB_SPAN_NULL)
            e = read_param(value, i, &sep, out);
    }
    return e == AB_ERR_OK ? ab_buf_status(out) : e;
}

ab_err ab_gopeer_wire_read_logs(ab_str data, ab_buf *target, ab_error *err)
{
    ab_span *doc = NULL;
    ab_err e = ab_span_parse(data, &doc, err);
    if (e != AB_ERR_OK)
        return e;
    e = read_logs(ab_span_root(doc), target);
    ab_span_free(doc);
    return e == AB_ERR_OK ? e : ab_fail(err, e, "it is not a request for a log");
}
