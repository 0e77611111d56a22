/* SPDX-License-Identifier: Apache-2.0
 *
 * The question before a deletion, over all combinations of facts: the table of deletion.h, and what
 * must hold whatever the table says.
 */
#include "sync/deletion/deletion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum {
    EXISTS = 1 << 0,
    REQUESTED = 1 << 1,
    CHECKED = 1 << 2,
    OBSERVED = 1 << 3,
    SYNCED = 1 << 4,
    OWNED = 1 << 5,
    ELSEWHERE = 1 << 6,
    COVERED = 1 << 7,
    CONFIRMED = 1 << 8,
    TOO_MANY = 1 << 9,
    ALL = (1 << 10) - 1,
};

static ab_deletion judge(unsigned f)
{
    return ab_deletion_judge(&(ab_deletion_facts){.exists = f & EXISTS,
                                                  .requested = f & REQUESTED,
                                                  .store_checked = f & CHECKED,
                                                  .observed = f & OBSERVED,
                                                  .store_synced = f & SYNCED,
                                                  .owned = f & OWNED,
                                                  .elsewhere = f & ELSEWHERE,
                                                  .covered = f & COVERED,
                                                  .confirmed = f & CONFIRMED,
                                                  .too_many = f & TOO_MANY});
}

static bool is_allowed(unsigned f)
{
    return ab_deletion_is_allowed(judge(f));
}

/* The first row that fits: all of `all` are so, none of `none`. */
static const struct {
    unsigned all, none;
    ab_deletion verdict;
} rows[] = {
    {EXISTS, 0, AB_DELETION_EXISTS},
    {REQUESTED, 0, AB_DELETION_REQUESTED},
    {0, CHECKED | CONFIRMED, AB_DELETION_NOT_KNOWN_YET},
    {OBSERVED | CHECKED, 0, AB_DELETION_OBSERVED},
    {0, SYNCED | OWNED, AB_DELETION_NOT_KNOWN_YET},
    {0, CONFIRMED | ELSEWHERE | OWNED | COVERED, AB_DELETION_HELD_NO_PROOF},
    {CONFIRMED, 0, AB_DELETION_CONFIRMED},
    {TOO_MANY, 0, AB_DELETION_HELD_TOO_MANY},
    {ELSEWHERE, 0, AB_DELETION_MOVED},
    {OWNED, 0, AB_DELETION_PROVED_BY_STORE},
    {COVERED, 0, AB_DELETION_PROVED_BY_WATERMARK},
};

static ab_deletion row_of(unsigned f)
{
    size_t i = 0;
    while ((f & rows[i].all) != rows[i].all || (f & rows[i].none) != 0)
        i++;
    return rows[i].verdict;
}

static void every_combination_is_judged_as_the_table_says(void **state)
{
    (void)state;
    for (unsigned f = 0; f <= ALL; f++)
        assert_int_equal(judge(f), row_of(f));
}

static void what_exists_is_never_deleted(void **state)
{
    (void)state;
    for (unsigned f = 0; f <= ALL; f++)
        assert_false(is_allowed(f | EXISTS));
}

static void without_any_evidence_nothing_is_deleted(void **state)
{
    unsigned evidence = REQUESTED | OBSERVED | OWNED | ELSEWHERE | COVERED | CONFIRMED;
    (void)state;
    for (unsigned f = 0; f <= ALL; f++)
        assert_false(is_allowed(f & ~evidence));
}

/* A store that may be another one than it was says nothing, nor what it shows of its watches. */
static void a_store_that_was_not_checked_deletes_nothing_by_itself(void **state)
{
    (void)state;
    for (unsigned f = 0; f <= ALL; f++)
        assert_false(is_allowed(f & ~(unsigned)(CHECKED | CONFIRMED | REQUESTED)));
}

static void what_may_be_unreadable_is_not_deleted(void **state)
{
    (void)state;
    for (unsigned f = 0; f <= ALL; f++)
        assert_false(is_allowed(f & ~(unsigned)(SYNCED | OWNED | OBSERVED | REQUESTED)));
}

static void too_many_inferred_deletions_are_held_unless_confirmed(void **state)
{
    (void)state;
    for (unsigned f = 0; f <= ALL; f++) {
        ab_deletion verdict = judge((f | TOO_MANY) & ~(unsigned)CONFIRMED);
        assert_false(ab_deletion_is_inferred(verdict));
    }
}

/* Only these speak against a deletion: more of any other fact never turns a yes into a no. */
static void more_evidence_never_holds_a_deletion(void **state)
{
    (void)state;
    for (unsigned f = 0; f <= ALL; f++)
        for (unsigned bit = 1; bit <= ALL; bit <<= 1)
            if (is_allowed(f) && (bit & (EXISTS | TOO_MANY)) == 0)
                assert_true(is_allowed(f | bit));
}

static void doubt_never_deletes(void **state)
{
    (void)state;
    for (unsigned f = 0; f <= ALL; f++)
        if (!is_allowed(f)) {
            assert_false(is_allowed(f | EXISTS));
            assert_false(is_allowed(f | TOO_MANY));
        }
}

/* Else it would hold itself: the guard counts what is allowed before it has said anything. */
static void what_is_held_as_too_many_was_counted(void **state)
{
    (void)state;
    for (unsigned f = 0; f <= ALL; f++)
        if (judge(f | TOO_MANY) == AB_DELETION_HELD_TOO_MANY)
            assert_true(ab_deletion_is_inferred(judge(f & ~(unsigned)TOO_MANY)));
}

static void the_guard_counts_all_that_is_allowed_but_what_somebody_did(void **state)
{
    (void)state;
    for (unsigned f = 0; f <= ALL; f++) {
        ab_deletion v = judge(f);
        bool done_by_somebody = v == AB_DELETION_REQUESTED || v == AB_DELETION_OBSERVED;
        assert_int_equal(ab_deletion_is_inferred(v), is_allowed(f) && !done_by_somebody);
    }
}

static void each_verdict_has_a_text_of_its_own(void **state)
{
    (void)state;
    for (int a = AB_DELETION_EXISTS; a <= AB_DELETION_PROVED_BY_WATERMARK; a++)
        for (int b = AB_DELETION_EXISTS; b < a; b++)
            assert_string_not_equal(ab_deletion_text((ab_deletion)a),
                                    ab_deletion_text((ab_deletion)b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination_is_judged_as_the_table_says),
        cmocka_unit_test(what_exists_is_never_deleted),
        cmocka_unit_test(without_any_evidence_nothing_is_deleted),
        cmocka_unit_test(a_store_that_was_not_checked_deletes_nothing_by_itself),
        cmocka_unit_test(what_may_be_unreadable_is_not_deleted),
        cmocka_unit_test(too_many_inferred_deletions_are_held_unless_confirmed),
        cmocka_unit_test(more_evidence_never_holds_a_deletion),
        cmocka_unit_test(doubt_never_deletes),
        cmocka_unit_test(what_is_held_as_too_many_was_counted),
        cmocka_unit_test(the_guard_counts_all_that_is_allowed_but_what_somebody_did),
        cmocka_unit_test(each_verdict_has_a_text_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
