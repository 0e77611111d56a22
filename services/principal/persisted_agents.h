/* SPDX-License-Identifier: Apache-2.0
 *
 * Which agents this principal has served, in a file: so that one that is taken away while no
 * principal runs is noticed at the next start. A text, one name a line after the uid of the
 * principal. Loop thread.
 */
#pragma once

#include "base/core/map.h"
#include "base/observe/log.h"

#include <uv.h>

typedef struct {
    uv_loop_t *loop;
    char *path;
    ab_log *log;
    char principal[37]; /* "": not known yet */
    ab_map *agents;     /* names; the values mean nothing */
    size_t former;      /* of these, how many the file had at the start */
    bool dirty;
    struct ab_persisted_agents_write *write; /* under way on a worker thread; NULL: none is */
} ab_persisted_agents;

/**
 * Read the file; without one nothing was served. Lines that are not names are passed over.
 * @param s  zeroed; fini also after a failure
 * @return as ab_file_read, but for NOTFOUND
 */
AB_MUST_USE ab_err ab_persisted_agents_init(ab_persisted_agents *s, uv_loop_t *loop,
                                            const char *path, ab_log *log, ab_error *err);
/** Write what has changed, and wait for it: this blocks, and may run the loop. */
void ab_persisted_agents_fini(ab_persisted_agents *s);

/** Without memory for it that is logged, and nothing else. */
void ab_persisted_agents_add(ab_persisted_agents *s, const char *agent);
void ab_persisted_agents_drop(ab_persisted_agents *s, const char *agent);
/** Whose agents they are. Those of another principal are none of ours: they are dropped.
 *  @return false: they were another's */
bool ab_persisted_agents_assign(ab_persisted_agents *s, const char *principal);
/** Begin to write the file on a worker thread if something has changed and no write is under way.
 * A failure is logged, and the next call tries again. */
void ab_persisted_agents_save(ab_persisted_agents *s);
