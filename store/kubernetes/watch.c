/* SPDX-License-Identifier: Apache-2.0
 *
 * One kind: list it in pages, watch from the list's resourceVersion, and go on from the last one
 * seen whenever the watch ends. It is listed again when the server no longer knows what came after
 * that version (410), or when its own version is smaller than ours: then what stands behind the API
 * was restored from a backup, and a watch from the future would be silent for ever. What was known
 * and is not in a new list is ABSENT; a list that breaks off loses nothing.
 *
 * Only a DELETED event of the watch is reported as AB_STORE_DELETED. It is proof: the server sends
 * every event after the version that it is asked to watch from, in order, or says 410, and this
 * version is the last one seen. So a watch that broke off and goes on from there has no gap. Until
 * it does, the store is interrupted: a server can be given another store only while it serves none.
 */
#include "store/kubernetes/watch.h"

#include "store/kubernetes/collection.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The server ends a watch after so long; drawn again each time, so that watches do not all come
 * back at once. */
#define WATCH_MIN_S 240u
#define WATCH_MAX_S 360u
/* A dead connection is noticed when the watch is overdue by this, if not before. */
#define OVERDUE_MS 30000
/* A watch that ends sooner is not begun again at once. */
#define SHORT_WATCH_MS 1000
#define RETRY_FIRST_MS 250
#define RETRY_MAX_MS   60000

enum attempt { DO_LIST, DO_PROBE, DO_WATCH };

struct ab_kube_watcher {
    ab_kube_collection of;
    ab_kube_watcher_events events;
    uv_timer_t timer; /* until the next attempt; the memory goes with it */
    ab_backoff backoff;
    ab_backoff relist; /* of lists after 410, until a watch has followed on one */
    ab_kube_call *call;
    ab_kube_stream *stream;
    enum attempt next; /* what the timer begins */
    uint64_t version;  /* to watch from */
    uint64_t list_version;
    char *page; /* continue token of the next page, NULL: the first */
    uint64_t watch_since_ms;
    bool whole;   /* the last list was read to its end */
    bool failed;  /* the last attempt */
    bool expired; /* the watch was told so */
    bool interrupted;
};

static void on_timer(uv_timer_t *timer);
static void list_page(ab_kube_watcher *w);
static void watch(ab_kube_watcher *w);

static uint64_t now_ms(const ab_kube_watcher *w)
{
    return uv_now(w->of.kube->base.env.loop);
}

/* --- trouble --- */

static void explain(const ab_kube_watcher *w, ab_error *err)
{
    const ab_kube_resource *r = w->of.resource;
    if (err->foreign == 404)
        (void)ab_fail(err, AB_ERR_NOTFOUND,
                      "the API server does not serve %s of %s: install the CRDs of Argo CD",
                      r->plural, r->api);
    else if (err->code == AB_ERR_DENIED && err->foreign == 403) {
        char said[AB_ERROR_TEXT_MAX];
        (void)snprintf(said, sizeof(said), "%s", err->text);
        (void)ab_fail(err, AB_ERR_DENIED, "grant the verbs list and watch on %s (RBAC): %s",
                      r->plural, said);
    }
}

static void again(ab_kube_watcher *w, enum attempt next, int64_t ms)
{
    w->next = next;
    (void)uv_timer_start(&w->timer, on_timer, (uint64_t)ms, 0);
}

/* Report it and try again after a while. A proxy's page may ask for an hour (Retry-After), and
 * nothing would be seen for so long though the server is back after a minute. */
static void trouble(ab_kube_watcher *w, enum attempt next, const ab_error *err,
                    int64_t retry_after_ms)
{
    ab_error told = *err;
    int64_t pause = ab_backoff_next(&w->backoff);
    int64_t asked = retry_after_ms < RETRY_MAX_MS ? retry_after_ms : RETRY_MAX_MS;
    w->failed = true;
    explain(w, &told);
    again(w, next, asked > pause ? asked : pause);
    ab_kube_collection_fault(&w->of, &told);
}

static void set_interrupted(ab_kube_watcher *w, bool interrupted)
{
    if (w->interrupted == interrupted || w->of.stopped)
        return;
    w->interrupted = interrupted;
    w->events.interrupted(w->of.kube, interrupted);
}

static void recovered(ab_kube_watcher *w)
{
    ab_backoff_reset(&w->backoff);
    if (w->failed)
        AB_INFO(w->of.kube->base.env.log, STORE, "can be read again", AB_KV("where", w->of.where));
    w->failed = false;
}

/* --- requests --- */

static void request(ab_kube_watcher *w, const char *query, bool watching, ab_kube_stream_env stream,
                    void (*done)(void *arg, const ab_kube_answer *answer))
{
    ab_error err = {0};
    ab_buf path = ab_buf_up_to(64 * 1024);
    ab_buf_printf(&path, "%s%s%s", w->of.path, query, w->of.selector);
    ab_kube_stream_free(w->stream);
    stream.object_max = AB_KUBE_OBJECT_MAX;
    stream.arg = w;
    w->stream = stream.on_value == NULL ? NULL : ab_kube_stream_new(&stream);
    const ab_kube_request what = {
        .what = w->of.resource->plural,
        .method = "GET",
        .path = path.ptr,
        .timeout_ms = watching ? WATCH_MAX_S * 1000 + OVERDUE_MS : 0,
        .idle_ms = watching ? 0 : w->of.kube->timeout_ms,
        .stream = w->stream,
        .done = done,
        .arg = w,
    };
    bool ok = ab_buf_status(&path) == AB_ERR_OK && (w->stream != NULL || stream.on_value == NULL);
    w->call = ok ? ab_kube_send(w->of.kube->client, &what) : NULL;
    ab_buf_fini(&path);
    if (w->call != NULL)
        return;
    (void)ab_fail(&err, AB_ERR_NOMEM, "out of memory for a request");
    trouble(w, w->next, &err, -1);
}

/* --- list --- */

static ab_err on_item(void *arg, ab_str json)
{
    ab_kube_watcher *w = arg;
    return ab_kube_collection_see(&w->of, json);
}

static ab_err on_rest(void *arg, ab_str json)
{
    ab_kube_watcher *w = arg;
    ab_span *doc = NULL;
    ab_err e = ab_span_parse(json, &doc, NULL);
    if (e != AB_ERR_OK)
        return e;
    ab_spanv meta = ab_span_get(ab_span_root(doc), "metadata");
    ab_str token = ab_span_plain(ab_span_get(meta, "continue")); /* base64 has no escapes */
    w->list_version = ab_kube_version(ab_span_plain(ab_span_get(meta, "resourceVersion")));
    free(w->page);
    w->page = token.len == 0 ? NULL : ab_str_dup(token);
    if (token.len > 0 && w->page == NULL)
        e = AB_ERR_NOMEM;
    else if (w->list_version == 0) /* every list has one: it is of something else */
        e = AB_ERR_PARSE;
    ab_span_free(doc);
    return e;
}

static void list_begin(ab_kube_watcher *w)
{
    free(w->page);
    w->page = NULL;
    w->whole = false;
    ab_kube_collection_list_begin(&w->of);
    list_page(w);
}

/* Versions were given out a second time: all is reported, also what has the one that was seen. */
static void list_another(ab_kube_watcher *w)
{
    w->events.replaced(w->of.kube);
    if (w->of.stopped)
        return;
    ab_kube_known_distrust(w->of.known);
    list_begin(w);
}

static void list_end(ab_kube_watcher *w)
{
    bool older = w->list_version < w->version;
    w->version = w->list_version;
    recovered(w);
    if (older) { /* found by the list that was due anyway */
        list_another(w);
        return;
    }
    ab_kube_collection_list_end(&w->of);
    w->whole = !w->of.unreadable;
    if (!w->of.stopped)
        watch(w);
    if (!w->of.unnamed)
        set_interrupted(w, false);
    if (!w->of.stopped)
        w->events.listed(w->of.kube);
}

static void on_listed(void *arg, const ab_kube_answer *answer)
{
    ab_kube_watcher *w = arg;
    w->call = NULL;
    if (answer->code != AB_ERR_OK)
        trouble(w, DO_LIST, answer->err, answer->retry_after_ms);
    else if (w->page != NULL)
        list_page(w);
    else
        list_end(w);
}

static void list_page(ab_kube_watcher *w)
{
    ab_buf query = ab_buf_up_to(16 * 1024);
    ab_buf_printf(&query, "?limit=%" PRId64,
                  ab_config_int(w->of.kube->base.env.config, "store.kubernetes.page"));
    if (w->page != NULL)
        ab_kube_query(&query, '&', "continue", ab_str_of(w->page));
    const ab_kube_stream_env stream = {
        .shape = AB_KUBE_LIST, .on_value = on_item, .on_rest = on_rest};
    w->next = DO_LIST;
    request(w, query.ptr == NULL ? "" : query.ptr, false, stream, on_listed);
    ab_buf_fini(&query);
}

/* --- watch --- */

static ab_err on_error_event(ab_kube_watcher *w, ab_str status)
{
    ab_error err = {0};
    ab_kube_why why = AB_KUBE_WHY_OTHER;
    char request[128];
    (void)snprintf(request, sizeof(request), "watch of %s", w->of.resource->plural);
    ab_err e = ab_kube_status_explain(0, status, request, &why, &err);
    w->expired = why == AB_KUBE_WHY_EXPIRED;
    return e;
}

/* Of a bookmark too, which is nothing else. */
static void note_version(ab_kube_watcher *w, ab_str version)
{
    uint64_t v = ab_kube_version(version);
    if (v > w->version)
        w->version = v;
    recovered(w);
    ab_backoff_reset(&w->relist);
}

/* Of an object or a list, however deeply it is nested. */
static ab_str version_in(ab_str json)
{
    ab_str quoted = ab_kube_member(ab_kube_member(json, "metadata"), "resourceVersion");
    return quoted.len < 2 ? AB_STR_NONE : (ab_str){quoted.ptr + 1, quoted.len - 2};
}

/* Whoever may write one object must not end the watch of all: of one that is nested too deeply only
 * its name is read. */
static ab_err on_deep_event(ab_kube_watcher *w, ab_str json)
{
    ab_str object = ab_kube_member(json, "object");
    bool deleted = ab_str_is(ab_kube_member(json, "type"), "\"DELETED\"");
    ab_err e = deleted ? ab_kube_collection_see_deleted(&w->of, object)
                       : ab_kube_collection_see(&w->of, object);
    if (e == AB_ERR_OK)
        note_version(w, version_in(object));
    return e;
}

static ab_err on_event(void *arg, ab_str json)
{
    ab_kube_watcher *w = arg;
    ab_span *doc = NULL;
    ab_err e = ab_span_parse(json, &doc, NULL);
    if (e == AB_ERR_TOOBIG)
        return on_deep_event(w, json);
    if (e != AB_ERR_OK)
        return e;
    ab_spanv type = ab_span_get(ab_span_root(doc), "type");
    ab_spanv object = ab_span_get(ab_span_root(doc), "object");
    if (ab_span_is(type, "ADDED") || ab_span_is(type, "MODIFIED"))
        e = ab_kube_collection_see(&w->of, ab_span_raw(object));
    else if (ab_span_is(type, "DELETED"))
        e = ab_kube_collection_see_deleted(&w->of, ab_span_raw(object));
    else if (ab_span_is(type, "ERROR"))
        e = on_error_event(w, ab_span_raw(object));
    if (e == AB_ERR_OK)
        note_version(w, ab_span_plain(ab_span_path(object, "metadata", "resourceVersion", NULL)));
    ab_span_free(doc);
    return e;
}

static void on_watch_end(void *arg, const ab_kube_answer *answer)
{
    ab_kube_watcher *w = arg;
    bool expired = w->expired || answer->why == AB_KUBE_WHY_EXPIRED;
    bool is_short = now_ms(w) - w->watch_since_ms < SHORT_WATCH_MS;
    w->call = NULL;
    if (expired || is_short || answer->code != AB_ERR_OK)
        set_interrupted(w, true);
    if (expired) {
        AB_INFO(w->of.kube->base.env.log, STORE, "listing again: the watch fell too far behind",
                AB_KV("where", w->of.where));
        again(w, DO_LIST, ab_backoff_next(&w->relist));
    } else if (answer->code != AB_ERR_OK) {
        trouble(w, DO_PROBE, answer->err, answer->retry_after_ms);
    } else if (is_short) {
        again(w, DO_PROBE, ab_backoff_next(&w->backoff));
    } else {
        recovered(w);
        ab_backoff_reset(&w->relist);
        watch(w);
    }
}

static void watch(ab_kube_watcher *w)
{
    char query[160];
    unsigned random = 0;
    (void)uv_random(NULL, NULL, &random, sizeof(random), 0, NULL); /* any number does */
    (void)snprintf(query, sizeof(query),
                   "?watch=1&allowWatchBookmarks=true&resourceVersion=%" PRIu64
                   "&timeoutSeconds=%u",
                   w->version, WATCH_MIN_S + random % (WATCH_MAX_S - WATCH_MIN_S));
    const ab_kube_stream_env stream = {.shape = AB_KUBE_WATCH, .on_value = on_event};
    w->expired = false;
    w->next = DO_WATCH;
    w->watch_since_ms = now_ms(w);
    request(w, query, true, stream, on_watch_end);
}

/* --- is it still the same store? --- */

static void on_probed(void *arg, const ab_kube_answer *answer)
{
    ab_kube_watcher *w = arg;
    ab_error err = {0};
    uint64_t version = ab_kube_version(version_in(answer->body));
    w->call = NULL;
    if (answer->code != AB_ERR_OK) {
        trouble(w, DO_PROBE, answer->err, answer->retry_after_ms);
        return;
    }
    if (version == 0) { /* what a proxy says is no older data */
        (void)ab_fail(&err, AB_ERR_PARSE,
                      "GET %s: the response is not JSON of a list: it has no resourceVersion",
                      w->of.resource->plural);
        trouble(w, DO_PROBE, &err, -1);
        return;
    }
    if (version >= w->version) {
        watch(w);
        set_interrupted(w, false);
        return;
    }
    AB_WARN(w->of.kube->base.env.log, STORE,
            "listing again: the API server's data is older than before",
            AB_KV("where", w->of.where));
    list_another(w);
}

static void probe(ab_kube_watcher *w)
{
    w->next = DO_PROBE;
    request(w, "?limit=1", false, (ab_kube_stream_env){0}, on_probed);
}

static void on_timer(uv_timer_t *timer)
{
    ab_kube_watcher *w = timer->data;
    switch (w->next) {
    case DO_LIST:
        list_begin(w);
        break;
    case DO_PROBE:
        probe(w);
        break;
    case DO_WATCH:
        watch(w);
        break;
    }
}

/* --- life --- */

ab_kube_watcher *ab_kube_watcher_new(ab_kube *k, const ab_store_watch *watched,
                                     const ab_kube_watcher_events *events)
{
    ab_kube_watcher *w = calloc(1, sizeof(*w));
    if (w == NULL)
        return NULL;
    int failed = uv_timer_init(k->base.env.loop, &w->timer);
    assert(failed == 0);
    (void)failed;
    w->timer.data = w;
    w->events = *events;
    ab_backoff_init(&w->backoff, RETRY_FIRST_MS, RETRY_MAX_MS);
    ab_backoff_init(&w->relist, RETRY_FIRST_MS, RETRY_MAX_MS);
    if (ab_kube_collection_init(&w->of, k, watched) == AB_ERR_OK)
        return w;
    ab_kube_watcher_free(w);
    return NULL;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void ab_kube_watcher_free(ab_kube_watcher *w)
{
    if (w == NULL)
        return;
    ab_kube_stream_free(w->stream);
    ab_kube_collection_fini(&w->of);
    free(w->page);
    uv_close((uv_handle_t *)&w->timer, on_closed);
}

void ab_kube_watcher_start(ab_kube_watcher *w)
{
    list_begin(w);
}

void ab_kube_watcher_stop(ab_kube_watcher *w)
{
    w->of.stopped = true;
    ab_kube_cancel(w->call);
    w->call = NULL;
    (void)uv_timer_stop(&w->timer);
}

bool ab_kube_watcher_is_whole(const ab_kube_watcher *w)
{
    return w->whole;
}
