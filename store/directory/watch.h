/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/directory/directory_priv.h"

/** Begin to watch and touch every manifest that is there. Loop thread. @return IO */
AB_MUST_USE ab_err ab_dir_watch_start(ab_dir *d, ab_error *err);
