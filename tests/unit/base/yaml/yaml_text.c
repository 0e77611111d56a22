/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/base/yaml/yaml_text.h"

#include "base/json/span.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

void collected_init(collected *c)
{
    *c = (collected){0};
    ab_buf_init(&c->text, 1 << 24);
}

ab_err collect(void *arg, ab_str json, size_t line)
{
    collected *c = arg;
    if (c->count++ > 0)
        ab_buf_putc(&c->text, '\n');
    if (c->lines)
        ab_buf_printf(&c->text, "@%zu ", line);
    ab_buf_put(&c->text, json);
    return c->count == c->stop_after ? AB_ERR_DENIED : AB_ERR_OK;
}

void assert_round_trip(ab_str json)
{
    ab_buf yaml;
    ab_error err = {0};
    collected c;
    ab_span *before = NULL;
    ab_span *after = NULL;
    collected_init(&c);
    ab_buf_init(&yaml, 1 << 24);
    assert_int_equal(ab_span_parse(json, &before, NULL), AB_ERR_OK);
    if (ab_yaml_from_json(json, &yaml, &err) != AB_ERR_OK)
        fail_msg("%.*s: %s", AB_STR_ARG(json), err.text);
    if (ab_yaml_to_json(ab_buf_str(&yaml), &ab_yaml_default_limits, collect, &c, &err) != AB_ERR_OK)
        fail_msg("%.*s: %s\n%s", AB_STR_ARG(json), err.text, yaml.ptr);
    assert_int_equal(c.count, 1);
    assert_int_equal(ab_span_parse(ab_buf_str(&c.text), &after, NULL), AB_ERR_OK);
    if (!ab_span_same(ab_span_root(before), ab_span_root(after)))
        fail_msg("%.*s\n%s\n%s", AB_STR_ARG(json), yaml.ptr, c.text.ptr);
    ab_span_free(before);
    ab_span_free(after);
    ab_buf_fini(&c.text);
    ab_buf_fini(&yaml);
}
