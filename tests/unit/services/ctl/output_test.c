/* SPDX-License-Identifier: Apache-2.0
 *
 * How argobusctl shows lists and ages.
 */
#include "services/ctl/output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void put_why(const cJSON *row, ab_buf *cell)
{
    ab_ctl_put_member(row, "why", cell);
}

static const ab_ctl_column columns[] = {{"NAME", "name", NULL}, {"WHY", NULL, put_why}};
static const ab_ctl_table table = {columns, 2, "none"};

static void shows(const char *json, const char *expected)
{
    cJSON *rows = NULL;
    ab_buf out;
    ab_buf_init(&out, 4096);
    assert_int_equal(ab_doc_parse(ab_str_of(json), 4096, &rows, NULL), AB_ERR_OK);
    ab_ctl_put_table(rows, &table, &out);
    assert_string_equal(out.ptr, expected);
    ab_buf_fini(&out);
    cJSON_Delete(rows);
}

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
    (void)state;
    shows("[{\"name\":\"w1\",\"why\":\"x\"},{\"name\":\"longer\",\"why\":\"y\"}]", "NAME    WHY\n"
                                                                                   "w1      x\n"
                                                                                   "longer  y\n");
}

static void characters_count_not_bytes(void **state)
{
    (void)state;
    shows("[{\"name\":\"\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\",\"why\":\"x\"}]",
          "NAME   WHY\n\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9  x\n");
}

static void what_is_missing_is_a_dash(void **state)
{
    (void)state;
    shows("[{\"name\":null}]", "NAME  WHY\n-     -\n");
}

static void what_an_agent_says_cannot_move_the_cursor(void **state)
{
    (void)state;
    shows("[{\"name\":\"w1\",\"why\":\"a\\u001b[2J\\nb\"}]", "NAME  WHY\nw1    a [2J b\n");
    shows("[{\"name\":\"w1\",\"why\":\"a\\u009b2J\\u007f\\u00a9\"}]",
          "NAME  WHY\nw1    a  2J \xc2\xa9\n");
}

static void json_has_no_controls_either(void **state)
{
    ab_buf out;
    cJSON *doc = cJSON_CreateString("a\x1b[2J\xc2\x9b\x7f\xc2\xa9\xc2");
    (void)state;
    ab_buf_init(&out, 4096);
    assert_non_null(doc);
    ab_ctl_put_json(doc, &out);
    assert_string_equal(out.ptr, "\"a\\u001b[2J\\u009b\\u007f\xc2\xa9\xc2\"\n");
    ab_buf_fini(&out);
    cJSON_Delete(doc);
}

static void ages_are_short(void **state)
{
    static const struct {
        double seconds;
        const char *text;
    } rows[] = {{-1, "0s"},        {0.9, "0s"},      {59.9, "59s"},
                {60, "1m00s"},     {192, "3m12s"},   {3600, "1h00m"},
                {86399, "23h59m"}, {86400, "1d00h"}, {183600, "2d03h"}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        ab_buf out;
        ab_buf_init(&out, 64);
        ab_ctl_put_age(rows[i].seconds, &out);
        assert_string_equal(out.ptr, rows[i].text);
        ab_buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
        cmocka_unit_test(characters_count_not_bytes),
        cmocka_unit_test(what_is_missing_is_a_dash),
        cmocka_unit_test(what_an_agent_says_cannot_move_the_cursor),
        cmocka_unit_test(json_has_no_controls_either),
        cmocka_unit_test(ages_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
