/* SPDX-License-Identifier: Apache-2.0 */
#include "event/event.h"

#include "event/draft_priv.h"
#include "samples.h"
#include "schema/attributes.h"

#include <stdlib.h>

/** Expect ab_event_new to refuse the draft with `code` and to leave `out` alone. */
static void refused(const ab_event_draft *d, ab_err code, const char *says)
{
    ab_error err = {0};
    ab_event *out = NULL;
    assert_err(ab_event_new(d, &out, &err), code, &err);
    assert_int_equal(err.code, code);
    assert_says(&err, says);
    assert_null(out);
    assert_err(ab_event_new(d, &out, NULL), code, NULL);
}

static void an_event_keeps_what_the_draft_had_after_the_draft_is_gone(void **state)
{
    (void)state;
    char id[] = "id-1", data[] = "payload";
    ab_event_draft d = sample_least();
    ab_event_set_text(&d, AB_CE_ID, id);
    d.data = ab_str_of(data);
    ab_event *e = must_make(&d);
    memset(id, 'x', sizeof(id));
    memset(data, 'x', sizeof(data));
    d = (ab_event_draft){0};
    assert_attr(e, AB_CE_ID, "id-1");
    assert_attr(e, AB_CE_SOURCE, "s");
    assert_str(ab_event_data(e), AB_STR("payload"));
    ab_event_unref(e);
}

static void each_required_attribute_is_named_when_it_is_missing_or_empty(void **state)
{
    (void)state;
    static const char *const required[] = {AB_CE_ID, AB_CE_SOURCE, AB_CE_TYPE};
    for (size_t missing = 0; missing < 3; missing++) {
        ab_event_draft d = {0};
        for (size_t i = 0; i < 3; i++) {
            if (i != missing)
                ab_event_set_text(&d, required[i], "x");
        }
        refused(&d, AB_ERR_INVALID, required[missing]);
        ab_event_set_text(&d, required[missing], "");
        refused(&d, AB_ERR_INVALID, required[missing]);
        ab_event_set_text(&d, required[missing], "x");
        ab_event_unref(must_make(&d));
    }
}

static void specversion_is_added_when_absent_and_must_be_1_0(void **state)
{
    (void)state;
    ab_event_draft d = {0};
    ab_event_set_text(&d, AB_CE_ID, "1");
    ab_event_set_text(&d, AB_CE_SOURCE, "s");
    ab_event_set_text(&d, AB_CE_TYPE, "t");
    ab_event *e = must_make(&d);
    assert_attr(e, AB_CE_SPECVERSION, "1.0");
    assert_int_equal(ab_event_attr_count(e), 4);
    ab_event_unref(e);
    assert_int_equal(d.count, 3);

    ab_event_set_text(&d, AB_CE_SPECVERSION, "0.3");
    refused(&d, AB_ERR_INVALID, "specversion");
    ab_event_set_text(&d, AB_CE_SPECVERSION, "");
    refused(&d, AB_ERR_INVALID, "specversion");
}

static void names_are_lower_case_letters_and_digits(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "Id", "a-b", "a_b", "a b", "a\xc3\xa4", "data", "a.b"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ab_event_draft d = sample_least();
        ab_event_set_text(&d, bad[i], "x");
        refused(&d, AB_ERR_INVALID, "attribute 4");
    }
    ab_event_draft d = sample_least();
    ab_event_set_typed(&d, (ab_str){"a\0b", 3}, AB_STR("x"), AB_ATTR_STRING);
    refused(&d, AB_ERR_INVALID, "attribute 4");
}

/** The event, or NULL, of a draft with this name. */
static ab_event *make_named(ab_str name)
{
    ab_event_draft d = sample_least();
    ab_event *e = NULL;
    ab_event_set(&d, "ext", AB_STR("x"));
    d.attrs[d.count - 1].name = name;
    return ab_event_new(&d, &e, NULL) == AB_ERR_OK ? e : NULL;
}

static void a_byte_is_judged_alike_wherever_it_stands_in_a_name(void **state)
{
    (void)state;
    for (size_t len = 1; len <= 17; len++) {
        for (size_t at = 0; at < len; at++) {
            for (int byte = 0; byte < 256; byte++) {
                char name[] = "abcdefghijklmnopq";
                name[at] = (char)byte;
                bool good = (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9');
                ab_event *e = make_named((ab_str){name, len});
                assert_int_equal(e != NULL, good);
                ab_event_unref(e);
            }
        }
    }
}

static void values_are_utf8_without_control_characters(void **state)
{
    (void)state;
    static const ab_str bad[] = {
        {"a\nb", 3}, {"a\0b", 3}, {"\x7f", 1}, {"\xc2\x80", 2}, {"\xc2\x9f", 2}, {"\xff", 1},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ab_event_draft d = sample_least();
        ab_event_set(&d, "ext", bad[i]);
        refused(&d, AB_ERR_INVALID, "ext");
    }
    ab_event_draft d = sample_least();
    ab_event_set_text(&d, "ext", "\xc2\xa0 ~");
    ab_event_unref(must_make(&d));
}

static void a_value_must_be_one_of_its_type(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        ab_attr_type type;
    } bad[] = {
        {"TRUE", AB_ATTR_BOOLEAN},         {"1", AB_ATTR_BOOLEAN}, {"2147483648", AB_ATTR_INTEGER},
        {"1.0", AB_ATTR_INTEGER},          {"AP9", AB_ATTR_BYTES}, {"yesterday", AB_ATTR_TIMESTAMP},
        {"2026-11-21", AB_ATTR_TIMESTAMP},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ab_event_draft d = sample_least();
        ab_event_set_typed(&d, AB_STR("ext"), ab_str_of(bad[i].value), bad[i].type);
        refused(&d, AB_ERR_INVALID, "ext");
    }
    ab_event_draft d = sample_least();
    ab_event_set_text(&d, AB_CE_TIME, "now");
    refused(&d, AB_ERR_INVALID, "time");
}

static void core_attributes_have_the_type_of_the_specification(void **state)
{
    (void)state;
    ab_event_draft d = sample_least();
    ab_event_set_typed(&d, AB_STR(AB_CE_DATASCHEMA), AB_STR("application"), AB_ATTR_STRING);
    ab_event_set_text(&d, AB_CE_TIME, "2026-01-02T03:04:05Z");
    ab_event_set_text(&d, "ext", "x");
    ab_event *e = must_make(&d);
    assert_int_equal(ab_event_attr_at(e, 2).type, AB_ATTR_URI_REF); /* source */
    assert_int_equal(ab_event_attr_at(e, 4).type, AB_ATTR_URI);
    assert_int_equal(ab_event_attr_at(e, 5).type, AB_ATTR_TIMESTAMP);
    assert_int_equal(ab_event_attr_at(e, 6).type, AB_ATTR_STRING);
    ab_event_unref(e);
}

static void attributes_stand_in_the_order_of_setting_and_a_later_value_replaces(void **state)
{
    (void)state;
    ab_event_draft d = sample_least();
    ab_event_set_text(&d, "b", "1");
    ab_event_set_text(&d, "a", "2");
    ab_event_set_text(&d, "b", "3");
    ab_event_set_text(&d, "c", NULL);
    ab_event_set(&d, "a", AB_STR_NONE);
    ab_event *e = must_make(&d);
    assert_int_equal(ab_event_attr_count(e), 6);
    assert_str(ab_event_attr_at(e, 4).name, AB_STR("b"));
    assert_str(ab_event_attr_at(e, 4).value, AB_STR("3"));
    assert_str(ab_event_attr_at(e, 5).name, AB_STR("a"));
    assert_attr(e, "a", "2");
    assert_attr(e, "c", NULL);
    ab_event_unref(e);
}

static void an_attribute_is_found_by_its_whole_name_only(void **state)
{
    (void)state;
    ab_event_draft d = sample_least();
    ab_event_set_text(&d, "source2", "x");
    ab_event_set_text(&d, "empty", "");
    ab_event *e = must_make(&d);
    assert_attr(e, "sourc", NULL);
    assert_attr(e, "source", "s");
    assert_attr(e, "source2", "x");
    assert_attr(e, "empty", "");
    assert_attr(e, "", NULL);
    ab_event_unref(e);
}

static void numbers_are_read_back_and_what_is_none_is_an_error(void **state)
{
    (void)state;
    uint64_t n = 7;
    ab_event_draft d = sample_least();
    ab_event_set_u64(&d, AB_CE_OBJVERSION, UINT64_MAX);
    ab_event_set_u64(&d, AB_CE_WRITEREPOCH, 0);
    ab_event *e = must_make(&d);
    assert_err(ab_event_attr_u64(e, AB_CE_OBJVERSION, &n), AB_ERR_OK, NULL);
    assert_true(n == UINT64_MAX);
    assert_attr(e, AB_CE_WRITEREPOCH, "0");
    assert_err(ab_event_attr_u64(e, "other", &n), AB_ERR_NOTFOUND, NULL);
    assert_err(ab_event_attr_u64(e, AB_CE_TYPE, &n), AB_ERR_PARSE, NULL);
    assert_true(n == UINT64_MAX);
    ab_event_unref(e);
}

static void a_content_hash_that_cannot_be_read_is_none(void **state)
{
    (void)state;
    static const char *const texts[] = {NULL, "9f86d0", "9f86d081884c7d659a2feaa0c55ad01x"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        ab_event_draft d = sample_least();
        ab_event_set_text(&d, AB_CE_CONTENTHASH, texts[i]);
        ab_event *e = must_make(&d);
        ab_digest hash = ab_event_content_hash(e);
        assert_true(ab_digest_is_none(&hash));
        ab_event_unref(e);
    }
}

static void a_content_hash_is_read(void **state)
{
    (void)state;
    char text[AB_DIGEST_HEX];
    ab_event_draft d = sample_least();
    ab_event_set_text(&d, AB_CE_CONTENTHASH, "9f86d081884c7d659a2feaa0c55ad015");
    ab_event *e = must_make(&d);
    ab_digest hash = ab_event_content_hash(e);
    ab_digest_format(&hash, text);
    assert_string_equal(text, "9f86d081884c7d659a2feaa0c55ad015");
    ab_event_unref(e);
}

static void data_that_is_empty_differs_from_no_data(void **state)
{
    (void)state;
    ab_event_draft d = sample_least();
    ab_event *none = must_make(&d);
    assert_null(ab_event_data(none).ptr);
    d.data = AB_STR("");
    ab_event *empty = must_make(&d);
    assert_non_null(ab_event_data(empty).ptr);
    assert_int_equal(ab_event_data(empty).len, 0);
    ab_event_unref(none);
    ab_event_unref(empty);
}

static void count_and_sizes_are_limited(void **state)
{
    (void)state;
    char names[AB_EVENT_ATTRS_MAX + 1][8];
    ab_event_draft d = sample_least();
    for (size_t i = d.count; i < AB_EVENT_ATTRS_MAX + 1; i++) {
        snprintf(names[i], sizeof(names[i]), "x%zu", i);
        if (i == AB_EVENT_ATTRS_MAX)
            ab_event_unref(must_make(&d));
        ab_event_set_text(&d, names[i], "v");
    }
    refused(&d, AB_ERR_TOOBIG, "64 attributes");

    char name[AB_EVENT_ATTR_NAME_MAX + 2];
    memset(name, 'n', sizeof(name));
    name[AB_EVENT_ATTR_NAME_MAX] = '\0';
    d = sample_least();
    ab_event_set_text(&d, name, "v");
    ab_event_unref(must_make(&d));
    name[AB_EVENT_ATTR_NAME_MAX] = 'n';
    name[AB_EVENT_ATTR_NAME_MAX + 1] = '\0';
    d = sample_least();
    ab_event_set_text(&d, name, "v");
    refused(&d, AB_ERR_INVALID, "attribute 4");

    static char value[AB_EVENT_ATTR_VALUE_MAX + 1];
    memset(value, 'v', sizeof(value));
    d = sample_least();
    ab_event_set(&d, "ext", (ab_str){value, AB_EVENT_ATTR_VALUE_MAX});
    ab_event *e = must_make(&d);
    assert_str(ab_event_attr(e, "ext"), (ab_str){value, AB_EVENT_ATTR_VALUE_MAX});
    ab_event_unref(e);
    ab_event_set(&d, "ext", (ab_str){value, AB_EVENT_ATTR_VALUE_MAX + 1});
    refused(&d, AB_ERR_TOOBIG, "ext");
}

static void data_is_limited(void **state)
{
    (void)state;
    ab_event_draft d = sample_least();
    char *data = calloc(1, AB_EVENT_DATA_MAX + 1);
    assert_non_null(data);
    d.data = (ab_str){data, AB_EVENT_DATA_MAX};
    ab_event_unref(must_make(&d));
    d.data.len++;
    refused(&d, AB_ERR_TOOBIG, "data");
    free(data);
}

static void a_draft_takes_a_bounded_count_of_numbers(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    ab_event_draft d = sample_least();
    for (size_t i = 0; i < AB_EVENT_NUMBERS_MAX; i++)
        ab_event_set_u64(&d, names[i], i);
    ab_event *e = must_make(&d);
    assert_attr(e, "a", "0");
    assert_attr(e, "h", "7");
    ab_event_unref(e);
    ab_event_set_u64(&d, "i", 8);
    refused(&d, AB_ERR_TOOBIG, "numbers");
}

static void an_event_lives_until_its_last_reference_goes(void **state)
{
    (void)state;
    ab_event_draft d = sample_least();
    ab_event *e = must_make(&d);
    assert_ptr_equal(ab_event_ref(e), e);
    ab_event_unref(e);
    assert_attr(e, AB_CE_ID, "1"); /* the address sanitizer sees it if it is gone */
    ab_event_unref(e);
    ab_event_unref(NULL);
}

static void the_size_grows_with_attributes_and_data(void **state)
{
    (void)state;
    ab_event_draft d = sample_least();
    ab_event *small = must_make(&d);
    ab_event_set_text(&d, "ext", "0123456789");
    d.data = AB_STR("0123456789");
    ab_event *large = must_make(&d);
    assert_true(ab_event_size(large) >= ab_event_size(small) + 3 + 10 + 10);
    assert_true(ab_event_size(large) <= ab_event_size(small) + 3 + 10 + 10 + 16);
    ab_event_unref(small);
    ab_event_unref(large);
}

static void a_decoder_cannot_set_an_attribute_twice(void **state)
{
    (void)state;
    ab_error err = {0};
    ab_event_draft d = sample_least();
    assert_err(ab_draft_add(&d, AB_STR("ext"), AB_STR("1"), AB_ATTR_STRING, &err), AB_ERR_OK, &err);
    assert_err(ab_draft_add(&d, AB_STR("ext"), AB_STR("1"), AB_ATTR_STRING, &err), AB_ERR_INVALID,
               &err);
    assert_says(&err, "ext");
    assert_str(ab_draft_get(&d, "ext"), AB_STR("1"));
    assert_null(ab_draft_get(&d, "other").ptr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_keeps_what_the_draft_had_after_the_draft_is_gone),
        cmocka_unit_test(each_required_attribute_is_named_when_it_is_missing_or_empty),
        cmocka_unit_test(specversion_is_added_when_absent_and_must_be_1_0),
        cmocka_unit_test(names_are_lower_case_letters_and_digits),
        cmocka_unit_test(a_byte_is_judged_alike_wherever_it_stands_in_a_name),
        cmocka_unit_test(values_are_utf8_without_control_characters),
        cmocka_unit_test(a_value_must_be_one_of_its_type),
        cmocka_unit_test(core_attributes_have_the_type_of_the_specification),
        cmocka_unit_test(attributes_stand_in_the_order_of_setting_and_a_later_value_replaces),
        cmocka_unit_test(an_attribute_is_found_by_its_whole_name_only),
        cmocka_unit_test(numbers_are_read_back_and_what_is_none_is_an_error),
        cmocka_unit_test(a_content_hash_that_cannot_be_read_is_none),
        cmocka_unit_test(a_content_hash_is_read),
        cmocka_unit_test(data_that_is_empty_differs_from_no_data),
        cmocka_unit_test(count_and_sizes_are_limited),
        cmocka_unit_test(data_is_limited),
        cmocka_unit_test(a_draft_takes_a_bounded_count_of_numbers),
        cmocka_unit_test(an_event_lives_until_its_last_reference_goes),
        cmocka_unit_test(the_size_grows_with_attributes_and_data),
        cmocka_unit_test(a_decoder_cannot_set_an_attribute_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
