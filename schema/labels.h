/* SPDX-License-Identifier: Apache-2.0
 *
 * Labels as Kubernetes has them (its documentation, "Labels and Selectors", syntax and character
 * set), and many of them as one text: KEY=VALUE,KEY=VALUE.
 */
#pragma once

#include "base/core/buf.h"

/* Longest text of many labels. */
#define AB_LABELS_TEXT_MAX 4096

/** Whether Kubernetes takes such a label: a key of [DNS subdomain/]name, name and value of at most
 *  63 letters, digits, '-', '_' and '.', which begin and end with a letter or digit. */
bool ab_label_is_valid(ab_str key, ab_str value);
/**
 * The next label of a text. It may be no valid one.
 * @param rest   the text; then what is left of it
 * @param value  absent where there is no '='
 * @return false: there is none
 */
bool ab_labels_next(ab_str *rest, ab_str *key, ab_str *value);
