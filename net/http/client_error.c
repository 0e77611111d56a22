/* SPDX-License-Identifier: Apache-2.0
 *
 * What curl's errors mean for who calls, and for who reads them.
 */
#include "net/http/client_priv.h"

#include <string.h>

/* Scheme, host and port of a URL; without a password that may stand in it. */
static ab_str origin_of(const char *url)
{
    const char *host = strstr(url, "://");
    host = host == NULL ? url : host + 3;
    size_t len = strcspn(host, "/?#");
    const char *at = memrchr(host, '@', len);
    if (at != NULL)
        return (ab_str){at + 1, len - (size_t)(at + 1 - host)};
    return (ab_str){url, (size_t)(host - url) + len};
}

/* With TLS 1.3 the server refuses a client's certificate after the handshake, as far as the client
 * sees it; only OpenSSL's text tells it from a lost connection. */
static bool is_refused_certificate(const char *said)
{
    return strstr(said, "alert") != NULL &&
           (strstr(said, "certificate") != NULL || strstr(said, "unknown ca") != NULL);
}

/* curl quotes all of the URL when it cannot read it, as with a # in the password, and may have cut
 * the end of a long one off. */
void ab_http_hide_proxy(char *said)
{
    char *from = strchr(said, '\'');
    const char *to = strrchr(said, '\'');
    if (from == NULL || !ab_str_starts(ab_str_of(said), "Unsupported proxy"))
        return;
    if (from == to)
        from[1] = '\0';
    else
        memmove(from + 1, to, strlen(to) + 1);
}

typedef struct {
    CURLcode curl;
    ab_err code;
    const char *text;
} meaning;

static const meaning meanings[] = {
    {CURLE_COULDNT_RESOLVE_HOST, AB_ERR_UNAVAILABLE,
     "host not found: check its name and the name service"},
    {CURLE_COULDNT_RESOLVE_PROXY, AB_ERR_UNAVAILABLE,
     "the proxy's host is not found: check its name and the name service"},
    {CURLE_COULDNT_CONNECT, AB_ERR_UNAVAILABLE,
     "cannot connect: check that the server runs, its port, and firewalls"},
    {CURLE_OPERATION_TIMEDOUT, AB_ERR_TIMEOUT, "no response in time"},
    {CURLE_PEER_FAILED_VERIFICATION, AB_ERR_DENIED,
     "the server's certificate is not trusted: check the CA that signed it and the name it was "
     "issued for"},
    {CURLE_SSL_CERTPROBLEM, AB_ERR_DENIED, "the client certificate is not usable"},
    {CURLE_SSL_CLIENTCERT, AB_ERR_DENIED, "the server asks for a client certificate"},
    {CURLE_SSL_CONNECT_ERROR, AB_ERR_UNAVAILABLE,
     "no TLS connection: check that the server speaks TLS 1.2 or later at this port"},
    {CURLE_URL_MALFORMAT, AB_ERR_INVALID, "not a URL"},
    {CURLE_UNSUPPORTED_PROTOCOL, AB_ERR_INVALID, "only http and https are supported"},
    {CURLE_OUT_OF_MEMORY, AB_ERR_NOMEM, "out of memory"},
};

static meaning meaning_of(CURLcode code, const char *said)
{
    if (is_refused_certificate(said) && code != CURLE_PEER_FAILED_VERIFICATION)
        return (meaning){code, AB_ERR_DENIED,
                         "the server rejects the client certificate: check that the server trusts "
                         "the CA that signed it, and that it has not expired"};
    /* The code for an unknown scheme is also that for an answer that is not HTTP at all. */
    bool is_answer = code == CURLE_UNSUPPORTED_PROTOCOL && strstr(said, "HTTP/0.9") != NULL;
    for (size_t i = 0; !is_answer && i < sizeof(meanings) / sizeof(meanings[0]); i++)
        if (meanings[i].curl == code)
            return meanings[i];
    return (meaning){code, AB_ERR_UNAVAILABLE, "the connection broke, or the response is not HTTP"};
}

ab_err ab_http_explain(CURL *easy, CURLcode code, const char *said, ab_error *err)
{
    char *url = NULL;
    curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &url);
    meaning m = meaning_of(code, said);
    ab_str origin = origin_of(url == NULL ? "" : url);
    return ab_fail(err, m.code, "%.*s: %s (%s)", AB_STR_ARG(origin), m.text,
                   said[0] == '\0' ? curl_easy_strerror(code) : said);
}
