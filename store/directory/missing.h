/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/directory/directory_priv.h"

/** Entries are missing: look after the grace time. Loop thread. */
void ab_dir_grace_start(ab_dir *d);
