/* SPDX-License-Identifier: Apache-2.0
 *
 * Credentials as they are at this moment. Files are looked at when a token is asked for, at most
 * once a minute (tokens: one stat each time), so nothing has to be watched and no timer runs.
 */
#include "store/kubernetes/access/access_cert.h"
#include "store/kubernetes/access/access_priv.h"
#include "store/kubernetes/access/exec.h"

#include <stdlib.h>
#include <string.h>

#define SECOND_MS 1000
#define MINUTE_MS 60000
#define EXEC_MS   30000
/* A plugin that failed is not run again sooner, however many ask. */
#define EXEC_RETRY_MS  2000
#define DAY_MS         (24LL * 60 * MINUTE_MS)
#define EXPIRY_WARN_S  (7LL * 24 * 3600)
#define TOKEN_MAX      (64u * 1024)
#define SERVICE_FOLDER "/var/run/secrets/kubernetes.io/serviceaccount"

static const ab_option rows[] = {AB_KUBE_ACCESS_OPTION_ROWS};
const ab_options ab_kube_access_options = {rows, sizeof(rows) / sizeof(rows[0])};

/* Somebody who waits for the plugin. */
typedef struct waiter {
    ab_kube_token done;
    void *arg;
    struct waiter *next;
} waiter;

struct ab_kube_access {
    uv_loop_t *loop;
    ab_log *log;
    const ab_clock *clock;
    ab_kubeconfig config; /* its ca, cert, key and token are those in force */
    ab_http_options http;
    int64_t files_ms;  /* when certificates were looked at */
    int64_t token_ms;  /* when the token file was read */
    int64_t until_s;   /* expiry of the client certificate */
    int64_t warned_ms; /* when its expiry was logged; 0: never */
    bool token_stale;  /* the server did not take it */
    bool files_stale;  /* the same of certificates */
    ab_kube_exec *run; /* NULL: no plugin is under way */
    waiter *waiters;   /* last come first */
    int64_t run_us;    /* wall clock when the plugin is to run again; 0: it has not answered yet */
    int64_t failed_ms; /* when the plugin failed last */
    ab_error failure;  /* its last failure; OK: none */
    bool changed;
};

/* ----- certificates ----- */

static void show_http(ab_kube_access *a)
{
    a->http.ca = ab_kube_text_str(&a->config.ca);
    a->http.cert = ab_kube_text_str(&a->config.cert);
    a->http.key = ab_kube_text_str(&a->config.key);
}

static ab_err check(const ab_kube_text *ca, const ab_kube_text *cert, const ab_kube_text *key,
                    int64_t *until_s, ab_error *err)
{
    ab_err e = AB_ERR_OK;
    if (ab_kube_text_given(ca) && (e = ab_kube_check_ca(ab_kube_text_str(ca), err)) != AB_ERR_OK)
        ab_error_prefix(err, "certificate-authority%s%s", ca->path == NULL ? "" : " ",
                        ca->path == NULL ? "" : ca->path);
    else if (ab_kube_text_given(cert) &&
             (e = ab_kube_check_pair(ab_kube_text_str(cert), ab_kube_text_str(key), until_s,
                                     err)) != AB_ERR_OK)
        ab_error_prefix(err, "client-certificate%s%s", cert->path == NULL ? "" : " ",
                        cert->path == NULL ? "" : cert->path);
    return e;
}

/* All three or none, so that a half-rotated pair is never used. */
static ab_err load_certificates(ab_kube_access *a, ab_error *err)
{
    ab_kube_text *now[] = {&a->config.ca, &a->config.cert, &a->config.key};
    ab_kube_text next[3] = {{0}, {0}, {0}};
    ab_err e = AB_ERR_OK;
    for (size_t i = 0; e == AB_ERR_OK && i < 3; i++)
        e = ab_kube_text_load(now[i], &next[i], err);
    if (e == AB_ERR_OK)
        e = check(&next[0], &next[1], &next[2], &a->until_s, err);
    for (size_t i = 0; i < 3; i++) {
        ab_kube_text *gone = e == AB_ERR_OK ? now[i] : &next[i];
        ab_kube_text_fini(gone);
        if (e == AB_ERR_OK)
            *now[i] = next[i];
    }
    show_http(a);
    return e;
}

static void warn_expiry(ab_kube_access *a, int64_t now_ms)
{
    int64_t left_s = a->until_s - ab_clock_wall_us(a->clock) / 1000000;
    if (a->config.plugin.command != NULL || !ab_kube_text_given(&a->config.cert) ||
        left_s > EXPIRY_WARN_S || (a->warned_ms != 0 && now_ms - a->warned_ms < DAY_MS))
        return;
    a->warned_ms = now_ms;
    AB_WARN(a->log, STORE,
            left_s <= 0 ? "client certificate for the API server has expired"
                        : "client certificate for the API server expires soon",
            AB_KV("hours_left", left_s / 3600));
}

static void check_certificates(ab_kube_access *a)
{
    int64_t now = ab_clock_mono_ms(a->clock);
    if (now - a->files_ms < (a->files_stale ? SECOND_MS : MINUTE_MS))
        return;
    a->files_ms = now;
    a->files_stale = false;
    if (ab_kube_text_changed(&a->config.ca) || ab_kube_text_changed(&a->config.cert) ||
        ab_kube_text_changed(&a->config.key)) {
        ab_error err = {0};
        if (load_certificates(a, &err) == AB_ERR_OK) {
            a->changed = true;
            a->warned_ms = 0;
            AB_INFO(a->log, STORE, "certificates for the API server reloaded");
        } else {
            AB_WARN(
                a->log, STORE,
                "cannot load new certificates for the API server; still using the previous ones",
                AB_KV("why", err.text));
        }
    }
    warn_expiry(a, now);
}

/* ----- token ----- */

static void trim(char *text)
{
    size_t len = strlen(text);
    while (len > 0 && (unsigned char)text[len - 1] <= ' ')
        text[--len] = '\0';
}

/* What may stand in a header, so that a token cannot add another one. */
static bool is_token(const char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    return len > 0 && len <= TOKEN_MAX;
}

static ab_err load_token(ab_kube_access *a, ab_error *err)
{
    ab_kube_text next = {0};
    ab_err e = ab_kube_text_load(&a->config.token, &next, err);
    if (e != AB_ERR_OK)
        return e;
    trim(next.text);
    if (!is_token(next.text)) {
        e = ab_fail(err, AB_ERR_CONFIG, "%s is empty or not a token",
                    next.path == NULL ? "the user's token" : next.path);
        ab_kube_text_fini(&next);
        return e;
    }
    ab_kube_text_fini(&a->config.token);
    a->config.token = next;
    a->token_ms = ab_clock_mono_ms(a->clock);
    a->token_stale = false;
    return AB_ERR_OK;
}

static ab_err token_from_file(ab_kube_access *a, ab_error *err)
{
    bool old = ab_clock_mono_ms(a->clock) - a->token_ms >= MINUTE_MS;
    if (!old && !a->token_stale && !ab_kube_text_changed(&a->config.token))
        return AB_ERR_OK;
    ab_err e = load_token(a, err);
    return e == AB_ERR_OK || e == AB_ERR_NOMEM ? e : AB_ERR_UNAVAILABLE;
}

/* ----- plugin ----- */

static void answer_all(ab_kube_access *a, ab_err code, const ab_error *err)
{
    waiter *first = NULL;
    while (a->waiters != NULL) {
        waiter *w = a->waiters;
        a->waiters = w->next;
        w->next = first;
        first = w;
    }
    while (first != NULL) {
        waiter *w = first;
        first = w->next;
        w->done(w->arg, code, code == AB_ERR_OK ? a->config.token.text : NULL, err);
        free(w);
    }
}

/* A certificate that is not the one in force. */
static ab_err take_pair(ab_kube_access *a, ab_kube_credential *c, ab_error *err)
{
    int64_t until_s = 0;
    if (ab_str_eq(ab_str_of(c->cert), ab_kube_text_str(&a->config.cert)) &&
        ab_str_eq(ab_str_of(c->key), ab_kube_text_str(&a->config.key)))
        return AB_ERR_OK;
    if (c->cert != NULL) {
        ab_err e = ab_kube_check_pair(ab_str_of(c->cert), ab_str_of(c->key), &until_s, err);
        if (e != AB_ERR_OK)
            return e == AB_ERR_NOMEM ? e : AB_ERR_UNAVAILABLE;
    }
    ab_kube_text_fini(&a->config.cert);
    ab_kube_text_fini(&a->config.key);
    a->config.cert.text = c->cert;
    a->config.key.text = c->key;
    c->cert = NULL;
    c->key = NULL;
    show_http(a);
    a->changed = true;
    return AB_ERR_OK;
}

/* A minute before it expires; what lives shorter than two, after half its life. */
static int64_t credential_reload(const ab_kube_access *a, int64_t until_us)
{
    int64_t now = ab_clock_wall_us(a->clock);
    if (until_us == INT64_MAX || until_us <= now)
        return until_us;
    int64_t half = (until_us - now) / 2;
    return until_us - (half < MINUTE_MS * 1000LL ? half : MINUTE_MS * 1000LL);
}

static ab_err take_credential(ab_kube_access *a, ab_kube_credential *c, ab_error *err)
{
    if (c->token != NULL && !is_token(c->token))
        return ab_fail(err, AB_ERR_UNAVAILABLE, "its token is empty or not a token");
    ab_err e = take_pair(a, c, err);
    if (e != AB_ERR_OK)
        return e;
    ab_kube_text_fini(&a->config.token);
    a->config.token.text = c->token;
    c->token = NULL;
    a->run_us = credential_reload(a, c->until_us);
    a->token_stale = false;
    return AB_ERR_OK;
}

static void on_plugin(void *arg, ab_err code, ab_kube_credential *credential, const ab_error *err)
{
    ab_kube_access *a = arg;
    a->run = NULL;
    a->failure = (ab_error){0};
    if (code == AB_ERR_OK) {
        code = take_credential(a, credential, &a->failure);
        if (code != AB_ERR_OK)
            ab_error_prefix(&a->failure, "credential plugin %s", a->config.plugin.command);
    } else {
        a->failure = *err;
    }
    a->failed_ms = ab_clock_mono_ms(a->clock);
    ab_error why = a->failure;
    answer_all(a, code, &why);
}

static bool has_credential(const ab_kube_access *a)
{
    return !a->token_stale && a->run_us > ab_clock_wall_us(a->clock);
}

/* @return OK: `done` will be called */
static ab_err wait_for_plugin(ab_kube_access *a, ab_kube_token done, void *arg, ab_error *err)
{
    if (a->run == NULL && a->failure.code != AB_ERR_OK &&
        ab_clock_mono_ms(a->clock) - a->failed_ms < EXEC_RETRY_MS) {
        *err = a->failure;
        return err->code;
    }
    waiter *w = calloc(1, sizeof(*w));
    if (w == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory waiting for a token");
    ab_err e = a->run != NULL
                   ? AB_ERR_OK
                   : ab_kube_exec_start(a->loop, &a->config, EXEC_MS, on_plugin, a, &a->run, err);
    if (e != AB_ERR_OK) {
        free(w);
        return e;
    }
    *w = (waiter){done, arg, a->waiters};
    a->waiters = w;
    return AB_ERR_OK;
}

void ab_kube_access_token(ab_kube_access *a, ab_kube_token done, void *arg)
{
    ab_error err = {0};
    ab_err e = AB_ERR_OK;
    check_certificates(a);
    if (a->config.plugin.command != NULL && !has_credential(a)) {
        e = wait_for_plugin(a, done, arg, &err);
        if (e == AB_ERR_OK)
            return;
    } else if (a->config.token.path != NULL) {
        e = token_from_file(a, &err);
    }
    done(arg, e, e == AB_ERR_OK ? a->config.token.text : NULL, &err);
}

void ab_kube_access_rejected(ab_kube_access *a)
{
    a->token_stale = true;
    a->files_stale = true;
}

bool ab_kube_access_changed(ab_kube_access *a)
{
    bool changed = a->changed;
    a->changed = false;
    return changed;
}

/* ----- beginning and end ----- */

static ab_err set_server_name(ab_kube_access *a, const char *name, ab_error *err)
{
    if (name != NULL && name[0] != '\0') {
        char *copy = ab_str_dup(ab_str_of(name));
        if (copy == NULL)
            return ab_fail(err, AB_ERR_NOMEM, "out of memory for store.kubernetes.server-name");
        free(a->config.server_name);
        a->config.server_name = copy;
    }
    a->http = (ab_http_options){
        .proxy = a->config.proxy, .sni = a->config.server_name, .agent = "argobus/" AB_VERSION};
    return AB_ERR_OK;
}

static ab_err fill(ab_kube_access *a, const ab_kube_places *places, const ab_config *config,
                   ab_error *err)
{
    ab_err e = ab_kube_find(places, config, &a->config, err);
    if (e == AB_ERR_OK)
        e = set_server_name(a, ab_config_str(config, "store.kubernetes.server-name"), err);
    if (e == AB_ERR_OK)
        e = load_certificates(a, err);
    if (e == AB_ERR_OK && ab_kube_text_given(&a->config.token))
        e = load_token(a, err);
    return e;
}

ab_err ab_kube_access_new_at(const ab_kube_places *places, uv_loop_t *loop, const ab_config *config,
                             ab_log *log, const ab_clock *clock, ab_kube_access **out,
                             ab_error *err)
{
    ab_kube_access *a = calloc(1, sizeof(*a));
    if (a == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for the access to the API server");
    a->loop = loop;
    a->log = log;
    a->clock = clock;
    a->files_ms = ab_clock_mono_ms(clock);
    ab_err e = fill(a, places, config, err);
    if (e != AB_ERR_OK) {
        ab_kube_access_free(a);
        /* What a file's error means here: the configuration names one that is of no use. */
        return e == AB_ERR_NOMEM ? e : AB_ERR_CONFIG;
    }
    warn_expiry(a, a->files_ms);
    AB_INFO(log, STORE, "using the API server", AB_KV("server", a->config.server));
    *out = a;
    return AB_ERR_OK;
}

static ab_kube_places own_places(void)
{
    return (ab_kube_places){
        .kubeconfigs = getenv("KUBECONFIG"),
        .home = getenv("HOME"),
        .service_account = SERVICE_FOLDER,
        .host = getenv("KUBERNETES_SERVICE_HOST"),
        .port = getenv("KUBERNETES_SERVICE_PORT"),
    };
}

ab_err ab_kube_access_new(uv_loop_t *loop, const ab_config *config, ab_log *log,
                          const ab_clock *clock, ab_kube_access **out, ab_error *err)
{
    ab_kube_places places = own_places();
    return ab_kube_access_new_at(&places, loop, config, log, clock, out, err);
}

ab_err ab_kube_access_check(const ab_config *config, ab_error *err)
{
    ab_kube_places places = own_places();
    ab_kubeconfig found = {0};
    if (ab_config_str(config, "store.kubernetes.kubeconfig") == NULL)
        return AB_ERR_OK; /* it may run elsewhere than it is checked */
    ab_err e = ab_kube_find(&places, config, &found, err);
    ab_kubeconfig_fini(&found);
    return e;
}

ab_err ab_kube_access_contexts(const ab_config *config, ab_buf *names, ab_error *err)
{
    ab_kube_places places = own_places();
    return ab_kube_find_contexts(&places, config, names, err);
}

void ab_kube_access_free(ab_kube_access *a)
{
    if (a == NULL)
        return;
    if (a->run != NULL)
        ab_kube_exec_cancel(a->run);
    while (a->waiters != NULL) {
        waiter *w = a->waiters;
        a->waiters = w->next;
        free(w);
    }
    ab_kubeconfig_fini(&a->config);
    free(a);
}

const char *ab_kube_access_server(const ab_kube_access *a)
{
    return a->config.server;
}

const ab_http_options *ab_kube_access_http(const ab_kube_access *a)
{
    return &a->http;
}
