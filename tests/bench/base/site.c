/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/base/site.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PRINCIPAL    (-1)
#define SETTLE_NS    (120 * 1000000000LL)
#define LOOK_MS      300
#define ANSWER_MAX   (16 * 1024 * 1024)
#define OPEN_AT_MOST 16

static bool fail(const char *what, const char *which)
{
    fprintf(stderr, "argobus-bench: %s %s: %s\n", what, which, strerror(errno));
    return false;
}

static ab_bench_daemon *daemon_at(ab_bench_site *s, int i)
{
    return i == PRINCIPAL ? &s->principal : &s->agent[i];
}

/* --- folders and configurations --- */

static bool join(char out[PATH_MAX], const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool join(char out[PATH_MAX], const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(out, PATH_MAX, fmt, args);
    va_end(args);
    errno = ENAMETOOLONG;
    return n > 0 && n < PATH_MAX;
}

static bool make_folders(const char *path)
{
    char part[PATH_MAX];
    for (const char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        size_t len = slash == NULL ? strlen(path) : (size_t)(slash - path);
        memcpy(part, path, len);
        part[len] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return fail("cannot make", part);
        if (slash == NULL)
            return true;
    }
}

static void write_own(FILE *f, const ab_bench_site *s, const ab_bench_daemon *d)
{
    if (d != &s->principal) {
        fprintf(f, "agent: {name: %s, mode: managed, data: data}\n", d->name);
        return;
    }
    fprintf(f, "control: {socket: \"%s/control.sock\"}\nagents:\n", d->folder);
    for (unsigned i = 0; i < s->agents; i++)
        fprintf(f, "  - {name: w%u, mode: managed}\n", i);
}

/* Agents that share a cluster have a namespace each, so that none takes another's Applications for
 * strangers. */
static void write_store(FILE *f, const ab_bench_site *s, const ab_bench_daemon *d)
{
    bool is_hub = d == &s->principal;
    const char *kubeconfig = is_hub ? s->clusters.hub : s->clusters.spoke;
    if (kubeconfig == NULL)
        fprintf(f, "store: {kind: directory, namespace: argocd, directory: {path: store}}\n");
    else
        fprintf(f, "store: {kind: kubernetes, namespace: %s, kubernetes: {kubeconfig: \"%s\"}}\n",
                is_hub || d == s->agent ? "argocd" : d->name, kubeconfig);
}

static void write_live(FILE *f, const ab_bench_site *s, const ab_bench_daemon *d)
{
    const char *certs = s->live.certs;
    if (certs == NULL)
        return;
    if (d == &s->principal)
        fprintf(f,
                "live:\n"
                "  certificate: %s/server.crt\n"
                "  key: %s/server.key\n"
                "  ca: %s/ca.crt\n"
                "  resource: {listen: \"127.0.0.1:%d\", tokens: %s, tls: {cert: %s/server.crt, "
                "key: %s/server.key}}\n"
                "  redis: {listen: \"127.0.0.1:%d\", address: \"127.0.0.1:%d\"}\n",
                certs, certs, certs, s->live.port, s->live.tokens, certs, certs, s->live.proxy,
                s->live.redis);
    else
        fprintf(f,
                "live:\n"
                "  enabled: true\n"
                "  certificate: %s/%s.crt\n"
                "  key: %s/agent.key\n"
                "  ca: %s/ca.crt\n"
                "  principal: localhost\n"
                "  kubernetes: {policy: all}\n"
                "  exec: true\n"
                "  redis: {address: \"127.0.0.1:%d\"}\n",
                certs, d->name, certs, certs, s->live.redis);
}

static void write_transport(FILE *f, const ab_bench_site *s, const ab_bench_daemon *d)
{
    const char *certs = s->grpc.certs;
    if (certs != NULL && d == &s->principal)
        fprintf(f,
                "transport: grpc\n"
                "grpc:\n"
                "  listen: \"127.0.0.1:%d\"\n"
                "  tls: {ca: %s/ca.crt, cert: %s/server.crt, key: %s/server.key}\n",
                s->grpc.port, certs, certs, certs);
    else if (certs != NULL)
        fprintf(f,
                "transport: grpc\n"
                "grpc:\n"
                "  address: \"localhost:%d\"\n"
                "  tls: {ca: %s/ca.crt, cert: %s/%s.crt, key: %s/agent.key}\n",
                s->grpc.port, certs, certs, d->name, certs);
    else
        fprintf(f,
                "kafka:\n"
                "  brokers: [\"%s\"]\n"
                "  insecure: true\n"
                "  prefix: %s\n"
                "  topics: %s\n"
                "  replication-factor: 1\n"
                "  min-insync-replicas: 1\n",
                s->o->broker, strrchr(s->root, '/') + 1, d == &s->principal ? "create" : "verify");
}

static bool write_config(const ab_bench_site *s, const ab_bench_daemon *d)
{
    char path[PATH_MAX];
    FILE *f = join(path, "%s/config.yaml", d->folder) ? fopen(path, "we") : NULL;
    if (f == NULL)
        return fail("cannot write", path);
    write_own(f, s, d);
    write_store(f, s, d);
    write_transport(f, s, d);
    write_live(f, s, d);
    fprintf(f,
            "sync: {max-deletions: 100000}\n" /* a round ends with the deletion of all */
            "http: {address: \"127.0.0.1:%u\"}\n",
            (unsigned)d->port);
    bool ok = ferror(f) == 0;
    return fclose(f) == 0 && ok ? true : fail("cannot write", path);
}

void ab_bench_site_hub(const ab_bench_site *s, unsigned i, char out[PATH_MAX])
{
    (void)join(out, "%s/w%u/Application", s->principal.manifests, i);
}

static bool open_principal(ab_bench_site *s)
{
    ab_bench_daemon *d = &s->principal;
    char hub[PATH_MAX];
    (void)snprintf(d->name, sizeof(d->name), "principal");
    d->port = ab_bench_free_port();
    bool ok = join(d->folder, "%s/principal", s->root) &&
              join(d->manifests, "%s/store", d->folder) && make_folders(d->manifests);
    for (unsigned i = 0; i < s->agents && s->agent != NULL && ok; i++) {
        ab_bench_site_hub(s, i, hub);
        ok = make_folders(hub);
    }
    return ok && write_config(s, d);
}

static bool open_agent(ab_bench_site *s, unsigned i)
{
    ab_bench_daemon *d = &s->agent[i];
    char data[PATH_MAX];
    (void)snprintf(d->name, sizeof(d->name), "w%u", i);
    d->port = ab_bench_free_port();
    return join(d->folder, "%s/%s", s->root, d->name) &&
           join(d->manifests, "%s/store/argocd/Application", d->folder) &&
           join(data, "%s/data", d->folder) && make_folders(d->manifests) && make_folders(data) &&
           write_config(s, d);
}

static bool make_root(ab_bench_site *s)
{
    return ab_bench_temporary(s->root) && mkdtemp(s->root) != NULL
               ? true
               : fail("cannot make a folder", s->root);
}

bool ab_bench_site_open_principal(ab_bench_site *s, const ab_bench_options *o, unsigned agents,
                                  const ab_bench_grpc_at *grpc)
{
    *s = (ab_bench_site){.o = o, .agents = agents};
    if (grpc != NULL)
        s->grpc = *grpc;
    return make_root(s) && open_principal(s);
}

static bool open_all(ab_bench_site *s)
{
    unsigned agents = s->agents;
    s->agent = calloc(agents, sizeof(*s->agent));
    bool ok = s->agent != NULL && make_root(s) && open_principal(s);
    for (unsigned i = 0; i < agents && ok; i++)
        ok = open_agent(s, i);
    return ok;
}

bool ab_bench_site_open(ab_bench_site *s, const ab_bench_options *o, unsigned agents,
                        const ab_bench_clusters *clusters)
{
    *s = (ab_bench_site){.o = o, .agents = agents};
    if (clusters != NULL)
        s->clusters = *clusters;
    return open_all(s);
}

bool ab_bench_site_open_live(ab_bench_site *s, const ab_bench_options *o, unsigned agents,
                             const ab_bench_clusters *clusters, const ab_bench_grpc_at *grpc,
                             const ab_bench_site_live *live)
{
    *s = (ab_bench_site){.o = o, .clusters = *clusters, .live = *live, .agents = agents};
    if (grpc != NULL)
        s->grpc = *grpc;
    return open_all(s);
}

/* --- processes --- */

bool ab_bench_site_start(ab_bench_site *s, int i)
{
    ab_bench_daemon *d = daemon_at(s, i);
    char program[PATH_MAX], config[PATH_MAX], log[PATH_MAX], flag[] = "-c";
    const char *name = s->agent == NULL ? "bench-principal"
                       : i == PRINCIPAL ? "principal"
                                        : "agent";
    if (!join(program, "%s/argobus-%s", s->o->programs, name) ||
        !join(config, "%s/config.yaml", d->folder) || !join(log, "%s/log", d->folder))
        return fail("cannot start", d->name);
    char *const argv[] = {program, flag, config, NULL};
    d->pid = ab_bench_spawn(argv, log);
    return d->pid > 0 ? true : fail("cannot start", d->name);
}

bool ab_bench_site_stop(ab_bench_site *s, int i, ab_bench_cost *cost)
{
    ab_bench_daemon *d = daemon_at(s, i);
    ab_bench_cost unused;
    if (d->pid <= 0)
        return true;
    bool ok = ab_bench_end(d->pid, cost == NULL ? &unused : cost);
    d->pid = 0;
    if (!ok)
        fprintf(stderr, "argobus-bench: %s did not end in order\n", d->name);
    return ok;
}

bool ab_bench_site_resync(ab_bench_site *s, int i)
{
    char program[PATH_MAX], path[PATH_MAX], log[PATH_MAX];
    char at[] = "--socket", verb[] = "resync", which[] = "--agent";
    if (!join(program, "%s/argobusctl", s->o->programs) ||
        !join(path, "%s/control.sock", s->principal.folder) ||
        !join(log, "%s/log", s->principal.folder))
        return fail("cannot ask", s->principal.name);
    char *const argv[] = {
        program, at, path, verb, i < 0 ? NULL : which, i < 0 ? NULL : s->agent[i].name, NULL};
    return ab_bench_wait(ab_bench_spawn(argv, log)) ? true : fail("no resync is begun by", s->root);
}

/* --- figures --- */

void ab_bench_site_report_cost(const ab_bench_site *s, const char *name, const ab_bench_cost *cost)
{
    ab_bench_row row = ab_bench_row_new("%s", name);
    row.cpu_s = cost->cpu_s;
    row.rss_kib = cost->rss_kib;
    ab_bench_report(s->o->format, &row);
}

double ab_bench_site_plain_writes(const ab_bench_site *s, const ab_bench_files *files)
{
    char folder[PATH_MAX];
    ab_bench_files durable = *files;
    durable.durable = true;
    if (!join(folder, "%s/plain", s->root) || mkdir(folder, 0777) != 0)
        return NAN;
    int64_t begun = ab_bench_now_ns();
    bool ok = ab_bench_files_put(folder, &durable);
    return ok ? (double)(ab_bench_now_ns() - begun) / 1e9 : NAN;
}

/* --- the end --- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

void ab_bench_site_close(ab_bench_site *s, bool keep)
{
    for (int i = s->agent == NULL ? PRINCIPAL : (int)s->agents - 1; i >= PRINCIPAL; i--)
        (void)ab_bench_site_stop(s, i, NULL);
    free(s->agent);
    s->agent = NULL;
    if (keep)
        fprintf(stderr, "argobus-bench: the logs are in %s/*/log\n", s->root);
    else if (nftw(s->root, remove_one, OPEN_AT_MOST, FTW_DEPTH | FTW_PHYS) != 0)
        (void)fail("cannot remove", s->root);
}

/* --- metrics --- */

static size_t http_get(uint16_t port, char *out, size_t room)
{
    static const char request[] = "GET /metrics HTTP/1.0\r\n\r\n"; /* no chunks */
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t len = 0;
    ssize_t n = 0;
    if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
        send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) == sizeof(request) - 1)
        while (len < room - 1 && (n = recv(fd, out + len, room - 1 - len, 0)) > 0)
            len += (size_t)n;
    if (fd >= 0)
        (void)close(fd);
    out[len] = '\0';
    return len;
}

/* @return -1: the metric is not there */
static double sum_of(const char *text, const char *name)
{
    size_t len = strlen(name);
    double sum = 0;
    bool found = false;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n' ? 1 : 0;
        if (strncmp(line, name, len) != 0 || (line[len] != ' ' && line[len] != '{'))
            continue;
        const char *end = line + strcspn(line, "\n");
        const char *value = memrchr(line, ' ', (size_t)(end - line));
        sum += strtod(value, NULL);
        found = true;
    }
    return found ? sum : -1;
}

void ab_bench_daemon_metrics(const ab_bench_daemon *d, size_t n, const char *const names[],
                             double values[])
{
    static char text[ANSWER_MAX];
    bool answered = http_get(d->port, text, sizeof(text)) != 0;
    for (size_t i = 0; i < n; i++)
        values[i] = answered ? sum_of(text, names[i]) : -1;
}

double ab_bench_daemon_metric(const ab_bench_daemon *d, const char *name)
{
    double value = 0;
    ab_bench_daemon_metrics(d, 1, &name, &value);
    return value;
}

bool ab_bench_daemon_settle(const ab_bench_daemon *d, const char *name, double wanted)
{
    int64_t end = ab_bench_now_ns() + SETTLE_NS;
    double before = -1;
    double now = ab_bench_daemon_metric(d, name);
    while (now < wanted || now > before) {
        if (ab_bench_now_ns() > end) {
            fprintf(stderr, "argobus-bench: %s of %s is %.0f, not yet %.0f\n", name, d->name, now,
                    wanted);
            return false;
        }
        ab_bench_pause(LOOK_MS);
        before = now;
        now = ab_bench_daemon_metric(d, name);
    }
    return true;
}

bool ab_bench_daemon_rest(const ab_bench_daemon *d, const char *name)
{
    int64_t end = ab_bench_now_ns() + SETTLE_NS;
    double least = ab_bench_daemon_metric(d, name);
    double now = least;
    while (now != 0 && ab_bench_now_ns() < end) {
        ab_bench_pause(LOOK_MS);
        now = ab_bench_daemon_metric(d, name);
        if (now < least) {
            least = now;
            end = ab_bench_now_ns() + SETTLE_NS;
        }
    }
    if (now != 0)
        fprintf(stderr, "argobus-bench: %s of %s is %.0f, not 0\n", name, d->name, now);
    return now == 0;
}
