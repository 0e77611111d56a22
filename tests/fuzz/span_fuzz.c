/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes are parsed or refused; what was parsed has a canonical text that is a fixed point.
 */
#include "base/json/span.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each value answers every question that one can ask. */
static void visit(ab_spanv v)
{
    ab_buf content;
    int64_t number = 0;
    ab_buf_init(&content, AB_SPAN_SIZE_MAX);
    bool is_string = ab_span_copy(v, &content) == AB_ERR_OK;
    assert(is_string == (ab_span_typeof(v) == AB_SPAN_STRING));
    assert(!is_string || ab_str_is_utf8(ab_buf_str(&content)));
    ab_buf_fini(&content);
    bool is_integer = ab_span_i64(v, &number) == AB_ERR_OK;
    assert(!is_integer || ab_span_typeof(v) == AB_SPAN_NUMBER);
    (void)ab_span_raw_key(v);
    size_t count = 0;
    for (ab_spanv child = ab_span_first(v); ab_span_present(child); child = ab_span_next(child)) {
        ab_str key = ab_span_plain_key(child);
        assert(key.ptr == NULL || ab_span_get_str(v, key).node == child.node);
        count++;
    }
    assert(count == ab_span_count(v));
}

static ab_span *canonical_of(const ab_span *doc, ab_buf *text)
{
    ab_span *again = NULL;
    ab_buf_init(text, AB_SPAN_SIZE_MAX);
    ab_err e = ab_span_canonical(ab_span_root(doc), text);
    assert(e == AB_ERR_OK);
    e = ab_span_parse(ab_buf_str(text), &again, NULL);
    assert(e == AB_ERR_OK);
    return again;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_span *doc = NULL;
    ab_error err = {0};
    if (ab_span_parse((ab_str){(const char *)data, size}, &doc, &err) != AB_ERR_OK) {
        assert(err.text[0] != '\0');
        return 0;
    }
    ab_spanv root = ab_span_root(doc);
    visit(root);
    for (ab_spanv child = ab_span_first(root); ab_span_present(child); child = ab_span_next(child))
        visit(child);
    ab_buf first;
    ab_buf second;
    ab_span *again = canonical_of(doc, &first);
    ab_span *third = canonical_of(again, &second);
    assert(ab_str_eq(ab_buf_str(&first), ab_buf_str(&second)));
    assert(ab_span_same(root, ab_span_root(third)));
    ab_span_free(doc);
    ab_span_free(again);
    ab_span_free(third);
    ab_buf_fini(&first);
    ab_buf_fini(&second);
    return 0;
}
