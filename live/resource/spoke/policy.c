/* SPDX-License-Identifier: Apache-2.0
 *
 * The checks stand in the order of what they cost an operator to allow: first what is never served,
 * then what one option each opens, and last what needs a look at the object. See policy.h.
 */
#include "live/resource/spoke/policy.h"

#include "base/json/span.h"

#include <string.h>

static const ab_resource_verb USUAL[] = {
    AB_RESOURCE_GET,    AB_RESOURCE_LIST,  AB_RESOURCE_WATCH,  AB_RESOURCE_CREATE,
    AB_RESOURCE_UPDATE, AB_RESOURCE_PATCH, AB_RESOURCE_DELETE,
};

/* --- loading --- */

static ab_err load_verbs(const ab_config *config, ab_resource_policy *p, ab_error *err)
{
    size_t count = ab_config_count(config, "live.kubernetes.verbs");
    for (size_t i = 0; count == 0 && i < sizeof(USUAL) / sizeof(USUAL[0]); i++)
        p->verbs[USUAL[i]] = true;
    for (size_t i = 0; i < count; i++) {
        const char *name = ab_config_item(config, "live.kubernetes.verbs", i);
        int verb = AB_RESOURCE_GET;
        while (verb < AB_RESOURCE_CONNECT &&
               strcmp(ab_resource_map_verb((ab_resource_verb)verb), name) != 0)
            verb++;
        if (verb == AB_RESOURCE_CONNECT)
            return ab_fail(err, AB_ERR_CONFIG,
                           "live.kubernetes.verbs: \"%s\" is not one of get, list, watch, create, "
                           "update, patch, delete, deletecollection",
                           name);
        p->verbs[verb] = true;
    }
    return AB_ERR_OK;
}

ab_err ab_resource_policy_load(const ab_config *config, ab_resource_policy *out, ab_error *err)
{
    ab_str reach = ab_str_of(ab_config_str(config, "live.kubernetes.policy"));
    ab_str secrets = ab_str_of(ab_config_str(config, "live.kubernetes.secrets"));
    memset(out, 0, sizeof(*out));
    out->reach = ab_str_is(reach, "all")       ? AB_RESOURCE_ALL
                 : ab_str_is(reach, "managed") ? AB_RESOURCE_MANAGED
                                               : AB_RESOURCE_OFF;
    out->secrets = ab_str_is(secrets, "clear")    ? AB_RESOURCE_SECRETS_CLEAR
                   : ab_str_is(secrets, "masked") ? AB_RESOURCE_SECRETS_MASKED
                                                  : AB_RESOURCE_SECRETS_REFUSED;
    out->exec = ab_config_bool(config, "live.exec");
    ab_err e = load_verbs(config, out, err);
    if (e == AB_ERR_OK && ab_config_count(config, "live.kubernetes.namespaces") > 0)
        e = ab_config_patterns(config, "live.kubernetes.namespaces", &out->namespaces, err);
    return e;
}

void ab_resource_policy_fini(ab_resource_policy *p)
{
    ab_patterns_free(p->namespaces);
    p->namespaces = NULL;
}

/* --- deciding --- */

static bool is_secret(const ab_resource_map *m)
{
    return ab_resource_map_is_core(m, "secrets");
}

/* A token of a service account is a Secret by another way. */
static bool is_token(const ab_resource_map *m)
{
    return ab_resource_map_is_core(m, "serviceaccounts") && ab_str_is(m->subresource, "token");
}

static bool is_event(const ab_resource_map *m)
{
    return ab_str_is(m->resource, "events") &&
           (m->group.len == 0 || ab_str_is(m->group, "events.k8s.io"));
}

bool ab_resource_policy_masks(const ab_resource_policy *p, const ab_resource_map *m)
{
    return is_secret(m) && p->secrets == AB_RESOURCE_SECRETS_MASKED;
}

static ab_resource_decision refuse(ab_error *why, const char *text)
{
    (void)ab_fail(why, AB_ERR_DENIED, "refused by the agent: %s", text);
    return AB_RESOURCE_REFUSED;
}

static ab_resource_decision decide_connect(const ab_resource_policy *p, const ab_resource_map *m,
                                           ab_error *why)
{
    bool terminal = ab_str_is(m->subresource, "exec") || ab_str_is(m->subresource, "attach");
    if (!terminal || !ab_resource_map_is_core(m, "pods"))
        return refuse(why, "port forwarding and proxies are not served by live access");
    return p->exec ? AB_RESOURCE_ALLOWED : refuse(why, "live.exec is false");
}

/* A program that is started in a running Pod: what a terminal does, without one. */
static bool is_started_in_pod(const ab_resource_map *m)
{
    return ab_resource_map_is_core(m, "pods") && ab_str_is(m->subresource, "ephemeralcontainers");
}

/* Patches that are read here as the API server reads them. JSON patches can test a value, and copy
 * it to where it is shown; of what has no type, or one that is not known here, only the API server
 * knows what it does. */
static bool is_merge(ab_str type)
{
    static const char *const TYPES[] = {"application/merge-patch+json",
                                        "application/strategic-merge-patch+json", NULL};
    return ab_str_is_one_of(ab_str_cut(&type, ';'), TYPES);
}

static bool is_of_values(ab_spanv member)
{
    static const char *const HOLDERS[] = {"data", "stringData", NULL};
    ab_str raw = ab_span_raw_key(member);
    ab_buf name = ab_buf_up_to(raw.len + 1);
    bool found = !ab_span_unescape((ab_str){raw.ptr + 1, raw.len - 2}, &name) ||
                 ab_buf_status(&name) != AB_ERR_OK ||
                 ab_str_is_one_of(ab_buf_str(&name), HOLDERS) ||
                 ab_str_starts(ab_buf_str(&name), "$"); /* a directive, such as $patch: replace */
    ab_buf_fini(&name);
    return found;
}

/* A merge patch whose outcome does not depend on the values of what it changes. */
static bool spares_values(ab_str patch)
{
    ab_span *doc = NULL;
    if (ab_span_parse(patch, &doc, NULL) != AB_ERR_OK)
        return false;
    bool spares = ab_span_typeof(ab_span_root(doc)) == AB_SPAN_OBJECT;
    for (ab_spanv v = ab_span_first(ab_span_root(doc)); spares && ab_span_present(v);
         v = ab_span_next(v))
        spares = !is_of_values(v);
    ab_span_wipe(doc);
    return spares;
}

/* Three ways around a mask: writing what was shown masked over the value, patches that read, and
 * writing a guess. A right one changes nothing, which shows in resourceVersion and managedFields; a
 * wrong one does no harm as a dry run, or where the Secret is immutable; and it is a conflict for
 * server-side apply. */
static ab_resource_decision decide_secret(const ab_resource_policy *p, const ab_resource_map *m,
                                          ab_str type, ab_str body, ab_error *why)
{
    if (p->secrets == AB_RESOURCE_SECRETS_REFUSED)
        return refuse(why, "live.kubernetes.secrets is refused");
    if (is_token(m))
        return refuse(why, "tokens need live.kubernetes.secrets: clear");
    if (m->verb == AB_RESOURCE_UPDATE)
        return refuse(why, "replacing a Secret needs live.kubernetes.secrets: clear");
    if (m->verb == AB_RESOURCE_PATCH && !(is_merge(type) && spares_values(body)))
        return refuse(why, "patches of Secrets, other than merge patches without data and "
                           "stringData, need live.kubernetes.secrets: clear: their outcome shows "
                           "whether a value was guessed");
    return AB_RESOURCE_ALLOWED;
}

static ab_resource_decision decide_managed(const ab_resource_map *m, ab_error *why)
{
    bool reads =
        m->verb == AB_RESOURCE_GET || m->verb == AB_RESOURCE_LIST || m->verb == AB_RESOURCE_WATCH;
    if (is_event(m) && reads)
        return AB_RESOURCE_ALLOWED;
    if (m->name.len > 0 || m->verb == AB_RESOURCE_CREATE)
        return AB_RESOURCE_IF_MANAGED;
    return refuse(why, "lists, watches and deletecollection need live.kubernetes.policy: all");
}

ab_resource_decision ab_resource_policy_decide(const ab_resource_policy *p,
                                               const ab_resource_map *m, ab_str type, ab_str body,
                                               ab_error *why)
{
    ab_resource_decision d = AB_RESOURCE_ALLOWED;
    if (p->reach == AB_RESOURCE_OFF)
        return refuse(why, "live.kubernetes.policy is off");
    if (m->kind != AB_RESOURCE_OBJECTS)
        return d;
    if (m->verb == AB_RESOURCE_CONNECT)
        d = decide_connect(p, m, why);
    else if (!p->verbs[m->verb])
        d = refuse(why, "live.kubernetes.verbs does not name the verb");
    else if (is_started_in_pod(m) && !p->exec)
        d = refuse(why, "live.exec is false");
    if (d == AB_RESOURCE_ALLOWED && p->namespaces != NULL &&
        !ab_patterns_match(p->namespaces, m->ns))
        d = refuse(why, "live.kubernetes.namespaces does not match the namespace");
    if (d == AB_RESOURCE_ALLOWED && p->secrets != AB_RESOURCE_SECRETS_CLEAR &&
        (is_secret(m) || is_token(m)))
        d = decide_secret(p, m, type, body, why);
    if (d == AB_RESOURCE_ALLOWED && p->reach == AB_RESOURCE_MANAGED)
        d = decide_managed(m, why);
    return d;
}
