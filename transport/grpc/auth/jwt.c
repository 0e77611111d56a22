/* SPDX-License-Identifier: Apache-2.0
 *
 * The signature is checked before the payload is looked at; the header is, since it must name the
 * algorithm, but what it says never chooses one.
 */
#include "transport/grpc/auth/jwt_priv.h"

#include "base/base64.h"
#include "base/digest.h"
#include "base/json.h"

#include <openssl/err.h>
#include <stdlib.h>

#define ISSUER "argocd-agent-server"
/* Clocks of principals that share a key may differ by this much. */
#define EARLY_S 30
/* Of base64url text of 32 bytes, with the NUL. */
#define HASH_TEXT 44

static const char *const audiences[] = {
    [AB_JWT_ACCESS] = ISSUER "-access",
    [AB_JWT_REFRESH] = ISSUER "-refresh",
};

/* ----- base64url without padding (RFC 7515 §2) ----- */

static void put_base64url(ab_str bytes, ab_buf *out)
{
    size_t begin = out->len;
    ab_base64_encode(bytes, out);
    if (ab_buf_status(out) != AB_ERR_OK)
        return;
    size_t end = begin;
    for (; end < out->len && out->ptr[end] != '='; end++) {
        char c = out->ptr[end];
        out->ptr[end] = (char)(c == '+' ? '-' : c == '/' ? '_' : c);
    }
    out->ptr[end] = '\0';
    out->len = end;
}

/* Appends the bytes; false when it is none, and when memory runs out (the buffer knows). */
static bool get_base64url(ab_str text, ab_buf *out)
{
    ab_buf plain;
    ab_buf_init(&plain, AB_JWT_MAX + 4);
    bool good = text.len > 0 && text.len % 4 != 1;
    for (size_t i = 0; i < text.len && good; i++) {
        char c = text.ptr[i];
        good = c != '+' && c != '/' && c != '=';
        ab_buf_putc(&plain, (char)(c == '-' ? '+' : c == '_' ? '/' : c));
    }
    while (plain.len % 4 != 0 && ab_buf_status(&plain) == AB_ERR_OK)
        ab_buf_putc(&plain, '=');
    if (ab_buf_status(&plain) != AB_ERR_OK)
        out->status = ab_buf_status(&plain);
    good = good && ab_buf_status(&plain) == AB_ERR_OK &&
           ab_base64_decode(ab_buf_str(&plain), out) && ab_buf_status(out) == AB_ERR_OK;
    ab_buf_wipe(&plain);
    return good;
}

/* ----- writing ----- */

static void put_hash(ab_jsonw *w, const char *name, const uint8_t hash[AB_AUTH_HASH_BYTES])
{
    ab_buf text;
    ab_buf_init(&text, HASH_TEXT);
    put_base64url((ab_str){(const char *)hash, AB_AUTH_HASH_BYTES}, &text);
    if (ab_buf_status(&text) != AB_ERR_OK)
        w->buf->status = ab_buf_status(&text);
    ab_jsonw_key_str(w, name, ab_buf_str(&text));
    ab_buf_fini(&text);
}

static void put_subject(ab_jsonw *w, const ab_jwt_claims *claims)
{
    ab_buf text;
    ab_buf_init(&text, AB_JWT_MAX);
    ab_jsonw subject = ab_jsonw_to(&text);
    ab_jsonw_object(&subject);
    ab_jsonw_key_str(&subject, "clientID", ab_str_of(claims->agent));
    ab_jsonw_key_str(&subject, "mode", ab_str_of(claims->mode));
    ab_jsonw_object_end(&subject);
    if (ab_buf_status(&text) != AB_ERR_OK)
        w->buf->status = ab_buf_status(&text);
    ab_jsonw_key_str(w, "sub", ab_buf_str(&text));
    ab_buf_fini(&text);
}

static void put_list_of_one(ab_jsonw *w, const char *name, const char *value)
{
    ab_jsonw_key(w, ab_str_of(name));
    ab_jsonw_array(w);
    ab_jsonw_str(w, ab_str_of(value));
    ab_jsonw_array_end(w);
}

static void put_time(ab_jsonw *w, const char *name, int64_t at_s)
{
    ab_jsonw_key(w, ab_str_of(name));
    ab_jsonw_int(w, at_s);
}

static ab_err put_claims(ab_jwt_use use, const ab_jwt_claims *claims, ab_buf *out)
{
    char id[37];
    ab_err e = ab_uuid(id);
    if (e != AB_ERR_OK)
        return e;
    ab_jsonw w = ab_jsonw_to(out);
    ab_jsonw_object(&w);
    ab_jsonw_key_str(&w, "iss", AB_STR(ISSUER));
    put_list_of_one(&w, "aud", audiences[use]);
    put_subject(&w, claims);
    ab_jsonw_key_str(&w, "jti", ab_str_of(id));
    put_time(&w, "iat", claims->issued_s);
    put_time(&w, "nbf", claims->issued_s);
    put_time(&w, "exp", claims->expires_s);
    put_list_of_one(&w, "amr", claims->method);
    put_hash(&w, "mark", claims->mark);
    if (claims->bound) {
        ab_jsonw_key(&w, AB_STR("cnf"));
        ab_jsonw_object(&w);
        put_hash(&w, "x5t#S256", claims->fingerprint);
        ab_jsonw_object_end(&w);
    }
    ab_jsonw_object_end(&w);
    return ab_buf_status(out);
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
    put_base64url((ab_str){(const char *)signature, len}, out);
    return ab_buf_status(out);
}

ab_err ab_jwt_sign(EVP_PKEY *key, ab_jwt_use use, const ab_jwt_claims *claims, ab_buf *out)
{
    ab_buf text;
    ab_buf payload;
    ab_buf_init(&text, AB_JWT_MAX);
    ab_buf_init(&payload, AB_JWT_MAX);
    ab_err e = put_claims(use, claims, &payload);
    put_base64url(AB_STR("{\"alg\":\"RS512\",\"typ\":\"JWT\"}"), &text);
    ab_buf_putc(&text, '.');
    put_base64url(ab_buf_str(&payload), &text);
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
    if (first == NULL || first == last)
        return false;
    const char *end = token.ptr + token.len;
    out->header = (ab_str){token.ptr, (size_t)(first - token.ptr)};
    out->payload = (ab_str){first + 1, (size_t)(last - first - 1)};
    out->signature = (ab_str){last + 1, (size_t)(end - last - 1)};
    out->signed_text = (ab_str){token.ptr, (size_t)(last - token.ptr)};
    return memchr(out->payload.ptr, '.', out->payload.len) == NULL;
}

/* A part of the token as a JSON object; owned by the caller. */
static ab_auth_reason open_part(ab_str part, ab_json **out)
{
    ab_buf text;
    ab_buf_init(&text, AB_JWT_MAX);
    bool good = get_base64url(part, &text);
    ab_err e = ab_buf_status(&text);
    if (e == AB_ERR_OK)
        e = good ? ab_json_parse(ab_buf_str(&text), out, NULL) : AB_ERR_PARSE;
    ab_buf_fini(&text);
    if (e == AB_ERR_NOMEM)
        return AB_AUTH_INTERNAL;
    if (e != AB_ERR_OK)
        return AB_AUTH_TOKEN_FORM;
    if (ab_json_typeof(ab_json_root(*out)) == AB_JSON_OBJECT)
        return AB_AUTH_NONE;
    ab_json_free(*out);
    *out = NULL;
    return AB_AUTH_TOKEN_FORM;
}

static ab_auth_reason check_header(ab_str part)
{
    ab_json *doc = NULL;
    ab_auth_reason r = open_part(part, &doc);
    if (r != AB_AUTH_NONE)
        return r;
    ab_jsonv root = ab_json_root(doc);
    if (!ab_json_is(ab_json_get(root, "alg"), "RS512"))
        r = AB_AUTH_TOKEN_ALGORITHM;
    else if (!ab_json_is(ab_json_get(root, "typ"), "JWT") || ab_json_count(root) != 2)
        r = AB_AUTH_TOKEN_FORM; /* keys to fetch, extensions to understand: none of it is ours */
    ab_json_free(doc);
    return r;
}

static ab_auth_reason check_signature(EVP_PKEY *key, const parts *p)
{
    ab_buf signature;
    ab_buf_init(&signature, AB_JWT_MAX);
    ab_auth_reason r = AB_AUTH_NONE;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    if (!get_base64url(p->signature, &signature))
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

/* The content of a string into a fixed field; false when it is none, empty, or too long. */
static bool take_text(ab_jsonv v, char *out, size_t room)
{
    ab_str text = ab_json_plain(v);
    if (text.ptr == NULL || text.len == 0 || text.len >= room)
        return false;
    memcpy(out, text.ptr, text.len);
    out[text.len] = '\0';
    return true;
}

static bool take_hash(ab_jsonv v, uint8_t out[AB_AUTH_HASH_BYTES])
{
    ab_str text = ab_json_plain(v);
    ab_buf bytes;
    ab_buf_init(&bytes, AB_AUTH_HASH_BYTES);
    bool good = text.ptr != NULL && get_base64url(text, &bytes) && bytes.len == AB_AUTH_HASH_BYTES;
    if (good)
        memcpy(out, bytes.ptr, AB_AUTH_HASH_BYTES);
    ab_buf_fini(&bytes);
    return good;
}

static ab_jsonv only_item(ab_jsonv list)
{
    bool one = ab_json_typeof(list) == AB_JSON_ARRAY && ab_json_count(list) == 1;
    return one ? ab_json_first(list) : (ab_jsonv){0};
}

static bool take_subject(ab_jsonv v, ab_jwt_claims *out)
{
    ab_buf text;
    ab_json *doc = NULL;
    ab_buf_init(&text, AB_JWT_MAX);
    bool good = ab_json_copy(v, &text) == AB_ERR_OK &&
                ab_json_parse(ab_buf_str(&text), &doc, NULL) == AB_ERR_OK;
    ab_jsonv root = ab_json_root(doc);
    good = good && take_text(ab_json_get(root, "clientID"), out->agent, sizeof(out->agent)) &&
           ab_str_is_dns_label(ab_str_of(out->agent)) &&
           take_text(ab_json_get(root, "mode"), out->mode, sizeof(out->mode));
    ab_json_free(doc);
    ab_buf_fini(&text);
    return good;
}

static ab_auth_reason check_claims(ab_jwt_use use, ab_jsonv root, int64_t now_s, ab_jwt_claims *out)
{
    int64_t not_before_s = 0;
    ab_jsonv bound = ab_json_get(root, "cnf");
    out->bound = ab_json_present(bound);
    if (!ab_json_is(ab_json_get(root, "iss"), ISSUER))
        return AB_AUTH_TOKEN_ISSUER;
    if (!ab_json_is(only_item(ab_json_get(root, "aud")), audiences[use]))
        return AB_AUTH_TOKEN_AUDIENCE;
    if (ab_json_i64(ab_json_get(root, "iat"), &out->issued_s) != AB_ERR_OK ||
        ab_json_i64(ab_json_get(root, "nbf"), &not_before_s) != AB_ERR_OK ||
        ab_json_i64(ab_json_get(root, "exp"), &out->expires_s) != AB_ERR_OK ||
        !take_subject(ab_json_get(root, "sub"), out) ||
        !take_text(only_item(ab_json_get(root, "amr")), out->method, sizeof(out->method)) ||
        !take_hash(ab_json_get(root, "mark"), out->mark) ||
        (out->bound && !take_hash(ab_json_get(bound, "x5t#S256"), out->fingerprint)))
        return AB_AUTH_TOKEN_CLAIMS;
    if (not_before_s > now_s + EARLY_S || out->issued_s > now_s + EARLY_S)
        return AB_AUTH_TOKEN_EARLY;
    return out->expires_s > now_s ? AB_AUTH_NONE : AB_AUTH_TOKEN_EXPIRED;
}

static ab_auth_reason read_payload(ab_jwt_use use, ab_str part, int64_t now_s, ab_jwt_claims *out)
{
    ab_json *doc = NULL;
    ab_jwt_claims claims = {0};
    ab_auth_reason r = open_part(part, &doc);
    if (r == AB_AUTH_NONE)
        r = check_claims(use, ab_json_root(doc), now_s, &claims);
    ab_json_free(doc);
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

ab_err ab_auth_token_expiry(ab_str token, int64_t *out_s)
{
    parts p;
    ab_json *doc = NULL;
    if (token.len > AB_JWT_MAX)
        return AB_ERR_TOOBIG;
    if (token.ptr == NULL || !split(token, &p))
        return AB_ERR_PARSE;
    ab_auth_reason r = open_part(p.payload, &doc);
    if (r != AB_AUTH_NONE)
        return r == AB_AUTH_INTERNAL ? AB_ERR_NOMEM : AB_ERR_PARSE;
    ab_err e = ab_json_i64(ab_json_get(ab_json_root(doc), "exp"), out_s);
    ab_json_free(doc);
    return e == AB_ERR_OK ? e : AB_ERR_PARSE;
}
