/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/resync/message.h"

#include "base/json/document.h"
#include "base/json/object.h"

#include <stdlib.h>

/* Larger documents are refused unread: a page of the longest keys. */
#define DOCUMENT_MAX (1024u * 1024)
/* An error under the key of an object. */
#define KEY_MAX (AB_OBJECT_KEY_MAX + 8)

/* Names of the steps, and what each must have. */
static const struct step_row {
    const char *name;
    bool summary;
    bool want;
} steps[] = {
    [AB_RESYNC_ASK] = {"ask", false, false},     [AB_RESYNC_BEGIN] = {"begin", true, false},
    [AB_RESYNC_ANSWER] = {"answer", true, true}, [AB_RESYNC_WANT] = {"want", false, true},
    [AB_RESYNC_TAKEN] = {"taken", false, false}, [AB_RESYNC_END] = {"end", false, false},
    [AB_RESYNC_PAGE] = {NULL, false, false}, /* the only message without a name */
};

/* --- to JSON --- */

static void put_int(ab_spanw *w, const char *name, size_t value)
{
    ab_spanw_key_int(w, name, (int64_t)value);
}

static void put_digest(ab_spanw *w, const ab_digest *digest)
{
    char hex[AB_DIGEST_HEX];
    ab_digest_format(digest, hex);
    ab_spanw_str(w, ab_str_of(hex));
}

static void put_set(ab_spanw *w, const char *name, const ab_digest *set)
{
    if (ab_digest_is_none(set))
        return;
    ab_spanw_key(w, ab_str_of(name));
    put_digest(w, set);
}

static void put_version(ab_spanw *w, ab_version version)
{
    char text[AB_VERSION_TEXT];
    ab_version_format(version, text);
    ab_spanw_str(w, ab_str_of(text));
}

static void put_summary(ab_spanw *w, const ab_inventory_summary *summary)
{
    ab_spanw_key(w, AB_STR("newest"));
    put_version(w, summary->newest);
    put_int(w, "count", summary->count);
    ab_spanw_key_array(w, "pages");
    for (size_t i = 0; i < summary->pages; i++)
        put_digest(w, &summary->digests[i]);
    ab_spanw_array_end(w);
}

static void put_want(ab_spanw *w, const ab_resync_want *want)
{
    ab_spanw_key_array(w, "want");
    for (size_t i = 0; i < want->count; i++)
        ab_spanw_int(w, want->pages[i]);
    ab_spanw_array_end(w);
}

static void put_names(ab_spanw *w, const ab_map *names)
{
    if (names == NULL)
        return;
    ab_spanw_key_array(w, "held_names");
    for (ab_map_iter i = ab_map_first(names); i.entry != NULL; ab_map_next(&i))
        ab_spanw_str(w, i.key);
    ab_spanw_array_end(w);
}

static void put_entry(ab_spanw *w, const ab_inventory_entry *entry)
{
    ab_spanw_array(w);
    ab_spanw_str(w, entry->key);
    put_version(w, entry->version);
    if (ab_digest_is_none(&entry->hash))
        ab_spanw_str(w, AB_STR(""));
    else
        put_digest(w, &entry->hash);
    ab_spanw_array_end(w);
}

static void put_page(ab_spanw *w, const ab_inventory *inventory, size_t page)
{
    size_t count;
    const ab_inventory_entry *entries = ab_inventory_page(inventory, page, &count);
    put_int(w, "page", page);
    ab_spanw_key_array(w, "entries");
    for (size_t i = 0; i < count; i++)
        put_entry(w, &entries[i]);
    ab_spanw_array_end(w);
}

void ab_resync_message_encode(const ab_resync_message *m, ab_buf *out)
{
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_key_str(&w, "step", ab_str_of(steps[m->step].name));
    ab_spanw_key_str(&w, "id", m->id);
    ab_spanw_key_str(&w, "why", m->why);
    ab_spanw_key_str(&w, "namespace", m->namespace);
    if (steps[m->step].summary)
        put_summary(&w, &m->summary);
    if (steps[m->step].want)
        put_want(&w, &m->want);
    put_set(&w, "confirm_set", &m->confirmed);
    if (m->held != 0)
        put_int(&w, "held", m->held);
    put_set(&w, "held_set", &m->held_set);
    put_names(&w, m->held_names);
    if (m->step == AB_RESYNC_PAGE)
        put_page(&w, m->inventory, m->page);
    ab_spanw_object_end(&w);
}

/* --- from JSON --- */

/* A message, and what it points to. */
struct decoded {
    ab_resync_message m;
    cJSON *doc;
    ab_digest *digests;
    uint16_t *want;
};

static ab_err invalid(ab_error *err, const char *what)
{
    return ab_fail(err, AB_ERR_INVALID, "%s", what);
}

static bool is_id(ab_str id)
{
    for (size_t i = 0; i < id.len; i++) {
        char c = id.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'))
            return false;
    }
    return id.len > 0 && id.len < AB_RESYNC_ID_MAX;
}

static const cJSON *member(const struct decoded *d, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(d->doc, name);
}

/* The length of a list; SIZE_MAX when it is none. */
static size_t length(const cJSON *list)
{
    return cJSON_IsArray(list) ? (size_t)cJSON_GetArraySize(list) : SIZE_MAX;
}

static ab_err take_count(const cJSON *doc, const char *name, size_t *out, ab_error *err)
{
    int64_t count;
    if (ab_doc_i64(doc, name, &count) != AB_ERR_OK || count < 0 ||
        count > (int64_t)AB_INVENTORY_PAGES_MAX * AB_INVENTORY_PAGE_MAX)
        return ab_fail(err, AB_ERR_INVALID, "%s is not a number of objects", name);
    *out = (size_t)count;
    return AB_ERR_OK;
}

static ab_err take_summary(struct decoded *d, ab_error *err)
{
    const cJSON *pages = member(d, "pages");
    size_t n = length(pages);
    if (!ab_inventory_is_pages(n))
        return invalid(err, "pages is not an array with a power of two entries");
    d->digests = calloc(n, sizeof(*d->digests));
    if (d->digests == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    size_t i = 0;
    const cJSON *v;
    cJSON_ArrayForEach(v, pages)
    {
        if (ab_digest_parse(ab_str_of(cJSON_GetStringValue(v)), &d->digests[i++]) != AB_ERR_OK)
            return invalid(err, "pages contains an entry that is not a digest");
    }
    if (ab_version_parse(ab_doc_text(d->doc, "newest"), &d->m.summary.newest) != AB_ERR_OK)
        return invalid(err, "newest is not a version");
    d->m.summary.pages = n;
    d->m.summary.digests = d->digests;
    return take_count(d->doc, "count", &d->m.summary.count, err);
}

static bool is_page(const cJSON *v)
{
    return cJSON_IsNumber(v) && v->valuedouble >= 0 && v->valuedouble < AB_INVENTORY_PAGES_MAX &&
           v->valuedouble == (double)v->valueint;
}

static ab_err take_want(struct decoded *d, ab_error *err)
{
    const cJSON *want = member(d, "want");
    size_t n = length(want);
    if (n > AB_INVENTORY_PAGES_MAX)
        return invalid(err, "want is not an array of pages");
    d->want = calloc(n + 1, sizeof(*d->want));
    if (d->want == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    size_t i = 0;
    const cJSON *v;
    cJSON_ArrayForEach(v, want)
    {
        if (!is_page(v) || (i > 0 && v->valueint <= d->want[i - 1]))
            return invalid(err, "want contains an entry that is not a page, or is not sorted");
        d->want[i++] = (uint16_t)v->valueint;
    }
    d->m.want = (ab_resync_want){n, d->want};
    return AB_ERR_OK;
}

static bool is_key(ab_str key)
{
    return key.len > 0 && key.len < KEY_MAX && ab_str_is_printable(key);
}

static ab_err take_entry(ab_inventory *inv, const cJSON *v, ab_error *err)
{
    ab_str texts[3];
    if (length(v) != 3)
        return invalid(err, "an entry is not an array of three");
    for (int i = 0; i < 3; i++)
        texts[i] = ab_str_of(cJSON_GetStringValue(cJSON_GetArrayItem(v, i)));
    ab_inventory_entry entry = {.key = texts[0]};
    if (!is_key(entry.key))
        return invalid(err, "the key of an entry is invalid");
    if (ab_version_parse(texts[1], &entry.version) != AB_ERR_OK)
        return invalid(err, "the version of an entry is invalid");
    if (!ab_str_is(texts[2], "") && ab_digest_parse(texts[2], &entry.hash) != AB_ERR_OK)
        return invalid(err, "the hash of an entry is invalid");
    ab_inventory_add(inv, &entry);
    return AB_ERR_OK;
}

static ab_err take_entries(struct decoded *d, ab_error *err)
{
    const cJSON *v, *entries = member(d, "entries");
    if (length(entries) > AB_INVENTORY_PAGE_MAX)
        return invalid(err, "entries is not an array of at most 1000");
    ab_inventory *inv = d->m.inventory = ab_inventory_new();
    ab_err e = inv == NULL ? ab_fail(err, AB_ERR_NOMEM, "out of memory") : AB_ERR_OK;
    for (v = entries->child; v != NULL && e == AB_ERR_OK; v = v->next)
        e = take_entry(inv, v, err);
    if (e != AB_ERR_OK)
        return e;
    e = ab_inventory_divide(inv, 1);
    if (e != AB_ERR_OK)
        return ab_fail(err, e, "%s", ab_err_text(e));
    if (ab_inventory_sum(inv).count != length(entries))
        return invalid(err, "an entry is given twice");
    return AB_ERR_OK;
}

static ab_err take_page(struct decoded *d, ab_error *err)
{
    const cJSON *page = member(d, "page");
    if (!is_page(page))
        return invalid(err, "page is missing or invalid");
    d->m.page = (size_t)page->valueint;
    return take_entries(d, err);
}

static ab_err take_set(const struct decoded *d, const char *name, ab_digest *out, ab_error *err)
{
    if (member(d, name) == NULL || ab_digest_parse(ab_doc_text(d->doc, name), out) == AB_ERR_OK)
        return AB_ERR_OK;
    return ab_fail(err, AB_ERR_INVALID, "%s is not a digest", name);
}

static ab_err take_names(struct decoded *d, ab_error *err)
{
    const cJSON *v, *names = member(d, "held_names");
    if (names == NULL)
        return AB_ERR_OK;
    if (length(names) > AB_RESYNC_NAMES_MAX)
        return invalid(err, "held_names is not an array of at most 100");
    d->m.held_names = ab_map_new();
    ab_err e = d->m.held_names == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
    for (v = names->child; v != NULL && e == AB_ERR_OK; v = v->next) {
        ab_str key = ab_str_of(cJSON_GetStringValue(v));
        if (!is_key(key))
            return invalid(err, "held_names contains an entry that is not a key");
        e = ab_map_put(d->m.held_names, key, d, NULL);
    }
    return e == AB_ERR_OK ? e : ab_fail(err, e, "%s", ab_err_text(e));
}

static ab_err take_guard(struct decoded *d, ab_error *err)
{
    ab_resync_message *m = &d->m;
    m->confirm = cJSON_IsTrue(member(d, "confirm"));
    ab_err e = take_set(d, "confirm_set", &m->confirmed, err);
    if (e == AB_ERR_OK)
        e = take_set(d, "held_set", &m->held_set, err);
    if (e == AB_ERR_OK && member(d, "held") != NULL)
        e = take_count(d->doc, "held", &m->held, err);
    return e == AB_ERR_OK ? take_names(d, err) : e;
}

static ab_err take_step(struct decoded *d, ab_error *err)
{
    ab_resync_message *m = &d->m;
    while (m->step < AB_RESYNC_PAGE && !ab_doc_is(d->doc, "step", steps[m->step].name))
        m->step++;
    if (m->step == AB_RESYNC_PAGE && member(d, "step") != NULL)
        return invalid(err, "step is unknown");
    m->id = ab_doc_text(d->doc, "id");
    m->why = ab_doc_text(d->doc, "why");
    m->namespace = ab_doc_text(d->doc, "namespace");
    if (!is_id(m->id))
        return invalid(err, "id is missing or invalid");
    if (m->step == AB_RESYNC_BEGIN && !ab_str_is_dns_label(m->namespace))
        return invalid(err, "namespace is missing or invalid");
    return take_guard(d, err);
}

ab_err ab_resync_message_decode(ab_str text, ab_resync_message **out, ab_error *err)
{
    struct decoded *d = calloc(1, sizeof(*d));
    if (d == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    ab_err e = ab_doc_parse(text, DOCUMENT_MAX, &d->doc, err);
    if (e == AB_ERR_OK)
        e = take_step(d, err);
    if (e == AB_ERR_OK && steps[d->m.step].summary)
        e = take_summary(d, err);
    if (e == AB_ERR_OK && steps[d->m.step].want)
        e = take_want(d, err);
    if (e == AB_ERR_OK && d->m.step == AB_RESYNC_PAGE)
        e = take_page(d, err);
    if (e == AB_ERR_OK)
        *out = &d->m;
    else
        ab_resync_message_free(&d->m);
    return e;
}

void ab_resync_message_free(ab_resync_message *m)
{
    struct decoded *d = (struct decoded *)m;
    if (d == NULL)
        return;
    cJSON_Delete(d->doc);
    free(d->digests);
    free(d->want);
    ab_inventory_free(m->inventory);
    ab_map_free(m->held_names, NULL);
    free(d);
}
