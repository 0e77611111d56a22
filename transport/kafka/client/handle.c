/* SPDX-License-Identifier: Apache-2.0
 *
 * Destroying an instance waits for its threads, and for ever when librdkafka has lost count of who
 * uses a broker. So it happens in a thread of its own, which can be left behind.
 */
#include "transport/kafka/client/handle.h"

#include "transport/kafka/client/errors.h"
#include "transport/kafka/client/threads.h"
#include "transport/kafka/client/unassign.h"
#include "transport/kafka/settings/oauth.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* For one handle in one turn of the loop, so that at a start others than the logs are heard too. */
#define WORK_NS 1000000
/* For all handles in one turn; then the loop sees to its other business. */
#define TURN_NS 4000000

struct ab_kafka_handle {
    uv_poll_t poll;
    int fd;
    bool closed;
    bool serving;
    bool ready;                      /* in host.ready: there may be events in its queue */
    TAILQ_ENTRY(ab_kafka_handle) at; /* in there */
    uint64_t spent_ms;               /* the turn of the loop in which it last used up its time */
    rd_kafka_t *rk;
    rd_kafka_queue_t *queue;
    ab_kafka_host *host;
    ab_kafka_on_event on_event;
    void *arg;
    void (*gone)(void *arg); /* may be NULL */
    void *gone_arg;
};

static void run_job(uv_work_t *work)
{
    ab_kafka_job *job = work->data;
    job->run(job);
}

static void after_job(uv_work_t *work, int status)
{
    (void)status; /* jobs are never cancelled */
    ab_kafka_job *job = work->data;
    ab_kafka_host *host = job->host;
    job->done(job);
    host->jobs--;
}

void ab_kafka_host_init(ab_kafka_host *host, uv_loop_t *loop, ab_log *log, const ab_clock *clock)
{
    *host = (ab_kafka_host){.loop = loop, .log = log, .clock = clock};
    TAILQ_INIT(&host->graves);
    TAILQ_INIT(&host->ready);
}

void ab_kafka_job_start(ab_kafka_host *host, ab_kafka_job *job)
{
    job->work.data = job;
    job->host = host;
    uv_queue_work(host->loop, &job->work, run_job, after_job); /* fails only without run_job */
    host->jobs++;
}

/* "All brokers are down" follows what each of them failed of, and does not say it. */
static void keep_reason(ab_kafka_host *host, rd_kafka_resp_err_t code, const char *text)
{
    bool of_a_connection = code == RD_KAFKA_RESP_ERR__TRANSPORT ||
                           code == RD_KAFKA_RESP_ERR__RESOLVE || code == RD_KAFKA_RESP_ERR__SSL ||
                           code == RD_KAFKA_RESP_ERR__AUTHENTICATION;
    if (of_a_connection)
        snprintf(host->broker_why, sizeof(host->broker_why), "%s", text);
}

/* Brokers say of every certificate that they refuse no more than that it is unknown. */
static const char *advice_on(const char *text)
{
    return text != NULL && ab_kafka_is_about_our_certificate(text)
               ? "the broker refuses our certificate, or wants one and got none: correct "
                 "kafka.tls.cert, for which argobusctl check says what is wrong: "
               : "";
}

void ab_kafka_host_error(ab_kafka_host *host, rd_kafka_resp_err_t code, const char *reason)
{
    char text[AB_ERROR_TEXT_MAX];
    (void)snprintf(text, sizeof(text), "%s%s", advice_on(reason), reason == NULL ? "" : reason);
    keep_reason(host, code, text);
    if (ab_kafka_is_down(code)) {
        host->broker = code;
        host->downs++;
    }
    int64_t held = 0;
    if (!ab_limiter_pass(&host->limiter, "error", rd_kafka_err2name(code),
                         ab_clock_mono_ms(host->clock), &held))
        return;
    AB_WARN(host->log, KAFKA, "Kafka error", AB_KV("error", rd_kafka_err2name(code)),
            AB_KV("text", text), AB_KV("held_back", held));
}

/* librdkafka's levels are syslog's: 3 error, 4 warning, 5 notice, 6 info. What a connection has
 * failed of (FAIL) comes as an error event with the same text, too. */
static ab_log_level level_of(int syslog, const char *facility)
{
    if (strcmp(facility, "FAIL") == 0)
        return AB_LOG_DEBUG;
    if (syslog <= 3)
        return AB_LOG_ERROR;
    if (syslog == 4)
        return AB_LOG_WARN;
    return syslog == 5 ? AB_LOG_INFO : AB_LOG_DEBUG;
}

static void forward_log(ab_kafka_host *host, rd_kafka_event_t *event)
{
    const char *facility = NULL;
    const char *text = NULL;
    int syslog = 0;
    if (rd_kafka_event_log(event, &facility, &text, &syslog) != 0)
        return;
    ab_log_level level = level_of(syslog, facility);
    int64_t held = 0;
    if (level != AB_LOG_DEBUG &&
        !ab_limiter_pass(&host->limiter, "log", facility, ab_clock_mono_ms(host->clock), &held))
        return;
    AB_LOG(host->log, KAFKA, level, "librdkafka says", AB_KV("facility", facility),
           AB_KV("text", text), AB_KV("held_back", held));
}

static void give_out(ab_kafka_handle *h, rd_kafka_event_t *event)
{
    if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_LOG)
        forward_log(h->host, event);
    else
        h->on_event(h->arg, h, event);
    rd_kafka_event_destroy(event);
}

struct ab_kafka_grave {
    TAILQ_ENTRY(ab_kafka_grave) at;
    rd_kafka_t *rk;
    void (*gone)(void *arg);
    void *gone_arg;
    atomic_bool empty;
    atomic_int refs; /* the host's and the thread's */
};

static void leave_grave(ab_kafka_grave *g)
{
    if (atomic_fetch_sub(&g->refs, 1) == 1)
        free(g);
}

static void *destroy(void *arg)
{
    ab_kafka_grave *g = arg;
    if (rd_kafka_type(g->rk) == RD_KAFKA_CONSUMER)
        (void)ab_kafka_unassign_all(g->rk); /* or it ends as it is */
    /* Without leaving its group: a static member that returns soon is let in at once. */
    rd_kafka_destroy_flags(g->rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    g->empty = true;
    leave_grave(g);
    return NULL;
}

static ab_err bury(const ab_kafka_handle *h)
{
    ab_kafka_grave *g = calloc(1, sizeof(*g));
    if (g == NULL)
        return AB_ERR_NOMEM;
    g->rk = h->rk;
    g->gone = h->gone;
    g->gone_arg = h->gone_arg;
    g->refs = 2;
    pthread_t thread;
    if (pthread_create(&thread, NULL, destroy, g) != 0) {
        free(g);
        return AB_ERR_FATAL;
    }
    pthread_detach(thread);
    TAILQ_INSERT_TAIL(&h->host->graves, g, at);
    return AB_ERR_OK;
}

static void forget(ab_kafka_host *host, bool all)
{
    ab_kafka_grave *next = NULL;
    for (ab_kafka_grave *g = TAILQ_FIRST(&host->graves); g != NULL; g = next) {
        next = TAILQ_NEXT(g, at);
        if (!all && !g->empty)
            continue;
        TAILQ_REMOVE(&host->graves, g, at);
        if (g->empty && g->gone != NULL)
            g->gone(g->gone_arg);
        leave_grave(g);
    }
}

bool ab_kafka_host_reap(ab_kafka_host *host)
{
    forget(host, false);
    return host->closing == 0 && TAILQ_EMPTY(&host->graves);
}

void ab_kafka_host_abandon(ab_kafka_host *host)
{
    forget(host, true);
}

static void on_poll_closed(uv_handle_t *poll)
{
    ab_kafka_handle *h = poll->data;
    close(h->fd);
    rd_kafka_queue_destroy(h->queue);
    if (bury(h) != AB_ERR_OK)
        AB_ERROR(h->host->log, KAFKA, "cannot start a thread: a Kafka handle leaks");
    h->host->closing--;
    free(h);
}

static void close_now(ab_kafka_handle *h)
{
    rd_kafka_queue_io_event_enable(h->queue, -1, NULL, 0);
    uv_close((uv_handle_t *)&h->poll, on_poll_closed);
}

void ab_kafka_handle_wake(const ab_kafka_handle *h)
{
    const uint64_t one = 1;
    /* It can only fail when the counter is full, and then it wakes anyway. */
    ssize_t n = write(h->fd, &one, sizeof(one));
    (void)n;
}

/* The first of those that are ready comes back to the loop for all of them. */
static void wake_first(const ab_kafka_host *host)
{
    if (!TAILQ_EMPTY(&host->ready))
        ab_kafka_handle_wake(TAILQ_FIRST(&host->ready));
}

static void become_ready(ab_kafka_handle *h)
{
    if (h->ready || h->closed)
        return;
    h->ready = true;
    TAILQ_INSERT_TAIL(&h->host->ready, h, at);
}

static void leave_ready(ab_kafka_handle *h)
{
    if (h->ready)
        TAILQ_REMOVE(&h->host->ready, h, at);
    h->ready = false;
}

static void serve(ab_kafka_handle *h)
{
    rd_kafka_event_t *event = NULL;
    uint64_t end_ns = uv_hrtime() + WORK_NS;
    leave_ready(h);
    h->serving = true;
    while (!h->closed && uv_hrtime() < end_ns && (event = rd_kafka_queue_poll(h->queue, 0)) != NULL)
        give_out(h, event);
    h->serving = false;
    if (h->closed)
        close_now(h);
    if (h->closed || uv_hrtime() < end_ns)
        return;
    h->spent_ms = h->host->turn_ms;
    become_ready(h);
}

/* The loop reads the clock once a turn: turns of less than a millisecond count as one. */
static void note_turn(ab_kafka_host *host)
{
    uint64_t now_ms = uv_now(host->loop);
    if (host->turn_ms == now_ms)
        return;
    host->turn_ms = now_ms;
    host->turn_end_ns = uv_hrtime() + TURN_NS;
}

static ab_kafka_handle *next_ready(const ab_kafka_host *host)
{
    ab_kafka_handle *h = TAILQ_FIRST(&host->ready);
    while (h != NULL && h->spent_ms == host->turn_ms)
        h = TAILQ_NEXT(h, at);
    return h;
}

/* Those that have waited longest first, whichever it was that woke the loop. */
static void serve_ready(ab_kafka_host *host)
{
    ab_kafka_handle *h = NULL;
    note_turn(host);
    while (uv_hrtime() < host->turn_end_ns && (h = next_ready(host)) != NULL)
        serve(h);
    wake_first(host);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    ab_kafka_handle *h = poll->data;
    uint64_t count = 0;
    ssize_t n = read(h->fd, &count, sizeof(count));
    (void)n; /* nothing to read: somebody was faster; the queue is looked at anyway */
    become_ready(h);
    serve_ready(h->host);
}

static ab_err attach(ab_kafka_handle *h, ab_error *err)
{
    h->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (h->fd < 0)
        return ab_fail_errno(err, AB_ERR_FATAL, errno, "kafka: eventfd");
    int code = uv_poll_init(h->host->loop, &h->poll, h->fd);
    if (code != 0) {
        close(h->fd);
        return ab_fail(err, AB_ERR_FATAL, "kafka: %s", uv_strerror(code));
    }
    h->poll.data = h;
    return AB_ERR_OK;
}

static ab_err make(ab_kafka_handle *h, const ab_kafka_settings *settings, ab_kafka_kind kind,
                   ab_error *err)
{
    rd_kafka_conf_t *conf = NULL;
    ab_err e = ab_kafka_settings_conf(settings, kind, &conf, err);
    if (e != AB_ERR_OK)
        return e;
    bool produces = kind == AB_KAFKA_PRODUCER || kind == AB_KAFKA_LIVE_PRODUCER;
    char why[256];
    h->rk = ab_kafka_threads_new(produces ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER, conf, why,
                                 sizeof(why));
    if (h->rk == NULL) {
        rd_kafka_conf_destroy(conf);
        return ab_fail(err, AB_ERR_FATAL, "kafka: %s", why);
    }
    ab_kafka_oauth_begin(settings->config, h->rk);
    if (!produces)
        rd_kafka_poll_set_consumer(h->rk);
    h->queue = produces ? rd_kafka_queue_get_main(h->rk) : rd_kafka_queue_get_consumer(h->rk);
    if (rd_kafka_set_log_queue(h->rk, h->queue) != RD_KAFKA_RESP_ERR_NO_ERROR)
        AB_WARN(h->host->log, KAFKA, "cannot redirect librdkafka's log");
    return AB_ERR_OK;
}

ab_err ab_kafka_handle_open(ab_kafka_host *host, const ab_kafka_settings *settings,
                            ab_kafka_kind kind, ab_kafka_on_event on_event, void *arg,
                            ab_kafka_handle **out, ab_error *err)
{
    ab_kafka_handle *h = calloc(1, sizeof(*h));
    if (h == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "kafka: out of memory");
    h->host = host;
    h->on_event = on_event;
    h->arg = arg;
    ab_err e = make(h, settings, kind, err);
    if (e != AB_ERR_OK) {
        free(h);
        return e;
    }
    e = attach(h, err);
    if (e != AB_ERR_OK) {
        rd_kafka_queue_destroy(h->queue);
        rd_kafka_destroy(h->rk);
        free(h);
        return e;
    }
    uv_poll_start(&h->poll, UV_READABLE, on_readable);
    const uint64_t one = 1;
    rd_kafka_queue_io_event_enable(h->queue, h->fd, &one, sizeof(one));
    ab_kafka_handle_wake(h);
    *out = h;
    return AB_ERR_OK;
}

rd_kafka_t *ab_kafka_handle_rk(const ab_kafka_handle *h)
{
    return h->rk;
}

rd_kafka_queue_t *ab_kafka_handle_queue(const ab_kafka_handle *h)
{
    return h->queue;
}

void ab_kafka_handle_when_gone(ab_kafka_handle *h, void (*gone)(void *arg), void *arg)
{
    h->gone = gone;
    h->gone_arg = arg;
}

void ab_kafka_handle_close(ab_kafka_handle *h)
{
    if (h == NULL || h->closed)
        return;
    h->closed = true;
    leave_ready(h);
    wake_first(h->host); /* this one may have been it */
    h->host->closing++;
    if (!h->serving)
        close_now(h);
}

/* Each of its requests has an outcome of its own. */
static void ignore(void *arg, ab_kafka_handle *h, rd_kafka_event_t *event)
{
    (void)arg;
    (void)h;
    (void)event;
}

ab_kafka_handle *ab_kafka_handle_open_admin(ab_kafka_host *host, const ab_kafka_settings *settings)
{
    ab_error err = {0};
    ab_kafka_handle *h = NULL;
    /* Of all kinds, this one asks for the least by itself: no group, no producer id. */
    if (ab_kafka_handle_open(host, settings, AB_KAFKA_LIVE_PRODUCER, ignore, NULL, &h, &err) !=
        AB_ERR_OK)
        ab_kafka_host_error(host, RD_KAFKA_RESP_ERR__FAIL, err.text);
    return h;
}

rd_kafka_topic_partition_list_t *ab_kafka_handle_partition(const char *topic, int64_t offset)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, topic, 0)->offset = offset;
    return list;
}
