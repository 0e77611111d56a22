/* SPDX-License-Identifier: Apache-2.0
 *
 * The folders of the tree and what is in them. A folder's path is "" for the root, "<namespace>" or
 * "<namespace>/<kind>". Listing runs on the loop: it opens folders and reads names, never a file.
 */
#pragma once

#include "store/directory/directory_priv.h"

#define AB_FOLDER_PATH 130

typedef enum { AB_LEVEL_ROOT, AB_LEVEL_NAMESPACE, AB_LEVEL_KIND } ab_level;

ab_level ab_level_of(const char *path);
/** Path of a folder in a folder. */
void ab_folder_child(const char *path, const char *name, char out[AB_FOLDER_PATH]);
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

/* watch.c */
/** Watch an open folder. @return IO, NOMEM */
AB_MUST_USE ab_err ab_dir_watch_add(ab_dir *d, const char *path, int fd, ab_error *err);
/** Path of the i-th watched folder, NULL after the last. Borrowed until the next event. */
const char *ab_dir_watch_path(const ab_dir *d, size_t i);
