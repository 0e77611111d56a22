/* SPDX-License-Identifier: Apache-2.0
 *
 * WebSockets to a server that says what it was sent, refuses as often as the test says, and keeps
 * the credentials that it was shown.
 */
#include "store/kubernetes/socket.h"

#include "tests/unit/store/kubernetes/access/access_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PATH "/api/v1/namespaces/a/pods/p/exec?command=sh"

static const char *const PROTOCOLS[] = {"v5.channel.k8s.io", "v4.channel.k8s.io", NULL};

typedef struct {
    world *w;
    uv_timer_t tick; /* a turn of the loop does not wait for long */
    ab_https_server *server;
    ab_kube_sockets *sockets;
    /* the server */
    int refusals; /* how many requests are refused, with `refusal` */
    int refusal;
    int asked;
    char seen[512];
    ab_https_request *request;
    bool left; /* it saw the end */
    /* the caller */
    ab_kube_socket *socket;
    char protocol[32], text[256], body[256], why[AB_ERROR_TEXT_MAX];
    int ends, status;
    ab_err code;
} fixture;

/* --- the server --- */

static void on_server_message(void *arg, ab_str piece, bool last)
{
    fixture *f = arg;
    assert_true(last);
    assert_int_equal(ab_https_message(f->request, piece), AB_ERR_OK);
}

static void on_server_over(void *arg, ab_err why, unsigned close_code)
{
    (void)why, (void)close_code;
    ((fixture *)arg)->left = true;
}

static const ab_https_handler SERVER = {.on_message = on_server_message, .on_over = on_server_over};

static void on_request(void *arg, ab_https_request *request, const ab_https_info *info)
{
    fixture *f = arg;
    ab_str token = ab_http_head_find(info->head, "authorization");
    ab_str user = ab_http_head_find(info->head, "impersonate-user");
    f->asked++;
    f->request = request;
    snprintf(f->seen, sizeof(f->seen), "%.*s?%.*s %.*s %.*s", AB_STR_ARG(info->head->path),
             AB_STR_ARG(info->head->query), AB_STR_ARG(token), AB_STR_ARG(user));
    ab_https_take(request, &SERVER, f);
    if (f->refusals == 0)
        assert_int_equal(ab_https_accept(request, PROTOCOLS[1]), AB_ERR_OK);
    else
        assert_int_equal(ab_https_reply(request, f->refusal, "text/any", AB_STR("no")), AB_ERR_OK);
    f->refusals -= f->refusals > 0;
}

/* --- the caller --- */

static void on_open(void *arg, const char *protocol)
{
    fixture *f = arg;
    snprintf(f->protocol, sizeof(f->protocol), "%s", protocol);
}

static void on_message(void *arg, ab_str piece, bool last)
{
    fixture *f = arg;
    assert_true(last);
    snprintf(f->text, sizeof(f->text), "%.*s", AB_STR_ARG(piece));
}

static void on_writable(void *arg)
{
    (void)arg;
}

static void on_end(void *arg, const ab_websocket_end *end)
{
    fixture *f = arg;
    f->ends++;
    f->code = end->code;
    f->status = end->status;
    snprintf(f->body, sizeof(f->body), "%.*s", AB_STR_ARG(end->body));
    snprintf(f->why, sizeof(f->why), "%s", end->err == NULL ? "" : end->err->text);
}

static void open_socket(fixture *f)
{
    const ab_http_field fields[] = {{AB_STR("impersonate-user"), AB_STR("eve")}};
    f->socket =
        ab_kube_socket_begin(f->sockets, &(ab_kube_socket_request){.path = PATH,
                                                                   .fields = fields,
                                                                   .count = 1,
                                                                   .protocols = PROTOCOLS,
                                                                   .on_open = on_open,
                                                                   .on_message = on_message,
                                                                   .on_writable = on_writable,
                                                                   .on_end = on_end,
                                                                   .arg = f});
    assert_non_null(f->socket);
    assert_int_equal(f->ends, 0); /* nothing from inside the call */
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
}

#define WAIT(f, condition)                                                                         \
    do {                                                                                           \
        for (int turn_ = 0; !(condition); turn_++) {                                               \
            assert_true(turn_ < 3000); /* of the tick: half a minute */                            \
            uv_run(&(f)->w->loop, UV_RUN_ONCE);                                                    \
        }                                                                                          \
    } while (0)

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    f->w = begin();
    uv_timer_init(&f->w->loop, &f->tick);
    uv_timer_start(&f->tick, on_tick, 10, 10);
    f->server = must_serve(f->w, on_request, f);
    f->sockets = ab_kube_sockets_new(&f->w->loop, f->w->access);
    assert_non_null(f->sockets);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    close_access(f->w);
    ab_kube_sockets_free(f->sockets);
    ab_https_server_free(f->server);
    uv_close((uv_handle_t *)&f->tick, NULL);
    end(f->w);
    free(f);
    return 0;
}

static void messages_go_both_ways(void **state)
{
    fixture *f = *state;
    open_socket(f);
    assert_int_equal(ab_kube_socket_send(f->socket, AB_STR("early")), AB_ERR_CLOSED);
    WAIT(f, f->protocol[0] != '\0');
    assert_string_equal(f->protocol, PROTOCOLS[1]);
    assert_string_equal(f->seen, PATH " Bearer first eve");
    assert_int_equal(ab_kube_socket_send(f->socket, AB_STR("typed")), AB_ERR_OK);
    WAIT(f, f->text[0] != '\0');
    assert_string_equal(f->text, "typed");
    ab_https_close(f->request, 1000, "");
    WAIT(f, f->ends == 1);
    assert_int_equal(f->code, AB_ERR_OK);
}

static void a_first_401_is_not_told_and_the_token_is_read_again(void **state)
{
    fixture *f = *state;
    f->refusals = 1;
    f->refusal = 401;
    open_socket(f);
    put(f->w, "token", "second");
    WAIT(f, f->protocol[0] != '\0');
    assert_int_equal(f->asked, 2);
    assert_int_equal(f->ends, 0);
    assert_string_equal(f->seen, PATH " Bearer second eve");
}

static void what_the_server_refuses_is_told_with_its_answer(void **state)
{
    static const int statuses[][2] = {{401, 2}, {403, 1}};
    for (size_t i = 0; i < 2; i++) {
        fixture *f = *state;
        f->ends = f->asked = 0;
        f->refusals = 2;
        f->refusal = statuses[i][0];
        open_socket(f);
        WAIT(f, f->ends == 1);
        assert_int_equal(f->asked, statuses[i][1]);
        assert_int_equal(f->status, statuses[i][0]);
        assert_int_not_equal(f->code, AB_ERR_OK);
        assert_string_equal(f->body, "no");
    }
}

static void without_a_token_nothing_is_opened(void **state)
{
    fixture *f = *state;
    unlink(in(f->w, "token"));
    f->w->mono_ms += 120000;
    open_socket(f);
    WAIT(f, f->ends == 1);
    assert_int_equal(f->asked, 0);
    assert_int_not_equal(f->code, AB_ERR_OK);
    assert_non_null(strstr(f->why, "the WebSocket to the API server: "));
}

static void what_is_cancelled_leaves_without_a_word(void **state)
{
    fixture *f = *state;
    open_socket(f);
    WAIT(f, f->protocol[0] != '\0');
    ab_kube_socket_cancel(f->socket);
    WAIT(f, f->left);
    assert_int_equal(f->ends, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(messages_go_both_ways),
        TEST(a_first_401_is_not_told_and_the_token_is_read_again),
        TEST(what_the_server_refuses_is_told_with_its_answer),
        TEST(without_a_token_nothing_is_opened),
        TEST(what_is_cancelled_leaves_without_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
