/* SPDX-License-Identifier: Apache-2.0
 *
 * How far two names are apart, to name the one that somebody meant. Pure; any thread.
 */
#pragma once

#include "base/core/buf.h"

/** Small number of edits between two short texts; larger than both lengths when they are too long.
 */
size_t ab_edit_distance(ab_str a, ab_str b);
