/* SPDX-License-Identifier: Apache-2.0
 *
 * A kind more than the product has: the file is this one's `dummy`, the row is the macro. Both ends
 * then synchronise it, and nothing else knows of it.
 */
#include "sync/kind/kind.h"
#include "sync/object/render.h"
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static const ab_kind dummy = {.kind = "Dummy",
                              .target = AB_TARGET_GPGKEY,
                              .shared = true,
                              .adoption = AB_ADOPT_ALWAYS,
                              .audience = AB_FOR_ALL,
                              .render = ab_render_whole};

#define ab_kind_gpgkeys ab_kind_gpgkeys, &dummy
#include "sync/kind/kind.c" /* NOLINT(bugprone-suspicious-include): with a row more */
#undef ab_kind_gpgkeys

#define KEY "Dummy/argocd/d"

static void put(fake_store *s, int n)
{
    char json[200];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"Dummy\",\"metadata\":{\"name\":\"d\",\"namespace\":"
             "\"argocd\"},\"spec\":{\"n\":%d}}",
             n);
    ab_object *object = NULL;
    assert_int_equal(ab_object_parse(ab_str_of(json), &object, NULL), AB_ERR_OK);
    fake_store_put(s, object);
    ab_object_unref(object);
}

static int spec_here(void)
{
    const ab_object *here = fake_store_find(w.local, KEY);
    return here == NULL ? -1 : spec_of(here);
}

static void it_is_created_updated_reverted_and_deleted(void **state)
{
    (void)state;
    put(w.hub, 1);
    world_start(&w);
    world_run(&w, 1);
    assert_int_equal(spec_here(), 1);
    set_spec(w.hub, KEY, 2);
    world_settle(&w);
    assert_int_equal(spec_here(), 2);
    set_spec(w.local, KEY, 3);
    world_run(&w, 1);
    assert_int_equal(spec_here(), 2);
    fake_store_erase(w.hub, KEY);
    world_run(&w, 3);
    assert_int_equal(spec_here(), -1);
    assert_at_rest();
}

static void it_survives_the_start_of_both_ends(void **state)
{
    (void)state;
    put(w.hub, 1);
    world_start(&w);
    world_run(&w, 1);
    restart_agent();
    restart_principal();
    set_spec(w.hub, KEY, 2);
    world_run(&w, 1);
    assert_int_equal(spec_here(), 2);
    assert_at_rest();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_created_updated_reverted_and_deleted, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(it_survives_the_start_of_both_ends, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
