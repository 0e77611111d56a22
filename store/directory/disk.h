/* SPDX-License-Identifier: Apache-2.0
 *
 * The tree on disk: opening without following symbolic links, reading, and writing so that a file
 * is seen whole or not at all. Everything here blocks; workers call it. Any thread.
 */
#pragma once

#include "base/core/buf.h"

#include <sys/types.h>

/* Where sidecars and temporary files live, in each <namespace>/<kind> and at the root. */
#define AB_DISK_META ".argobus"

/* An open <namespace>/<kind>. */
typedef struct {
    int manifests;
    int meta; /* its .argobus; -1 when there is none and it was not to be made */
} ab_folder;

/** The line between "file is named by this manifest store" and "not ours": *.yaml, *.yml, *.json,
 * no dot-file. */
bool ab_disk_is_manifest(const char *name);

/**
 * Open a folder below `root`, component by component.
 *
 * @param make  create what is missing, durably
 * @param out   owned by the caller: ab_folder_close
 * @return NOTFOUND; DENIED (a symbolic link, no permission); NOSPACE, IO
 */
AB_MUST_USE ab_err ab_folder_open(int root, const char *ns, const char *kind, bool make,
                                  ab_folder *out, ab_error *err);
void ab_folder_close(ab_folder *f);
/** Open a folder for listing, without following a link. @return as ab_folder_open */
AB_MUST_USE ab_err ab_disk_open_dir(int parent, const char *name, int *out, ab_error *err);

/**
 * Read a regular file whole.
 * @return NOTFOUND, DENIED (a link, no permission), INVALID (no regular file), TOOBIG (for the
 * buffer), IO, NOMEM
 */
AB_MUST_USE ab_err ab_disk_read(int dir, const char *name, ab_buf *out, ab_error *err);

/** A file that everybody may read is for its owner alone from now on, if it is ours to change. Any
 * other mode is somebody's choice, and stays. */
void ab_disk_hide(int dir, const char *name);

/* A file written and synced under a temporary name. */
typedef struct {
    char name[40]; /* empty: there is none */
} ab_temp;

/**
 * Write `text` to a temporary file with this mode, less the umask. A thread may hold one of each
 * `slot` at a time.
 * @return NOSPACE, DENIED, IO; no file is left then
 */
AB_MUST_USE ab_err ab_temp_write(int meta, int slot, mode_t mode, ab_str text, ab_temp *out,
                                 ab_error *err);
/** Give the file its name in `dir`, replacing what is there. @return as ab_temp_write */
AB_MUST_USE ab_err ab_temp_place(int meta, ab_temp *t, int dir, const char *name, ab_error *err);
/** Remove the temporary file if it was not placed. */
void ab_temp_drop(int meta, ab_temp *t);

/** Remove a file; one that is not there is removed already. @return DENIED, IO */
AB_MUST_USE ab_err ab_disk_unlink(int dir, const char *name, ab_error *err);
/** Make the names of a folder durable. @return NOSPACE, IO */
AB_MUST_USE ab_err ab_disk_sync_dir(int dir, ab_error *err);

/**
 * Take a tree for this process: make its root and lock it, and count this start.
 *
 * @param out_root, out_lock  open descriptors, owned by the caller
 * @param out_start           1 for the first start ever, one more each time; durable
 * @return CONFIG (no such folder, in use by another process), IO, NOSPACE
 */
AB_MUST_USE ab_err ab_disk_claim(const char *path, int *out_root, int *out_lock,
                                 uint64_t *out_start, ab_error *err);
