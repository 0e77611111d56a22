/* SPDX-License-Identifier: Apache-2.0
 *
 * Logging in to a broker that asks who we are, and the few ACLs that an agent needs: with them
 * everything works, and nothing of another agent's can be read or written. What is wrong is said in
 * words that lead to the cause.
 */
#include "tests/conformance/transport/kafka_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* SCRAM of older ones is refused by brokers since Kafka 4.0: they send the nonce wrongly. */
#define SCRAM_REPAIRED 0x020601ff

static int issue_certificates(void **state)
{
    (void)state;
    ab_broker_run("cert w1");
    ab_broker_run("cert principal");
    return 0;
}

/* The ACLs of an agent, as deploy/kafka/provision gives them. */
static void allow_agent(const ab_ends *ends, const char *agent)
{
    rd_kafka_t *admin = ab_kafka_admin(ends);
    char name[AB_KAFKA_TOPIC_MAX];
    char rest[128];
    snprintf(rest, sizeof(rest), "down.%s.", agent);
    ab_kafka_topic_name(ends, rest, name);
    ab_broker_allow(admin, agent, RD_KAFKA_ACL_OPERATION_READ, RD_KAFKA_RESOURCE_TOPIC, name);
    snprintf(rest, sizeof(rest), "up.%s.", agent);
    ab_kafka_topic_name(ends, rest, name);
    ab_broker_allow(admin, agent, RD_KAFKA_ACL_OPERATION_READ, RD_KAFKA_RESOURCE_TOPIC, name);
    ab_broker_allow(admin, agent, RD_KAFKA_ACL_OPERATION_WRITE, RD_KAFKA_RESOURCE_TOPIC, name);
    snprintf(rest, sizeof(rest), "agent.%s", agent);
    ab_kafka_topic_name(ends, rest, name);
    ab_broker_allow(admin, agent, RD_KAFKA_ACL_OPERATION_READ, RD_KAFKA_RESOURCE_GROUP, name);
}

/* To read and keep the positions of agents, as deploy/kafka/provision allows it. */
static void allow_positions(const ab_ends *ends)
{
    char name[AB_KAFKA_TOPIC_MAX];
    ab_broker_allow(ab_kafka_admin(ends), "principal", RD_KAFKA_ACL_OPERATION_READ,
                    RD_KAFKA_RESOURCE_GROUP, ab_kafka_topic_name(ends, "agent.", name));
}

static void allow_principal(const ab_ends *ends)
{
    rd_kafka_t *admin = ab_kafka_admin(ends);
    char name[AB_KAFKA_TOPIC_MAX];
    ab_kafka_topic_name(ends, "", name);
    ab_broker_allow(admin, "principal", RD_KAFKA_ACL_OPERATION_READ, RD_KAFKA_RESOURCE_TOPIC, name);
    ab_broker_allow(admin, "principal", RD_KAFKA_ACL_OPERATION_WRITE, RD_KAFKA_RESOURCE_TOPIC,
                    name);
    ab_kafka_topic_name(ends, "principal", name);
    ab_broker_allow(admin, "principal", RD_KAFKA_ACL_OPERATION_READ, RD_KAFKA_RESOURCE_GROUP, name);
}

/* Ends that start from now on dial this listener and know its authority. */
static void use_listener(ab_ends *ends, const char *listener)
{
    char address[32];
    char ca[512];
    ab_broker_address(listener, address);
    ab_broker_file("tls/ca.crt", ca);
    ab_ends_set(ends, "kafka.brokers=%s", address);
    ab_ends_set(ends, "kafka.insecure=false");
    ab_ends_set(ends, "kafka.tls.ca=%s", ca);
    ab_ends_set(ends, "kafka.topics=verify");
}

static void use_certificate(ab_ends *ends, const char *user)
{
    char path[512];
    char name[64];
    snprintf(name, sizeof(name), "tls/%s.crt", user);
    ab_broker_file(name, path);
    ab_ends_set(ends, "kafka.tls.cert=%s", path);
    snprintf(name, sizeof(name), "tls/%s.key", user);
    ab_broker_file(name, path);
    ab_ends_set(ends, "kafka.tls.key=%s", path);
}

static void use_password(ab_ends *ends, const char *mechanism, const char *user,
                         const char *password)
{
    ab_ends_set(ends, "kafka.sasl.mechanism=%s", mechanism);
    ab_ends_set(ends, "kafka.sasl.username=%s", user);
    ab_ends_set(ends, "kafka.sasl.password=%s", password);
}

/* State and live events both ways, and a restart that reads back. */
static void assert_works(ab_ends *ends, ab_end *principal, ab_end *agent)
{
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->up && ab_end_peer_of(agent, "w1")->up);
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->ready && ab_end_peer_of(agent, "w1")->ready);
    ab_end_put(principal, "w1", "app/a", 1);
    ab_end_put(agent, NULL, "app/b", 1);
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1 && ab_end_count(principal, "app/b") == 1);
    ab_ends_pass_live(ends, principal, "w1", agent, "request");
    ab_ends_pass_live(ends, agent, NULL, principal, "reply");
    ab_end_stop(agent);
    agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(agent, "w1")->ready == 1);
    assert_int_equal(ab_end_peer_of(agent, "w1")->head_count, 1);
}

static const ab_pending *down_of(ab_end *principal)
{
    return ab_transport_pending(principal->transport, "w1", AB_DOWN);
}

static void certificates_and_the_acls_of_an_agent_are_enough(void **state)
{
    ab_ends *ends = *state;
    ab_kafka_make_topics(ends, "w1");
    allow_principal(ends);
    allow_positions(ends);
    allow_agent(ends, "w1");
    use_listener(ends, "tls");
    use_certificate(ends, "principal");
    ab_end *principal = ab_end_principal(ends, "w1");
    use_certificate(ends, "w1");
    ab_end *agent = ab_end_agent(ends, "w1");
    assert_works(ends, principal, agent);
    AB_UNTIL(ends, ab_pending_is_known(down_of(principal)));
    AB_UNTIL(ends, ab_pending_count(down_of(principal)) == 0);
}

static void positions_that_may_not_be_read_are_told_and_not_guessed(void **state)
{
    ab_ends *ends = *state;
    ab_ends_capture_log(ends);
    ab_kafka_make_topics(ends, "w1");
    allow_principal(ends);
    allow_agent(ends, "w1");
    use_listener(ends, "tls");
    use_certificate(ends, "principal");
    ab_end *principal = ab_end_principal(ends, "w1");
    use_certificate(ends, "w1");
    ab_end *agent = ab_end_agent(ends, "w1");
    assert_works(ends, principal, agent);
    AB_UNTIL(ends, ab_ends_logged(ends, "may not read an agent's position"));
    AB_UNTIL(ends, !ab_pending_is_written(down_of(principal)));
    assert_false(ab_pending_is_known(down_of(principal)));
    allow_positions(ends);
    ab_end_put(principal, "w1", "app/a", 2); /* it is asked for again with the next change */
    AB_UNTIL(ends, ab_pending_is_known(down_of(principal)));
    AB_UNTIL(ends, ab_pending_count(down_of(principal)) == 0);
}

static void names_and_passwords_do_the_same(void **state)
{
    ab_ends *ends = *state;
    ab_kafka_make_topics(ends, "w1");
    allow_principal(ends);
    allow_agent(ends, "w1");
    use_listener(ends, "sasl");
    use_password(ends, "PLAIN", "principal", "principal-secret");
    ab_end *principal = ab_end_principal(ends, "w1");
    use_password(ends, "PLAIN", "w1", "w1-secret");
    ab_end *agent = ab_end_agent(ends, "w1");
    assert_works(ends, principal, agent);
}

static void scram_logs_in(void **state)
{
    ab_ends *ends = *state;
    if (rd_kafka_version() < SCRAM_REPAIRED) {
        print_message("librdkafka %s cannot log in to this broker by SCRAM\n",
                      rd_kafka_version_str());
        skip();
    }
    ab_kafka_make_topics(ends, "w1");
    allow_agent(ends, "w1");
    use_listener(ends, "sasl");
    use_password(ends, "SCRAM-SHA-512", "w1", "w1-secret");
    ab_end *agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(agent, "w1")->ready == 1);
}

static void a_wrong_password_is_told_and_is_not_fatal(void **state)
{
    ab_ends *ends = *state;
    use_listener(ends, "sasl");
    use_password(ends, "PLAIN", "w1", "wrong");
    ab_end *agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_says(agent, "uthentication"));
    assert_int_equal(agent->fatal, 0);
}

static void an_agent_is_not_served_under_anothers_certificate(void **state)
{
    ab_ends *ends = *state;
    ab_kafka_make_topics(ends, "w10");
    allow_agent(ends, "w1");
    use_listener(ends, "tls");
    use_certificate(ends, "w1");
    ab_end *agent = ab_end_agent(ends, "w10");
    AB_UNTIL(ends, ab_end_says(agent, "is not visible") || ab_end_says(agent, "uthoriz"));
    assert_int_equal(ab_end_peer_of(agent, "w10")->ready, 0);
}

static bool is_there(ab_ends *ends, const char *topic)
{
    char name[AB_KAFKA_TOPIC_MAX];
    ab_kafka_topic_name(ends, topic, name);
    const struct rd_kafka_metadata *metadata = NULL;
    AB_UNTIL(ends, rd_kafka_metadata(ab_kafka_admin(ends), 1, NULL, &metadata, 10000) == 0);
    bool found = false;
    for (int i = 0; i < metadata->topic_cnt; i++)
        found = found || strcmp(metadata->topics[i].topic, name) == 0;
    rd_kafka_metadata_destroy(metadata);
    return found;
}

static void topics_that_may_not_be_deleted_are_told_and_tried_again(void **state)
{
    ab_ends *ends = *state;
    char prefix[AB_KAFKA_TOPIC_MAX];
    ab_kafka_make_topics(ends, "w1");
    ab_kafka_make_topics(ends, "w2");
    allow_principal(ends);
    use_listener(ends, "tls");
    use_certificate(ends, "principal");
    ab_ends_set(ends, "kafka.topics=create");
    ab_ends_capture_log(ends);
    ab_end *principal = ab_end_principal(ends, "w1,w2");
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->ready == 1 &&
                       ab_end_peer_of(principal, "w2")->ready == 1);
    ab_transport_remove_agent(principal->transport, "w1");
    AB_UNTIL(ends, ab_ends_logged(ends, "cannot delete the topics of a removed agent; retrying") &&
                       ab_ends_logged(ends, "Topic authorization failed"));
    assert_true(ab_ends_logged(ends, "deploy/kafka/provision remove w1"));
    assert_true(is_there(ends, "down.w1.state"));
    ab_kafka_topic_name(ends, "", prefix);
    ab_broker_allow(ab_kafka_admin(ends), "principal", RD_KAFKA_ACL_OPERATION_DELETE,
                    RD_KAFKA_RESOURCE_TOPIC, prefix);
    AB_UNTIL(ends, !is_there(ends, "down.w1.state") && !is_there(ends, "up.w1.live"));
    assert_true(is_there(ends, "down.w2.state"));
}

static void on_report(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
    (void)client;
    (void)opaque;
    rd_kafka_resp_err_t *outcome = message->_private;
    *outcome = message->err;
}

/* A plain client with w1's certificate: what somebody who has stolen it could use. */
static rd_kafka_t *client_of_w1(void)
{
    char address[32];
    char ca[512];
    char cert[512];
    char key[512];
    ab_broker_address("tls", address);
    ab_broker_file("tls/ca.crt", ca);
    ab_broker_file("tls/w1.crt", cert);
    ab_broker_file("tls/w1.key", key);
    const char *const settings[][2] = {
        {"bootstrap.servers", address}, {"security.protocol", "SSL"},
        {"ssl.ca.location", ca},        {"ssl.certificate.location", cert},
        {"ssl.key.location", key},      {"message.timeout.ms", "60000"},
    };
    char why[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        assert_int_equal(rd_kafka_conf_set(conf, settings[i][0], settings[i][1], why, sizeof(why)),
                         RD_KAFKA_CONF_OK);
    rd_kafka_conf_set_dr_msg_cb(conf, on_report);
    rd_kafka_t *client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof(why));
    assert_non_null(client);
    return client;
}

static bool may_see(rd_kafka_t *client, const char *topic)
{
    int64_t low = 0;
    int64_t high = 0;
    return rd_kafka_query_watermark_offsets(client, topic, 0, &low, &high, 60000) ==
           RD_KAFKA_RESP_ERR_NO_ERROR;
}

static bool may_write(rd_kafka_t *client, const char *topic)
{
    char value[] = "x";
    rd_kafka_resp_err_t outcome = RD_KAFKA_RESP_ERR__IN_PROGRESS;
    const rd_kafka_vu_t parts[] = {
        {.vtype = RD_KAFKA_VTYPE_TOPIC, .u.cstr = topic},
        {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = 0},
        {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {value, 1}},
        {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {value, 1}},
        {.vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = &outcome},
    };
    assert_null(rd_kafka_produceva(client, parts, sizeof(parts) / sizeof(parts[0])));
    assert_int_equal(rd_kafka_flush(client, 120000), RD_KAFKA_RESP_ERR_NO_ERROR);
    return outcome == RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void a_stolen_certificate_opens_only_its_own_agents_topics(void **state)
{
    ab_ends *ends = *state;
    char topic[AB_KAFKA_TOPIC_MAX];
    ab_kafka_make_topics(ends, "w1");
    ab_kafka_make_topics(ends, "w10");
    allow_agent(ends, "w1");
    allow_agent(ends, "w10");
    rd_kafka_t *client = client_of_w1();
    assert_true(may_see(client, ab_kafka_topic_name(ends, "down.w1.state", topic)));
    assert_false(may_write(client, topic));
    assert_true(may_write(client, ab_kafka_topic_name(ends, "up.w1.state", topic)));
    static const char *const others[] = {"down.w10.state", "up.w10.state", "down.w10.live",
                                         "up.w10.live"};
    for (size_t i = 0; i < 4; i++) {
        ab_kafka_topic_name(ends, others[i], topic);
        assert_false(may_see(client, topic));
        assert_false(may_write(client, topic));
    }
    rd_kafka_destroy(client);
}

static void who_has_no_right_learns_what_grants_it(void **state)
{
    ab_ends *ends = *state;
    ab_kafka_make_topics(ends, "w1");
    use_listener(ends, "tls");
    use_certificate(ends, "w1"); /* who has rights to no topic of this prefix */
    ab_end *agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_says(agent, "run deploy/kafka/provision agent w1"));
    ab_end *principal = ab_end_principal(ends, "w1");
    AB_UNTIL(ends, ab_end_says(principal, "run deploy/kafka/provision principal"));
}

static void allow_one(ab_ends *ends, rd_kafka_AclOperation_t operation,
                      rd_kafka_ResourceType_t type, const char *rest)
{
    char name[AB_KAFKA_TOPIC_MAX];
    ab_broker_allow(ab_kafka_admin(ends), "w1", operation, type,
                    ab_kafka_topic_name(ends, rest, name));
}

/* Agent w1, who may see all its topics. */
static ab_end *begin_with_few_rights(ab_ends *ends)
{
    ab_ends_capture_log(ends);
    ab_kafka_make_topics(ends, "w1");
    allow_one(ends, RD_KAFKA_ACL_OPERATION_DESCRIBE, RD_KAFKA_RESOURCE_TOPIC, "down.w1.");
    allow_one(ends, RD_KAFKA_ACL_OPERATION_READ, RD_KAFKA_RESOURCE_TOPIC, "up.w1.");
    use_listener(ends, "tls");
    use_certificate(ends, "w1");
    return ab_end_agent(ends, "w1");
}

/* Long enough for dozens of attempts, if they followed one another at once. */
#define ATTEMPTS_MS 5000

static void
who_may_see_a_topic_and_not_read_it_learns_so_and_does_not_ask_all_the_time(void **state)
{
    ab_ends *ends = *state;
    allow_principal(ends);
    allow_one(*state, RD_KAFKA_ACL_OPERATION_WRITE, RD_KAFKA_RESOURCE_TOPIC, "up.w1.");
    allow_one(*state, RD_KAFKA_ACL_OPERATION_READ, RD_KAFKA_RESOURCE_GROUP, "agent.w1");
    ab_end *agent = begin_with_few_rights(ends);
    AB_UNTIL(ends, ab_end_says(agent, "run deploy/kafka/provision agent w1"));
    int64_t until = ab_clock_mono_ms(&ab_clock_real) + ATTEMPTS_MS;
    AB_UNTIL(ends, ab_clock_mono_ms(&ab_clock_real) >= until);
    assert_true(ab_end_says(agent, "run deploy/kafka/provision agent w1"));
    assert_int_equal(ab_ends_logged(ends, "checking topics again"), 1);
    allow_agent(ends, "w1");
    use_certificate(ends, "principal");
    ab_end *principal = ab_end_principal(ends, "w1");
    use_certificate(ends, "w1");
    assert_works(ends, principal, agent);
}

static void who_may_not_write_learns_so_and_receives(void **state)
{
    ab_ends *ends = *state;
    allow_principal(ends);
    allow_one(ends, RD_KAFKA_ACL_OPERATION_READ, RD_KAFKA_RESOURCE_TOPIC, "down.w1.");
    allow_one(ends, RD_KAFKA_ACL_OPERATION_READ, RD_KAFKA_RESOURCE_GROUP, "agent.w1");
    ab_end *agent = begin_with_few_rights(ends);
    AB_UNTIL(ends, ab_ends_logged(ends, "up.w1.") > 0 &&
                       ab_ends_logged(ends, "run deploy/kafka/provision agent w1") > 0);
    allow_agent(ends, "w1");
    use_certificate(ends, "principal");
    ab_end *principal = ab_end_principal(ends, "w1");
    use_certificate(ends, "w1");
    assert_works(ends, principal, agent);
}

static void who_may_not_read_the_group_learns_which(void **state)
{
    ab_ends *ends = *state;
    allow_principal(ends);
    ab_end *agent = begin_with_few_rights(ends);
    AB_UNTIL(ends, ab_end_says(agent, "is the right Read of group"));
    allow_agent(ends, "w1");
    use_certificate(ends, "principal");
    ab_end *principal = ab_end_principal(ends, "w1");
    use_certificate(ends, "w1");
    assert_works(ends, principal, agent);
}

static void without_a_certificate_the_reason_is_told(void **state)
{
    ab_ends *ends = *state;
    use_listener(ends, "tls");
    ab_end *agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_says(agent, "cannot reach any broker: the broker refuses our certificate,"
                                      " or wants one and got none"));
    assert_int_equal(agent->fatal, 0);
}

static void a_broker_of_another_authority_is_not_trusted(void **state)
{
    ab_ends *ends = *state;
    char path[512];
    use_listener(ends, "tls");
    use_certificate(ends, "w1");
    ab_broker_file("tls/w1.crt", path);
    ab_ends_set(ends, "kafka.tls.ca=%s", path);
    ab_end *agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_says(agent, "SSL"));
    assert_int_equal(ab_end_peer_of(agent, "w1")->ready, 0);
}

/* What is wrong by itself is refused before anything starts. */
static void assert_refused(ab_ends *ends, const char *word)
{
    ab_end *end = NULL;
    ab_error err = {0};
    assert_int_equal(ab_end_try(ends, "w1", &end, &err), AB_ERR_CONFIG);
    if (strstr(err.text, word) == NULL)
        fail_msg("\"%s\" is not in: %s", word, err.text);
}

static void a_certificate_that_is_none_is_named(void **state)
{
    ab_ends *ends = *state;
    char path[512];
    use_listener(ends, "tls");
    use_certificate(ends, "w1");
    ab_broker_file("ports", path);
    ab_ends_set(ends, "kafka.tls.cert=%s", path);
    assert_refused(ends, "ssl.certificate.location");
}

static void an_authority_that_is_none_is_named(void **state)
{
    ab_ends *ends = *state;
    char path[512];
    use_listener(ends, "tls");
    ab_broker_file("ports", path);
    ab_ends_set(ends, "kafka.tls.ca=%s", path);
    assert_refused(ends, "ssl.ca.location");
}

static void a_key_of_another_certificate_is_told(void **state)
{
    ab_ends *ends = *state;
    char path[512];
    use_listener(ends, "tls");
    use_certificate(ends, "w1");
    ab_broker_file("tls/principal.key", path);
    ab_ends_set(ends, "kafka.tls.key=%s", path);
    assert_refused(ends, "ssl.key.location");
}

static void a_certificate_without_its_key_is_told(void **state)
{
    ab_ends *ends = *state;
    char path[512];
    use_listener(ends, "tls");
    ab_broker_file("tls/w1.crt", path);
    ab_ends_set(ends, "kafka.tls.cert=%s", path);
    assert_refused(ends, "kafka.tls.key");
}

static void a_login_without_its_password_is_told(void **state)
{
    ab_ends *ends = *state;
    use_listener(ends, "sasl");
    ab_ends_set(ends, "kafka.sasl.mechanism=PLAIN");
    ab_ends_set(ends, "kafka.sasl.username=w1");
    assert_refused(ends, "kafka.sasl.password");
}

static void settings_that_carry_a_promise_cannot_be_passed_through(void **state)
{
    static const char *const denied[] = {
        "enable.idempotence=false", "acks=1",        "enable.auto.commit=true",
        "auto.offset.reset=latest", "group.id=mine", "transactional.id=t"};
    for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++) {
        ab_ends *ends = ab_ends_open(((ab_ends *)*state)->fixture);
        ab_ends_set(ends, "kafka.librdkafka.%s", denied[i]);
        char key[64];
        snprintf(key, sizeof(key), "%.*s", (int)strcspn(denied[i], "="), denied[i]);
        assert_refused(ends, key);
        ab_ends_close(ends);
    }
}

static void settings_that_do_not_exist_are_named(void **state)
{
    ab_ends *ends = *state;
    ab_ends_set(ends, "kafka.librdkafka.socket.timeout.mss=5");
    assert_refused(ends, "socket.timeout.mss");
}

#define CASE(f) cmocka_unit_test_prestate_setup_teardown(f, ab_ends_setup, ab_ends_teardown, &kafka)

int main(int argc, char **argv)
{
    ab_kafka_fixture kafka;
    ab_kafka_fixture_init(&kafka);
    const struct CMUnitTest tests[] = {
        CASE(certificates_and_the_acls_of_an_agent_are_enough),
        CASE(positions_that_may_not_be_read_are_told_and_not_guessed),
        CASE(names_and_passwords_do_the_same),
        CASE(scram_logs_in),
        CASE(a_wrong_password_is_told_and_is_not_fatal),
        CASE(an_agent_is_not_served_under_anothers_certificate),
        CASE(topics_that_may_not_be_deleted_are_told_and_tried_again),
        CASE(a_stolen_certificate_opens_only_its_own_agents_topics),
        CASE(who_has_no_right_learns_what_grants_it),
        CASE(who_may_see_a_topic_and_not_read_it_learns_so_and_does_not_ask_all_the_time),
        CASE(who_may_not_write_learns_so_and_receives),
        CASE(who_may_not_read_the_group_learns_which),
        CASE(without_a_certificate_the_reason_is_told),
        CASE(a_broker_of_another_authority_is_not_trusted),
        CASE(a_certificate_that_is_none_is_named),
        CASE(an_authority_that_is_none_is_named),
        CASE(a_key_of_another_certificate_is_told),
        CASE(a_certificate_without_its_key_is_told),
        CASE(a_login_without_its_password_is_told),
        CASE(settings_that_carry_a_promise_cannot_be_passed_through),
        CASE(settings_that_do_not_exist_are_named),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("security", tests, issue_certificates, NULL);
}
