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

static void check_page(const ab_resync_message *m, const ab_resync_message *again)
{
    ab_inventory_summary sum = ab_inventory_sum(m->inventory);
    check(m->page < AB_INVENTORY_PAGES_MAX && sum.count <= AB_INVENTORY_PAGE_MAX);
    check(ab_digest_eq(sum.digests, ab_inventory_sum(again->inventory).digests));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_resync_message *m = NULL, *again = NULL;
    ab_buf out;
    if (size == 0 ||
        ab_resync_message_decode((ab_str){(const char *)data, size}, &m, NULL) != AB_ERR_OK)
        return 0;
    check(m->id.len > 0 && m->id.len < AB_RESYNC_ID_MAX);
    check(m->summary.pages == 0 || ab_inventory_is_pages(m->summary.pages));
    check(m->want.count <= AB_INVENTORY_PAGES_MAX);
    ab_resync_message one = *m;
    one.page = 0; /* of a decoded page, the inventory has no other */
    ab_buf_init(&out, AB_EVENT_DATA_MAX);
    ab_resync_message_encode(&one, &out);
    check(ab_buf_status(&out) == AB_ERR_OK);
    check(ab_resync_message_decode(ab_buf_str(&out), &again, NULL) == AB_ERR_OK);
    check(again->step == m->step && ab_str_eq(again->id, m->id));
    check(again->summary.pages == m->summary.pages && again->want.count == m->want.count);
    if (m->step == AB_RESYNC_PAGE)
        check_page(m, again);
    ab_resync_message_free(again);
    ab_buf_fini(&out);
    ab_resync_message_free(m);
    return 0;
}
