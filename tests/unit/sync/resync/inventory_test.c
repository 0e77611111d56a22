/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/resync/inventory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static ab_inventory_entry entry(const char *key, uint64_t version, uint8_t hash)
{
    ab_inventory_entry e = {.key = ab_str_of(key), .version = {1, version}};
    e.hash.bytes[0] = hash;
    return e;
}

static void add(ab_inventory *inv, const char *key, uint64_t version, uint8_t hash)
{
    ab_inventory_entry e = entry(key, version, hash);
    ab_inventory_add(inv, &e);
}

static ab_inventory *many(int count, bool backwards)
{
    ab_inventory *inv = ab_inventory_new();
    assert_non_null(inv);
    for (int i = 0; i < count; i++) {
        char key[64];
        snprintf(key, sizeof(key), "Application/w1/app-%d", backwards ? count - 1 - i : i);
        add(inv, key, 1, 7);
    }
    return inv;
}

static void the_order_of_adding_does_not_matter(void **state)
{
    (void)state;
    ab_inventory *a = many(5000, false), *b = many(5000, true);
    assert_int_equal(ab_inventory_divide(a, 0), AB_ERR_OK);
    assert_int_equal(ab_inventory_divide(b, 0), AB_ERR_OK);
    assert_int_equal(ab_inventory_sum(a).pages, ab_inventory_sum(b).pages);
    for (size_t i = 0; i < ab_inventory_sum(a).pages; i++)
        assert_true(ab_digest_eq(&ab_inventory_sum(a).digests[i], &ab_inventory_sum(b).digests[i]));
    ab_inventory_free(a);
    ab_inventory_free(b);
}

static void no_page_has_more_than_a_thousand_entries_and_none_is_lost(void **state)
{
    (void)state;
    ab_inventory *inv = many(20000, false);
    size_t total = 0, count;
    assert_int_equal(ab_inventory_divide(inv, 0), AB_ERR_OK);
    assert_true(ab_inventory_is_pages(ab_inventory_sum(inv).pages));
    for (size_t i = 0; i < ab_inventory_sum(inv).pages; i++) {
        const ab_inventory_entry *entries = ab_inventory_page(inv, i, &count);
        assert_true(count <= AB_INVENTORY_PAGE_MAX);
        for (size_t k = 1; k < count; k++)
            assert_true(ab_str_cmp(entries[k - 1].key, entries[k].key) < 0);
        total += count;
    }
    assert_int_equal(total, 20000);
    ab_inventory_free(inv);
}

/* How many pages of the second differ from the first's. */
static size_t differing(ab_inventory *a, ab_inventory *b)
{
    size_t count = 0;
    assert_int_equal(ab_inventory_divide(a, 8), AB_ERR_OK);
    assert_int_equal(ab_inventory_divide(b, 8), AB_ERR_OK);
    for (size_t i = 0; i < 8; i++)
        count += !ab_digest_eq(&ab_inventory_sum(a).digests[i], &ab_inventory_sum(b).digests[i]);
    ab_inventory_free(a);
    ab_inventory_free(b);
    return count;
}

static void one_more_entry_changes_one_page(void **state)
{
    (void)state;
    ab_inventory *b = many(100, false);
    add(b, "Application/w1/other", 1, 7);
    assert_int_equal(differing(many(100, false), b), 1);
}

static void another_hash_changes_its_page_and_another_version_does_not(void **state)
{
    (void)state;
    ab_inventory *a = ab_inventory_new(), *b = ab_inventory_new(), *c = ab_inventory_new(),
                 *d = ab_inventory_new();
    add(a, "Application/w1/a", 1, 1);
    add(b, "Application/w1/a", 1, 2);
    assert_int_equal(differing(a, b), 1);
    add(c, "Application/w1/a", 1, 1);
    add(d, "Application/w1/a", 2, 1);
    assert_int_equal(differing(c, d), 0);
}

static void of_two_under_one_key_the_newer_counts(void **state)
{
    (void)state;
    ab_inventory *inv = ab_inventory_new();
    add(inv, "Application/w1/a", 1, 1);
    add(inv, "Application/w1/a", 3, 3);
    add(inv, "Application/w1/a", 2, 2);
    assert_int_equal(ab_inventory_divide(inv, 0), AB_ERR_OK);
    assert_int_equal(ab_inventory_sum(inv).count, 1);
    assert_int_equal(ab_inventory_find(inv, AB_STR("Application/w1/a"))->version.version, 3);
    ab_inventory_free(inv);
}

static void what_is_not_there_is_not_found(void **state)
{
    (void)state;
    ab_inventory *inv = many(300, false);
    assert_int_equal(ab_inventory_divide(inv, 4), AB_ERR_OK);
    assert_non_null(ab_inventory_find(inv, AB_STR("Application/w1/app-299")));
    assert_null(ab_inventory_find(inv, AB_STR("Application/w1/app-300")));
    assert_null(ab_inventory_find(inv, AB_STR("")));
    ab_inventory_free(inv);
}

static void only_a_power_of_two_divides(void **state)
{
    (void)state;
    static const size_t wrong[] = {3, 6, 4095, 8192};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        ab_inventory *inv = many(3, false);
        assert_int_equal(ab_inventory_divide(inv, wrong[i]), AB_ERR_INVALID);
        ab_inventory_free(inv);
    }
}

static void an_empty_one_has_one_page(void **state)
{
    (void)state;
    ab_inventory *inv = many(0, false);
    assert_int_equal(ab_inventory_divide(inv, 0), AB_ERR_OK);
    assert_int_equal(ab_inventory_sum(inv).pages, 1);
    assert_null(ab_inventory_find(inv, AB_STR("Application/w1/a")));
    assert_true(ab_version_is_none(ab_inventory_sum(inv).newest));
    ab_inventory_free(inv);
}

static void the_newest_version_is_known(void **state)
{
    (void)state;
    ab_inventory *inv = ab_inventory_new();
    add(inv, "Application/w1/a", 5, 1);
    add(inv, "Application/w1/b", 9, 1);
    add(inv, "Application/w1/c", 2, 1);
    assert_int_equal(ab_inventory_divide(inv, 0), AB_ERR_OK);
    assert_int_equal(ab_inventory_sum(inv).newest.version, 9);
    ab_inventory_free(inv);
}

/* The other end must divide alike, whatever it is written in. */
static void pages_follow_fnv_1a(void **state)
{
    (void)state;
    assert_int_equal(ab_inventory_page_of(AB_STR(""), 4096), 0x811c9dc5u % 4096);
    assert_int_equal(ab_inventory_page_of(AB_STR("a"), 4096), 0xe40c292cu % 4096);
    assert_int_equal(ab_inventory_page_of(AB_STR("foobar"), 4096), 0xbf9cf968u % 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_of_adding_does_not_matter),
        cmocka_unit_test(no_page_has_more_than_a_thousand_entries_and_none_is_lost),
        cmocka_unit_test(one_more_entry_changes_one_page),
        cmocka_unit_test(another_hash_changes_its_page_and_another_version_does_not),
        cmocka_unit_test(of_two_under_one_key_the_newer_counts),
        cmocka_unit_test(what_is_not_there_is_not_found),
        cmocka_unit_test(only_a_power_of_two_divides),
        cmocka_unit_test(an_empty_one_has_one_page),
        cmocka_unit_test(the_newest_version_is_known),
        cmocka_unit_test(pages_follow_fnv_1a),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
