/* SPDX-License-Identifier: Apache-2.0
 *
 * A batch of files that are read together: load.c fills it and takes what came of it, a worker
 * works on it in between.
 */
#pragma once

#include "store/directory/directory_priv.h"
#include "store/directory/manifest/stream.h"

#define AB_DIR_BATCH 64

/* One manifest of a file on its way into the store. */
typedef struct {
    bool claimed;
    bool doomed; /* being deleted, and nothing holds it any more */
    ab_object *object;
    ab_err code;
    ab_error err;
} ab_dir_arrival;

typedef struct {
    ab_dir_file *file;
    ab_place place;
    bool must_read;
    bool second;
    bool wait;        /* another file is to be read before it */
    bool homeless;    /* its folder is not there */
    ab_digest digest; /* known before; after reading: of what is there */
    bool same;
    ab_stream stream;
    ab_dir_arrival *arrivals; /* one for each item of `stream` */
    ab_err code;              /* the file could not be read */
    ab_error err;
} ab_dir_item;

typedef struct ab_dir_load {
    uv_work_t work;
    ab_dir *dir;
    int64_t now_us;
    bool first_listing;
    size_t count;
    ab_dir_item items[AB_DIR_BATCH];
} ab_dir_load;

/** Read the files. Worker; `work->data` is the ab_dir_load. */
void ab_dir_batch_read(uv_work_t *work);
/** Read and write the sidecars of what was claimed. Worker. */
void ab_dir_batch_record(uv_work_t *work);
/** Is there anything to record? */
bool ab_dir_item_has_claims(const ab_dir_item *it);
void ab_dir_item_fini(ab_dir_item *it);
