/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/auth/world.h"

#include "base/core/file.h"
#include "base/crypto/certificate.h"
#include "base/crypto/pem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int64_t mono_ms(void *arg)
{
    return ((world *)arg)->mono_ms;
}

static int64_t wall_us(void *arg)
{
    return ((world *)arg)->wall_us;
}

void world_init(world *w)
{
    *w = (world){.clock = {mono_ms, wall_us, w}, .mono_ms = 1};
    w->wall_us = ab_clock_wall_us(&ab_clock_real);
    (void)snprintf(w->folder, sizeof(w->folder), "/tmp/argobus-test-auth-XXXXXX");
    assert_non_null(mkdtemp(w->folder));
    assert_int_equal(uv_loop_init(&w->loop), 0);
    static made_cert key; /* one for all tests: it takes long to make */
    if (key.key == NULL)
        key = make_cert(&(made_cert_spec){.type = "RSA-2048", .name = "token"});
    world_write(w, "token.key", key.key);
}

void world_write(const world *w, const char *name, const char *text)
{
    char path[160];
    (void)snprintf(path, sizeof(path), "%s/%s", w->folder, name);
    assert_int_equal(ab_file_replace(path, ab_str_of(text), NULL), AB_ERR_OK);
}

static bool is_served(void *arg, const char *agent)
{
    const world *w = arg;
    return w->unserved == NULL || strcmp(agent, w->unserved) != 0;
}

static bool is_revoked(void *arg, const uint8_t fingerprint[AB_AUTH_HASH_BYTES])
{
    const world *w = arg;
    uint8_t revoked[AB_AUTH_HASH_BYTES];
    if (w->revoked == NULL)
        return false;
    assert_int_equal(ab_certificate_fingerprint(w->revoked, revoked), AB_ERR_OK);
    return memcmp(revoked, fingerprint, sizeof(revoked)) == 0;
}

static void on_changed(void *arg)
{
    ((world *)arg)->changes++;
}

static ab_err load_config(world *w, const char *const *settings)
{
    char texts[WORLD_SET_MAX][256];
    const char *set[WORLD_SET_MAX];
    size_t count = 1;
    (void)snprintf(texts[0], sizeof(texts[0]), "grpc.auth.token.key=%s/token.key", w->folder);
    for (; settings[count - 1] != NULL; count++) {
        const char *text = settings[count - 1];
        const char *folder = strstr(text, "%s");
        assert_true(count < WORLD_SET_MAX);
        if (folder == NULL)
            (void)snprintf(texts[count], sizeof(texts[count]), "%s", text);
        else
            (void)snprintf(texts[count], sizeof(texts[count]), "%.*s%s%s", (int)(folder - text),
                           text, w->folder, folder + 2);
    }
    for (size_t i = 0; i < count; i++)
        set[i] = texts[i];
    const ab_config_sources sources = {.set = set, .set_count = count};
    return ab_config_load(&ab_auth_options, 1, &sources, &w->config, &w->err);
}

ab_err world_open(world *w, const char *const *settings)
{
    ab_err e = load_config(w, settings);
    if (e != AB_ERR_OK)
        return e;
    w->metrics = ab_metrics_new();
    assert_non_null(w->metrics);
    const ab_auth_env env = {.loop = &w->loop,
                             .config = w->config,
                             .log = w->log,
                             .metrics = w->metrics,
                             .clock = &w->clock,
                             .is_served = is_served,
                             .is_revoked = is_revoked,
                             .on_changed = on_changed,
                             .arg = w};
    return ab_auth_new(&env, &w->auth, &w->err);
}

static void on_closed(void *arg)
{
    ((world *)arg)->closed = true;
}

void world_close(world *w)
{
    if (w->auth != NULL) {
        w->closed = false;
        ab_auth_close(w->auth, on_closed, w);
        world_wait(w, &w->closed);
    }
    ab_auth_free(w->auth);
    ab_metrics_free(w->metrics);
    ab_config_free(w->config);
    w->auth = NULL;
    w->metrics = NULL;
    w->config = NULL;
}

void world_fini(world *w)
{
    char command[128];
    world_close(w);
    assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    (void)snprintf(command, sizeof(command), "rm -r %s", w->folder);
    assert_int_equal(system(command), 0);
}

/* ----- waiting ----- */

static void on_late(uv_timer_t *timer)
{
    *(bool *)timer->data = true;
}

static void run_until(world *w, bool (*reached)(const void *arg), const void *arg)
{
    uv_timer_t timer;
    bool late = false;
    timer.data = &late;
    uv_update_time(&w->loop); /* under QEMU a key that was made since takes minutes */
    assert_int_equal(uv_timer_init(&w->loop, &timer), 0);
    assert_int_equal(uv_timer_start(&timer, on_late, 120000, 0), 0);
    while (!reached(arg) && !late)
        (void)uv_run(&w->loop, UV_RUN_ONCE);
    bool in_time = reached(arg);
    uv_close((uv_handle_t *)&timer, NULL);
    (void)uv_run(&w->loop, UV_RUN_NOWAIT);
    assert_true(in_time);
}

static bool is_set(const void *arg)
{
    return *(const bool *)arg;
}

void world_wait(world *w, const bool *done)
{
    run_until(w, is_set, done);
}

typedef struct {
    const world *w;
    int count;
} wanted_changes;

static bool has_changed(const void *arg)
{
    const wanted_changes *c = arg;
    return c->w->changes >= c->count;
}

void world_wait_changes(world *w, int count)
{
    const wanted_changes wanted = {w, count};
    run_until(w, has_changed, &wanted);
}

double world_metric(const world *w, const char *line)
{
    ab_buf text;
    ab_buf_init(&text, 1 << 20);
    (void)ab_metrics_render(w->metrics, &(ab_rendering){0}, &text, SIZE_MAX);
    const char *at = text.ptr == NULL ? NULL : strstr(text.ptr, line);
    double value = at == NULL ? 0 : strtod(at + strlen(line), NULL);
    ab_buf_fini(&text);
    return value;
}

/* ----- peers ----- */

static size_t find_metadata(void *arg, const char *name, ab_str *first)
{
    const caller *c = arg;
    if (c->header == NULL || strcmp(c->header, name) != 0)
        return 0;
    *first = ab_str_of(c->value);
    return c->header_count;
}

void caller_init(caller *c, const char *address, const char *cert)
{
    *c = (caller){.header_count = 1};
    c->peer = (ab_auth_peer){.address = address,
                             .loopback = strcmp(address, "127.0.0.1") == 0,
                             .metadata = find_metadata,
                             .metadata_arg = c};
    if (cert == NULL)
        return;
    STACK_OF(X509) *certs = NULL;
    assert_int_equal(ab_pem_certs(ab_str_of(cert), &certs), AB_ERR_OK);
    c->peer.certificate = sk_X509_shift(certs);
    sk_X509_pop_free(certs, X509_free);
}

void caller_fini(caller *c)
{
    X509_free(c->peer.certificate);
}

static void copy(ab_str from, char *to, size_t room)
{
    assert_true(from.len < room);
    memcpy(to, from.ptr, from.len);
    to[from.len] = '\0';
}

static void on_done(void *arg, ab_err code, const ab_error *err, const ab_auth_grant *grant)
{
    outcome *o = arg;
    assert_false(o->ended);
    assert_int_equal(code == AB_ERR_OK, grant != NULL);
    o->ended = true;
    o->code = code;
    o->err = *err;
    if (grant == NULL)
        return;
    o->identity = grant->identity;
    copy(grant->access, o->access, sizeof(o->access));
    copy(grant->refresh, o->refresh, sizeof(o->refresh));
}

void begin_login(world *w, const caller *c, const char *method, const char *mode, const char *user,
                 const char *password, outcome *out)
{
    *out = (outcome){0};
    const ab_auth_credential credentials[] = {{AB_STR("clientid"), ab_str_of(user)},
                                              {AB_STR("clientsecret"), ab_str_of(password)}};
    const ab_auth_request request = {.method = ab_str_of(method),
                                     .mode = ab_str_of(mode),
                                     .credentials = credentials,
                                     .credential_count = user == NULL ? 0 : 2};
    assert_int_equal(ab_auth_authenticate(w->auth, &c->peer, &request, on_done, out), AB_ERR_OK);
    assert_false(out->ended);
}

outcome log_in(world *w, const caller *c, const char *method, const char *mode, const char *user,
               const char *password)
{
    outcome o;
    begin_login(w, c, method, mode, user, password, &o);
    world_wait(w, &o.ended);
    return o;
}

outcome refresh(world *w, const caller *c, const char *token)
{
    outcome o = {0};
    assert_int_equal(ab_auth_refresh(w->auth, &c->peer, ab_str_of(token), on_done, &o), AB_ERR_OK);
    assert_false(o.ended);
    world_wait(w, &o.ended);
    return o;
}

void assert_refused(const outcome *o, const char *reason)
{
    assert_int_equal(o->code, AB_ERR_DENIED);
    assert_string_equal(o->err.text, reason);
}

void assert_granted(const outcome *o, const char *agent)
{
    if (o->code != AB_ERR_OK)
        fail_msg("refused: %s", o->err.text);
    assert_string_equal(o->identity.agent, agent);
}

void assert_verified(world *w, const caller *c, const char *token, const char *agent)
{
    ab_auth_identity identity;
    ab_error err = {0};
    ab_err e = ab_auth_verify(w->auth, &c->peer, ab_str_of(token), &identity, &err);
    if (e != AB_ERR_OK)
        fail_msg("refused: %s", err.text);
    assert_string_equal(identity.agent, agent);
}

void assert_not_verified(world *w, const caller *c, const char *token, const char *reason)
{
    ab_auth_identity identity;
    ab_error err = {0};
    ab_err e = ab_auth_verify(w->auth, &c->peer, ab_str_of(token), &identity, &err);
    assert_int_equal(e, AB_ERR_DENIED);
    assert_string_equal(err.text, reason);
}
