/* SPDX-License-Identifier: Apache-2.0
 *
 * Credential plugins, as small shell scripts.
 */
#include "base/core/base64.h"
#include "store/kubernetes/access/exec.h"
#include "tests/unit/store/kubernetes/access/access_world.h"

#include <inttypes.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ----- plugins ----- */

#define ANSWER(status)                                                                             \
    "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" API "\",\"status\":{" status "}}'\n"

static void put_plugin(world *w, const char *script)
{
    char text[8192];
    int n = snprintf(text, sizeof(text), "#!/bin/sh\necho x >>\"${0%%/*}/runs\"\n%s", script);
    assert_true(n > 0 && (size_t)n < sizeof(text));
    put(w, "plugin", text);
    put_kubeconfig(w, "",
                   "exec: {command: ./plugin, args: [a, ''], env: [{name: WHO, value: me}], "
                   "installHint: install it, provideClusterInfo: true, apiVersion: " API "}");
    must_open(w);
}

static size_t runs(world *w)
{
    ab_buf text;
    get(w, "runs", &text);
    size_t count = text.len / 2;
    ab_buf_fini(&text);
    return count;
}

static void a_plugin_gives_the_token_until_it_is_rejected(void **state)
{
    (void)state;
    world *w = begin();
    put_plugin(w, ANSWER("\"token\":\"t'$WHO'\""));
    assert_token(w, "tme");
    w->wall_us += 365 * DAY_US;
    assert_token(w, "tme");
    assert_int_equal(runs(w), 1);
    ab_kube_access_rejected(w->access);
    assert_token(w, "tme");
    assert_int_equal(runs(w), 2);
    assert_int_equal(logged(w, "tme"), 0);
    end(w);
}

static void one_run_serves_all_who_wait(void **state)
{
    (void)state;
    world *w = begin();
    put_plugin(w, ANSWER("\"token\":\"t\""));
    for (int i = 0; i < 20; i++)
        ab_kube_access_token(w->access, on_token, w);
    assert_int_equal(w->answers, 0);
    wait_answers(w, 20);
    assert_string_equal(w->token, "t");
    assert_int_equal(runs(w), 1);
    end(w);
}

static void a_token_is_renewed_a_minute_before_it_expires(void **state)
{
    (void)state;
    world *w = begin();
    char script[512];
    char until[AB_TIME_TEXT];
    w->wall_us = w->wall_us / 1000000 * 1000000;
    ab_time_format_seconds(w->wall_us + 600LL * 1000000, until);
    (void)snprintf(script, sizeof(script), ANSWER("\"token\":\"t\",\"expirationTimestamp\":\"%s\""),
                   until);
    put_plugin(w, script);
    assert_token(w, "t");
    w->wall_us += 539LL * 1000000;
    assert_token(w, "t");
    assert_int_equal(runs(w), 1);
    w->wall_us += 1000000;
    assert_token(w, "t");
    assert_int_equal(runs(w), 2);
    w->wall_us += 90LL * 1000000; /* the plugin gives one that has expired */
    assert_token(w, "t");
    assert_token(w, "t");
    assert_int_equal(runs(w), 4);
    end(w);
}

static void a_plugin_that_fails_is_quoted_and_not_run_again_at_once(void **state)
{
    (void)state;
    world *w = begin();
    put_plugin(w, "echo first >&2; printf 'log in \\033[1mfirst\\n\\n' >&2; exit 3\n");
    assert_no_token(w, AB_ERR_UNAVAILABLE, "/plugin: it exited with status 3: log in ?[1mfirst");
    assert_no_token(w, AB_ERR_UNAVAILABLE, "it exited with status 3");
    assert_int_equal(runs(w), 1);
    put(w, "plugin", "#!/bin/sh\n" ANSWER("\"token\":\"t\""));
    w->mono_ms += 2000;
    assert_token(w, "t");
    end(w);
}

static void a_plugins_bad_answer_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        ab_err code;
        const char *error;
    } bad[] = {
        {"echo hunter2\n", AB_ERR_UNAVAILABLE, "its output is not JSON"},
        {"true\n", AB_ERR_UNAVAILABLE, "its output is not JSON"},
        {"echo '{\"token\":\"hunter2\"}'\n", AB_ERR_UNAVAILABLE,
         "its output is not an ExecCredential of " API},
        {"echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" API "beta1\"}'\n",
         AB_ERR_UNAVAILABLE, "its output is not an ExecCredential of " API},
        {ANSWER(""), AB_ERR_DENIED, "it returned no credentials"},
        {ANSWER("\"token\":5"), AB_ERR_UNAVAILABLE, "its token is not a string"},
        {ANSWER("\"token\":\"hunter2 x\""), AB_ERR_UNAVAILABLE,
         "its token is empty or not a token"},
        {ANSWER("\"token\":\"t\",\"expirationTimestamp\":\"soon\""), AB_ERR_UNAVAILABLE,
         "its expirationTimestamp is not an RFC 3339 time"},
        {ANSWER("\"clientKeyData\":\"hunter2\""), AB_ERR_UNAVAILABLE,
         "it returned a key without a certificate"},
        {ANSWER("\"clientKeyData\":\"hunter2\",\"clientCertificateData\":\"x\""),
         AB_ERR_UNAVAILABLE, "the certificate is not in PEM format"},
        {"kill -9 $$\n", AB_ERR_UNAVAILABLE, "it was killed by signal 9"},
        {"head -c 2000000 /dev/zero\n", AB_ERR_UNAVAILABLE, "it printed more than 1024 KiB"},
    };
    world *w = begin();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        put_plugin(w, bad[i].script);
        assert_no_token(w, bad[i].code, bad[i].error);
        close_access(w);
    }
    end(w);
}

static void a_plugin_that_is_not_there_is_said_with_its_hint(void **state)
{
    (void)state;
    world *w = begin();
    put_plugin(w, "");
    assert_int_equal(unlink(in(w, "plugin")), 0);
    assert_no_token(w, AB_ERR_UNAVAILABLE, "/plugin: no such file or directory; install it");
    end(w);
}

static void on_exec(void *arg, ab_err code, ab_kube_credential *credential, const ab_error *err)
{
    assert_null(credential);
    on_token(arg, code, NULL, err);
}

/* Not there, or dead and not yet buried by whoever inherited it. */
static bool is_gone(uint64_t pid)
{
    char path[48];
    char state = 'Z';
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu64 "/stat", pid);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return true;
    bool known = fscanf(f, "%*d (%*[^)]) %c", &state) == 1;
    assert_int_equal(fclose(f), 0);
    return !known || state == 'Z' || state == 'X';
}

static void wait_gone(uint64_t pid)
{
    int64_t until = ab_clock_mono_ms(&ab_clock_real) + 120000;
    while (!is_gone(pid) && ab_clock_mono_ms(&ab_clock_real) < until)
        (void)sched_yield();
    assert_true(is_gone(pid));
}

static void a_plugin_that_hangs_is_ended_with_all_it_started(void **state)
{
    (void)state;
    world *w = begin();
    char shell[] = "/bin/sh";
    char option[] = "-c";
    char script[] = "tail -f /dev/null & echo $! >&2; wait";
    char server[] = "https://api";
    char api[] = API;
    char *args[] = {shell, option, script, NULL};
    char *env[] = {NULL};
    ab_kubeconfig k = {.server = server,
                       .plugin = {.command = shell, .args = args, .env = env, .api = api}};
    ab_kube_exec *run = NULL;
    assert_int_equal(ab_kube_exec_start(&w->loop, &k, 3000, on_exec, w, &run, &w->err), AB_ERR_OK);
    wait_answers(w, 1);
    assert_int_equal(w->code, AB_ERR_TIMEOUT);
    static const char wanted[] = "credential plugin /bin/sh: no output within 3000 ms; it said: ";
    assert_memory_equal(w->why, wanted, sizeof(wanted) - 1);
    uint64_t child = 0;
    assert_int_equal(ab_str_to_u64(ab_str_of(w->why + sizeof(wanted) - 1), &child), AB_ERR_OK);
    wait_gone(child);
    end(w); /* waits for the process */
}

static void ending_while_a_plugin_runs_makes_no_upcall(void **state)
{
    (void)state;
    world *w = begin();
    put_plugin(w, "tail -f /dev/null\n");
    ab_kube_access_token(w->access, on_token, w);
    close_access(w);
    assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(w->answers, 0);
    end(w);
}

static void a_plugin_is_told_about_the_cluster(void **state)
{
    (void)state;
    world *w = begin();
    put_plugin(w,
               "printf %s \"$KUBERNETES_EXEC_INFO\" >\"${0%/*}/info\"\n"
               "printf '%s|' \"$#\" \"$1\" \"$2\" >\"${0%/*}/args\"\n" ANSWER("\"token\":\"t\""));
    close_access(w);
    made_cert ca = make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "ca", .ca = true});
    put(w, "ca.crt", ca.cert);
    put_kubeconfig(
        w,
        "certificate-authority: ca.crt, extensions: [{name: "
        "client.authentication.k8s.io/exec, extension: {region: [1]}}]",
        "exec: {command: ./plugin, args: [a, ''], provideClusterInfo: true, apiVersion: " API "}");
    must_open(w);
    assert_token(w, "t");
    ab_buf info;
    ab_buf args;
    ab_buf wanted;
    ab_buf_init(&wanted, 1 << 16);
    ab_buf_puts(&wanted, "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" API
                         "\",\"spec\":{\"interactive\":false,\"cluster\":{\"server\":"
                         "\"https://api:6443\",\"certificate-authority-data\":\"");
    ab_base64_encode(ab_str_of(ca.cert), &wanted);
    ab_buf_puts(&wanted, "\",\"config\":{\"region\":[1]}}}}");
    get(w, "info", &info);
    get(w, "args", &args);
    assert_string_equal(info.ptr, wanted.ptr);
    assert_string_equal(args.ptr, "2|a||");
    ab_buf_fini(&info);
    ab_buf_fini(&args);
    ab_buf_fini(&wanted);
    made_cert_free(&ca);
    end(w);
}

static void assert_line(const ab_buf *text, const char *line, bool wanted)
{
    char whole[128];
    (void)snprintf(whole, sizeof(whole), "\n%s\n", line);
    if ((strstr(text->ptr, whole) != NULL) != wanted)
        fail_msg("\"%s\" is %s", line, wanted ? "missing" : "there");
}

static void a_plugin_sees_little_of_our_environment(void **state)
{
    (void)state;
    world *w = begin();
    assert_int_equal(setenv("ARGOBUS_KAFKA_SASL_PASSWORD", "hunter2", 1), 0);
    assert_int_equal(setenv("AWS_SECRET_ACCESS_KEY", "hunter2", 1), 0);
    assert_int_equal(setenv("HTTPS_PROXY", "http://proxy:3128", 1), 0);
    assert_int_equal(setenv("WHO", "somebody", 1), 0);
    put_plugin(w, "(echo && env) >\"${0%/*}/env\"\n" ANSWER("\"token\":\"t\""));
    assert_token(w, "t");
    ab_buf text;
    get(w, "env", &text);
    assert_null(strstr(text.ptr, "hunter2"));
    assert_null(strstr(text.ptr, "ARGOBUS_"));
    assert_line(&text, "HTTPS_PROXY=http://proxy:3128", true);
    assert_line(&text, "WHO=me", true);
    assert_line(&text, "WHO=somebody", false);
    assert_non_null(strstr(text.ptr, "\nPATH="));
    assert_non_null(strstr(text.ptr, "\nKUBERNETES_EXEC_INFO={"));
    ab_buf_fini(&text);
    assert_int_equal(unsetenv("ARGOBUS_KAFKA_SASL_PASSWORD"), 0);
    assert_int_equal(unsetenv("AWS_SECRET_ACCESS_KEY"), 0);
    assert_int_equal(unsetenv("HTTPS_PROXY"), 0);
    assert_int_equal(unsetenv("WHO"), 0);
    end(w);
}

/* Of two variables of one name, a program may see either. */
static void a_plugin_sees_no_variable_twice(void **state)
{
    (void)state;
    world *w = begin();
    ab_buf text;
    assert_int_equal(setenv("HTTPS_PROXY", "http://proxy:3128", 1), 0);
    put_plugin(w, "(echo && tr '\\0' '\\n' </proc/$$/environ) >\"${0%/*}/env\"\n" ANSWER(
                      "\"token\":\"t\""));
    close_access(w);
    put_kubeconfig(w, "",
                   "exec: {command: ./plugin, apiVersion: " API
                   ", env: [{name: KUBERNETES_EXEC_INFO, value: mine}, "
                   "{name: HTTPS_PROXY, value: 'http://other:3128'}]}");
    must_open(w);
    assert_token(w, "t");
    get(w, "env", &text);
    assert_line(&text, "KUBERNETES_EXEC_INFO=mine", false);
    assert_non_null(strstr(text.ptr, "\nKUBERNETES_EXEC_INFO={"));
    assert_line(&text, "HTTPS_PROXY=http://proxy:3128", false);
    assert_line(&text, "HTTPS_PROXY=http://other:3128", true);
    ab_buf_fini(&text);
    assert_int_equal(unsetenv("HTTPS_PROXY"), 0);
    end(w);
}

static void append_pem(ab_buf *script, const char *name, const char *pem)
{
    ab_buf_printf(script, "\"%s\":\"", name);
    for (; *pem != '\0'; pem++)
        if (*pem == '\n')
            ab_buf_puts(script, "\\n");
        else
            ab_buf_putc(script, *pem);
    ab_buf_puts(script, "\"");
}

static void a_plugins_certificate_is_used(void **state)
{
    (void)state;
    world *w = begin();
    made_cert m = make_client(3600);
    ab_buf script;
    ab_buf_init(&script, 1 << 16);
    ab_buf_puts(&script,
                "cat <<'E'\n{\"kind\":\"ExecCredential\",\"apiVersion\":\"" API "\",\"status\":{");
    append_pem(&script, "clientCertificateData", m.cert);
    ab_buf_puts(&script, ",");
    append_pem(&script, "clientKeyData", m.key);
    ab_buf_puts(&script, "}}\nE\n");
    put_plugin(w, script.ptr);
    assert_false(ab_kube_access_changed(w->access));
    assert_token(w, "(none)");
    assert_true(uses(w, &m));
    assert_true(ab_kube_access_changed(w->access));
    ab_kube_access_rejected(w->access);
    assert_token(w, "(none)");
    assert_false(ab_kube_access_changed(w->access));
    ab_buf_fini(&script);
    made_cert_free(&m);
    end(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plugin_gives_the_token_until_it_is_rejected),
        cmocka_unit_test(one_run_serves_all_who_wait),
        cmocka_unit_test(a_token_is_renewed_a_minute_before_it_expires),
        cmocka_unit_test(a_plugin_that_fails_is_quoted_and_not_run_again_at_once),
        cmocka_unit_test(a_plugins_bad_answer_is_refused),
        cmocka_unit_test(a_plugin_that_is_not_there_is_said_with_its_hint),
        cmocka_unit_test(a_plugin_that_hangs_is_ended_with_all_it_started),
        cmocka_unit_test(ending_while_a_plugin_runs_makes_no_upcall),
        cmocka_unit_test(a_plugin_is_told_about_the_cluster),
        cmocka_unit_test(a_plugin_sees_little_of_our_environment),
        cmocka_unit_test(a_plugin_sees_no_variable_twice),
        cmocka_unit_test(a_plugins_certificate_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
