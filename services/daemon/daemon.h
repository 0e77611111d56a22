/* SPDX-License-Identifier: Apache-2.0
 *
 * What every daemon of ours does the same way: command line, signals, readiness, order of stopping.
 */
#pragma once

#include "base/config/config.h"
#include "base/observe/log.h"
#include "base/observe/metrics.h"

#include <uv.h>

struct ab_daemon;

/* What a program gives to ab_daemon_main. All upcalls on the loop thread. */
typedef struct {
    const char *name; /* "argobus-agent" */
    const ab_options *tables;
    size_t table_count;
    /* What the table of options cannot say about a configuration that is otherwise valid: also for
     * --check-config and before a reload. @return CONFIG, with what, where and what to do. NULL:
     * nothing */
    ab_err (*check)(const ab_config *config, ab_error *err);
    /* Only for --check-config: would a start find the folders that it uses, and take the files? A
     * start finds out by itself, and may be tried again, e.g. when a disk is mounted late. @return
     * CONFIG. NULL: nothing */
    ab_err (*check_files)(const ab_config *config, ab_error *err);
    /* Build everything from the configuration and start. On error the daemon exits with code 1. */
    ab_err (*start)(struct ab_daemon *d, ab_error *err);
    /* SIGTERM or SIGINT: begin to drain; call ab_daemon_stopped when done. */
    void (*stop)(struct ab_daemon *d);
    /* SIGHUP, the configuration was re-read and is valid: d->config is the new one. `before` is
     * still in force for what is not reloadable. Texts that were borrowed in `start` stay valid,
     * those borrowed in a reload until the next one has returned. */
    void (*reload)(struct ab_daemon *d, const ab_config *before);
    /* After the loop ended, or `start` failed half-way: release everything. Handles may still be
     * closed here. */
    void (*free)(struct ab_daemon *d);
    /* Answers for /healthz and /readyz, one line of reason when false; remarks when true. */
    bool (*healthy)(struct ab_daemon *d, ab_buf *why);
    bool (*ready)(struct ab_daemon *d, ab_buf *why);
} ab_daemon_program;

typedef struct ab_daemon {
    const ab_daemon_program *program;
    uv_loop_t *loop;
    ab_config *config;
    ab_log *log;
    ab_metrics *metrics;
    const ab_clock *clock;
    void *state; /* the program's own */
} ab_daemon;

/**
 * Options every daemon has: log.level, log.format, http.address ("host:port"; "" = off),
 * stop.timeout, core-dumps. ab_daemon_main adds it to the program's own tables unless it is among
 * them.
 */
extern const ab_options ab_daemon_options;

/**
 * Run a daemon: -c FILE, --set key=value (repeatable), --check-config, --print-config,
 * --print-options, --version, --help. Exit codes: 0 ended in order, 1 failed, 2 usage or
 * configuration (message on stderr). SIGTERM and SIGINT call `stop`, a second one or stop.timeout
 * ends at once with code 1. SIGHUP reloads. Tells systemd READY=1 once `ready` first answers true,
 * until then its reason as STATUS, RELOADING and STOPPING (sd_notify(3) protocol).
 */
int ab_daemon_main(const ab_daemon_program *program, int argc, char **argv);
/** The program has drained; the loop ends. */
void ab_daemon_stopped(ab_daemon *d);
/** Something fatal happened while running: log it, stop, exit with code 1. */
void ab_daemon_fatal(ab_daemon *d, const ab_error *why);
