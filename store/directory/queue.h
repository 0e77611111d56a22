/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations from call to report. Loop thread.
 */
#pragma once

#include "store/directory/write.h"

/** A new operation of the store's own. NULL when out of memory. */
ab_dir_op *ab_dir_op_new(unsigned verb, ab_str key);
/** Accept an operation, which is moved. */
void ab_dir_submit(ab_dir *d, ab_dir_op *op);
/** Begin the next operation that waits for `f`, if any may begin. */
void ab_dir_dispatch(ab_dir *d, ab_dir_file *f);
/** The first listing was read: begin what was held. */
void ab_dir_release(ab_dir *d);
/** Run a job on a worker and `after` on the loop. */
void ab_dir_work(ab_dir *d, uv_work_t *work, uv_work_cb run, uv_after_work_cb after);
