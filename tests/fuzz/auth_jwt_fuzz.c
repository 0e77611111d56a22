/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a token are taken or refused, and what is taken names an agent. After a byte 'S' the
 * input is a payload that is signed first, so that the signature does not stand between the fuzzer
 * and the claims.
 */
#include "auth/jwt.h"
#include "base/core/base64.h"

#include <assert.h>
#include <openssl/rsa.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_S 1790000000

static EVP_PKEY *key;

static void read_token(ab_str token)
{
    ab_jwt_claims claims = {.agent = "untouched"};
    ab_auth_reason r = ab_jwt_read(key, AB_JWT_ACCESS, token, NOW_S, &claims);
    if (r == AB_AUTH_NONE)
        assert(ab_str_is_dns_label(ab_str_of(claims.agent)) && claims.expires_s > NOW_S);
    else
        assert(strcmp(claims.agent, "untouched") == 0);
}

static void put_part(ab_str bytes, ab_buf *out)
{
    ab_base64_encode(bytes, out);
    for (size_t i = 0; i < out->len; i++)
        out->ptr[i] = (char)(out->ptr[i] == '+' ? '-' : out->ptr[i] == '/' ? '_' : out->ptr[i]);
    while (out->len > 0 && out->ptr[out->len - 1] == '=')
        out->len--;
}

static void sign_and_read(ab_str payload)
{
    ab_buf token;
    unsigned char signature[256];
    size_t len = sizeof(signature);
    ab_buf_init(&token, 1 << 20);
    put_part(AB_STR("{\"alg\":\"RS512\",\"typ\":\"JWT\"}"), &token);
    ab_buf_putc(&token, '.');
    put_part(payload, &token);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool made =
        EVP_DigestSignInit(ctx, NULL, EVP_sha512(), NULL, key) == 1 &&
        EVP_DigestSign(ctx, signature, &len, (const unsigned char *)token.ptr, token.len) == 1;
    assert(made);
    EVP_MD_CTX_free(ctx);
    ab_buf_putc(&token, '.');
    put_part((ab_str){(const char *)signature, len}, &token);
    read_token(ab_buf_str(&token));
    ab_buf_fini(&token);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_str text = {(const char *)data, size};
    if (key == NULL)
        key = EVP_RSA_gen(1024); /* small, since it only has to be quick */
    assert(key != NULL);
    if (size > 0 && data[0] == 'S')
        sign_and_read((ab_str){text.ptr + 1, text.len - 1});
    else
        read_token(text);
    return 0;
}
