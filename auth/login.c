/* SPDX-License-Identifier: Apache-2.0
 *
 * Logins and refreshes: decided on the loop as far as that costs nothing, then in a thread, then
 * answered on the loop. A login with a password goes to the pool for these, all others to libuv's
 * pool, which signs tokens: so no number of passwords delays a certificate.
 *
 * A refused login takes the same way through a pool as one that succeeds, so that no upcall is made
 * from inside a call.
 */
#include "auth/auth_priv.h"
#include "base/crypto/certificate.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <stdlib.h>

/* Logins and refreshes under way; an agent that is told to come again later does. */
#define JOBS_MAX 4096
/* A refresh token with less left than this is replaced by a new one. */
#define REFRESH_SOON_S 600
#define CLAIM_MAX      8192

/* How often somebody that is counted apart may fail, and how often all of an address. */
static const ab_auth_allowance of_one = {.burst = 10, .interval_ms = 6000};
static const ab_auth_allowance of_address = {.burst = 60, .interval_ms = 1000};

typedef struct {
    ab_auth_task task; /* first */
    uv_work_t work;
    ab_auth *auth;
    ab_auth_method *method; /* NULL: refused before there was one */
    const char *label;      /* of the metric: the method's name, "refresh" */
    char address[INET6_ADDRSTRLEN + 16];
    char who[AB_AUTH_AGENT_MAX]; /* for the log */
    ab_auth_check check;
    ab_jwt_claims claims; /* of the tokens to make */
    EVP_PKEY *key;        /* to sign them with */
    int64_t until_s;      /* end of what they stand for */
    bool keeps_refresh;   /* `refresh` is there, and stays */
    ab_buf access;
    ab_buf refresh;
    /* What has been noted before it is known to fail, and is forgiven if it does not. */
    bool counted;    /* under `one` */
    bool by_address; /* under `all` of the address */
    uint8_t one[AB_AUTH_HASH_BYTES];
    uint8_t all[AB_AUTH_HASH_BYTES];
    ab_auth_done done;
    void *arg;
} job;

static ab_str key_text(const uint8_t key[AB_AUTH_HASH_BYTES])
{
    return (ab_str){(const char *)key, AB_AUTH_HASH_BYTES};
}

/* ----- in the pool ----- */

static void make_tokens(job *j)
{
    ab_jwt_claims refresh = j->claims;
    const ab_auth *a = j->auth;
    j->claims.expires_s = j->claims.issued_s + a->access_s;
    refresh.expires_s = refresh.issued_s + a->refresh_s;
    ab_err e = ab_jwt_sign(j->key, AB_JWT_ACCESS, &j->claims, &j->access);
    if (e == AB_ERR_OK && !j->keeps_refresh)
        e = ab_jwt_sign(j->key, AB_JWT_REFRESH, &refresh, &j->refresh);
    if (e != AB_ERR_OK)
        j->check.reason = AB_AUTH_INTERNAL;
}

static void run(job *j)
{
    if (j->check.reason == AB_AUTH_NONE && j->check.state != NULL)
        j->method->ops->work(&j->check);
    if (j->check.reason != AB_AUTH_NONE)
        return;
    memcpy(j->claims.agent, j->check.agent, sizeof(j->claims.agent));
    memcpy(j->claims.mark, j->check.mark, sizeof(j->claims.mark));
    make_tokens(j);
}

static void run_work(uv_work_t *work)
{
    run(work->data);
}

static void run_task(ab_auth_task *task)
{
    run((job *)task);
}

/* ----- back on the loop ----- */

static void free_job(job *j)
{
    if (j->method != NULL && j->method->ops->drop != NULL)
        j->method->ops->drop(&j->check);
    EVP_PKEY_free(j->key);
    ab_buf_wipe(&j->access);
    ab_buf_wipe(&j->refresh);
    free(j);
}

/* Of what is throttled nothing was noted. */
static bool is_failure(ab_auth_reason r)
{
    return r != AB_AUTH_NONE && r != AB_AUTH_BUSY && r != AB_AUTH_CLOSED && r != AB_AUTH_INTERNAL;
}

static void forgive(job *j)
{
    if (j->counted)
        ab_auth_limiter_forgive(&j->auth->limiter, key_text(j->one), of_one);
    if (j->by_address)
        ab_auth_limiter_forgive(&j->auth->limiter, key_text(j->all), of_address);
}

static void answer(job *j)
{
    ab_error err = {0};
    if (j->check.reason != AB_AUTH_NONE) {
        ab_auth_note_refusal(j->auth, j->address, j->label, ab_str_of(j->who), j->check.reason);
        ab_err e = ab_auth_fail(&err, j->check.reason);
        j->done(j->arg, e, &err, NULL);
        return;
    }
    ab_auth_note_success(j->auth, j->label);
    ab_auth_grant grant = {.access = ab_buf_str(&j->access), .refresh = ab_buf_str(&j->refresh)};
    ab_auth_set_identity(&j->claims, j->method->ops->name, j->until_s, &grant.identity);
    j->done(j->arg, AB_ERR_OK, &err, &grant);
}

static void end(job *j)
{
    ab_auth *a = j->auth;
    if (a->closing)
        j->check.reason = AB_AUTH_CLOSED;
    else if (j->check.reason == AB_AUTH_NONE && j->claims.bound &&
             ab_auth_is_revoked(a, j->claims.fingerprint))
        j->check.reason = AB_AUTH_REVOKED; /* while it was in the pool */
    if (!is_failure(j->check.reason))
        forgive(j);
    answer(j);
    free_job(j);
    ab_auth_job_ended(a);
}

static void after_work(uv_work_t *work, int status)
{
    (void)status; /* nothing is ever cancelled */
    end(work->data);
}

static void after_task(ab_auth_task *task)
{
    end((job *)task);
}

/* ----- on the loop, before ----- */

static job *new_job(ab_auth *a, const ab_auth_peer *peer, ab_auth_done done, void *arg)
{
    job *j = calloc(1, sizeof(*j));
    if (j == NULL)
        return NULL;
    j->task = (ab_auth_task){.work = run_task, .after = after_task};
    j->work.data = j;
    j->auth = a;
    j->done = done;
    j->arg = arg;
    ab_buf_init_secret(&j->access, AB_JWT_MAX);
    ab_buf_init_secret(&j->refresh, AB_JWT_MAX);
    (void)snprintf(j->address, sizeof(j->address), "%s", peer->address);
    return j;
}

static void start(job *j)
{
    (void)EVP_PKEY_up_ref(j->auth->keys.present);
    j->key = j->auth->keys.present;
    j->auth->jobs++;
    bool costly = j->check.reason == AB_AUTH_NONE && j->check.state != NULL;
    if (costly && ab_auth_pool_add(j->auth->pool, &j->task) == AB_ERR_OK)
        return;
    if (costly)
        j->check.reason = AB_AUTH_BUSY;
    int rc = uv_queue_work(j->auth->env.loop, &j->work, run_work, after_work);
    assert(rc == 0); /* fails only without `run_work` */
    (void)rc;
}

/* Bind what will be made to the certificate, and end it with that. */
static ab_auth_reason bind_certificate(job *j, const X509 *cert)
{
    const ab_auth *a = j->auth;
    ab_auth_reason r = ab_auth_check_certificate(a, cert, j->claims.fingerprint);
    j->claims.bound = cert != NULL;
    j->claims.issued_s = ab_auth_now_s(a);
    j->until_s = ab_auth_until_s(a, j->claims.issued_s, cert);
    return r;
}

static bool is_mode(ab_str mode)
{
    return ab_str_is(mode, "managed") || ab_str_is(mode, "autonomous");
}

/* Whose failures this login is counted with: by its certificate if it has one, since nobody else
 * has that; else by whom it says it is, and by its address too where anybody may say so. */
static void take_claim(job *j, const ab_auth_peer *peer, const ab_auth_request *request)
{
    ab_buf who = ab_buf_up_to(CLAIM_MAX);
    j->by_address = !j->claims.bound;
    if (j->claims.bound)
        ab_buf_put(&who, key_text(j->claims.fingerprint));
    else if (j->method != NULL && j->method->ops->claim != NULL)
        j->by_address = !j->method->ops->claim(j->method, peer, request, &who);
    j->counted = who.len > 0;
    ab_auth_limiter_key(peer->address, ab_buf_str(&who), j->one);
    ab_auth_limiter_key(j->address, AB_STR_NONE, j->all);
    ab_buf_fini(&who);
}

/* Note the attempt, before it costs anything; what is noted already may shut it out. */
static bool may_try(job *j)
{
    ab_auth_limiter *l = &j->auth->limiter;
    int64_t now_ms = ab_clock_mono_ms(j->auth->env.clock);
    ab_str one = key_text(j->one), all = key_text(j->all);
    if ((j->counted && ab_auth_limiter_is_shut(l, one, of_one, now_ms)) ||
        (j->by_address && ab_auth_limiter_is_shut(l, all, of_address, now_ms))) {
        j->counted = j->by_address = false;
        return false;
    }
    if (j->counted)
        ab_auth_limiter_note(l, one, of_one, now_ms);
    if (j->by_address)
        ab_auth_limiter_note(l, all, of_address, now_ms);
    return true;
}

/* All that is decided at once; fills in what the pool needs. */
static ab_auth_reason consider(job *j, const ab_auth_peer *peer, const ab_auth_request *request)
{
    ab_auth *a = j->auth;
    ab_auth_method *m = ab_auth_find_method(a, request->method);
    j->method = m;
    j->label = m == NULL ? "unknown" : m->ops->name;
    ab_auth_reason r = bind_certificate(j, peer->certificate);
    take_claim(j, peer, request);
    if (!may_try(j))
        return AB_AUTH_THROTTLED;
    if (a->jobs >= JOBS_MAX)
        return AB_AUTH_BUSY;
    if (r != AB_AUTH_NONE)
        return r;
    if (m == NULL)
        return AB_AUTH_METHOD;
    if (!is_mode(request->mode))
        return AB_AUTH_MODE;
    memcpy(j->claims.mode, request->mode.ptr, request->mode.len);
    memcpy(j->claims.method, m->ops->name, strlen(m->ops->name));
    m->ops->begin(m, peer, request, &j->check);
    memcpy(j->who, j->check.agent, sizeof(j->who));
    return j->check.reason;
}

ab_err ab_auth_authenticate(ab_auth *a, const ab_auth_peer *peer, const ab_auth_request *request,
                            ab_auth_done done, void *arg)
{
    if (a->closing)
        return AB_ERR_CLOSED;
    job *j = new_job(a, peer, done, arg);
    if (j == NULL)
        return AB_ERR_NOMEM;
    j->check.reason = consider(j, peer, request);
    start(j);
    return AB_ERR_OK;
}

static ab_auth_reason consider_refresh(job *j, const ab_auth_peer *peer, ab_str token)
{
    ab_auth *a = j->auth;
    ab_auth_identity identity;
    int64_t expires_s = 0;
    if (a->jobs >= JOBS_MAX)
        return AB_AUTH_BUSY;
    ab_auth_reason r = ab_auth_check_token(a, peer, AB_JWT_REFRESH, token, &identity, &expires_s);
    if (r != AB_AUTH_NONE)
        return r;
    memcpy(j->who, identity.agent, sizeof(j->who));
    if (a->env.is_served != NULL && !a->env.is_served(a->env.arg, identity.agent))
        return AB_AUTH_NOT_SERVED;
    j->method = ab_auth_find_method(a, ab_str_of(identity.method));
    memcpy(j->check.agent, identity.agent, sizeof(j->check.agent));
    memcpy(j->check.mark, identity.mark, sizeof(j->check.mark));
    memcpy(j->claims.mode, identity.mode, sizeof(j->claims.mode));
    memcpy(j->claims.method, identity.method, strlen(identity.method));
    r = bind_certificate(j, peer->certificate);
    if (expires_s - j->claims.issued_s >= REFRESH_SOON_S) {
        j->keeps_refresh = true;
        ab_buf_put(&j->refresh, token);
    }
    return r;
}

ab_err ab_auth_refresh(ab_auth *a, const ab_auth_peer *peer, ab_str token, ab_auth_done done,
                       void *arg)
{
    if (a->closing)
        return AB_ERR_CLOSED;
    job *j = new_job(a, peer, done, arg);
    if (j == NULL)
        return AB_ERR_NOMEM;
    j->label = "refresh";
    j->check.reason = consider_refresh(j, peer, token);
    start(j);
    return AB_ERR_OK;
}
