/* SPDX-License-Identifier: Apache-2.0
 *
 * Both halves of the redis proxy in one process, joined by the HTTP/2 of live access without a
 * transport, for redis_test.py.
 *
 *   redis_proxy HUB-PORT [-t CA CERT KEY] [-d DEADLINE-MS] [-m] [-p PASSWORD-FILE] [-u USER]
 *               [-c gzip|none] [-r PORT] [-s AGENT=PORT]...
 *
 * -t: TLS everywhere; -m: destinations decide, and team_APP is the Application of agent w1.
 * Prints its port. Commands on its input: "down AGENT", "up AGENT", "freeze AGENT" (nothing moves
 * between the ends), "thaw AGENT", "stop AGENT" (the front stops, whatever the agent); each is
 * answered with a line. With -c the state of clusters is
 * written, by a clock that is a hundred times too fast: "connected AGENT", "disconnected AGENT",
 * "count AGENT", "removed AGENT". With -r the counts of a cluster's cache are read from that redis
 * and printed: "counts APPLICATIONS RESOURCES APIS".
 */
#include "base/core/list.h"
#include "live/lane/http2.h"
#include "live/redis/cluster/info.h"
#include "live/redis/cluster/reader.h"
#include "live/redis/front/front.h"
#include "live/redis/spoke/spoke.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define AGENTS_MAX 4
#define WIRE_MAX   (64u * 1024 * 1024)
#define WIRE_HIGH  (256u * 1024)

typedef struct end {
    ab_live_http2 *h2;
    struct end *peer;
    ab_buf in; /* that the peer has sent */
} end;

typedef struct {
    char name[64];
    end hub;
    end agent;
    ab_redis_spoke *spoke;
    bool is_frozen;
} spoke_of;

static uv_loop_t *loop;
static uv_idle_t mover;
static spoke_of agents[AGENTS_MAX];
static size_t agent_count;
static bool by_destination;
static ab_redis_cluster_info *clusters;
static ab_redis_cluster_reader *reader;
static ab_redis_front *front;

static int64_t now_ms(void)
{
    return ab_clock_mono_ms(&ab_clock_real);
}

/* ---- the way between the ends ---- */

static void on_move(uv_idle_t *idle);

static void on_work(void *arg)
{
    (void)arg;
    uv_idle_start(&mover, on_move);
}

static ab_err on_write(void *arg, ab_str bytes)
{
    end *peer = ((end *)arg)->peer;
    ab_buf_put(&peer->in, bytes);
    on_work(NULL);
    return ab_buf_status(&peer->in);
}

static bool has_room(void *arg)
{
    return ((end *)arg)->peer->in.len < WIRE_HIGH;
}

static void on_request(void *arg, ab_live_stream *s, const ab_live_request *request)
{
    spoke_of *a = AB_LINK_OF(arg, spoke_of, agent);
    assert(ab_str_is(request->service, "redis"));
    ab_redis_spoke_serve(a->spoke, s, request);
}

static void deliver(end *e)
{
    ab_buf bytes = e->in;
    ab_error err = {0};
    ab_buf_init(&e->in, WIRE_MAX);
    if (bytes.len > 0) {
        ab_err r = ab_live_http2_receive(e->h2, ab_buf_str(&bytes), now_ms(), &err);
        assert(r == AB_ERR_OK);
    }
    ab_buf_fini(&bytes);
}

/* @return whether there is more to do */
static bool move(end *e, bool is_frozen)
{
    if (!is_frozen)
        deliver(e);
    ab_err r = ab_live_http2_flush(e->h2, NULL);
    assert(r == AB_ERR_OK);
    return !is_frozen && (e->in.len > 0 || e->peer->in.len > 0);
}

static void on_move(uv_idle_t *idle)
{
    bool busy = false;
    for (size_t i = 0; i < agent_count; i++) {
        spoke_of *a = &agents[i];
        if (a->hub.h2 == NULL)
            continue;
        busy |= move(&a->hub, a->is_frozen);
        busy |= move(&a->agent, a->is_frozen);
    }
    if (!busy)
        uv_idle_stop(idle);
}

static void open_end(end *e, end *peer, bool client)
{
    const ab_live_http2_env env = {client, on_write, has_room, on_work, on_work, on_request, e};
    e->peer = peer;
    ab_buf_init(&e->in, WIRE_MAX);
    ab_err r = ab_live_http2_new(&env, &e->h2);
    assert(r == AB_ERR_OK);
}

static void close_end(end *e)
{
    ab_error err = {0};
    ab_fail(&err, AB_ERR_UNAVAILABLE, "the connection to it is lost");
    ab_live_http2_end(e->h2, AB_ERR_UNAVAILABLE, &err);
    e->h2 = NULL;
    ab_buf_fini(&e->in);
}

static void set_up(spoke_of *a, bool up)
{
    if (up == (a->hub.h2 != NULL))
        return;
    if (up) {
        open_end(&a->hub, &a->agent, true);
        open_end(&a->agent, &a->hub, false);
        return;
    }
    close_end(&a->hub);
    close_end(&a->agent);
}

static void on_tick(uv_timer_t *timer)
{
    ab_error err = {0};
    (void)timer;
    for (size_t i = 0; i < agent_count; i++) {
        end *hub = &agents[i].hub;
        if (hub->h2 != NULL && ab_live_http2_tick(hub->h2, now_ms(), &err) != AB_ERR_OK)
            set_up(&agents[i], false);
    }
    on_work(NULL);
}

static spoke_of *find(ab_str name)
{
    for (size_t i = 0; i < agent_count; i++) {
        if (ab_str_is(name, agents[i].name))
            return &agents[i];
    }
    return NULL;
}

static ab_err on_ask(void *arg, const char *name, const ab_live_request *request,
                     const ab_live_handler *handler, void *handler_arg, ab_live_stream **out,
                     ab_error *err)
{
    spoke_of *a = find(ab_str_of(name));
    (void)arg;
    if (a == NULL || a->hub.h2 == NULL)
        return ab_fail(err, AB_ERR_UNAVAILABLE, "not connected");
    ab_err e = ab_live_http2_begin(a->hub.h2, request, now_ms(), handler, handler_arg, out);
    return e == AB_ERR_OK ? e : ab_fail(err, e, "%s", ab_err_text(e));
}

static ab_str agent_of_namespace(void *arg, ab_str space)
{
    (void)arg;
    return find(space) == NULL ? AB_STR_NONE : space;
}

static ab_str agent_of_app(void *arg, ab_str space, ab_str app)
{
    (void)arg;
    (void)app;
    return ab_str_is(space, "team") ? AB_STR("w1") : AB_STR_NONE;
}

/* ---- the program ---- */

static int64_t fast_ms(void *arg)
{
    (void)arg;
    return now_ms() * 100;
}

static int64_t wall_us(void *arg)
{
    (void)arg;
    return ab_clock_wall_us(&ab_clock_real);
}

static const ab_clock fast_clock = {fast_ms, wall_us, NULL};

static void open_clusters(const char *compression, const ab_redis_address *redis, int port,
                          ab_log *log)
{
    ab_error err = {0};
    ab_redis_cluster_info_options o = {.loop = loop,
                                       .log = log,
                                       .clock = &fast_clock,
                                       .redis = *redis,
                                       .version = "1.8.3",
                                       .gzip = strcmp(compression, "gzip") == 0};
    o.redis.port = port;
    ab_err e = ab_redis_cluster_info_new(&o, &clusters, &err);
    assert(e == AB_ERR_OK);
}

static void on_counts(void *arg, const ab_redis_cluster_counts *counts)
{
    (void)arg;
    printf("counts %lld %lld %lld\n", (long long)counts->applications, (long long)counts->resources,
           (long long)counts->apis);
}

static void open_reader(const char *port, const ab_redis_address *redis, ab_log *log)
{
    ab_error err = {0};
    ab_redis_cluster_reader_options o = {.loop = loop,
                                         .log = log,
                                         .redis = *redis,
                                         .version = "1.8.3",
                                         .gzip = true,
                                         .on_counts = on_counts};
    o.redis.port = (int)strtol(port, NULL, 10);
    ab_err e = ab_redis_cluster_reader_new(&o, &reader, &err);
    assert(e == AB_ERR_OK);
}

/* @return false: not a command about clusters */
static bool tell_clusters(const char *what, ab_str agent)
{
    static const ab_redis_cluster_counts counts = {.applications = 3, .resources = 20, .apis = 7};
    char server[100];
    snprintf(server, sizeof(server), "https://proxy?agentName=%.*s", AB_STR_ARG(agent));
    bool connected = strcmp(what, "connected") == 0;
    if (connected || strcmp(what, "disconnected") == 0) {
        ab_err e = ab_redis_cluster_info_set(clusters, agent, ab_str_of(server), connected);
        assert(e == AB_ERR_OK);
    } else if (strcmp(what, "count") == 0) {
        ab_redis_cluster_info_count(clusters, agent, &counts);
    } else if (strcmp(what, "removed") == 0) {
        ab_redis_cluster_info_remove(clusters, agent);
    } else {
        return false;
    }
    return true;
}

static void obey(char *line)
{
    char *word = strchr(line, ' ');
    assert(word != NULL);
    *word++ = '\0';
    printf("done\n");
    if (clusters != NULL && tell_clusters(line, ab_str_of(word)))
        return;
    spoke_of *a = find(ab_str_of(word));
    assert(a != NULL);
    if (strcmp(line, "stop") == 0)
        ab_redis_front_stop(front);
    else if (strcmp(line, "freeze") == 0 || strcmp(line, "thaw") == 0)
        a->is_frozen = line[0] == 'f';
    else
        set_up(a, strcmp(line, "up") == 0);
    on_work(NULL);
}

static void on_input(uv_poll_t *poll, int status, int events)
{
    static char text[4096];
    static size_t len;
    (void)status;
    (void)events;
    ssize_t n = read(STDIN_FILENO, text + len, sizeof(text) - len - 1);
    if (n <= 0) {
        uv_poll_stop(poll);
        uv_stop(loop);
        return;
    }
    len += (size_t)n;
    text[len] = '\0';
    for (char *eol = strchr(text, '\n'); eol != NULL; eol = strchr(text, '\n')) {
        *eol = '\0';
        obey(text);
        len -= (size_t)(eol + 1 - text);
        memmove(text, eol + 1, len + 1);
    }
}

static void add_agent(const char *arg, ab_log *log, const ab_redis_address *redis)
{
    ab_error err = {0};
    ab_redis_address at = *redis;
    const char *equals = strchr(arg, '=');
    assert(equals != NULL && agent_count < AGENTS_MAX);
    spoke_of *a = &agents[agent_count++];
    snprintf(a->name, sizeof(a->name), "%.*s", (int)(equals - arg), arg);
    at.port = (int)strtol(equals + 1, NULL, 10);
    if (ab_redis_spoke_new(loop, log, &at, &a->spoke, &err) != AB_ERR_OK) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    set_up(a, true);
}

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void shut_down(void)
{
    ab_redis_front_close(front);
    ab_redis_cluster_info_close(clusters);
    ab_redis_cluster_reader_close(reader);
    for (size_t i = 0; i < agent_count; i++) {
        ab_redis_spoke_close(agents[i].spoke);
        set_up(&agents[i], false);
    }
    uv_close((uv_handle_t *)&mover, NULL);
    uv_walk(loop, close_handle, NULL);
    uv_run(loop, UV_RUN_DEFAULT);
    int rc = uv_loop_close(loop);
    assert(rc == 0);
}

static void read_options(int argc, char **argv, ab_redis_front_options *o, ab_redis_address *redis,
                         ab_log *log)
{
    int c;
    o->redis_port = (int)strtol(argv[1], NULL, 10);
    while ((c = getopt(argc - 1, argv + 1, "t:d:mp:u:c:r:s:")) != -1) {
        if (c == 't') {
            char *ca = optarg;
            char *cert = strchr(ca, ',');
            char *key = strchr(cert + 1, ',');
            *cert++ = '\0';
            *key++ = '\0';
            o->listen_tls = (ab_tls){.cert = cert, .key = key};
            o->redis_tls = (ab_tls){.ca = ca};
            redis->tls = o->redis_tls;
        } else if (c == 'd') {
            o->deadline_ms = strtol(optarg, NULL, 10);
        } else if (c == 'm') {
            by_destination = true;
        } else if (c == 'p') {
            redis->password_file = optarg;
        } else if (c == 'u') {
            redis->username = optarg;
        } else if (c == 'c') {
            open_clusters(optarg, redis, o->redis_port, log);
        } else if (c == 'r') {
            open_reader(optarg, redis, log);
        } else if (c == 's') {
            add_agent(optarg, log, redis);
        }
    }
}

int main(int argc, char **argv)
{
    uv_timer_t tick;
    uv_poll_t input;
    ab_log *log = NULL;
    ab_error err = {0};
    loop = uv_default_loop();
    (void)signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 2 || ab_log_new(STDERR_FILENO, "info,live=debug", AB_LOG_TEXT, &ab_clock_real, &log,
                               &err) != AB_ERR_OK)
        return 2;
    uv_idle_init(loop, &mover);
    uv_timer_init(loop, &tick);
    uv_timer_start(&tick, on_tick, 20, 20);
    ab_redis_address redis = {.host = "127.0.0.1", .tls = {.insecure = true}};
    ab_redis_front_options o = {.loop = loop,
                                .log = log,
                                .metrics = ab_metrics_new(),
                                .clock = &ab_clock_real,
                                .listen_host = "127.0.0.1",
                                .listen_tls = {.insecure = true},
                                .redis_host = "127.0.0.1",
                                .redis_tls = {.insecure = true},
                                .agents = {.agent_of_namespace = agent_of_namespace},
                                .request = on_ask,
                                .deadline_ms = 10000};
    read_options(argc, argv, &o, &redis, log);
    o.agents.agent_of_app = by_destination ? agent_of_app : NULL;
    if (ab_redis_front_new(&o, &front, &err) != AB_ERR_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    printf("%d\n", ab_redis_front_port(front));
    uv_poll_init(loop, &input, STDIN_FILENO);
    uv_poll_start(&input, UV_READABLE, on_input);
    uv_run(loop, UV_RUN_DEFAULT);
    shut_down();
    ab_metrics_free(o.metrics);
    ab_log_free(log);
    return 0;
}
