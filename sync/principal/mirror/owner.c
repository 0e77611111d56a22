/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/principal/mirror/owner.h"

#include "schema/attributes.h"
#include "sync/kind/kind.h"
#include "sync/object/desired.h"
#include "sync/stamp.h"

/* Of what a managed agent has, which names its principal, or this very object, as no mirror does;
 * or of the mirror of an Application, which stands in the namespace of its agent. */
static bool is_copy(const ab_object *hub)
{
    ab_stamp stamp;
    ab_str text = ab_object_annotation(hub, AB_ANN_MIRROR);
    if (text.len == 0)
        return ab_object_annotation(hub, AB_ANN_PRINCIPAL_UID).len > 0 ||
               ab_str_eq(ab_object_annotation(hub, AB_ANN_SOURCE_UID), ab_object_uid(hub));
    return ab_str_is(ab_object_kind(hub), "Application") && ab_stamp_parse(text, &stamp) &&
           stamp.agent.len > 0 && !ab_str_eq(stamp.agent, ab_object_namespace(hub));
}

ab_str ab_mirror_owner(const ab_object *hub)
{
    ab_stamp stamp;
    if (!ab_mirror_is_one(hub) || !ab_stamp_parse(ab_object_annotation(hub, AB_ANN_MIRROR), &stamp))
        return AB_STR_NONE;
    return stamp.agent;
}

static bool has_source(const ab_object *hub)
{
    const ab_kind *kind = ab_kind_of(ab_object_kind(hub));
    return kind != NULL && kind->mirroring != AB_NOT_MIRRORED &&
           ab_object_annotation(hub, AB_ANN_SOURCE_UID).len > 0;
}

bool ab_mirror_is_one(const ab_object *hub)
{
    return has_source(hub) && !is_copy(hub) && !ab_is_renamed_copy(hub);
}

bool ab_mirror_is_renamed_copy(const ab_object *hub)
{
    return has_source(hub) && !is_copy(hub) && ab_is_renamed_copy(hub);
}
