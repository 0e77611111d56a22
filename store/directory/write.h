/* SPDX-License-Identifier: Apache-2.0
 *
 * An operation, and what it does on a worker.
 */
#pragma once

#include "store/directory/directory_priv.h"

typedef enum {
    AB_DIR_APPLY,
    AB_DIR_STATUS,
    AB_DIR_REMOVE,
    AB_DIR_GET,
    AB_DIR_FORGET, /* its manifest is gone: drop what we keep beside it */
    AB_DIR_REFUSE, /* report `code`, nothing else */
} ab_dir_verb;

struct ab_dir_op {
    uv_work_t work;
    ab_dir *dir;
    ab_dir_op *next;
    ab_dir_verb verb;
    /* What was asked. */
    char key[AB_OBJECT_KEY_MAX];
    ab_object *object;
    char *status;
    char *status_version;
    char *want_version;
    char *want_uid;
    bool must_exist;
    bool must_not_exist;
    ab_store_done done;
    void *arg;
    /* What was known when it began. */
    ab_dir_file *file;
    ab_place place;
    char name[254];
    ab_digest digest; /* of the file; after the job: of what is there now */
    bool exists;
    bool whole; /* the file holds nothing but this object */
    int64_t now_us;
    /* What came of it. */
    ab_err code;
    ab_error err;
    bool stale;   /* somebody else changed the file: read it first, then try again */
    bool changed; /* there is a new state to report */
    bool gone;
    size_t documents;
    ab_object *result;
};

/** Run an operation. Worker. */
void ab_dir_op_run(ab_dir_op *op);
