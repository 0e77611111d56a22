/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/resync.h"

#include "base/object.h"

#include <stdlib.h>

/* An error under the key of an object. */
#define KEY_MAX (AB_OBJECT_KEY_MAX + 8)

/* Names of the steps, and what each must have. */
static const struct step_row {
    const char *name;
    bool told;
    bool want;
} steps[] = {
    [AB_RESYNC_ASK] = {"ask", false, false},     [AB_RESYNC_BEGIN] = {"begin", true, false},
    [AB_RESYNC_ANSWER] = {"answer", true, true}, [AB_RESYNC_WANT] = {"want", false, true},
    [AB_RESYNC_TAKEN] = {"taken", false, false}, [AB_RESYNC_END] = {"end", false, false},
};

/* The arrays that a decoded step points to. */
struct decoded {
    ab_resync r;
    ab_json *doc;
    ab_digest *digests;
    uint16_t *want;
};

/* --- steps, to JSON --- */

static void encode_told(ab_jsonw *w, const ab_resync_told *told)
{
    char hex[AB_DIGEST_HEX], newest[AB_VERSION_TEXT];
    ab_version_format(told->newest, newest);
    ab_jsonw_key_str(w, "newest", ab_str_of(newest));
    ab_jsonw_key(w, AB_STR("count"));
    ab_jsonw_int(w, (int64_t)told->count);
    ab_jsonw_key(w, AB_STR("pages"));
    ab_jsonw_array(w);
    for (size_t i = 0; i < told->pages; i++) {
        ab_digest_format(&told->digests[i], hex);
        ab_jsonw_str(w, ab_str_of(hex));
    }
    ab_jsonw_array_end(w);
}

static void encode_want(ab_jsonw *w, const ab_resync_want *want)
{
    ab_jsonw_key(w, AB_STR("want"));
    ab_jsonw_array(w);
    for (size_t i = 0; i < want->count; i++)
        ab_jsonw_int(w, want->pages[i]);
    ab_jsonw_array_end(w);
}

static void encode_guard(ab_jsonw *w, const ab_resync *r)
{
    if (r->confirm) {
        ab_jsonw_key(w, AB_STR("confirm"));
        ab_jsonw_bool(w, true);
    }
    if (r->held > 0) {
        ab_jsonw_key(w, AB_STR("held"));
        ab_jsonw_int(w, (int64_t)r->held);
    }
}

void ab_resync_encode(const ab_resync *r, ab_buf *out)
{
    ab_jsonw w = ab_jsonw_to(out);
    ab_jsonw_object(&w);
    ab_jsonw_key_str(&w, "step", ab_str_of(steps[r->step].name));
    ab_jsonw_key_str(&w, "id", r->id);
    ab_jsonw_key_str(&w, "why", r->why);
    ab_jsonw_key_str(&w, "namespace", r->namespace);
    if (steps[r->step].told)
        encode_told(&w, &r->told);
    if (steps[r->step].want)
        encode_want(&w, &r->want);
    encode_guard(&w, r);
    ab_jsonw_object_end(&w);
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

static ab_err take_count(ab_jsonv v, const char *name, size_t *out, ab_error *err)
{
    int64_t count;
    if (ab_json_i64(v, &count) != AB_ERR_OK || count < 0 ||
        count > (int64_t)AB_INVENTORY_PAGES_MAX * AB_INVENTORY_PAGE_MAX)
        return ab_fail(err, AB_ERR_INVALID, "%s is no number of objects", name);
    *out = (size_t)count;
    return AB_ERR_OK;
}

static ab_err take_told(struct decoded *d, ab_jsonv root, ab_error *err)
{
    ab_jsonv pages = ab_json_get(root, "pages");
    size_t n = ab_json_typeof(pages) == AB_JSON_ARRAY ? ab_json_count(pages) : 0;
    if (!ab_inventory_is_pages(n))
        return invalid(err, "pages is no array of a power of two");
    d->digests = calloc(n, sizeof(*d->digests));
    if (d->digests == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    size_t i = 0;
    for (ab_jsonv v = ab_json_first(pages); ab_json_present(v); v = ab_json_next(v))
        if (ab_digest_parse(ab_json_plain(v), &d->digests[i++]) != AB_ERR_OK)
            return invalid(err, "pages has what is no digest");
    if (ab_version_parse(ab_json_plain(ab_json_get(root, "newest")), &d->r.told.newest) !=
        AB_ERR_OK)
        return invalid(err, "newest is no version");
    d->r.told.pages = n;
    d->r.told.digests = d->digests;
    return take_count(ab_json_get(root, "count"), "count", &d->r.told.count, err);
}

static ab_err take_want(struct decoded *d, ab_jsonv root, ab_error *err)
{
    ab_jsonv want = ab_json_get(root, "want");
    size_t n = ab_json_count(want);
    if (ab_json_typeof(want) != AB_JSON_ARRAY || n > AB_INVENTORY_PAGES_MAX)
        return invalid(err, "want is no array of pages");
    d->want = calloc(n + 1, sizeof(*d->want));
    if (d->want == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    int64_t before = -1, page;
    size_t i = 0;
    for (ab_jsonv v = ab_json_first(want); ab_json_present(v); v = ab_json_next(v)) {
        if (ab_json_i64(v, &page) != AB_ERR_OK || page <= before || page >= AB_INVENTORY_PAGES_MAX)
            return invalid(err, "want has what is no page, or not in order");
        d->want[i++] = (uint16_t)page;
        before = page;
    }
    d->r.want = (ab_resync_want){n, d->want};
    return AB_ERR_OK;
}

static ab_err take_step(ab_jsonv root, ab_resync_step *out, ab_error *err)
{
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (ab_json_is(ab_json_get(root, "step"), steps[i].name)) {
            *out = (ab_resync_step)i;
            return AB_ERR_OK;
        }
    }
    return invalid(err, "step is none that is known");
}

static ab_err take_guard(ab_resync *r, ab_jsonv root, ab_error *err)
{
    ab_jsonv held = ab_json_get(root, "held");
    r->confirm = ab_json_typeof(ab_json_get(root, "confirm")) == AB_JSON_TRUE;
    return ab_json_present(held) ? take_count(held, "held", &r->held, err) : AB_ERR_OK;
}

static ab_err take_all(struct decoded *d, ab_error *err)
{
    ab_jsonv root = ab_json_root(d->doc);
    ab_resync *r = &d->r;
    ab_err e = take_step(root, &r->step, err);
    if (e != AB_ERR_OK)
        return e;
    r->id = ab_json_plain(ab_json_get(root, "id"));
    r->why = ab_json_plain(ab_json_get(root, "why"));
    r->namespace = ab_json_plain(ab_json_get(root, "namespace"));
    if (!is_id(r->id))
        return invalid(err, "id is none");
    if (r->step == AB_RESYNC_BEGIN && !ab_str_is_dns_label(r->namespace))
        return invalid(err, "namespace is none");
    if (steps[r->step].told)
        e = take_told(d, root, err);
    if (e == AB_ERR_OK && steps[r->step].want)
        e = take_want(d, root, err);
    return e == AB_ERR_OK ? take_guard(r, root, err) : e;
}

ab_err ab_resync_decode(ab_str text, ab_resync **out, ab_error *err)
{
    struct decoded *d = calloc(1, sizeof(*d));
    if (d == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    ab_err e = ab_json_parse(text, &d->doc, err);
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
    ab_json_free(d->doc);
    free(d->digests);
    free(d->want);
    free(d);
}

/* --- pages --- */

static void encode_entry(ab_jsonw *w, const ab_inventory_entry *entry)
{
    char version[AB_VERSION_TEXT], hash[AB_DIGEST_HEX];
    ab_version_format(entry->version, version);
    ab_digest_format(&entry->hash, hash);
    ab_jsonw_array(w);
    ab_jsonw_str(w, entry->key);
    ab_jsonw_str(w, ab_str_of(version));
    ab_jsonw_str(w, ab_digest_is_none(&entry->hash) ? AB_STR("") : ab_str_of(hash));
    ab_jsonw_array_end(w);
}

void ab_resync_page_encode(const ab_inventory *inv, size_t page, ab_str id, ab_buf *out)
{
    size_t count;
    const ab_inventory_entry *entries = ab_inventory_page(inv, page, &count);
    ab_jsonw w = ab_jsonw_to(out);
    ab_jsonw_object(&w);
    ab_jsonw_key_str(&w, "id", id);
    ab_jsonw_key(&w, AB_STR("page"));
    ab_jsonw_int(&w, (int64_t)page);
    ab_jsonw_key(&w, AB_STR("entries"));
    ab_jsonw_array(&w);
    for (size_t i = 0; i < count; i++)
        encode_entry(&w, &entries[i]);
    ab_jsonw_array_end(&w);
    ab_jsonw_object_end(&w);
}

struct page {
    ab_resync_page p;
    ab_json *doc;
};

static ab_err take_entry(ab_inventory *inv, ab_jsonv v, ab_error *err)
{
    ab_jsonv key = ab_json_first(v), version = ab_json_next(key), hash = ab_json_next(version);
    ab_inventory_entry entry = {.key = ab_json_plain(key)};
    if (ab_json_typeof(v) != AB_JSON_ARRAY || ab_json_count(v) != 3)
        return invalid(err, "an entry is no array of three");
    if (entry.key.len == 0 || entry.key.len >= KEY_MAX || !ab_str_is_printable(entry.key))
        return invalid(err, "the key of an entry is none");
    if (ab_version_parse(ab_json_plain(version), &entry.version) != AB_ERR_OK)
        return invalid(err, "the version of an entry is none");
    if (!ab_json_is(hash, "") && ab_digest_parse(ab_json_plain(hash), &entry.hash) != AB_ERR_OK)
        return invalid(err, "the hash of an entry is none");
    ab_err e = ab_inventory_add(inv, &entry);
    return e == AB_ERR_OK ? e : ab_fail(err, e, "out of memory");
}

static ab_err take_entries(ab_inventory *inv, ab_jsonv entries, ab_error *err)
{
    if (ab_json_typeof(entries) != AB_JSON_ARRAY || ab_json_count(entries) > AB_INVENTORY_PAGE_MAX)
        return invalid(err, "entries is no array of at most 1000");
    for (ab_jsonv v = ab_json_first(entries); ab_json_present(v); v = ab_json_next(v)) {
        ab_err e = take_entry(inv, v, err);
        if (e != AB_ERR_OK)
            return e;
    }
    size_t count = ab_inventory_count(inv);
    ab_err e = ab_inventory_divide(inv, 1);
    if (e != AB_ERR_OK)
        return ab_fail(err, e, "%s", ab_err_text(e));
    return ab_inventory_count(inv) == count ? AB_ERR_OK : invalid(err, "an entry is there twice");
}

static ab_err take_page(struct page *p, ab_error *err)
{
    int64_t page;
    ab_jsonv root = ab_json_root(p->doc);
    p->p.id = ab_json_plain(ab_json_get(root, "id"));
    if (!is_id(p->p.id))
        return invalid(err, "id is none");
    if (ab_json_i64(ab_json_get(root, "page"), &page) != AB_ERR_OK || page < 0 ||
        page >= AB_INVENTORY_PAGES_MAX)
        return invalid(err, "page is none");
    p->p.page = (size_t)page;
    return take_entries(p->p.entries, ab_json_get(root, "entries"), err);
}

ab_err ab_resync_page_decode(ab_str text, ab_resync_page **out, ab_error *err)
{
    struct page *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    p->p.entries = ab_inventory_new();
    ab_err e = p->p.entries == NULL ? ab_fail(err, AB_ERR_NOMEM, "out of memory")
                                    : ab_json_parse(text, &p->doc, err);
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
    ab_json_free(p->doc);
    free(p);
}
