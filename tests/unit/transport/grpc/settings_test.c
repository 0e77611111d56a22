/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of the options of grpc.*; that the layer below does what it is told is tested there.
 */
#include "transport/grpc/grpc_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define SET_MAX 8

typedef struct {
    ab_config *config;
    ab_grpc_settings settings;
    ab_error err;
} loaded;

/* From "key=value" words; the last is NULL. Options that name files must name some that are there:
 * they are not looked into. */
static ab_err load(loaded *out, ab_role role, const char *const *words)
{
    *out = (loaded){0};
    const char *set[SET_MAX] = {"grpc.address=principal.example.com:8443"};
    size_t count = 1;
    for (; *words != NULL && count < SET_MAX; words++)
        set[count++] = *words;
    const ab_config_sources sources = {.set = set, .set_count = count};
    const ab_options tables[] = {ab_grpc_options, ab_auth_options};
    assert_int_equal(ab_config_load(tables, 2, &sources, &out->config, &out->err), AB_ERR_OK);
    return ab_grpc_settings_read(out->config, role, &out->settings, &out->err);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static loaded loaded_ok(ab_role role, const char *const *words)
{
    loaded l;
    if (load(&l, role, words) != AB_ERR_OK)
        fail_msg("%s", l.err.text);
    return l;
}

static void assert_refused(ab_role role, const char *const *words, const char *mention)
{
    loaded l;
    assert_int_equal(load(&l, role, words), AB_ERR_CONFIG);
    if (strstr(l.err.text, mention) == NULL)
        fail_msg("\"%s\" does not mention %s", l.err.text, mention);
    ab_config_free(l.config);
}

static void without_options_it_is_tls_1_3_and_200_mib_without_compression(void **state)
{
    (void)state;
    loaded l = loaded_ok(AB_ROLE_AGENT, WORDS(NULL));
    const ab_grpc_settings *s = &l.settings;
    assert_false(s->tls.insecure || s->tls.websocket || s->compress);
    assert_string_equal(s->tls.min_version, "1.3");
    assert_int_equal(s->limits.message_bytes, 200 * 1024 * 1024);
    assert_int_equal(s->limits.ping_ms, 60000);
    assert_int_equal(s->limits.ping_timeout_ms, 20000);
    assert_string_equal(s->peer_version, AB_VERSION);
    ab_config_free(l.config);
}

static void each_option_counts(void **state)
{
    (void)state;
    loaded l = loaded_ok(AB_ROLE_AGENT, WORDS("grpc.compression=gzip", "grpc.keepalive=5s",
                                              "grpc.keepalive-timeout=7s", "grpc.queue=1MiB",
                                              "grpc.tls.server-name=principal"));
    assert_true(l.settings.compress);
    assert_int_equal(l.settings.limits.ping_ms, 5000);
    assert_int_equal(l.settings.limits.ping_timeout_ms, 7000);
    assert_int_equal(l.settings.limits.login_ms, ab_rpc_default_limits.handshake_ms + 7000);
    assert_int_equal(l.settings.queue_bytes, 1024 * 1024);
    assert_string_equal(l.settings.tls.server_name, "principal");
    ab_config_free(l.config);
    l = loaded_ok(AB_ROLE_AGENT,
                  WORDS("grpc.message-max=1MiB", "grpc.peer-version=v1", "grpc.insecure=true",
                        "grpc.tls.min-version=1.2", "grpc.tls.ciphers=A:B"));
    assert_int_equal(l.settings.limits.message_bytes, 1024 * 1024);
    assert_true(l.settings.message_max < 1024 * 1024);
    assert_string_equal(l.settings.peer_version, "v1");
    assert_true(l.settings.tls.insecure);
    assert_string_equal(l.settings.tls.min_version, "1.2");
    assert_string_equal(l.settings.tls.ciphers, "A:B");
    ab_config_free(l.config);
}

static void a_websocket_takes_no_more_than_argocd_agent_does(void **state)
{
    (void)state;
    loaded l = loaded_ok(AB_ROLE_AGENT, WORDS("grpc.websocket=true"));
    assert_true(l.settings.tls.websocket);
    assert_int_equal(l.settings.limits.message_bytes, 64 * 1024 * 1024 - 5);
    ab_config_free(l.config);
}

static void assert_client_cert(const char *ca, const char *accept, ab_tls_client_cert wanted)
{
    loaded l = loaded_ok(AB_ROLE_PRINCIPAL,
                         WORDS("grpc.tls.cert=/dev/null", "grpc.tls.key=/dev/null", accept, ca));
    assert_int_equal(l.settings.tls.client_cert, wanted);
    ab_config_free(l.config);
}

static void tls_turns_away_who_could_not_log_in_anyway(void **state)
{
    (void)state;
    const char *ca = "grpc.tls.ca=/dev/null";
    assert_client_cert(ca, "grpc.keepalive=60s", AB_TLS_CLIENT_CERT_REQUIRE);
    assert_client_cert(ca, "grpc.auth.accept=mtls", AB_TLS_CLIENT_CERT_REQUIRE);
    assert_client_cert(ca, "grpc.auth.accept=mtls,userpass", AB_TLS_CLIENT_CERT_REQUEST);
    assert_client_cert(ca, "grpc.auth.accept=userpass,mtls", AB_TLS_CLIENT_CERT_REQUEST);
    assert_client_cert(ca, "grpc.auth.accept=header", AB_TLS_CLIENT_CERT_REQUEST);
    assert_client_cert(NULL, "grpc.auth.accept=userpass", AB_TLS_CLIENT_CERT_NONE);
    assert_refused(AB_ROLE_PRINCIPAL, WORDS("grpc.tls.cert=/dev/null", "grpc.tls.key=/dev/null"),
                   "grpc.tls.ca is not set");
}

static void there_is_no_plaintext_unless_it_is_asked_for(void **state)
{
    (void)state;
    assert_refused(AB_ROLE_PRINCIPAL, WORDS(NULL), "grpc.insecure");
    assert_refused(AB_ROLE_PRINCIPAL, WORDS("grpc.tls.cert=/dev/null"), "grpc.tls.key");
    assert_refused(AB_ROLE_AGENT, WORDS("grpc.tls.key=/dev/null"), "grpc.tls.cert");
    loaded l = loaded_ok(AB_ROLE_PRINCIPAL, WORDS("grpc.insecure=true"));
    ab_config_free(l.config);
}

static void an_address_is_read_in_each_form(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        const char *host;
        int port;
    } good[] = {{"grpc.address=a.example.com:1", "a.example.com", 1},
                {"grpc.address=a.example.com", "a.example.com", 443},
                {"grpc.address=[::1]:8443", "::1", 8443},
                {"grpc.address=[::1]", "::1", 443}};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        loaded l = loaded_ok(AB_ROLE_AGENT, WORDS(good[i].word));
        assert_string_equal(l.settings.host, good[i].host);
        assert_int_equal(l.settings.port, good[i].port);
        ab_config_free(l.config);
    }
    assert_refused(AB_ROLE_AGENT, WORDS("grpc.address="), "grpc.address");
    assert_refused(AB_ROLE_AGENT, WORDS("grpc.address=:8443"), "has no host");
    assert_refused(AB_ROLE_AGENT, WORDS("grpc.address=a:b"), "is not a port");
    assert_refused(AB_ROLE_AGENT, WORDS("grpc.address=a:65536"), "is not a port");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_options_it_is_tls_1_3_and_200_mib_without_compression),
        cmocka_unit_test(each_option_counts),
        cmocka_unit_test(a_websocket_takes_no_more_than_argocd_agent_does),
        cmocka_unit_test(tls_turns_away_who_could_not_log_in_anyway),
        cmocka_unit_test(there_is_no_plaintext_unless_it_is_asked_for),
        cmocka_unit_test(an_address_is_read_in_each_form),
    };
    return cmocka_run_group_tests_name("grpc settings", tests, NULL, NULL);
}
