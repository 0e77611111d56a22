/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/registration/secret.h"

#include "base/core/base64.h"
#include "schema/attributes.h"
#include "schema/labels.h"

#include <stdio.h>

#define SECRET_MAX (256u * 1024)

static bool is_of_cluster(const ab_object *secret)
{
    ab_spanv type = ab_span_get(ab_object_meta(secret, "labels"), AB_LABEL_SECRET_TYPE);
    return ab_str_is(ab_object_kind(secret), "Secret") && ab_span_is(type, "cluster");
}

ab_str ab_registration_agent_of(const ab_object *secret)
{
    ab_spanv labels = ab_object_meta(secret, "labels");
    ab_str agent = ab_span_plain(ab_span_get(labels, AB_LABEL_AGENT_NAME));
    bool ours =
        is_of_cluster(secret) && ab_span_is(ab_span_get(labels, AB_LABEL_REGISTERED), "true");
    return ours && ab_str_is_dns_label(agent) ? agent : AB_STR_NONE;
}

bool ab_registration_cluster_of(const ab_object *secret, char out[AB_REGISTRATION_CLUSTER_MAX])
{
    ab_buf name;
    ab_str encoded = ab_span_plain(ab_span_get(ab_object_field(secret, "data"), "name"));
    if (!is_of_cluster(secret) || ab_registration_agent_of(secret).ptr != NULL)
        return false;
    ab_buf_init(&name, AB_REGISTRATION_CLUSTER_MAX);
    bool has = encoded.len > 0 && ab_base64_decode(encoded, &name) &&
               ab_buf_status(&name) == AB_ERR_OK && ab_str_is_dns_label(ab_buf_str(&name));
    if (has)
        snprintf(out, AB_REGISTRATION_CLUSTER_MAX, "%.*s", AB_STR_ARG(ab_buf_str(&name)));
    ab_buf_fini(&name);
    return has;
}

bool ab_registration_is_waiting(const ab_object *secret)
{
    ab_spanv approved = ab_span_get(ab_object_meta(secret, "labels"), AB_LABEL_APPROVED);
    return ab_registration_agent_of(secret).ptr != NULL && ab_span_present(approved) &&
           !ab_span_is(approved, "true");
}

/* --- data --- */

static void put_encoded(ab_spanw *w, const char *name, ab_buf *content, ab_err *e)
{
    ab_buf text = ab_buf_secret_up_to(SECRET_MAX);
    ab_base64_encode(ab_buf_str(content), &text);
    if (*e == AB_ERR_OK)
        *e = ab_buf_status(content);
    if (*e == AB_ERR_OK)
        *e = ab_buf_status(&text);
    if (*e == AB_ERR_OK)
        ab_spanw_key_str(w, name, ab_buf_str(&text));
    ab_buf_wipe(&text);
    ab_buf_wipe(content);
}

/* What Argo CD reads: bearerToken and tlsClientConfig.caData. */
static ab_err write_config(const ab_registration_form *form, const char *token, ab_buf *out)
{
    ab_buf ca = ab_buf_up_to(SECRET_MAX);
    ab_base64_encode(form->ca, &ca);
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_key_str(&w, "bearerToken", ab_str_of(token));
    ab_spanw_key_object(&w, "tlsClientConfig");
    if (form->ca.len > 0)
        ab_spanw_key_str(&w, "caData", ab_buf_str(&ca));
    ab_spanw_object_end(&w);
    ab_spanw_object_end(&w);
    ab_err e = ab_buf_status(&ca);
    ab_buf_fini(&ca);
    return e;
}

ab_err ab_registration_data(const ab_registration_form *form, ab_str agent, const char *token,
                            ab_buf *out)
{
    ab_spanw w = ab_spanw_to(out);
    ab_buf name = ab_buf_up_to(64);
    ab_buf server = ab_buf_up_to(SECRET_MAX);
    ab_buf config = ab_buf_secret_up_to(SECRET_MAX);
    ab_buf_printf(&name, "%.*s", AB_STR_ARG(agent));
    ab_buf_printf(&server, "%s/agents/%.*s", form->server, AB_STR_ARG(agent));
    ab_err e = write_config(form, token, &config);
    ab_spanw_object(&w);
    put_encoded(&w, "config", &config, &e);
    put_encoded(&w, "name", &name, &e);
    put_encoded(&w, "server", &server, &e);
    ab_spanw_object_end(&w);
    return e == AB_ERR_OK ? ab_buf_status(out) : e;
}

/* --- the object --- */

static ab_err parse(ab_buf *text, ab_object **out)
{
    ab_err e = ab_buf_status(text);
    if (e == AB_ERR_OK)
        e = ab_object_parse(ab_buf_str(text), out, NULL);
    ab_buf_wipe(text);
    return e;
}

static bool has_label(ab_str labels, ab_str wanted)
{
    ab_str key, value;
    while (ab_labels_next(&labels, &key, &value))
        if (ab_str_eq(key, wanted))
            return true;
    return false;
}

static void write_further(ab_spanw *w, ab_str labels)
{
    ab_str rest = labels, key, value;
    while (ab_labels_next(&rest, &key, &value)) {
        if (has_label((ab_str){labels.ptr, (size_t)(key.ptr - labels.ptr)}, key))
            continue;
        ab_spanw_key(w, key);
        ab_spanw_str(w, value);
    }
}

static void write_labels(ab_spanw *w, const ab_registration_form *form, ab_str agent, ab_str labels)
{
    ab_spanw_key_object(w, "labels");
    ab_spanw_key_str(w, AB_LABEL_SECRET_TYPE, AB_STR("cluster"));
    ab_spanw_key_str(w, AB_LABEL_AGENT_NAME, agent);
    ab_spanw_key_str(w, AB_LABEL_REGISTERED, AB_STR("true"));
    if (form->by_hand)
        ab_spanw_key_str(w, AB_LABEL_APPROVED, AB_STR("false"));
    write_further(w, labels);
    ab_spanw_object_end(w);
}

ab_err ab_registration_make(const ab_registration_form *form, ab_str agent, const char *mode,
                            ab_str labels, ab_str data, ab_object **out)
{
    ab_digest digest;
    char name[80], hex[AB_DIGEST_HEX];
    ab_err e = ab_digest_of(data, &digest);
    if (e != AB_ERR_OK)
        return e;
    ab_digest_format(&digest, hex);
    snprintf(name, sizeof(name), AB_REGISTRATION_NAME, AB_STR_ARG(agent));
    ab_buf text = ab_buf_secret_up_to(SECRET_MAX);
    ab_spanw w = ab_spanw_object_to(&text);
    ab_spanw_key_str(&w, "apiVersion", AB_STR("v1"));
    ab_spanw_key_str(&w, "kind", AB_STR("Secret"));
    ab_spanw_key_str(&w, "type", AB_STR("Opaque"));
    ab_spanw_key_object(&w, "metadata");
    ab_spanw_key_str(&w, "name", ab_str_of(name));
    ab_spanw_key_str(&w, "namespace", ab_str_of(form->namespace));
    write_labels(&w, form, agent, labels);
    ab_spanw_key_object(&w, "annotations");
    ab_spanw_key_str(&w, AB_ANN_MODE, ab_str_of(mode));
    ab_spanw_key_str(&w, AB_ANN_SKIP_RECONCILE, AB_STR("true"));
    ab_spanw_key_str(&w, AB_ANN_REGISTERED_DATA, ab_str_of(hex));
    ab_spanw_object_end(&w);
    ab_spanw_object_end(&w);
    ab_spanw_key_raw(&w, "data", data);
    ab_spanw_object_end(&w);
    return parse(&text, out);
}

bool ab_registration_is_current(const ab_object *secret, ab_str data)
{
    ab_digest now, said;
    return ab_digest_of(data, &now) == AB_ERR_OK &&
           ab_digest_parse(ab_object_annotation(secret, AB_ANN_REGISTERED_DATA), &said) ==
               AB_ERR_OK &&
           ab_digest_eq(&now, &said);
}

static void write_metadata(ab_spanw *w, const ab_object *secret, const char *digest)
{
    static const char *const own[] = {AB_ANN_REGISTERED_DATA, NULL};
    static const char *const rest[] = {"annotations", "managedFields", NULL};
    ab_spanw_key_object(w, "metadata");
    ab_spanw_members(w, ab_object_field(secret, "metadata"), rest);
    ab_spanw_key_object(w, "annotations");
    ab_spanw_members(w, ab_object_meta(secret, "annotations"), own);
    ab_spanw_key_str(w, AB_ANN_REGISTERED_DATA, ab_str_of(digest));
    ab_spanw_object_end(w);
    ab_spanw_object_end(w);
}

static void write_data(ab_spanw *w, const ab_object *secret, ab_spanv data)
{
    static const char *const own[] = {"config", "name", "server", NULL};
    ab_spanw_key_object(w, "data");
    ab_spanw_members(w, ab_object_field(secret, "data"), own);
    for (size_t i = 0; own[i] != NULL; i++)
        ab_spanw_member(w, ab_span_get(data, own[i]));
    ab_spanw_object_end(w);
}

ab_err ab_registration_refresh(const ab_object *secret, ab_str data, ab_object **out)
{
    static const char *const rest[] = {"metadata", "data", "stringData", NULL};
    ab_span *doc = NULL;
    ab_digest digest;
    char hex[AB_DIGEST_HEX];
    ab_err e = ab_digest_of(data, &digest);
    if (e == AB_ERR_OK)
        e = ab_span_parse(data, &doc, NULL);
    if (e != AB_ERR_OK)
        return e;
    ab_digest_format(&digest, hex);
    ab_buf text = ab_buf_secret_up_to(SECRET_MAX);
    ab_spanw w = ab_spanw_object_to(&text);
    ab_spanw_members(&w, ab_object_json(secret), rest);
    write_metadata(&w, secret, hex);
    write_data(&w, secret, ab_span_root(doc));
    ab_spanw_object_end(&w);
    ab_span_wipe(doc);
    return parse(&text, out);
}
