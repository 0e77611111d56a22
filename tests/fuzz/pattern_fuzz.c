/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a pattern and, after its first newline, as the text: a pattern that is taken can be
 * matched, and a glob matches alone as it does in a list.
 */
#include "base/core/pattern.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size == 0 ? NULL : memchr(data, '\n', size);
    if (end == NULL)
        return 0;
    ab_str pattern = {(const char *)data, (size_t)(end - data)};
    ab_str text = {(const char *)end + 1, size - pattern.len - 1};
    ab_patterns *p = ab_patterns_new();
    assert(p != NULL);
    ab_err e = ab_patterns_add(p, pattern, NULL);
    bool matches = ab_patterns_match(p, text);
    assert(e == AB_ERR_OK || !matches);
    bool regex = pattern.len > 1 && pattern.ptr[0] == '/' && pattern.ptr[pattern.len - 1] == '/';
    if (e == AB_ERR_OK && !regex)
        assert(ab_glob_match(pattern, text) == matches);
    ab_patterns_free(p);
    return 0;
}
