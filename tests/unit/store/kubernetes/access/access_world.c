/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/store/kubernetes/access/access_world.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int64_t mono(void *arg)
{
    return ((world *)arg)->mono_ms;
}

static int64_t wall(void *arg)
{
    return ((world *)arg)->wall_us;
}

const char *in(world *w, const char *name)
{
    char *path = w->paths[w->path_count++ % 8];
    (void)snprintf(path, sizeof(w->paths[0]), "%s/%s", w->folder, name);
    return path;
}

void put(world *w, const char *name, const char *text)
{
    const char *temp = in(w, "temp");
    FILE *f = fopen(temp, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(temp, 0755), 0);
    assert_int_equal(rename(temp, in(w, name)), 0);
}

void get(world *w, const char *name, ab_buf *out)
{
    ab_buf_init(out, 1 << 20);
    if (ab_file_read(in(w, name), out, NULL, &w->err) != AB_ERR_OK)
        fail_msg("%s", w->err.text);
}

world *begin(void)
{
    world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    w->folder = strdup("/tmp/argobus-access-XXXXXX");
    assert_non_null(w->folder);
    assert_non_null(mkdtemp(w->folder));
    assert_int_equal(uv_loop_init(&w->loop), 0);
    w->mono_ms = 1000000;
    w->wall_us = ab_clock_wall_us(&ab_clock_real);
    w->clock = (ab_clock){mono, wall, w};
    FILE *log = fopen(in(w, "log"), "w");
    assert_non_null(log);
    int fd = dup(fileno(log));
    assert_int_equal(fclose(log), 0);
    assert_int_equal(ab_log_new(fd, "debug", AB_LOG_TEXT, &w->clock, &w->log, NULL), AB_ERR_OK);
    w->places.service_account = w->folder;
    return w;
}

ab_err open_access(world *w, const char *const *set, size_t count)
{
    const ab_config_sources sources = {.set = set, .set_count = count};
    w->err = (ab_error){0};
    if (ab_config_load(&ab_kube_access_options, 1, &sources, &w->config, &w->err) != AB_ERR_OK)
        fail_msg("%s", w->err.text);
    return ab_kube_access_new_at(&w->places, &w->loop, w->config, w->log, &w->clock, &w->access,
                                 &w->err);
}

ab_err open_kubeconfig(world *w)
{
    w->places.kubeconfigs = in(w, "kubeconfig");
    return open_access(w, NULL, 0);
}

void must_open(world *w)
{
    if (open_kubeconfig(w) != AB_ERR_OK)
        fail_msg("%s", w->err.text);
}

ab_https_server *must_serve(world *w,
                            void (*on_request)(void *arg, ab_https_request *request,
                                               const ab_https_info *info),
                            void *arg)
{
    static const ab_tls PLAIN = {.insecure = true};
    const ab_https_options options = {
        .host = "127.0.0.1", .tls = &PLAIN, .on_request = on_request, .arg = arg, .log = w->log};
    ab_https_server *server = NULL;
    char text[512];
    assert_int_equal(ab_https_server_start(&w->loop, &options, &server, &w->err), AB_ERR_OK);
    snprintf(text, sizeof(text),
             HEAD "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:%d'}}]\n"
                  "users: [{name: u, user: {tokenFile: token}}]\n",
             ab_https_server_port(server));
    put(w, "kubeconfig", text);
    put(w, "token", "first");
    must_open(w);
    return server;
}

void close_access(world *w)
{
    ab_kube_access_free(w->access);
    ab_config_free(w->config);
    w->access = NULL;
    w->config = NULL;
}

static void remove_folder(const char *path)
{
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *d = readdir(dir); d != NULL; d = readdir(dir))
        if (d->d_type == DT_REG)
            assert_int_equal(unlinkat(dirfd(dir), d->d_name, 0), 0);
    assert_int_equal(closedir(dir), 0);
    assert_int_equal(rmdir(path), 0);
}

void end(world *w)
{
    close_access(w);
    assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    ab_log_free(w->log);
    remove_folder(w->folder);
    free(w->folder);
    free(w);
}

size_t logged(world *w, const char *words)
{
    ab_buf log;
    size_t count = 0;
    get(w, "log", &log);
    for (const char *c = log.len == 0 ? NULL : log.ptr; c != NULL && (c = strstr(c, words)) != NULL;
         c++)
        count++;
    ab_buf_fini(&log);
    return count;
}

void on_token(void *arg, ab_err code, const char *bearer, const ab_error *err)
{
    world *w = arg;
    w->answers++;
    w->code = code;
    (void)snprintf(w->token, sizeof(w->token), "%s", bearer == NULL ? "(none)" : bearer);
    (void)snprintf(w->why, sizeof(w->why), "%s", code == AB_ERR_OK ? "" : err->text);
}

void wait_answers(world *w, size_t count)
{
    while (w->answers < count && uv_run(&w->loop, UV_RUN_ONCE) != 0)
        ;
    assert_int_equal(w->answers, count);
}

void ask(world *w)
{
    size_t before = w->answers;
    ab_kube_access_token(w->access, on_token, w);
    wait_answers(w, before + 1);
}

void assert_token(world *w, const char *token)
{
    ask(w);
    if (w->code != AB_ERR_OK)
        fail_msg("%s", w->why);
    assert_string_equal(w->token, token);
}

void assert_no_token(world *w, ab_err code, const char *words)
{
    ask(w);
    assert_int_equal(w->code, code);
    if (strstr(w->why, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", w->why, words);
    assert_null(strstr(w->why, "hunter2"));
}

void put_kubeconfig(world *w, const char *cluster, const char *user)
{
    char text[4096];
    int n = snprintf(text, sizeof(text),
                     HEAD "clusters: [{name: c, cluster: {server: 'https://api:6443/', %s}}]\n"
                          "users:\n- name: u\n  user: {%s}\n",
                     cluster, user);
    assert_true(n > 0 && (size_t)n < sizeof(text));
    put(w, "kubeconfig", text);
}

made_cert make_client(int64_t until_s)
{
    return make_cert(
        &(made_cert_spec){.type = "EC-P-256", .name = "client", .from_s = -60, .until_s = until_s});
}

bool uses(world *w, const made_cert *m)
{
    return ab_str_is(ab_kube_access_http(w->access)->cert, m->cert) &&
           ab_str_is(ab_kube_access_http(w->access)->key, m->key);
}
