/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a file is still the one that was read. Certificates and the like are often mounted
 * Secrets, which change by a link in their path being replaced.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Zeroed: there is no file. */
typedef struct {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec modified;
    struct timespec changed;
} ab_file_stamp;

ab_file_stamp ab_file_stamp_from(const struct stat *st);
/** @param path  NULL: no file */
ab_file_stamp ab_file_stamp_of(const char *path);
bool ab_file_stamp_eq(const ab_file_stamp *a, const ab_file_stamp *b);

#define AB_FILE_STAMPS_MAX 4

/* A few files that are looked at now and then. Zeroed: none. */
typedef struct {
    const char *paths[AB_FILE_STAMPS_MAX]; /* borrowed */
    ab_file_stamp seen[AB_FILE_STAMPS_MAX];
    size_t count;
} ab_file_stamps;

/** Look at this one too; before it is read for the first time. NULL: nothing happens. */
void ab_file_stamps_add(ab_file_stamps *s, const char *path);
/** Is one of them another file than when looked at last? One that is gone is, too. */
bool ab_file_stamps_changed(ab_file_stamps *s);
