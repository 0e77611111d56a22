/* SPDX-License-Identifier: Apache-2.0
 *
 * The mapping that a daemon's data belong to. With another one the same objects have other places,
 * so that what was kept would leave objects behind, or delete them: a change is refused.
 */
#pragma once

#include "base/error.h"

/**
 * See that `folder` was used with this mapping, or with none yet: then it is noted.
 *
 * @param option  the option that names the folder, for the message
 * @return CONFIG (it was used with another one), IO
 */
AB_MUST_USE ab_err ab_mapping_check(const char *folder, const char *mapping, const char *option,
                                    ab_error *err);
