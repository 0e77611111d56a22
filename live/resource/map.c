/* SPDX-License-Identifier: Apache-2.0
 *
 * The path is split at its slashes first and decoded part by part afterwards, so that an encoded
 * slash never splits, and is refused inside a part. See map.h.
 */
#include "live/resource/map.h"

#include "live/resource/query.h"

#include <string.h>

static const char *const VERBS[] = {
    [AB_RESOURCE_GET] = "get",         [AB_RESOURCE_LIST] = "list",
    [AB_RESOURCE_WATCH] = "watch",     [AB_RESOURCE_CREATE] = "create",
    [AB_RESOURCE_UPDATE] = "update",   [AB_RESOURCE_PATCH] = "patch",
    [AB_RESOURCE_DELETE] = "delete",   [AB_RESOURCE_DELETECOLLECTION] = "deletecollection",
    [AB_RESOURCE_CONNECT] = "connect",
};

static const char *const HEALTH[] = {"healthz", "livez", "readyz", NULL};
static const char *const CONNECTS[] = {"exec", "attach", "portforward", "proxy", NULL};
/* Subresources of a namespace; anything else after its name is a resource in it. */
static const char *const OF_NAMESPACE[] = {"status", "finalize", NULL};
/* Prefixes of former API servers, which today's still take for verbs. */
static const char *const FORMER[] = {"watch", "proxy", NULL};

const char *ab_resource_map_verb(ab_resource_verb verb)
{
    return VERBS[verb];
}

bool ab_resource_map_is_core(const ab_resource_map *m, const char *resource)
{
    return m->kind == AB_RESOURCE_OBJECTS && m->group.len == 0 && ab_str_is(m->resource, resource);
}

/* --- the parts of the path --- */

/* As in the first line of a request: nothing that would need an escape. */
static bool is_target(ab_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] <= ' ' || s.ptr[i] > '~' || s.ptr[i] == '#' || s.ptr[i] == '\\')
            return false;
    }
    return s.len > 0 && s.ptr[0] == '/';
}

/* What a name may be in a path (Kubernetes: IsValidPathSegmentName), and no control character. */
static bool is_part(ab_str s)
{
    if (s.len == 0 || s.len > 253 || ab_str_is(s, ".") || ab_str_is(s, "..") || !ab_str_is_utf8(s))
        return false;
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c < 0x20 || c == 0x7f || c == '/' || c == '%' || c == '\\')
            return false;
    }
    return true;
}

static ab_err add_part(ab_resource_map *m, ab_str raw, size_t *used, ab_error *err)
{
    if (m->part_count == AB_RESOURCE_PARTS_MAX)
        return ab_fail(err, AB_ERR_INVALID, "the path has more than %d parts",
                       AB_RESOURCE_PARTS_MAX);
    ab_buf decoded = ab_buf_up_to(AB_RESOURCE_PATH_MAX);
    ab_err e = ab_resource_query_decode(raw, false, &decoded);
    ab_str part = ab_buf_str(&decoded);
    if (e == AB_ERR_OK && is_part(part)) {
        /* Decoded it is no longer than the path, which fits. */
        memcpy(m->text + *used, part.ptr, part.len);
        m->parts[m->part_count++] = (ab_str){m->text + *used, part.len};
        *used += part.len;
    } else if (e != AB_ERR_NOMEM) {
        e = ab_fail(err, AB_ERR_INVALID, "part %zu of the path is empty or not a name",
                    m->part_count + 1);
    }
    ab_buf_fini(&decoded);
    return e;
}

static ab_err split(ab_resource_map *m, ab_str path, ab_error *err)
{
    size_t used = 0;
    ab_err e = AB_ERR_OK;
    ab_str rest = path.len > 1 ? ab_str_skip(path, 1) : AB_STR_NONE; /* "/" has no part */
    while (e == AB_ERR_OK && rest.ptr != NULL)
        e = add_part(m, ab_str_cut(&rest, '/'), &used, err);
    return e;
}

/* --- what they mean --- */

static ab_err refuse_path(ab_error *err)
{
    return ab_fail(err, AB_ERR_INVALID, "the path is not one of a Kubernetes API");
}

/* parts: [namespaces, NS,] RESOURCE[, NAME[, SUBRESOURCE[, ...]]] */
static ab_err read_object(ab_resource_map *m, const ab_str *parts, size_t count, ab_error *err)
{
    m->kind = AB_RESOURCE_OBJECTS;
    if (ab_str_is_one_of(parts[0], FORMER))
        return ab_fail(err, AB_ERR_INVALID, "paths with /%.*s/ are not served; use ?watch=true",
                       AB_STR_ARG(parts[0]));
    if (ab_str_is(parts[0], "namespaces") && count > 1) {
        m->ns = parts[1];
        if (!ab_str_is_dns_label(m->ns))
            return ab_fail(err, AB_ERR_INVALID, "the namespace is not a DNS label");
        if (count > 2 && !ab_str_is_one_of(parts[2], OF_NAMESPACE)) {
            parts += 2;
            count -= 2;
        }
    }
    m->resource = parts[0];
    if (count > 1)
        m->name = parts[1];
    if (count > 2)
        m->subresource = parts[2];
    if (!ab_str_is_dns_label(m->resource) || (count > 2 && !ab_str_is_dns_label(m->subresource)))
        return ab_fail(err, AB_ERR_INVALID, "the resource is not a DNS label");
    if (count > 3 && !ab_str_is(m->subresource, "proxy"))
        return refuse_path(err);
    return AB_ERR_OK;
}

static ab_err read_group(ab_resource_map *m, size_t before, ab_error *err)
{
    if (m->part_count <= before) { /* /api, /apis, /apis/GROUP */
        if (m->group.len > 0 && !ab_str_is_dns_subdomain(m->group))
            return ab_fail(err, AB_ERR_INVALID, "the API group is not a DNS name");
        return AB_ERR_OK;
    }
    m->version = m->parts[before];
    if (!ab_str_is_dns_label(m->version) || (before == 2 && !ab_str_is_dns_subdomain(m->group)))
        return ab_fail(err, AB_ERR_INVALID, "the API group or version is not a DNS name");
    if (m->part_count == before + 1)
        return AB_ERR_OK;
    return read_object(m, m->parts + before + 1, m->part_count - before - 1, err);
}

static ab_err read_parts(ab_resource_map *m, ab_error *err)
{
    m->kind = AB_RESOURCE_DISCOVERY;
    if (m->part_count == 0)
        return AB_ERR_OK;
    if (ab_str_is(m->parts[0], "api"))
        return read_group(m, 1, err);
    if (ab_str_is(m->parts[0], "apis")) {
        if (m->part_count > 1)
            m->group = m->parts[1];
        return read_group(m, 2, err);
    }
    if (ab_str_is(m->parts[0], "openapi") && m->part_count > 1)
        return AB_ERR_OK;
    if (ab_str_is(m->parts[0], "version") && m->part_count == 1)
        return AB_ERR_OK;
    if (!ab_str_is_one_of(m->parts[0], HEALTH))
        return refuse_path(err);
    m->kind = AB_RESOURCE_HEALTH;
    return AB_ERR_OK;
}

static ab_err read_verb(ab_resource_map *m, ab_str method, ab_error *err)
{
    bool one = m->name.len > 0;
    bool watch = false;
    if (ab_str_is(method, "POST"))
        m->verb = AB_RESOURCE_CREATE;
    else if (ab_str_is(method, "PUT"))
        m->verb = AB_RESOURCE_UPDATE;
    else if (ab_str_is(method, "PATCH"))
        m->verb = AB_RESOURCE_PATCH;
    else if (ab_str_is(method, "DELETE"))
        m->verb = one ? AB_RESOURCE_DELETE : AB_RESOURCE_DELETECOLLECTION;
    else if (!ab_str_is(method, "GET"))
        return ab_fail(err, AB_ERR_INVALID, "method \"%.*s\" is not served",
                       method.len > 20 ? 20 : (int)method.len, method.ptr);
    if (m->kind != AB_RESOURCE_OBJECTS)
        return m->verb == AB_RESOURCE_GET
                   ? AB_ERR_OK
                   : ab_fail(err, AB_ERR_INVALID, "only GET is served on this path");
    if (m->subresource.len > 0 && ab_str_is_one_of(m->subresource, CONNECTS)) {
        m->verb = AB_RESOURCE_CONNECT;
        return AB_ERR_OK;
    }
    if ((m->verb == AB_RESOURCE_UPDATE || m->verb == AB_RESOURCE_PATCH) && !one)
        return ab_fail(err, AB_ERR_INVALID, "PUT and PATCH need the name of an object");
    ab_err e = ab_resource_query_bool(m->query, "watch", &watch, err);
    if (e != AB_ERR_OK || m->verb != AB_RESOURCE_GET)
        return e;
    if (watch && one)
        return ab_fail(err, AB_ERR_INVALID, "watch one object by fieldSelector=metadata.name=...");
    if (!one)
        m->verb = watch ? AB_RESOURCE_WATCH : AB_RESOURCE_LIST;
    return ab_resource_query_bool(m->query, "follow", &m->follow, err);
}

ab_err ab_resource_map_read(ab_str method, ab_str target, ab_resource_map *out, ab_error *err)
{
    memset(out, 0, sizeof(*out));
    if (target.len > AB_RESOURCE_TARGET_MAX)
        return ab_fail(err, AB_ERR_INVALID, "path and query are longer than %d bytes",
                       AB_RESOURCE_TARGET_MAX);
    if (!is_target(target))
        return ab_fail(err, AB_ERR_INVALID, "the path has bytes that need a percent-escape");
    ab_str path = ab_str_cut(&target, '?');
    out->group = out->resource = out->ns = out->name = out->subresource = AB_STR("");
    out->version = AB_STR("");
    out->query = target.ptr == NULL ? AB_STR("") : target;
    if (path.len > AB_RESOURCE_PATH_MAX)
        return ab_fail(err, AB_ERR_INVALID, "the path is longer than %d bytes",
                       AB_RESOURCE_PATH_MAX);
    ab_err e = ab_resource_query_check(out->query, err);
    if (e == AB_ERR_OK)
        e = split(out, path, err);
    if (e == AB_ERR_OK)
        e = read_parts(out, err);
    return e == AB_ERR_OK ? read_verb(out, method, err) : e;
}

/* --- texts --- */

static void put_parts(const ab_resource_map *m, ab_buf *out)
{
    for (size_t i = 0; i < m->part_count; i++) {
        ab_buf_putc(out, '/');
        ab_resource_query_encode(m->parts[i], out);
    }
    if (m->part_count == 0)
        ab_buf_putc(out, '/');
}

void ab_resource_map_put_path(const ab_resource_map *m, ab_buf *out)
{
    put_parts(m, out);
    if (m->query.len > 0) {
        ab_buf_putc(out, '?');
        ab_buf_put(out, m->query);
    }
}

void ab_resource_map_put_object(const ab_resource_map *m, ab_buf *out)
{
    if (m->kind != AB_RESOURCE_OBJECTS) {
        put_parts(m, out);
        return;
    }
    ab_buf_put(out, m->resource);
    if (m->group.len > 0)
        ab_buf_printf(out, ".%.*s", AB_STR_ARG(m->group));
    if (m->subresource.len > 0)
        ab_buf_printf(out, "/%.*s", AB_STR_ARG(m->subresource));
    if (m->ns.len > 0 || m->name.len > 0)
        ab_buf_putc(out, ' ');
    if (m->ns.len > 0 && !ab_resource_map_is_core(m, "namespaces"))
        ab_buf_printf(out, "%.*s%s", AB_STR_ARG(m->ns), m->name.len > 0 ? "/" : "");
    ab_buf_put(out, m->name);
}

ab_err ab_resource_map_split_agent(ab_str target, ab_str *agent, ab_str *rest, ab_error *err)
{
    ab_str name = ab_str_after(target, "/agents/");
    if (name.ptr == NULL) {
        *agent = AB_STR_NONE;
        *rest = target;
        return AB_ERR_OK;
    }
    size_t end = 0;
    while (end < name.len && name.ptr[end] != '/' && name.ptr[end] != '?')
        end++;
    ab_str path = end == name.len ? AB_STR("/") : ab_str_skip(name, end);
    name.len = end;
    if (!ab_str_is_dns_label(name))
        return ab_fail(err, AB_ERR_INVALID, "the agent's name after /agents/ is not a DNS label");
    *agent = name;
    *rest = path;
    return AB_ERR_OK;
}
