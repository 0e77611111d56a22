/* SPDX-License-Identifier: Apache-2.0
 *
 * What authentication is made of, its start and its end; checks of tokens and identities. Logins
 * and refreshes, which take time, are in login.c.
 */
#include "auth/auth_priv.h"

#include "base/crypto/certificate.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <stdlib.h>

#define DEFAULT_METHOD "mtls"

/* ----- the key of the tokens ----- */

static void on_key_changed(void *arg)
{
    ab_auth *a = arg;
    ab_error err = {0};
    if (ab_auth_keys_read(&a->keys, a->key_path, &err) != AB_ERR_OK)
        AB_ERROR(a->env.log, AUTH, "cannot load the new token key; still using the previous one",
                 AB_KV("error", err.text));
    else
        AB_INFO(a->env.log, AUTH, "token key reloaded", AB_KV("file", a->key_path));
}

static ab_err open_key(ab_auth *a, ab_error *err)
{
    const char *path = ab_config_str(a->env.config, "grpc.auth.token.key");
    if (path == NULL || path[0] == '\0')
        return AB_ERR_OK;
    a->key_path = path;
    ab_auth_watch_add(&a->watch, path, on_key_changed, a);
    return ab_auth_keys_read(&a->keys, path, err);
}

/* ----- the list of revoked certificates ----- */

static ab_err load_revoked(ab_auth *a, ab_error *err)
{
    ab_revoked revoked;
    ab_err e = ab_revoked_read(a->revoked_path, &revoked, err);
    if (e != AB_ERR_OK)
        return e;
    ab_revoked_fini(&a->revoked);
    a->revoked = revoked;
    return AB_ERR_OK;
}

static void tell_changed(void *arg)
{
    ab_auth *a = arg;
    if (a->env.on_changed != NULL)
        a->env.on_changed(a->env.arg);
}

static void on_revoked_changed(void *arg)
{
    ab_auth *a = arg;
    ab_error err = {0};
    if (load_revoked(a, &err) != AB_ERR_OK) {
        AB_ERROR(a->env.log, AUTH,
                 "cannot load the revoked certificates; still using the previous list",
                 AB_KV("error", err.text));
        return;
    }
    AB_INFO(a->env.log, AUTH, "revoked certificates reloaded", AB_KV("count", a->revoked.count));
    tell_changed(a);
}

static ab_err open_revoked(ab_auth *a, ab_error *err)
{
    const char *path = ab_config_str(a->env.config, "grpc.auth.revoked");
    if (path == NULL || path[0] == '\0')
        return AB_ERR_OK;
    a->revoked_path = path;
    ab_auth_watch_add(&a->watch, path, on_revoked_changed, a);
    ab_err e = load_revoked(a, err);
    if (e == AB_ERR_OK)
        return e;
    ab_error_prefix(err, "grpc.auth.revoked");
    return e == AB_ERR_NOMEM ? e : AB_ERR_CONFIG;
}

/* ----- methods ----- */

ab_auth_method *ab_auth_find_method(const ab_auth *a, ab_str name)
{
    for (size_t i = 0; i < a->method_count; i++)
        if (ab_str_is(name, a->methods[i]->ops->name))
            return a->methods[i];
    return NULL;
}

static const ab_auth_method_ops *const methods[] = {&ab_auth_mtls, &ab_auth_header,
                                                    &ab_auth_userpass, NULL};

static const ab_auth_method_ops *find_ops(const char *name)
{
    for (size_t i = 0; methods[i] != NULL; i++)
        if (strcmp(methods[i]->name, name) == 0)
            return methods[i];
    return NULL;
}

static ab_err add_method(ab_auth *a, const char *name, ab_error *err)
{
    const ab_auth_method_ops *ops = find_ops(name);
    if (ops == NULL)
        return ab_fail(err, AB_ERR_CONFIG,
                       "grpc.auth.accept: unknown method \"%s\": use mtls, header or userpass",
                       name);
    if (ab_auth_find_method(a, ab_str_of(name)) != NULL)
        return AB_ERR_OK;
    ab_auth_method *m = calloc(1, ops->size);
    if (m == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for a login method");
    m->ops = ops;
    m->env = &a->method_env;
    a->methods[a->method_count++] = m;
    return ops->init(m, err);
}

static ab_err add_methods(ab_auth *a, ab_error *err)
{
    size_t count = ab_config_count(a->env.config, "grpc.auth.accept");
    if (count == 0)
        return add_method(a, DEFAULT_METHOD, err);
    for (size_t i = 0; i < count; i++) {
        ab_err e = add_method(a, ab_config_item(a->env.config, "grpc.auth.accept", i), err);
        if (e != AB_ERR_OK)
            return e;
    }
    return AB_ERR_OK;
}

/* ----- start and end ----- */

static ab_err open_all(ab_auth *a, ab_error *err)
{
    a->access_s = ab_config_int(a->env.config, "grpc.auth.token.access") / 1000;
    a->refresh_s = ab_config_int(a->env.config, "grpc.auth.token.refresh") / 1000;
    if (ab_auth_limiter_init(&a->limiter) != AB_ERR_OK)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for authentication");
    ab_err e = open_key(a, err);
    if (e == AB_ERR_OK)
        e = open_revoked(a, err);
    return e == AB_ERR_OK ? add_methods(a, err) : e;
}

/* All that the configuration names is read, and nothing runs yet. */
static ab_err open_from(const ab_auth_env *env, ab_auth **out, ab_error *err)
{
    ab_auth *a = calloc(1, sizeof(*a));
    if (a == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for authentication");
    a->env = *env;
    a->method_env = (ab_auth_method_env){.config = env->config,
                                         .log = env->log,
                                         .watch = &a->watch,
                                         .changed = tell_changed,
                                         .arg = a};
    ab_err e = open_all(a, err);
    if (e != AB_ERR_OK) {
        ab_auth_free(a);
        return e;
    }
    *out = a;
    return AB_ERR_OK;
}

ab_err ab_auth_check_config(const ab_config *config, ab_error *err)
{
    const ab_auth_env env = {.config = config, .clock = &ab_clock_real};
    ab_auth *a = NULL;
    ab_err e = open_from(&env, &a, err);
    ab_auth_free(a);
    return e;
}

static ab_err start_pool(ab_auth *a, ab_error *err)
{
    bool wanted = false;
    for (size_t i = 0; i < a->method_count; i++)
        wanted = wanted || a->methods[i]->ops->work != NULL;
    ab_err e = wanted ? ab_auth_pool_new(a->env.loop, &a->pool) : AB_ERR_OK;
    return e == AB_ERR_OK ? e : ab_fail(err, e, "cannot start threads for password checks");
}

ab_err ab_auth_new(const ab_auth_env *env, ab_auth **out, ab_error *err)
{
    ab_auth *a = NULL;
    ab_err e = open_from(env, &a, err);
    if (e == AB_ERR_OK && a->keys.present == NULL)
        e = ab_auth_keys_make(&a->keys, err);
    if (e == AB_ERR_OK)
        e = start_pool(a, err);
    if (e != AB_ERR_OK) {
        ab_auth_free(a);
        return e;
    }
    ab_auth_watch_start(&a->watch, env->loop);
    *out = a;
    return AB_ERR_OK;
}

static void end_if_done(ab_auth *a)
{
    if (a->watch_closed && a->pool_closed && a->jobs == 0)
        a->closed(a->closed_arg);
}

static void on_pool_closed(void *arg)
{
    ab_auth *a = arg;
    a->pool_closed = true;
    end_if_done(a);
}

static void on_watch_closed(void *arg)
{
    ab_auth *a = arg;
    a->watch_closed = true;
    end_if_done(a);
}

void ab_auth_job_ended(ab_auth *a)
{
    a->jobs--;
    if (a->closing)
        end_if_done(a);
}

void ab_auth_close(ab_auth *a, void (*closed)(void *arg), void *arg)
{
    assert(!a->closing);
    a->closing = true;
    a->closed = closed;
    a->closed_arg = arg;
    a->pool_closed = a->pool == NULL;
    if (a->pool != NULL)
        ab_auth_pool_close(a->pool, on_pool_closed, a);
    ab_auth_watch_close(&a->watch, on_watch_closed, a);
}

void ab_auth_free(ab_auth *a)
{
    if (a == NULL)
        return;
    assert(a->jobs == 0);
    for (size_t i = 0; i < a->method_count; i++) {
        a->methods[i]->ops->fini(a->methods[i]);
        free(a->methods[i]);
    }
    ab_revoked_fini(&a->revoked);
    ab_auth_limiter_fini(&a->limiter);
    ab_auth_keys_fini(&a->keys);
    free(a);
}

/* ----- checks ----- */

int64_t ab_auth_now_s(const ab_auth *a)
{
    return ab_clock_wall_us(a->env.clock) / 1000000;
}

bool ab_auth_is_revoked(const ab_auth *a, const uint8_t fingerprint[AB_AUTH_HASH_BYTES])
{
    return ab_revoked_has(&a->revoked, fingerprint) ||
           (a->env.is_revoked != NULL && a->env.is_revoked(a->env.arg, fingerprint));
}

ab_auth_reason ab_auth_check_certificate(const ab_auth *a, const X509 *cert,
                                         uint8_t fingerprint[AB_AUTH_HASH_BYTES])
{
    if (cert == NULL)
        return AB_AUTH_NONE;
    if (ab_certificate_fingerprint(cert, fingerprint) != AB_ERR_OK)
        return AB_AUTH_INTERNAL;
    if (ab_auth_is_revoked(a, fingerprint))
        return AB_AUTH_REVOKED;
    return ab_certificate_expires_s(cert) > ab_auth_now_s(a) ? AB_AUTH_NONE
                                                             : AB_AUTH_CERTIFICATE_EXPIRED;
}

/* Whether what an identity stands on is still there: certificate, credential, method. */
static ab_auth_reason check_identity(ab_auth *a, const ab_auth_peer *peer,
                                     const ab_auth_identity *identity)
{
    uint8_t fingerprint[AB_AUTH_HASH_BYTES];
    ab_auth_reason r = ab_auth_check_certificate(a, peer->certificate, fingerprint);
    if (r != AB_AUTH_NONE)
        return r;
    if (identity->bound &&
        (peer->certificate == NULL ||
         CRYPTO_memcmp(fingerprint, identity->fingerprint, sizeof(fingerprint)) != 0))
        return AB_AUTH_OTHER_CERTIFICATE;
    ab_auth_method *m = ab_auth_find_method(a, ab_str_of(identity->method));
    return m == NULL ? AB_AUTH_METHOD : ab_auth_method_holds(m, peer, identity);
}

static int64_t earlier(int64_t a_s, int64_t b_s)
{
    return a_s < b_s ? a_s : b_s;
}

int64_t ab_auth_until_s(const ab_auth *a, int64_t issued_s, const X509 *cert)
{
    int64_t until_s = issued_s + a->refresh_s;
    return cert == NULL ? until_s : earlier(until_s, ab_certificate_expires_s(cert));
}

void ab_auth_set_identity(const ab_jwt_claims *claims, const char *method, int64_t until_s,
                          ab_auth_identity *out)
{
    *out = (ab_auth_identity){
        .method = method,
        .expires_s = earlier(claims->expires_s, until_s),
        .until_s = until_s,
        .bound = claims->bound,
    };
    memcpy(out->agent, claims->agent, sizeof(out->agent));
    memcpy(out->mode, claims->mode, sizeof(out->mode));
    memcpy(out->fingerprint, claims->fingerprint, sizeof(out->fingerprint));
    memcpy(out->mark, claims->mark, sizeof(out->mark));
}

ab_auth_reason ab_auth_check_token(ab_auth *a, const ab_auth_peer *peer, ab_jwt_use use,
                                   ab_str token, ab_auth_identity *out, int64_t *expires_s)
{
    ab_jwt_claims claims;
    ab_auth_identity identity;
    ab_auth_reason r = ab_auth_keys_check(&a->keys, use, token, ab_auth_now_s(a), &claims);
    if (r != AB_AUTH_NONE)
        return r;
    const ab_auth_method *m = ab_auth_find_method(a, ab_str_of(claims.method));
    if (m == NULL)
        return AB_AUTH_METHOD;
    int64_t until_s = ab_auth_until_s(a, claims.issued_s, peer->certificate);
    ab_auth_set_identity(&claims, m->ops->name, until_s, &identity);
    r = check_identity(a, peer, &identity);
    if (r != AB_AUTH_NONE)
        return r;
    *out = identity;
    *expires_s = claims.expires_s;
    return AB_AUTH_NONE;
}

ab_err ab_auth_verify(ab_auth *a, const ab_auth_peer *peer, ab_str token, ab_auth_identity *out,
                      ab_error *err)
{
    int64_t expires_s = 0;
    ab_auth_reason r = ab_auth_check_token(a, peer, AB_JWT_ACCESS, token, out, &expires_s);
    if (r == AB_AUTH_NONE) {
        ab_auth_note_success(a, "token");
        return AB_ERR_OK;
    }
    ab_auth_note_refusal(a, peer->address, "token", AB_STR_NONE, r);
    return ab_auth_fail(err, r);
}

ab_err ab_auth_renew(ab_auth *a, const ab_auth_peer *peer, ab_auth_identity *identity,
                     ab_error *err)
{
    int64_t now_s = ab_auth_now_s(a);
    ab_auth_reason r = check_identity(a, peer, identity);
    if (r != AB_AUTH_NONE) {
        ab_auth_note_refusal(a, peer->address, "renew", ab_str_of(identity->agent), r);
        return ab_auth_fail(err, r);
    }
    if (now_s >= identity->until_s)
        return ab_fail(err, AB_ERR_TIMEOUT, "%s", AB_AUTH_AGAIN);
    identity->expires_s = earlier(now_s + a->access_s, identity->until_s);
    ab_auth_note_success(a, "renew");
    return AB_ERR_OK;
}
