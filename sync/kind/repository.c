/* SPDX-License-Identifier: Apache-2.0
 *
 * Secrets of repositories and of repository credentials: both are of target repository, as
 * argocd-agent has it.
 */
#include "sync/kind/kind.h"

#include "schema/attributes.h"
#include "sync/object/render.h"

static bool is_selected(const ab_object *secret)
{
    ab_spanv type = ab_span_get(ab_object_meta(secret, "labels"), AB_LABEL_SECRET_TYPE);
    return ab_span_is(type, "repository") || ab_span_is(type, "repo-creds");
}

const ab_kind ab_kind_repository = {
    .kind = "Secret",
    .target = AB_TARGET_REPOSITORY,
    .shared = true,
    .sealed = true,
    .adoption = AB_ADOPT_IF_ASKED, /* it may hold credentials that exist nowhere else */
    .audience = AB_FOR_ITS_PROJECT,
    .is_selected = is_selected,
    .render = ab_render_whole};
