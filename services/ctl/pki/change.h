/* SPDX-License-Identifier: Apache-2.0
 *
 * A change of files that takes several steps, such as reading a list and writing it again. Two
 * calls of argobusctl make theirs one after the other, and no signal that ends programs comes in
 * between: what is half done would be a key without its certificate, or a lost revocation.
 */
#pragma once

#include "base/core/error.h"

#include <signal.h>

typedef struct {
    int folder; /* locked until it is closed */
    sigset_t signals;
} ab_pki_change;

/** Wait until no other change is made in the folder of this file, and hold signals back from then
 * on. Where the file system has no locks, nothing is waited for.
 * @param path  of the file, which need not exist; of a link its target counts
 * @param out   ab_pki_change_end ends it, unless this fails
 * @return as ab_err_from_errno: the folder cannot be opened */
AB_MUST_USE ab_err ab_pki_change_begin(const char *path, ab_pki_change *out, ab_error *err);
/** Signals that came meanwhile take effect now. */
void ab_pki_change_end(ab_pki_change *change);
