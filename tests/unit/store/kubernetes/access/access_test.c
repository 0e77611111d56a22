/* SPDX-License-Identifier: Apache-2.0
 *
 * Kubeconfigs, the service account of a pod, and files that change.
 */
#include "base/core/base64.h"
#include "tests/unit/store/kubernetes/access/access_world.h"

#include <fcntl.h>
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

/* ----- kubeconfigs ----- */

static void a_token_of_a_kubeconfig_is_given_out(void **state)
{
    (void)state;
    world *w = begin();
    put_kubeconfig(w, "tls-server-name: kube, proxy-url: 'http://proxy:1'", "token: hunter2");
    must_open(w);
    assert_string_equal(ab_kube_access_server(w->access), "https://api:6443");
    const ab_http_options *http = ab_kube_access_http(w->access);
    assert_string_equal(http->sni, "kube");
    assert_string_equal(http->proxy, "http://proxy:1");
    assert_null(http->ca.ptr);
    assert_null(http->cert.ptr);
    assert_token(w, "hunter2");
    assert_false(ab_kube_access_changed(w->access));
    assert_int_equal(logged(w, "hunter2"), 0);
    end(w);
}

/* As kubectl has it. */
static void the_token_of_a_file_goes_before_that_of_the_kubeconfig(void **state)
{
    (void)state;
    world *w = begin();
    put(w, "token", "of-file");
    put_kubeconfig(w, "", "token: hunter2, tokenFile: token");
    must_open(w);
    assert_token(w, "of-file");
    end(w);
}

static void a_user_without_credentials_has_no_token(void **state)
{
    (void)state;
    world *w = begin();
    put_kubeconfig(w, "", "");
    must_open(w);
    assert_token(w, "(none)");
    end(w);
}

static void options_choose_file_context_and_server_name(void **state)
{
    (void)state;
    world *w = begin();
    put(w, "other",
        HEAD "clusters: [{name: d, cluster: {server: 'http://[::1]:8001'}}]\n"
             "users: [{name: v, user: {token: of-b}}]\n");
    char file[160];
    (void)snprintf(file, sizeof(file), "store.kubernetes.kubeconfig=%s", in(w, "other"));
    const char *set[] = {file, "store.kubernetes.context=b", "store.kubernetes.server-name=name"};
    w->places.kubeconfigs = "/nowhere";
    if (open_access(w, set, 3) != AB_ERR_OK)
        fail_msg("%s", w->err.text);
    assert_string_equal(ab_kube_access_server(w->access), "http://[::1]:8001");
    assert_string_equal(ab_kube_access_http(w->access)->sni, "name");
    assert_token(w, "of-b");
    end(w);
}

static void of_several_files_the_first_wins(void **state)
{
    (void)state;
    world *w = begin();
    char list[256];
    put(w, "one", "users: [{name: u, user: {token: first}}]\n");
    put(w, "two",
        HEAD "users: [{name: u, user: {token: second}}]\n"
             "clusters: [{name: c, cluster: {server: 'https://two'}}]\n");
    put(w, "empty", "");
    (void)snprintf(list, sizeof(list), ":%s:%s::%s:%s", in(w, "empty"), in(w, "absent"),
                   in(w, "one"), in(w, "two"));
    w->places.kubeconfigs = list;
    assert_int_equal(open_access(w, NULL, 0), AB_ERR_OK);
    assert_string_equal(ab_kube_access_server(w->access), "https://two");
    assert_token(w, "first");
    end(w);
}

typedef struct {
    const char *text; /* the whole file */
    const char *error;
} broken_file;

#define CLUSTER "clusters: [{name: c, cluster: {server: 'https://api'}}]\n"

static const broken_file broken_files[] = {
    {"a: [", "kubeconfig: YAML line 2, column 1: did not find expected node content while parsing "
             "a flow node"},
    {"- a\n", "kubeconfig: a kubeconfig must be a map"},
    {"a: 1\n---\na: 2\n", "kubeconfig: more than one document"},
    {"",
     "kubeconfig has no current-context; name one of its contexts (store.kubernetes.context, or "
     "--context of argobusctl): none"},
    {"contexts: [{name: east}, {name: west}]\n",
     "kubeconfig has no current-context; name one of its contexts (store.kubernetes.context, or "
     "--context of argobusctl): east, west"},
    {"current-context: z\ncontexts: [{name: east}, {name: west}]\n",
     "kubeconfig has no context \"z\"; its contexts: east, west"},
    {"current-context: 5\n", "kubeconfig: current-context is not a string; put it in quotes"},
    {"current-context: a\ncontexts: [{name: a}]\n", "kubeconfig: the context names no cluster"},
    {HEAD, "kubeconfig: the context's cluster \"c\" does not exist"},
    {HEAD CLUSTER, "kubeconfig: the context's user \"u\" does not exist"},
    {HEAD "clusters: [{name: c}]\n",
     "kubeconfig: cluster \"c\": server is missing; set it to https://host:port"},
    {HEAD "clusters: [{name: c, cluster: {server: 'http://api'}}]\n",
     "kubeconfig: cluster \"c\": server http://api is not encrypted; use https:// (http:// only to "
     "localhost)"},
    {HEAD "clusters: [{name: c, cluster: {server: 'http://localhost.evil'}}]\n",
     "kubeconfig: cluster \"c\": server http://localhost.evil is not encrypted; use https:// "
     "(http:// only to localhost)"},
    {HEAD "clusters: [{name: c, cluster: {server: 'api:6443'}}]\n",
     "kubeconfig: cluster \"c\": server api:6443 is not of the form https://host:port"},
    {HEAD "clusters: [{name: c, cluster: {server: 'https://'}}]\n",
     "kubeconfig: cluster \"c\": server https:// is not of the form https://host:port"},
    {HEAD "clusters: [{name: c, cluster: {server: 'https://u:p@api'}}]\n",
     "kubeconfig: cluster \"c\": server is not a URL; set it to https://host:port"},
};

static const struct {
    const char *cluster, *user, *error;
} broken[] = {
    {"insecure-skip-tls-verify: true", "",
     "cluster \"c\": insecure-skip-tls-verify is not supported: the server is always verified; "
     "give its CA as certificate-authority-data instead"},
    {"insecure-skip-tls-verify: 'yes'", "",
     "cluster \"c\": insecure-skip-tls-verify is neither true nor false"},
    {"certificate-authority-data: '!'", "",
     "cluster \"c\": certificate-authority-data is not base64-encoded PEM"},
    {"", "client-certificate: x", "user \"u\": client-key is missing beside client-certificate"},
    {"", "client-key-data: YQ==", "user \"u\": client-certificate is missing beside client-key"},
    {"", "username: a, password: hunter2",
     "user \"u\": username is not supported; API servers no longer take passwords; use a client "
     "certificate or a token"},
    {"", "auth-provider: {name: gcp}",
     "user \"u\": auth-provider is not supported; use exec with the provider's plugin"},
    {"", "token: a, as: admin",
     "user \"u\": as is not supported; use credentials of the user "
     "itself"},
    {"", "token: 12345", "user \"u\": token is not a string; put it in quotes"},
    {"", "exec: {apiVersion: " API "}", "user \"u\": exec.command is missing"},
    {"", "exec: {command: x}",
     "user \"u\": exec.apiVersion is \"\"; supported are " API " and v1beta1"},
    {"", "exec: {command: x, apiVersion: " API "alpha1}",
     "user \"u\": exec.apiVersion is \"" API "alpha1\"; supported are " API " and v1beta1"},
    {"", "exec: {command: x, apiVersion: " API ", interactiveMode: Always}",
     "user \"u\": exec.interactiveMode is Always, but there is no terminal; use a plugin that "
     "needs none"},
    {"", "exec: {command: x, apiVersion: " API ", args: x}", "user \"u\": exec.args is not a list"},
    {"", "exec: {command: x, apiVersion: " API ", env: [{value: hunter2}]}",
     "user \"u\": exec.env has an entry without a name"},
    {"", "token: hunter2, exec: {command: x, apiVersion: " API "}",
     "user \"u\": exec and a token are both set; keep one of them"},
};

/* The error without the folder's name. */
static void assert_error(world *w, ab_err got, const char *wanted)
{
    const char *at = strstr(w->err.text, w->folder);
    size_t skip = at == w->err.text ? strlen(w->folder) + 1 : 0;
    assert_int_equal(got, AB_ERR_CONFIG);
    assert_string_equal(w->err.text + skip, wanted);
}

static void what_is_wrong_with_a_kubeconfig_is_said(void **state)
{
    (void)state;
    world *w = begin();
    for (size_t i = 0; i < sizeof(broken_files) / sizeof(broken_files[0]); i++) {
        put(w, "kubeconfig", broken_files[i].text);
        assert_error(w, open_kubeconfig(w), broken_files[i].error);
        close_access(w);
    }
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        char wanted[AB_ERROR_TEXT_MAX];
        put_kubeconfig(w, broken[i].cluster, broken[i].user);
        (void)snprintf(wanted, sizeof(wanted), "kubeconfig: %s", broken[i].error);
        assert_error(w, open_kubeconfig(w), wanted);
        close_access(w);
    }
    end(w);
}

static void a_missing_file_is_named(void **state)
{
    (void)state;
    world *w = begin();
    w->places.home = w->folder;
    assert_error(w, open_access(w, NULL, 0),
                 "no API server configured: found no service account of a pod, no KUBECONFIG and "
                 "no ~/.kube/config; set store.kubernetes.kubeconfig");
    close_access(w);
    assert_error(w, open_kubeconfig(w), "none of the files in KUBECONFIG exists");
    close_access(w);
    put_kubeconfig(w, "certificate-authority: ca.crt", "");
    (void)open_kubeconfig(w);
    assert_non_null(strstr(w->err.text, "/ca.crt: No such file"));
    close_access(w);
    put_kubeconfig(w, "", "tokenFile: token");
    assert_int_equal(open_kubeconfig(w), AB_ERR_CONFIG);
    assert_non_null(strstr(w->err.text, "/token: No such file"));
    close_access(w);
    put_kubeconfig(w, "", "tokenFile: /tmp");
    assert_error(w, open_kubeconfig(w), "/tmp: is a folder, not a file");
    close_access(w);
    put(w, "token", " \n");
    put_kubeconfig(w, "", "tokenFile: token");
    assert_error(w, open_kubeconfig(w), "token is empty or not a token");
    close_access(w);
    put_kubeconfig(w, "", "token: \"hunter2\\r\\nX: y\"");
    assert_error(w, open_kubeconfig(w), "the user's token is empty or not a token");
    end(w);
}

/* ----- in a pod ----- */

static void put_pod(world *w, const char *host)
{
    made_cert ca = make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "ca", .ca = true});
    put(w, "ca.crt", ca.cert);
    put(w, "token", "one\n");
    made_cert_free(&ca);
    w->places.host = host;
    w->places.port = "443";
}

static void a_pod_uses_its_service_account(void **state)
{
    (void)state;
    world *w = begin();
    put_pod(w, "10.0.0.1");
    assert_int_equal(open_access(w, NULL, 0), AB_ERR_OK);
    assert_string_equal(ab_kube_access_server(w->access), "https://10.0.0.1:443");
    assert_true(ab_str_starts(ab_kube_access_http(w->access)->ca, "-----BEGIN CERTIFICATE-----"));
    assert_token(w, "one");
    close_access(w);
    w->places.host = "fd00::1";
    assert_int_equal(open_access(w, NULL, 0), AB_ERR_OK);
    assert_string_equal(ab_kube_access_server(w->access), "https://[fd00::1]:443");
    close_access(w);
    const char *set[] = {"store.kubernetes.context=a"};
    assert_int_equal(open_access(w, set, 1), AB_ERR_CONFIG);
    assert_non_null(strstr(w->err.text, "a pod's service account has no contexts"));
    close_access(w);
    put_kubeconfig(w, "", "token: of-file");
    must_open(w);
    assert_token(w, "of-file");
    end(w);
}

static void a_rotated_token_is_used_at_once(void **state)
{
    (void)state;
    world *w = begin();
    put_pod(w, "10.0.0.1");
    assert_int_equal(open_access(w, NULL, 0), AB_ERR_OK);
    assert_token(w, "one");
    put(w, "token", "two");
    assert_token(w, "two");
    assert_int_equal(unlink(in(w, "token")), 0);
    assert_no_token(w, AB_ERR_UNAVAILABLE, "/token: No such file");
    put(w, "token", "three");
    assert_token(w, "three");
    assert_false(ab_kube_access_changed(w->access));
    end(w);
}

/* A file that changed without looking changed: same size, same time. */
static void rewrite_unseen(world *w, const char *text)
{
    struct stat before;
    const char *path = in(w, "token");
    assert_int_equal(stat(path, &before), 0);
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    const struct timespec times[2] = {before.st_atim, before.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void a_token_file_is_read_each_minute_and_when_it_was_rejected(void **state)
{
    (void)state;
    world *w = begin();
    put_pod(w, "10.0.0.1");
    assert_int_equal(open_access(w, NULL, 0), AB_ERR_OK);
    rewrite_unseen(w, "two");
    w->mono_ms += 59999;
    assert_token(w, "one");
    w->mono_ms += 1;
    assert_token(w, "two");
    rewrite_unseen(w, "six");
    assert_token(w, "two");
    ab_kube_access_rejected(w->access);
    assert_token(w, "six");
    end(w);
}

/* ----- certificates ----- */

static void put_client(world *w, const made_cert *m)
{
    put(w, "client.crt", m->cert);
    put(w, "client.key", m->key);
}

static void a_client_certificate_comes_from_data_or_files(void **state)
{
    (void)state;
    world *w = begin();
    made_cert m = make_client(3600L * 24 * 365);
    ab_buf user;
    ab_buf_init(&user, 1 << 16);
    ab_buf_puts(&user, "client-certificate: nowhere, client-certificate-data: '");
    ab_base64_encode(ab_str_of(m.cert), &user);
    ab_buf_puts(&user, "', client-key-data: '");
    ab_base64_encode(ab_str_of(m.key), &user);
    ab_buf_puts(&user, "'");
    put_kubeconfig(w, "", user.ptr);
    must_open(w);
    assert_true(uses(w, &m));
    assert_token(w, "(none)");
    close_access(w);
    put_client(w, &m);
    put_kubeconfig(w, "certificate-authority: client.crt",
                   "client-certificate: client.crt, client-key: client.key");
    must_open(w);
    assert_true(uses(w, &m));
    assert_true(ab_str_is(ab_kube_access_http(w->access)->ca, m.cert));
    assert_int_equal(logged(w, "expire"), 0);
    ab_buf_fini(&user);
    made_cert_free(&m);
    end(w);
}

static void an_unusable_certificate_is_refused(void **state)
{
    (void)state;
    world *w = begin();
    made_cert m = make_client(3600);
    made_cert other = make_client(3600);
    put_client(w, &m);
    put(w, "client.key", other.key);
    put_kubeconfig(w, "", "client-certificate: client.crt, client-key: client.key");
    assert_int_equal(open_kubeconfig(w), AB_ERR_CONFIG);
    assert_non_null(strstr(w->err.text, "client.crt: the key does not belong to the certificate"));
    close_access(w);
    put(w, "client.key", "hunter2");
    assert_int_equal(open_kubeconfig(w), AB_ERR_CONFIG);
    assert_non_null(strstr(w->err.text, "the key is not in PEM"));
    assert_null(strstr(w->err.text, "hunter2"));
    close_access(w);
    put_kubeconfig(w, "certificate-authority: client.key", "");
    assert_int_equal(open_kubeconfig(w), AB_ERR_CONFIG);
    assert_non_null(strstr(w->err.text, "client.key: the certificate is not in PEM format"));
    made_cert_free(&other);
    made_cert_free(&m);
    end(w);
}

static void a_rotated_certificate_is_used_when_it_is_whole(void **state)
{
    (void)state;
    world *w = begin();
    made_cert old = make_client(3600L * 24 * 365);
    made_cert new = make_client(3600L * 24 * 365);
    put_client(w, &old);
    put_kubeconfig(w, "", "client-certificate: client.crt, client-key: client.key");
    must_open(w);
    put(w, "client.crt", new.cert);
    w->mono_ms += 60000;
    ask(w);
    assert_true(uses(w, &old));
    assert_false(ab_kube_access_changed(w->access));
    assert_int_equal(logged(w, "does not belong"), 1);
    put(w, "client.key", new.key);
    ask(w);
    assert_true(uses(w, &old)); /* looked at once a minute */
    w->mono_ms += 60000;
    ask(w);
    assert_true(uses(w, &new));
    assert_true(ab_kube_access_changed(w->access));
    assert_false(ab_kube_access_changed(w->access));
    made_cert_free(&new);
    made_cert_free(&old);
    end(w);
}

static void a_rotated_certificate_is_used_at_once_when_the_old_one_was_rejected(void **state)
{
    (void)state;
    world *w = begin();
    made_cert old = make_client(3600L * 24 * 365);
    made_cert new = make_client(3600L * 24 * 365);
    put_client(w, &old);
    put_kubeconfig(w, "", "client-certificate: client.crt, client-key: client.key");
    must_open(w);
    put_client(w, &new);
    w->mono_ms += 1000;
    ask(w);
    assert_true(uses(w, &old));
    ab_kube_access_rejected(w->access);
    ask(w);
    assert_true(uses(w, &new));
    assert_true(ab_kube_access_changed(w->access));
    put_client(w, &old);
    ab_kube_access_rejected(w->access);
    ask(w);
    assert_true(uses(w, &new)); /* looked at once a second */
    w->mono_ms += 1000;
    ask(w);
    assert_true(uses(w, &old));
    made_cert_free(&new);
    made_cert_free(&old);
    end(w);
}

static void a_certificate_that_expires_soon_is_a_warning_each_day(void **state)
{
    (void)state;
    world *w = begin();
    made_cert m = make_client(3600L * 24 * 8);
    put_client(w, &m);
    put_kubeconfig(w, "", "client-certificate: client.crt, client-key: client.key");
    must_open(w);
    assert_int_equal(logged(w, "expires soon"), 0);
    for (int minute = 0; minute < 3 * 24 * 60; minute++) {
        w->mono_ms += 60000;
        w->wall_us += 60000000;
        ask(w);
    }
    assert_int_equal(logged(w, "expires soon"), 3);
    w->wall_us += 6 * DAY_US;
    w->mono_ms += 6 * DAY_US / 1000;
    ask(w);
    assert_int_equal(logged(w, "has expired"), 1);
    made_cert_free(&m);
    end(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_of_a_kubeconfig_is_given_out),
        cmocka_unit_test(the_token_of_a_file_goes_before_that_of_the_kubeconfig),
        cmocka_unit_test(a_user_without_credentials_has_no_token),
        cmocka_unit_test(options_choose_file_context_and_server_name),
        cmocka_unit_test(of_several_files_the_first_wins),
        cmocka_unit_test(what_is_wrong_with_a_kubeconfig_is_said),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(a_pod_uses_its_service_account),
        cmocka_unit_test(a_rotated_token_is_used_at_once),
        cmocka_unit_test(a_token_file_is_read_each_minute_and_when_it_was_rejected),
        cmocka_unit_test(a_client_certificate_comes_from_data_or_files),
        cmocka_unit_test(an_unusable_certificate_is_refused),
        cmocka_unit_test(a_rotated_certificate_is_used_when_it_is_whole),
        cmocka_unit_test(a_rotated_certificate_is_used_at_once_when_the_old_one_was_rejected),
        cmocka_unit_test(a_certificate_that_expires_soon_is_a_warning_each_day),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
