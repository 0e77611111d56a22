/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of a resync as JSON: what they say of the mass-deletion guard, and what is refused.
 */
#include "sync/resync/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define TOLD         "\"newest\":\"1.2\",\"count\":3,\"pages\":[\"00112233445566778899aabbccddeeff\"]"
#define BEGIN(more)  "{\"step\":\"begin\",\"id\":\"a\",\"namespace\":\"argocd\"," TOLD more "}"
#define ANSWER(more) "{\"step\":\"answer\",\"id\":\"a\"," TOLD ",\"want\":[]" more "}"

static ab_resync_message *decode(ab_str text)
{
    ab_resync_message *r = NULL;
    ab_error err = {0};
    ab_err e = ab_resync_message_decode(text, &r, &err);
    assert_true(e == AB_ERR_OK || err.text[0] != '\0');
    return r;
}

static void assert_guard(const char *text, bool confirm, size_t held)
{
    ab_buf out;
    ab_resync_message *r = decode(ab_str_of(text));
    assert_non_null(r);
    ab_buf_init(&out, 4096);
    ab_resync_message_encode(r, &out);
    ab_resync_message *again = decode(ab_buf_str(&out));
    assert_non_null(again);
    assert_true(r->confirm == confirm && !again->confirm); /* only a former version says it */
    assert_true(r->held == held && again->held == held);
    ab_resync_message_free(again);
    ab_resync_message_free(r);
    ab_buf_fini(&out);
}

static void a_former_confirmation_and_a_number_of_held_deletions_are_read(void **state)
{
    (void)state;
    assert_guard(BEGIN(",\"confirm\":true"), true, 0);
    assert_guard(ANSWER(",\"held\":31"), false, 31);
}

static void nothing_is_confirmed_or_held_unless_it_is_said(void **state)
{
    (void)state;
    assert_guard(BEGIN(""), false, 0);
    assert_guard(ANSWER(""), false, 0);
    assert_guard(BEGIN(",\"confirm\":false"), false, 0);
    assert_guard(BEGIN(",\"confirm\":\"true\""), false, 0);
    assert_guard(BEGIN(",\"confirm\":1"), false, 0);
}

#define SET "0123456789abcdef0123456789abcdef"

static void the_set_that_is_held_and_confirmed_comes_back_as_it_was(void **state)
{
    (void)state;
    ab_buf out;
    ab_resync_message *r =
        decode(AB_STR(ANSWER(",\"held\":3,\"held_set\":\"" SET "\",\"confirm_set\":\"" SET "\"")));
    assert_non_null(r);
    ab_buf_init(&out, 4096);
    ab_resync_message_encode(r, &out);
    ab_resync_message *again = decode(ab_buf_str(&out));
    assert_non_null(again);
    assert_false(ab_digest_is_none(&again->held_set));
    assert_true(ab_digest_eq(&again->held_set, &r->held_set));
    assert_true(ab_digest_eq(&again->confirmed, &r->held_set));
    ab_resync_message_free(again);
    ab_resync_message_free(r);
    ab_buf_fini(&out);
}

static void the_names_of_what_is_held_come_back_as_they_were(void **state)
{
    (void)state;
    ab_buf out;
    ab_resync_message *r = decode(AB_STR(ANSWER(",\"held_names\":[\"a/b/c\",\"a/b/d\"]")));
    assert_non_null(r);
    ab_buf_init(&out, 4096);
    ab_resync_message_encode(r, &out);
    ab_resync_message *again = decode(ab_buf_str(&out));
    assert_non_null(again);
    assert_int_equal(ab_map_count(again->held_names), 2);
    assert_true(ab_str_is(ab_map_first(again->held_names).key, "a/b/c"));
    ab_resync_message_free(again);
    ab_resync_message_free(r);
    ab_buf_fini(&out);
}

static void names_that_are_none_are_refused(void **state)
{
    (void)state;
    assert_null(decode(AB_STR(ANSWER(",\"held_names\":1"))));
    assert_null(decode(AB_STR(ANSWER(",\"held_names\":[1]"))));
    assert_null(decode(AB_STR(ANSWER(",\"held_names\":[\"\"]"))));
    assert_null(decode(AB_STR(ANSWER(",\"held_names\":[\"a\\u001b\"]"))));
}

static void a_number_that_is_none_is_refused(void **state)
{
    (void)state;
    assert_null(decode(AB_STR(ANSWER(",\"held_set\":\"1\""))));
    assert_null(decode(AB_STR(BEGIN(",\"confirm_set\":true"))));
    assert_null(decode(AB_STR(ANSWER(",\"held\":-1"))));
    assert_null(decode(AB_STR(ANSWER(",\"held\":\"3\""))));
    assert_null(decode(AB_STR(ANSWER(",\"held\":1.5"))));
    assert_null(decode(AB_STR(ANSWER(",\"held\":99999999999"))));
}

#define PAGE(page, entries) "{\"id\":\"a\",\"page\":" page ",\"entries\":[" entries "]}"
#define ENTRY(key)          "[\"" key "\",\"1.2\",\"\"]"

static bool is_read(const char *text)
{
    ab_resync_message *r = decode(ab_str_of(text));
    bool read = r != NULL;
    ab_resync_message_free(r);
    return read;
}

static void a_page_has_each_key_once(void **state)
{
    (void)state;
    assert_true(is_read(PAGE("0", ENTRY("Application/w1/a") "," ENTRY("Application/w1/b"))));
    assert_false(is_read(PAGE("0", ENTRY("Application/w1/a") "," ENTRY("Application/w1/a"))));
    assert_true(is_read(PAGE("4095", "")));
    assert_false(is_read(PAGE("4096", "")));
}

static bool reads_page_of(size_t count)
{
    ab_buf text;
    ab_buf_init(&text, 1u << 20);
    ab_buf_puts(&text, "{\"id\":\"a\",\"page\":0,\"entries\":[");
    for (size_t i = 0; i < count; i++)
        ab_buf_printf(&text, "%s[\"Application/w1/a%zu\",\"1.2\",\"\"]", i == 0 ? "" : ",", i);
    ab_buf_puts(&text, "]}");
    ab_buf_putc(&text, '\0');
    bool read = is_read(text.ptr);
    ab_buf_fini(&text);
    return read;
}

static void a_page_has_a_thousand_entries_at_most(void **state)
{
    (void)state;
    assert_true(reads_page_of(1000));
    assert_false(reads_page_of(1001));
}

static void pages_are_wanted_once_and_in_order(void **state)
{
    (void)state;
    assert_true(is_read("{\"step\":\"want\",\"id\":\"a\",\"want\":[0,1,4095]}"));
    assert_false(is_read("{\"step\":\"want\",\"id\":\"a\",\"want\":[0,1,1]}"));
    assert_false(is_read("{\"step\":\"want\",\"id\":\"a\",\"want\":[1,0]}"));
    assert_false(is_read("{\"step\":\"want\",\"id\":\"a\",\"want\":[4096]}"));
}

static bool takes_id_of(int length)
{
    char text[200];
    snprintf(text, sizeof(text), "{\"step\":\"want\",\"id\":\"%0*d\",\"want\":[]}", length, 0);
    return is_read(text);
}

static void an_id_fits_where_it_is_kept(void **state)
{
    (void)state;
    assert_true(takes_id_of(AB_RESYNC_ID_MAX - 1));
    assert_false(takes_id_of(AB_RESYNC_ID_MAX));
    assert_false(is_read("{\"step\":\"want\",\"id\":\"A\",\"want\":[]}"));
    assert_false(is_read("{\"step\":\"want\",\"id\":\"\",\"want\":[]}"));
}

/* Every one of the most that there can be. */
static void all_pages_may_be_wanted(void **state)
{
    (void)state;
    ab_buf text;
    ab_buf_init(&text, 1u << 16);
    ab_buf_puts(&text, "{\"step\":\"want\",\"id\":\"a\",\"want\":[0");
    for (int i = 1; i < AB_INVENTORY_PAGES_MAX; i++)
        ab_buf_printf(&text, ",%d", i);
    ab_buf_puts(&text, "]}");
    ab_buf_putc(&text, '\0');
    assert_true(is_read(text.ptr));
    ab_buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_former_confirmation_and_a_number_of_held_deletions_are_read),
        cmocka_unit_test(the_set_that_is_held_and_confirmed_comes_back_as_it_was),
        cmocka_unit_test(the_names_of_what_is_held_come_back_as_they_were),
        cmocka_unit_test(names_that_are_none_are_refused),
        cmocka_unit_test(nothing_is_confirmed_or_held_unless_it_is_said),
        cmocka_unit_test(a_number_that_is_none_is_refused),
        cmocka_unit_test(a_page_has_each_key_once),
        cmocka_unit_test(a_page_has_a_thousand_entries_at_most),
        cmocka_unit_test(pages_are_wanted_once_and_in_order),
        cmocka_unit_test(an_id_fits_where_it_is_kept),
        cmocka_unit_test(all_pages_may_be_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
