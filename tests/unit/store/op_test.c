/* SPDX-License-Identifier: Apache-2.0 */
#include "store/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static ab_store_op *op_on(const char *key)
{
    ab_store_op *op = ab_store_op_new(sizeof(ab_store_op), AB_VERB_GET, ab_str_of(key), NULL, NULL);
    assert_non_null(op);
    return op;
}

static void a_key_is_taken_apart(void **state)
{
    (void)state;
    ab_store_op *op = op_on("Application/argocd/guestbook");
    assert_int_equal(op->code, AB_ERR_OK);
    assert_true(ab_str_is(op->kind, "Application"));
    assert_true(ab_str_is(op->ns, "argocd"));
    assert_string_equal(op->name.ptr, "guestbook");
    ab_store_op_free(op);
}

static void what_is_no_key_is_refused(void **state)
{
    (void)state;
    char longer[AB_OBJECT_KEY_MAX + 16];
    memset(longer, 'a', sizeof(longer) - 1);
    memcpy(longer, "Secret/argocd/", 14);
    longer[sizeof(longer) - 1] = '\0';
    for (const char *const *key = (const char *const[]){"", "Application", longer, NULL};
         *key != NULL; key++) {
        ab_store_op *op = op_on(*key);
        assert_int_equal(op->code, AB_ERR_INVALID);
        assert_non_null(strstr(op->err.text, "kind/namespace/name"));
        ab_store_op_free(op);
    }
}

static void a_status_must_be_an_object(void **state)
{
    (void)state;
    static const struct {
        const char *status;
        const char *why; /* NULL: it is taken */
    } cases[] = {
        {"{\"a\":1}", NULL},
        {"[1]", "not an object"},
        {"{\"a\":", "line 1"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ab_store_op *op = op_on("Application/argocd/a");
        ab_store_op_set_status(op, ab_str_of(cases[i].status), AB_STR("1.2"));
        assert_int_equal(op->code, cases[i].why == NULL ? AB_ERR_OK : AB_ERR_INVALID);
        if (cases[i].why != NULL)
            assert_non_null(strstr(op->err.text, cases[i].why));
        assert_string_equal(op->status, cases[i].status);
        assert_string_equal(op->status_version, "1.2");
        ab_store_op_free(op);
    }
}

static void a_line_is_first_come_first_served_but_for_what_is_put_back(void **state)
{
    (void)state;
    ab_store_line line = {0};
    ab_store_op *ops[3];
    assert_null(ab_store_line_pop(&line));
    for (size_t i = 0; i < 3; i++) {
        ops[i] = op_on("Application/argocd/a");
        ab_store_line_append(&line, ops[i]);
    }
    assert_ptr_equal(ab_store_line_pop(&line), ops[0]);
    ab_store_line_prepend(&line, ops[0]);
    for (size_t i = 0; i < 3; i++) {
        assert_ptr_equal(ab_store_line_pop(&line), ops[i]);
        ab_store_op_free(ops[i]);
    }
    assert_null(ab_store_line_pop(&line));
    ab_store_op *again = op_on("Application/argocd/a");
    ab_store_line_prepend(&line, again);
    assert_ptr_equal(line.last, again);
    ab_store_op_free(ab_store_line_pop(&line));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_taken_apart),
        cmocka_unit_test(what_is_no_key_is_refused),
        cmocka_unit_test(a_status_must_be_an_object),
        cmocka_unit_test(a_line_is_first_come_first_served_but_for_what_is_put_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
