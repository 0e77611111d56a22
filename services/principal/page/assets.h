/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of the page, which the build puts into the program.
 */
#pragma once

#include "base/core/buf.h"

typedef struct {
    const char *path; /* in the URL */
    const char *type; /* content type */
    const unsigned char *bytes;
    size_t len;
} ab_page_asset;

/** @return NULL: there is no such file */
const ab_page_asset *ab_page_asset_find(ab_str path);
