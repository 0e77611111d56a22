/* SPDX-License-Identifier: Apache-2.0
 *
 * A file of users and the bcrypt hashes of their passwords, as htpasswd -B and argocd-agent write
 * it: "user:$2y$10$...", comments begin with # or //.
 */
#pragma once

#include "auth/auth.h"
#include "base/core/buf.h"
#include "base/core/map.h"

/* "$2y$10$", 22 characters of salt, 31 of hash, and the NUL. */
#define AB_BCRYPT_MAX 61
/* Of a password: what crypt_r takes. bcrypt itself looks at 72 bytes. */
#define AB_PASSWORD_MAX 511

typedef struct ab_passwords ab_passwords;

/** Read a file. A user is a DNS label and occurs once; a cost is 4 to 16.
 *  @param out  owned by the caller; untouched on failure
 *  @return PARSE with the line (never with a hash); NOMEM */
AB_MUST_USE ab_err ab_passwords_parse(ab_str text, ab_passwords **out, ab_error *err);
/** Wipes the hashes; NULL is allowed. */
void ab_passwords_free(ab_passwords *p);
/** The hash of a user, NUL-terminated, borrowed; NULL: there is none. */
const char *ab_passwords_find(const ab_passwords *p, ab_str user);
/** A hash that no password has, as costly as the costliest: for users that do not exist. */
const char *ab_passwords_nobody(const ab_passwords *p);
/** Whether the password (NUL-terminated) has this hash. Slow, by purpose; any thread.
 *  @return DENIED: it has not; NOMEM */
AB_MUST_USE ab_err ab_password_check(const char *password, const char *hash);
