/* SPDX-License-Identifier: Apache-2.0
 *
 * argocd-agent's resync messages. One side is the source of truth, the other holds copies. The
 * holder tells of a copy, and is sent the object if it differs; it asks what there is, and is told.
 * Nothing is deleted because of a list: only where the source says so, object by object.
 */
#include "base/core/base64.h"
#include "base/core/digest.h"
#include "schema/attributes.h"
#include "transport/grpc/compat/compat_priv.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#define REPUBLISH_APART_MS 30000
/* A request of a few bytes is about all that there is. */
#define ALL_APART_MS 10000

/* ----- messages ----- */

static void write_checksum(ab_spanw *w, const uint8_t checksum[AB_COMPAT_CHECKSUM])
{
    ab_buf text = ab_buf_up_to(64);
    ab_base64_encode((ab_str){(const char *)checksum, AB_COMPAT_CHECKSUM}, &text);
    ab_spanw_key_str(w, "checksum", ab_buf_str(&text));
    ab_buf_fini(&text);
}

/* `about`: names the message; a newer one takes the place of one that waits. */
static void put(ab_compat *d, ab_type type, const char *about, ab_buf *data)
{
    char id[37];
    ab_compat_resource *r = ab_compat_resource_for(d, ab_str_of(about));
    ab_compat_item *item = calloc(1, sizeof(*item));
    if (r == NULL || item == NULL || ab_buf_status(data) != AB_ERR_OK || ab_uuid(id) != AB_ERR_OK) {
        free(item);
        ab_buf_fini(data);
        ab_compat_fatal(d, "a resync message");
        return;
    }
    item->go.target = AB_TARGET_RESYNC;
    item->go.type = type;
    item->newest = true;
    item->data = *data;
    snprintf(item->go.resourceid, sizeof(item->go.resourceid), "%s", id);
    snprintf(item->go.eventid, sizeof(item->go.eventid), "%s", id);
    ab_compat_put(d, r, item, false);
}

/* argocd-agent calls the Secret of a repository by what it is. */
static ab_str kind_told(ab_str kind)
{
    return ab_str_is(kind, "Secret") ? AB_STR("Repository") : kind;
}

static ab_spanw begin_about(ab_buf *data, ab_str kind, ab_str ns, ab_str name, const char *uid)
{
    ab_buf_init(data, 4096);
    ab_spanw w = ab_spanw_object_to(data);
    ab_spanw_key_str(&w, "name", name);
    ab_spanw_key_str(&w, "namespace", ns);
    ab_spanw_key_str(&w, "uid", uid == NULL ? AB_STR("") : ab_str_of(uid));
    ab_spanw_key_str(&w, "kind", kind_told(kind));
    return w;
}

static bool is_kind(ab_str kind)
{
    return ab_str_is(kind, "Application") || ab_str_is(kind, "AppProject") ||
           ab_str_is(kind, "Secret");
}

void ab_compat_ask_about(ab_compat *d, ab_str key)
{
    ab_str kind, ns, name;
    char about[AB_OBJECT_KEY_MAX + 16];
    ab_buf data;
    if (ab_object_key_split(key, &kind, &ns, &name) != AB_ERR_OK || !is_kind(kind))
        return;
    const ab_compat_resource *r = ab_map_find(d->resources, key);
    bool known = r != NULL && r->present && r->summed;
    ab_spanw w = begin_about(&data, kind, ns, name, known ? r->uid : NULL);
    if (known)
        write_checksum(&w, r->checksum);
    else
        ab_spanw_key_raw(&w, "checksum", AB_STR("null"));
    ab_spanw_object_end(&w);
    snprintf(about, sizeof(about), "ctl/update/%.*s", AB_STR_ARG(key));
    put(d, AB_TYPE_UPDATE_REQUEST, about, &data);
}

static void tell_of(ab_compat *d, const ab_compat_resource *r)
{
    ab_str kind, ns, name;
    char about[AB_OBJECT_KEY_MAX + 16];
    ab_buf data;
    if (ab_object_key_split(ab_str_of(r->key), &kind, &ns, &name) != AB_ERR_OK || !is_kind(kind))
        return;
    ab_spanw w = begin_about(&data, kind, ns, name, r->uid);
    ab_spanw_object_end(&w);
    snprintf(about, sizeof(about), "ctl/synced/%s", r->key);
    put(d, AB_TYPE_SYNCED_RESOURCE, about, &data);
}

/* ----- the checksum of all ----- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *line_of(const ab_compat_resource *r)
{
    ab_str kind, ns, name;
    if (ab_object_key_split(ab_str_of(r->key), &kind, &ns, &name) != AB_ERR_OK)
        return NULL;
    ab_buf line = ab_buf_up_to(4096);
    ab_buf_printf(&line, "%.*s/%.*s/%s", AB_STR_ARG(kind_told(kind)), AB_STR_ARG(name),
                  r->uid == NULL ? "" : r->uid);
    return ab_buf_take(&line);
}

static size_t collect_lines(const ab_compat *d, char **lines)
{
    size_t count = 0;
    for (ab_map_iter i = ab_map_first(d->resources); i.entry != NULL; ab_map_next(&i)) {
        const ab_compat_resource *r = i.value;
        char *line = r->present ? line_of(r) : NULL;
        if (line != NULL)
            lines[count++] = line;
    }
    return count;
}

/* SHA-256 of "Kind/Name/UID" of everything, sorted, without anything in between.
 * @return how many they are */
static size_t sum_all(const ab_compat *d, uint8_t out[AB_COMPAT_CHECKSUM])
{
    char **lines = calloc(ab_map_count(d->resources) + 1, sizeof(*lines));
    size_t count = lines == NULL ? 0 : collect_lines(d, lines);
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    if (count > 0)
        qsort(lines, count, sizeof(*lines), by_text);
    for (size_t i = 0; i < count; i++) {
        ab_buf_puts(&text, lines[i]);
        free(lines[i]);
    }
    free(lines);
    if (EVP_Digest(text.ptr == NULL ? "" : text.ptr, text.len, out, NULL, EVP_sha256(), NULL) != 1)
        memset(out, 0, AB_COMPAT_CHECKSUM);
    ab_buf_fini(&text);
    return count;
}

static void ask_for_list(ab_compat *d)
{
    uint8_t sum[AB_COMPAT_CHECKSUM];
    (void)sum_all(d, sum);
    ab_buf data = ab_buf_up_to(1024);
    ab_spanw w = ab_spanw_object_to(&data);
    write_checksum(&w, sum);
    ab_spanw_object_end(&w);
    put(d, AB_TYPE_SYNCED_LIST_REQUEST, "ctl/list", &data);
}

/* ----- at a stream's begin ----- */

void ab_compat_resync_begin(ab_compat *d)
{
    bool first = !d->introduced;
    d->introduced = true;
    if (!ab_compat_is_source(d)) {
        ask_for_list(d);
        return;
    }
    if (!first)
        return;
    ab_buf data = ab_buf_up_to(16);
    ab_buf_puts(&data, "{}");
    put(d, AB_TYPE_RESYNC_REQUEST, "ctl/resync", &data);
}

/* ----- what a holder says ----- */

/* The key here of what a managed agent tells by its own name; "" when that cannot be said. */
static void key_of(const ab_compat *d, ab_str kind, ab_str ns, ab_str name,
                   char out[AB_OBJECT_KEY_MAX])
{
    const ab_transport_env *env = d->env->env;
    bool application = ab_str_is(kind, "Application");
    bool own = ab_compat_is_principal(d) && ab_compat_is_source(d);
    if (own && !application)
        ns = ab_str_of(env->namespace);
    else if (own && !env->by_destination)
        ns = ab_str_of(ab_grpc_link_agent(d->link));
    int n = snprintf(out, AB_OBJECT_KEY_MAX, "%.*s/%.*s/%.*s", AB_STR_ARG(kind), AB_STR_ARG(ns),
                     AB_STR_ARG(name));
    if (n < 0 || n >= AB_OBJECT_KEY_MAX ||
        ab_object_key_split(ab_str_of(out), &kind, &ns, &name) != AB_ERR_OK)
        out[0] = '\0';
}

static bool read_about(const ab_compat *d, ab_spanv about, char key[AB_OBJECT_KEY_MAX])
{
    ab_str kind = ab_span_plain(ab_span_get(about, "kind"));
    if (ab_str_is(kind, "Repository"))
        kind = AB_STR("Secret");
    key_of(d, kind, ab_span_plain(ab_span_get(about, "namespace")),
           ab_span_plain(ab_span_get(about, "name")), key);
    return key[0] != '\0' && is_kind(kind);
}

static bool is_equal(const ab_compat_resource *r, ab_spanv about)
{
    ab_buf sum = ab_buf_up_to(64);
    bool read = ab_base64_decode(ab_span_plain(ab_span_get(about, "checksum")), &sum);
    bool same = read && r->summed && sum.len == AB_COMPAT_CHECKSUM &&
                memcmp(sum.ptr, r->checksum, AB_COMPAT_CHECKSUM) == 0;
    ab_buf_fini(&sum);
    return same && r->uid != NULL && ab_span_is(ab_span_get(about, "uid"), r->uid);
}

static void set_uid(ab_compat_resource *r, ab_str uid)
{
    free(r->uid);
    r->uid = uid.len == 0 ? NULL : ab_str_dup(uid);
}

/* An agent of ours tells what it has. What is to be done about it is for the principal's machine:
 * the agent's inventory says it. */
static void take_copy(ab_compat *d, ab_spanv about, const char *key)
{
    ab_str uid = ab_span_plain(ab_span_get(about, "uid"));
    bool missing = uid.len == 0;
    bool placeable = !d->env->env->by_destination || !ab_str_starts(ab_str_of(key), "Application/");
    ab_compat_resource *r = ab_map_find(d->resources, ab_str_of(key));
    if (r == NULL && (missing || !placeable)) /* in which namespace of ours it is cannot be told */
        return;
    if (r == NULL)
        r = ab_compat_resource_for(d, ab_str_of(key));
    if (r == NULL) {
        ab_compat_fatal(d, "a copy");
        return;
    }
    bool on_its_way = r->sent != NULL || !TAILQ_EMPTY(&r->waiting);
    if (on_its_way || (!r->present && missing) || (r->present && is_equal(r, about)))
        return;
    r->present = !missing;
    r->hash = (ab_digest){{0}};
    if (!missing)
        set_uid(r, uid);
    d->ask_due = true;
}

/* We are an autonomous agent, and the principal has something else: all is published again. */
static void take_mirror(ab_compat *d, ab_spanv about, const char *key)
{
    const ab_compat_resource *r = ab_map_find(d->resources, ab_str_of(key));
    if (r != NULL && r->present && !is_equal(r, about))
        d->republish_due = true;
}

static void take_update_request(ab_compat *d, ab_spanv about, const char *key)
{
    if (ab_compat_is_principal(d))
        take_copy(d, about, key);
    else
        take_mirror(d, about, key);
}

/* ----- both sides ----- */

/* A sum that cannot be read is none of anything. */
static void want_list(ab_compat *d, ab_spanv request)
{
    ab_buf theirs = ab_buf_up_to(64);
    memset(d->list_sum, 0, AB_COMPAT_CHECKSUM);
    if (ab_base64_decode(ab_span_plain(ab_span_get(request, "checksum")), &theirs) &&
        theirs.len == AB_COMPAT_CHECKSUM)
        memcpy(d->list_sum, theirs.ptr, AB_COMPAT_CHECKSUM);
    ab_buf_fini(&theirs);
    d->tell_all_due = true;
}

static void tell_of_all(ab_compat *d)
{
    uint8_t sum[AB_COMPAT_CHECKSUM];
    size_t count = sum_all(d, sum);
    if (count == 0 || memcmp(d->list_sum, sum, AB_COMPAT_CHECKSUM) == 0)
        return;
    /* Telling makes resources of its own: those that are there now count. */
    ab_compat_each_present(d, tell_of);
}

static void ask_about_one(ab_compat *d, const ab_compat_resource *r)
{
    ab_compat_ask_about(d, ab_str_of(r->key));
}

static void ask_about_all(ab_compat *d)
{
    ask_for_list(d);
    ab_compat_each_present(d, ask_about_one);
    d->resync_requested = !ab_compat_is_principal(d);
}

/* Not as often as the peer likes: all agents wait meanwhile. */
static void answer_about_all(ab_compat *d)
{
    int64_t now = ab_clock_mono_ms(d->env->env->clock);
    if ((!d->tell_all_due && !d->ask_all_due) || now < d->all_at)
        return;
    d->all_at = now + ALL_APART_MS;
    if (d->tell_all_due)
        tell_of_all(d);
    if (d->ask_all_due)
        ask_about_all(d);
    d->tell_all_due = d->ask_all_due = false;
}

void ab_compat_distrust(ab_compat *d)
{
    for (ab_map_iter i = ab_map_first(d->resources); i.entry != NULL; ab_map_next(&i))
        ((ab_compat_resource *)i.value)->summed = false;
    ask_about_all(d);
    d->resync_requested = false;
}

static void take_about(ab_compat *d, ab_type type, ab_spanv about, const ab_event *go)
{
    char key[AB_OBJECT_KEY_MAX];
    if (!read_about(d, about, key))
        ab_compat_drop(d, "payload", go, NULL);
    else if (!ab_compat_may_name(d, ab_str_of(key)))
        ab_compat_drop(d, "names", go, NULL);
    else if (type == AB_TYPE_UPDATE_REQUEST)
        take_update_request(d, about, key);
    else
        ab_compat_ask_about(d, ab_str_of(key));
}

void ab_compat_take_resync(ab_compat *d, ab_type type, const ab_event *go)
{
    ab_span *doc = NULL;
    ab_error err = {0};
    if (ab_span_parse(ab_event_data(go), &doc, &err) != AB_ERR_OK) {
        ab_compat_drop(d, "payload", go, &err);
        return;
    }
    if (type == AB_TYPE_SYNCED_LIST_REQUEST)
        want_list(d, ab_span_root(doc));
    else if (type == AB_TYPE_RESYNC_REQUEST)
        d->ask_all_due = true;
    else
        take_about(d, type, ab_span_root(doc), go);
    ab_span_free(doc);
    answer_about_all(d);
}

/* ----- time ----- */

bool ab_compat_resync_tick(ab_compat *d)
{
    int64_t now = ab_clock_mono_ms(d->env->env->clock);
    answer_about_all(d);
    if (!d->republish_due || now < d->republish_at)
        return false;
    d->republish_due = false;
    d->republish_at = now + REPUBLISH_APART_MS;
    return true;
}
