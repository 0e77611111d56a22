/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct item {
    char name;
    ab_link in_list;
};

struct fixture {
    ab_link list, other;
    struct item a, b, c;
};

static struct fixture made(void)
{
    return (struct fixture){.a.name = 'a', .b.name = 'b', .c.name = 'c'};
}

static void start(struct fixture *f)
{
    ab_link_init(&f->list);
    ab_link_init(&f->other);
    ab_link_init(&f->a.in_list);
    ab_link_init(&f->b.in_list);
    ab_link_init(&f->c.in_list);
}

static void fill(struct fixture *f)
{
    start(f);
    ab_list_append(&f->list, &f->a.in_list);
    ab_list_append(&f->list, &f->b.in_list);
    ab_list_append(&f->list, &f->c.in_list);
}

static void assert_holds(const ab_link *list, const char *names)
{
    for (ab_list_iter i = ab_list_first(list); i.link != NULL; ab_list_next(&i))
        assert_int_equal(AB_LINK_OF(i.link, struct item, in_list)->name, *names++);
    assert_int_equal(*names, '\0');
}

static void what_is_appended_comes_in_order(void **state)
{
    (void)state;
    struct fixture f = made();
    fill(&f);
    assert_holds(&f.list, "abc");
    assert_true(ab_link_is_in_use(&f.list));
    assert_true(ab_link_is_in_use(&f.b.in_list));
}

static void what_is_prepended_comes_first(void **state)
{
    (void)state;
    struct fixture f = made();
    fill(&f);
    ab_list_prepend(&f.list, &f.b.in_list);
    assert_holds(&f.list, "bac");
    ab_list_prepend(&f.other, &f.a.in_list);
    assert_holds(&f.list, "bc");
    assert_holds(&f.other, "a");
}

static void an_empty_list_has_nothing_to_give(void **state)
{
    (void)state;
    struct fixture f = made();
    start(&f);
    assert_holds(&f.list, "");
    assert_false(ab_link_is_in_use(&f.list));
    assert_null(ab_list_pop(&f.list));
    ab_link_remove(&f.a.in_list); /* in none: nothing happens */
    ab_list_move_all(&f.list, &f.other);
    assert_holds(&f.other, "");
}

static void what_is_removed_is_in_no_list(void **state)
{
    (void)state;
    struct fixture f = made();
    fill(&f);
    ab_link_remove(&f.b.in_list);
    assert_holds(&f.list, "ac");
    assert_false(ab_link_is_in_use(&f.b.in_list));
    assert_ptr_equal(ab_list_pop(&f.list), &f.a.in_list);
    assert_ptr_equal(ab_list_pop(&f.list), &f.c.in_list);
    assert_false(ab_link_is_in_use(&f.list));
}

static void a_link_is_in_one_list_at_a_time(void **state)
{
    (void)state;
    struct fixture f = made();
    fill(&f);
    ab_list_append(&f.list, &f.a.in_list); /* to the end */
    assert_holds(&f.list, "bca");
    ab_list_append(&f.other, &f.c.in_list);
    assert_holds(&f.list, "ba");
    assert_holds(&f.other, "c");
}

static void all_move_behind_what_is_there(void **state)
{
    (void)state;
    struct fixture f = made();
    fill(&f);
    ab_list_append(&f.other, &f.b.in_list);
    ab_list_move_all(&f.list, &f.other);
    assert_holds(&f.list, "");
    assert_holds(&f.other, "bac");
    ab_list_append(&f.list, &f.c.in_list);
    assert_holds(&f.list, "c");
    assert_holds(&f.other, "ba");
}

static void the_current_link_may_be_removed_while_all_are_visited(void **state)
{
    (void)state;
    struct fixture f = made();
    fill(&f);
    int visited = 0;
    for (ab_list_iter i = ab_list_first(&f.list); i.link != NULL; ab_list_next(&i)) {
        ab_link_remove(i.link);
        visited++;
    }
    assert_int_equal(visited, 3);
    assert_holds(&f.list, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_appended_comes_in_order),
        cmocka_unit_test(what_is_prepended_comes_first),
        cmocka_unit_test(an_empty_list_has_nothing_to_give),
        cmocka_unit_test(what_is_removed_is_in_no_list),
        cmocka_unit_test(a_link_is_in_one_list_at_a_time),
        cmocka_unit_test(all_move_behind_what_is_there),
        cmocka_unit_test(the_current_link_may_be_removed_while_all_are_visited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
