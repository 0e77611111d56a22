/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/transport/member.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

void ab_bench_die(const char *what, const char *why)
{
    fprintf(stderr, "argobus-bench: %s: %s\n", what, why);
    (void)fflush(stderr);
    _exit(1);
}

void ab_bench_must(ab_err code, const char *what, const ab_error *err)
{
    if (code != AB_ERR_OK)
        ab_bench_die(what, err == NULL ? ab_err_text(code) : err->text);
}

/* --- upcalls that nobody wants --- */

static void no_event(void *arg, ab_delivery *delivery)
{
    (void)arg;
    (void)delivery;
}

static void no_peer(void *arg, const char *agent, bool up, const ab_peer *peer)
{
    (void)arg;
    (void)agent;
    (void)up;
    (void)peer;
}

static void no_written(void *arg, const char *agent, ab_event *head)
{
    (void)arg;
    (void)agent;
    (void)head;
}

static void no_ready(void *arg, const char *agent, uint64_t epoch)
{
    (void)arg;
    (void)agent;
    (void)epoch;
}

static void no_gap(void *arg, const char *agent, ab_gap gap)
{
    (void)arg;
    (void)agent;
    (void)gap;
}

static void no_more(void *arg, const char *agent)
{
    (void)arg;
    (void)agent;
}

static void on_fatal(void *arg, const ab_error *err)
{
    (void)arg;
    ab_bench_die("fatal", err->text);
}

static ab_transport_events complete(const ab_transport_events *given)
{
    ab_transport_events e = *given;
    e.on_event = e.on_event == NULL ? no_event : e.on_event;
    e.on_peer = e.on_peer == NULL ? no_peer : e.on_peer;
    e.on_written = e.on_written == NULL ? no_written : e.on_written;
    e.on_ready = e.on_ready == NULL ? no_ready : e.on_ready;
    e.on_gap = e.on_gap == NULL ? no_gap : e.on_gap;
    e.on_caught_up = e.on_caught_up == NULL ? no_more : e.on_caught_up;
    e.on_writable = e.on_writable == NULL ? no_more : e.on_writable;
    e.on_fatal = on_fatal;
    return e;
}

/* --- the process --- */

static void allow_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* too few show as connections that fail */
}

void ab_bench_host_init(ab_bench_host *h)
{
    ab_error err = {0};
    allow_files();
    h->metrics = ab_metrics_new();
    if (h->metrics == NULL || uv_loop_init(&h->loop) != 0)
        ab_bench_die("cannot start", "out of memory");
    ab_bench_must(ab_log_new(STDERR_FILENO, "error", AB_LOG_TEXT, &ab_clock_real, &h->log, &err),
                  "no log", &err);
}

ab_transport *ab_bench_member(ab_bench_host *h, const char *agent,
                              const ab_transport_events *events)
{
    return ab_bench_member_of(h, NULL, agent, events);
}

ab_transport *ab_bench_member_of(ab_bench_host *h, const ab_transport_ops *ops, const char *agent,
                                 const ab_transport_events *events)
{
    static ab_bench_settings settings;
    ab_transport *made = NULL;
    ab_config *config = NULL;
    ab_error err = {0};
    settings.count = 0;
    if (h->configure != NULL)
        h->configure(h->configure_arg, &settings);
    else
        ab_bench_set_grpc(&settings, h->certs, h->port, agent);
    ab_bench_must(ab_bench_settings_load(&settings, &config, &err), "configuration", &err);
    const ab_transport_env env = {
        .loop = &h->loop,
        .config = config,
        .log = h->log,
        .metrics = h->metrics,
        .clock = &ab_clock_real,
        .role = agent == NULL ? AB_ROLE_PRINCIPAL : AB_ROLE_AGENT,
        .agent = agent,
        .mode = agent == NULL ? "" : "managed",
        .events = complete(events),
    };
    ab_bench_must(ops == NULL ? ab_transport_new(&env, &made, &err)
                              : ab_transport_new_with(ops, &env, &made, &err),
                  "no transport", &err);
    return made;
}

int ab_bench_host_run(ab_bench_host *h)
{
    (void)uv_run(&h->loop, UV_RUN_DEFAULT);
    return 1;
}
