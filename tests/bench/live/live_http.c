/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/live/live_http.h"

#include "tests/bench/base/process.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL_MS     120000
#define AT_ONCE_MAX 64

static bool say(const char *what, const char *which)
{
    fprintf(stderr, "argobus-bench: %s: %s\n", what, which);
    return false;
}

bool ab_bench_live_at_cluster(ab_bench_live_at *at, const char *kubeconfig)
{
    char line[512];
    *at = (ab_bench_live_at){0};
    FILE *f = fopen(kubeconfig, "re");
    if (f == NULL)
        return say("cannot read", kubeconfig);
    while (fgets(line, sizeof(line), f) != NULL) {
        if (sscanf(line, " server: %255s", at->url) == 1)
            break;
    }
    (void)fclose(f);
    int folder = (int)(strrchr(kubeconfig, '/') - kubeconfig);
    (void)snprintf(at->ca, sizeof(at->ca), "%.*s/ca.crt", folder, kubeconfig);
    (void)snprintf(at->cert, sizeof(at->cert), "%.*s/admin.crt", folder, kubeconfig);
    (void)snprintf(at->key, sizeof(at->key), "%.*s/admin.key", folder, kubeconfig);
    return at->url[0] != '\0' ? true : say("no server in", kubeconfig);
}

/* One of those that run at once. */
typedef struct {
    CURL *easy;
    struct curl_slist *fields;
    ab_bench_live_calls *calls;
    int64_t began_ns;
    size_t number;
    char said[200]; /* the beginning of the answer */
} slot;

static size_t on_data(char *bytes, size_t size, size_t count, void *arg)
{
    slot *s = arg;
    if (s->said[0] == '\0')
        (void)snprintf(s->said, sizeof(s->said), "%.*s", (int)(size * count), bytes);
    s->calls->bytes += size * count;
    return size * count;
}

static void point(const slot *s)
{
    char url[1024];
    const ab_bench_live_at *at = s->calls->at;
    if (at->agents > 0)
        (void)snprintf(url, sizeof(url), "%s/agents/w%zu%s", at->url, s->number % at->agents,
                       s->calls->path);
    else
        (void)snprintf(url, sizeof(url), "%s%s", at->url, s->calls->path);
    curl_easy_setopt(s->easy, CURLOPT_URL, url);
}

static void set_identity(slot *s)
{
    const ab_bench_live_at *at = s->calls->at;
    char field[128];
    curl_easy_setopt(s->easy, CURLOPT_CAINFO, at->ca);
    if (at->cert[0] != '\0') {
        curl_easy_setopt(s->easy, CURLOPT_SSLCERT, at->cert);
        curl_easy_setopt(s->easy, CURLOPT_SSLKEY, at->key);
    }
    if (at->token[0] != '\0') {
        (void)snprintf(field, sizeof(field), "Authorization: Bearer %s", at->token);
        s->fields = curl_slist_append(s->fields, field);
    }
    s->fields = curl_slist_append(s->fields, "Content-Type: application/json");
    curl_easy_setopt(s->easy, CURLOPT_HTTPHEADER, s->fields);
}

static bool open_slot(slot *s, ab_bench_live_calls *calls)
{
    *s = (slot){.easy = curl_easy_init(), .calls = calls};
    if (s->easy == NULL)
        return false;
    set_identity(s);
    curl_easy_setopt(s->easy, CURLOPT_PRIVATE, s);
    curl_easy_setopt(s->easy, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(s->easy, CURLOPT_WRITEDATA, s);
    curl_easy_setopt(s->easy, CURLOPT_TIMEOUT_MS, (long)CALL_MS);
    curl_easy_setopt(s->easy, CURLOPT_CUSTOMREQUEST, calls->method);
    curl_easy_setopt(s->easy, CURLOPT_BUFFERSIZE, 128L * 1024);
    if (calls->body != NULL)
        curl_easy_setopt(s->easy, CURLOPT_POSTFIELDS, calls->body);
    return true;
}

static void start(CURLM *multi, slot *s, size_t number)
{
    s->number = number;
    s->said[0] = '\0';
    s->began_ns = ab_bench_now_ns();
    point(s);
    (void)curl_multi_add_handle(multi, s->easy);
}

static void finish(const slot *s, CURLcode code)
{
    ab_bench_live_calls *c = s->calls;
    long status = 0;
    curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &status);
    if (c->ms != NULL)
        c->ms[s->number] = (double)(ab_bench_now_ns() - s->began_ns) / 1e6;
    if (code == CURLE_OK && status >= 200 && status < 300)
        return;
    if (c->failed++ == 0)
        fprintf(stderr, "argobus-bench: %s %s: %s, %ld %s\n", c->method, c->path,
                curl_easy_strerror(code), status, s->said);
}

/* @return how many have ended */
static size_t reap(CURLM *multi, size_t *begun, const ab_bench_live_calls *c)
{
    int left = 0;
    size_t ended = 0;
    CURLMsg *msg = NULL;
    while ((msg = curl_multi_info_read(multi, &left)) != NULL) {
        char *at = NULL;
        CURLcode code = msg->data.result;
        CURL *easy = msg->easy_handle;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &at);
        slot *s = (slot *)(void *)at;
        (void)curl_multi_remove_handle(multi, easy);
        finish(s, code);
        ended++;
        if (*begun < c->count)
            start(multi, s, (*begun)++);
    }
    return ended;
}

static void run_all(CURLM *multi, ab_bench_live_calls *c, slot *slots)
{
    size_t begun = 0, ended = 0;
    int running = 0;
    while (begun < c->count && begun < c->at_once) {
        start(multi, &slots[begun], begun);
        begun++;
    }
    while (ended < c->count) {
        (void)curl_multi_perform(multi, &running);
        size_t now = reap(multi, &begun, c);
        ended += now;
        if (now == 0)
            (void)curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
}

bool ab_bench_live_run(ab_bench_live_calls *c)
{
    slot slots[AT_ONCE_MAX] = {{0}};
    CURLM *multi = curl_multi_init();
    bool ok = multi != NULL && c->at_once <= AT_ONCE_MAX;
    c->bytes = 0;
    c->failed = 0;
    for (unsigned i = 0; i < c->at_once && ok; i++)
        ok = open_slot(&slots[i], c);
    int64_t began = ab_bench_now_ns();
    if (ok)
        run_all(multi, c, slots);
    c->seconds = (double)(ab_bench_now_ns() - began) / 1e9;
    for (unsigned i = 0; i < AT_ONCE_MAX; i++) {
        curl_easy_cleanup(slots[i].easy);
        curl_slist_free_all(slots[i].fields);
    }
    (void)curl_multi_cleanup(multi);
    return ok && c->failed == 0;
}
