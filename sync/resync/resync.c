/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/resync/resync.h"

#include "schema/attributes.h"
#include "schema/catalogue.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct ab_resync_session {
    char id[AB_RESYNC_ID_MAX];
    ab_inventory *mine;
    ab_digest *my_digests;
    size_t pages;       /* that the other side told; 0 before */
    size_t count;       /* of entries */
    ab_digest *digests; /* of these pages */
    uint16_t *want;     /* those of them that differ */
    size_t want_count;
    ab_inventory **theirs; /* by page; NULL: not wanted, or not in hand */
    size_t awaited;
};

ab_resync_session *ab_resync_session_new(ab_str id, ab_inventory *mine)
{
    ab_resync_session *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        ab_inventory_free(mine);
        return NULL;
    }
    snprintf(s->id, sizeof(s->id), "%.*s", AB_STR_ARG(id));
    s->mine = mine;
    return s;
}

void ab_resync_session_free(ab_resync_session *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; s->theirs != NULL && i < s->pages; i++)
        ab_inventory_free(s->theirs[i]);
    free(s->theirs);
    free(s->want);
    free(s->digests);
    free(s->my_digests);
    ab_inventory_free(s->mine);
    free(s);
}

const char *ab_resync_session_id(const ab_resync_session *s)
{
    return s->id;
}

ab_err ab_resync_session_summary(ab_resync_session *s, ab_resync_summary *out)
{
    size_t pages = ab_inventory_pages(s->mine);
    if (s->my_digests == NULL)
        s->my_digests = calloc(pages, sizeof(*s->my_digests));
    if (s->my_digests == NULL)
        return AB_ERR_NOMEM;
    for (size_t i = 0; i < pages; i++)
        s->my_digests[i] = *ab_inventory_digest(s->mine, i);
    *out = (ab_resync_summary){ab_inventory_count(s->mine), pages, s->my_digests,
                               ab_inventory_newest(s->mine)};
    return AB_ERR_OK;
}

/* --- what the other side holds --- */

static ab_err make_room(ab_resync_session *s, const ab_resync_summary *summary)
{
    s->digests = calloc(summary->pages, sizeof(*s->digests));
    s->want = calloc(summary->pages, sizeof(*s->want));
    s->theirs = calloc(summary->pages, sizeof(ab_inventory *));
    if (s->digests == NULL || s->want == NULL || s->theirs == NULL)
        return AB_ERR_NOMEM;
    s->pages = summary->pages;
    s->count = summary->count;
    return AB_ERR_OK;
}

ab_err ab_resync_session_compare(ab_resync_session *s, const ab_resync_summary *summary,
                                 ab_inventory *expected)
{
    if (s->pages != 0)
        return AB_ERR_INVALID;
    ab_err e = ab_inventory_divide(expected, summary->pages);
    if (e == AB_ERR_OK)
        e = make_room(s, summary);
    if (e != AB_ERR_OK)
        return e;
    for (size_t i = 0; i < summary->pages; i++) {
        s->digests[i] = summary->digests[i];
        if (!ab_digest_eq(&summary->digests[i], ab_inventory_digest(expected, i)))
            s->want[s->want_count++] = (uint16_t)i;
    }
    s->awaited = s->want_count;
    return AB_ERR_OK;
}

ab_resync_want ab_resync_session_want(const ab_resync_session *s)
{
    return (ab_resync_want){s->want_count, s->want};
}

static bool is_wanted(const ab_resync_session *s, size_t page)
{
    for (size_t i = 0; i < s->want_count; i++)
        if (s->want[i] == page)
            return true;
    return false;
}

/* Every entry must be where its key belongs: else it would be looked for on another page. */
static bool is_in_page(const ab_resync_session *s, const ab_resync_page *page)
{
    size_t count;
    const ab_inventory_entry *entries = ab_inventory_page(page->entries, 0, &count);
    for (size_t i = 0; i < count; i++)
        if (ab_inventory_page_of(entries[i].key, s->pages) != page->page)
            return false;
    return true;
}

const char *ab_resync_session_take(ab_resync_session *s, ab_resync_page *page)
{
    if (!ab_str_is(page->id, s->id))
        return "of another resync";
    if (page->page >= s->pages || !is_wanted(s, page->page))
        return "not wanted";
    if (s->theirs[page->page] != NULL)
        return "here already";
    if (!ab_digest_eq(ab_inventory_digest(page->entries, 0), &s->digests[page->page]))
        return "differs from the announced summary";
    if (!is_in_page(s, page))
        return "entries of other pages";
    s->theirs[page->page] = page->entries;
    page->entries = NULL;
    s->awaited--;
    return NULL;
}

bool ab_resync_session_is_complete(const ab_resync_session *s)
{
    return s->pages != 0 && s->awaited == 0;
}

size_t ab_resync_session_count(const ab_resync_session *s)
{
    return s->count;
}

bool ab_resync_session_covers(const ab_resync_session *s, ab_str key)
{
    return s->pages != 0 && s->theirs[ab_inventory_page_of(key, s->pages)] != NULL;
}

const ab_inventory_entry *ab_resync_session_find(const ab_resync_session *s, ab_str key)
{
    if (!ab_resync_session_covers(s, key))
        return NULL;
    return ab_inventory_find(s->theirs[ab_inventory_page_of(key, s->pages)], key);
}

void ab_resync_session_each(const ab_resync_session *s,
                            void (*visit)(void *arg, const ab_inventory_entry *entry), void *arg)
{
    for (size_t i = 0; i < s->pages; i++) {
        size_t count = 0;
        const ab_inventory_entry *entries =
            s->theirs[i] == NULL ? NULL : ab_inventory_page(s->theirs[i], 0, &count);
        for (size_t k = 0; k < count; k++)
            visit(arg, &entries[k]);
    }
}

/* --- saying it --- */

static ab_err send(ab_writer *w, ab_str key, ab_type type, const char *principal_uid, ab_buf *data)
{
    ab_digest digest;
    ab_err e = ab_buf_status(data);
    if (e == AB_ERR_OK)
        e = ab_digest_of(ab_buf_str(data), &digest);
    if (e == AB_ERR_OK) {
        ab_event_draft draft = {.data = ab_buf_str(data)};
        ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(type));
        ab_event_set_text(&draft, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_RESYNC));
        ab_event_set_text(&draft, AB_CE_PRINCIPALUID, principal_uid);
        e = ab_writer_state(w, key, key, &draft, &digest, NULL);
    }
    return e;
}

ab_err ab_resync_send(ab_writer *w, const ab_resync *r, const char *principal_uid)
{
    ab_buf data;
    ab_buf_init(&data, AB_EVENT_DATA_MAX);
    ab_resync_encode(r, &data);
    ab_err e = send(w, AB_STR(AB_KEY_RESYNC), AB_TYPE_RESYNC, principal_uid, &data);
    ab_buf_fini(&data);
    return e;
}

static ab_err say_page(ab_writer *w, const ab_resync_session *s, size_t page)
{
    char key[sizeof(AB_KEY_INVENTORY) + 8];
    ab_buf data;
    snprintf(key, sizeof(key), AB_KEY_INVENTORY "%zu", page);
    ab_buf_init(&data, AB_EVENT_DATA_MAX);
    ab_resync_page_encode(s->mine, page, ab_str_of(s->id), &data);
    ab_err e = send(w, ab_str_of(key), AB_TYPE_INVENTORY, NULL, &data);
    ab_buf_fini(&data);
    return e;
}

ab_err ab_resync_send_pages(ab_writer *w, const ab_resync_session *s, const ab_resync_want *want)
{
    ab_err e = AB_ERR_OK;
    for (size_t i = 0; i < want->count && e == AB_ERR_OK; i++)
        if (want->pages[i] < ab_inventory_pages(s->mine))
            e = say_page(w, s, want->pages[i]);
    return e;
}

static void end_page(void *arg, ab_str key)
{
    ab_writer *w = arg;
    char copy[sizeof(AB_KEY_INVENTORY) + 8]; /* ending it frees the log's own */
    snprintf(copy, sizeof(copy), "%.*s", AB_STR_ARG(key));
    ab_event_draft draft = {0};
    ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(AB_TYPE_INVENTORY));
    ab_event_set_text(&draft, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_RESYNC));
    /* One that fails is ended by the next resync. */
    ab_err e = ab_writer_end(w, ab_str_of(copy), ab_str_of(copy), &draft, NULL);
    (void)e;
}

void ab_resync_end_pages(ab_writer *w)
{
    ab_writer_each(w, AB_KEY_INVENTORY, end_page, w);
}
