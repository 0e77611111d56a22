/* SPDX-License-Identifier: Apache-2.0
 *
 * Which agents this principal has served, in a file: so that one that is taken away while no
 * principal runs is noticed at the next start. A text, one name a line after the uid of the
 * principal. Loop thread.
 */
#pragma once

#include "base/log.h"
#include "base/map.h"

typedef struct {
    char *path;
    ab_log *log;
    char principal[37]; /* "": not known yet */
    ab_map *agents;     /* names; the values mean nothing */
    bool dirty;
} ab_served;

/**
 * Read the file; without one nothing was served. Lines that are no name are passed over.
 * @param s  zeroed; fini also after a failure
 * @return as ab_file_read, but for NOTFOUND
 */
AB_MUST_USE ab_err ab_served_init(ab_served *s, const char *path, ab_log *log, ab_error *err);
void ab_served_fini(ab_served *s);

/** Without memory for it that is logged, and nothing else. */
void ab_served_add(ab_served *s, const char *agent);
void ab_served_drop(ab_served *s, const char *agent);
/** Whose agents they are. Those of another principal are none of ours: they are dropped.
 *  @return false: they were another's */
bool ab_served_claim(ab_served *s, const char *principal);
/** Write the file if something has changed. What cannot be written is logged, and tried again by
 * the next call. */
void ab_served_save(ab_served *s);
