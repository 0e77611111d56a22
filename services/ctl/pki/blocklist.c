/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/pki/blocklist.h"

#include "base/crypto/revoked.h"
#include "services/ctl/cluster/api.h"
#include "services/ctl/pki/options.h"
#include "store/kubernetes/status.h"

#include <stdio.h>
#include <string.h>

#define BODY_MAX       ((size_t)4 * 1024 * 1024)
#define PATH_MAX_BYTES 640

/* The ConfigMap as it was read. */
typedef struct {
    ab_cluster_api api;
    const char *namespace, *name;
    cJSON *doc; /* NULL: there is none */
} list;

ab_err ab_pki_blocklist_is_meant(const ab_ctl *ctl, bool *out, ab_error *err)
{
    static const char *const others[] = {"name", "namespace", "kubeconfig", "context"};
    bool meant = ab_ctl_value(ctl, "configmap") != NULL;
    if (meant && ab_ctl_value(ctl, "file") != NULL)
        return ab_fail(err, AB_ERR_INVALID, "--file and --configmap are two lists: give one");
    for (size_t i = 0; !meant && i < sizeof(others) / sizeof(*others); i++)
        if (ab_ctl_value(ctl, others[i]) != NULL)
            return ab_fail(err, AB_ERR_INVALID, "--%s: works with --configmap only", others[i]);
    *out = meant;
    return AB_ERR_OK;
}

/* --- the API server --- */

static void put_path(const list *l, bool whole, char out[PATH_MAX_BYTES])
{
    snprintf(out, PATH_MAX_BYTES, "/api/v1/namespaces/%s/configmaps%s%s", l->namespace,
             whole ? "/" : "", whole ? l->name : "");
}

/* A refusal is an error here, but that there is no such object. */
static ab_err ask(list *l, const char *method, ab_str body, cJSON **out, ab_error *err)
{
    char path[PATH_MAX_BYTES], what[PATH_MAX_BYTES];
    ab_kube_why why;
    ab_cluster_answer answer;
    put_path(l, strcmp(method, "POST") != 0, path);
    snprintf(what, sizeof(what), "%s ConfigMap %s/%s", method, l->namespace, l->name);
    ab_err e = ab_cluster_api_ask(&l->api, method, path, body, &answer);
    if (e != AB_ERR_OK) {
        *err = answer.err;
        if (err->text[0] == '\0')
            (void)ab_fail(err, e, "%s: %s", what, ab_err_text(e));
    } else if (answer.status >= 300) {
        e = ab_kube_status_explain(answer.status, ab_buf_str(&answer.body), what, &why, err);
        e = e == AB_ERR_INVALID ? AB_ERR_DENIED : e; /* what is INVALID here is the command line */
    } else if (out != NULL) {
        e = ab_doc_parse(ab_buf_str(&answer.body), BODY_MAX, out, err);
    }
    ab_cluster_answer_fini(&answer);
    return e;
}

static ab_err check_names(const list *l, ab_error *err)
{
    if (!ab_str_is_dns_label(ab_str_of(l->namespace)))
        return ab_fail(err, AB_ERR_INVALID, "--namespace: \"%s\" is not the name of a namespace",
                       l->namespace);
    if (!ab_str_is_dns_subdomain(ab_str_of(l->name)))
        return ab_fail(err, AB_ERR_INVALID, "--name: \"%s\" is not the name of a ConfigMap",
                       l->name);
    return AB_ERR_OK;
}

/* With `doc`, when there is a ConfigMap. */
static ab_err read_list(list *l, ab_error *err)
{
    ab_err e = ask(l, "GET", AB_STR_NONE, &l->doc, err);
    return e == AB_ERR_NOTFOUND ? AB_ERR_OK : e;
}

static ab_err open_api(const ab_ctl *ctl, list *l, ab_error *err)
{
    ab_config *config = NULL;
    ab_err e = ab_cluster_config(ctl, &config, err);
    if (e != AB_ERR_OK)
        return e;
    e = ab_cluster_api_init(&l->api, config, err);
    if (e != AB_ERR_OK)
        ab_cluster_api_fini(&l->api);
    ab_config_free(config);
    return e;
}

/* Read the list, and let `work` go on with it. */
static ab_err with_list(const ab_ctl *ctl, ab_err (*work)(list *l, void *arg, ab_error *err),
                        void *arg, ab_error *err)
{
    list l = {.namespace = ab_pki_value(ctl, "namespace", "argocd"),
              .name = ab_pki_value(ctl, "name", "argocd-agent-tls-blocklist")};
    ab_err e = check_names(&l, err);
    if (e == AB_ERR_OK)
        e = open_api(ctl, &l, err);
    if (e != AB_ERR_OK)
        return e;
    e = read_list(&l, err);
    if (e == AB_ERR_OK)
        e = work(&l, arg, err);
    cJSON_Delete(l.doc);
    ab_cluster_api_fini(&l.api);
    return e;
}

static const cJSON *data_of(const list *l)
{
    return cJSON_GetObjectItemCaseSensitive(l->doc, "data");
}

/* --- changes --- */

/* {"data": {KEY: VALUE, ...}}, begun. @return the inner object; NULL when out of memory */
static cJSON *begin_patch(cJSON **doc)
{
    *doc = cJSON_CreateObject();
    return *doc == NULL ? NULL : cJSON_AddObjectToObject(*doc, "data");
}

static bool add_head(cJSON *doc, const list *l)
{
    cJSON *metadata = cJSON_AddObjectToObject(doc, "metadata");
    return metadata != NULL && ab_doc_add_str(doc, "apiVersion", AB_STR("v1")) &&
           ab_doc_add_str(doc, "kind", AB_STR("ConfigMap")) &&
           ab_doc_add_str(metadata, "name", ab_str_of(l->name)) &&
           ab_doc_add_str(metadata, "namespace", ab_str_of(l->namespace));
}

/* @param complete  whether all could be put into it */
static ab_err write_list(list *l, const char *method, cJSON *doc, bool complete, ab_error *err)
{
    ab_buf text = ab_buf_up_to(BODY_MAX);
    ab_err e = ab_doc_finish(doc, complete, &text);
    e = e == AB_ERR_OK ? ask(l, method, ab_buf_str(&text), NULL, err)
                       : ab_fail(err, e, "%s", ab_err_text(e));
    ab_buf_fini(&text);
    return e;
}

/* The next key from `member` on that is this fingerprint, in any form. @return NULL: none is */
static const cJSON *find_key(const cJSON *member, const uint8_t *hash)
{
    uint8_t found[AB_FINGERPRINT_BYTES];
    for (; member != NULL; member = member->next)
        if (ab_fingerprint_parse(ab_str_of(member->string), found) &&
            memcmp(found, hash, sizeof(found)) == 0)
            return member;
    return NULL;
}

static const cJSON *first_key(const list *l, const uint8_t *hash)
{
    const cJSON *data = data_of(l);
    return data == NULL ? NULL : find_key(data->child, hash);
}

static ab_err add(list *l, void *arg, ab_error *err)
{
    ab_pki_all_named *certs = arg;
    cJSON *doc = NULL;
    cJSON *data = begin_patch(&doc);
    bool complete = data != NULL && (l->doc != NULL || add_head(doc, l));
    size_t added = 0;
    for (size_t i = 0; i < certs->count; i++) {
        char note[AB_REVOCATION_NOTE];
        ab_pki_named *cert = &certs->cert[i];
        cert->was_there = first_key(l, cert->hash) != NULL ||
                          cJSON_GetObjectItemCaseSensitive(data, cert->hex) != NULL;
        if (cert->was_there)
            continue;
        ab_revocations_note(cert->subject, note);
        complete = complete && ab_doc_add_str(data, cert->hex, ab_str_of(note));
        added++;
    }
    if (complete && added == 0) {
        cJSON_Delete(doc);
        return AB_ERR_OK;
    }
    return write_list(l, l->doc == NULL ? "POST" : "PATCH", doc, complete, err);
}

ab_err ab_pki_blocklist_add(const ab_ctl *ctl, ab_pki_all_named *certs, ab_error *err)
{
    return with_list(ctl, add, certs, err);
}

/* Two forms of one fingerprint are two keys. */
static bool drop_one(const list *l, const ab_pki_named *cert, cJSON *data, bool *complete)
{
    const cJSON *key = first_key(l, cert->hash);
    bool any = key != NULL;
    for (; key != NULL; key = find_key(key->next, cert->hash))
        *complete = *complete && (cJSON_GetObjectItemCaseSensitive(data, key->string) != NULL ||
                                  cJSON_AddNullToObject(data, key->string) != NULL);
    return any;
}

static ab_err drop(list *l, void *arg, ab_error *err)
{
    const ab_pki_all_named *certs = arg;
    cJSON *doc = NULL;
    cJSON *data = begin_patch(&doc);
    bool complete = data != NULL;
    for (size_t i = 0; i < certs->count; i++) {
        if (drop_one(l, &certs->cert[i], data, &complete))
            continue;
        cJSON_Delete(doc);
        return ab_fail(err, AB_ERR_NOTFOUND, "%s is not revoked; nothing was changed",
                       certs->cert[i].hex);
    }
    return write_list(l, "PATCH", doc, complete, err);
}

ab_err ab_pki_blocklist_drop(const ab_ctl *ctl, ab_pki_all_named *certs, ab_error *err)
{
    return with_list(ctl, drop, certs, err);
}

/* --- what there is --- */

static ab_err put_rows(list *l, void *rows, ab_error *err)
{
    uint8_t hash[AB_FINGERPRINT_BYTES];
    const cJSON *member;
    ab_err e = AB_ERR_OK;
    cJSON_ArrayForEach(member, data_of(l))
    {
        ab_str note = ab_str_of(cJSON_GetStringValue(member));
        if (e == AB_ERR_OK && ab_fingerprint_parse(ab_str_of(member->string), hash))
            e = ab_revocations_put_row(hash, note.len == 0 ? AB_STR_NONE : note, rows, err);
        else if (e == AB_ERR_OK)
            (void)ab_ctl_fail(AB_CTL_OK, "the key \"%s\" is not a fingerprint: it revokes nothing",
                              member->string);
    }
    return e;
}

ab_err ab_pki_blocklist_list(const ab_ctl *ctl, cJSON *rows, ab_error *err)
{
    return with_list(ctl, put_rows, rows, err);
}
