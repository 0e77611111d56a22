/* SPDX-License-Identifier: Apache-2.0
 *
 * For each N: the first agent and the last one in processes of their own, so that what is noisy and
 * what is dead shares nothing with the others but the principal and the machine; the others in a
 * few processes; the principal program with its objects in a file (hub_store.c). Looking
 * at it while it is measured would cost it something: what has come is read from memory that the
 * agents share, and from the principal's log.
 */
#include "tests/bench/fleet/fleet.h"

#include "tests/bench/base/certs.h"
#include "tests/bench/base/payload.h"
#include "tests/bench/base/steps.h"
#include "tests/bench/base/topics.h"
#include "tests/bench/fleet/agents.h"
#include "tests/bench/fleet/fleet_floor.h"
#include "tests/bench/fleet/fleet_load.h"
#include "tests/bench/fleet/fleet_wire.h"
#include "tests/bench/fleet/hub_file.h"
#include "tests/bench/fleet/server_side.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PRINCIPAL    (-1)
#define TURN         "argobus_loop_turn_max_seconds"
#define TURN_CPU     "argobus_loop_turn_cpu_max_seconds"
#define WAIT_MS      600000
#define LOOK_MS      5
#define SETTLE_MS    3000
#define PER_PROC     500 /* agents; descriptors of Kafka's handles are what is scarce */
#define PROCS_MAX    10
#define FLEETS_MAX   8
#define FEWEST       4 /* the noisy one, the dead one, and others */
#define NOISY        0 /* the slow one, too */
#define NOISY_PER_S  1000
#define BESIDE_PER_S 100
#define EXPONENT_MAX 1.1
#define CPU_LEAST_S  1e-3 /* less is noise */

/* What grows with N. */
enum { MEMORY, START_CPU, RESYNC_CPU, IDLE_CPU, GROWING };

typedef struct {
    const ab_bench_options *o;
    const char *prefix; /* of the rows: "fleet", "fleet.grpc" */
    unsigned agents;
    ab_bench_certs certs;
    ab_bench_site site;
    int hub, changes; /* hub_file.h */
    ab_bench_fleet_track *track;
    ab_bench_agents parts[PROCS_MAX];
    pid_t pids[PROCS_MAX];
    size_t procs;
    unsigned next_revision;
    double churn_p99_ms;
    double *grown; /* one for each of GROWING */
} fleet;

/* --- rows --- */

static ab_bench_row row_of(const fleet *f, const char *what, const char *unit, double value)
{
    ab_bench_row row = ab_bench_row_new("%s.%s.%u", f->prefix, what, f->agents);
    row.unit = unit;
    row.value = value;
    return row;
}

static void report_turn(const fleet *f, const char *what)
{
    static const char *const metrics[] = {TURN, TURN_CPU};
    double longest[] = {0, 0};
    char name[32];
    (void)snprintf(name, sizeof(name), "%s.turn", what);
    ab_bench_daemon_metrics(&f->site.principal, 2, metrics, longest);
    ab_bench_row row = row_of(f, name, "ms", 1e3 * longest[0]);
    row.cpu_s = longest[1];
    ab_bench_report(f->o->format, &row);
}

/* A phase of the principal's, measured from outside. */
typedef struct {
    const fleet *fleet;
    int64_t begun_ns;
    double cpu_s;
} meter;

static meter meter_begin(const fleet *f)
{
    pid_t pid = f->site.principal.pid;
    if (pid != 0)
        (void)ab_bench_daemon_metric(&f->site.principal, TURN); /* it counts from here */
    return (meter){f, ab_bench_now_ns(), pid == 0 ? 0 : ab_bench_cpu(pid)};
}

/* @return what is measured so far, as a row */
static ab_bench_row meter_end(const meter *m, const char *what)
{
    pid_t pid = m->fleet->site.principal.pid;
    ab_bench_row row = row_of(m->fleet, what, "s", (double)(ab_bench_now_ns() - m->begun_ns) / 1e9);
    row.cpu_s = ab_bench_cpu(pid) - m->cpu_s;
    row.rss_kib = ab_bench_memory(pid, "VmHWM");
    return row;
}

static void report(const fleet *f, const char *what, const ab_bench_row *row)
{
    ab_bench_report(f->o->format, row);
    report_turn(f, what);
}

/* --- the fleet --- */

static bool open_grpc(fleet *f, ab_bench_grpc_at *at)
{
    at->certs = f->certs.folder;
    at->port = ab_bench_free_port();
    return ab_bench_certs_open(&f->certs, f->agents);
}

/* An Application as the hub's first user made it. */
static bool put_one(const fleet *f, unsigned agent, unsigned app)
{
    char namespace[16], uid[32];
    ab_buf text;
    ab_span *content = NULL;
    (void)snprintf(namespace, sizeof(namespace), "w%u", agent);
    (void)snprintf(uid, sizeof(uid), "uid-%u-%u", agent, app);
    ab_buf_init(&text, 2 * AB_BENCH_HUB_BYTES);
    ab_bench_application(&text, app, 0, AB_BENCH_HUB_BYTES);
    if (ab_span_parse(ab_buf_str(&text), &content, NULL) != AB_ERR_OK)
        return false;
    unsigned slot = agent * AB_BENCH_FLEET_APPS + app;
    const ab_bench_server_side set = {
        .namespace = namespace, .uid = ab_str_of(uid), .version = slot + 1, .generation = 1};
    ab_object *object = ab_bench_server_compose(ab_span_root(content), &set);
    bool ok = ab_bench_hub_file_put(f->hub, slot, ab_span_raw(ab_object_json(object)));
    ab_object_unref(object);
    ab_span_free(content);
    ab_buf_fini(&text);
    return ok;
}

static bool put_all(fleet *f)
{
    bool ok = ab_bench_hub_file_open(f->site.principal.manifests, &f->hub, &f->changes);
    for (unsigned agent = 0; agent < f->agents && ok; agent++)
        for (unsigned app = 0; app < AB_BENCH_FLEET_APPS && ok; app++)
            ok = put_one(f, agent, app);
    if (!ok)
        perror("argobus-bench: cannot write Applications");
    return ok;
}

static ab_bench_topics topics_of(const fleet *f)
{
    return (ab_bench_topics){f->o->broker, strrchr(f->site.root, '/') + 1, f->agents};
}

/* Or the time that the broker takes for it would be that of a start. */
static bool make_topics(const fleet *f)
{
    const ab_bench_topics topics = topics_of(f);
    return ab_bench_topics_make(&topics);
}

static bool open_fleet(fleet *f, bool over_grpc)
{
    ab_bench_grpc_at at = {0};
    f->track =
        mmap(NULL, sizeof(*f->track), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (f->track == MAP_FAILED || (over_grpc && !open_grpc(f, &at)))
        return false;
    f->track->slow = -1;
    f->next_revision = 1;
    return ab_bench_site_open_principal(&f->site, f->o, f->agents, &at) && put_all(f) &&
           (over_grpc || make_topics(f));
}

static bool start_agents(fleet *f)
{
    bool ok = true;
    for (unsigned first = 0; first < f->agents && ok; f->procs++) {
        unsigned left = f->agents - first;
        bool alone = first == NOISY || left == 1;
        unsigned count = alone ? 1 : left - 1 < PER_PROC ? left - 1 : PER_PROC;
        f->parts[f->procs] = (ab_bench_agents){&f->site, f->track, first, count};
        f->pids[f->procs] = ab_bench_agents_start(&f->parts[f->procs]);
        ok = f->pids[f->procs] > 0;
        first += count;
    }
    return ok;
}

static void stop_agents(fleet *f)
{
    for (size_t i = 0; i < f->procs; i++)
        if (f->pids[i] > 0 && kill(f->pids[i], SIGKILL) == 0)
            (void)waitpid(f->pids[i], NULL, 0);
    f->procs = 0;
}

static void close_fleet(fleet *f, bool over_grpc, bool ok)
{
    stop_agents(f);
    ab_bench_site_close(&f->site, !ok);
    (void)close(f->hub);
    (void)close(f->changes);
    if (over_grpc)
        ab_bench_certs_close(&f->certs);
    if (f->track != MAP_FAILED)
        (void)munmap(f->track, sizeof(*f->track));
}

/* Or the broker would carry them beside the next fleet's. */
static bool delete_topics(const fleet *f)
{
    const ab_bench_topics topics = topics_of(f);
    return ab_bench_topics_delete(&topics);
}

/* --- phases --- */

static bool wait_created(const fleet *f)
{
    unsigned wanted = f->agents * AB_BENCH_FLEET_APPS;
    int64_t end = ab_bench_now_ns() + WAIT_MS * 1000000LL;
    while (__atomic_load_n(&f->track->created, __ATOMIC_SEQ_CST) < wanted)
        if (ab_bench_now_ns() > end) {
            fprintf(stderr, "argobus-bench: the agents have %u of %u Applications\n",
                    f->track->created, wanted);
            return false;
        } else
            ab_bench_pause(LOOK_MS);
    return true;
}

static bool start(fleet *f)
{
    ab_bench_steps steps;
    meter m = meter_begin(f);
    bool ok = ab_bench_steps_open(&steps, &f->site) && ab_bench_site_start(&f->site, PRINCIPAL) &&
              start_agents(f) && ab_bench_steps_wait(&steps, WAIT_MS) && wait_created(f);
    ab_bench_steps_close(&steps);
    if (!ok)
        return false;
    ab_bench_row row = meter_end(&m, "start");
    f->grown[START_CPU] = row.cpu_s;
    report(f, "start", &row);
    return true;
}

static bool idle(fleet *f)
{
    ab_bench_pause(SETTLE_MS);
    meter m = meter_begin(f);
    ab_bench_pause((int)f->o->seconds * 1000);
    ab_bench_row row = meter_end(&m, "idle");
    row.unit = "%";
    row.value = 100 * row.cpu_s / f->o->seconds;
    row.rss_kib = ab_bench_memory(f->site.principal.pid, "VmRSS");
    f->grown[IDLE_CPU] = row.cpu_s;
    f->grown[MEMORY] = row.rss_kib;
    report(f, "idle", &row);
    return true;
}

/* Simulated agents write what a real one does, and what they commit reaches the principal. */
static bool check_wire(fleet *f)
{
    const ab_bench_topics topics = topics_of(f);
    return strcmp(f->prefix, "fleet") != 0 ||
           (ab_bench_fleet_wire_is_same(&topics) &&
            ab_bench_daemon_rest(&f->site.principal, "argobus_changes_pending"));
}

static ab_bench_fleet_load load_of(fleet *f, int beside, unsigned beside_per_s)
{
    return (ab_bench_fleet_load){.changes = f->changes,
                                 .track = f->track,
                                 .first = 1,
                                 .count = f->agents - 2,
                                 .beside = beside,
                                 .beside_per_s = beside_per_s,
                                 .seconds = f->o->seconds,
                                 .next_revision = &f->next_revision};
}

static bool load(fleet *f, const char *what, int beside, unsigned beside_per_s)
{
    const ab_bench_fleet_load l = load_of(f, beside, beside_per_s);
    double p50_ms = 0, p99_ms = 0;
    meter m = meter_begin(f);
    if (!ab_bench_fleet_load_run(&l, &p50_ms, &p99_ms))
        return false;
    ab_bench_row row = meter_end(&m, what);
    row.unit = "ms";
    row.value = p99_ms;
    row.p50_ms = p50_ms;
    row.p99_ms = p99_ms;
    if (beside < 0)
        f->churn_p99_ms = p99_ms;
    else
        row.limit = f->churn_p99_ms;
    report(f, what, &row);
    return true;
}

/* While Java compiles the broker's code, it takes a third of a core: what is measured is a broker
 * that has run for some time. */
static bool warm_up(fleet *f)
{
    double p50_ms = 0;
    double p99_ms = 0;
    const ab_bench_fleet_load l = load_of(f, NOISY, NOISY_PER_S);
    return strcmp(f->prefix, "fleet") != 0 || ab_bench_fleet_load_run(&l, &p50_ms, &p99_ms);
}

static bool churn(fleet *f)
{
    return load(f, "churn", -1, 0);
}

static bool noisy(fleet *f)
{
    return load(f, "noisy", NOISY, NOISY_PER_S);
}

static bool slow(fleet *f)
{
    __atomic_store_n(&f->track->slow, NOISY, __ATOMIC_SEQ_CST);
    bool ok = load(f, "slow", NOISY, BESIDE_PER_S);
    __atomic_store_n(&f->track->slow, -1, __ATOMIC_SEQ_CST);
    return ok;
}

/* It says nothing more, and its connection stays. */
static bool dead(fleet *f)
{
    return kill(f->pids[f->procs - 1], SIGSTOP) == 0 &&
           load(f, "dead", (int)f->agents - 1, BESIDE_PER_S);
}

static bool resync(fleet *f)
{
    ab_bench_steps steps;
    bool ok = ab_bench_steps_open(&steps, &f->site);
    meter m = meter_begin(f);
    ok = ok && ab_bench_site_resync(&f->site, PRINCIPAL) && ab_bench_steps_wait(&steps, WAIT_MS);
    ab_bench_steps_close(&steps);
    if (!ok)
        return false;
    ab_bench_row row = meter_end(&m, "resync");
    f->grown[RESYNC_CPU] = row.cpu_s;
    report(f, "resync", &row);
    return true;
}

static bool restart(fleet *f)
{
    ab_bench_steps steps;
    bool ok =
        ab_bench_site_stop(&f->site, PRINCIPAL, NULL) && ab_bench_steps_open(&steps, &f->site);
    if (!ok)
        return false;
    meter m = meter_begin(f);
    ok = ab_bench_site_start(&f->site, PRINCIPAL) && ab_bench_steps_wait(&steps, WAIT_MS);
    ab_bench_steps_close(&steps);
    if (!ok)
        return false;
    ab_bench_row row = meter_end(&m, "restart");
    report(f, "restart", &row);
    return true;
}

/* librdkafka alone under the load of `noisy`, over the same topics. It learns them before the
 * changes are timed. */
static bool measure_floor(fleet *f, ab_bench_row *row)
{
    ab_bench_fleet_floor raw = {.topics = topics_of(f),
                                .track = f->track,
                                .changes = f->changes,
                                .noisy = NOISY,
                                .ready_fd = -1};
    const ab_bench_fleet_load alone = load_of(f, -1, 0);
    const ab_bench_fleet_load beside = load_of(f, NOISY, NOISY_PER_S);
    double alone_p50_ms = 0;
    bool ok = ab_bench_fleet_floor_start(&raw) &&
              ab_bench_fleet_load_run(&beside, &row->p50_ms, &row->p99_ms) &&
              ab_bench_fleet_load_run(&alone, &alone_p50_ms, &row->limit) &&
              ab_bench_fleet_load_run(&beside, &row->p50_ms, &row->p99_ms);
    ab_bench_fleet_floor_stop(&raw);
    row->value = row->p99_ms;
    return ok;
}

/* Principal and agents end for it. */
static bool floor_of_noisy(fleet *f)
{
    ab_bench_row row = row_of(f, "floor", "ms", 0);
    stop_agents(f);
    if (!ab_bench_site_stop(&f->site, PRINCIPAL, NULL))
        return false;
    memset(f->track->arrived_ns, 0, sizeof(f->track->arrived_ns));
    f->next_revision = 1;
    if (!measure_floor(f, &row))
        return false;
    ab_bench_report(f->o->format, &row);
    return true;
}

/* --- the cases --- */

static bool run_one(const ab_bench_options *o, bool over_grpc, unsigned agents, double *grown)
{
    static bool (*const phases[])(fleet * f) = {start,  idle,    check_wire, warm_up, churn,
                                                resync, restart, noisy,      slow,    dead};
    static fleet f;
    f = (fleet){
        .o = o, .prefix = over_grpc ? "fleet.grpc" : "fleet", .agents = agents, .grown = grown};
    bool ok = open_fleet(&f, over_grpc);
    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]) && ok; i++)
        ok = phases[i](&f);
    ok = ok && (over_grpc || (floor_of_noisy(&f) && delete_topics(&f)));
    close_fleet(&f, over_grpc, ok);
    return ok;
}

/* Slope of the straight line through the logarithms, by least squares. */
static double exponent(const unsigned *agents, double grown[][GROWING], size_t count, int which)
{
    double x = 0, y = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < count; i++) {
        double a = log(agents[i]);
        double b = log(fmax(grown[i][which], CPU_LEAST_S));
        x += a;
        y += b;
        xx += a * a;
        xy += a * b;
    }
    double n = (double)count;
    return (n * xy - x * y) / (n * xx - x * x);
}

static void report_exponents(const ab_bench_options *o, bool over_grpc, const unsigned *agents,
                             double grown[][GROWING], size_t count)
{
    static const char *const names[GROWING] = {"memory", "start_cpu", "resync_cpu", "idle_cpu"};
    for (int i = 0; i < GROWING; i++) {
        ab_bench_row row =
            ab_bench_row_new("fleet.%sexponent.%s", over_grpc ? "grpc." : "", names[i]);
        row.unit = "exponent";
        row.value = exponent(agents, grown, count, i);
        row.limit = EXPONENT_MAX;
        ab_bench_report(o->format, &row);
    }
}

/* @return how many sizes there are, 0 when the list is not one */
static size_t take_sizes(const char *list, unsigned out[FLEETS_MAX])
{
    size_t count = 0;
    for (char *rest = NULL; count < FLEETS_MAX; list = rest + 1) {
        unsigned long n = strtoul(list, &rest, 10);
        if (rest == list || n < FEWEST || n > AB_BENCH_AGENTS_MAX)
            return 0;
        out[count++] = (unsigned)n;
        if (*rest != ',')
            return *rest == '\0' ? count : 0;
    }
    return 0;
}

static bool run_all(const ab_bench_options *o, bool over_grpc)
{
    unsigned agents[FLEETS_MAX];
    double grown[FLEETS_MAX][GROWING];
    size_t count = take_sizes(o->agents, agents);
    bool ok = count > 0;
    if (!ok)
        fprintf(stderr, "argobus-bench: --agents %s: give up to %d numbers of %d to %d\n",
                o->agents, FLEETS_MAX, FEWEST, AB_BENCH_AGENTS_MAX);
    for (size_t i = 0; i < count && ok; i++)
        ok = run_one(o, over_grpc, agents[i], grown[i]);
    if (ok && count > 1)
        report_exponents(o, over_grpc, agents, grown, count);
    return ok;
}

bool ab_bench_fleet_kafka(const ab_bench_options *o)
{
    return run_all(o, false);
}

bool ab_bench_fleet_grpc(const ab_bench_options *o)
{
    return run_all(o, true);
}
