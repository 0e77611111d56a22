/* SPDX-License-Identifier: Apache-2.0 */
#include "store/kubernetes/known.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define KEY AB_STR("Secret/argocd/a")

static ab_object *object(const char *name, const char *uid, unsigned version)
{
    char text[512];
    ab_object *o = NULL;
    (void)snprintf(text, sizeof(text),
                   "{\"kind\":\"Secret\",\"metadata\":{\"namespace\":\"argocd\",\"name\":\"%s\","
                   "\"uid\":\"%s\",\"resourceVersion\":\"%u\"},\"data\":{\"password\":\"eA==\"}}",
                   name, uid, version);
    assert_int_equal(ab_object_parse(ab_str_of(text), &o, NULL), AB_ERR_OK);
    return o;
}

static void note(ab_kube_known *k, const char *name, const char *uid, unsigned version)
{
    ab_object *o = object(name, uid, version);
    assert_int_equal(ab_kube_known_note(k, o), AB_ERR_OK);
    ab_object_unref(o);
}

static ab_kube_news compare(const ab_kube_known *k, const char *uid, unsigned version)
{
    ab_object *o = object("a", uid, version);
    ab_kube_news news = ab_kube_known_compare(k, o);
    ab_object_unref(o);
    return news;
}

static void a_state_is_news_once(void **state)
{
    (void)state;
    ab_kube_known *k = ab_kube_known_new();
    assert_int_equal(compare(k, "u", 1), AB_KUBE_NEWER);
    note(k, "a", "u", 1);
    assert_int_equal(compare(k, "u", 1), AB_KUBE_SAME);
    assert_int_equal(compare(k, "u", 2), AB_KUBE_NEWER);
    assert_int_equal(compare(k, "other", 1), AB_KUBE_REPLACED);
    note(k, "a", "other", 3);
    assert_int_equal(compare(k, "other", 3), AB_KUBE_SAME);
    assert_int_equal(ab_kube_known_count(k), 1);
    ab_kube_known_free(k);
}

static void in_another_store_the_same_version_is_news(void **state)
{
    (void)state;
    ab_kube_known *k = ab_kube_known_new();
    ab_kube_known_begin(k);
    note(k, "a", "u", 1);
    ab_kube_known_distrust(k);
    ab_kube_known_begin(k);
    assert_int_equal(compare(k, "u", 1), AB_KUBE_NEWER);
    assert_int_equal(compare(k, "other", 1), AB_KUBE_REPLACED);
    note(k, "a", "u", 1);
    assert_int_equal(compare(k, "u", 1), AB_KUBE_SAME);
    ab_kube_known_free(k);
}

static void
what_is_kept_of_an_object_tells_which_one_it_was_and_nothing_of_its_content(void **state)
{
    (void)state;
    ab_object *last = NULL;
    ab_kube_known *k = ab_kube_known_new();
    assert_int_equal(ab_kube_known_last(k, KEY, "v1", &last), AB_ERR_NOTFOUND);
    note(k, "a", "u", 7);
    assert_int_equal(ab_kube_known_last(k, KEY, "v1", &last), AB_ERR_OK);
    assert_true(ab_str_is(ab_span_raw(ab_object_json(last)),
                          "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\","
                          "\"namespace\":\"argocd\",\"uid\":\"u\",\"resourceVersion\":\"7\"}}"));
    ab_object_unref(last);
    ab_kube_known_free(k);
}

static void forget_one(void *arg, ab_str key)
{
    ab_kube_known **k = arg;
    assert_true(ab_str_is(key, "Secret/argocd/a") || ab_str_is(key, "Secret/argocd/c"));
    assert_true(ab_kube_known_forget(*k, key));
}

static void after_a_new_list_what_was_not_in_it_is_old(void **state)
{
    (void)state;
    ab_kube_known *k = ab_kube_known_new();
    note(k, "a", "u", 1);
    note(k, "b", "u", 2);
    note(k, "c", "u", 3);
    ab_kube_known_begin(k);
    note(k, "b", "u", 2);
    note(k, "d", "u", 4);
    ab_kube_known_each_old(k, forget_one, &k);
    assert_int_equal(ab_kube_known_count(k), 2);
    assert_false(ab_kube_known_forget(k, KEY));
    ab_kube_known_each_old(k, forget_one, &k);
    assert_int_equal(ab_kube_known_count(k), 2);
    ab_kube_known_free(k);
}

static void keep(ab_kube_known *k, const char *name, const char *uid)
{
    ab_object *o = object(name, uid, 9);
    ab_kube_known_keep(k, o);
    ab_object_unref(o);
}

static void what_cannot_be_read_is_not_old(void **state)
{
    (void)state;
    ab_kube_known *k = ab_kube_known_new();
    note(k, "a", "u", 1);
    note(k, "b", "u", 2);
    note(k, "c", "u", 3);
    ab_kube_known_begin(k);
    keep(k, "a", "other");
    keep(k, "b", "u");
    keep(k, "new", "u");
    ab_kube_known_each_old(k, forget_one, &k);
    assert_int_equal(ab_kube_known_count(k), 1);
    assert_true(ab_kube_known_forget(k, AB_STR("Secret/argocd/b")));
    ab_kube_known_free(k);
}

/* The head of known.h says how much it is. */
static void an_object_costs_less_than_256_bytes(void **state)
{
    (void)state;
    enum { COUNT = 10000 };
    ab_kube_known *k = ab_kube_known_new();
    struct mallinfo2 before = mallinfo2();
    for (unsigned i = 0; i < COUNT; i++) {
        char name[24];
        (void)snprintf(name, sizeof(name), "an-application-%04u", i);
        note(k, name, "a93caed1-b9d3-4282-a1bc-584b0456fef5", i);
    }
    struct mallinfo2 after = mallinfo2();
    size_t each = (after.uordblks + after.hblkhd - before.uordblks - before.hblkhd) / COUNT;
    print_message("%zu bytes for each object\n", each);
    assert_true(each < 256); /* 0 where a sanitizer has its own allocator */
    ab_kube_known_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_is_news_once),
        cmocka_unit_test(in_another_store_the_same_version_is_news),
        cmocka_unit_test(
            what_is_kept_of_an_object_tells_which_one_it_was_and_nothing_of_its_content),
        cmocka_unit_test(after_a_new_list_what_was_not_in_it_is_old),
        cmocka_unit_test(what_cannot_be_read_is_not_old),
        cmocka_unit_test(an_object_costs_less_than_256_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
