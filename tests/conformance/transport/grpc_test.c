/* SPDX-License-Identifier: Apache-2.0
 *
 * The gRPC transport put to the test on this machine's loopback: without TLS and with passwords,
 * or, given the argument "tls", with certificates both ways; given "websocket", over WebSockets.
 */
#include "tests/conformance/transport/grpc_intruder.h"
#include "tests/conformance/transport/suite.h"

#include "auth/auth.h"
#include "transport/grpc/grpc.h"

#include <arpa/inet.h>
#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define EVENT_MAX   (1024 * 1024)
#define LARGE       1000000
#define LARGE_COUNT 40
/* Of the password "secret". */
#define HASH "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"

typedef struct {
    char folder[64]; /* of the password files */
    int port;        /* of the principal */
} way;

static bool with_tls;
static bool with_websockets;

/* One that nobody has; another may take it before we do, which is rare enough. */
static int free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
              getsockname(fd, (struct sockaddr *)&at, &len) == 0;
    assert(ok);
    (void)ok;
    close(fd);
    return ntohs(at.sin_port);
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert(f != NULL);
    fputs(text, f);
    fclose(f);
}

static void open_way(ab_ends *ends)
{
    way *w = calloc(1, sizeof(*w));
    assert(w != NULL);
    ends->state = w;
    snprintf(w->folder, sizeof(w->folder), "/tmp/argobus-test-grpc-XXXXXX");
    char *folder = mkdtemp(w->folder);
    assert(folder != NULL);
    write_file(folder, "principal", "w1:" HASH "\nw2:" HASH "\nw10:" HASH "\n");
    write_file(folder, "w1", "w1:secret\n");
    write_file(folder, "w2", "w2:secret\n");
    write_file(folder, "w10", "w10:secret\n");
    w->port = free_port();
    ab_ends_set(ends, "grpc.listen=127.0.0.1:%d", w->port);
    ab_ends_set(ends, "grpc.address=localhost:%d", w->port);
    ab_ends_set(ends, "grpc.message-max=%d", EVENT_MAX);
    if (with_tls) {
        ab_ends_set(ends, "grpc.tls.ca=%s/ca.crt", getenv("AB_GRPC_CERTS"));
        return;
    }
    ab_ends_set(ends, "grpc.insecure=true");
    ab_ends_set(ends, "grpc.websocket=%s", with_websockets ? "true" : "false");
    ab_ends_set(ends, "grpc.auth.method=userpass");
    ab_ends_set(ends, "grpc.auth.accept=userpass");
}

static void before_end(ab_ends *ends, const char *name)
{
    const way *w = ends->state;
    const char *certs = getenv("AB_GRPC_CERTS");
    if (with_tls) {
        const char *own = name[0] == '\0' ? "server" : name;
        ab_ends_set(ends, "grpc.tls.cert=%s/%s.crt", certs, own);
        ab_ends_set(ends, "grpc.tls.key=%s/%s.key", certs, own);
    } else {
        ab_ends_set(ends, "grpc.auth.userpass.file=%s/%s", w->folder,
                    name[0] == '\0' ? "principal" : name);
    }
}

static void close_way(ab_ends *ends)
{
    way *w = ends->state;
    const char *const names[] = {"principal", "w1", "w2", "w10"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", w->folder, names[i]);
        unlink(path);
    }
    rmdir(w->folder);
    free(w);
}

static const ab_transport_ops *ops(ab_ends *ends)
{
    (void)ends;
    return &ab_grpc_transport;
}

/* Sends the next large event, if one is taken now. @return true, for AB_UNTIL */
static bool push(ab_end *agent, unsigned *sent)
{
    static const char filler[LARGE] = {' '};
    char key[16];
    snprintf(key, sizeof(key), "app/%u", *sent);
    const ab_draft draft = {.key = key, .version = *sent + 1, .data = {filler, sizeof(filler)}};
    if (*sent < LARGE_COUNT && ab_end_send(agent, NULL, &draft, NULL) == AB_ERR_OK)
        ++*sent;
    return true;
}

/* However much each agent may have unacknowledged, one has a quarter of what all have together. */
static void no_agent_fills_what_the_principal_keeps_of_all(void **state)
{
    enum { FIT = 16, MORE = 4, OTHERS = 50 }; /* of 64 MiB */
    ab_ends *ends = *state;
    unsigned sent = 0;
    ab_ends_set(ends, "grpc.queue=64MiB");
    ab_end *principal = ab_end_principal(ends, "w1,w2");
    ab_end *large = ab_end_agent(ends, "w1");
    ab_end *other = ab_end_agent(ends, "w2");
    AB_UNTIL(ends, ab_end_peer_of(large, "w1")->ready && ab_end_peer_of(other, "w2")->ready);
    principal->keep = true;
    AB_UNTIL(ends, push(large, &sent) && principal->receipt_count >= FIT);
    for (unsigned n = 1; n <= OTHERS; n++) {
        char key[16];
        snprintf(key, sizeof(key), "other/%u", n);
        ab_end_put(other, NULL, key, n);
        AB_UNTIL(ends, push(large, &sent) && ab_end_count(principal, key) == 1);
    }
    assert_true(principal->receipt_count <= FIT + MORE + OTHERS);
    principal->keep = false;
    for (size_t i = 0, count = principal->receipt_count; i < count; i++)
        ab_end_ack(principal, i, AB_VERDICT_APPLIED);
    AB_UNTIL(ends, push(large, &sent) && principal->receipt_count == LARGE_COUNT + OTHERS);
}

/* The agent reads no further on the stream than its queue goes; the call for live events it does.
 */
static void live_events_pass_a_stream_that_is_paused(void **state)
{
    ab_ends *ends = *state;
    unsigned sent = 0;
    ab_ends_set(ends, "grpc.queue=256KiB");
    ab_end *principal = ab_end_principal(ends, "w1");
    principal->keep = true;
    ab_ends_set(ends, "grpc.queue=64MiB");
    ab_end *agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(agent, "w1")->ready && ab_end_peer_of(principal, "w1")->up);
    AB_UNTIL(ends, push(agent, &sent) && sent >= 3 && principal->receipt_count == 1);
    for (size_t n = 1; n <= 3; n++) {
        assert_int_equal(ab_end_live(agent, NULL, "live", 60000, NULL), AB_ERR_OK);
        AB_UNTIL(ends, ab_end_count(principal, "live") == n);
    }
    assert_int_equal(principal->receipt_count, 4);
}

/* A clock that a test may move. */
static int64_t moved_ms;

static int64_t mono_ms(void *arg)
{
    (void)arg;
    return ab_clock_mono_ms(&ab_clock_real) + moved_ms;
}

static int64_t wall_us(void *arg)
{
    (void)arg;
    return ab_clock_wall_us(&ab_clock_real) + moved_ms * 1000;
}

/* The token of the login has expired: the stream goes on, a call needs another. */
static void live_events_pass_long_after_the_login(void **state)
{
    static const ab_clock moved = {mono_ms, wall_us, NULL};
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ends->clock = &moved;
    ab_ends_set(ends, "grpc.auth.token.access=10s");
    ab_ends_pair(ends, &principal, &agent);
    moved_ms += 15000;
    ab_sending sending = {0};
    assert_int_equal(ab_end_live(principal, "w1", "1", 60000, &sending), AB_ERR_OK);
    AB_UNTIL(ends, sending.finished == 1);
    assert_int_equal(sending.code, AB_ERR_OK);
    AB_UNTIL(ends, ab_end_count(agent, "1") == 1);
    assert_int_equal(ab_end_peer_of(agent, "w1")->downs, 0);
}

static void a_call_for_live_events_is_for_the_process_that_has_the_stream(void **state)
{
    ab_ends *ends = *state;
    if (with_tls || with_websockets)
        skip();
    int port = ((way *)ends->state)->port;
    const ab_grpc_intruder stranger = {port, NULL, "x"};
    const ab_grpc_intruder without_stream = {port, "w2", "x"};
    const ab_grpc_intruder second = {port, "w1", "x"};
    const ab_grpc_intruder mute = {port, "w1", NULL};
    const ab_grpc_intruder not_served = {port, "w10", "x"};
    ab_end *principal = ab_end_principal(ends, "w1,w2");
    ab_end *agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->up && ab_end_peer_of(agent, "w1")->up);
    assert_int_equal(ab_end_live(principal, "w1", "1", 60000, NULL), AB_ERR_OK);
    AB_UNTIL(ends, ab_end_count(agent, "1") == 1);
    assert_int_equal(ab_grpc_intrude(ends, &stranger), AB_RPC_UNAUTHENTICATED);
    assert_int_equal(ab_grpc_intrude(ends, &without_stream), AB_RPC_FAILED_PRECONDITION);
    assert_int_equal(ab_grpc_intrude(ends, &second), AB_RPC_FAILED_PRECONDITION);
    assert_int_equal(ab_grpc_intrude(ends, &mute), AB_RPC_FAILED_PRECONDITION);
    assert_int_equal(ab_grpc_intrude(ends, &not_served), AB_RPC_FAILED_PRECONDITION);
    assert_int_equal(ab_end_live(principal, "w1", "2", 60000, NULL), AB_ERR_OK);
    AB_UNTIL(ends, ab_end_count(agent, "2") == 1);
}

int main(int argc, char **argv)
{
    with_tls = argc > 1 && strcmp(argv[1], "tls") == 0;
    with_websockets = argc > 1 && strcmp(argv[1], "websocket") == 0;
    const ab_options tables[] = {ab_transport_options, ab_grpc_options, ab_auth_options};
    ab_ends_fixture grpc = {
        .name = with_tls          ? "grpc over tls"
                : with_websockets ? "grpc over websockets"
                                  : "grpc",
        .event_max = EVENT_MAX,
        .small_queue = "grpc.queue=256KiB",
        .tables = tables,
        .table_count = 3,
        .open = open_way,
        .close = close_way,
        .before = before_end,
        .ops = ops,
    };
    int only = with_tls || with_websockets ? 2 : 1;
    const struct CMUnitTest own[] = {
        cmocka_unit_test_prestate_setup_teardown(no_agent_fills_what_the_principal_keeps_of_all,
                                                 ab_ends_setup, ab_ends_teardown, &grpc),
        cmocka_unit_test_prestate_setup_teardown(
            a_call_for_live_events_is_for_the_process_that_has_the_stream, ab_ends_setup,
            ab_ends_teardown, &grpc),
        cmocka_unit_test_prestate_setup_teardown(live_events_pass_long_after_the_login,
                                                 ab_ends_setup, ab_ends_teardown, &grpc),
        cmocka_unit_test_prestate_setup_teardown(live_events_pass_a_stream_that_is_paused,
                                                 ab_ends_setup, ab_ends_teardown, &grpc),
    };
    int failed = ab_suite_run(&grpc, argc > only ? argv[only] : NULL);
    return failed + cmocka_run_group_tests_name("grpc", own, NULL, NULL);
}
