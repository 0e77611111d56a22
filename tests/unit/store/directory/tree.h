/* SPDX-License-Identifier: Apache-2.0
 *
 * What a person does to the folder of a directory store. Paths are relative to it.
 */
#pragma once

#include "tests/conformance/store/world.h"

/** Write a file in place, its folders made as needed. */
void person_writes(world *w, const char *path, const char *text);
/** As person_writes, for text that may hold NUL. */
void person_writes_bytes(world *w, const char *path, ab_str text);
/** Write it as a careful editor does: another file, then rename. */
void person_replaces(world *w, const char *path, const char *text);
void person_removes(world *w, const char *path);
void person_renames(world *w, const char *from, const char *to);
/** Text of a file, free() it; NULL when it is not there. */
char *text_of(world *w, const char *path);
/** Absolute path, static buffer. */
const char *path_of(world *w, const char *path);

/** An Application's manifest in YAML, static buffer. */
const char *manifest(const char *name, const char *spec);

/** One operation to and fro through the store. */
void world_settle(world *w);
