/* SPDX-License-Identifier: Apache-2.0
 *
 * An operation, and what it does on a worker.
 */
#pragma once

#include "store/directory/directory_priv.h"

/* Beside what is asked of every store. */
enum {
    AB_DIR_FORGET = AB_VERB_OWN, /* its manifest is gone: drop what we keep beside it */
    AB_DIR_REFUSE,               /* report `code`, nothing else */
};

struct ab_dir_op {
    ab_store_op base;
    uv_work_t work;
    ab_dir *dir;
    /* What was known when it began. */
    ab_dir_file *file;
    ab_place place;
    ab_digest digest; /* of the file; after the job: of what is there now */
    bool exists;
    bool whole; /* the file holds nothing but this object */
    int64_t now_us;
    /* What came of it. */
    bool stale;   /* somebody else changed the file: read it first, then try again */
    bool changed; /* there is a new state to report */
    bool gone;
    size_t documents;
    ab_object *result;
};

/** Run an operation. Worker. */
void ab_dir_op_run(ab_dir_op *op);
