/* SPDX-License-Identifier: Apache-2.0
 *
 * curl says which sockets it waits for and until when; libuv waits.
 */
#include "net/http/client_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/queue.h>

/* Calls to one connection at once; a server may allow fewer. */
#define STREAMS_MAX 250L

typedef struct watched watched;

struct ab_http_loop {
    uv_loop_t *loop;
    CURLM *multi;
    uv_timer_t timer;
    uv_timer_t nudge;
    LIST_HEAD(, watched) sockets;
    bool inside;
    bool closing;
    size_t handles; /* of libuv that are not yet closed */
    void (*turned)(void *arg, bool ok);
    void *arg;
};

/* A socket that curl waits for. */
struct watched {
    uv_poll_t poll;
    ab_http_loop *loop;
    LIST_ENTRY(watched) at;
    curl_socket_t fd;
    bool nudge;
};

static void unref(ab_http_loop *l)
{
    if (--l->handles > 0)
        return;
    free(l);
    curl_global_cleanup();
}

static void on_timer_closed(uv_handle_t *handle)
{
    unref(handle->data);
}

static void on_poll_closed(uv_handle_t *handle)
{
    watched *w = handle->data;
    unref(w->loop);
    free(w);
}

static void work(ab_http_loop *l, curl_socket_t fd, int what)
{
    int running = 0;
    l->inside = true;
    CURLMcode rc = curl_multi_socket_action(l->multi, fd, what, &running);
    l->inside = false;
    l->turned(l->arg, rc == CURLM_OK);
}

static void on_timer(uv_timer_t *timer)
{
    work(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    watched *w = poll->data;
    int what = (events & UV_READABLE ? CURL_CSELECT_IN : 0) |
               (events & UV_WRITABLE ? CURL_CSELECT_OUT : 0);
    /* Reading tells curl more than that there is an error: the peer may have said why. */
    work(w->loop, w->fd, status < 0 ? CURL_CSELECT_IN | CURL_CSELECT_OUT : what);
}

static void on_nudge(uv_timer_t *timer)
{
    ab_http_loop *l = timer->data;
    watched *w = NULL;
    LIST_FOREACH(w, &l->sockets, at)
    w->nudge = true;
    /* curl takes sockets off the list meanwhile, and a call's end may free all of this. */
    for (w = LIST_FIRST(&l->sockets); w != NULL && !l->closing;) {
        if (!w->nudge) {
            w = LIST_NEXT(w, at);
            continue;
        }
        w->nudge = false;
        work(l, w->fd, CURL_CSELECT_IN);
        w = LIST_FIRST(&l->sockets);
    }
}

void ab_http_loop_nudge(ab_http_loop *l)
{
    uv_timer_start(&l->nudge, on_nudge, 0, 0);
}

static int set_timer(CURLM *multi, long timeout_ms, void *arg)
{
    ab_http_loop *l = arg;
    (void)multi;
    if (timeout_ms < 0)
        uv_timer_stop(&l->timer);
    else
        uv_timer_start(&l->timer, on_timer, (uint64_t)timeout_ms, 0);
    return 0;
}

static watched *watch(ab_http_loop *l, curl_socket_t fd)
{
    watched *w = calloc(1, sizeof(*w));
    if (w == NULL)
        return NULL;
    if (uv_poll_init_socket(l->loop, &w->poll, fd) != 0) {
        free(w);
        return NULL;
    }
    w->poll.data = w;
    w->loop = l;
    w->fd = fd;
    LIST_INSERT_HEAD(&l->sockets, w, at);
    l->handles++;
    return w;
}

static int set_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    ab_http_loop *l = arg;
    watched *w = socket_arg;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (w == NULL)
            return 0;
        LIST_REMOVE(w, at);
        uv_close((uv_handle_t *)&w->poll, on_poll_closed);
        return 0;
    }
    if (w == NULL) {
        w = watch(l, fd);
        if (w == NULL)
            return -1;
        curl_multi_assign(l->multi, fd, w);
    }
    int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    return uv_poll_start(&w->poll, events, on_poll) == 0 ? 0 : -1;
}

ab_http_loop *ab_http_loop_new(uv_loop_t *loop, void (*turned)(void *arg, bool ok), void *arg)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return NULL;
    ab_http_loop *l = calloc(1, sizeof(*l));
    CURLM *multi = curl_multi_init();
    if (l == NULL || multi == NULL) {
        curl_multi_cleanup(multi);
        free(l);
        curl_global_cleanup();
        return NULL;
    }
    *l = (ab_http_loop){.loop = loop, .multi = multi, .turned = turned, .arg = arg, .handles = 2};
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, STREAMS_MAX);
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, set_socket);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, l);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, l);
    uv_timer_init(loop, &l->timer);
    uv_timer_init(loop, &l->nudge);
    l->timer.data = l;
    l->nudge.data = l;
    return l;
}

void ab_http_loop_free(ab_http_loop *l)
{
    if (l == NULL)
        return;
    assert(!l->inside);
    l->closing = true;
    curl_multi_cleanup(l->multi);
    uv_close((uv_handle_t *)&l->timer, on_timer_closed);
    uv_close((uv_handle_t *)&l->nudge, on_timer_closed);
}

CURLM *ab_http_loop_multi(const ab_http_loop *l)
{
    return l->multi;
}

bool ab_http_loop_inside(const ab_http_loop *l)
{
    return l->inside;
}

CURLcode ab_http_loop_pause(ab_http_loop *l, CURL *easy, int what)
{
    l->inside = true;
    CURLcode code = curl_easy_pause(easy, what);
    l->inside = false;
    return code;
}
