/* SPDX-License-Identifier: Apache-2.0
 *
 * A store that a script drives: `store_driver key=value...` takes the configuration, reads a call
 * from each line of its input and writes what is reported as lines of JSON. It stops when its input
 * ends.
 *
 *   apply JSON | create JSON | update JSON      done
 *   status KEY VERSION JSON                     done ("-": no version)
 *   remove KEY [UID] | get KEY                  done
 */
#include "store/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES (4u * 1024 * 1024)

typedef struct {
    uv_loop_t loop;
    uv_pipe_t input;
    ab_config *config;
    ab_metrics *metrics;
    ab_log *log;
    ab_store *store;
    ab_buf line;
    uint64_t calls;
    bool stopped;
} driver;

typedef struct {
    driver *d;
    uint64_t number;
} call;

static void print_line(ab_buf *line)
{
    assert(ab_buf_status(line) == AB_ERR_OK);
    (void)printf("%s\n", line->ptr);
    (void)fflush(stdout);
    ab_buf_fini(line);
}

static void put_object(ab_spanw *w, const ab_object *object)
{
    if (object == NULL)
        return;
    ab_spanw_key_str(w, "key", ab_str_of(ab_object_key(object)));
    ab_spanw_key_raw(w, "object", ab_span_raw(ab_object_json(object)));
}

static void on_change(void *arg, ab_store_change change, ab_object *object)
{
    static const char *const names[] = {"seen",   "deleted",     "absent",   "listed",
                                        "synced", "interrupted", "replaced", "resumed"};
    ab_buf line;
    (void)arg;
    ab_buf_init(&line, LINE_MAX_BYTES);
    ab_spanw w = ab_spanw_to(&line);
    ab_spanw_object(&w);
    ab_spanw_key_str(&w, "change", ab_str_of(names[change]));
    put_object(&w, object);
    ab_spanw_object_end(&w);
    print_line(&line);
}

static void on_fault(void *arg, const char *where, const ab_error *err)
{
    ab_buf line;
    (void)arg;
    ab_buf_init(&line, LINE_MAX_BYTES);
    ab_spanw w = ab_spanw_to(&line);
    ab_spanw_object(&w);
    ab_spanw_key_str(&w, "fault", ab_str_of(err->text));
    ab_spanw_key_str(&w, "where", ab_str_of(where));
    ab_spanw_key_str(&w, "code", ab_str_of(ab_err_text(err->code)));
    ab_spanw_object_end(&w);
    print_line(&line);
}

static void on_done(void *arg, ab_err code, ab_object *object, const ab_error *err)
{
    call *c = arg;
    ab_buf line;
    ab_buf_init(&line, LINE_MAX_BYTES);
    ab_spanw w = ab_spanw_to(&line);
    ab_spanw_object(&w);
    ab_spanw_key(&w, AB_STR("done"));
    ab_spanw_int(&w, (int64_t)c->number);
    ab_spanw_key_str(&w, "code", ab_str_of(ab_err_text(code)));
    ab_spanw_key_str(&w, "text", ab_str_of(err == NULL ? "" : err->text));
    put_object(&w, object);
    ab_spanw_object_end(&w);
    print_line(&line);
    free(c);
}

/* --- calls --- */

static call *new_call(driver *d)
{
    call *c = calloc(1, sizeof(*c));
    assert(c != NULL);
    c->d = d;
    c->number = d->calls++;
    return c;
}

static void apply(driver *d, const char *json, ab_store_condition condition)
{
    ab_object *object = NULL;
    ab_error err = {0};
    if (ab_object_parse(ab_str_of(json), &object, &err) != AB_ERR_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    ab_store_apply(d->store, object, &condition, on_done, new_call(d));
    ab_object_unref(object);
}

/* The text up to the next space, which ends it; `*rest` is what follows, empty at the end. */
static char *word(char **rest)
{
    char *start = *rest;
    char *space = strchr(start, ' ');
    *rest = space == NULL ? start + strlen(start) : space + 1;
    if (space != NULL)
        *space = '\0';
    return start;
}

static void run(driver *d, char *line)
{
    char *rest = line;
    const char *verb = word(&rest);
    if (strcmp(verb, "apply") == 0)
        apply(d, rest, (ab_store_condition){0});
    else if (strcmp(verb, "create") == 0)
        apply(d, rest, (ab_store_condition){.must_not_exist = true});
    else if (strcmp(verb, "update") == 0)
        apply(d, rest, (ab_store_condition){.must_exist = true});
    else if (strcmp(verb, "status") == 0) {
        ab_str key = ab_str_of(word(&rest));
        ab_str version = ab_str_of(word(&rest));
        if (ab_str_is(version, "-"))
            version = AB_STR_NONE;
        ab_store_patch_status(d->store, key, ab_str_of(rest), version, NULL, on_done, new_call(d));
    } else if (strcmp(verb, "remove") == 0) {
        ab_str key = ab_str_of(word(&rest));
        ab_store_condition condition = {.uid = *rest == '\0' ? AB_STR_NONE : ab_str_of(rest)};
        ab_store_remove(d->store, key, &condition, AB_PROPAGATE_BACKGROUND, on_done, new_call(d));
    } else {
        assert(strcmp(verb, "get") == 0);
        ab_store_get(d->store, ab_str_of(rest), on_done, new_call(d));
    }
}

/* --- input --- */

static void on_stopped(void *arg)
{
    driver *d = arg;
    d->stopped = true;
    uv_stop(&d->loop);
}

static void on_room(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    static char room[64 * 1024];
    (void)handle;
    (void)size;
    *buf = uv_buf_init(room, sizeof(room));
}

static void on_input(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
    driver *d = stream->data;
    if (count < 0) {
        uv_close((uv_handle_t *)&d->input, NULL);
        ab_store_stop(d->store, on_stopped, d);
        return;
    }
    for (ssize_t i = 0; i < count; i++) {
        if (buf->base[i] != '\n') {
            ab_buf_putc(&d->line, buf->base[i]);
            continue;
        }
        run(d, d->line.ptr);
        ab_buf_clear(&d->line);
    }
}

static void open_input(driver *d)
{
    int failed = uv_pipe_init(&d->loop, &d->input, 0);
    failed |= uv_pipe_open(&d->input, STDIN_FILENO);
    d->input.data = d;
    failed |= uv_read_start((uv_stream_t *)&d->input, on_room, on_input);
    assert(failed == 0);
    (void)failed;
}

static ab_err open_store(driver *d, int argc, char **argv, ab_error *err)
{
    static const ab_store_watch watches[] = {{.kind = "Application"}, {.kind = "Secret"}, {0}};
    const ab_config_sources sources = {.set = (const char *const *)argv + 1,
                                       .set_count = (size_t)argc - 1};
    ab_err e = ab_config_load(&ab_store_options, 1, &sources, &d->config, err);
    if (e == AB_ERR_OK)
        e = ab_log_new(STDERR_FILENO, "debug", AB_LOG_TEXT, &ab_clock_real, &d->log, err);
    if (e != AB_ERR_OK)
        return e;
    const ab_store_env env = {.loop = &d->loop,
                              .config = d->config,
                              .log = d->log,
                              .metrics = d->metrics,
                              .clock = &ab_clock_real,
                              .watches = watches,
                              .events = {on_change, on_fault, d}};
    e = ab_store_new(&env, &d->store, err);
    return e == AB_ERR_OK ? ab_store_start(d->store, err) : e;
}

int main(int argc, char **argv)
{
    static driver d;
    ab_error err = {0};
    int failed = uv_loop_init(&d.loop);
    d.metrics = ab_metrics_new();
    assert(failed == 0 && d.metrics != NULL);
    (void)failed;
    ab_buf_init(&d.line, LINE_MAX_BYTES);
    if (open_store(&d, argc, argv, &err) != AB_ERR_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    open_input(&d);
    while (!d.stopped)
        (void)uv_run(&d.loop, UV_RUN_DEFAULT);
    ab_store_free(d.store);
    (void)uv_run(&d.loop, UV_RUN_DEFAULT);
    failed = uv_loop_close(&d.loop);
    ab_buf_fini(&d.line);
    ab_log_free(d.log);
    ab_metrics_free(d.metrics);
    ab_config_free(d.config);
    return failed == 0 ? 0 : 1;
}
