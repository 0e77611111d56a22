/* SPDX-License-Identifier: Apache-2.0 */
#include "live/resource/agent_key.h"

#include "base/core/base64.h"
#include "base/core/file.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX        4096u
#define LOOK_MS        1000 /* between two looks at the file */
#define MAC_TEXT       43   /* characters of 32 bytes in base64url */
#define NAME_MAX_BYTES 63

static const char context[] = "argobus-agent-token"; /* its NUL is part of what is signed */

struct ab_agent_key {
    char *path;
    const ab_clock *clock;
    ab_log *log;
    ab_file_stamps stamps;
    int64_t looked_ms;
    uint64_t number;
    size_t len;
    uint8_t key[KEY_MAX];
};

static ab_err take(ab_agent_key *k, const ab_buf *text, ab_error *err)
{
    if (text->len < AB_AGENT_KEY_BYTES)
        return ab_fail(err, AB_ERR_CONFIG,
                       "%s: the key has %zu bytes, at least %d are needed: make one with openssl "
                       "rand -out FILE 32",
                       k->path, text->len, AB_AGENT_KEY_BYTES);
    OPENSSL_cleanse(k->key, sizeof(k->key));
    memcpy(k->key, ab_buf_str(text).ptr, text->len);
    k->len = text->len;
    k->number++;
    return AB_ERR_OK;
}

static ab_err load(ab_agent_key *k, ab_error *err)
{
    ab_buf text = ab_buf_secret_up_to(KEY_MAX);
    ab_err e = ab_file_read_named(k->path, &text, err);
    if (e == AB_ERR_OK)
        e = take(k, &text, err);
    ab_buf_wipe(&text);
    return e;
}

ab_err ab_agent_key_new(const char *path, const ab_clock *clock, ab_log *log, ab_agent_key **out,
                        ab_error *err)
{
    ab_agent_key *k = calloc(1, sizeof(*k));
    if (k == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for the key of tokens");
    k->clock = clock;
    k->log = log;
    k->looked_ms = ab_clock_mono_ms(clock);
    k->path = ab_str_dup(ab_str_of(path));
    ab_file_stamps_add(&k->stamps, k->path);
    ab_err e = k->path == NULL ? ab_fail(err, AB_ERR_NOMEM, "out of memory") : load(k, err);
    if (e != AB_ERR_OK) {
        ab_agent_key_free(k);
        return e;
    }
    *out = k;
    return AB_ERR_OK;
}

void ab_agent_key_free(ab_agent_key *k)
{
    if (k == NULL)
        return;
    OPENSSL_cleanse(k->key, sizeof(k->key));
    free(k->path);
    free(k);
}

uint64_t ab_agent_key_refresh(ab_agent_key *k)
{
    ab_error err = {0};
    int64_t now = ab_clock_mono_ms(k->clock);
    if (now - k->looked_ms < LOOK_MS)
        return k->number;
    k->looked_ms = now;
    if (!ab_file_stamps_changed(&k->stamps))
        return k->number;
    if (load(k, &err) == AB_ERR_OK)
        AB_INFO(k->log, AUTH, "key of agents' tokens reloaded");
    else
        AB_WARN(k->log, AUTH,
                "cannot load the new key of agents' tokens; still using the previous one",
                AB_KV("why", err.text));
    return k->number;
}

ab_err ab_agent_key_token(const ab_agent_key *k, ab_str agent, char out[AB_AGENT_TOKEN_MAX])
{
    uint8_t message[sizeof(context) + NAME_MAX_BYTES], mac[EVP_MAX_MD_SIZE];
    if (agent.len == 0 || agent.len > NAME_MAX_BYTES)
        return AB_ERR_FATAL;
    memcpy(message, context, sizeof(context));
    memcpy(message + sizeof(context), agent.ptr, agent.len);
    if (HMAC(EVP_sha256(), k->key, (int)k->len, message, sizeof(context) + agent.len, mac, NULL) ==
        NULL)
        return AB_ERR_FATAL;
    ab_buf text = ab_buf_secret_up_to(AB_AGENT_TOKEN_MAX);
    ab_base64url_encode((ab_str){(const char *)mac, 32}, &text);
    ab_err e = ab_buf_status(&text);
    if (e == AB_ERR_OK)
        (void)snprintf(out, AB_AGENT_TOKEN_MAX, "%.*s.%s", AB_STR_ARG(agent), text.ptr);
    ab_buf_fini(&text);
    return e;
}

ab_str ab_agent_key_find(ab_agent_key *k, ab_str token)
{
    char right[AB_AGENT_TOKEN_MAX];
    if (token.len < MAC_TEXT + 2 || token.len >= AB_AGENT_TOKEN_MAX)
        return AB_STR_NONE;
    (void)ab_agent_key_refresh(k);
    ab_str agent = {token.ptr, token.len - MAC_TEXT - 1};
    if (!ab_str_is_dns_label(agent) || ab_agent_key_token(k, agent, right) != AB_ERR_OK)
        return AB_STR_NONE;
    bool same = CRYPTO_memcmp(right, token.ptr, token.len) == 0;
    OPENSSL_cleanse(right, sizeof(right));
    return same ? agent : AB_STR_NONE;
}
