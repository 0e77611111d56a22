/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conformance/transport/suite_priv.h"

#include "schema/attributes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_ready(ab_end *end, const char *agent)
{
    return ab_end_peer_of(end, agent)->ready > 0;
}

static bool has_version(const ab_end *end, const char *key, uint64_t version)
{
    const ab_receipt *r = ab_end_newest(end, "w1", key);
    return r != NULL && r->version == version;
}

/* Where the first receipt of this key and version stands; fails when it never came. */
static size_t place_of(const ab_end *end, const char *key, uint64_t version)
{
    for (size_t i = 0; i < end->receipt_count; i++) {
        if (strcmp(end->receipts[i].key, key) == 0 && end->receipts[i].version == version)
            return i;
    }
    fail_msg("%s version %d never came", key, (int)version);
    return 0;
}

/* Sent with `key/<n>`, which makes n keys. */
static void put_numbered(ab_end *end, const char *agent, const char *key, unsigned n,
                         uint64_t version)
{
    char name[64];
    snprintf(name, sizeof(name), "%s/%u", key, n);
    ab_end_put(end, agent, name, version);
}

/* Order */

static void versions_of_a_key_arrive_in_order_and_the_newest_last(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    for (uint64_t version = 1; version <= 10; version++) {
        for (unsigned n = 0; n < 5; n++)
            put_numbered(principal, "w1", "app", n, version);
    }
    ab_end_put(principal, "w1", "end", 1);
    AB_UNTIL(ends, ab_end_count(agent, "end") == 1);
    for (unsigned n = 0; n < 5; n++) {
        char key[64];
        snprintf(key, sizeof(key), "app/%u", n);
        uint64_t last = 0;
        for (size_t i = 0; i < agent->receipt_count; i++) {
            if (strcmp(agent->receipts[i].key, key) != 0)
                continue;
            assert_true(agent->receipts[i].version > last);
            last = agent->receipts[i].version;
        }
        assert_int_equal(last, 10);
    }
}

static void commands_each_arrive_after_the_state_sent_before_them(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    for (unsigned n = 1; n <= 20; n++) {
        ab_end_put(principal, "w1", "app/a", n);
        put_numbered(principal, "w1", "cmd", n, n);
    }
    AB_UNTIL(ends, ab_end_count(agent, "cmd/20") == 1);
    assert_true(place_of(agent, "app/a", 20) < place_of(agent, "cmd/20", 20));
    uint64_t seen = 0;
    for (size_t i = 0; i < agent->receipt_count; i++) {
        const ab_receipt *r = &agent->receipts[i];
        if (strncmp(r->key, "cmd/", 4) == 0)
            assert_int_equal(r->version, ++seen);
        else if (strcmp(r->key, "app/a") == 0)
            assert_true(r->version > seen);
    }
    assert_int_equal(seen, 20);
}

static void an_agent_sends_up_as_the_principal_sends_down(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_end_put(agent, NULL, "app/a", 1);
    ab_end_put(agent, NULL, "app/b", 2);
    AB_UNTIL(ends, ab_end_count(principal, "app/b") == 1);
    assert_true(place_of(principal, "app/a", 1) < place_of(principal, "app/b", 2));
    assert_string_equal(principal->receipts[0].agent, "w1");
    assert_int_equal(principal->receipts[0].epoch, ab_end_peer_of(agent, "w1")->epoch);
}

/* Content */

static void assert_same_event(const ab_event *sent, const ab_event *got)
{
    for (size_t i = 0; i < ab_event_attr_count(sent); i++) {
        ab_attr attr = ab_event_attr_at(sent, i);
        char name[AB_EVENT_ATTR_NAME_MAX + 1] = {0};
        memcpy(name, attr.name.ptr, attr.name.len);
        ab_str value = ab_event_attr(got, name);
        if (!ab_str_eq(value, attr.value))
            fail_msg("%s: sent \"%.*s\", got \"%.*s\"", name, AB_STR_ARG(attr.value),
                     AB_STR_ARG(value));
    }
    assert_int_equal(ab_event_attr_count(got), ab_event_attr_count(sent));
    assert_true(ab_str_eq(ab_event_data(got), ab_event_data(sent)));
}

static ab_event *event_with(const ab_end *end, const char *key, ab_str data)
{
    ab_event_draft d = {0};
    ab_event_set_text(&d, AB_CE_ID, "id with spaces, \"quotes\" and 100%");
    char own[96];
    ab_event_set_text(&d, AB_CE_SOURCE, ab_end_source(end, own));
    ab_event_set_text(&d, AB_CE_TYPE, "a.type.nobody.knows");
    ab_event_set_text(&d, AB_CE_SUBJECT,
                      "gr\xc3\xbc\xc3\x9f"
                      "e/\xe2\x82\xac");
    ab_event_set_text(&d, AB_CE_TIME, "2026-01-02T03:04:05.678901Z");
    ab_event_set_text(&d, AB_CE_DATACONTENTTYPE, "application/octet-stream");
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, key);
    ab_event_set_u64(&d, AB_CE_WRITEREPOCH, UINT64_MAX - 1);
    ab_event_set_u64(&d, AB_CE_OBJVERSION, UINT64_MAX);
    ab_event_set_text(&d, "unknownext", "kept");
    d.data = data;
    ab_event *event = NULL;
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    return event;
}

static void attributes_and_payload_survive_to_the_byte(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    size_t size = 100000;
    char *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(i * 7 + i / 256);
    const ab_str data[] = {{bytes, size}, AB_STR(""), AB_STR_NONE};
    const char *const keys[] = {"app/bytes", "app/empty", "app/none"};
    ab_event *sent[3];
    for (size_t i = 0; i < 3; i++) {
        sent[i] = event_with(principal, keys[i], data[i]);
        assert_int_equal(ab_end_send_event(principal, "w1", AB_LANE_STATE, sent[i], 0, NULL),
                         AB_ERR_OK);
    }
    AB_UNTIL(ends, ab_end_count(agent, NULL) == 3);
    for (size_t i = 0; i < 3; i++) {
        assert_same_event(sent[i], ab_end_newest(agent, "w1", keys[i])->event);
        ab_event_unref(sent[i]);
    }
    free(bytes);
}

static void an_event_over_the_limit_is_refused_and_holds_nothing_up(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    size_t size = ends->fixture->event_max + 1;
    char *bytes = malloc(size);
    assert_non_null(bytes);
    /* Not compressible, so that no transport makes it fit. */
    uint32_t random = 1;
    for (size_t i = 0; i < size; i++) {
        random = random * 1664525u + 1013904223u;
        bytes[i] = (char)(random >> 24);
    }
    ab_sending big = {0};
    const ab_draft draft = {.key = "app/big", .version = 1, .data = {bytes, size}};
    assert_int_equal(ab_end_send(principal, "w1", &draft, &big), AB_ERR_OK);
    free(bytes);
    ab_end_put(principal, "w1", "app/small", 1);
    AB_UNTIL(ends, ab_end_count(agent, "app/small") == 1 && big.finished == 1);
    assert_int_equal(big.code, AB_ERR_TOOBIG);
    assert_int_equal(ab_end_count(agent, "app/big"), 0);
}

/* Acknowledgement */

static void what_was_not_acknowledged_comes_again_after_a_restart(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    agent->keep = true;
    for (unsigned n = 1; n <= 4; n++)
        put_numbered(principal, "w1", "cmd", n, n);
    AB_UNTIL(ends, ab_end_count(agent, NULL) == 4);
    ab_end_ack(agent, 2, AB_VERDICT_APPLIED);
    ab_end_ack(agent, 0, AB_VERDICT_APPLIED);
    ab_end_stop(agent);
    agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_count(agent, "cmd/4") == 1);
    assert_int_equal(ab_end_count(agent, "cmd/1"), 0);
    assert_true(place_of(agent, "cmd/2", 2) < place_of(agent, "cmd/4", 4));
}

static void what_was_acknowledged_does_not_come_again(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    agent->keep = true;
    for (unsigned n = 1; n <= 4; n++)
        put_numbered(agent, NULL, "status", n, n);
    principal->keep = true;
    AB_UNTIL(ends, ab_end_count(principal, NULL) == 4);
    const size_t order[] = {3, 1, 0, 2};
    for (size_t i = 0; i < 4; i++)
        ab_end_ack(principal, order[i], AB_VERDICT_APPLIED);
    ab_end_stop(principal);
    principal = ab_end_principal(ends, "w1");
    AB_UNTIL(ends, ab_end_try_put(agent, NULL, "status/5", 5));
    AB_UNTIL(ends, ab_end_count(principal, NULL) > 0);
    assert_string_equal(principal->receipts[0].key, "status/5");
}

static void what_was_returned_comes_again_after_a_restart(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    agent->keep = true;
    for (unsigned n = 1; n <= 3; n++)
        put_numbered(principal, "w1", "cmd", n, n);
    AB_UNTIL(ends, ab_end_count(agent, NULL) == 3);
    ab_end_ack(agent, 0, AB_VERDICT_APPLIED);
    ab_end_ack(agent, 1, AB_VERDICT_RETURNED);
    ab_end_ack(agent, 2, AB_VERDICT_APPLIED);
    ab_end_stop(agent);
    agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_count(agent, "cmd/2") == 1);
    assert_int_equal(ab_end_count(agent, "cmd/1"), 0);
}

static void an_agent_that_was_away_finds_the_newest_of_each_key(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_end_put(principal, "w1", "app/gone", 1);
    AB_UNTIL(ends, ab_end_count(agent, "app/gone") == 1);
    ab_end_stop(agent);
    const ab_draft gone = {.key = "app/gone", .version = 2};
    assert_int_equal(ab_end_send(principal, "w1", &gone, NULL), AB_ERR_OK);
    for (unsigned version = 1; version <= 5; version++)
        ab_end_put(principal, "w1", "app/a", version);
    put_numbered(principal, "w1", "cmd", 1, 1);
    agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends,
             ab_end_count(agent, "cmd/1") == 1 && ab_end_peer_of(agent, "w1")->caught_up == 1);
    assert_true(has_version(agent, "app/a", 5));
    assert_true(has_version(agent, "app/gone", 2));
    assert_true(ab_end_newest(agent, "w1", "app/gone")->tombstone);
}

/* Gaps */

static void first_contact_is_a_gap_and_a_restart_is_none(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_end_put(principal, "w1", "app/a", 1);
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1 &&
                       ab_end_peer_of(agent, "w1")->caught_up == 1 &&
                       ab_end_peer_of(principal, "w1")->caught_up == 1);
    assert_int_equal(ab_end_peer_of(agent, "w1")->gaps[AB_GAP_FIRST], 1);
    assert_int_equal(ab_end_peer_of(principal, "w1")->gaps[AB_GAP_FIRST], 1);
    ab_end_stop(agent);
    agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(agent, "w1")->caught_up == 1);
    assert_int_equal(agent->receipt_count, 0);
    /* Without a log, a new process is a first contact for both. */
    int more = ab_ends_can(ends, AB_CAP_DURABLE) ? 0 : 1;
    assert_int_equal(ab_end_peer_of(agent, "w1")->gaps[AB_GAP_FIRST], more);
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->gaps[AB_GAP_FIRST] == 1 + more);
    assert_int_equal(ab_end_peer_of(agent, "w1")->gaps[AB_GAP_RECREATED], 0);
}

static void an_end_that_lost_its_memory_gets_everything_again(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_end_put(principal, "w1", "app/a", 1);
    ab_end_put(principal, "w1", "app/b", 1);
    AB_UNTIL(ends, ab_end_count(agent, "app/b") == 1);
    ab_end_stop(agent);
    ends->replay = true;
    agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(agent, "w1")->caught_up == 1);
    assert_int_equal(ab_end_peer_of(agent, "w1")->gaps[AB_GAP_FIRST], 1);
    if (ab_ends_can(ends, AB_CAP_DURABLE))
        assert_true(has_version(agent, "app/a", 1) && has_version(agent, "app/b", 1));
    else /* the writer is told, who has it */
        AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->gaps[AB_GAP_RECREATED] == 1 &&
                           ab_end_peer_of(principal, "w1")->ready == 2);
}

/* Reading back */

static const ab_head *head_of(ab_end *end, const char *key)
{
    ab_end_peer *peer = ab_end_peer_of(end, "w1");
    for (size_t i = 0; i < peer->head_count; i++) {
        if (strcmp(peer->heads[i].key, key) == 0)
            return &peer->heads[i];
    }
    return NULL;
}

static void assert_head(ab_end *end, const char *key, uint64_t epoch, uint64_t version)
{
    const ab_head *head = head_of(end, key);
    assert_non_null(head);
    assert_int_equal(head->epoch, epoch);
    assert_int_equal(head->version, version);
    assert_false(head->has_data);
}

/* Sends a1 b1 a2 c1, ends c, waits until all is safe, and returns the epoch it was sent under. */
static uint64_t write_some(ab_ends *ends, ab_end *end, const char *agent)
{
    const ab_draft drafts[] = {
        {.key = "app/a", .version = 1, .data = AB_STR("1")},
        {.key = "app/b", .version = 1, .data = AB_STR("1")},
        {.key = "app/a", .version = 2, .data = AB_STR("2")},
        {.key = "app/c", .version = 1, .data = AB_STR("1")},
        {.key = "app/c", .version = 2},
    };
    ab_sending sendings[5] = {0};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(ab_end_send(end, agent, &drafts[i], &sendings[i]), AB_ERR_OK);
    for (size_t i = 0; i < 5; i++) {
        AB_UNTIL(ends, sendings[i].finished == 1);
        assert_int_equal(sendings[i].code, AB_ERR_OK);
    }
    return ab_end_peer_of(end, "w1")->epoch;
}

static void assert_read_back(ab_end *end, uint64_t epoch)
{
    assert_head(end, "app/a", epoch, 2);
    assert_head(end, "app/b", epoch, 1);
    assert_null(head_of(end, "app/c"));
    assert_int_equal(ab_end_peer_of(end, "w1")->head_count, 2);
    assert_true(ab_end_peer_of(end, "w1")->epoch > epoch);
}

static void a_restarted_principal_reads_back_what_it_wrote(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    if (!ab_ends_can(ends, AB_CAP_LOG_REPLAY))
        skip();
    ab_ends_pair(ends, &principal, &agent);
    assert_int_equal(ab_end_peer_of(principal, "w1")->head_count, 0);
    /* Nobody reads, so the tombstone stays. */
    ab_end_stop(agent);
    uint64_t epoch = write_some(ends, principal, "w1");
    ab_end_stop(principal);
    principal = ab_end_principal(ends, "w1");
    AB_UNTIL(ends, is_ready(principal, "w1"));
    assert_read_back(principal, epoch);
}

static void a_restarted_agent_reads_back_what_it_wrote(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    if (!ab_ends_can(ends, AB_CAP_LOG_REPLAY))
        skip();
    ab_ends_pair(ends, &principal, &agent);
    ab_end_stop(principal);
    uint64_t epoch = write_some(ends, agent, NULL);
    ab_end_stop(agent);
    agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, is_ready(agent, "w1"));
    assert_read_back(agent, epoch);
}

/* Back-pressure */

static void deliveries_pause_at_the_cap_and_nothing_is_lost(void **state)
{
    ab_ends *ends = *state;
    ab_ends_set(ends, "transport.inflight=4");
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    agent->keep = true;
    for (unsigned n = 0; n < 20; n++)
        put_numbered(principal, "w1", "cmd", n, n + 1);
    for (size_t n = 0; n < 20; n++) {
        AB_UNTIL(ends, agent->receipt_count > n);
        assert_int_equal(agent->receipts[n].version, n + 1);
        if (n % 4 == 3) {
            for (size_t i = n - 3; i <= n; i++)
                ab_end_ack(agent, i, AB_VERDICT_APPLIED);
        }
    }
    assert_int_equal(ab_end_peer_of(agent, "w1")->most_open, 4);
}

static void a_full_queue_says_so_and_says_when_there_is_room(void **state)
{
    ab_ends *ends = *state;
    if (ends->fixture->small_queue != NULL)
        ab_ends_set(ends, "%s", ends->fixture->small_queue);
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    unsigned accepted = ab_end_fill(principal, "w1", 1024, NULL);
    assert_int_equal(ab_end_peer_of(principal, "w1")->writable, 0);
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->writable > 0);
    put_numbered(principal, "w1", "cmd", accepted, accepted + 1);
    AB_UNTIL(ends, ab_end_count(agent, NULL) == accepted + 1);
    for (unsigned n = 0; n <= accepted; n++)
        assert_int_equal(agent->receipts[n].version, n + 1);
}

/* Presence */

static void a_peer_that_goes_and_returns_is_seen(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_end_peer *seen = ab_end_peer_of(principal, "w1");
    assert_string_equal(seen->mode, "managed");
    assert_string_equal(seen->version, AB_VERSION);
    AB_UNTIL(ends, seen->peer_epoch == ab_end_peer_of(agent, "w1")->epoch);
    uint64_t epoch = seen->peer_epoch;
    ab_end_stop(agent);
    AB_UNTIL(ends, !seen->up);
    assert_int_equal(seen->downs, 1);
    ab_end_put(principal, "w1", "app/a", 1);
    agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, seen->up && has_version(agent, "app/a", 1));
    AB_UNTIL(ends, seen->peer_epoch > epoch);
}

static void an_agent_sees_its_principal_go_and_return(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_end_peer *seen = ab_end_peer_of(agent, "w1");
    assert_string_equal(seen->mode, "");
    ab_end_stop(principal);
    AB_UNTIL(ends, !seen->up);
    principal = ab_end_principal(ends, "w1");
    AB_UNTIL(ends, ab_end_try_put(agent, NULL, "app/a", 1));
    AB_UNTIL(ends, seen->up && has_version(principal, "app/a", 1));
}

/* Life cycle */

static void nothing_is_taken_before_ready(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = ab_end_principal(ends, "w1");
    ab_end *agent = ab_end_agent(ends, "w1");
    const ab_draft draft = {.key = "app/a", .version = 1, .data = AB_STR("1")};
    ab_sending sending = {0};
    assert_int_equal(ab_end_send(principal, "w1", &draft, &sending), AB_ERR_UNAVAILABLE);
    assert_int_equal(ab_end_send(agent, NULL, &draft, &sending), AB_ERR_UNAVAILABLE);
    AB_UNTIL(ends, is_ready(principal, "w1") && is_ready(agent, "w1"));
    assert_int_equal(sending.finished, 0);
    ab_buf why;
    ab_buf_init(&why, 1024);
    assert_true(ab_transport_ready(principal->transport, &why));
    assert_true(ab_transport_ready(agent->transport, &why));
    ab_buf_fini(&why);
}

static void only_known_agents_with_proper_names_are_served(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = ab_end_principal(ends, "w1");
    ab_transport *t = principal->transport;
    assert_int_equal(ab_transport_add_agent(t, "w1", NULL), AB_ERR_EXISTS);
    assert_int_equal(ab_transport_add_agent(t, "W_1", NULL), AB_ERR_INVALID);
    assert_int_equal(ab_transport_add_agent(t, "w1.x", NULL), AB_ERR_INVALID);
    assert_int_equal(ab_transport_add_agent(t, "", NULL), AB_ERR_INVALID);
    const ab_draft draft = {.key = "app/a", .version = 1, .data = AB_STR("1")};
    assert_int_equal(ab_end_send(principal, "w2", &draft, NULL), AB_ERR_NOTFOUND);
    ab_transport_remove_agent(t, "w2");
}

/* What an agent said in a log that was replaced meanwhile, it says again. */
static bool put_in_newest_log(ab_end *agent, const char *key, ab_sending *sending, int *ready)
{
    bool under_way = sending->accepted == AB_ERR_OK && sending->finished == 0;
    int newest = ab_end_peer_of(agent, agent->name)->ready;
    if (newest != *ready && !under_way) {
        *sending = (ab_sending){.accepted = AB_ERR_UNAVAILABLE};
        *ready = newest;
    }
    return ab_end_put_until_safe(agent, NULL, key, 1, sending);
}

static void agents_come_and_leave_while_running(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_end *second = ab_end_agent(ends, "w2");
    assert_int_equal(ab_transport_add_agent(principal->transport, "w2", NULL), AB_ERR_OK);
    AB_UNTIL(ends, is_ready(principal, "w2") && is_ready(second, "w2"));
    principal->keep = true;
    ab_end_put(principal, "w2", "app/a", 1);
    ab_end_put(second, NULL, "app/b", 1);
    AB_UNTIL(ends, ab_end_newest(second, "w2", "app/a") != NULL &&
                       ab_end_newest(principal, "w2", "app/b") != NULL);
    ab_transport_remove_agent(principal->transport, "w2");
    const ab_draft draft = {.key = "app/a", .version = 2, .data = AB_STR("1")};
    assert_int_equal(ab_end_send(principal, "w2", &draft, NULL), AB_ERR_NOTFOUND);
    ab_end_ack(principal, 0, AB_VERDICT_APPLIED);
    principal->keep = false;
    ab_end_put(second, NULL, "app/c", 1);
    ab_end_put(agent, NULL, "app/c", 1);
    AB_UNTIL(ends, ab_end_newest(principal, "w1", "app/c") != NULL);
    assert_null(ab_end_newest(principal, "w2", "app/c"));
    assert_int_equal(ab_transport_add_agent(principal->transport, "w2", NULL), AB_ERR_OK);
    ab_sending up = {.accepted = AB_ERR_UNAVAILABLE};
    int ready = 0;
    AB_UNTIL(ends, put_in_newest_log(second, "app/d", &up, &ready) &&
                       ab_end_newest(principal, "w2", "app/d") != NULL);
}

static void an_agent_that_was_gone_for_good_begins_with_new_logs(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_end_put(principal, "w1", "app/a", 1);
    ab_end_put(agent, NULL, "app/b", 1);
    AB_UNTIL(ends, has_version(agent, "app/a", 1) && has_version(principal, "app/b", 1));
    uint64_t epoch = ab_end_peer_of(principal, "w1")->epoch;
    principal->keep = true;
    ab_end_put(agent, NULL, "app/open", 1);
    AB_UNTIL(ends, has_version(principal, "app/open", 1));
    size_t open = principal->receipt_count - 1;
    ab_transport_remove_agent(principal->transport, "w1");
    ab_end_ack(principal, open, AB_VERDICT_APPLIED);
    principal->keep = false;
    /* It notices, if not at once. */
    AB_UNTIL(ends, ab_end_says(agent, "") || ab_end_peer_of(agent, "w1")->gaps[AB_GAP_RECREATED]);
    assert_int_equal(ab_transport_add_agent(principal->transport, "w1", NULL), AB_ERR_OK);
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->ready == 2 &&
                       ab_end_peer_of(agent, "w1")->ready >= 2);
    assert_true(ab_end_peer_of(agent, "w1")->gaps[AB_GAP_RECREATED] > 0);
    assert_int_equal(ab_end_peer_of(principal, "w1")->head_count, 0);
    assert_true(ab_end_peer_of(principal, "w1")->epoch > epoch);
    ab_sending down = {.accepted = AB_ERR_UNAVAILABLE};
    AB_UNTIL(ends, ab_end_put_until_safe(principal, "w1", "app/a", 2, &down));
    ab_sending up = {.accepted = AB_ERR_UNAVAILABLE};
    AB_UNTIL(ends, ab_end_put_until_safe(agent, NULL, "app/b", 2, &up));
    AB_UNTIL(ends, has_version(agent, "app/a", 2) && has_version(principal, "app/b", 2));
}

static void every_send_finishes_once_when_closed_in_flight(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    enum { COUNT = 30 };
    ab_sending sendings[COUNT] = {0};
    char key[64];
    for (unsigned n = 0; n < COUNT; n++) {
        snprintf(key, sizeof(key), "cmd/%u", n);
        const ab_draft draft = {.key = key, .version = n + 1, .data = AB_STR("1")};
        assert_int_equal(ab_end_send(principal, "w1", &draft, &sendings[n]), AB_ERR_OK);
    }
    ab_transport_close(principal->transport);
    const ab_draft late = {.key = "app/late", .version = 1, .data = AB_STR("1")};
    assert_int_equal(ab_end_send(principal, "w1", &late, NULL), AB_ERR_CLOSED);
    ab_end_stop(principal);
    size_t safe = 0;
    for (size_t n = 0; n < COUNT; n++) {
        assert_int_equal(sendings[n].finished, 1);
        assert_true(ab_err_class_of(sendings[n].code) != AB_CLASS_PERMANENT);
        safe += sendings[n].code == AB_ERR_OK ? 1 : 0;
    }
    AB_UNTIL(ends, agent->receipt_count >= safe);
    for (size_t n = 0; n < COUNT; n++) {
        snprintf(key, sizeof(key), "cmd/%zu", n);
        if (sendings[n].code == AB_ERR_OK)
            assert_int_equal(ab_end_count(agent, key), 1);
    }
}

static void deliveries_may_be_acknowledged_after_close(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    agent->keep = true;
    put_numbered(principal, "w1", "cmd", 1, 1);
    put_numbered(principal, "w1", "cmd", 2, 2);
    AB_UNTIL(ends, agent->receipt_count == 2);
    ab_transport_close(agent->transport);
    ab_end_ack(agent, 0, AB_VERDICT_APPLIED);
    ab_end_stop(agent);
    agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, agent->receipt_count > 0);
    assert_string_equal(agent->receipts[0].key, "cmd/2");
}

/* Identity */

static void an_event_that_names_another_source_is_refused(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    const ab_draft forged = {
        .source = AB_SOURCE_AGENT "w2", .key = "app/forged", .version = 1, .data = AB_STR("1")};
    assert_int_equal(ab_end_send(agent, NULL, &forged, NULL), AB_ERR_OK);
    ab_end_put(agent, NULL, "app/honest", 1);
    AB_UNTIL(ends, ab_end_count(principal, "app/honest") == 1);
    assert_int_equal(ab_end_count(principal, "app/forged"), 0);
    assert_int_equal((int)ab_end_refused(principal, "source"), 1);
    ab_end_stop(principal);
    principal = ab_end_principal(ends, "w1");
    AB_UNTIL(ends, ab_end_try_put(agent, NULL, "app/next", 1));
    AB_UNTIL(ends, ab_end_count(principal, "app/next") == 1);
    assert_int_equal(ab_end_count(principal, NULL), 1);
}

static void agents_do_not_mix(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = ab_end_principal(ends, "w1,w10,w2");
    const char *const names[] = {"w1", "w10", "w2"};
    ab_end *agents[3];
    for (size_t i = 0; i < 3; i++) {
        agents[i] = ab_end_agent(ends, names[i]);
        AB_UNTIL(ends, is_ready(principal, names[i]) && is_ready(agents[i], names[i]));
    }
    for (size_t i = 0; i < 3; i++) {
        ab_end_put(principal, names[i], "app/a", i + 1);
        ab_end_put(agents[i], NULL, "app/b", i + 1);
    }
    AB_UNTIL(ends, ab_end_count(principal, NULL) == 3);
    for (size_t i = 0; i < 3; i++) {
        AB_UNTIL(ends, ab_end_count(agents[i], NULL) == 1);
        assert_int_equal(agents[i]->receipts[0].version, i + 1);
        assert_int_equal(ab_end_newest(principal, names[i], "app/b")->version, i + 1);
    }
}

/* The live lane */

static void live_events_pass_both_ways(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_ends_pass_live(ends, principal, "w1", agent, "request");
    assert_int_equal(agent->receipts[0].lane, AB_LANE_LIVE);
    ab_ends_pass_live(ends, agent, NULL, principal, "reply");
    assert_int_equal(principal->receipts[0].lane, AB_LANE_LIVE);
}

static void a_live_event_to_nobody_finishes_and_never_arrives(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_end_stop(agent);
    ab_sending sending = {0};
    assert_int_equal(ab_end_live(principal, "w1", "lost", 200, &sending), AB_ERR_OK);
    AB_UNTIL(ends, sending.finished == 1);
    assert_true(sending.code == AB_ERR_OK || sending.code == AB_ERR_UNAVAILABLE ||
                sending.code == AB_ERR_TIMEOUT);
    AB_UNTIL(ends, !ab_end_peer_of(principal, "w1")->up);
    agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->up && ab_end_peer_of(agent, "w1")->up);
    ab_ends_pass_live(ends, principal, "w1", agent, "found");
    assert_int_equal(ab_end_count(agent, "lost"), 0);
}

static void a_live_event_is_not_replayed_after_a_restart(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    agent->keep = true;
    ab_ends_pass_live(ends, principal, "w1", agent, "once");
    ab_end_stop(agent);
    AB_UNTIL(ends, !ab_end_peer_of(principal, "w1")->up);
    agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->up && ab_end_peer_of(agent, "w1")->up);
    ab_end_put(principal, "w1", "app/a", 1);
    ab_ends_pass_live(ends, principal, "w1", agent, "again");
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1);
    assert_int_equal(ab_end_count(agent, "once"), 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, ab_ends_setup, ab_ends_teardown)

int ab_suite_run(const ab_ends_fixture *fixture, const char *only)
{
    struct CMUnitTest tests[] = {
        CASE(versions_of_a_key_arrive_in_order_and_the_newest_last),
        CASE(commands_each_arrive_after_the_state_sent_before_them),
        CASE(an_agent_sends_up_as_the_principal_sends_down),
        CASE(attributes_and_payload_survive_to_the_byte),
        CASE(an_event_over_the_limit_is_refused_and_holds_nothing_up),
        CASE(what_was_not_acknowledged_comes_again_after_a_restart),
        CASE(what_was_acknowledged_does_not_come_again),
        CASE(what_was_returned_comes_again_after_a_restart),
        CASE(an_agent_that_was_away_finds_the_newest_of_each_key),
        CASE(first_contact_is_a_gap_and_a_restart_is_none),
        CASE(an_end_that_lost_its_memory_gets_everything_again),
        CASE(a_restarted_principal_reads_back_what_it_wrote),
        CASE(a_restarted_agent_reads_back_what_it_wrote),
        CASE(deliveries_pause_at_the_cap_and_nothing_is_lost),
        CASE(a_full_queue_says_so_and_says_when_there_is_room),
        CASE(a_peer_that_goes_and_returns_is_seen),
        CASE(an_agent_sees_its_principal_go_and_return),
        CASE(nothing_is_taken_before_ready),
        CASE(only_known_agents_with_proper_names_are_served),
        CASE(agents_come_and_leave_while_running),
        CASE(an_agent_that_was_gone_for_good_begins_with_new_logs),
        CASE(every_send_finishes_once_when_closed_in_flight),
        CASE(deliveries_may_be_acknowledged_after_close),
        CASE(an_event_that_names_another_source_is_refused),
        CASE(agents_do_not_mix),
        CASE(live_events_pass_both_ways),
        CASE(a_live_event_to_nobody_finishes_and_never_arrives),
        CASE(a_live_event_is_not_replayed_after_a_restart),
    };
    if (only != NULL)
        cmocka_set_test_filter(only);
    int failed =
        ab_suite_run_group(fixture, fixture->name, tests, sizeof(tests) / sizeof(tests[0]));
    failed += ab_suite_live(fixture);
    return failed + ab_suite_pending(fixture);
}
