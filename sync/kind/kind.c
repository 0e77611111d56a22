/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/kind/kind.h"

#include "schema/attributes.h"

static const ab_kind *const kinds[] = {
    &ab_kind_application, &ab_kind_appproject, &ab_kind_repository, &ab_kind_gpgkeys,
#ifdef AB_KIND_OF_TEST
    &AB_KIND_OF_TEST,
#endif
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

const ab_kind *ab_kind_of(ab_str kind)
{
    for (size_t i = 0; i < KINDS; i++)
        if (ab_str_is(kind, kinds[i]->kind))
            return kinds[i];
    return NULL;
}

const ab_kind *ab_kind_of_key(ab_str key)
{
    ab_str kind, ns, name;
    bool is_key = key.ptr != NULL && ab_object_key_split(key, &kind, &ns, &name) == AB_ERR_OK;
    return is_key ? ab_kind_of(kind) : NULL;
}

bool ab_kind_is_synchronised(const ab_object *o)
{
    const ab_kind *kind = ab_kind_of(ab_object_kind(o));
    if (kind == NULL ||
        ab_span_is(ab_span_get(ab_object_meta(o, "labels"), AB_LABEL_IGNORE_SYNC), "true"))
        return false;
    return kind->is_selected == NULL || kind->is_selected(o);
}

bool ab_kind_is_mirrored(ab_target target)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i]->target == target && kinds[i]->mirroring != AB_NOT_MIRRORED)
            return true;
    return false;
}
