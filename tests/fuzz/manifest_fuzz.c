/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes are read as YAML or refused; what was read is JSON within the limits, may be an object,
 * and is the same after it was written as YAML and read again.
 */
#include "base/json/object.h"
#include "base/yaml/yaml.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const ab_yaml_limits limits = {
    .bytes_max = 1 << 18, .nodes_max = 10000, .depth_max = AB_SPAN_DEPTH_MAX, .documents_max = 100};

/* Writing may make a text longer. */
static const ab_yaml_limits again_limits = {
    .bytes_max = 1 << 24, .nodes_max = 10000, .depth_max = AB_SPAN_DEPTH_MAX, .documents_max = 1};

static ab_err compare(void *arg, ab_str json, size_t line)
{
    const ab_span *before = arg;
    ab_span *after = NULL;
    ab_err e = ab_span_parse(json, &after, NULL);
    assert(e == AB_ERR_OK && line > 0);
    assert(ab_span_same(ab_span_root(before), ab_span_root(after)));
    ab_span_free(after);
    return AB_ERR_OK;
}

static void write_and_read(ab_str json, ab_span *doc)
{
    ab_buf yaml;
    ab_buf_init(&yaml, again_limits.bytes_max);
    ab_err e = ab_yaml_from_json(json, &yaml, NULL);
    if (e == AB_ERR_OK) {
        e = ab_yaml_to_json(ab_buf_str(&yaml), &again_limits, compare, doc, NULL);
        assert(e == AB_ERR_OK);
    } else {
        assert(e == AB_ERR_UNSUPPORTED);
    }
    ab_buf_fini(&yaml);
}

static ab_err check(void *arg, ab_str json, size_t line)
{
    (void)arg;
    ab_span *doc = NULL;
    ab_object *object = NULL;
    ab_err e = ab_span_parse(json, &doc, NULL);
    assert(e == AB_ERR_OK && json.len <= limits.bytes_max && line > 0);
    write_and_read(json, doc);
    if (ab_object_from(doc, &object, NULL) == AB_ERR_OK) {
        ab_str part = AB_STR_NONE;
        e = ab_object_key_split(ab_str_of(ab_object_key(object)), &part, &part, &part);
        assert(e == AB_ERR_OK);
        ab_object_unref(object);
    } else {
        ab_span_free(doc);
    }
    return AB_ERR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_error err = {0};
    ab_str text = {(const char *)data, size};
    if (ab_yaml_to_json(text, &limits, check, NULL, &err) != AB_ERR_OK)
        assert(err.text[0] != '\0');
    return 0;
}
