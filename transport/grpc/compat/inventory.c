/* SPDX-License-Identifier: Apache-2.0
 *
 * The link's own resync (docs/protocol.md), of which an argocd-agent knows nothing. To a principal
 * the compatibility layer tells what its agent has acknowledged or has said to hold. Of an agent it
 * asks what that holds, so that the principal can be asked about each.
 */
#include "base/core/digest.h"
#include "schema/attributes.h"
#include "transport/grpc/compat/compat_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define PAGE_AIM  500
#define PAGES_MAX 4096

/* ----- saying it ----- */

static void say(ab_compat *d, ab_type type, const char *key, ab_buf *data)
{
    ab_event_draft draft = {.data = ab_buf_str(data)};
    ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(type));
    ab_event_set_text(&draft, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_RESYNC));
    ab_event_set_text(&draft, AB_CE_PARTITIONKEY, key);
    if (d->owner[0] != '\0')
        ab_event_set_text(&draft, AB_CE_PRINCIPALUID, d->owner);
    if (ab_buf_status(data) == AB_ERR_OK)
        ab_compat_report(d, ab_compat_make(d, &draft, NULL));
    else
        ab_compat_fatal(d, "a step of a resync");
    ab_buf_fini(data);
}

static ab_spanw begin_step(ab_buf *data, const char *step, ab_str id)
{
    ab_buf_init(data, AB_SPAN_SIZE_MAX);
    ab_spanw w = ab_spanw_object_to(data);
    ab_spanw_key_str(&w, "step", ab_str_of(step));
    ab_spanw_key_str(&w, "id", id);
    return w;
}

static void end_step(ab_compat *d, ab_spanw *w, ab_buf *data)
{
    ab_spanw_object_end(w);
    say(d, AB_TYPE_RESYNC, AB_KEY_RESYNC, data);
}

/* ----- what the agent holds, in pages ----- */

typedef struct {
    uint32_t mix; /* FNV-1a of the key: the page is this modulo the number of pages */
    const ab_compat_resource *resource;
} entry;

typedef struct {
    entry *entries; /* by page and key */
    size_t count;
    size_t pages;
    const ab_compat_resource *newest;
} inventory;

static uint32_t mix_of(const char *key)
{
    uint32_t mix = 2166136261u;
    for (; *key != '\0'; key++)
        mix = (mix ^ (uint8_t)*key) * 16777619u;
    return mix;
}

static int by_page_and_key(const void *a, const void *b, void *arg)
{
    const entry *x = a, *y = b;
    const size_t *pages = arg;
    size_t px = x->mix % *pages, py = y->mix % *pages;
    if (px != py)
        return (px > py) - (px < py);
    return strcmp(x->resource->key, y->resource->key);
}

static bool is_newer(const ab_compat_resource *a, const ab_compat_resource *b)
{
    return b == NULL || a->epoch > b->epoch || (a->epoch == b->epoch && a->version > b->version);
}

/* Of the other's objects an autonomous agent holds nothing. */
static ab_err take_stock(const ab_compat *d, inventory *inv)
{
    bool holds = ab_compat_is_source(d);
    *inv = (inventory){.pages = 1};
    inv->entries = calloc(ab_map_count(d->resources) + 1, sizeof(*inv->entries));
    if (inv->entries == NULL)
        return AB_ERR_NOMEM;
    for (ab_map_iter i = ab_map_first(d->resources); i.entry != NULL; ab_map_next(&i)) {
        const ab_compat_resource *r = i.value;
        if (!r->present || !holds)
            continue;
        inv->entries[inv->count++] = (entry){mix_of(r->key), r};
        inv->newest = is_newer(r, inv->newest) ? r : inv->newest;
    }
    while (inv->pages < PAGES_MAX && inv->count / inv->pages > PAGE_AIM)
        inv->pages *= 2;
    qsort_r(inv->entries, inv->count, sizeof(*inv->entries), by_page_and_key, &inv->pages);
    return AB_ERR_OK;
}

/* The entries of page `n`, the first of which is at *first or later. */
static size_t page_end(const inventory *inv, size_t n, size_t first)
{
    size_t end = first;
    while (end < inv->count && inv->entries[end].mix % inv->pages == n)
        end++;
    return end;
}

static ab_err digest_page(const inventory *inv, size_t first, size_t end, ab_spanw *w)
{
    ab_digest digest;
    char hex[AB_DIGEST_HEX];
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    for (size_t i = first; i < end; i++) {
        ab_digest_format(&inv->entries[i].resource->hash, hex);
        ab_buf_printf(&text, "%s %s\n", inv->entries[i].resource->key, hex);
    }
    ab_err e = ab_buf_status(&text);
    if (e == AB_ERR_OK)
        e = ab_digest_of(ab_buf_str(&text), &digest);
    ab_buf_fini(&text);
    if (e != AB_ERR_OK)
        return e;
    ab_digest_format(&digest, hex);
    ab_spanw_str(w, ab_str_of(hex));
    return AB_ERR_OK;
}

static ab_err write_told(const inventory *inv, ab_spanw *w)
{
    char newest[64];
    size_t first = 0;
    ab_err e = AB_ERR_OK;
    snprintf(newest, sizeof(newest), "%" PRIu64 ".%" PRIu64,
             inv->newest == NULL ? 0 : inv->newest->epoch,
             inv->newest == NULL ? 0 : inv->newest->version);
    ab_spanw_key_str(w, "newest", ab_str_of(newest));
    ab_spanw_key_int(w, "count", (int64_t)inv->count);
    ab_spanw_key_array(w, "pages");
    for (size_t n = 0; n < inv->pages && e == AB_ERR_OK; n++) {
        size_t end = page_end(inv, n, first);
        e = digest_page(inv, first, end, w);
        first = end;
    }
    ab_spanw_array_end(w);
    return e;
}

static void answer(ab_compat *d, ab_str id)
{
    ab_buf data;
    inventory inv;
    ab_err e = take_stock(d, &inv);
    ab_spanw w = begin_step(&data, "answer", id);
    if (e == AB_ERR_OK)
        e = write_told(&inv, &w);
    free(inv.entries);
    ab_spanw_key_array(&w, "want");
    ab_spanw_array_end(&w);
    if (e == AB_ERR_OK) {
        end_step(d, &w, &data);
        return;
    }
    ab_buf_fini(&data);
    ab_compat_fatal(d, "an inventory");
}

static void write_entry(ab_spanw *w, const ab_compat_resource *r)
{
    char version[64], hex[AB_DIGEST_HEX];
    snprintf(version, sizeof(version), "%" PRIu64 ".%" PRIu64, r->epoch, r->version);
    ab_digest_format(&r->hash, hex);
    ab_spanw_array(w);
    ab_spanw_str(w, ab_str_of(r->key));
    ab_spanw_str(w, ab_str_of(version));
    ab_spanw_str(w, ab_digest_is_none(&r->hash) ? AB_STR("") : ab_str_of(hex));
    ab_spanw_array_end(w);
}

static void say_page(ab_compat *d, const inventory *inv, size_t n, ab_str id)
{
    char key[sizeof(AB_KEY_INVENTORY) + 24];
    size_t first = 0;
    while (first < inv->count && inv->entries[first].mix % inv->pages < n)
        first++;
    ab_buf data = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_spanw w = ab_spanw_object_to(&data);
    ab_spanw_key_str(&w, "id", id);
    ab_spanw_key_int(&w, "page", (int64_t)n);
    ab_spanw_key_array(&w, "entries");
    for (size_t i = first; i < page_end(inv, n, first); i++)
        write_entry(&w, inv->entries[i].resource);
    ab_spanw_array_end(&w);
    ab_spanw_object_end(&w);
    snprintf(key, sizeof(key), AB_KEY_INVENTORY "%zu", n);
    say(d, AB_TYPE_INVENTORY, key, &data);
}

/* Should the stock have changed since it was told, a page does not count, and all begins again. */
static void give(ab_compat *d, ab_str id, ab_spanv want)
{
    inventory inv;
    int64_t page;
    if (take_stock(d, &inv) != AB_ERR_OK) {
        ab_compat_fatal(d, "an inventory");
        return;
    }
    for (ab_spanv v = ab_span_first(want); ab_span_present(v); v = ab_span_next(v))
        if (ab_span_i64(v, &page) == AB_ERR_OK && page >= 0 && (size_t)page < inv.pages)
            say_page(d, &inv, (size_t)page, id);
    free(inv.entries);
}

static void ask(ab_compat *d)
{
    char id[37];
    ab_buf data;
    if (ab_uuid(id) != AB_ERR_OK)
        return;
    ab_spanw w = begin_step(&data, "ask", ab_str_of(id));
    ab_spanw_key_str(&w, "why", AB_STR("the argocd-agent has different content"));
    end_step(d, &w, &data);
}

/* ----- what an agent holds, in its own words ----- */

/* The agent's machine speaks of what it has of the principal that `owner` names. */
static void inspect_agent(ab_compat *d)
{
    ab_buf data;
    ab_digest none;
    char hex[AB_DIGEST_HEX];
    if (ab_uuid(d->resync_id) != AB_ERR_OK || ab_digest_of(AB_STR(""), &none) != AB_ERR_OK)
        return;
    ab_digest_format(&none, hex);
    ab_spanw w = begin_step(&data, "begin", ab_str_of(d->resync_id));
    ab_spanw_key_str(&w, "namespace",
                     d->namespace[0] == '\0' ? AB_STR("argocd") : ab_str_of(d->namespace));
    ab_spanw_key_str(&w, "newest", AB_STR("0.0"));
    ab_spanw_key_int(&w, "count", 0);
    ab_spanw_key_array(&w, "pages");
    ab_spanw_str(&w, ab_str_of(hex));
    ab_spanw_array_end(&w);
    end_step(d, &w, &data);
}

/* What it holds may be newer than all that was given a version here: clocks differ. */
static bool exceed(ab_compat *d, ab_str newest)
{
    uint64_t epoch = 0;
    size_t len = 0;
    while (len < newest.len && newest.ptr[len] != '.')
        len++;
    if (ab_str_to_u64((ab_str){newest.ptr, len}, &epoch) != AB_ERR_OK || epoch <= d->epoch ||
        epoch == UINT64_MAX)
        return false;
    d->epoch = epoch + 1;
    return true;
}

static void want_all(ab_compat *d, ab_spanv step)
{
    ab_buf data;
    size_t pages = ab_span_count(ab_span_get(step, "pages"));
    if (exceed(d, ab_span_plain(ab_span_get(step, "newest"))))
        ab_compat_distrust(d);
    d->pages_due = pages;
    ab_spanw w = begin_step(&data, "want", ab_str_of(d->resync_id));
    ab_spanw_key_array(&w, "want");
    for (size_t i = 0; i < pages; i++)
        ab_spanw_int(&w, (int64_t)i);
    ab_spanw_array_end(&w);
    end_step(d, &w, &data);
}

static void take_page(ab_compat *d, ab_spanv page)
{
    ab_buf data;
    ab_spanv entries = ab_span_get(page, "entries");
    if (d->pages_due == 0 || !ab_span_is(ab_span_get(page, "id"), d->resync_id))
        return;
    for (ab_spanv v = ab_span_first(entries); ab_span_present(v); v = ab_span_next(v))
        ab_compat_ask_about(d, ab_span_plain(ab_span_first(v)));
    if (--d->pages_due > 0)
        return;
    ab_spanw w = begin_step(&data, "end", ab_str_of(d->resync_id));
    end_step(d, &w, &data);
}

/* ----- steps of the link's machine ----- */

static void take_step(ab_compat *d, ab_spanv step)
{
    bool principal = ab_compat_is_principal(d);
    ab_str id = ab_span_plain(ab_span_get(step, "id"));
    ab_spanv name = ab_span_get(step, "step");
    if (principal && ab_span_is(name, "begin"))
        answer(d, id);
    else if (principal && ab_span_is(name, "want"))
        give(d, id, ab_span_get(step, "want"));
    else if (!principal && ab_span_is(name, "ask"))
        d->resync_requested = true;
    else if (!principal && ab_span_is(name, "answer") && ab_str_is(id, d->resync_id))
        want_all(d, step);
}

void ab_compat_take_control(ab_compat *d, const ab_event *event)
{
    ab_span *doc = NULL;
    ab_compat_acknowledge(d, event);
    if (ab_event_data(event).ptr == NULL ||
        ab_span_parse(ab_event_data(event), &doc, NULL) != AB_ERR_OK)
        return;
    if (ab_str_is(ab_event_attr(event, AB_CE_PARTITIONKEY), AB_KEY_RESYNC))
        take_step(d, ab_span_root(doc));
    else if (!ab_compat_is_principal(d))
        take_page(d, ab_span_root(doc));
    ab_span_free(doc);
}

/* ----- time ----- */

static bool is_quiet(const ab_compat *d)
{
    return STAILQ_EMPTY(&d->ready) && d->under_way == 0;
}

void ab_compat_inventory_tick(ab_compat *d)
{
    if (d->ask_due && is_quiet(d)) {
        d->ask_due = false;
        ask(d);
    }
    if (d->resync_requested && d->owner[0] != '\0' && strcmp(d->env->env->mode, "managed") == 0) {
        d->resync_requested = false;
        inspect_agent(d);
    }
}
