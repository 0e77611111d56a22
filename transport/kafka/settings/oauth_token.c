/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/settings/oauth_token.h"

#include "base/core/base64.h"
#include "base/json/document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_MS INT64_C(86400000)

void ab_oauth_token_fini(ab_oauth_token *t)
{
    if (t->text != NULL)
        explicit_bzero(t->text, strlen(t->text));
    free(t->text);
    *t = (ab_oauth_token){0};
}

/* RFC 6750 section 2.1: b64token. Anything else would break the message to the broker. */
static bool is_bearer(ab_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!letter && (c == '\0' || strchr("-._~+/=", c) == NULL))
            return false;
    }
    return text.len > 0;
}

/* The second of the three parts. @return false: it is no JWT */
static bool find_claims(ab_str token, ab_str *out)
{
    const char *end = token.ptr + token.len;
    const char *first = memchr(token.ptr, '.', token.len);
    if (first == NULL)
        return false;
    const char *second = memchr(first + 1, '.', (size_t)(end - first - 1));
    if (second == NULL)
        return false;
    *out = (ab_str){first + 1, (size_t)(second - first - 1)};
    return true;
}

/* What a JWT says. @return false: it is none, or says no end */
static bool read_claims(ab_str token, ab_oauth_token *out)
{
    ab_str part;
    cJSON *claims = NULL;
    int64_t exp = 0;
    if (!find_claims(token, &part))
        return false;
    ab_buf json = ab_buf_secret_up_to(AB_OAUTH_TOKEN_MAX);
    bool ok = ab_base64url_decode(part, &json) &&
              ab_doc_parse(ab_buf_str(&json), AB_OAUTH_TOKEN_MAX, &claims, NULL) == AB_ERR_OK &&
              ab_doc_i64(claims, "exp", &exp) == AB_ERR_OK && exp > 0 && exp < INT64_MAX / 1000;
    ab_str subject = ok ? ab_doc_text(claims, "sub") : AB_STR_NONE;
    if (ok)
        out->expires_ms = exp * 1000;
    if (subject.len > 0 && subject.len < AB_OAUTH_NAME_MAX && ab_str_is_printable(subject))
        snprintf(out->name, sizeof(out->name), "%.*s", AB_STR_ARG(subject));
    cJSON_Delete(claims);
    ab_buf_wipe(&json);
    return ok;
}

static ab_err set_text(ab_oauth_token *t, ab_str text, ab_error *err)
{
    if (!is_bearer(text))
        return ab_fail(err, AB_ERR_INVALID, "the token is empty, or not a bearer token");
    t->text = ab_str_dup(text);
    return t->text != NULL ? AB_ERR_OK : ab_fail(err, AB_ERR_NOMEM, "out of memory");
}

static ab_str trim(ab_str text)
{
    while (text.len > 0 && strchr(" \t\r\n", text.ptr[text.len - 1]) != NULL)
        text.len--;
    while (text.len > 0 && strchr(" \t\r\n", text.ptr[0]) != NULL)
        text = (ab_str){text.ptr + 1, text.len - 1};
    return text;
}

ab_err ab_oauth_token_read(ab_str text, ab_oauth_token *out, ab_error *err)
{
    ab_oauth_token t = {.name = "argobus"};
    ab_err e = set_text(&t, trim(text), err);
    if (e != AB_ERR_OK)
        return e;
    if (!read_claims(ab_str_of(t.text), &t)) {
        ab_oauth_token_fini(&t);
        return ab_fail(err, AB_ERR_PARSE, "the token is not a JWT with the claim exp");
    }
    *out = t;
    return AB_ERR_OK;
}

/* The server's own words (RFC 6749 section 5.2), which name no secret. */
static ab_err refuse(const cJSON *answer, ab_error *err)
{
    ab_str code = ab_doc_text(answer, "error");
    ab_str text = ab_doc_text(answer, "error_description");
    if (code.ptr == NULL || !ab_str_is_printable(code))
        return ab_fail(err, AB_ERR_PARSE, "the answer has no access_token");
    if (text.ptr == NULL || !ab_str_is_printable(text))
        return ab_fail(err, AB_ERR_PARSE, "%.*s", AB_STR_ARG(code));
    return ab_fail(err, AB_ERR_PARSE, "%.*s: %.*s", AB_STR_ARG(code), AB_STR_ARG(text));
}

static ab_err take(const cJSON *answer, int64_t now_ms, ab_oauth_token *t, ab_error *err)
{
    int64_t seconds = 0;
    ab_str token = ab_doc_text(answer, "access_token");
    if (token.ptr == NULL)
        return refuse(answer, err);
    ab_err e = set_text(t, token, err);
    if (e != AB_ERR_OK || read_claims(ab_str_of(t->text), t))
        return e;
    if (ab_doc_i64(answer, "expires_in", &seconds) != AB_ERR_OK || seconds <= 0 || seconds > DAY_MS)
        return ab_fail(err, AB_ERR_PARSE, "neither the token nor expires_in says when it ends");
    t->expires_ms = now_ms + seconds * 1000;
    return AB_ERR_OK;
}

ab_err ab_oauth_token_take(ab_str json, const char *client, int64_t now_ms, ab_oauth_token *out,
                           ab_error *err)
{
    cJSON *answer = NULL;
    ab_oauth_token t = {0};
    snprintf(t.name, sizeof(t.name), "%s", client);
    ab_err e = ab_doc_parse(json, AB_OAUTH_TOKEN_MAX, &answer, NULL);
    if (e != AB_ERR_OK)
        return ab_fail(err, AB_ERR_PARSE, "the answer is not JSON");
    e = take(answer, now_ms, &t, err);
    cJSON_Delete(answer);
    if (e == AB_ERR_OK)
        *out = t;
    else
        ab_oauth_token_fini(&t);
    return e;
}
