/* SPDX-License-Identifier: Apache-2.0
 *
 * Kubernetes restarts a process whose probes are not answered, so no client may keep others from
 * being served. The HTTPS server sees to that for clients that send no request (https_server.h).
 * Here each answer ends its connection, so that nobody stays by asking again, and only a few
 * answers may be long: those of /metrics, which are rendered as their clients read them, and of
 * which the oldest gives way when there are many. Rendering the whole text first would hold it in
 * memory for each client that does not read.
 */
#include "net/http/server.h"

#include "net/http/https_server.h"

#include <stdlib.h>
#include <sys/queue.h>

#define SCRAPES_MAX   16
#define PORTION_BYTES (32u * 1024) /* of metrics in one turn of the loop: 1 ms */
#define PORTION_MAX   (1024u * 1024)
#define TIMEOUT_MS    5000

static const ab_https_limits limits = {
    .connections = 256,
    .head_bytes = 8192,
    .send_bytes = PORTION_BYTES, /* one portion waits for the client */
    .grace_ms = 50,
    .head_ms = TIMEOUT_MS,
    .body_ms = TIMEOUT_MS,
    .idle_ms = TIMEOUT_MS,
    .stall_ms = TIMEOUT_MS,
};

struct ab_http_server {
    ab_https_server *https;
    ab_http_probes probes;
    ab_metrics *metrics;
    TAILQ_HEAD(, scrape) scrapes; /* under way, the oldest first */
    unsigned count;               /* of them */
};

/* One request of /metrics. */
typedef struct scrape {
    TAILQ_ENTRY(scrape) at;
    ab_http_server *server; /* NULL: it was cut, and its connection ends */
    ab_https_request *request;
    ab_rendering rendering;
    ab_buf portion; /* was rendered, and is not sent */
    bool more;      /* follows it */
} scrape;

/* ---- short answers ---- */

static void ignore_over(void *arg, ab_err why, unsigned close_code)
{
    (void)arg;
    (void)why;
    (void)close_code;
}

static void answer(ab_https_request *r, int status, ab_str text)
{
    static const ab_https_handler nobody = {.on_over = ignore_over};
    ab_https_take(r, &nobody, NULL);
    if (ab_https_reply(r, status, "text/plain; charset=utf-8", text) != AB_ERR_OK)
        ab_https_abort(r);
}

static void answer_probe(ab_https_request *r, bool (*probe)(void *, ab_buf *), void *arg)
{
    ab_buf why = ab_buf_up_to(4096);
    ab_buf text = ab_buf_up_to(8192);
    bool good = probe(arg, &why);
    bool says = why.len > 0 && why.ptr != NULL;
    if (good || !says)
        ab_buf_puts(&text, good ? "ok\n" : "no\n");
    if (says)
        ab_buf_printf(&text, "%s\n", why.ptr);
    answer(r, good ? 200 : 503, ab_buf_str(&text));
    ab_buf_fini(&why);
    ab_buf_fini(&text);
}

/* ---- metrics ---- */

/* A portion is rendered ahead and waits until the client has taken the one before. */
static void send_metrics(void *arg)
{
    scrape *x = arg;
    ab_err e = ab_https_send(x->request, ab_buf_str(&x->portion));
    while (e == AB_ERR_OK && x->more) {
        ab_buf_clear(&x->portion);
        x->more = ab_metrics_render(x->server->metrics, &x->rendering, &x->portion, PORTION_BYTES);
        e = ab_buf_status(&x->portion);
        if (e == AB_ERR_OK)
            e = ab_https_send(x->request, ab_buf_str(&x->portion));
    }
    if (e == AB_ERR_OK)
        ab_https_finish(x->request);
    else if (e != AB_ERR_FULL)
        ab_https_abort(x->request);
}

static void leave(scrape *x)
{
    if (x->server == NULL)
        return;
    TAILQ_REMOVE(&x->server->scrapes, x, at);
    x->server->count--;
    x->server = NULL;
}

static void end_metrics(void *arg, ab_err why, unsigned close_code)
{
    scrape *x = arg;
    (void)why;
    (void)close_code;
    leave(x);
    ab_rendering_fini(&x->rendering);
    ab_buf_fini(&x->portion);
    free(x);
}

/* The newest is served: a scraper that reads is done long before 16 others have come, and one that
 * does not read must not keep a monitoring system out. */
static void make_room(ab_http_server *s)
{
    if (s->count < SCRAPES_MAX)
        return;
    scrape *oldest = TAILQ_FIRST(&s->scrapes);
    ab_https_abort(oldest->request);
    leave(oldest);
}

static void answer_metrics(ab_http_server *s, ab_https_request *r)
{
    static const ab_https_handler handler = {.on_writable = send_metrics, .on_over = end_metrics};
    const ab_http_field type = {AB_STR("content-type"),
                                AB_STR("text/plain; version=0.0.4; charset=utf-8")};
    scrape *x = calloc(1, sizeof(*x));
    if (x == NULL) {
        answer(r, 503, AB_STR("out of memory\n"));
        return;
    }
    make_room(s);
    TAILQ_INSERT_TAIL(&s->scrapes, x, at);
    s->count++;
    x->server = s;
    x->request = r;
    x->more = true;
    ab_buf_init(&x->portion, PORTION_MAX);
    ab_https_take(r, &handler, x);
    if (ab_https_answer(r, 200, &type, 1, -1) == AB_ERR_OK)
        send_metrics(x);
    else
        ab_https_abort(r);
}

/* ---- requests ---- */

static void on_request(void *arg, ab_https_request *r, const ab_https_info *info)
{
    ab_http_server *s = arg;
    ab_str path = info->head->path;
    if (!ab_str_is(info->head->method, "GET"))
        answer(r, 405, AB_STR("only GET is supported\n"));
    else if (ab_str_is(path, "/healthz"))
        answer_probe(r, s->probes.healthy, s->probes.arg);
    else if (ab_str_is(path, "/readyz"))
        answer_probe(r, s->probes.ready, s->probes.arg);
    else if (ab_str_is(path, "/metrics"))
        answer_metrics(s, r);
    else
        answer(r, 404, AB_STR("not found: try /healthz, /readyz or /metrics\n"));
}

ab_err ab_http_server_start(uv_loop_t *loop, const char *host, int port,
                            const ab_http_probes *probes, ab_metrics *metrics, ab_log *log,
                            ab_http_server **out, ab_error *err)
{
    const ab_tls plain = {.insecure = true};
    ab_http_server *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    s->probes = *probes;
    s->metrics = metrics;
    TAILQ_INIT(&s->scrapes);
    ab_err e = ab_https_server_start(loop,
                                     &(ab_https_options){.host = host,
                                                         .port = port,
                                                         .tls = &plain,
                                                         .limits = &limits,
                                                         .on_request = on_request,
                                                         .arg = s,
                                                         .one_request = true,
                                                         .log = log},
                                     &s->https, err);
    if (e == AB_ERR_OK)
        *out = s;
    else
        free(s);
    return e;
}

int ab_http_server_port(const ab_http_server *s)
{
    return ab_https_server_port(s->https);
}

void ab_http_server_free(ab_http_server *s)
{
    if (s == NULL)
        return;
    ab_https_server_free(s->https);
    free(s);
}
