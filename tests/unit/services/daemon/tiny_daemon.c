/* SPDX-License-Identifier: Apache-2.0
 *
 * A daemon that does nothing but what daemon_test.c asks of it by its options.
 */
#include "services/daemon/daemon.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

static const ab_option option_rows[] = {
    {.name = "tiny.start",
     .kind = AB_OPT_ENUM,
     .deflt = "ok",
     .choices = "ok|fail|fatal",
     .help = "What starting does."},
    {.name = "tiny.stop",
     .kind = AB_OPT_ENUM,
     .deflt = "drain",
     .choices = "drain|never",
     .help = "What stopping does."},
    {.name = "tiny.ready", .kind = AB_OPT_BOOL, .deflt = "true", .help = "Whether it gets ready."},
    {.name = "tiny.word",
     .kind = AB_OPT_STRING,
     .deflt = "none",
     .reloadable = true,
     .help = "Logged at start and after a reload."},
    {.name = "tiny.fixed", .kind = AB_OPT_INT, .deflt = "1", .help = "Needs a restart."},
};
static const ab_options tables[] = {{option_rows, sizeof(option_rows) / sizeof(option_rows[0])}};

static void log_word(ab_daemon *d)
{
    AB_INFO(d->log, MAIN, "word", AB_KV("word", ab_config_str(d->config, "tiny.word")));
}

/* Where a program would read its keys. */
static ab_err check(const ab_config *config, ab_error *err)
{
    (void)config;
    return prctl(PR_GET_DUMPABLE, 0UL, 0UL, 0UL, 0UL) == 0
               ? AB_ERR_OK
               : ab_fail(err, AB_ERR_CONFIG, "a crash would write the keys into a core dump");
}

static ab_err start(ab_daemon *d, ab_error *err)
{
    const char *how = ab_config_str(d->config, "tiny.start");
    log_word(d);
    AB_INFO(d->log, MAIN, "dumpable", AB_KV("value", prctl(PR_GET_DUMPABLE, 0UL, 0UL, 0UL, 0UL)));
    if (strcmp(how, "fail") == 0)
        return ab_fail(err, AB_ERR_UNAVAILABLE, "told to fail");
    if (strcmp(how, "fatal") == 0) {
        ab_error why = {0};
        (void)ab_fail(&why, AB_ERR_FATAL, "told to die");
        ab_daemon_fatal(d, &why);
    }
    uv_timer_t *timer = calloc(1, sizeof(*timer));
    if (timer == NULL)
        return AB_ERR_NOMEM;
    uv_timer_init(d->loop, timer);
    d->state = timer;
    return AB_ERR_OK;
}

/* Draining takes a moment, as it does in life. */
static void drained(uv_timer_t *timer)
{
    ab_daemon *d = timer->data;
    AB_INFO(d->log, MAIN, "drained");
    ab_daemon_stopped(d);
}

static void stop(ab_daemon *d)
{
    uv_timer_t *timer = d->state;
    timer->data = d;
    if (strcmp(ab_config_str(d->config, "tiny.stop"), "drain") == 0)
        uv_timer_start(timer, drained, 1, 0);
}

static void reload(ab_daemon *d, const ab_config *before)
{
    AB_INFO(d->log, MAIN, "word before", AB_KV("word", ab_config_str(before, "tiny.word")));
    log_word(d);
}

static void on_timer_closed(uv_handle_t *timer)
{
    free(timer);
}

static void release(ab_daemon *d)
{
    AB_INFO(d->log, MAIN, "released");
    if (d->state != NULL)
        uv_close(d->state, on_timer_closed);
}

static bool ready(ab_daemon *d, ab_buf *why)
{
    ab_buf_puts(why, "tiny.ready is false");
    return ab_config_bool(d->config, "tiny.ready");
}

int main(int argc, char **argv)
{
    static const ab_daemon_program program = {
        .name = "tiny-daemon",
        .tables = tables,
        .table_count = 1,
        .check = check,
        .start = start,
        .stop = stop,
        .reload = reload,
        .free = release,
        .ready = ready,
    };
    return ab_daemon_main(&program, argc, argv);
}
