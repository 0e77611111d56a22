/* SPDX-License-Identifier: Apache-2.0 */
#include "services/agent/labels.h"

#include "schema/labels.h"
#include "services/agent/agent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static ab_err write_labels(const char *const *set, size_t count, ab_buf *out, ab_error *err)
{
    const ab_config_sources sources = {.set = set, .set_count = count};
    ab_config *config = NULL;
    ab_buf_init(out, AB_LABELS_TEXT_MAX);
    ab_options tables[AB_SERVICE_OPTIONS_MAX];
    size_t tables_count = ab_agent_options(tables);
    assert_int_equal(ab_config_load(tables, tables_count, &sources, &config, err), AB_ERR_OK);
    ab_err e = ab_agent_labels_write(config, out, err);
    assert_int_equal(ab_agent_labels_check(config, err), e);
    ab_config_free(config);
    return e;
}

static void labels_become_one_text(void **state)
{
    static const char *const set[] = {"agent.labels.region=eu", "agent.labels.tier="};
    ab_buf out;
    (void)state;
    assert_int_equal(write_labels(NULL, 0, &out, NULL), AB_ERR_OK);
    assert_int_equal(out.len, 0);
    ab_buf_fini(&out);
    assert_int_equal(write_labels(set, 2, &out, NULL), AB_ERR_OK);
    assert_string_equal(out.ptr, "region=eu,tier=");
    ab_buf_fini(&out);
}

static void what_is_no_label_is_named(void **state)
{
    static const char *const set[] = {"agent.labels.region=north, west"};
    ab_buf out;
    ab_error err = {0};
    (void)state;
    assert_int_equal(write_labels(set, 1, &out, &err), AB_ERR_CONFIG);
    assert_non_null(strstr(err.text, "agent.labels: \"region: north, west\" is not a label"));
    ab_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_become_one_text),
        cmocka_unit_test(what_is_no_label_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
