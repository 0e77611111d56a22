/* SPDX-License-Identifier: Apache-2.0
 *
 * The files and objects that are known. Loop thread.
 */
#pragma once

#include "store/directory/directory_priv.h"

/** Split a path or build one; false when it has not the form. */
bool ab_place_of(const char *path, ab_place *out);
/** Are these credentials, which nobody else on this machine may read? */
bool ab_place_is_secret(const ab_place *place);
/** The file, made known if it is not. NULL when out of memory. */
ab_dir_file *ab_dir_file_at(ab_dir *d, const char *path);
/** Forget a file that nothing refers to. */
void ab_dir_file_drop_unused(ab_dir *d, ab_dir_file *f);
void ab_dir_file_set_broken(ab_dir *d, ab_dir_file *f, bool broken);
/** It was written just before the start, and may not be whole yet. */
void ab_dir_file_set_partial(ab_dir *d, ab_dir_file *f, bool partial);
/** Something else than an event of its own has this file read: what it lacks, or is found to lack
 * then, is not observed to have been deleted. */
void ab_dir_file_set_relisted(ab_dir_file *f);
/** The file may have changed: it is read when ab_dir_load_next comes to it. */
void ab_dir_touch(ab_dir *d, ab_dir_file *f);

ab_dir_entry *ab_dir_entry_find(const ab_dir *d, const char *key);
/** A new entry of `f`. NULL when out of memory. */
ab_dir_entry *ab_dir_entry_add(ab_dir *d, ab_dir_file *f, const char *key);
/** The object is in another file now; what waits for it goes along. */
void ab_dir_entry_move(ab_dir *d, ab_dir_entry *e, ab_dir_file *to);
/** Its file has it no longer, or some file has it again. */
void ab_dir_entry_set_missing(ab_dir *d, ab_dir_entry *e, bool missing);
/** Free the entry; the conflicting file is read again. */
void ab_dir_entry_remove(ab_dir *d, ab_dir_entry *e);
void ab_dir_index_fini(ab_dir *d);
/** Does the store hold objects of this kind? */
bool ab_dir_is_watched(const ab_dir *d, ab_str kind);
