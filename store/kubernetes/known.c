/* SPDX-License-Identifier: Apache-2.0 */
#include "store/kubernetes/known.h"

#include "base/core/map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ab_kube_known {
    ab_map *entries; /* key -> entry */
    uint32_t round;  /* of the list that is or was read last */
    uint32_t first;  /* of the lists of this store */
};

typedef struct {
    uint64_t version;
    uint32_t round;
    char uid[];
} entry;

uint64_t ab_kube_version(ab_str text)
{
    uint64_t version = 0;
    return ab_str_to_u64(text, &version) == AB_ERR_OK ? version : 0;
}

ab_kube_known *ab_kube_known_new(void)
{
    ab_kube_known *k = calloc(1, sizeof(*k));
    if (k == NULL)
        return NULL;
    k->entries = ab_map_new();
    if (k->entries == NULL) {
        free(k);
        return NULL;
    }
    return k;
}

void ab_kube_known_free(ab_kube_known *k)
{
    if (k == NULL)
        return;
    ab_map_free(k->entries, NULL);
    free(k);
}

size_t ab_kube_known_count(const ab_kube_known *k)
{
    return ab_map_count(k->entries);
}

void ab_kube_known_begin(ab_kube_known *k)
{
    k->round++;
}

void ab_kube_known_distrust(ab_kube_known *k)
{
    k->first = k->round + 1;
}

static ab_err put_last(const entry *e, ab_str key, const char *api, ab_buf *out)
{
    ab_str kind, ns, name;
    ab_err code = ab_object_key_split(key, &kind, &ns, &name);
    if (code != AB_ERR_OK)
        return code;
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_key_str(&w, "apiVersion", ab_str_of(api));
    ab_spanw_key_str(&w, "kind", kind);
    ab_spanw_key_object(&w, "metadata");
    ab_spanw_key_str(&w, "name", name);
    ab_spanw_key_str(&w, "namespace", ns);
    ab_spanw_key_str(&w, "uid", ab_str_of(e->uid));
    char version[24];
    (void)snprintf(version, sizeof(version), "%" PRIu64, e->version);
    ab_spanw_key_str(&w, "resourceVersion", ab_str_of(version));
    ab_spanw_object_end(&w);
    ab_spanw_object_end(&w);
    return ab_buf_status(out);
}

ab_err ab_kube_known_last(const ab_kube_known *k, ab_str key, const char *api, ab_object **out)
{
    const entry *e = ab_map_find(k->entries, key);
    if (e == NULL)
        return AB_ERR_NOTFOUND;
    ab_buf text = ab_buf_up_to(4096);
    ab_err code = put_last(e, key, api, &text);
    if (code == AB_ERR_OK)
        code = ab_object_parse(ab_buf_str(&text), out, NULL);
    ab_buf_fini(&text);
    return code;
}

ab_kube_news ab_kube_known_compare(const ab_kube_known *k, const ab_object *object)
{
    const entry *e = ab_map_find(k->entries, ab_str_of(ab_object_key(object)));
    if (e == NULL)
        return AB_KUBE_NEWER;
    if (!ab_str_is(ab_object_uid(object), e->uid))
        return AB_KUBE_REPLACED;
    bool same = ab_kube_version(ab_object_version(object)) == e->version && e->round >= k->first;
    return same ? AB_KUBE_SAME : AB_KUBE_NEWER;
}

ab_err ab_kube_known_note(ab_kube_known *k, const ab_object *object)
{
    ab_str key = ab_str_of(ab_object_key(object));
    ab_str uid = ab_object_uid(object);
    entry *e = ab_map_find(k->entries, key);
    if (e != NULL && !ab_str_is(uid, e->uid))
        ab_map_drop(k->entries, e);
    e = ab_map_make(k->entries, key, sizeof(*e) + uid.len + 1);
    if (e == NULL)
        return AB_ERR_NOMEM;
    if (uid.len > 0)
        memcpy(e->uid, uid.ptr, uid.len);
    e->version = ab_kube_version(ab_object_version(object));
    e->round = k->round;
    return AB_ERR_OK;
}

void ab_kube_known_keep(ab_kube_known *k, const ab_object *object)
{
    entry *e = ab_map_find(k->entries, ab_str_of(ab_object_key(object)));
    if (e != NULL && ab_str_is(ab_object_uid(object), e->uid))
        e->round = k->round;
}

bool ab_kube_known_forget(ab_kube_known *k, ab_str key)
{
    entry *e = ab_map_find(k->entries, key);
    if (e != NULL)
        ab_map_drop(k->entries, e);
    return e != NULL;
}

void ab_kube_known_each_old(ab_kube_known *k, void (*visit)(void *arg, ab_str key), void *arg)
{
    for (ab_map_iter i = ab_map_first(k->entries); i.entry != NULL; ab_map_next(&i))
        if (((const entry *)i.value)->round != k->round)
            visit(arg, i.key);
}
