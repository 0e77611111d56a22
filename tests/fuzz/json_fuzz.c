/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes are parsed or refused; what was parsed has a canonical text that is a fixed point.
 */
#include "base/json.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each value answers every question that one can ask. */
static void visit(ab_jsonv v)
{
    ab_buf content;
    int64_t number = 0;
    ab_buf_init(&content, AB_JSON_SIZE_MAX);
    bool is_string = ab_json_copy(v, &content) == AB_ERR_OK;
    assert(is_string == (ab_json_typeof(v) == AB_JSON_STRING));
    assert(!is_string || ab_str_is_utf8(ab_buf_str(&content)));
    ab_buf_fini(&content);
    bool is_integer = ab_json_i64(v, &number) == AB_ERR_OK;
    assert(!is_integer || ab_json_typeof(v) == AB_JSON_NUMBER);
    (void)ab_json_raw_key(v);
    size_t count = 0;
    for (ab_jsonv child = ab_json_first(v); ab_json_present(child); child = ab_json_next(child)) {
        ab_str key = ab_json_plain_key(child);
        assert(key.ptr == NULL || ab_json_get_str(v, key).node == child.node);
        count++;
    }
    assert(count == ab_json_count(v));
}

static ab_json *canonical_of(const ab_json *doc, ab_buf *text)
{
    ab_json *again = NULL;
    ab_buf_init(text, AB_JSON_SIZE_MAX);
    ab_err e = ab_json_canonical(ab_json_root(doc), text);
    assert(e == AB_ERR_OK);
    e = ab_json_parse(ab_buf_str(text), &again, NULL);
    assert(e == AB_ERR_OK);
    return again;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_json *doc = NULL;
    ab_error err = {0};
    if (ab_json_parse((ab_str){(const char *)data, size}, &doc, &err) != AB_ERR_OK) {
        assert(err.text[0] != '\0');
        return 0;
    }
    ab_jsonv root = ab_json_root(doc);
    visit(root);
    for (ab_jsonv child = ab_json_first(root); ab_json_present(child); child = ab_json_next(child))
        visit(child);
    ab_buf first;
    ab_buf second;
    ab_json *again = canonical_of(doc, &first);
    ab_json *third = canonical_of(again, &second);
    assert(ab_str_eq(ab_buf_str(&first), ab_buf_str(&second)));
    assert(ab_json_same(root, ab_json_root(third)));
    ab_json_free(doc);
    ab_json_free(again);
    ab_json_free(third);
    ab_buf_fini(&first);
    ab_buf_fini(&second);
    return 0;
}
