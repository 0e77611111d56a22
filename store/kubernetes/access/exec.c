/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a credential plugin beside the loop, with a limit on its time and on what it prints. It
 * leads a session of its own, so that a time-out also ends what it started.
 */
#include "store/kubernetes/access/exec.h"
#include "base/core/base64.h"
#include "base/json/document.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of the last line of stderr, for people. */
#define LINE_MAX_BYTES 160
#define INFO           "KUBERNETES_EXEC_INFO="

struct ab_kube_exec {
    uv_process_t process;
    uv_timer_t timer;
    uv_pipe_t out, err;
    char chunk[4096]; /* loop thread only: one read at a time */
    ab_buf printed;
    char line[LINE_MAX_BYTES + 1]; /* of stderr: the last one that is not empty */
    size_t line_len;
    bool line_ended;
    int64_t status; /* exit status */
    int signal;     /* that ended it */
    uint64_t limit_ms;
    bool running;
    int pipes;   /* not at their end */
    int handles; /* not closed */
    char *command, *api;
    ab_kube_exec_done done; /* NULL: reported, or nobody asks */
    void *arg;
};

/* ----- what the plugin is told ----- */

static bool add_optional(cJSON *object, const char *name, const char *text)
{
    return text == NULL || ab_doc_add_str(object, name, ab_str_of(text));
}

static bool add_authority(cJSON *cluster, ab_str pem)
{
    ab_buf ca = ab_buf_up_to(2 * AB_KUBE_FILE_MAX);
    ab_base64_encode(pem, &ca);
    bool added =
        ca.len == 0 || ab_doc_add_str(cluster, "certificate-authority-data", ab_buf_str(&ca));
    ab_buf_fini(&ca);
    return added;
}

static bool add_cluster(cJSON *spec, const ab_kubeconfig *config)
{
    cJSON *cluster = cJSON_AddObjectToObject(spec, "cluster");
    const char *own = config->plugin.cluster_config; /* passes through */
    return cluster != NULL && add_optional(cluster, "server", config->server) &&
           add_optional(cluster, "tls-server-name", config->server_name) &&
           add_authority(cluster, ab_kube_text_str(&config->ca)) &&
           add_optional(cluster, "proxy-url", config->proxy) &&
           (own == NULL || cJSON_AddRawToObject(cluster, "config", own) != NULL);
}

/* "KUBERNETES_EXEC_INFO={...}"; NULL: out of memory. */
static char *exec_info(const ab_kubeconfig *config)
{
    ab_buf text = ab_buf_up_to(4 * AB_KUBE_FILE_MAX);
    ab_buf_puts(&text, INFO);
    cJSON *doc = cJSON_CreateObject();
    bool complete = ab_doc_add_str(doc, "kind", AB_STR("ExecCredential")) &&
                    ab_doc_add_str(doc, "apiVersion", ab_str_of(config->plugin.api));
    cJSON *spec = cJSON_AddObjectToObject(doc, "spec");
    complete = complete && spec != NULL && ab_doc_add_bool(spec, "interactive", false) &&
               (!config->plugin.cluster || add_cluster(spec, config));
    return ab_doc_finish(doc, complete, &text) == AB_ERR_OK ? ab_buf_take(&text) : NULL;
}

/* What a plugin gets of our own environment: what it needs to find programs and files and to reach
 * its issuer. The rest may hold our passwords (ARGOBUS_...), which are none of its business. */
static const char *const inherited[] = {
    "PATH",       "HOME",        "http_proxy", "https_proxy", "no_proxy",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",   "all_proxy",   "ALL_PROXY",
};
#define INHERITED (sizeof(inherited) / sizeof(inherited[0]))

static bool has_name(const char *variable, const char *name, size_t len)
{
    return strncmp(variable, name, len) == 0 && variable[len] == '=';
}

static bool is_in(char *const *list, const char *name, size_t len)
{
    for (; *list != NULL; list++)
        if (has_name(*list, name, len))
            return true;
    return false;
}

static size_t count(char *const *list)
{
    size_t n = 0;
    while (list[n] != NULL)
        n++;
    return n;
}

/* Our own variable of this name, borrowed; NULL: there is none. */
static char *own_variable(const char *name)
{
    for (char **v = environ; *v != NULL; v++)
        if (has_name(*v, name, strlen(name)))
            return *v;
    return NULL;
}

/* The inherited variables, then the kubeconfig's, then `info`. Borrowed texts; NULL: out of memory.
 */
static char **make_env(char *const *added, char *info)
{
    char **env = calloc(INHERITED + count(added) + 2, sizeof(*env));
    if (env == NULL)
        return NULL;
    size_t n = 0;
    for (size_t i = 0; i < INHERITED; i++) {
        char *variable = own_variable(inherited[i]);
        if (variable != NULL && !is_in(added, inherited[i], strlen(inherited[i])))
            env[n++] = variable;
    }
    for (char *const *v = added; *v != NULL; v++)
        if (!has_name(*v, INFO, sizeof(INFO) - 2))
            env[n++] = *v;
    env[n] = info;
    return env;
}

/* ----- its end ----- */

static void run_free(ab_kube_exec *r)
{
    ab_buf_wipe(&r->printed);
    explicit_bzero(r->chunk, sizeof(r->chunk));
    free(r->command);
    free(r->api);
    free(r);
}

static void on_closed(uv_handle_t *handle)
{
    ab_kube_exec *r = handle->data;
    if (--r->handles == 0)
        run_free(r);
}

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, on_closed);
}

/* All but the process, which has to be waited for. */
static void release(ab_kube_exec *r)
{
    r->done = NULL;
    close_handle((uv_handle_t *)&r->timer);
    close_handle((uv_handle_t *)&r->out);
    close_handle((uv_handle_t *)&r->err);
    if (r->running)
        (void)kill(-r->process.pid, SIGKILL);
    else
        close_handle((uv_handle_t *)&r->process);
}

static void report(ab_kube_exec *r, ab_err code, ab_kube_credential *credential, ab_error *err)
{
    ab_kube_exec_done done = r->done;
    void *arg = r->arg;
    if (code != AB_ERR_OK)
        ab_error_prefix(err, "credential plugin %s", r->command);
    release(r);
    if (done != NULL)
        done(arg, code, credential, err);
}

static ab_err judge(const ab_kube_exec *r, ab_kube_credential *out, ab_error *err)
{
    const char *colon = r->line_len == 0 ? "" : ": ";
    if (r->signal != 0)
        return ab_fail(err, AB_ERR_UNAVAILABLE, "it was killed by signal %d%s%s", r->signal, colon,
                       r->line);
    if (r->status != 0)
        return ab_fail(err, AB_ERR_UNAVAILABLE, "it exited with status %d%s%s", (int)r->status,
                       colon, r->line);
    return ab_kube_credential_read(ab_buf_str(&r->printed), r->api, out, err);
}

static void end_if_complete(ab_kube_exec *r)
{
    if (r->running || r->pipes > 0 || r->done == NULL)
        return;
    ab_kube_credential credential = {0};
    ab_error err = {0};
    ab_err e = judge(r, &credential, &err);
    report(r, e, &credential, &err);
    ab_kube_credential_fini(&credential);
}

static void on_exit_of(uv_process_t *process, int64_t status, int signal)
{
    ab_kube_exec *r = process->data;
    r->running = false;
    r->status = status;
    r->signal = signal;
    close_handle((uv_handle_t *)process);
    end_if_complete(r);
}

static void on_time(uv_timer_t *timer)
{
    ab_kube_exec *r = timer->data;
    ab_error err = {0};
    ab_err e = ab_fail(&err, AB_ERR_TIMEOUT, "no output within %u ms%s%s", (unsigned)r->limit_ms,
                       r->line_len == 0 ? "" : "; it said: ", r->line);
    report(r, e, NULL, &err);
}

/* ----- what it prints ----- */

static void keep_line(ab_kube_exec *r, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '\n' || bytes[i] == '\r') {
            r->line_ended = true;
            continue;
        }
        if (r->line_ended)
            r->line_len = 0;
        r->line_ended = false;
        bool plain = bytes[i] >= ' ' && bytes[i] <= '~';
        if (r->line_len < LINE_MAX_BYTES)
            r->line[r->line_len++] = plain ? bytes[i] : '?';
        r->line[r->line_len] = '\0';
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    ab_kube_exec *r = handle->data;
    (void)suggested;
    *buf = uv_buf_init(r->chunk, sizeof(r->chunk));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    ab_kube_exec *r = stream->data;
    if (n < 0) {
        close_handle((uv_handle_t *)stream);
        r->pipes--;
        end_if_complete(r);
        return;
    }
    if (stream == (uv_stream_t *)&r->err) {
        keep_line(r, buf->base, (size_t)n);
        return;
    }
    ab_buf_put(&r->printed, (ab_str){buf->base, (size_t)n});
    ab_err e = ab_buf_status(&r->printed);
    if (e == AB_ERR_OK)
        return;
    ab_error err = {0};
    e = e == AB_ERR_NOMEM ? ab_fail(&err, e, "out of memory for what it printed")
                          : ab_fail(&err, AB_ERR_UNAVAILABLE, "it printed more than %u KiB",
                                    AB_KUBE_FILE_MAX / 1024);
    report(r, e, NULL, &err);
}

/* ----- its beginning ----- */

static int spawn(ab_kube_exec *r, uv_loop_t *loop, const ab_kubeconfig *config, char **env)
{
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_IGNORE},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&r->out},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&r->err},
    };
    uv_process_options_t options = {
        .exit_cb = on_exit_of,
        .file = config->plugin.command,
        .args = config->plugin.args,
        .env = env,
        .flags = UV_PROCESS_DETACHED,
        .stdio_count = 3,
        .stdio = stdio,
    };
    int failed = uv_spawn(loop, &r->process, &options);
    r->running = failed == 0;
    if (failed == 0)
        failed = uv_read_start((uv_stream_t *)&r->out, on_alloc, on_read);
    if (failed == 0)
        failed = uv_read_start((uv_stream_t *)&r->err, on_alloc, on_read);
    if (failed == 0)
        failed = uv_timer_start(&r->timer, on_time, r->limit_ms, 0);
    return failed;
}

static void init_handles(ab_kube_exec *r, uv_loop_t *loop)
{
    int failed = uv_timer_init(loop, &r->timer);
    failed |= uv_pipe_init(loop, &r->out, 0);
    failed |= uv_pipe_init(loop, &r->err, 0);
    assert(failed == 0); /* they only fill the structures in */
    r->process.data = r->timer.data = r->out.data = r->err.data = r;
    r->handles = 4;
    r->pipes = 2;
}

static ab_kube_exec *run_new(const ab_kube_plugin *plugin)
{
    ab_kube_exec *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return NULL;
    ab_buf_init(&r->printed, AB_KUBE_FILE_MAX);
    r->command = ab_str_dup(ab_str_of(plugin->command));
    r->api = ab_str_dup(ab_str_of(plugin->api));
    if (r->command != NULL && r->api != NULL)
        return r;
    run_free(r);
    return NULL;
}

ab_err ab_kube_exec_start(uv_loop_t *loop, const ab_kubeconfig *config, uint64_t limit_ms,
                          ab_kube_exec_done done, void *arg, ab_kube_exec **out, ab_error *err)
{
    char *info = exec_info(config);
    char **env = info == NULL ? NULL : make_env(config->plugin.env, info);
    ab_kube_exec *r = env == NULL ? NULL : run_new(&config->plugin);
    ab_err e = AB_ERR_OK;
    if (r == NULL) {
        e = ab_fail(err, AB_ERR_NOMEM, "out of memory for the credential plugin");
    } else {
        init_handles(r, loop);
        r->limit_ms = limit_ms;
        const char *hint = config->plugin.hint;
        int failed = spawn(r, loop, config, env);
        if (failed != 0) {
            e = ab_fail(err, AB_ERR_UNAVAILABLE, "cannot start the credential plugin %s: %s%s%s",
                        r->command, uv_strerror(failed), hint == NULL ? "" : "; ",
                        hint == NULL ? "" : hint);
            release(r);
        } else {
            r->done = done;
            r->arg = arg;
            *out = r;
        }
    }
    free(env);
    free(info);
    return e;
}

void ab_kube_exec_cancel(ab_kube_exec *run)
{
    release(run);
}
