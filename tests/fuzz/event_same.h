/* SPDX-License-Identifier: Apache-2.0
 *
 * What the fuzz targets of the event formats check besides not crashing.
 */
#pragma once

#include "event/event.h"

/** Same attributes in any order (an empty value is as good as none) and the same data? */
bool event_same(const ab_event *a, const ab_event *b);
