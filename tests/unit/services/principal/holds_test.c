/* SPDX-License-Identifier: Apache-2.0
 *
 * What is told of deletions that are held back: Events in a Kubernetes store, lines for /readyz.
 */
#include "services/principal/holds.h"

#include "store/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define HOUR_MS 3600000

static struct {
    int64_t ms;
    ab_clock clock;
    ab_store store;
    ab_holds *holds;
    size_t events;
    ab_object *event; /* the last one */
} t;

static int64_t mono_ms(void *arg)
{
    (void)arg;
    return t.ms;
}

static int64_t wall_us(void *arg)
{
    (void)arg;
    return t.ms * 1000;
}

static void submit(ab_store *self, ab_store_op *op)
{
    (void)self;
    assert_int_equal(op->verb, AB_VERB_APPLY);
    assert_true(op->must_not_exist);
    t.events++;
    ab_object_unref(t.event);
    t.event = ab_object_ref(op->object);
    op->done(op->arg, AB_ERR_OK, op->object, NULL);
    ab_store_op_free(op);
}

#define OPS(kind)                                                                                  \
    {                                                                                              \
        .name = (kind), .op_size = sizeof(ab_store_op), .submit = submit                           \
    }
static const ab_store_ops kubernetes = OPS("kubernetes");
static const ab_store_ops directory = OPS("directory");

static void begin(bool by_agent)
{
    const ab_holds_env env = {.clock = &t.clock, .namespace = "argocd", .by_agent = by_agent};
    t.holds = ab_holds_new(&env);
    assert_non_null(t.holds);
    ab_holds_use(t.holds, &t.store);
}

static int set_up(void **state)
{
    (void)state;
    memset(&t, 0, sizeof(t));
    t.ms = 1000;
    t.clock = (ab_clock){mono_ms, wall_us, NULL};
    t.store.ops = &kubernetes;
    begin(true);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ab_holds_free(t.holds);
    ab_object_unref(t.event);
    return 0;
}

static ab_str field(const char *outer, const char *inner)
{
    ab_spanv v = ab_object_field(t.event, outer);
    return ab_span_plain(inner == NULL ? v : ab_span_get(v, inner));
}

static void assert_readyz(const char *text)
{
    ab_buf out;
    ab_buf_init(&out, 4096);
    ab_holds_show(t.holds, &out);
    assert_string_equal(out.len == 0 ? "" : out.ptr, text);
    ab_buf_fini(&out);
}

static void a_hold_is_an_event_in_the_agents_namespace_and_a_line(void **state)
{
    (void)state;
    ab_holds_note(t.holds, "w1", 30, "deadbeef");
    assert_int_equal(t.events, 1);
    assert_true(ab_str_is(ab_object_kind(t.event), "Event"));
    assert_true(ab_str_is(ab_object_namespace(t.event), "w1"));
    assert_true(ab_str_starts(ab_object_name(t.event), "argobus-w1."));
    assert_true(ab_str_is(field("involvedObject", "namespace"), "w1"));
    assert_true(ab_str_is(field("type", NULL), "Warning"));
    assert_true(ab_str_is(field("reason", NULL), "DeletionsHeld"));
    assert_true(ab_str_is(
        field("message", NULL),
        "Agent w1: 30 deletions are held back. Nobody observed these objects being deleted. Make "
        "them again, or confirm: argobusctl resync --agent w1 --confirm deadbeef, or annotate the "
        "agent's "
        "cluster Secret with argobus.io/confirm-deletions=deadbeef"));
    assert_readyz("agent w1: 30 deletions are held back, confirm with deadbeef");
}

static void that_it_is_over_is_told_once(void **state)
{
    (void)state;
    ab_holds_note(t.holds, "w1", 30, "deadbeef");
    ab_holds_note(t.holds, "w1", 0, "");
    assert_int_equal(t.events, 2);
    assert_true(ab_str_is(field("reason", NULL), "DeletionsReleased"));
    assert_readyz("");
    t.ms += HOUR_MS;
    ab_holds_tick(t.holds);
    assert_int_equal(t.events, 2);
}

static void it_is_told_again_before_the_event_expires(void **state)
{
    (void)state;
    ab_holds_note(t.holds, "w1", 30, "deadbeef");
    ab_holds_note(t.holds, "w2", 1, "cafecafe");
    ab_holds_tick(t.holds);
    assert_int_equal(t.events, 2);
    t.ms += HOUR_MS;
    ab_holds_tick(t.holds);
    assert_int_equal(t.events, 4);
    ab_holds_tick(t.holds);
    assert_int_equal(t.events, 4);
    assert_readyz("agent w1: 30 deletions are held back, confirm with deadbeef\n"
                  "agent w2: 1 deletions are held back, confirm with cafecafe");
}

static void of_an_agent_that_is_gone_nothing_is_told_any_more(void **state)
{
    (void)state;
    ab_holds_note(t.holds, "w1", 30, "deadbeef");
    ab_holds_forget(t.holds, "w1");
    ab_holds_forget(t.holds, "w2");
    t.ms += HOUR_MS;
    ab_holds_tick(t.holds);
    assert_int_equal(t.events, 1);
    assert_readyz("");
}

static void in_destination_mapping_the_event_is_in_the_principals_namespace(void **state)
{
    (void)state;
    ab_holds_free(t.holds);
    begin(false);
    ab_holds_note(t.holds, "w1", 30, "deadbeef");
    assert_true(ab_str_is(ab_object_namespace(t.event), "argocd"));
}

static void a_folder_gets_no_events(void **state)
{
    (void)state;
    t.store.ops = &directory;
    ab_holds_note(t.holds, "w1", 30, "deadbeef");
    assert_int_equal(t.events, 0);
    assert_readyz("agent w1: 30 deletions are held back, confirm with deadbeef");
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_hold_is_an_event_in_the_agents_namespace_and_a_line),
        T(that_it_is_over_is_told_once),
        T(it_is_told_again_before_the_event_expires),
        T(of_an_agent_that_is_gone_nothing_is_told_any_more),
        T(in_destination_mapping_the_event_is_in_the_principals_namespace),
        T(a_folder_gets_no_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
