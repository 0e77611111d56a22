/* SPDX-License-Identifier: Apache-2.0
 *
 * How connections are made. Certificates are read here before curl gets them, because curl would
 * only complain at the first connection.
 */
#include "net/http/client_priv.h"

#include "base/crypto/pem.h"

#include <limits.h>
#include <openssl/err.h>
#include <strings.h>

#define CONNECT_MS   10000L
#define KEEP_IDLE_S  30L
#define KEEP_EVERY_S 15L

static ab_err check_ca(ab_str ca, ab_error *err)
{
    STACK_OF(X509) *certs = NULL;
    if (ca.ptr == NULL)
        return AB_ERR_OK;
    ab_err e = ab_pem_certs(ca, &certs);
    if (e != AB_ERR_OK)
        return ab_fail(err, e == AB_ERR_NOMEM ? e : AB_ERR_CONFIG,
                       "the CA is not a PEM file of certificates");
    sk_X509_pop_free(certs, X509_free);
    return AB_ERR_OK;
}

static ab_err check_key(STACK_OF(X509) * certs, ab_str pem, ab_error *err)
{
    EVP_PKEY *key = NULL;
    ab_err e = ab_pem_key(pem, &key);
    if (e != AB_ERR_OK)
        return ab_fail(err, e == AB_ERR_NOMEM ? e : AB_ERR_CONFIG,
                       "the client key is not a PEM private key without a passphrase");
    bool fits = X509_check_private_key(sk_X509_value(certs, 0), key) == 1;
    ERR_clear_error();
    EVP_PKEY_free(key);
    return fits ? AB_ERR_OK
                : ab_fail(err, AB_ERR_CONFIG,
                          "the client key does not belong to the client certificate");
}

static ab_err check_pair(ab_str cert, ab_str key, ab_error *err)
{
    STACK_OF(X509) *certs = NULL;
    if (cert.ptr == NULL && key.ptr == NULL)
        return AB_ERR_OK;
    if (key.ptr == NULL)
        return ab_fail(err, AB_ERR_CONFIG, "the client certificate's key is missing");
    if (cert.ptr == NULL)
        return ab_fail(err, AB_ERR_CONFIG, "the client key's certificate is missing");
    ab_err e = ab_pem_certs(cert, &certs);
    if (e != AB_ERR_OK)
        return ab_fail(err, e == AB_ERR_NOMEM ? e : AB_ERR_CONFIG,
                       "the client certificate is not a PEM file of certificates");
    e = check_key(certs, key, err);
    sk_X509_pop_free(certs, X509_free);
    return e;
}

/* curl copies; it has no const in its type. */
static bool set_blob(CURL *easy, CURLoption option, ab_str pem)
{
    struct curl_blob blob = {.len = pem.len, .flags = CURL_BLOB_COPY};
    union {
        const char *in;
        void *out;
    } data = {.in = pem.ptr};
    blob.data = data.out;
    return curl_easy_setopt(easy, option, &blob) == CURLE_OK;
}

static bool set_trust(CURL *easy, const ab_http_options *o)
{
    bool ok = true;
    if (o->ca.ptr != NULL) {
        ok = set_blob(easy, CURLOPT_CAINFO_BLOB, o->ca);
        /* curl would trust the system's CAs beside the given one. */
        curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    if (o->cert.ptr != NULL)
        ok = ok && set_blob(easy, CURLOPT_SSLCERT_BLOB, o->cert) &&
             set_blob(easy, CURLOPT_SSLKEY_BLOB, o->key);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    return ok;
}

static bool set_proxy(CURL *easy, const char *proxy)
{
    /* Of two ways to say it, the one written down for this server counts, not the environment. */
    return proxy == NULL || (curl_easy_setopt(easy, CURLOPT_PROXY, proxy) == CURLE_OK &&
                             curl_easy_setopt(easy, CURLOPT_NOPROXY, "") == CURLE_OK);
}

static bool set_all(CURL *easy, const ab_http_options *o)
{
    long connect_ms =
        o->connect_ms > 0 && o->connect_ms < LONG_MAX ? (long)o->connect_ms : CONNECT_MS;
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    /* Else a call that ends while its name is resolved waits for the resolver's thread. */
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
                     (long)(o->http1 ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS));
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    /* A lost peer is noticed under a watch that has nothing to say. */
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, KEEP_IDLE_S);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, KEEP_EVERY_S);
    return curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_USERAGENT, o->agent) == CURLE_OK && set_trust(easy, o) &&
           set_proxy(easy, o->proxy);
}

ab_err ab_http_easy_new(const ab_http_options *options, CURL **out, ab_error *err)
{
    ab_err e = check_ca(options->ca, err);
    if (e == AB_ERR_OK)
        e = check_pair(options->cert, options->key, err);
    if (e != AB_ERR_OK)
        return e;
    CURL *easy = curl_easy_init();
    if (easy == NULL || !set_all(easy, options)) {
        curl_easy_cleanup(easy);
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for an HTTP client");
    }
    *out = easy;
    return AB_ERR_OK;
}

bool ab_http_list_append(struct curl_slist **list, const char *text)
{
    struct curl_slist *longer = text == NULL ? NULL : curl_slist_append(*list, text);
    if (longer == NULL)
        return false;
    *list = longer;
    return true;
}

/* The request keeps the URL's host in its Host header; only TLS sees the other name. */
static bool append_detour(const char *host, const char *port, struct curl_slist **connect_to,
                          struct curl_slist **headers)
{
    ab_buf to = ab_buf_up_to(4096);
    ab_buf name = ab_buf_up_to(4096);
    ab_buf_printf(&to, "::%s:%s", host, port);
    ab_buf_printf(&name, "Host: %s:%s", host, port);
    bool ok = ab_http_list_append(connect_to, to.ptr) && ab_http_list_append(headers, name.ptr);
    ab_buf_fini(&to);
    ab_buf_fini(&name);
    return ok;
}

static bool set_detour(CURL *easy, CURLU *u, const char *sni, struct curl_slist **connect_to,
                       struct curl_slist **headers)
{
    char *host = NULL;
    char *port = NULL;
    char *renamed = NULL;
    bool ok = curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
              curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
              curl_url_set(u, CURLUPART_HOST, sni, 0) == CURLUE_OK &&
              curl_url_get(u, CURLUPART_URL, &renamed, 0) == CURLUE_OK &&
              append_detour(host, port, connect_to, headers) &&
              curl_easy_setopt(easy, CURLOPT_URL, renamed) == CURLE_OK &&
              curl_easy_setopt(easy, CURLOPT_CONNECT_TO, *connect_to) == CURLE_OK;
    curl_free(host);
    curl_free(port);
    curl_free(renamed);
    return ok;
}

bool ab_http_easy_set_url(CURL *easy, const char *url, const char *sni,
                          struct curl_slist **connect_to, struct curl_slist **headers)
{
    bool is_tls = strncasecmp(url, "https:", 6) == 0;
    /* Others than the first call wait until it is known whether its connection takes more; without
     * TLS it never does. */
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, is_tls ? 1L : 0L);
    CURLU *u = sni == NULL || !is_tls ? NULL : curl_url();
    if (sni != NULL && is_tls && u == NULL)
        return false;
    /* What is not a URL goes to curl as it is, which says so when the call ends. */
    bool ok = u != NULL && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK
                  ? set_detour(easy, u, sni, connect_to, headers)
                  : curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK;
    curl_url_cleanup(u);
    return ok;
}
