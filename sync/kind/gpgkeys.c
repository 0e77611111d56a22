/* SPDX-License-Identifier: Apache-2.0
 *
 * The one ConfigMap that holds the GPG keys.
 */
#include "sync/kind/kind.h"

#include "schema/attributes.h"
#include "sync/object/render.h"

static bool is_selected(const ab_object *config_map)
{
    return ab_str_is(ab_object_name(config_map), AB_NAME_GPG_KEYS);
}

const ab_kind ab_kind_gpgkeys = {.kind = "ConfigMap",
                                 .target = AB_TARGET_GPGKEY,
                                 .shared = true,
                                 .adoption = AB_ADOPT_ALWAYS,
                                 .audience = AB_FOR_ALL,
                                 .is_selected = is_selected,
                                 .render = ab_render_whole};
