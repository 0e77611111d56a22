/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/live/live_terminal.h"

#include "base/core/file.h"
#include "tests/bench/base/api.h"
#include "tests/bench/live/live_pods.h"

#include <stdio.h>
#include <string.h>

#define WAIT_MS 20000
#define STDOUT  1 /* a channel */
#define PEM_MAX (64 * 1024)
#define COMMAND                                                                                    \
    AB_BENCH_LIVE_SPACE "/pods/" AB_BENCH_LIVE_SHELL                                               \
                        "/exec?container=main&stdin=true&stdout=true&stderr=false&tty=true"        \
                        "&command=cat"

static bool say(const char *what, const char *why)
{
    fprintf(stderr, "argobus-bench: %s: %s\n", what, why);
    return false;
}

static void on_open(void *arg, const char *protocol)
{
    ab_bench_live_terminal *t = arg;
    (void)protocol;
    t->open = true;
}

/* The terminal itself sends back what is typed. */
static void on_message(void *arg, ab_str piece, bool ends)
{
    ab_bench_live_terminal *t = arg;
    (void)ends;
    if (piece.len < 2 || piece.ptr[0] != STDOUT || t->typed_ns == 0)
        return;
    double ms = (double)(ab_bench_now_ns() - t->typed_ns) / 1e6;
    t->typed_ns = 0;
    t->on_echo(t, ms);
}

static void on_end(void *arg, const ab_websocket_end *end)
{
    ab_bench_live_terminal *t = arg;
    fprintf(stderr, "argobus-bench: a terminal has ended: %s %.*s %u %.*s\n",
            end->code == AB_ERR_OK ? "closed" : end->err->text, AB_STR_ARG(end->body),
            end->close_code, AB_STR_ARG(end->close_text));
    t->socket = NULL;
    t->ended = true;
}

static bool read_pem(const char *path, ab_buf *out)
{
    ab_error err = {0};
    return path[0] == '\0' || ab_file_read(path, out, NULL, &err) == AB_ERR_OK
               ? true
               : say("cannot read a certificate", err.text);
}

bool ab_bench_live_pems_read(const ab_bench_live_at *at, ab_bench_live_pems *out,
                             ab_http_options *http)
{
    ab_buf_init(&out->ca, PEM_MAX);
    ab_buf_init(&out->cert, PEM_MAX);
    ab_buf_init(&out->key, PEM_MAX);
    bool ok = read_pem(at->ca, &out->ca) && read_pem(at->cert, &out->cert) &&
              read_pem(at->key, &out->key);
    http->ca = ab_buf_str(&out->ca);
    http->cert = out->cert.len > 0 ? ab_buf_str(&out->cert) : AB_STR_NONE;
    http->key = out->key.len > 0 ? ab_buf_str(&out->key) : AB_STR_NONE;
    return ok;
}

void ab_bench_live_pems_fini(ab_bench_live_pems *p)
{
    ab_buf_fini(&p->ca);
    ab_buf_fini(&p->cert);
    ab_buf_fini(&p->key);
}

bool ab_bench_live_terminal_open(ab_bench_live_terminal *t, uv_loop_t *loop,
                                 const ab_bench_live_at *at, unsigned number)
{
    static const char *const protocols[] = {"v5.channel.k8s.io", "v4.channel.k8s.io", NULL};
    char url[1024], field[128], agent[32] = "";
    const char *fields[] = {field, NULL};
    ab_error err = {0};
    ab_bench_live_pems pems;
    ab_http_options http = {.agent = "argobus-bench"};
    bool ok = ab_bench_live_pems_read(at, &pems, &http);
    if (at->agents > 0)
        (void)snprintf(agent, sizeof(agent), "/agents/w%u", number % at->agents);
    (void)snprintf(url, sizeof(url), "%s%s" COMMAND, at->url, agent);
    (void)snprintf(field, sizeof(field), "Authorization: Bearer %s", at->token);
    const ab_websocket_request request = {.http = &http,
                                          .url = url,
                                          .headers = at->token[0] == '\0' ? NULL : fields,
                                          .protocols = protocols,
                                          .on_open = on_open,
                                          .on_message = on_message,
                                          .on_end = on_end,
                                          .arg = t};
    ok = ok && ab_websocket_start(loop, &request, &t->socket, &err) == AB_ERR_OK;
    ab_bench_live_pems_fini(&pems);
    return ok ? true : say("cannot open a terminal", err.text);
}

void ab_bench_live_terminal_type(ab_bench_live_terminal *t)
{
    if (!t->open || t->ended || t->typed_ns != 0)
        return;
    t->typed_ns = ab_bench_now_ns();
    if (ab_websocket_send(t->socket, (ab_str){"\0x", 2}) != AB_ERR_OK)
        t->ended = true;
}

void ab_bench_live_terminal_close(ab_bench_live_terminal *t)
{
    if (t->socket != NULL)
        ab_websocket_cancel(t->socket);
    t->socket = NULL;
}

/* ----- live.key ----- */

static void on_echo(ab_bench_live_terminal *t, double ms)
{
    *(double *)t->arg = ms;
}

static bool is_ready(const void *arg)
{
    const ab_bench_live_terminal *t = arg;
    return t->ended || (t->open && t->typed_ns == 0);
}

static bool wait_ready(uv_loop_t *loop, const ab_bench_live_terminal *t)
{
    if (!ab_bench_until(loop, is_ready, t, WAIT_MS))
        return say("a terminal", "a key does not show");
    return !t->ended;
}

static bool time_keys(const ab_bench_live_at *at, ab_bench_live_times *out)
{
    uv_loop_t loop;
    ab_bench_live_terminal t = {.on_echo = on_echo};
    if (uv_loop_init(&loop) != 0)
        return say("a terminal", "out of memory");
    bool ok = ab_bench_live_terminal_open(&t, &loop, at, 0) && wait_ready(&loop, &t);
    for (size_t i = 0; i < sizeof(out->ms) / sizeof(out->ms[0]) && ok; i++) {
        t.arg = &out->ms[i];
        ab_bench_live_terminal_type(&t);
        ok = wait_ready(&loop, &t);
    }
    ab_bench_live_terminal_close(&t);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&loop);
    return ok;
}

bool ab_bench_live_key(const ab_bench_live_case *c)
{
    static ab_bench_live_times bare, ours;
    bool ok = ab_bench_live_pod_start(c, AB_BENCH_LIVE_SHELL, AB_BENCH_LIVE_SLEEP) &&
              time_keys(&c->bare, &bare) && time_keys(&c->through, &ours);
    if (ok)
        ab_bench_live_report(c, "live.key", &ours, &bare);
    return ab_bench_live_pod_stop(c, AB_BENCH_LIVE_SHELL) && ok;
}
