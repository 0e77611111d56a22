/* SPDX-License-Identifier: Apache-2.0
 *
 * Clients are plain sockets of this process; the loop is turned until what they wait for is there.
 */
#include "net/http/server.h"

#include "net/http/chunked.h"
#include "tests/unit/net/http/sockets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 120000

typedef struct {
    uv_loop_t loop;
    ab_metrics *metrics;
    ab_http_server *server;
    bool healthy;
    bool ready;
    const char *remark; /* while it is ready */
} fixture;

static bool is_healthy(void *arg, ab_buf *why)
{
    if (!((fixture *)arg)->healthy)
        ab_buf_puts(why, "the loop hangs");
    return ((fixture *)arg)->healthy;
}

static bool is_ready(void *arg, ab_buf *why)
{
    const fixture *f = arg;
    ab_buf_puts(why, !f->ready ? "not in step yet" : f->remark == NULL ? "" : f->remark);
    return f->ready;
}

static int start(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    ab_http_probes probes = {is_healthy, is_ready, f};
    f->healthy = true;
    f->metrics = ab_metrics_new();
    *state = f;
    if (uv_loop_init(&f->loop) != 0)
        return -1;
    return ab_http_server_start(&f->loop, "127.0.0.1", 0, &probes, f->metrics, NULL, &f->server,
                                NULL) != AB_ERR_OK;
}

static int stop(void **state)
{
    fixture *f = *state;
    ab_http_server_free(f->server);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    int rc = uv_loop_close(&f->loop); /* busy when a handle was left open */
    ab_metrics_free(f->metrics);
    free(f);
    return rc;
}

static int dial(const fixture *f)
{
    return socket_dial(ab_http_server_port(f->server));
}

static void turn(fixture *f, int fd, short events)
{
    socket_turn(&f->loop, fd, events);
}

static void send_all(fixture *f, int fd, ab_str text)
{
    socket_send(&f->loop, fd, text, PATIENCE_MS);
}

/* Read to the end of the connection; false when it does not end. */
static bool read_to_end(fixture *f, int fd, ab_buf *out)
{
    int64_t until = now_ms() + PATIENCE_MS;
    char part[65536];
    while (now_ms() < until) {
        ssize_t n = recv(fd, part, sizeof(part), 0);
        if (n > 0)
            ab_buf_put(out, (ab_str){part, (size_t)n});
        else if (n == 0 || errno != EAGAIN)
            return true;
        else
            turn(f, fd, POLLIN);
    }
    return false;
}

/* One request, its whole response, NUL-terminated, owned by the caller. */
static char *exchange(fixture *f, ab_str request)
{
    ab_buf out;
    ab_buf_init(&out, 64u << 20);
    int fd = dial(f);
    send_all(f, fd, request);
    assert_true(read_to_end(f, fd, &out));
    close(fd);
    ab_buf_putc(&out, '\0');
    return ab_buf_take(&out);
}

static void read_chunks(ab_str in, ab_buf *out)
{
    ab_http_chunked chunks = {0};
    bool ended = false;
    while (!ended) {
        ab_str piece;
        assert_int_equal(ab_http_chunked_next(&chunks, &in, &piece, &ended), AB_ERR_OK);
        assert_true(ended || piece.ptr != NULL);
        ab_buf_put(out, piece);
    }
    assert_int_equal(in.len, 0);
}

static void assert_answer(fixture *f, const char *request, const char *status, const char *body)
{
    ab_buf out;
    ab_buf_init(&out, 64u << 20);
    char *text = exchange(f, ab_str_of(request));
    assert_int_equal(strncmp(text, status, strlen(status)), 0);
    char *blank = strstr(text, "\r\n\r\n");
    assert_non_null(blank);
    *blank = '\0';
    assert_non_null(strstr(text, "\r\nconnection: close"));
    if (strstr(text, "\r\ntransfer-encoding: chunked") != NULL)
        read_chunks(ab_str_of(blank + 4), &out);
    else
        ab_buf_puts(&out, blank + 4);
    ab_buf_putc(&out, '\0');
    assert_string_equal(out.ptr, body);
    ab_buf_fini(&out);
    free(text);
}

#define GET(path)     "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"
#define OLD_GET(path) "GET " path " HTTP/1.0\r\n\r\n"

static void probes_answer_ok_or_the_reason(void **state)
{
    fixture *f = *state;
    assert_answer(f, GET("/healthz"), "HTTP/1.1 200 ", "ok\n");
    assert_answer(f, GET("/readyz"), "HTTP/1.1 503 ", "not in step yet\n");
    f->healthy = false;
    f->ready = true;
    assert_answer(f, GET("/healthz"), "HTTP/1.1 503 ", "the loop hangs\n");
    assert_answer(f, GET("/readyz"), "HTTP/1.1 200 ", "ok\n");
    assert_answer(f, GET("/readyz?verbose=1"), "HTTP/1.1 200 ", "ok\n");
    f->remark = "something is held back";
    assert_answer(f, GET("/readyz"), "HTTP/1.1 200 ", "ok\nsomething is held back\n");
}

static void metrics_have_the_type_that_prometheus_wants(void **state)
{
    fixture *f = *state;
    ab_metric_add(ab_metric_get(f->metrics, AB_METRIC_COUNTER, "x_total", "X.", NULL, 0), 2);
    const char *body = "# HELP x_total X.\n# TYPE x_total counter\nx_total 2\n";
    char *text = exchange(f, AB_STR(GET("/metrics")));
    assert_non_null(strstr(text, "content-type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    free(text);
    assert_answer(f, GET("/metrics"), "HTTP/1.1 200 ", body);
    assert_answer(f, OLD_GET("/metrics"), "HTTP/1.1 200 ", body);
}

static void a_body_of_several_megabytes_arrives_whole(void **state)
{
    fixture *f = *state;
    char name[32];
    for (int i = 0; i < 50000; i++) {
        snprintf(name, sizeof(name), "agent-%d", i);
        ab_label label = {"agent", ab_str_of(name)};
        assert_non_null(ab_metric_get(f->metrics, AB_METRIC_COUNTER, "x_total", "X.", &label, 1));
    }
    ab_buf want;
    ab_buf_init(&want, 64u << 20);
    (void)ab_metrics_render(f->metrics, &(ab_rendering){0}, &want, SIZE_MAX);
    ab_buf_putc(&want, '\0');
    assert_true(want.len > 1u << 20);
    assert_answer(f, GET("/metrics"), "HTTP/1.1 200 ", want.ptr);
    assert_answer(f, OLD_GET("/metrics"), "HTTP/1.1 200 ", want.ptr);
    ab_buf_fini(&want);
}

static void other_paths_and_methods_are_refused(void **state)
{
    fixture *f = *state;
    const char *not_found = "not found: try /healthz, /readyz or /metrics\n";
    assert_answer(f, GET("/"), "HTTP/1.1 404 ", not_found);
    assert_answer(f, GET("/metrics/x"), "HTTP/1.1 404 ", not_found);
    assert_answer(f, GET("/../healthz/../metrics2"), "HTTP/1.1 400 ",
                  "the path has a segment . or ..\n");
    assert_answer(f, "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
                  "HTTP/1.1 405 ", "only GET is supported\n");
    assert_answer(f, "DELETE /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 405 ",
                  "only GET is supported\n");
    assert_answer(f, "HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 405 ", "");
}

static void upgrades_are_refused(void **state)
{
    fixture *f = *state;
    char *text =
        exchange(f, AB_STR("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
                           "Upgrade: websocket\r\nSec-WebSocket-Key: "
                           "dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"));
    assert_null(strstr(text, "101"));
    free(text);
    text = exchange(f, AB_STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    assert_null(strstr(text, " 200 "));
    free(text);
}

static void garbage_and_endless_headers_end_the_connection_only(void **state)
{
    fixture *f = *state;
    static char big[200000];
    memset(big, 'a', sizeof(big));
    memcpy(big, "GET /healthz HTTP/1.1\r\nX-A: ", 28);
    char *text = exchange(f, (ab_str){big, sizeof(big)});
    assert_null(strstr(text, " 200 "));
    free(text);
    text = exchange(f, AB_STR("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"));
    assert_null(strstr(text, " 200 "));
    free(text);
    assert_answer(f, GET("/healthz"), "HTTP/1.1 200 ", "ok\n");
}

/* Four times as many as there is room for. By their time limits they would go after 20 s. */
static void clients_that_send_no_request_hold_up_no_probe(void **state)
{
    fixture *f = *state;
    int silent[1000];
    int64_t since = now_ms();
    for (size_t i = 0; i < 1000; i++) {
        silent[i] = dial(f);
        if (i % 2 == 0)
            send_all(f, silent[i], AB_STR("GET /hea"));
    }
    assert_answer(f, GET("/healthz"), "HTTP/1.1 200 ", "ok\n");
    assert_true(now_ms() - since < 10000);
    for (size_t i = 0; i < 1000; i++)
        close(silent[i]);
}

/* The rest of the answer is not read. */
static bool has_status(fixture *f, int fd, const char *status)
{
    char text[13] = {0};
    int64_t until = now_ms() + PATIENCE_MS;
    while (recv(fd, text, 12, MSG_PEEK) < 12 && now_ms() < until)
        turn(f, fd, POLLIN);
    return strcmp(text + 9, status) == 0;
}

/* Few and long: their page is to be large, and is not to take long. */
static void grow_metrics(fixture *f)
{
    char name[640];
    memset(name, 'a', sizeof(name));
    for (int i = 0; i < 8000; i++) {
        snprintf(name + sizeof(name) - 8, 8, "%d", i);
        ab_label label = {"agent", ab_str_of(name)};
        (void)ab_metric_get(f->metrics, AB_METRIC_COUNTER, "x_total", "X.", &label, 1);
    }
}

static bool is_whole(fixture *f, int fd)
{
    ab_buf out;
    ab_buf_init(&out, 64u << 20);
    assert_true(read_to_end(f, fd, &out));
    bool whole = out.len > 7 && memcmp(out.ptr + out.len - 7, "\r\n0\r\n\r\n", 7) == 0;
    ab_buf_fini(&out);
    return whole;
}

static void clients_that_do_not_read_keep_nobody_from_the_metrics(void **state)
{
    fixture *f = *state;
    int lazy[20];
    grow_metrics(f);
    for (size_t i = 0; i < 20; i++) {
        lazy[i] = dial(f);
        send_all(f, lazy[i], AB_STR(GET("/metrics")));
        assert_true(has_status(f, lazy[i], "200"));
    }
    assert_answer(f, GET("/healthz"), "HTTP/1.1 200 ", "ok\n");
    int eager = dial(f);
    send_all(f, eager, AB_STR(GET("/metrics")));
    assert_true(is_whole(f, eager));
    close(eager);
    /* Five had to go. Who reads nothing for five seconds goes, too. */
    assert_true(is_whole(f, lazy[5]));
    assert_true(is_whole(f, lazy[19]));
    for (size_t i = 0; i < 5; i++)
        assert_false(is_whole(f, lazy[i]));
    for (size_t i = 0; i < 20; i++)
        close(lazy[i]);
}

static void freeing_drops_what_is_under_way(void **state)
{
    fixture *f = *state;
    int idle = dial(f);
    int half = dial(f);
    send_all(f, half, AB_STR("GET /metrics HTTP/1.1\r\nHo"));
    ab_http_server_free(f->server);
    f->server = NULL;
    uv_run(&f->loop, UV_RUN_DEFAULT);
    ab_buf none;
    ab_buf_init(&none, 4096);
    assert_true(read_to_end(f, idle, &none));
    assert_true(read_to_end(f, half, &none));
    assert_int_equal(none.len, 0);
    close(idle);
    close(half);
}

static void an_address_in_use_is_named_with_the_reason(void **state)
{
    fixture *f = *state;
    ab_http_server *second = NULL;
    ab_error err = {0};
    ab_http_probes probes = {is_healthy, is_ready, f};
    int port = ab_http_server_port(f->server);
    assert_true(port > 0);
    assert_int_equal(
        ab_http_server_start(&f->loop, "127.0.0.1", port, &probes, f->metrics, NULL, &second, &err),
        AB_ERR_UNAVAILABLE);
    assert_null(second);
    assert_non_null(strstr(err.text, "cannot listen on 127.0.0.1:"));
    assert_non_null(strstr(err.text, "Address already in use"));
    assert_int_equal(
        ab_http_server_start(&f->loop, "no such host", 0, &probes, f->metrics, NULL, &second, &err),
        AB_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "no such host"));
}

#define SERVED(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED(probes_answer_ok_or_the_reason),
        SERVED(metrics_have_the_type_that_prometheus_wants),
        SERVED(a_body_of_several_megabytes_arrives_whole),
        SERVED(other_paths_and_methods_are_refused),
        SERVED(upgrades_are_refused),
        SERVED(garbage_and_endless_headers_end_the_connection_only),
        SERVED(clients_that_send_no_request_hold_up_no_probe),
        SERVED(clients_that_do_not_read_keep_nobody_from_the_metrics),
        SERVED(freeing_drops_what_is_under_way),
        SERVED(an_address_in_use_is_named_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
