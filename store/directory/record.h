/* SPDX-License-Identifier: Apache-2.0
 *
 * The sidecars of objects on disk. Workers call it.
 */
#pragma once

#include "store/directory/directory_priv.h"
#include "store/directory/disk.h"
#include "store/directory/manifest/manifest.h"

/** A resourceVersion larger than all before, also before the last start. Any thread. */
uint64_t ab_dir_next_version(ab_dir *d);
/** Read a sidecar. @return NOTFOUND; INVALID (broken: says what to do); IO, NOMEM */
AB_MUST_USE ab_err ab_dir_sidecar_read(int meta, const char *name, ab_sidecar *out, ab_error *err);
/** Write a sidecar under a temporary name. @return as ab_temp_write; NOMEM, INVALID */
AB_MUST_USE ab_err ab_dir_sidecar_temp(int meta, const ab_sidecar *s, ab_temp *out, ab_error *err);
/** Give it its name. @return as ab_temp_place */
AB_MUST_USE ab_err ab_dir_sidecar_place(int meta, ab_temp *t, const char *name, ab_error *err);
/** Write a sidecar; the folder is not synced yet. @return as the two above */
AB_MUST_USE ab_err ab_dir_sidecar_write(int meta, const char *name, const ab_sidecar *s,
                                        ab_error *err);
/** Make `s` (zeroed or read) the sidecar of what `m` in `file` says now: uid, generation, version.
 */
AB_MUST_USE ab_err ab_dir_sidecar_advance(ab_dir *d, ab_sidecar *s, const ab_manifest *m,
                                          const char *file, int64_t now_us, ab_error *err);
