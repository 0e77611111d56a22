/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of this folder only.
 */
#pragma once

#include "base/core/file.h"
#include "services/principal/registration/registration.h"

#define AB_REGISTRATION_CA_MAX (64u * 1024)

/** The file of the CAs; NULL: none. */
const char *ab_registration_ca_file(const ab_config *c);
/** Append what it holds. @param path  NULL: nothing. @return CONFIG naming the option, NOMEM */
AB_MUST_USE ab_err ab_registration_read_ca(const char *path, ab_buf *out, ab_error *err);
