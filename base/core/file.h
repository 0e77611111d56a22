/* SPDX-License-Identifier: Apache-2.0
 *
 * Small files, whole: configuration, keys, passwords, what is remembered between runs. Errors begin
 * with the path.
 */
#pragma once

#include "base/core/buf.h"
#include "base/core/file_stamp.h"

/**
 * Append what a file holds, however it grows meanwhile; any bytes, NUL among them. What `out` had
 * room for may be in it after a failure; whoever reads a secret wipes it.
 *
 * @param out    its cap is the limit
 * @param stamp  which file was read; NULL: of no interest
 * @return NOTFOUND, DENIED, IO; INVALID: a folder, a pipe or a device, none of which holds us up;
 *         TOOBIG; NOMEM
 */
AB_MUST_USE ab_err ab_file_read(const char *path, ab_buf *out, ab_file_stamp *stamp, ab_error *err);

/** As ab_file_read, of an open file; `path` is for errors. */
AB_MUST_USE ab_err ab_file_read_fd(int fd, const char *path, ab_buf *out, ab_file_stamp *stamp,
                                   ab_error *err);

/** As ab_file_read, of a file that the configuration names.
 *  @return NOMEM; CONFIG for all else */
AB_MUST_USE ab_err ab_file_read_named(const char *path, ab_buf *out, ab_error *err);

/**
 * Open /dev/null for reading under each of the descriptors 0 to 2 that the process was started
 * without: writing there fails. Otherwise the next files that are opened get these numbers, and
 * what is logged or printed is written into them. Call it before anything is opened.
 */
void ab_file_hold_standard(void);

/** Write the text to an open file, and the file to the disk. @return 0, or errno */
int ab_file_write_fd(int fd, ab_str text);

/**
 * Make `text` all that a file holds: written beside it, as PATH.new, and then put into its place,
 * so that after a crash it is the one or the other. Only its owner may read it.
 *
 * @return NOSPACE, NOTFOUND (the folder), DENIED, IO; INVALID: the path is too long. The file is
 *         then as it was
 */
AB_MUST_USE ab_err ab_file_replace(const char *path, ab_str text, ab_error *err);
