/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/identity.h"

#include "store/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define KEY   "ConfigMap/argocd/argocd-agent-principal-identity"
#define OTHER "3f2b9c1e-7a64-4d0f-9b1c-0123456789ab"
#define CONFIGMAP(uid)                                                                             \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"                        \
    "\"argocd-agent-principal-identity\",\"namespace\":\"argocd\"},\"data\":{\"principal-uid\":"   \
    "\"" uid "\"}}"

/* A store that knows one object and keeps what it is asked until it is told to answer. */
typedef struct {
    ab_store base; /* first */
    ab_object *object;
    ab_err trouble; /* instead of an answer */
    ab_store_done done;
    void *arg;
    ab_object *applied; /* NULL: it was asked to read */
    size_t reads;
    size_t writes;
    /* the one that asks */
    ab_log *log;
    ab_identity *identity;
    char uid[64];
    size_t known;
} fixture;

static int64_t now_ms;

static int64_t stepped_mono_ms(void *arg)
{
    (void)arg;
    return now_ms;
}

static int64_t no_wall_us(void *arg)
{
    (void)arg;
    return 0;
}

static const ab_clock stepped = {stepped_mono_ms, no_wall_us, NULL};

/* --- the store --- */

static void keep(fixture *f, ab_store_done done, void *arg)
{
    assert_null(f->done);
    f->done = done;
    f->arg = arg;
}

static void fake_submit(ab_store *self, ab_store_op *op)
{
    fixture *f = (fixture *)self;
    if (op->verb == AB_VERB_GET) {
        assert_string_equal(op->key, KEY);
        f->reads++;
    } else {
        assert_int_equal(op->verb, AB_VERB_APPLY);
        assert_true(op->must_not_exist);
        f->applied = ab_object_ref(op->object);
        f->writes++;
    }
    keep(f, op->done, op->arg);
    ab_store_op_free(op);
}

static const ab_store_ops fake_ops = {
    .name = "fake", .op_size = sizeof(ab_store_op), .submit = fake_submit};

static ab_err outcome(fixture *f)
{
    if (f->trouble != AB_ERR_OK)
        return f->trouble;
    if (f->applied == NULL)
        return f->object == NULL ? AB_ERR_NOTFOUND : AB_ERR_OK;
    if (f->object != NULL)
        return AB_ERR_EXISTS;
    f->object = ab_object_ref(f->applied);
    return AB_ERR_OK;
}

/* @return false when nothing was asked */
static bool answer(fixture *f)
{
    ab_store_done done = f->done;
    if (done == NULL)
        return false;
    ab_err code = outcome(f);
    ab_object_unref(f->applied);
    f->applied = NULL;
    f->done = NULL;
    ab_error err = {0};
    if (code != AB_ERR_OK)
        ab_fail(&err, code, "told to");
    done(f->arg, code, code == AB_ERR_OK ? f->object : NULL, &err);
    return true;
}

static void put(fixture *f, const char *json)
{
    ab_object_unref(f->object);
    f->object = NULL;
    assert_int_equal(ab_object_parse(ab_str_of(json), &f->object, NULL), AB_ERR_OK);
}

/* --- the one that asks --- */

static void on_known(void *arg, const char *uid)
{
    fixture *f = arg;
    snprintf(f->uid, sizeof(f->uid), "%s", uid);
    f->known++;
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->base.ops = &fake_ops;
    now_ms = 1000;
    assert_int_equal(ab_log_new(STDERR_FILENO, "error", AB_LOG_TEXT, &ab_clock_real, &f->log, NULL),
                     AB_ERR_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    ab_identity_free(f->identity);
    ab_object_unref(f->applied);
    ab_object_unref(f->object);
    ab_log_free(f->log);
    free(f);
    return 0;
}

static void begin(fixture *f)
{
    assert_int_equal(
        ab_identity_new(&f->base, "argocd", &stepped, f->log, on_known, f, &f->identity),
        AB_ERR_OK);
}

/* A tick at the time and what it leads to; then nothing is under way. */
static void tick_at(fixture *f, int64_t at_ms)
{
    now_ms = at_ms;
    ab_identity_tick(f->identity);
    while (answer(f))
        ;
}

/* --- tests --- */

static void an_identity_that_is_there_is_read(void **state)
{
    fixture *f = *state;
    put(f, CONFIGMAP(OTHER));
    begin(f);
    assert_int_equal(f->known, 0);
    tick_at(f, 1000);
    assert_int_equal(f->known, 1);
    assert_string_equal(f->uid, OTHER);
    assert_int_equal(f->writes, 0);
}

static void an_identity_that_is_not_there_is_made(void **state)
{
    fixture *f = *state;
    begin(f);
    tick_at(f, 1000);
    assert_int_equal(f->known, 1);
    assert_int_equal(strlen(f->uid), 36);
    assert_int_equal(f->writes, 1);
    assert_string_equal(ab_object_key(f->object), KEY);
    ab_str kept = ab_span_plain(ab_span_get(ab_object_field(f->object, "data"), "principal-uid"));
    assert_true(ab_str_is(kept, f->uid));
}

static void two_installations_do_not_make_the_same(void **state)
{
    fixture *f = *state;
    char first[64];
    begin(f);
    tick_at(f, 1000);
    snprintf(first, sizeof(first), "%s", f->uid);
    ab_identity_free(f->identity);
    ab_object_unref(f->object);
    f->object = NULL;
    begin(f);
    tick_at(f, 1000);
    assert_int_equal(f->known, 2);
    assert_string_not_equal(f->uid, first);
}

static void what_another_principal_made_meanwhile_is_taken(void **state)
{
    fixture *f = *state;
    begin(f);
    assert_true(answer(f)); /* it is not there */
    put(f, CONFIGMAP(OTHER));
    assert_true(answer(f)); /* and now it is */
    assert_int_equal(f->writes, 1);
    assert_int_equal(f->known, 0);
    tick_at(f, 1000);
    assert_int_equal(f->known, 1);
    assert_string_equal(f->uid, OTHER);
    assert_int_equal(f->writes, 1);
}

static void nothing_is_asked_again_while_an_answer_is_to_come(void **state)
{
    fixture *f = *state;
    begin(f);
    ab_identity_tick(f->identity);
    assert_int_equal(f->reads, 1);
    assert_true(answer(f));
    ab_identity_tick(f->identity);
    assert_int_equal(f->reads, 1);
    assert_int_equal(f->writes, 1);
}

static void a_store_in_trouble_is_asked_less_and_less_often(void **state)
{
    fixture *f = *state;
    f->trouble = AB_ERR_UNAVAILABLE;
    begin(f);
    /* Each delay lies in the upper half of 250, 500, 1000, ... 60000 ms. */
    size_t reads = 0;
    for (int64_t longest = 250; reads < 10; reads++) {
        tick_at(f, now_ms);
        int64_t failed = now_ms;
        assert_int_equal(f->reads, reads + 1);
        tick_at(f, failed + longest / 2 - 1);
        assert_int_equal(f->reads, reads + 1);
        now_ms = failed + longest;
        longest = longest > 30000 ? 60000 : longest * 2;
    }
    assert_int_equal(f->known, 0);
    f->trouble = AB_ERR_OK;
    tick_at(f, now_ms);
    assert_int_equal(f->known, 1);
}

static void a_store_that_does_not_take_it_is_asked_again_later(void **state)
{
    fixture *f = *state;
    begin(f);
    assert_true(answer(f));
    f->trouble = AB_ERR_NOSPACE;
    assert_true(answer(f));
    assert_int_equal(f->known, 0);
    f->trouble = AB_ERR_OK;
    tick_at(f, now_ms);
    assert_int_equal(f->reads, 1);
    tick_at(f, now_ms + 250);
    assert_int_equal(f->reads, 2);
    assert_int_equal(f->known, 1);
}

static void what_is_no_uuid_is_not_taken_and_not_replaced(void **state)
{
    fixture *f = *state;
    put(f, CONFIGMAP("mine"));
    begin(f);
    tick_at(f, 1000);
    assert_int_equal(f->known, 0);
    assert_int_equal(f->writes, 0);
    put(f, CONFIGMAP(OTHER)); /* corrected */
    tick_at(f, now_ms + 250);
    assert_string_equal(f->uid, OTHER);
}

static void once_known_nothing_is_asked_any_more(void **state)
{
    fixture *f = *state;
    put(f, CONFIGMAP(OTHER));
    begin(f);
    tick_at(f, 1000);
    tick_at(f, 1000000);
    assert_int_equal(f->reads, 1);
    assert_int_equal(f->known, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_identity_that_is_there_is_read),
        TEST(an_identity_that_is_not_there_is_made),
        TEST(two_installations_do_not_make_the_same),
        TEST(what_another_principal_made_meanwhile_is_taken),
        TEST(nothing_is_asked_again_while_an_answer_is_to_come),
        TEST(a_store_in_trouble_is_asked_less_and_less_often),
        TEST(a_store_that_does_not_take_it_is_asked_again_later),
        TEST(what_is_no_uuid_is_not_taken_and_not_replaced),
        TEST(once_known_nothing_is_asked_any_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
