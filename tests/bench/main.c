/* SPDX-License-Identifier: Apache-2.0
 *
 * argobus-bench: every figure beside its limit, measured in the same run.
 */
#include "tests/bench/fleet/fleet.h"
#include "tests/bench/kube/kube.h"
#include "tests/bench/live/live.h"
#include "tests/bench/sync/core.h"
#include "tests/bench/sync/resync.h"
#include "tests/bench/sync/sync.h"
#include "tests/bench/transport/beside.h"
#include "tests/bench/transport/changes.h"
#include "tests/bench/transport/flow.h"
#include "tests/bench/transport/grpc.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS     3
#define ROUNDS_MAX 99
#define FLEETS     "100,300,1000"
#define WINDOW_S   20
#define WINDOW_MAX 600

typedef struct {
    const char *name;
    bool (*run)(const ab_bench_options *o);
    bool by_default;
    bool no_broker;
} bench_case;

static const bench_case cases[] = {
    {"raw", ab_bench_flow_raw, false, false}, /* transport measures it too */
    {"transport", ab_bench_flow_transport, true, false},
    {"transport.refused", ab_bench_refused, false, false},
    {"transport.silent", ab_bench_silent, false, true},
    {"grpc", ab_bench_grpc_all, true, true},
    {"grpc.flow", ab_bench_grpc_flow, false, true},
    {"grpc.latency", ab_bench_grpc_latency, false, true},
    {"grpc.idle", ab_bench_grpc_idle, false, true},
    {"grpc.reconnect", ab_bench_grpc_reconnect, false, true},
    {"grpc.large", ab_bench_grpc_large, false, true},
    {"sync", ab_bench_sync, true, false},
    {"sync.core", ab_bench_core, true, true},
    {"changes", ab_bench_changes, false, true},
    {"resync", ab_bench_resync, true, false},
    {"resync.absence", ab_bench_resync_absence, false, false},
    {"resync.unchanged", ab_bench_resync_unchanged, false, false},
    {"resync.fleet", ab_bench_resync_fleet, false, false}, /* needs an API server */
    {"idle", ab_bench_idle, true, false},
    {"fleet", ab_bench_fleet_kafka, false, false},
    {"fleet.grpc", ab_bench_fleet_grpc, false, true},
    {"live", ab_bench_live_kafka, false, false}, /* needs API servers, as what follows */
    {"live.grpc", ab_bench_live_grpc, false, true},
    {"kube", ab_bench_kube, false, false},
    {"kube.create", ab_bench_kube_create, false, false},
    {"kube.status", ab_bench_kube_status, false, false},
    {"kube.change", ab_bench_kube_change, false, false},
    {"kube.catch-up", ab_bench_kube_catch_up, false, false},
    {"kube.slow", ab_bench_kube_slow, false, false},
    {"kube.memory", ab_bench_kube_memory, false, false},
    {"kube.restart", ab_bench_kube_restart, false, false},
};

static int usage(FILE *out, int code)
{
    fprintf(
        out,
        "usage: argobus-bench [--broker HOST:PORT] [--hub KUBECONFIG --spoke KUBECONFIG]\n"
        "                     [--grpc-go PROGRAM] [--json] [--rounds N]\n"
        "                     [--agents N,...] [--seconds N] [CASE...]\n"
        "\n"
        "  raw        librdkafka alone\n"
        "  transport  our transport without stores, against raw\n"
        "  transport.refused, transport.silent  whether agents wait for one whose topic takes\n"
        "             nothing, or cannot be read; the second one needs no broker\n"
        "  grpc       the gRPC transport without stores, against its layer alone and grpc-go\n"
        "             (PROGRAM: tests/support/grpc/grpc-go), or one case of it: grpc.flow,\n"
        "             grpc.latency, grpc.idle, grpc.reconnect, grpc.large; these need no broker\n"
        "  sync       store to store with the real programs, against writing the same files\n"
        "  sync.core  the principal's sync core alone, with 100 to 3,000 agents; needs no broker\n"
        "  changes    what the principal's account of pending changes costs; needs no broker\n"
        "  resync     an agent that was away for a day, a resync without changes, and, where an\n"
        "             API server is given, 100 agents at once; or one case of it:\n"
        "             resync.absence, resync.unchanged, resync.fleet\n"
        "  idle       memory of one principal and ten agents with 1,000 Applications\n"
        "  fleet, fleet.grpc\n"
        "             a principal and N agents with 50 Applications each, over Kafka or gRPC: "
        "start,\n"
        "             idle, changes, resync, restart, and agents that are noisy, slow or dead;\n"
        "             --agents says which N (%s), --seconds how long each window\n"
        "             is (%d). fleet.grpc needs no broker\n"
        "  live, live.grpc\n"
        "             an agent's API, redis and terminals through the principal, over Kafka or\n"
        "             gRPC, against these alone; two API servers and redis-server are needed,\n"
        "             and kubelet-dev at the second one\n"
        "  kube       everything between two API servers, or one case of it: kube.create,\n"
        "             kube.status, kube.change, kube.catch-up, kube.slow, kube.memory,\n"
        "             kube.restart\n"
        "\n"
        "Without a CASE: transport, grpc, sync, sync.core, resync and idle, and kube where API "
        "servers are "
        "given. "
        "docs/benchmark.md explains the figures.\n"
        "The broker may also be given as ARGOBUS_BENCH_BROKER. Topics named bench-* stay\n"
        "behind on it. Applications in the namespaces argocd, bare and w0 to w99 of the two\n"
        "API servers are deleted. --rounds is how often raw, transport, grpc, kube.create\n"
        "and kube.status run (%d).\n",
        FLEETS, WINDOW_S, ROUNDS);
    return code;
}

static const bench_case *find_case(const char *name)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(cases[i].name, name) == 0)
            return &cases[i];
    return NULL;
}

static bool run_defaults(const ab_bench_options *o)
{
    bool ok = true;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (cases[i].by_default)
            ok = cases[i].run(o) && ok;
    return o->hub == NULL ? ok : ab_bench_kube(o) && ok;
}

static bool run_named(const ab_bench_options *o, char *const *names)
{
    bool ok = true;
    for (; *names != NULL; names++)
        ok = find_case(*names)->run(o) && ok;
    return ok;
}

/* The daemons are beside us. */
static bool find_programs(char out[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (n <= 0)
        return false;
    out[n] = '\0';
    char *slash = strrchr(out, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return true;
}

static bool take_count(const char *text, unsigned max, unsigned *out)
{
    char *rest = NULL;
    unsigned long n = strtoul(text, &rest, 10);
    if (*text == '\0' || *rest != '\0' || n < 1 || n > max)
        return false;
    *out = (unsigned)n;
    return true;
}

/* @return -1 to go on, else the exit code */
static int take_options(int argc, char **argv, ab_bench_options *o)
{
    static const struct option options[] = {
        {"broker", required_argument, NULL, 'b'}, {"hub", required_argument, NULL, 'u'},
        {"spoke", required_argument, NULL, 's'},  {"grpc-go", required_argument, NULL, 'g'},
        {"json", no_argument, NULL, 'j'},         {"rounds", required_argument, NULL, 'r'},
        {"agents", required_argument, NULL, 'n'}, {"seconds", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
    };
    int c = 0;
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (c == 'b')
            o->broker = optarg;
        else if (c == 'u')
            o->hub = optarg;
        else if (c == 's')
            o->spoke = optarg;
        else if (c == 'g')
            o->grpc_go = optarg;
        else if (c == 'j')
            o->format = AB_BENCH_JSON;
        else if (c == 'n')
            o->agents = optarg;
        else if (c == 't' && take_count(optarg, WINDOW_MAX, &o->seconds))
            continue;
        else if (c == 'h')
            return usage(stdout, 0);
        else if (c != 'r' || !take_count(optarg, ROUNDS_MAX, &o->rounds))
            return usage(stderr, 2);
    }
    bool needs_broker = optind == argc;
    for (int i = optind; i < argc; i++) {
        const bench_case *found = find_case(argv[i]);
        if (found == NULL)
            return usage(stderr, 2);
        needs_broker = needs_broker || !found->no_broker;
    }
    bool has_broker = o->broker != NULL && o->broker[0] != '\0';
    return needs_broker && !has_broker ? usage(stderr, 2) : -1;
}

int main(int argc, char **argv)
{
    char programs[PATH_MAX];
    const char *given = getenv("ARGOBUS_BENCH_BROKER");
    char *broker = given == NULL ? NULL : strdup(given);
    ab_bench_options o = {.broker = broker,
                          .rounds = ROUNDS,
                          .programs = programs,
                          .agents = FLEETS,
                          .seconds = WINDOW_S};
    /* The daemons would take it for an option of theirs that they do not know. */
    (void)unsetenv("ARGOBUS_BENCH_BROKER");
    int code = take_options(argc, argv, &o);
    if (code >= 0)
        return code;
    if (!find_programs(programs)) {
        fprintf(stderr, "argobus-bench: cannot tell where it is\n");
        return 1;
    }
    ab_bench_report_begin(o.format);
    bool ok = optind < argc ? run_named(&o, argv + optind) : run_defaults(&o);
    free(broker);
    return ok ? 0 : 1;
}
