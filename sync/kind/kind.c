/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/object/kind.h"

#include "schema/attributes.h"

/* Repository and repo-creds Secrets are both of target repository, as argocd-agent has it. */
static const ab_kind kinds[] = {
    {"Application", AB_TARGET_APPLICATION, false, false},
    {"AppProject", AB_TARGET_APPPROJECT, true, false},
    {"Secret", AB_TARGET_REPOSITORY, true, true},
    {"ConfigMap", AB_TARGET_GPGKEY, true, false},
};

const ab_kind *ab_kind_of(ab_str kind)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (ab_str_is(kind, kinds[i].kind))
            return &kinds[i];
    return NULL;
}

static bool label_is(const ab_object *o, const char *label, const char *value)
{
    return ab_span_is(ab_span_get(ab_object_meta(o, "labels"), label), value);
}

bool ab_kind_is_synchronised(const ab_object *o)
{
    const ab_kind *kind = ab_kind_of(ab_object_kind(o));
    if (kind == NULL || label_is(o, AB_LABEL_IGNORE_SYNC, "true"))
        return false;
    if (kind->target == AB_TARGET_REPOSITORY)
        return label_is(o, AB_LABEL_SECRET_TYPE, "repository") ||
               label_is(o, AB_LABEL_SECRET_TYPE, "repo-creds");
    if (kind->target == AB_TARGET_GPGKEY)
        return ab_str_is(ab_object_name(o), AB_NAME_GPG_KEYS);
    return true;
}
