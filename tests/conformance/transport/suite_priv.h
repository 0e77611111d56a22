/* SPDX-License-Identifier: Apache-2.0
 *
 * The groups of tests that make up the suite.
 */
#pragma once

#include "tests/conformance/transport/suite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/** Run these with the fixture as their initial state. @return how many failed */
int ab_suite_run_group(const ab_ends_fixture *fixture, const char *name, struct CMUnitTest *tests,
                       size_t count);
/** Those of suite_pending.c. @return how many failed */
int ab_suite_pending(const ab_ends_fixture *fixture);
/** Those of suite_live.c. @return how many failed */
int ab_suite_live(const ab_ends_fixture *fixture);
