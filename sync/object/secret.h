/* SPDX-License-Identifier: Apache-2.0
 *
 * Repository and repo-creds Secrets: which project they belong to, and their payload, whose data
 * only the receiving agent can read.
 */
#pragma once

#include "base/json/object.h"

/**
 * Name of the project that the Secret is scoped to.
 * @param out  NUL-terminated, owned by the caller; NULL when it is scoped to none
 */
AB_MUST_USE ab_err ab_secret_project(const ab_object *secret, char **out);

/** What is to be sealed: {"data":{...}}. Wipe it after use. @return what `out` reports */
AB_MUST_USE ab_err ab_secret_content(const ab_object *secret, ab_buf *out);
/** The payload with member "sealed" in place of its data; `sealed` absent: without that member.
 *  @return what `out` reports */
AB_MUST_USE ab_err ab_secret_sealed(const ab_object *secret, ab_str sealed, ab_buf *out);
/** What a seal is bound to beside its place: a digest of all that `payload`, sealed or about to be,
 * says in the clear. @return NOMEM, TOOBIG, FATAL as ab_digest_of */
AB_MUST_USE ab_err ab_secret_context(const ab_object *payload, char out[AB_DIGEST_HEX]);
/** By what the sealed payload is compared: which state of the object it is and whom it is sealed
 * to. Nothing that tells the content. */
AB_MUST_USE ab_err ab_secret_sealed_digest(const ab_object *secret, const char *recipient,
                                           ab_digest *out);
