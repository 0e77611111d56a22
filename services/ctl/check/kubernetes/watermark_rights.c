/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/check/kubernetes/watermark_rights.h"

#include "services/ctl/check/kubernetes/review.h"
#include "sync/deletion/watermark.h"

#include <stdio.h>

#define NAMES_MAX ((size_t)AB_WATERMARK_PARTS_MAX * (AB_WATERMARK_NAME_MAX + 2))

/* How many the configured agents need; others may come by their cluster Secrets. */
static size_t count_needed(const ab_setup *s)
{
    size_t agents = ab_config_count(s->config, "agents");
    size_t parts = agents == 0 ? 1 : (agents - 1) / AB_WATERMARK_AGENTS_MAX + 1;
    return parts < AB_WATERMARK_PARTS_MAX ? parts : AB_WATERMARK_PARTS_MAX;
}

static void add_missing(const char *namespace_name, const ab_buf *names, ab_severity severity,
                        ab_findings *out)
{
    char where[256];
    ab_str missing = ab_buf_str(names);
    snprintf(where, sizeof(where), "configmaps in namespace %s", namespace_name);
    ab_buf remedy = ab_buf_up_to(NAMES_MAX + 256);
    ab_buf_printf(&remedy,
                  "add to the Role: {apiGroups: [\"\"], resources: [\"configmaps\"], "
                  "resourceNames: [%.*s], verbs: [patch]}, or apply "
                  "deploy/kubernetes/rbac/principal.yaml, which has the first %d",
                  AB_STR_ARG(missing), AB_WATERMARK_RIGHTS);
    ab_buf_putc(&remedy, '\0');
    out->complete = out->complete && ab_buf_status(&remedy) == AB_ERR_OK;
    if (out->complete)
        ab_findings_add(out, severity, where, remedy.ptr,
                        "not allowed to patch %.*s: deletions would wait for the store's "
                        "watermark, of which there is one for every %d agents",
                        AB_STR_ARG(missing), AB_WATERMARK_AGENTS_MAX);
    ab_buf_fini(&remedy);
}

bool ab_watermark_rights_check(const ab_setup *s, ab_cluster_api *api, size_t *allowed,
                               ab_findings *out)
{
    char name[AB_WATERMARK_NAME_MAX];
    size_t needed = count_needed(s);
    size_t count = needed > AB_WATERMARK_RIGHTS ? needed : AB_WATERMARK_RIGHTS;
    ab_review review = {.namespace_name = ab_config_str(s->config, "store.namespace"),
                        .group = "",
                        .resource = "configmaps",
                        .name = name};
    bool answered = true;
    ab_severity severity = AB_FOUND_WARNING;
    ab_buf missing = ab_buf_up_to(NAMES_MAX);
    for (size_t part = 0; answered && part < count; part++) {
        bool granted = false;
        ab_watermark_name(part, name);
        answered = ab_review_ask(api, &review, AB_STR("patch"), &granted, out);
        *allowed += granted;
        if (answered && !granted) {
            ab_buf_printf(&missing, "%s%s", missing.len == 0 ? "" : ", ", name);
            severity = part < needed ? AB_FOUND_ERROR : severity;
        }
    }
    if (answered && missing.len > 0)
        add_missing(review.namespace_name, &missing, severity, out);
    ab_buf_fini(&missing);
    return answered;
}
