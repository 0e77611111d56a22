/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/object/mirror_project.h"

#include <string.h>

#define POLICY_FIELDS 6
#define POLICY_MAX    65536

/* --- policies --- */

static ab_str trimmed(ab_str s)
{
    while (s.len > 0 && s.ptr[0] == ' ')
        s = (ab_str){s.ptr + 1, s.len - 1};
    while (s.len > 0 && s.ptr[s.len - 1] == ' ')
        s.len--;
    return s;
}

/* @return false unless there are exactly POLICY_FIELDS */
static bool split(ab_str line, ab_str out[POLICY_FIELDS])
{
    size_t count = 0, begin = 0;
    for (size_t i = 0; i <= line.len; i++) {
        if (i < line.len && line.ptr[i] != ',')
            continue;
        if (count == POLICY_FIELDS)
            return false;
        out[count++] = trimmed((ab_str){line.ptr + begin, i - begin});
        begin = i + 1;
    }
    return count == POLICY_FIELDS;
}

/* What follows "<prefix><project><separator>"; absent when the text does not begin so. */
static ab_str behind(ab_str text, ab_str prefix, ab_str project, char separator)
{
    size_t skip = prefix.len + project.len;
    if (text.len <= skip || memcmp(text.ptr, prefix.ptr, prefix.len) != 0 ||
        memcmp(text.ptr + prefix.len, project.ptr, project.len) != 0 || text.ptr[skip] != separator)
        return AB_STR_NONE;
    return (ab_str){text.ptr + skip + 1, text.len - skip - 1};
}

static bool is_about_applications(ab_str resource)
{
    static const char *const names[] = {"applications", "logs", "exec", NULL};
    return ab_str_is_one_of(resource, names);
}

/* "namespace/name" or "name": the name. */
static ab_str last_part(ab_str object)
{
    for (size_t i = object.len; i > 0; i--)
        if (object.ptr[i - 1] == '/')
            return (ab_str){object.ptr + i, object.len - i};
    return object;
}

ab_err ab_mirror_policy(ab_str line, const ab_mirror_role *role, ab_buf *out)
{
    ab_str f[POLICY_FIELDS];
    bool is_policy = split(line, f) && ab_str_is(f[0], "p") && is_about_applications(f[2]);
    ab_str named = is_policy ? behind(f[1], AB_STR("proj:"), role->project, ':') : AB_STR_NONE;
    ab_str object = is_policy ? behind(f[4], AB_STR(""), role->project, '/') : AB_STR_NONE;
    if (named.len == 0 || !ab_str_eq(named, role->name) || object.ptr == NULL) {
        ab_buf_put(out, line);
        return ab_buf_status(out);
    }
    ab_str name = last_part(object);
    ab_buf_printf(out, "p, proj:%s-%.*s:%.*s, %.*s, %.*s, ", role->agent, AB_STR_ARG(role->project),
                  AB_STR_ARG(named), AB_STR_ARG(f[2]), AB_STR_ARG(f[3]));
    ab_buf_printf(out, "%s-%.*s/%s/%.*s, %.*s", role->agent, AB_STR_ARG(role->project), role->agent,
                  AB_STR_ARG(name), AB_STR_ARG(f[5]));
    return ab_buf_status(out);
}

/* --- what a role may say --- */

/* Argo CD puts all that roles say into one text of rules, a line each, without looking at it. */
static bool is_one_line(ab_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7f)
            return false;
    return text.len > 0;
}

/* As Argo CD has them. */
static bool is_role_name(ab_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && !(c >= '0' && c <= '9') && c != '-' && c != '_')
            return false;
    }
    return name.len > 0;
}

/* One in quotes may have commas. */
static bool is_group(ab_str text)
{
    bool quoted = text.len > 1 && text.ptr[0] == '"' && text.ptr[text.len - 1] == '"';
    ab_str inside = quoted ? (ab_str){text.ptr + 1, text.len - 2} : text;
    return is_one_line(inside) && memchr(inside.ptr, '"', inside.len) == NULL &&
           (quoted || memchr(inside.ptr, ',', inside.len) == NULL);
}

/* A rule about Applications, or about what Argo CD asks no project for. One about clusters,
 * repositories or the project itself would let its subject widen what the project allows; an
 * ApplicationSet's generators may name any project. */
static bool is_permitted(ab_str line)
{
    ab_str f[POLICY_FIELDS];
    return is_one_line(line) && split(line, f) && ab_str_is(f[0], "p") &&
           (is_about_applications(f[2]) || ab_str_is(f[2], "extensions"));
}

static ab_err render_policy(ab_spanw *w, ab_str line, const ab_mirror_role *role)
{
    if (!is_permitted(line))
        return AB_ERR_OK;
    ab_buf text = ab_buf_up_to(2 * POLICY_MAX);
    ab_err e = ab_mirror_policy(line, role, &text);
    if (e == AB_ERR_OK)
        ab_spanw_str(w, ab_buf_str(&text));
    ab_buf_fini(&text);
    return e;
}

static ab_err render_group(ab_spanw *w, ab_str group, const ab_mirror_role *role)
{
    (void)role;
    if (is_group(group))
        ab_spanw_str(w, group);
    return AB_ERR_OK;
}

/* What may stand of a list of texts. */
static ab_err render_texts(ab_spanw *w, const char *name, ab_spanv list, const ab_mirror_role *role,
                           ab_err (*render)(ab_spanw *, ab_str, const ab_mirror_role *))
{
    ab_err e = AB_ERR_OK;
    if (ab_span_typeof(list) != AB_SPAN_ARRAY)
        return e;
    ab_buf text = ab_buf_up_to(POLICY_MAX);
    ab_spanw_key_array(w, name);
    for (ab_spanv v = ab_span_first(list); ab_span_present(v) && e == AB_ERR_OK;
         v = ab_span_next(v)) {
        ab_buf_clear(&text);
        if (ab_span_typeof(v) == AB_SPAN_STRING && (e = ab_span_copy(v, &text)) == AB_ERR_OK)
            e = render(w, ab_buf_str(&text), role);
    }
    ab_spanw_array_end(w);
    ab_buf_fini(&text);
    return e;
}

static ab_err render_role(ab_spanw *w, ab_spanv role, ab_str project, const char *agent)
{
    static const char *const replaced[] = {"policies", "groups", NULL};
    const ab_mirror_role of = {project, ab_span_plain(ab_span_get(role, "name")), agent};
    if (!is_role_name(of.name))
        return AB_ERR_OK;
    ab_spanw_object(w);
    ab_spanw_members(w, role, replaced);
    ab_err e = render_texts(w, "groups", ab_span_get(role, "groups"), &of, render_group);
    if (e == AB_ERR_OK)
        e = render_texts(w, "policies", ab_span_get(role, "policies"), &of, render_policy);
    ab_spanw_object_end(w);
    return e;
}

/* --- spec --- */

static bool denies(ab_spanv destination)
{
    return ab_str_starts(ab_span_plain(ab_span_get(destination, "server")), "!") ||
           ab_str_starts(ab_span_plain(ab_span_get(destination, "name")), "!");
}

/* By the name alone: of a name and a server one is enough for Argo CD, and any server would be
 * every cluster of the control plane, and the one that it runs in. */
static void render_destinations(ab_spanw *w, ab_spanv destinations, const char *agent)
{
    ab_spanw_key_array(w, "destinations");
    for (ab_spanv v = ab_span_first(destinations); ab_span_present(v); v = ab_span_next(v)) {
        if (denies(v))
            continue;
        ab_spanw_object(w);
        ab_spanw_key_str(w, "name", ab_str_of(agent));
        ab_spanw_member(w, ab_span_get(v, "namespace"));
        ab_spanw_object_end(w);
    }
    ab_spanw_array_end(w);
}

ab_err ab_mirror_project_spec(ab_spanw *w, const ab_object *source, const char *agent)
{
    static const char *const replaced[] = {"destinations", "sourceNamespaces", "roles", NULL};
    ab_spanv spec = ab_object_field(source, "spec");
    ab_spanv roles = ab_span_get(spec, "roles");
    ab_err e = AB_ERR_OK;
    ab_spanw_key_object(w, "spec");
    ab_spanw_members(w, spec, replaced);
    ab_spanw_key_array(w, "sourceNamespaces");
    ab_spanw_str(w, ab_str_of(agent));
    ab_spanw_array_end(w);
    render_destinations(w, ab_span_get(spec, "destinations"), agent);
    if (ab_span_typeof(roles) == AB_SPAN_ARRAY) {
        ab_spanw_key_array(w, "roles");
        for (ab_spanv v = ab_span_first(roles); ab_span_present(v) && e == AB_ERR_OK;
             v = ab_span_next(v))
            e = render_role(w, v, ab_object_name(source), agent);
        ab_spanw_array_end(w);
    }
    ab_spanw_object_end(w);
    return e;
}
