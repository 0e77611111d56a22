/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/fleet/server.h"

#include "base/core/file.h"
#include "net/http/client.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#define TIMEOUT_S 30L
#define URL_MAX   2048
#define TOKEN_MAX 4096

static bool has_scheme(const char *url, const char *scheme)
{
    return strncmp(url, scheme, strlen(scheme)) == 0;
}

/* The path below the server, of a request that only shows. @return false: it does more */
static bool find_path(const cJSON *request, char *out, size_t size)
{
    ab_str agent = ab_doc_text(request, "agent");
    if (ab_doc_is(request, "do", "fleet"))
        snprintf(out, size, "/api/agents");
    else if (ab_doc_is(request, "do", "agent") && ab_str_is_dns_label(agent))
        snprintf(out, size, "/api/agents/%.*s", AB_STR_ARG(agent));
    else
        return false;
    return true;
}

static int check(const ab_ctl *ctl, const cJSON *request)
{
    bool secure = has_scheme(ctl->server, "https://");
    if (!secure && !has_scheme(ctl->server, "http://"))
        return ab_ctl_fail(AB_CTL_USAGE, "--server: \"%s\" does not begin with https:// or http://",
                           ctl->server);
    if (!secure && ctl->token_file != NULL)
        return ab_ctl_fail(AB_CTL_USAGE,
                           "--server: %s would show the token to everyone on the way: use https://",
                           ctl->server);
    if (ab_doc_is(request, "do", "resync"))
        return ab_ctl_fail(AB_CTL_USAGE,
                           "resync needs the control socket: run it on the principal's host or in "
                           "its pod, without --server");
    return AB_CTL_OK;
}

/* "authorization: Bearer TOKEN"; the file has the token and nothing else. */
static int read_token(const char *path, ab_buf *out)
{
    ab_error err = {0};
    ab_buf text = ab_buf_secret_up_to(TOKEN_MAX);
    ab_err e = ab_file_read(path, &text, NULL, &err);
    ab_str token = {text.ptr, text.ptr == NULL ? 0 : strcspn(text.ptr, "\r\n")};
    ab_buf_puts(out, "authorization: Bearer ");
    ab_buf_put(out, token);
    bool ok = e == AB_ERR_OK && token.len > 0 && ab_str_is_printable(token) &&
              ab_buf_status(out) == AB_ERR_OK;
    ab_buf_wipe(&text);
    if (ok)
        return AB_CTL_OK;
    return ab_ctl_fail(AB_CTL_USAGE, "--token-file: %s",
                       e != AB_ERR_OK ? err.text : "the file has no token");
}

static size_t on_data(char *data, size_t size, size_t count, void *arg)
{
    ab_buf *answer = arg;
    ab_buf_put(answer, (ab_str){data, size * count});
    return ab_buf_status(answer) == AB_ERR_OK ? size * count : 0;
}

/* @return the HTTP status; 0: none, which has been said */
static long get(const ab_ctl *ctl, const char *path, const ab_buf *token, ab_buf *answer)
{
    char url[URL_MAX], why[CURL_ERROR_SIZE] = "";
    long status = 0;
    size_t len = strlen(ctl->server);
    CURL *curl = curl_easy_init();
    struct curl_slist *fields = token->len == 0 ? NULL : curl_slist_append(NULL, token->ptr);
    if (len > 0 && ctl->server[len - 1] == '/')
        len--;
    int written = snprintf(url, sizeof(url), "%.*s%s", (int)len, ctl->server, path);
    CURLcode code = curl == NULL || (fields == NULL && token->len > 0) ? CURLE_OUT_OF_MEMORY
                    : written >= URL_MAX                               ? CURLE_URL_MALFORMAT
                                                                       : CURLE_OK;
    if (code == CURLE_OK) {
        curl_easy_setopt(curl, CURLOPT_URL, url);
        curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https,http");
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, fields);
        if (ctl->ca != NULL)
            curl_easy_setopt(curl, CURLOPT_CAINFO, ctl->ca);
        curl_easy_setopt(curl, CURLOPT_TIMEOUT, TIMEOUT_S);
        curl_easy_setopt(curl, CURLOPT_USERAGENT, "argobusctl/" AB_VERSION);
        curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
        curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
        curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
        code = curl_easy_perform(curl);
        ab_http_hide_proxy(why);
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    }
    if (code != CURLE_OK)
        ab_ctl_fail(0, "%s: %s", ctl->server, why[0] != '\0' ? why : curl_easy_strerror(code));
    curl_slist_free_all(fields);
    curl_easy_cleanup(curl);
    return code == CURLE_OK ? status : 0;
}

/* Its words, {"error":TEXT}, or those of something else that answers there. */
static int refuse(const ab_ctl *ctl, long status, ab_str body)
{
    cJSON *doc = NULL;
    ab_str text = ab_doc_parse(body, body.len + 1, &doc, NULL) == AB_ERR_OK
                      ? ab_doc_text(doc, "error")
                      : AB_STR_NONE;
    if (text.ptr != NULL)
        ab_ctl_fail(0, "%s: %.*s", ctl->server, AB_STR_ARG(text));
    else
        ab_ctl_fail(0, "%s: HTTP %ld; is this the address of a fleet page (fleet.listen)?",
                    ctl->server, status);
    bool absent = ab_doc_is(doc, "code", "not-found");
    cJSON_Delete(doc);
    return absent ? AB_CTL_NOT_FOUND : AB_CTL_FAILED;
}

int ab_ctl_ask_server(const ab_ctl *ctl, const cJSON *request, ab_buf *answer)
{
    char path[128];
    int code = check(ctl, request);
    if (code != AB_CTL_OK)
        return code;
    if (!find_path(request, path, sizeof(path)))
        return ab_ctl_fail(AB_CTL_NOT_FOUND, "an agent's name is a DNS label");
    ab_buf token = ab_buf_secret_up_to(TOKEN_MAX + 32);
    if (ctl->token_file != NULL)
        code = read_token(ctl->token_file, &token);
    long status = code == AB_CTL_OK ? get(ctl, path, &token, answer) : 0;
    ab_buf_wipe(&token);
    if (code != AB_CTL_OK || status == 200)
        return code;
    return status == 0 ? AB_CTL_UNREACHABLE : refuse(ctl, status, ab_buf_str(answer));
}
