/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/kind/kind.h"
#include "sync/object/project.h"

const ab_kind ab_kind_appproject = {.kind = "AppProject",
                                    .target = AB_TARGET_APPPROJECT,
                                    .shared = true,
                                    .adoption = AB_ADOPT_ALWAYS,
                                    .audience = AB_FOR_ITS_OWN_RULES,
                                    .mirroring = AB_MIRROR_BY_PREFIX,
                                    .render = ab_project_render};
