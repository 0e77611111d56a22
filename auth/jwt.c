/* SPDX-License-Identifier: Apache-2.0
 *
 * The signature is checked before the payload is looked at; the header is, since it must name the
 * algorithm, but what it says never chooses one.
 */
#include "auth/jwt.h"

#include "base/core/base64.h"
#include "base/core/digest.h"
#include "base/json/document.h"

#include <openssl/err.h>

#define ISSUER "argocd-agent-server"
/* Clocks of principals that share a key may differ by this much. */
#define EARLY_S 30
/* Of base64url text of 32 bytes, with the NUL. */
#define HASH_TEXT 44

static const char *const audiences[] = {
    [AB_JWT_ACCESS] = ISSUER "-access",
    [AB_JWT_REFRESH] = ISSUER "-refresh",
};

/* ----- writing ----- */

static bool add_hash(cJSON *object, const char *name, const uint8_t hash[AB_AUTH_HASH_BYTES])
{
    ab_buf text = ab_buf_up_to(HASH_TEXT);
    ab_base64url_encode((ab_str){(const char *)hash, AB_AUTH_HASH_BYTES}, &text);
    bool added =
        ab_buf_status(&text) == AB_ERR_OK && ab_doc_add_str(object, name, ab_buf_str(&text));
    ab_buf_fini(&text);
    return added;
}

/* The subject is a document of its own, as text. */
static bool add_subject(cJSON *object, const ab_jwt_claims *claims)
{
    ab_buf text = ab_buf_up_to(AB_JWT_MAX);
    cJSON *subject = cJSON_CreateObject();
    bool complete = ab_doc_add_str(subject, "clientID", ab_str_of(claims->agent)) &&
                    ab_doc_add_str(subject, "mode", ab_str_of(claims->mode));
    bool added = ab_doc_finish(subject, complete, &text) == AB_ERR_OK &&
                 ab_doc_add_str(object, "sub", ab_buf_str(&text));
    ab_buf_fini(&text);
    return added;
}

static bool add_list_of_one(cJSON *object, const char *name, const char *value)
{
    cJSON *list = cJSON_AddArrayToObject(object, name);
    cJSON *item = list == NULL ? NULL : cJSON_CreateString(value);
    return item != NULL && cJSON_AddItemToArray(list, item);
}

static bool add_bond(cJSON *object, const ab_jwt_claims *claims)
{
    if (!claims->bound)
        return true;
    cJSON *bond = cJSON_AddObjectToObject(object, "cnf");
    return bond != NULL && add_hash(bond, "x5t#S256", claims->fingerprint);
}

static ab_err put_claims(ab_jwt_use use, const ab_jwt_claims *claims, ab_buf *out)
{
    char id[37];
    ab_err e = ab_uuid(id);
    if (e != AB_ERR_OK)
        return e;
    cJSON *doc = cJSON_CreateObject();
    bool complete = ab_doc_add_str(doc, "iss", AB_STR(ISSUER)) &&
                    add_list_of_one(doc, "aud", audiences[use]) && add_subject(doc, claims) &&
                    ab_doc_add_str(doc, "jti", ab_str_of(id)) &&
                    ab_doc_add_i64(doc, "iat", claims->issued_s) &&
                    ab_doc_add_i64(doc, "nbf", claims->issued_s) &&
                    ab_doc_add_i64(doc, "exp", claims->expires_s) &&
                    add_list_of_one(doc, "amr", claims->method) &&
                    add_hash(doc, "mark", claims->mark) && add_bond(doc, claims);
    return ab_doc_finish(doc, complete, out);
}

static ab_err put_signature(EVP_PKEY *key, ab_str text, ab_buf *out)
{
    unsigned char signature[2048]; /* a key of 16,384 bits */
    size_t len = sizeof(signature);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    if (ctx == NULL)
        return AB_ERR_NOMEM;
    bool signed_ =
        EVP_DigestSignInit(ctx, NULL, EVP_sha512(), NULL, key) == 1 &&
        EVP_DigestSign(ctx, signature, &len, (const unsigned char *)text.ptr, text.len) == 1;
    EVP_MD_CTX_free(ctx);
    ERR_clear_error();
    if (!signed_)
        return AB_ERR_FATAL;
    ab_buf_putc(out, '.');
    ab_base64url_encode((ab_str){(const char *)signature, len}, out);
    return ab_buf_status(out);
}

ab_err ab_jwt_sign(EVP_PKEY *key, ab_jwt_use use, const ab_jwt_claims *claims, ab_buf *out)
{
    ab_buf text = ab_buf_secret_up_to(AB_JWT_MAX);
    ab_buf payload = ab_buf_up_to(AB_JWT_MAX);
    ab_err e = put_claims(use, claims, &payload);
    ab_base64url_encode(AB_STR("{\"alg\":\"RS512\",\"typ\":\"JWT\"}"), &text);
    ab_buf_putc(&text, '.');
    ab_base64url_encode(ab_buf_str(&payload), &text);
    if (e == AB_ERR_OK)
        e = ab_buf_status(&text);
    ab_str signed_text = ab_buf_str(&text);
    if (e == AB_ERR_OK)
        e = put_signature(key, signed_text, &text);
    if (e == AB_ERR_OK) {
        ab_buf_put(out, ab_buf_str(&text));
        e = ab_buf_status(out);
    }
    ab_buf_fini(&payload);
    ab_buf_wipe(&text);
    return e;
}

/* ----- reading ----- */

typedef struct {
    ab_str header;
    ab_str payload;
    ab_str signature;
    ab_str signed_text; /* header and payload with the dot between them */
} parts;

static bool split(ab_str token, parts *out)
{
    const char *first = memchr(token.ptr, '.', token.len);
    const char *last = memrchr(token.ptr, '.', token.len);
    if (first == last) /* one, or none */
        return false;
    const char *end = token.ptr + token.len;
    out->header = (ab_str){token.ptr, (size_t)(first - token.ptr)};
    out->payload = (ab_str){first + 1, (size_t)(last - first - 1)};
    out->signature = (ab_str){last + 1, (size_t)(end - last - 1)};
    out->signed_text = (ab_str){token.ptr, (size_t)(last - token.ptr)};
    return true;
}

/* A part of the token as a JSON object; owned by the caller. */
static ab_auth_reason open_part(ab_str part, cJSON **out)
{
    ab_buf text = ab_buf_up_to(AB_JWT_MAX);
    bool good = ab_base64url_decode(part, &text);
    ab_err e = ab_buf_status(&text);
    if (e == AB_ERR_OK)
        e = good ? ab_doc_parse(ab_buf_str(&text), AB_JWT_MAX, out, NULL) : AB_ERR_PARSE;
    ab_buf_fini(&text);
    if (e == AB_ERR_NOMEM)
        return AB_AUTH_INTERNAL;
    if (e != AB_ERR_OK)
        return AB_AUTH_TOKEN_FORM;
    if (cJSON_IsObject(*out))
        return AB_AUTH_NONE;
    cJSON_Delete(*out);
    *out = NULL;
    return AB_AUTH_TOKEN_FORM;
}

static ab_auth_reason check_header(ab_str part)
{
    cJSON *header = NULL;
    ab_auth_reason r = open_part(part, &header);
    if (r != AB_AUTH_NONE)
        return r;
    if (!ab_doc_is(header, "alg", "RS512"))
        r = AB_AUTH_TOKEN_ALGORITHM;
    else if (!ab_doc_is(header, "typ", "JWT") || cJSON_GetArraySize(header) != 2)
        r = AB_AUTH_TOKEN_FORM; /* keys to fetch, extensions to understand: none of it is ours */
    cJSON_Delete(header);
    return r;
}

static ab_auth_reason check_signature(EVP_PKEY *key, const parts *p)
{
    ab_buf signature = ab_buf_up_to(AB_JWT_MAX);
    ab_auth_reason r = AB_AUTH_NONE;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    if (!ab_base64url_decode(p->signature, &signature))
        r = ab_buf_status(&signature) == AB_ERR_NOMEM ? AB_AUTH_INTERNAL : AB_AUTH_TOKEN_FORM;
    else if (ctx == NULL || EVP_DigestVerifyInit(ctx, NULL, EVP_sha512(), NULL, key) != 1)
        r = AB_AUTH_INTERNAL;
    else if (EVP_DigestVerify(ctx, (const unsigned char *)signature.ptr, signature.len,
                              (const unsigned char *)p->signed_text.ptr, p->signed_text.len) != 1)
        r = AB_AUTH_TOKEN_SIGNATURE;
    EVP_MD_CTX_free(ctx);
    ERR_clear_error();
    ab_buf_fini(&signature);
    return r;
}

/* A text into a fixed field; false when it is absent, empty, or too long. */
static bool take_text(ab_str text, char *out, size_t room)
{
    if (text.ptr == NULL || text.len == 0 || text.len >= room)
        return false;
    memcpy(out, text.ptr, text.len);
    out[text.len] = '\0';
    return true;
}

static bool take_hash(ab_str text, uint8_t out[AB_AUTH_HASH_BYTES])
{
    ab_buf bytes = ab_buf_up_to(AB_AUTH_HASH_BYTES);
    bool good =
        text.ptr != NULL && ab_base64url_decode(text, &bytes) && bytes.len == AB_AUTH_HASH_BYTES;
    if (good)
        memcpy(out, bytes.ptr, AB_AUTH_HASH_BYTES);
    ab_buf_fini(&bytes);
    return good;
}

/* The text of a list that has no other item. */
static ab_str only_item(const cJSON *object, const char *name)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, name);
    bool one = cJSON_IsArray(list) && cJSON_GetArraySize(list) == 1;
    return one ? ab_str_of(cJSON_GetStringValue(cJSON_GetArrayItem(list, 0))) : AB_STR_NONE;
}

static bool take_subject(ab_str text, ab_jwt_claims *out)
{
    cJSON *subject = NULL;
    bool good = ab_doc_parse(text, AB_JWT_MAX, &subject, NULL) == AB_ERR_OK &&
                take_text(ab_doc_text(subject, "clientID"), out->agent, sizeof(out->agent)) &&
                ab_str_is_dns_label(ab_str_of(out->agent)) &&
                take_text(ab_doc_text(subject, "mode"), out->mode, sizeof(out->mode));
    cJSON_Delete(subject);
    return good;
}

static bool take_bond(const cJSON *root, ab_jwt_claims *out)
{
    const cJSON *bond = cJSON_GetObjectItemCaseSensitive(root, "cnf");
    out->bound = bond != NULL;
    return !out->bound || take_hash(ab_doc_text(bond, "x5t#S256"), out->fingerprint);
}

static ab_auth_reason check_claims(ab_jwt_use use, const cJSON *root, int64_t now_s,
                                   ab_jwt_claims *out)
{
    int64_t not_before_s = 0;
    if (!ab_doc_is(root, "iss", ISSUER))
        return AB_AUTH_TOKEN_ISSUER;
    if (!ab_str_is(only_item(root, "aud"), audiences[use]))
        return AB_AUTH_TOKEN_AUDIENCE;
    if (ab_doc_i64(root, "iat", &out->issued_s) != AB_ERR_OK ||
        ab_doc_i64(root, "nbf", &not_before_s) != AB_ERR_OK ||
        ab_doc_i64(root, "exp", &out->expires_s) != AB_ERR_OK ||
        !take_subject(ab_doc_text(root, "sub"), out) ||
        !take_text(only_item(root, "amr"), out->method, sizeof(out->method)) ||
        !take_hash(ab_doc_text(root, "mark"), out->mark) || !take_bond(root, out))
        return AB_AUTH_TOKEN_CLAIMS;
    if (not_before_s > now_s + EARLY_S || out->issued_s > now_s + EARLY_S)
        return AB_AUTH_TOKEN_EARLY;
    return out->expires_s > now_s ? AB_AUTH_NONE : AB_AUTH_TOKEN_EXPIRED;
}

static ab_auth_reason read_payload(ab_jwt_use use, ab_str part, int64_t now_s, ab_jwt_claims *out)
{
    cJSON *payload = NULL;
    ab_jwt_claims claims = {0};
    ab_auth_reason r = open_part(part, &payload);
    if (r == AB_AUTH_NONE)
        r = check_claims(use, payload, now_s, &claims);
    cJSON_Delete(payload);
    if (r == AB_AUTH_NONE)
        *out = claims;
    return r;
}

ab_auth_reason ab_jwt_read(EVP_PKEY *key, ab_jwt_use use, ab_str token, int64_t now_s,
                           ab_jwt_claims *out)
{
    parts p;
    if (token.ptr == NULL || token.len == 0)
        return AB_AUTH_NO_TOKEN;
    if (token.len > AB_JWT_MAX)
        return AB_AUTH_TOKEN_SIZE;
    if (!split(token, &p))
        return AB_AUTH_TOKEN_FORM;
    ab_auth_reason r = check_header(p.header);
    if (r == AB_AUTH_NONE)
        r = check_signature(key, &p);
    return r == AB_AUTH_NONE ? read_payload(use, p.payload, now_s, out) : r;
}
