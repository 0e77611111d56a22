/* SPDX-License-Identifier: Apache-2.0
 *
 * Events that the tests of this folder share, and how they compare them.
 */
#pragma once

#include "event/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

/** Draft of a spec-update of an Application, JSON data that is easily damaged. */
ab_event_draft sample_application(void);
/** Draft of the same as argobus writes it: key and id say all that they can. */
ab_event_draft sample_state(void);
/** Every attribute type, values with quotes, backslashes and characters outside ASCII. */
ab_event_draft sample_all_types(void);
/** The four required attributes and nothing else. */
ab_event_draft sample_least(void);

/** Make the event, or fail the test with the reason. */
ab_event *must_make(const ab_event_draft *d);
/** Fail unless both have the same attributes (in any order) with the same values, and the same
 * data. */
void assert_same_event(const ab_event *a, const ab_event *b);
/** Fail unless the attribute has this value (NULL: is absent). */
void assert_attr(const ab_event *e, const char *name, const char *value);
void assert_str(ab_str actual, ab_str expected);
/** Fail, with the error's text, unless `actual` is `expected`. */
void assert_err(ab_err actual, ab_err expected, const ab_error *err);
/** Fail unless the error's text contains `part`. */
void assert_says(const ab_error *err, const char *part);
