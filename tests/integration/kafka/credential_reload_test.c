/* SPDX-License-Identifier: Apache-2.0
 *
 * Certificates that are renewed while the transport runs: what is dialled afterwards is dialled
 * with the new ones, nothing is lost, and files that cannot be used change nothing.
 */
#include "tests/conformance/transport/kafka_fixture.h"

#include "base/core/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define REMOVED 500

static char folder[64];

static int issue_certificates(void **state)
{
    (void)state;
    ab_broker_run("cert admin");
    ab_broker_run("cert stranger");
    return 0;
}

static int set_up(void **state)
{
    snprintf(folder, sizeof(folder), "/tmp/argobus-renewal-XXXXXX");
    assert_non_null(mkdtemp(folder));
    return ab_ends_setup(state);
}

static const char *path_of(const char *kind, char out[96])
{
    snprintf(out, 96, "%s/mine.%s", folder, kind);
    return out;
}

static int tear_down(void **state)
{
    char path[96];
    int rc = ab_ends_teardown(state);
    (void)unlink(path_of("crt", path));
    (void)unlink(path_of("key", path));
    (void)unlink(path_of("ca", path));
    return rmdir(folder) == 0 ? rc : -1;
}

static void put_text(const char *kind, const char *text)
{
    char path[96];
    path_of(kind, path);
    assert_int_equal(ab_file_replace(path, ab_str_of(text), NULL), AB_ERR_OK);
}

static void put_file(const char *kind, const char *broker_file)
{
    char from[512];
    char text[16384];
    ab_broker_file(broker_file, from);
    FILE *f = fopen(from, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    text[n] = '\0';
    assert_int_equal(fclose(f), 0);
    put_text(kind, text);
}

static void put_certificate(const char *user)
{
    char name[64];
    snprintf(name, sizeof(name), "tls/%s.key", user);
    put_file("key", name);
    snprintf(name, sizeof(name), "tls/%s.crt", user);
    put_file("crt", name);
}

/* Ends that start from now on dial the listener that asks for a certificate. */
static void use_files(ab_ends *ends)
{
    char address[32];
    char path[96];
    ab_broker_address("tls", address);
    ab_ends_set(ends, "kafka.brokers=%s", address);
    ab_ends_set(ends, "kafka.insecure=false");
    ab_ends_set(ends, "kafka.tls.ca=%s", path_of("ca", path));
    ab_ends_set(ends, "kafka.tls.cert=%s", path_of("crt", path));
    ab_ends_set(ends, "kafka.tls.key=%s", path_of("key", path));
    ab_ends_set(ends, "transport.heartbeat=20s"); /* no peer is lost, however slow the broker is */
    put_file("ca", "tls/ca.crt");
}

static void the_renewed_certificate_is_dialled_with(void **state)
{
    ab_ends *ends = *state;
    put_certificate("stranger"); /* whom no ACL allows anything */
    ab_kafka_make_topics(ends, "w1");
    use_files(ends);
    ab_end *agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_says(agent, "is not visible") || ab_end_says(agent, "uthoriz"));
    put_certificate("admin");
    AB_UNTIL(ends, ab_end_peer_of(agent, "w1")->ready == 1);
}

static double renewals(const ab_end *end)
{
    return ab_metric_value(ab_metric_get(end->metrics, AB_METRIC_COUNTER,
                                         "argobus_kafka_renewals_total", "", NULL, 0));
}

/* Events are sent one by one, each after the one before it has arrived, until all connections of
 * the sender have been made anew. */
static void send_across(ab_ends *ends, ab_end *from, ab_end *to, const char *agent)
{
    double before = renewals(from);
    char key[32];
    int count = 0;
    while (count < 20 || renewals(from) == before) {
        ab_sending sending = {.accepted = AB_ERR_UNAVAILABLE};
        snprintf(key, sizeof(key), "app/%d", ++count);
        if (count == 10)
            put_certificate("admin");
        AB_UNTIL(ends, ab_end_put_until_safe(from, agent, key, (uint64_t)count, &sending) &&
                           ab_end_count(to, key) >= 1);
    }
}

static void assert_no_gap(ab_end *end)
{
    const ab_end_peer *peer = ab_end_peer_of(end, "w1");
    assert_int_equal(peer->gaps[AB_GAP_EXPIRED] + peer->gaps[AB_GAP_RECREATED], 0);
    assert_true(peer->gaps[AB_GAP_FIRST] <= 1);
    assert_int_equal(peer->ready, 1);
    assert_int_equal(peer->downs, 0);
}

static void what_is_sent_across_a_credential_reload_arrives(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal, *agent;
    put_certificate("admin");
    use_files(ends);
    ab_ends_pair(ends, &principal, &agent);
    send_across(ends, principal, agent, "w1");
    send_across(ends, agent, principal, NULL);
    /* Certificate and key, or both replacements, may have been seen at once. */
    AB_UNTIL(ends, renewals(principal) >= 2 && renewals(agent) >= 1);
    assert_no_gap(principal);
    assert_no_gap(agent);
}

static void deliveries_that_are_open_at_a_credential_reload_are_not_delivered_again(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal, *agent;
    put_certificate("admin");
    use_files(ends);
    ab_ends_pair(ends, &principal, &agent);
    agent->keep = true;
    ab_end_put(principal, "w1", "app/a", 1);
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1);
    put_certificate("admin");
    AB_UNTIL(ends, renewals(principal) >= 1 && renewals(agent) >= 1);
    ab_sending sending = {.accepted = AB_ERR_UNAVAILABLE};
    AB_UNTIL(ends, ab_end_put_until_safe(principal, "w1", "app/b", 2, &sending));
    AB_UNTIL(ends, ab_end_count(agent, "app/b") == 1);
    assert_int_equal(ab_end_count(agent, "app/a"), 1);
    ab_end_stop(agent); /* with both unacknowledged */
    agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1 && ab_end_count(agent, "app/b") == 1);
}

static void files_that_cannot_be_used_change_nothing(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal, *agent;
    ab_ends_capture_log(ends);
    put_certificate("admin");
    use_files(ends);
    ab_ends_pair(ends, &principal, &agent);
    put_text("crt", "this is no certificate\n");
    AB_UNTIL(ends, ab_ends_logged(ends, "still using the previous ones"));
    ab_end_put(principal, "w1", "app/a", 1);
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1);
    assert_no_gap(agent);
}

/* Each would be kept by librdkafka for ever. */
static void many_agents_that_are_removed_are_forgotten(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal, *agent;
    ab_ends_pair(ends, &principal, &agent);
    for (int i = 0; i < REMOVED; i++) {
        char name[32];
        ab_error err = {0};
        snprintf(name, sizeof(name), "gone-%d", i);
        assert_int_equal(ab_transport_add_agent(principal->transport, name, &err), AB_ERR_OK);
        (void)ab_transport_remove_agent(principal->transport, name);
    }
    AB_UNTIL(ends, renewals(principal) == 1);
    ab_sending sending = {.accepted = AB_ERR_UNAVAILABLE};
    AB_UNTIL(ends, ab_end_put_until_safe(principal, "w1", "app/a", 1, &sending));
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1);
    assert_no_gap(principal);
    assert_int_equal((int)renewals(principal), 1);
}

#define CASE(f) cmocka_unit_test_prestate_setup_teardown(f, set_up, tear_down, &kafka)

int main(int argc, char **argv)
{
    ab_kafka_fixture kafka;
    ab_kafka_fixture_init(&kafka);
    const struct CMUnitTest tests[] = {
        CASE(the_renewed_certificate_is_dialled_with),
        CASE(what_is_sent_across_a_credential_reload_arrives),
        CASE(deliveries_that_are_open_at_a_credential_reload_are_not_delivered_again),
        CASE(files_that_cannot_be_used_change_nothing),
        CASE(many_agents_that_are_removed_are_forgotten),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("renewal", tests, issue_certificates, NULL);
}
