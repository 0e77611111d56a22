/* SPDX-License-Identifier: Apache-2.0
 *
 * What hellos of a peer come to. The link does not answer: it says hello already.
 */
#include "transport/kafka/presence_priv.h"

#include "schema/attributes.h"
#include "tests/unit/transport/kafka/unconnected.h"
#include "transport/hello.h"
#include "transport/kafka/refusal_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define OURS   "us/0" /* our handshake */
#define LOG    7      /* the identity of our log */
#define END    5      /* of the peer's log, where we wait */
#define CUT_MS 60000
#define LATE   (3 * 1000 + 30000 + 1)

typedef struct {
    ab_unconnected u;
    ab_kafka_link *link;
    ab_kafka_group group;
    int ups;
    int downs;
} fixture;

static int withdrawn;

static void withdraw(ab_kafka_link *l)
{
    (void)l;
    withdrawn++;
}

static void on_peer(void *arg, const char *agent, bool up, const ab_peer *peer)
{
    fixture *f = arg;
    (void)agent;
    (void)peer;
    *(up ? &f->ups : &f->downs) += 1;
}

static void set_up(fixture *f)
{
    *f = (fixture){0};
    withdrawn = 0;
    ab_unconnected_open(&f->u, NULL);
    ab_kafka *k = &f->u.kafka;
    f->link = f->u.link;
    k->base.env.events = (ab_transport_events){.on_peer = on_peer, .arg = f};
    k->withdraw = withdraw;
    (void)snprintf(k->instance, sizeof(k->instance), "us");
    ab_link_init(&k->ask_soon);
    ab_link_init(&k->ask_later);
    ab_offsets_init(&f->link->in.offsets, END);
    f->link->in.group = &f->group;
    f->link->in.end = END;
    f->link->phase = AB_LINK_READY;
    f->link->log_id = LOG;
    f->link->peer.hello_in_flight = true;
}

static void tear_down(fixture *f)
{
    ab_link_remove(&f->link->ask_at);
    ab_unconnected_close(&f->u);
}

/* What a hello says, beside that it is whole. */
typedef struct {
    const char *instance;
    const char *heard;   /* of us; NULL: ours */
    const char *refused; /* NULL: not */
    uint64_t epoch;
    int64_t sent;
    int64_t lost;
    bool leaving;
} saying;

static ab_event *event_of(const saying *s)
{
    ab_hello hello = {.mode = "managed",
                      .version = "1",
                      .epoch = s->epoch,
                      .leaving = s->leaving,
                      .certificate = ""};
    (void)snprintf(hello.instance, sizeof(hello.instance), "%s", s->instance);
    ab_buf data;
    ab_buf_init(&data, AB_HELLO_MAX);
    cJSON *doc = cJSON_CreateObject();
    bool complete = ab_hello_write(&hello, doc) && ab_doc_add_i64(doc, "interval_ms", 1000) &&
                    ab_doc_add_i64(doc, "sent", s->sent) && ab_doc_add_i64(doc, "lost", s->lost) &&
                    ab_doc_add_bool(doc, "whole", true) &&
                    ab_doc_add_str(doc, "handshake", ab_str_of(s->instance)) &&
                    ab_doc_add_str(doc, "heard", ab_str_of(s->heard == NULL ? OURS : s->heard)) &&
                    (s->refused == NULL || ab_doc_add_str(doc, "refused", ab_str_of(s->refused)));
    assert_int_equal(ab_doc_finish(doc, complete, &data), AB_ERR_OK);
    ab_event_draft draft = {.data = ab_buf_str(&data)};
    ab_event *event = NULL;
    assert_int_equal(ab_hello_event(&hello, "peer", &draft, &event), AB_ERR_OK);
    ab_buf_fini(&data);
    return event;
}

static void hear_late(fixture *f, const saying *said, int64_t age_ms)
{
    ab_event *hello = event_of(said);
    assert_int_equal(ab_kafka_presence_hear(f->link, hello, age_ms, NULL), AB_ERR_OK);
    ab_event_unref(hello);
}

static void hear(fixture *f, const saying *said)
{
    hear_late(f, said, 0);
}

static void a_peer_goes_when_it_says_so_itself(void **state)
{
    const saying here = {.instance = "a", .epoch = 2, .sent = -1};
    const saying other_leaves = {.instance = "b", .epoch = 3, .sent = -1, .leaving = true};
    const saying leaves = {.instance = "a", .epoch = 2, .sent = -1, .leaving = true};
    (void)state;
    fixture f;
    set_up(&f);
    hear(&f, &here);
    assert_int_equal(f.ups, 1);
    hear(&f, &other_leaves);
    assert_int_equal(f.downs, 0);
    hear(&f, &leaves);
    assert_int_equal(f.downs, 1);
    assert_string_equal(f.link->peer.handshake, ""); /* it is to send its certificate again */
    tear_down(&f);
}

static void a_hello_of_long_ago_says_nothing_of_now(void **state)
{
    const saying here = {.instance = "a", .epoch = 2, .sent = 1};
    const saying before = {.instance = "a", .epoch = 2, .sent = 0};
    (void)state;
    fixture f;
    set_up(&f);
    hear(&f, &here);
    hear_late(&f, &before, LATE);
    assert_int_equal(f.link->peer.sent, 1);
    hear_late(&f, &before, LATE - 1);
    assert_int_equal(f.link->peer.sent, 0);
    tear_down(&f);
}

static void a_log_that_the_peer_finds_replaced_is_looked_at(void **state)
{
    const saying well = {.instance = "a", .epoch = 2, .sent = -1};
    const saying former = {.instance = "a", .epoch = 2, .sent = -1, .lost = LOG - 1};
    const saying lost = {.instance = "a", .epoch = 2, .sent = -1, .lost = LOG};
    (void)state;
    fixture f;
    set_up(&f);
    hear(&f, &well);
    hear(&f, &former);
    assert_int_equal(withdrawn, 0);
    assert_false(f.link->lost_out);
    hear(&f, &lost);
    assert_int_equal(withdrawn, 1);
    assert_true(f.link->lost_out);
    tear_down(&f);
}

static bool is_looked_at_after(fixture *f, int64_t ms)
{
    const saying more = {.instance = "a", .epoch = 2, .sent = END};
    int before = withdrawn;
    f->link->phase = AB_LINK_READY;
    hear(f, &more);
    f->link->peer.sent_ms -= ms;
    hear(f, &more);
    f->link->peer.sent_ms += ms;
    return withdrawn > before;
}

/* Here is END, the first record that did not come, for a minute. */
static void a_log_that_ends_before_what_the_peer_has_written_is_looked_at(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    ab_kafka_inbox *in = &f.link->in;
    assert_false(is_looked_at_after(&f, CUT_MS / 2));
    in->paused = true;
    assert_false(is_looked_at_after(&f, CUT_MS));
    in->paused = false;
    in->caught_up_at = END;
    assert_false(is_looked_at_after(&f, CUT_MS));
    in->caught_up_at = -1;
    in->end = END - 1;
    assert_false(is_looked_at_after(&f, CUT_MS));
    in->end = END;
    in->cut_log = 1; /* it is known */
    assert_false(is_looked_at_after(&f, CUT_MS));
    in->cut_log = 0;
    assert_true(is_looked_at_after(&f, CUT_MS));
    ab_offsets_pass(&in->offsets, END + 1);
    in->end = END + 1;
    assert_false(is_looked_at_after(&f, CUT_MS));
    tear_down(&f);
}

/* It does not know our mode yet. */
static void a_principal_that_has_not_heard_us_neither_refuses_nor_accepts(void **state)
{
    const saying refuses = {.instance = "p", .epoch = 2, .sent = -1, .refused = "why"};
    const saying begins = {.instance = "q", .heard = "", .epoch = 3, .sent = -1};
    const saying accepts = {.instance = "q", .epoch = 3, .sent = -1};
    (void)state;
    fixture f;
    set_up(&f);
    f.u.kafka.settings.role = AB_ROLE_AGENT;
    hear(&f, &refuses);
    assert_true(ab_kafka_refusal_is_on(f.link));
    hear(&f, &begins);
    assert_true(ab_kafka_refusal_is_on(f.link));
    hear(&f, &accepts);
    assert_false(ab_kafka_refusal_is_on(f.link));
    tear_down(&f);
}

static void who_began_last_counts(void **state)
{
    const saying newer = {.instance = "b", .epoch = 3, .sent = -1};
    const saying older = {.instance = "a", .epoch = 2, .sent = -1};
    (void)state;
    fixture f;
    set_up(&f);
    hear(&f, &newer);
    hear(&f, &older);
    assert_string_equal(f.link->peer.instance, "b");
    assert_int_equal(f.ups, 1);
    const saying newest = {.instance = "c", .epoch = 4, .sent = -1};
    hear(&f, &newest);
    assert_string_equal(f.link->peer.instance, "c");
    assert_int_equal(f.downs, 1);
    assert_int_equal(f.ups, 2);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_goes_when_it_says_so_itself),
        cmocka_unit_test(a_hello_of_long_ago_says_nothing_of_now),
        cmocka_unit_test(a_log_that_the_peer_finds_replaced_is_looked_at),
        cmocka_unit_test(a_log_that_ends_before_what_the_peer_has_written_is_looked_at),
        cmocka_unit_test(a_principal_that_has_not_heard_us_neither_refuses_nor_accepts),
        cmocka_unit_test(who_began_last_counts),
    };
    return cmocka_run_group_tests_name("presence", tests, NULL, NULL);
}
