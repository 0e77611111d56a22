/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a daemon's control socket is when nobody says otherwise, for the daemon and for argobusctl.
 * The daemon takes the first place where it can have a folder of its own:
 *
 *   $RUNTIME_DIRECTORY         what systemd makes for the unit
 *   /run/PROGRAM               root; systemd's is the same
 *   $XDG_RUNTIME_DIR/PROGRAM   a user who is logged in
 *   /tmp/PROGRAM-UID           any other, as in a container
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* As long as the address of a Unix socket may be, and the NUL. */
#define AB_CONTROL_PATH_MAX 108
#define AB_CONTROL_PATHS    4

/** The socket at the i-th place. @return false when there is none: a variable is not set, or the
 * path is too long */
bool ab_control_path(size_t i, const char *program, char out[AB_CONTROL_PATH_MAX]);
/** Is the folder of this socket one where nobody but root and `owner` can put a socket? */
bool ab_control_folder_is_safe(const char *path, unsigned owner);
/** Can everybody make the folder of this socket, as those in /tmp? Its owner tells nothing then. */
bool ab_control_folder_is_anybodys(const char *path);
/** The same as is_safe for a daemon, which makes the folder where it is missing. */
bool ab_control_folder_claim(const char *path);
