/* SPDX-License-Identifier: Apache-2.0
 *
 * What every transport must do, as one suite: the contract of transport/transport.h put to the
 * test.
 */
#pragma once

#include "tests/conformance/transport/ends.h"

/** Run all, or those whose name matches the pattern `only` (NULL = all). @return the exit code */
int ab_suite_run(const ab_ends_fixture *fixture, const char *only);
