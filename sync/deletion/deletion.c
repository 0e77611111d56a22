/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/deletion/deletion.h"

#include <stddef.h>

static const char *const TEXTS[] = {
    [AB_DELETION_EXISTS] = "the object exists",
    [AB_DELETION_NOT_KNOWN_YET] = "not known yet",
    [AB_DELETION_HELD_NO_PROOF] = "held: no proof",
    [AB_DELETION_HELD_TOO_MANY] = "held: too many",
    [AB_DELETION_REQUESTED] = "requested on the object",
    [AB_DELETION_OBSERVED] = "observed",
    [AB_DELETION_CONFIRMED] = "confirmed",
    [AB_DELETION_MOVED] = "moved to another agent",
    [AB_DELETION_PROVED_BY_STORE] = "proved by the store",
    [AB_DELETION_PROVED_BY_WATERMARK] = "proved by the watermark",
};

/* Nobody saw the object go. */
static ab_deletion judge_inferred(const ab_deletion_facts *f)
{
    if (!f->store_synced && !f->owned)
        return AB_DELETION_NOT_KNOWN_YET;
    if (!f->confirmed && !f->elsewhere && !f->owned && !f->covered)
        return AB_DELETION_HELD_NO_PROOF;
    if (f->confirmed)
        return AB_DELETION_CONFIRMED;
    if (f->too_many)
        return AB_DELETION_HELD_TOO_MANY;
    if (f->elsewhere)
        return AB_DELETION_MOVED;
    return f->owned ? AB_DELETION_PROVED_BY_STORE : AB_DELETION_PROVED_BY_WATERMARK;
}

ab_deletion ab_deletion_judge(const ab_deletion_facts *f)
{
    if (f->exists)
        return AB_DELETION_EXISTS;
    if (f->requested)
        return AB_DELETION_REQUESTED;
    if (!f->store_checked && !f->confirmed)
        return AB_DELETION_NOT_KNOWN_YET;
    if (f->observed && f->store_checked)
        return AB_DELETION_OBSERVED;
    return judge_inferred(f);
}

bool ab_deletion_is_allowed(ab_deletion verdict)
{
    return verdict >= AB_DELETION_REQUESTED;
}

bool ab_deletion_is_inferred(ab_deletion verdict)
{
    return verdict >= AB_DELETION_CONFIRMED;
}

const char *ab_deletion_text(ab_deletion verdict)
{
    size_t known = sizeof(TEXTS) / sizeof(TEXTS[0]);
    return (size_t)verdict < known ? TEXTS[verdict] : "?";
}
