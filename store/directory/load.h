/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/directory/directory_priv.h"

/** Read files that were touched, when nothing else is being read, and report what is in them. Loop
 * thread. */
void ab_dir_load_next(ab_dir *d);
