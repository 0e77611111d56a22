/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/live/live_viewers.h"

#include "base/core/file.h"
#include "tests/bench/live/live_pods.h"
#include "tests/bench/live/live_terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define KEY_EVERY_MS 200
#define LOOK_MS      100
#define OPEN_NS      (120 * 1000000000LL)
#define LINE_MAX_LEN 256
#define VIEWERS_MAX  512

typedef struct group group;

/* One log or list. */
typedef struct {
    group *all;
    unsigned number;
    char line[LINE_MAX_LEN]; /* that is not whole yet */
    size_t len;
    int64_t next; /* line; -1: any */
    bool begun;
} viewer;

struct group {
    const ab_bench_live_crowd *c;
    ab_bench_live_seen *seen;
    uv_loop_t loop;
    ab_http *http;
    viewer viewer[VIEWERS_MAX];
    ab_bench_live_terminal terminal[VIEWERS_MAX];
};

static bool say(const char *what, const char *why)
{
    fprintf(stderr, "argobus-bench: %s: %s\n", what, why);
    return false;
}

/* ----- logs and lists ----- */

/* TIME NUMBER TEXT */
static void take_line(viewer *v)
{
    ab_bench_live_seen *seen = v->all->seen;
    const char *space = memchr(v->line, ' ', v->len);
    int64_t number = space == NULL ? -1 : strtoll(space, NULL, 10);
    seen->lines++;
    if (v->next >= 0 && number != v->next)
        seen->disorder++;
    v->next = number + 1;
    v->len = 0;
}

static ab_err on_log(void *arg, int status, ab_str piece)
{
    viewer *v = arg;
    if (status != 200)
        return AB_ERR_OK;
    v->begun = true;
    for (size_t i = 0; i < piece.len; i++) {
        if (piece.ptr[i] == '\n')
            take_line(v);
        else if (v->len < sizeof(v->line) - 1)
            v->line[v->len++] = piece.ptr[i];
        v->line[v->len] = '\0';
    }
    return AB_ERR_OK;
}

static ab_err on_list(void *arg, int status, ab_str piece)
{
    viewer *v = arg;
    v->begun = v->begun || status == 200;
    v->all->seen->bytes += piece.len;
    return AB_ERR_OK;
}

static bool ask(viewer *v);

static void on_done(void *arg, const ab_http_result *result)
{
    viewer *v = arg;
    bool is_log = v->number < v->all->c->followers;
    bool ok = result->code == AB_ERR_OK && result->status == 200 && !is_log;
    if (ok && ask(v))
        return;
    fprintf(stderr, "argobus-bench: a viewer has seen no more: %d %s\n", result->status,
            result->err == NULL ? "" : result->err->text);
    v->all->seen->broken++;
}

static bool ask(viewer *v)
{
    const ab_bench_live_crowd *c = v->all->c;
    char url[1024], path[256], field[128], agent[32] = "";
    const char *fields[] = {field, NULL};
    bool is_log = v->number < c->followers;
    if (c->at->agents > 0)
        (void)snprintf(agent, sizeof(agent), "/agents/w%u", v->number % c->at->agents);
    (void)snprintf(path, sizeof(path),
                   AB_BENCH_LIVE_SPACE "/pods/" AB_BENCH_LIVE_POD
                                       "/log?follow=true&timestamps=true&tailLines=1",
                   c->pods == 0 ? 0 : v->number / 20 % c->pods);
    (void)snprintf(url, sizeof(url), "%s%s%s", c->at->url, agent, is_log ? path : c->list);
    (void)snprintf(field, sizeof(field), "Authorization: Bearer %s", c->at->token);
    const ab_http_request request = {.method = "GET",
                                     .url = url,
                                     .headers = c->at->token[0] == '\0' ? NULL : fields,
                                     .on_data = is_log ? on_log : on_list,
                                     .on_done = on_done,
                                     .arg = v};
    return ab_http_start(v->all->http, &request) != NULL;
}

/* ----- terminals ----- */

static void on_echo(ab_bench_live_terminal *t, double ms)
{
    group *all = t->arg;
    ab_bench_live_seen *seen = all->seen;
    if (seen->keys < AB_BENCH_LIVE_KEYS)
        seen->key_ms[seen->keys++] = ms;
}

static void type(group *all)
{
    for (unsigned i = 0; i < all->c->terminals; i++)
        ab_bench_live_terminal_type(&all->terminal[i]);
}

/* ----- the process ----- */

static bool open_http(group *all)
{
    ab_bench_live_pems pems;
    ab_error err = {0};
    ab_http_options http = {.agent = "argobus-bench", .http1 = true};
    bool ok = ab_bench_live_pems_read(all->c->at, &pems, &http);
    ok = ok && ab_http_new(&all->loop, &http, &all->http, &err) == AB_ERR_OK;
    ab_bench_live_pems_fini(&pems);
    return ok ? true : say("cannot look", err.text);
}

/* Terminals first: logs keep the machine busy, and a server does not wait long for a greeting. */
static bool open_all(group *all)
{
    const ab_bench_live_crowd *c = all->c;
    bool ok = uv_loop_init(&all->loop) == 0 && open_http(all);
    for (unsigned i = 0; i < c->terminals && ok; i++) {
        all->terminal[i] = (ab_bench_live_terminal){.on_echo = on_echo, .arg = all};
        ok = ab_bench_live_terminal_open(&all->terminal[i], &all->loop, c->at, i);
    }
    return ok;
}

static bool ask_all(group *all)
{
    const ab_bench_live_crowd *c = all->c;
    bool ok = true;
    for (unsigned i = 0; i < c->followers + c->listers && ok; i++) {
        all->viewer[i] = (viewer){.all = all, .number = i, .next = -1};
        ok = ask(&all->viewer[i]);
    }
    return ok;
}

static unsigned count_begun(const group *all)
{
    unsigned count = 0;
    for (unsigned i = 0; i < all->c->followers + all->c->listers; i++)
        count += all->viewer[i].begun;
    for (unsigned i = 0; i < all->c->terminals; i++)
        count += all->terminal[i].open;
    return count;
}

static void on_tick(uv_timer_t *tick)
{
    group *all = tick->data;
    unsigned begun = count_begun(all);
    if (begun == all->c->terminals && all->viewer[0].all == NULL && !ask_all(all))
        uv_stop(&all->loop);
    type(all);
    __atomic_store_n(&all->seen->begun, begun, __ATOMIC_RELEASE);
    if (__atomic_load_n(&all->seen->leave, __ATOMIC_ACQUIRE))
        uv_stop(&all->loop);
}

static int look(const void *arg)
{
    const ab_bench_live_viewers *v = ((const void *const *)arg)[0];
    group *all = calloc(1, sizeof(*all));
    uv_timer_t tick;
    if (all == NULL)
        return 1;
    all->c = ((const void *const *)arg)[1];
    all->seen = v->seen;
    if (!open_all(all))
        return 1;
    (void)uv_timer_init(&all->loop, &tick);
    tick.data = all;
    (void)uv_timer_start(&tick, on_tick, KEY_EVERY_MS, KEY_EVERY_MS);
    (void)uv_run(&all->loop, UV_RUN_DEFAULT);
    for (unsigned i = 0; i < all->c->terminals; i++)
        all->seen->broken += all->terminal[i].ended;
    return all->seen->broken == 0 ? 0 : 1; /* whose end is that of all else */
}

bool ab_bench_live_viewers_start(ab_bench_live_viewers *v, const ab_bench_live_crowd *crowd)
{
    const void *const both[] = {v, crowd};
    unsigned all = crowd->followers + crowd->terminals + crowd->listers;
    int64_t end = ab_bench_now_ns() + OPEN_NS;
    *v = (ab_bench_live_viewers){.seen = mmap(NULL, sizeof(*v->seen), PROT_READ | PROT_WRITE,
                                              MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
    if (v->seen == MAP_FAILED) {
        v->seen = NULL;
        return say("viewers", "out of memory");
    }
    v->pid = ab_bench_fork(look, both);
    while (__atomic_load_n(&v->seen->begun, __ATOMIC_ACQUIRE) < all) {
        if (ab_bench_now_ns() > end)
            return say("viewers", "not all of them see something");
        ab_bench_pause(LOOK_MS);
    }
    return true;
}

bool ab_bench_live_viewers_end(ab_bench_live_viewers *v)
{
    if (v->seen == NULL)
        return false;
    __atomic_store_n(&v->seen->leave, true, __ATOMIC_RELEASE);
    return ab_bench_wait(v->pid) ? true : say("viewers", "not all of them saw all");
}

void ab_bench_live_viewers_free(ab_bench_live_viewers *v)
{
    if (v->seen != NULL)
        (void)munmap(v->seen, sizeof(*v->seen));
    v->seen = NULL;
}
