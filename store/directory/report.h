/* SPDX-License-Identifier: Apache-2.0
 *
 * What the owner of the store is told. Loop thread.
 */
#pragma once

#include "store/directory/directory_priv.h"

/** Report a fault and count it. */
void ab_dir_fault(ab_dir *d, const char *where, const ab_error *err);
/** Report an object if its version was not reported yet, and remember what its deletion will
 * report. */
void ab_dir_report(ab_dir *d, ab_dir_entry *e, ab_object *object);
/** Report that it is gone, and free the entry. `last` NULL: report what was kept. */
void ab_dir_report_gone(ab_dir *d, ab_dir_entry *e, ab_object *last);
/** Something ended: report that the store has stopped if that was the last. */
void ab_dir_finish_stop(ab_dir *d);
