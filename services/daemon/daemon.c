/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a daemon: command line, configuration, loop, signals, and the order of ending. A run
 * ends in order (stop, drain, free) or, when that takes longer than stop.timeout or a second signal
 * comes, at once.
 */
#include "services/daemon/daemon.h"

#include "base/core/file.h"
#include "base/observe/process.h"
#include "net/address.h"
#include "net/http/server.h"
#include "services/daemon/args_priv.h"
#include "services/daemon/certificates.h"
#include "services/daemon/core_dumps.h"
#include "services/daemon/loop_meter.h"
#include "services/daemon/memory.h"
#include "services/daemon/notify_priv.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TABLES_MAX 24
#define TEXT_MAX   (1024u * 1024)

enum { EXIT_IN_ORDER = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* One run. The part that the program sees comes first, so that one leads to the other. */
typedef struct {
    ab_daemon daemon;
    ab_options tables[TABLES_MAX];
    size_t table_count;
    ab_daemon_args args;
    ab_config_sources sources;
    ab_config *first_config; /* in force for what is not reloadable; everybody borrows its texts */
    uv_loop_t loop;
    uv_signal_t signals[3];
    uv_timer_t deadline;
    uv_prepare_t readiness; /* looks before each wait of the loop until the program is ready */
    ab_notified waiting;    /* why it is not ready, as last told */
    uv_async_t failed;      /* ab_daemon_fatal may be called from anywhere, also from `start` */
    ab_loop_meter meter;
    ab_certificates *certificates;
    ab_http_server *http;
    bool stopping; /* the program was told to stop */
    bool ended;    /* its loop has ended */
    int exit_code;
} run;

static run *run_of(ab_daemon *d)
{
    return (run *)d;
}

static bool is_http_off(const ab_config *c)
{
    return ab_config_str(c, "http.address")[0] == '\0';
}

static ab_err http_address(const ab_config *c, ab_address *out, ab_error *err)
{
    return ab_address_parse("http.address", ab_config_str(c, "http.address"), -1, out, err);
}

/* What the tables cannot say about our own options. */
static ab_err check_own_options(const ab_config *c, ab_error *err)
{
    ab_address address;
    ab_log *probe = NULL;
    ab_err e = ab_log_new(STDERR_FILENO, ab_config_str(c, "log.level"), AB_LOG_TEXT, &ab_clock_real,
                          &probe, err);
    ab_log_free(probe);
    if (e != AB_ERR_OK) {
        ab_error_prefix(err, "log.level");
        return e;
    }
    return is_http_off(c) ? AB_ERR_OK : http_address(c, &address, err);
}

static ab_err load_config(run *r, ab_config **out, ab_error *err)
{
    ab_config *c = NULL;
    ab_err e = ab_config_load(r->tables, r->table_count, &r->sources, &c, err);
    if (e != AB_ERR_OK)
        return e;
    e = check_own_options(c, err);
    if (e == AB_ERR_OK && r->daemon.program->check != NULL)
        e = r->daemon.program->check(c, err);
    if (e == AB_ERR_OK && r->args.mode == AB_RUN_CHECK_CONFIG &&
        r->daemon.program->check_files != NULL)
        e = r->daemon.program->check_files(c, err);
    if (e == AB_ERR_OK)
        *out = c;
    else
        ab_config_free(c);
    return e;
}

static bool answer_healthy(void *arg, ab_buf *why)
{
    ab_daemon *d = arg;
    return d->program->healthy == NULL || d->program->healthy(d, why);
}

static bool answer_ready(void *arg, ab_buf *why)
{
    ab_daemon *d = arg;
    if (run_of(d)->stopping || run_of(d)->exit_code != EXIT_IN_ORDER) {
        ab_buf_puts(why, "stopping");
        return false;
    }
    return d->program->ready == NULL || d->program->ready(d, why);
}

static ab_err start_http(run *r, ab_error *err)
{
    ab_address at;
    if (is_http_off(r->daemon.config))
        return AB_ERR_OK;
    ab_err e = http_address(r->daemon.config, &at, err);
    if (e != AB_ERR_OK)
        return e;
    ab_http_probes probes = {answer_healthy, answer_ready, &r->daemon};
    e = ab_http_server_start(&r->loop, at.host, at.port, &probes, r->daemon.metrics, r->daemon.log,
                             &r->http, err);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "http.address");
    else
        AB_INFO(r->daemon.log, MAIN, "serving health and metrics", AB_KV("address", at.host),
                AB_KV("port", ab_http_server_port(r->http)));
    return e;
}

/* Without a chance to end in order: what is not drained by now is what restarting is made for. */
static void end_at_once(run *r, const char *why)
{
    AB_ERROR(r->daemon.log, MAIN, "ending at once", AB_KV("reason", why));
    _exit(EXIT_FAILED);
}

static void on_deadline(uv_timer_t *timer)
{
    end_at_once(timer->data, "stop.timeout passed");
}

static void begin_stop(run *r)
{
    if (r->stopping)
        return;
    r->stopping = true;
    ab_notify("STOPPING=1");
    int64_t timeout_ms = ab_config_int(r->first_config, "stop.timeout");
    uv_timer_start(&r->deadline, on_deadline, (uint64_t)timeout_ms, 0);
    if (r->daemon.program->stop == NULL)
        ab_daemon_stopped(&r->daemon);
    else
        r->daemon.program->stop(&r->daemon);
}

/* Non-reloadable options keep their first value: a difference is reported against that. */
static void warn_of_restart(run *r, const ab_config *now)
{
    ab_buf names = ab_buf_up_to(TEXT_MAX);
    ab_config_restart_needed(r->first_config, now, &names);
    for (ab_str rest = ab_buf_str(&names); rest.len > 0;) {
        ab_str name = ab_str_cut(&rest, '\n');
        AB_WARN(r->daemon.log, CONFIG, "changed, but takes effect only after a restart",
                AB_KV("option", name));
    }
    ab_buf_fini(&names);
}

static void adopt(run *r, ab_config *now)
{
    ab_config *before = r->daemon.config;
    warn_of_restart(r, now);
    r->daemon.config = now;
    if (r->daemon.program->reload != NULL)
        r->daemon.program->reload(&r->daemon, before);
    if (before != r->first_config)
        ab_config_free(before);
    AB_INFO(r->daemon.log, CONFIG, "configuration reloaded");
}

static void reload(run *r)
{
    ab_config *now = NULL;
    ab_error err = {0};
    ab_notify_reloading();
    if (load_config(r, &now, &err) == AB_ERR_OK &&
        ab_log_set_levels(r->daemon.log, ab_config_str(now, "log.level"), &err) == AB_ERR_OK) {
        adopt(r, now);
    } else {
        AB_ERROR(r->daemon.log, CONFIG, "configuration not reloaded; still using the previous one",
                 AB_KV("error", err.text));
        ab_config_free(now);
    }
    if (!uv_is_active((const uv_handle_t *)&r->readiness)) /* or it would end the start */
        ab_notify("READY=1");
}

static void on_signal(uv_signal_t *signal, int number)
{
    run *r = signal->data;
    if (number == SIGHUP) {
        if (!r->stopping)
            reload(r);
        return;
    }
    if (r->stopping)
        end_at_once(r, "a second signal");
    AB_INFO(r->daemon.log, MAIN, "stopping", AB_KV("signal", number));
    begin_stop(r);
}

static void on_failed(uv_async_t *async)
{
    begin_stop(async->data);
}

static void on_turn(uv_prepare_t *prepare)
{
    run *r = prepare->data;
    ab_buf why = ab_buf_up_to(4096);
    if (answer_ready(&r->daemon, &why)) {
        uv_prepare_stop(prepare);
        AB_INFO(r->daemon.log, MAIN, "ready");
        ab_notify("READY=1\nSTATUS=");
    } else {
        ab_notify_waiting(ab_buf_str(&why), r->waiting);
    }
    ab_buf_fini(&why);
}

static void watch_signals(run *r)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < 3; i++) {
        uv_signal_init(&r->loop, &r->signals[i]);
        r->signals[i].data = r;
        uv_signal_start(&r->signals[i], on_signal, numbers[i]);
    }
}

static void open_handles(run *r)
{
    uv_timer_init(&r->loop, &r->deadline);
    uv_prepare_init(&r->loop, &r->readiness);
    uv_async_init(&r->loop, &r->failed, on_failed);
    ab_loop_meter_start(&r->meter, &r->loop, r->daemon.metrics);
    r->deadline.data = r;
    r->readiness.data = r;
    r->failed.data = r;
    watch_signals(r);
}

/* All but the deadline, which guards the closing of everything else. */
static void close_handles(run *r)
{
    for (size_t i = 0; i < 3; i++)
        uv_close((uv_handle_t *)&r->signals[i], NULL);
    uv_close((uv_handle_t *)&r->readiness, NULL);
    uv_close((uv_handle_t *)&r->failed, NULL);
    ab_loop_meter_close(&r->meter);
}

static ab_err open_log(run *r, ab_error *err)
{
    const ab_config *c = r->daemon.config;
    bool json = ab_config_is(c, "log.format", "json");
    return ab_log_new(STDERR_FILENO, ab_config_str(c, "log.level"),
                      json ? AB_LOG_JSON : AB_LOG_TEXT, r->daemon.clock, &r->daemon.log, err);
}

static bool start_program(run *r)
{
    ab_daemon *d = &r->daemon;
    ab_error err = {0};
    AB_INFO(d->log, MAIN, "starting", AB_KV("program", d->program->name),
            AB_KV("version", AB_VERSION));
    ab_err e = start_http(r, &err);
    if (e == AB_ERR_OK)
        e = d->program->start(d, &err);
    if (e != AB_ERR_OK) {
        AB_ERROR(d->log, MAIN, "cannot start", AB_KV("error", err.text));
        r->exit_code = EXIT_FAILED;
        return false;
    }
    uv_prepare_start(&r->readiness, on_turn);
    return true;
}

/* The loop is run once more until everything has closed; what does not is ended by the deadline. */
static void release(run *r)
{
    r->ended = true;
    int64_t timeout_ms = ab_config_int(r->first_config, "stop.timeout");
    if (!uv_is_active((uv_handle_t *)&r->deadline))
        uv_timer_start(&r->deadline, on_deadline, (uint64_t)timeout_ms, 0);
    uv_unref((uv_handle_t *)&r->deadline);
    if (r->daemon.program->free != NULL)
        r->daemon.program->free(&r->daemon);
    ab_http_server_free(r->http);
    close_handles(r);
    uv_run(&r->loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&r->deadline, NULL);
    uv_run(&r->loop, UV_RUN_DEFAULT);
    int rc = uv_loop_close(&r->loop);
    assert(rc == 0);
}

static void run_loop(run *r)
{
    open_handles(r);
    if (start_program(r))
        uv_run(&r->loop, UV_RUN_DEFAULT);
    release(r);
    AB_INFO(r->daemon.log, MAIN, "ended", AB_KV("code", r->exit_code));
}

static int complain(const run *r, const ab_error *err, int code)
{
    fprintf(stderr, "%s: %s\n", r->daemon.program->name, err->text);
    return code;
}

static void say_full(void *arg)
{
    const run *r = arg;
    AB_ERROR(r->daemon.log, MAIN,
             "metrics are incomplete: there are as many series as there may be; serve fewer agents "
             "with one process",
             AB_KV("series_max", (int64_t)AB_METRICS_SERIES_MAX));
}

static int run_daemon(run *r)
{
    ab_daemon *d = &r->daemon;
    ab_error err = {0};
    signal(SIGPIPE, SIG_IGN);
    ab_core_dumps_allow(ab_config_bool(d->config, "core-dumps"));
    d->metrics = ab_metrics_new();
    if (d->metrics == NULL || open_log(r, &err) != AB_ERR_OK ||
        ab_certificates_new(r->tables, r->table_count, d->config, d->metrics, &r->certificates) !=
            AB_ERR_OK ||
        uv_loop_init(&r->loop) != 0) {
        ab_fail(&err, AB_ERR_NOMEM, "out of memory or descriptors");
        return complain(r, &err, EXIT_FAILED);
    }
    d->loop = &r->loop;
    ab_metrics_on_full(d->metrics, say_full, r);
    ab_process_metrics(d->metrics, ab_clock_wall_us(d->clock));
    ab_label build[] = {{"version", AB_STR(AB_VERSION)}, {"commit", AB_STR(AB_COMMIT)}};
    ab_metric_set(ab_metric_get(d->metrics, AB_METRIC_GAUGE, "argobus_build_info",
                                "Always 1; the version and the commit are labels.", build, 2),
                  1);
    run_loop(r);
    return r->exit_code;
}

static int print(const ab_buf *text)
{
    ab_str s = ab_buf_str(text);
    bool whole = ab_buf_status(text) == AB_ERR_OK && fwrite(s.ptr, 1, s.len, stdout) == s.len &&
                 fflush(stdout) == 0;
    return whole ? EXIT_IN_ORDER : EXIT_FAILED;
}

/* What needs the configuration. */
static int run_with_config(run *r)
{
    ab_error err = {0};
    if (load_config(r, &r->first_config, &err) != AB_ERR_OK)
        return complain(r, &err, EXIT_USAGE);
    r->daemon.config = r->first_config;
    if (r->args.mode == AB_RUN_DAEMON)
        return run_daemon(r);
    ab_buf text = ab_buf_up_to(TEXT_MAX);
    if (r->args.mode == AB_RUN_PRINT_CONFIG)
        ab_config_print(r->daemon.config, &text);
    else
        ab_buf_printf(&text, "%s: ok\n", r->args.file == NULL ? "configuration" : r->args.file);
    int code = print(&text);
    ab_buf_wipe(&text);
    return code;
}

static int run_mode(run *r)
{
    ab_buf text = ab_buf_up_to(TEXT_MAX);
    switch (r->args.mode) {
    case AB_RUN_DAEMON:
    case AB_RUN_CHECK_CONFIG:
    case AB_RUN_PRINT_CONFIG:
        return run_with_config(r);
    case AB_RUN_PRINT_OPTIONS:
        ab_options_print_markdown(r->tables, r->table_count, &text);
        break;
    case AB_RUN_PRINT_VERSION:
        ab_buf_printf(&text, "%s %s\n", r->daemon.program->name, AB_VERSION);
        break;
    case AB_RUN_PRINT_HELP:
        ab_daemon_args_help(r->daemon.program->name, &text);
        break;
    }
    int code = print(&text);
    ab_buf_fini(&text);
    return code;
}

static void free_run(run *r)
{
    if (r->daemon.config != r->first_config)
        ab_config_free(r->daemon.config);
    ab_config_free(r->first_config);
    ab_certificates_free(r->certificates);
    ab_log_free(r->daemon.log);
    ab_metrics_free(r->daemon.metrics);
    ab_daemon_args_fini(&r->args);
    free(r);
}

/* The program may list our table for a place of its choice; it is there once in any case. */
static void collect_tables(run *r, const ab_daemon_program *program)
{
    bool listed = false;
    assert(program->table_count < TABLES_MAX);
    for (size_t i = 0; i < program->table_count; i++) {
        listed = listed || program->tables[i].rows == ab_daemon_options.rows;
        r->tables[r->table_count++] = program->tables[i];
    }
    if (!listed)
        r->tables[r->table_count++] = ab_daemon_options;
}

int ab_daemon_main(const ab_daemon_program *program, int argc, char **argv)
{
    ab_file_hold_standard();
    ab_memory_bound();
    ab_core_dumps_allow(false); /* checking the configuration reads keys */
    run *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return EXIT_FAILED;
    r->daemon = (ab_daemon){.program = program, .clock = &ab_clock_real};
    collect_tables(r, program);
    ab_error err = {0};
    int code = EXIT_USAGE;
    if (ab_daemon_args_parse(argc, argv, &r->args, &err) != AB_ERR_OK) {
        complain(r, &err, code);
    } else {
        r->sources = (ab_config_sources){r->args.file, environ, r->args.set, r->args.set_count};
        code = run_mode(r);
    }
    free_run(r);
    return code;
}

void ab_daemon_stopped(ab_daemon *d)
{
    if (!run_of(d)->ended)
        uv_stop(d->loop);
}

void ab_daemon_fatal(ab_daemon *d, const ab_error *why)
{
    run *r = run_of(d);
    AB_ERROR(d->log, MAIN, "cannot go on", AB_KV("error", why->text));
    r->exit_code = EXIT_FAILED;
    uv_async_send(&r->failed);
}
