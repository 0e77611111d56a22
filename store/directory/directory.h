/* SPDX-License-Identifier: Apache-2.0
 *
 * The store of manifests in a folder; docs/decisions/0008-directory-store-files.md describes its
 * files.
 */
#pragma once

#include "store/store.h"

/* The rows of the option table. */
#define AB_DIRECTORY_OPTION_ROWS                                                                   \
    {                                                                                              \
        .name = "store.directory.path", .kind = AB_OPT_PATH,                                       \
        .help = "Folder of manifests, <namespace>/<kind>/<name>.yaml; it must exist.",             \
    }

extern const ab_store_ops ab_directory_store;
