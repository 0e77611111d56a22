/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#define AB_PEM_MAX ((size_t)1024 * 1024)

/** Append a file of certificates or keys. @return CONFIG naming the file; NOMEM */
AB_MUST_USE ab_err ab_pem_read(const char *path, ab_buf *out, ab_error *err);
