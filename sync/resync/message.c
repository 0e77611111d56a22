/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/resync/message.h"

#include "base/json/document.h"
#include "base/json/object.h"

#include <stdio.h>
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
};

/* The arrays that a decoded step points to. */
struct decoded {
    ab_resync r;
    cJSON *doc;
    ab_digest *digests;
    uint16_t *want;
};

/* --- steps, to JSON --- */

static bool add_text(cJSON *list, const char *text)
{
    cJSON *item = cJSON_CreateString(text);
    return item != NULL && cJSON_AddItemToArray(list, item);
}

static bool add_summary(cJSON *doc, const ab_resync_summary *summary)
{
    char hex[AB_DIGEST_HEX], newest[AB_VERSION_TEXT];
    ab_version_format(summary->newest, newest);
    bool added = ab_doc_add_str(doc, "newest", ab_str_of(newest)) &&
                 ab_doc_add_i64(doc, "count", (int64_t)summary->count);
    cJSON *pages = added ? cJSON_AddArrayToObject(doc, "pages") : NULL;
    for (size_t i = 0; i < summary->pages && pages != NULL && added; i++) {
        ab_digest_format(&summary->digests[i], hex);
        added = add_text(pages, hex);
    }
    return added && pages != NULL;
}

static bool add_want(cJSON *doc, const ab_resync_want *want)
{
    cJSON *list = cJSON_AddArrayToObject(doc, "want");
    bool added = list != NULL;
    for (size_t i = 0; i < want->count && added; i++) {
        cJSON *page = cJSON_CreateNumber(want->pages[i]);
        added = page != NULL && cJSON_AddItemToArray(list, page);
    }
    return added;
}

static bool add_guard(cJSON *doc, const ab_resync *r)
{
    return (!r->confirm || ab_doc_add_bool(doc, "confirm", true)) &&
           (r->held == 0 || ab_doc_add_i64(doc, "held", (int64_t)r->held));
}

/* An absent text is not a member. */
static bool add_optional(cJSON *doc, const char *name, ab_str text)
{
    return text.ptr == NULL || ab_doc_add_str(doc, name, text);
}

void ab_resync_encode(const ab_resync *r, ab_buf *out)
{
    cJSON *doc = cJSON_CreateObject();
    bool complete = ab_doc_add_str(doc, "step", ab_str_of(steps[r->step].name)) &&
                    add_optional(doc, "id", r->id) && add_optional(doc, "why", r->why) &&
                    add_optional(doc, "namespace", r->namespace) &&
                    (!steps[r->step].summary || add_summary(doc, &r->summary)) &&
                    (!steps[r->step].want || add_want(doc, &r->want)) && add_guard(doc, r);
    ab_doc_finish(doc, complete, out);
}

/* --- steps, from JSON --- */

static bool is_id(ab_str id)
{
    for (size_t i = 0; i < id.len; i++) {
        char c = id.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'))
            return false;
    }
    return id.len > 0 && id.len < AB_RESYNC_ID_MAX;
}

static ab_err invalid(ab_error *err, const char *what)
{
    return ab_fail(err, AB_ERR_INVALID, "%s", what);
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

/* The length of a list; SIZE_MAX when it is none. */
static size_t length(const cJSON *list)
{
    return cJSON_IsArray(list) ? (size_t)cJSON_GetArraySize(list) : SIZE_MAX;
}

static ab_err take_summary(struct decoded *d, ab_error *err)
{
    const cJSON *pages = cJSON_GetObjectItemCaseSensitive(d->doc, "pages");
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
    if (ab_version_parse(ab_doc_text(d->doc, "newest"), &d->r.summary.newest) != AB_ERR_OK)
        return invalid(err, "newest is not a version");
    d->r.summary.pages = n;
    d->r.summary.digests = d->digests;
    return take_count(d->doc, "count", &d->r.summary.count, err);
}

static bool is_page(const cJSON *v)
{
    return cJSON_IsNumber(v) && v->valuedouble >= 0 && v->valuedouble < AB_INVENTORY_PAGES_MAX &&
           v->valuedouble == (double)v->valueint;
}

static ab_err take_want(struct decoded *d, ab_error *err)
{
    const cJSON *want = cJSON_GetObjectItemCaseSensitive(d->doc, "want");
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
    d->r.want = (ab_resync_want){n, d->want};
    return AB_ERR_OK;
}

static ab_err take_step(const cJSON *doc, ab_resync_step *out, ab_error *err)
{
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (ab_doc_is(doc, "step", steps[i].name)) {
            *out = (ab_resync_step)i;
            return AB_ERR_OK;
        }
    }
    return invalid(err, "step is unknown");
}

static ab_err take_guard(ab_resync *r, const cJSON *doc, ab_error *err)
{
    r->confirm = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(doc, "confirm"));
    return cJSON_HasObjectItem(doc, "held") ? take_count(doc, "held", &r->held, err) : AB_ERR_OK;
}

static ab_err take_all(struct decoded *d, ab_error *err)
{
    ab_resync *r = &d->r;
    ab_err e = take_step(d->doc, &r->step, err);
    if (e != AB_ERR_OK)
        return e;
    r->id = ab_doc_text(d->doc, "id");
    r->why = ab_doc_text(d->doc, "why");
    r->namespace = ab_doc_text(d->doc, "namespace");
    if (!is_id(r->id))
        return invalid(err, "id is missing or invalid");
    if (r->step == AB_RESYNC_BEGIN && !ab_str_is_dns_label(r->namespace))
        return invalid(err, "namespace is missing or invalid");
    if (steps[r->step].summary)
        e = take_summary(d, err);
    if (e == AB_ERR_OK && steps[r->step].want)
        e = take_want(d, err);
    return e == AB_ERR_OK ? take_guard(r, d->doc, err) : e;
}

ab_err ab_resync_decode(ab_str text, ab_resync **out, ab_error *err)
{
    struct decoded *d = calloc(1, sizeof(*d));
    if (d == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    ab_err e = ab_doc_parse(text, DOCUMENT_MAX, &d->doc, err);
    if (e == AB_ERR_OK)
        e = take_all(d, err);
    if (e == AB_ERR_OK)
        *out = &d->r;
    else
        ab_resync_free(&d->r);
    return e;
}

void ab_resync_free(ab_resync *r)
{
    struct decoded *d = (struct decoded *)r;
    if (d == NULL)
        return;
    cJSON_Delete(d->doc);
    free(d->digests);
    free(d->want);
    free(d);
}

/* --- pages --- */

static bool add_entry(cJSON *list, const ab_inventory_entry *entry)
{
    char version[AB_VERSION_TEXT], hash[AB_DIGEST_HEX], key[KEY_MAX];
    ab_version_format(entry->version, version);
    ab_digest_format(&entry->hash, hash);
    snprintf(key, sizeof(key), "%.*s", AB_STR_ARG(entry->key));
    cJSON *item = cJSON_CreateArray();
    if (item == NULL || !cJSON_AddItemToArray(list, item))
        return false;
    return add_text(item, key) && add_text(item, version) &&
           add_text(item, ab_digest_is_none(&entry->hash) ? "" : hash);
}

void ab_resync_page_encode(const ab_inventory *inv, size_t page, ab_str id, ab_buf *out)
{
    size_t count;
    const ab_inventory_entry *entries = ab_inventory_page(inv, page, &count);
    cJSON *doc = cJSON_CreateObject();
    bool complete = ab_doc_add_str(doc, "id", id) && ab_doc_add_i64(doc, "page", (int64_t)page);
    cJSON *list = complete ? cJSON_AddArrayToObject(doc, "entries") : NULL;
    complete = list != NULL;
    for (size_t i = 0; i < count && complete; i++)
        complete = add_entry(list, &entries[i]);
    ab_doc_finish(doc, complete, out);
}

struct page {
    ab_resync_page p;
    cJSON *doc;
};

static ab_err take_entry(ab_inventory *inv, const cJSON *v, ab_error *err)
{
    ab_str texts[3];
    if (length(v) != 3)
        return invalid(err, "an entry is not an array of three");
    for (int i = 0; i < 3; i++)
        texts[i] = ab_str_of(cJSON_GetStringValue(cJSON_GetArrayItem(v, i)));
    ab_inventory_entry entry = {.key = texts[0]};
    if (entry.key.len == 0 || entry.key.len >= KEY_MAX || !ab_str_is_printable(entry.key))
        return invalid(err, "the key of an entry is invalid");
    if (ab_version_parse(texts[1], &entry.version) != AB_ERR_OK)
        return invalid(err, "the version of an entry is invalid");
    if (!ab_str_is(texts[2], "") && ab_digest_parse(texts[2], &entry.hash) != AB_ERR_OK)
        return invalid(err, "the hash of an entry is invalid");
    ab_err e = ab_inventory_add(inv, &entry);
    return e == AB_ERR_OK ? e : ab_fail(err, e, "out of memory");
}

static ab_err take_entries(ab_inventory *inv, const cJSON *entries, ab_error *err)
{
    if (length(entries) > AB_INVENTORY_PAGE_MAX)
        return invalid(err, "entries is not an array of at most 1000");
    const cJSON *v;
    cJSON_ArrayForEach(v, entries)
    {
        ab_err e = take_entry(inv, v, err);
        if (e != AB_ERR_OK)
            return e;
    }
    size_t count = ab_inventory_count(inv);
    ab_err e = ab_inventory_divide(inv, 1);
    if (e != AB_ERR_OK)
        return ab_fail(err, e, "%s", ab_err_text(e));
    return ab_inventory_count(inv) == count ? AB_ERR_OK : invalid(err, "an entry is given twice");
}

static ab_err take_page(struct page *p, ab_error *err)
{
    int64_t page;
    p->p.id = ab_doc_text(p->doc, "id");
    if (!is_id(p->p.id))
        return invalid(err, "id is missing or invalid");
    if (ab_doc_i64(p->doc, "page", &page) != AB_ERR_OK || page < 0 ||
        page >= AB_INVENTORY_PAGES_MAX)
        return invalid(err, "page is missing or invalid");
    p->p.page = (size_t)page;
    return take_entries(p->p.entries, cJSON_GetObjectItemCaseSensitive(p->doc, "entries"), err);
}

ab_err ab_resync_page_decode(ab_str text, ab_resync_page **out, ab_error *err)
{
    struct page *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    p->p.entries = ab_inventory_new();
    ab_err e = p->p.entries == NULL ? ab_fail(err, AB_ERR_NOMEM, "out of memory")
                                    : ab_doc_parse(text, DOCUMENT_MAX, &p->doc, err);
    if (e == AB_ERR_OK)
        e = take_page(p, err);
    if (e == AB_ERR_OK)
        *out = &p->p;
    else
        ab_resync_page_free(&p->p);
    return e;
}

void ab_resync_page_free(ab_resync_page *page)
{
    struct page *p = (struct page *)page;
    if (p == NULL)
        return;
    ab_inventory_free(p->p.entries);
    cJSON_Delete(p->doc);
    free(p);
}
