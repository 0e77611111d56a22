/* SPDX-License-Identifier: Apache-2.0
 *
 * A name and a password, against a file of bcrypt hashes that is read again when it changes. For
 * where there are no certificates yet: a password can be guessed, copied and told, and nothing
 * binds its tokens to who has it.
 *
 * A login for a name that does not exist takes as long as one with a wrong password.
 */
#include "auth/method.h"
#include "auth/passwords.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>

typedef struct {
    ab_auth_method base;
    const char *path;
    ab_passwords *passwords;
} userpass;

/* What is prepared for the pool. */
typedef struct {
    bool known;
    char password[AB_PASSWORD_MAX + 1];
    char hash[AB_BCRYPT_MAX];
} attempt;

static ab_err load(userpass *u, ab_error *err)
{
    ab_passwords *passwords = NULL;
    ab_buf text = ab_buf_secret_up_to(AB_AUTH_FILE_BYTES);
    ab_err e = ab_file_read(u->path, &text, NULL, err);
    if (e == AB_ERR_OK && (e = ab_passwords_parse(ab_buf_str(&text), &passwords, err)) != AB_ERR_OK)
        ab_error_prefix(err, "%s", u->path);
    ab_buf_wipe(&text);
    if (e != AB_ERR_OK)
        return e;
    ab_passwords_free(u->passwords);
    u->passwords = passwords;
    return AB_ERR_OK;
}

static void on_changed(void *arg)
{
    userpass *u = arg;
    ab_error err = {0};
    if (load(u, &err) != AB_ERR_OK) {
        AB_ERROR(u->base.env->log, AUTH, "cannot load the users; still using the previous ones",
                 AB_KV("error", err.text));
        return;
    }
    AB_INFO(u->base.env->log, AUTH, "users reloaded", AB_KV("file", u->path));
    u->base.env->changed(u->base.env->arg);
}

static ab_err init(ab_auth_method *self, ab_error *err)
{
    userpass *u = (userpass *)self;
    u->path = ab_config_str(self->env->config, "grpc.auth.userpass.file");
    if (u->path == NULL || u->path[0] == '\0')
        return ab_fail(err, AB_ERR_CONFIG,
                       "grpc.auth.userpass.file is not set: give a file of lines user:bcrypt-hash");
    ab_auth_watch_add(self->env->watch, u->path, on_changed, u);
    ab_err e = load(u, err);
    if (e != AB_ERR_OK) {
        ab_error_prefix(err, "grpc.auth.userpass.file");
        return e == AB_ERR_NOMEM ? e : AB_ERR_CONFIG;
    }
    AB_WARN(
        self->env->log, AUTH,
        "agents may log in with passwords, which is discouraged: issue certificates and use mtls",
        AB_KV("file", u->path));
    return AB_ERR_OK;
}

/* The one credential of this name; absent when there is none, or more than one. */
static ab_str get_credential(const ab_auth_request *request, const char *name)
{
    ab_str found = AB_STR_NONE;
    for (size_t i = 0; i < request->credential_count; i++) {
        if (!ab_str_is(request->credentials[i].name, name))
            continue;
        if (found.ptr != NULL)
            return AB_STR_NONE;
        found = request->credentials[i].value;
    }
    return found;
}

static bool claim(ab_auth_method *self, const ab_auth_peer *peer, const ab_auth_request *request,
                  ab_buf *out)
{
    (void)self;
    (void)peer;
    ab_buf_put(out, get_credential(request, "clientid"));
    return false;
}

static bool hash_mark(const char *hash, uint8_t out[AB_AUTH_HASH_BYTES])
{
    return EVP_Digest(hash, strlen(hash), out, NULL, EVP_sha256(), NULL) == 1;
}

static void begin(ab_auth_method *self, const ab_auth_peer *peer, const ab_auth_request *request,
                  ab_auth_check *check)
{
    const userpass *u = (const userpass *)self;
    ab_str user = get_credential(request, "clientid");
    ab_str password = get_credential(request, "clientsecret");
    (void)peer;
    check->reason = AB_AUTH_CREDENTIALS;
    if (user.ptr == NULL || password.ptr == NULL || password.len > AB_PASSWORD_MAX ||
        memchr(password.ptr, '\0', password.len) != NULL)
        return;
    check->reason = AB_AUTH_NAME;
    if (!ab_str_is_dns_label(user))
        return;
    const char *hash = ab_passwords_find(u->passwords, user);
    attempt *a = calloc(1, sizeof(*a));
    check->reason = AB_AUTH_INTERNAL;
    check->state = a;
    if (a == NULL)
        return;
    a->known = hash != NULL;
    if (hash == NULL)
        hash = ab_passwords_nobody(u->passwords);
    memcpy(a->hash, hash, sizeof(a->hash));
    memcpy(a->password, password.ptr, password.len);
    memcpy(check->agent, user.ptr, user.len);
    if (hash_mark(hash, check->mark))
        check->reason = AB_AUTH_NONE;
}

static void work(ab_auth_check *check)
{
    const attempt *a = check->state;
    ab_err e = ab_password_check(a->password, a->hash);
    check->reason = e == AB_ERR_NOMEM ? AB_AUTH_INTERNAL
                    : !a->known       ? AB_AUTH_USER
                    : e == AB_ERR_OK  ? AB_AUTH_NONE
                                      : AB_AUTH_PASSWORD;
}

static void drop(ab_auth_check *check)
{
    if (check->state != NULL)
        OPENSSL_cleanse(check->state, sizeof(attempt));
    free(check->state);
    check->state = NULL;
}

static ab_auth_reason holds(ab_auth_method *self, const ab_auth_peer *peer,
                            const ab_auth_identity *identity)
{
    const userpass *u = (const userpass *)self;
    const char *hash = ab_passwords_find(u->passwords, ab_str_of(identity->agent));
    uint8_t mark[AB_AUTH_HASH_BYTES];
    (void)peer;
    if (hash == NULL)
        return AB_AUTH_CREDENTIAL_CHANGED;
    if (!hash_mark(hash, mark))
        return AB_AUTH_INTERNAL;
    return CRYPTO_memcmp(mark, identity->mark, sizeof(mark)) == 0 ? AB_AUTH_NONE
                                                                  : AB_AUTH_CREDENTIAL_CHANGED;
}

static void fini(ab_auth_method *self)
{
    ab_passwords_free(((userpass *)self)->passwords);
}

const ab_auth_method_ops ab_auth_userpass = {
    .name = "userpass",
    .size = sizeof(userpass),
    .init = init,
    .claim = claim,
    .begin = begin,
    .work = work,
    .drop = drop,
    .holds = holds,
    .fini = fini,
};
