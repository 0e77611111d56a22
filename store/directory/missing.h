/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/directory/directory_priv.h"

/* How long an object may be missing: editors that replace a file in two steps take less. */
#define AB_DIR_GRACE_MS 250

/** Entries are missing: look after the grace time. Loop thread. */
void ab_dir_grace_start(ab_dir *d);
