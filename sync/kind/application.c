/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/kind/kind.h"

const ab_kind ab_kind_application = {.kind = "Application",
                                     .target = AB_TARGET_APPLICATION,
                                     .reports = true,
                                     .adoption = AB_ADOPT_BY_POLICY,
                                     .mirroring = AB_MIRROR_BY_NAMESPACE};
