/* SPDX-License-Identifier: Apache-2.0
 *
 * The folders that inotify watches. A folder's path is "" for the root, "<namespace>" or
 * "<namespace>/<kind>". Loop thread.
 */
#pragma once

#include "store/directory/directory_priv.h"

#define AB_FOLDER_PATH 130

typedef enum { AB_LEVEL_ROOT, AB_LEVEL_NAMESPACE, AB_LEVEL_KIND } ab_level;

ab_level ab_level_of(const char *path);
/** Path of a folder in a folder. */
void ab_folder_child(const char *path, const char *name, char out[AB_FOLDER_PATH]);

/** Open inotify. @return IO */
AB_MUST_USE ab_err ab_dir_folders_open(ab_dir *d, ab_error *err);
/** Watch an open folder. @return IO, NOMEM */
AB_MUST_USE ab_err ab_dir_folders_add(ab_dir *d, const char *path, int fd, ab_error *err);
/** Path of the i-th watched folder, NULL after the last. Borrowed until the next event. */
const char *ab_dir_folders_path(const ab_dir *d, size_t i);
/** Copy the path of the folder with this watch descriptor; false when there is none. */
bool ab_dir_folders_find(const ab_dir *d, int wd, char out[AB_FOLDER_PATH]);
/** The kernel ended this watch. */
void ab_dir_folders_ended(ab_dir *d, int wd);
/** Watch a folder and those in it no longer. */
void ab_dir_folders_remove(ab_dir *d, const char *path);
/** Close inotify and free the folders; also when it was never opened. */
void ab_dir_folders_close(ab_dir *d);
