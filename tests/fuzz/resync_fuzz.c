/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps and pages of a resync, as they come from the other end: whatever is accepted is within its
 * bounds, and comes back the same.
 */
#include "sync/resync/message.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void try_step(ab_str text)
{
    ab_resync *r = NULL, *again = NULL;
    ab_buf out;
    if (ab_resync_decode(text, &r, NULL) != AB_ERR_OK)
        return;
    check(r->id.len > 0 && r->id.len < AB_RESYNC_ID_MAX);
    check(r->summary.pages == 0 || ab_inventory_is_pages(r->summary.pages));
    check(r->want.count <= AB_INVENTORY_PAGES_MAX);
    ab_buf_init(&out, AB_EVENT_DATA_MAX);
    ab_resync_encode(r, &out);
    check(ab_buf_status(&out) == AB_ERR_OK);
    check(ab_resync_decode(ab_buf_str(&out), &again, NULL) == AB_ERR_OK);
    check(again->step == r->step && ab_str_eq(again->id, r->id));
    check(again->summary.pages == r->summary.pages && again->want.count == r->want.count);
    ab_resync_free(again);
    ab_buf_fini(&out);
    ab_resync_free(r);
}

static void try_page(ab_str text)
{
    ab_resync_page *p = NULL, *again = NULL;
    ab_buf out;
    if (ab_resync_page_decode(text, &p, NULL) != AB_ERR_OK)
        return;
    check(ab_inventory_count(p->entries) <= AB_INVENTORY_PAGE_MAX);
    ab_buf_init(&out, AB_EVENT_DATA_MAX);
    ab_resync_page_encode(p->entries, 0, p->id, &out);
    check(ab_buf_status(&out) == AB_ERR_OK);
    check(ab_resync_page_decode(ab_buf_str(&out), &again, NULL) == AB_ERR_OK);
    check(ab_digest_eq(ab_inventory_digest(again->entries, 0), ab_inventory_digest(p->entries, 0)));
    ab_resync_page_free(again);
    ab_buf_fini(&out);
    ab_resync_page_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_str text = {(const char *)data, size};
    if (size == 0)
        return 0;
    try_step(text);
    try_page(text);
    return 0;
}
