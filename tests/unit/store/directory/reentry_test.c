/* SPDX-License-Identifier: Apache-2.0
 *
 * A receiver writes from inside a report, on the object that is reported. The sanitizers see
 * whether the store still holds on to what it works on.
 */
#include "tests/unit/store/directory/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KEY       "Application/argocd/guestbook"
#define FILE_NAME "argocd/Application/guestbook.yaml"
#define APP(a)                                                                                     \
    "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{"             \
    "\"name\":\"guestbook\",\"namespace\":\"argocd\"},\"spec\":{\"a\":" a "}}"

/* Between the store and the world: at the first report of one kind, it writes. */
typedef struct {
    world *w;
    ab_store_events inner;
    ab_store_change at; /* this change of KEY */
    bool at_fault;      /* or a fault instead */
    bool writes;
    result first;
    result second;
} receiver;

static void write_twice(receiver *r)
{
    ab_object *object = NULL;
    if (!r->writes)
        return;
    r->writes = false;
    assert_int_equal(ab_object_parse(AB_STR(APP("7")), &object, NULL), AB_ERR_OK);
    ab_store_apply(r->w->store, object, NULL, result_done, &r->first);
    ab_object_unref(object);
    ab_store_patch_status(r->w->store, AB_STR(KEY), AB_STR("{\"s\":1}"), AB_STR_NONE, NULL,
                          result_done, &r->second);
}

static void on_change(void *arg, ab_store_change change, ab_object *object)
{
    receiver *r = arg;
    r->inner.on_change(r->inner.arg, change, object);
    if (!r->at_fault && change == r->at)
        write_twice(r);
}

static void on_fault(void *arg, const char *where, const ab_error *err)
{
    receiver *r = arg;
    r->inner.on_fault(r->inner.arg, where, err);
    if (r->at_fault)
        write_twice(r);
}

static receiver *receive(world *w)
{
    receiver *r = calloc(1, sizeof(*r));
    assert_non_null(r);
    r->w = w;
    r->writes = true;
    r->inner = w->store->env.events;
    w->store->env.events = (ab_store_events){on_change, on_fault, r};
    return r;
}

static void wait_both(receiver *r)
{
    world_wait(r->w, result_ended, &r->first);
    world_wait(r->w, result_ended, &r->second);
}

static void finish(receiver *r)
{
    result_fini(&r->first);
    result_fini(&r->second);
    world_free(r->w);
    free(r);
}

static void assert_written(receiver *r)
{
    assert_int_equal(r->first.code, AB_ERR_OK);
    assert_int_equal(r->second.code, AB_ERR_OK);
    assert_text(TEXT_AT(r->second.object, "spec", "a"), "7");
    assert_text(TEXT_AT(r->second.object, "status", "s"), "1");
    char *text = text_of(r->w, FILE_NAME);
    assert_non_null(text);
    free(text);
}

static void apply_ok(world *w, const char *json)
{
    result made = do_apply(w, json, NULL);
    assert_int_equal(made.code, AB_ERR_OK);
    result_fini(&made);
}

static void an_object_is_brought_back_from_inside_the_report_of_its_removal(void **state)
{
    (void)state;
    world *w = world_new(&directory_place);
    apply_ok(w, APP("1"));
    receiver *r = receive(w);
    r->at = AB_STORE_DELETED;
    result removed = do_remove(w, KEY, NULL);
    assert_int_equal(removed.code, AB_ERR_OK);
    result_fini(&removed);
    wait_both(r);
    assert_written(r);
    finish(r);
}

static void an_object_is_brought_back_from_inside_the_report_that_its_file_is_gone(void **state)
{
    (void)state;
    world *w = world_new(&directory_place);
    apply_ok(w, APP("1"));
    receiver *r = receive(w);
    r->at = AB_STORE_DELETED;
    person_removes(w, FILE_NAME);
    wait_both(r);
    assert_written(r);
    finish(r);
}

static void an_object_is_written_from_inside_the_report_of_a_write(void **state)
{
    (void)state;
    world *w = world_new(&directory_place);
    receiver *r = receive(w);
    r->at = AB_STORE_UPDATED;
    apply_ok(w, APP("1"));
    wait_both(r);
    assert_written(r);
    finish(r);
}

/* What a person broke is theirs to correct: the writes are refused, and later ones are not. */
static void a_write_from_inside_a_fault_is_answered(void **state)
{
    (void)state;
    world *w = world_new(&directory_place);
    receiver *r = receive(w);
    r->at_fault = true;
    person_writes(w, FILE_NAME, "kind: [\n");
    wait_both(r);
    assert_int_not_equal(r->first.code, AB_ERR_OK);
    assert_int_not_equal(r->second.code, AB_ERR_OK);
    person_removes(w, FILE_NAME);
    world_settle(w);
    apply_ok(w, APP("2"));
    finish(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_is_brought_back_from_inside_the_report_of_its_removal),
        cmocka_unit_test(an_object_is_brought_back_from_inside_the_report_that_its_file_is_gone),
        cmocka_unit_test(an_object_is_written_from_inside_the_report_of_a_write),
        cmocka_unit_test(a_write_from_inside_a_fault_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
