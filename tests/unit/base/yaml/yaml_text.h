/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of reading and of writing YAML share.
 */
#pragma once

#include "base/yaml/yaml.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* Documents joined with '\n', each with "@<line> " before it when `lines` is set. */
typedef struct {
    ab_buf text;
    bool lines;
    int stop_after; /* 0 = never */
    int count;
} collected;

void collected_init(collected *c);
/** An ab_yaml_document whose `arg` is a `collected`. */
ab_err collect(void *arg, ab_str json, size_t line);
/** Fails the test unless writing `json` as YAML and reading it gives the same canonical text. */
void assert_round_trip(ab_str json);
