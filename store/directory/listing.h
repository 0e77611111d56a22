/* SPDX-License-Identifier: Apache-2.0
 *
 * The folders of the tree and what is in them. Listing runs on the loop: it opens folders and reads
 * names, never a file.
 */
#pragma once

#include "store/directory/directory_priv.h"

/** Is an entry of a folder one of ours? Reports a fault when a person may think that it is and it
 * is not. */
bool ab_dir_is_ours(ab_dir *d, const char *path, const char *name);
/** A file of this folder may have changed. */
void ab_dir_touch_path(ab_dir *d, const char *path, const char *name);
/** A folder could not be listed: report it, and hold SYNCED back. */
void ab_dir_unlisted(ab_dir *d, const char *path, const char *name, const ab_error *err);
/** Watch a folder and those in it, and touch their files. */
void ab_dir_list_folder(ab_dir *d, const char *path);
/** As ab_dir_list_folder, for the whole tree. @return IO, NOMEM */
AB_MUST_USE ab_err ab_dir_list_all(ab_dir *d, ab_error *err);
/** Remove sidecars whose objects are gone, on a worker, which looks the objects up: until `done`
 * nothing is read and no operation runs. After the first listing was read. @return NOMEM, and
 * `done` is not called */
AB_MUST_USE ab_err ab_dir_sweep(ab_dir *d, void (*done)(ab_dir *d));
