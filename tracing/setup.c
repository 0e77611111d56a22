/* SPDX-License-Identifier: Apache-2.0 */
#include "tracing/setup.h"

#include "base/core/file.h"
#include "base/crypto/pem.h"

#include <curl/curl.h>
#include <string.h>

#define FILE_MAX (1024u * 1024)

static const ab_option rows[] = {
    {.name = "tracing.endpoint",
     .kind = AB_OPT_STRING,
     .deflt = "",
     .help = "Collector that traces are sent to, the URL of its OTLP/HTTP receiver: for example "
             "http://collector:4318/v1/traces; \"\" is off."},
    {.name = "tracing.one-in",
     .kind = AB_OPT_INT,
     .deflt = "100",
     .min = 1,
     .max = 1000000,
     .help = "One change in so many is traced. A change whose sender traces it is always traced."},
    {.name = "tracing.ca",
     .kind = AB_OPT_FILE,
     .help = "PEM file of the certificate authorities that may sign the collector's certificate, "
             "instead of those of the system."},
    {.name = "tracing.headers",
     .kind = AB_OPT_FILE,
     .help = "File of lines \"Name: value\", which are sent to the collector as headers: for its "
             "credentials."},
};

const ab_options ab_tracing_options = {rows, sizeof(rows) / sizeof(rows[0])};

static bool is_off(const ab_config *c)
{
    return ab_config_str(c, "tracing.endpoint")[0] == '\0';
}

static bool is_http(const char *url)
{
    CURLU *parsed = curl_url();
    char *scheme = NULL;
    bool is = parsed != NULL && curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK &&
              curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
              (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
    curl_free(scheme);
    curl_url_cleanup(parsed);
    return is;
}

static ab_err read_file(const ab_config *c, const char *option, ab_buf *out, ab_error *err)
{
    const char *path = ab_config_str(c, option);
    ab_err e = path == NULL ? AB_ERR_OK : ab_file_read_named(path, out, err);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "%s", option);
    return e;
}

static ab_err check_ca(const char *path, ab_str pem, ab_error *err)
{
    STACK_OF(X509) *certs = NULL;
    if (path == NULL)
        return AB_ERR_OK;
    ab_err e = ab_pem_certs(pem, &certs);
    sk_X509_pop_free(certs, X509_free);
    return e == AB_ERR_OK ? e
                          : ab_fail(err, e == AB_ERR_NOMEM ? e : AB_ERR_CONFIG,
                                    "tracing.ca: %s is not a PEM file of certificates", path);
}

/* What the tables of options cannot say. `ca` and `headers` are the files' texts. */
static ab_err read_config(const ab_config *c, ab_buf *ca, ab_buf *headers, ab_error *err)
{
    const char *url = ab_config_str(c, "tracing.endpoint");
    if (strchr(url, '@') != NULL) /* the log names the endpoint */
        return ab_fail(err, AB_ERR_CONFIG,
                       "tracing.endpoint has a user or a password in it: put a line "
                       "\"Authorization: Basic ...\" into the file of tracing.headers instead");
    if (!is_http(url))
        return ab_fail(err, AB_ERR_CONFIG,
                       "tracing.endpoint: \"%s\" is not a URL of http or https: set it to the "
                       "collector's, e.g. http://collector:4318/v1/traces",
                       url);
    ab_err e = read_file(c, "tracing.ca", ca, err);
    if (e == AB_ERR_OK)
        e = read_file(c, "tracing.headers", headers, err);
    if (e != AB_ERR_OK)
        return e;
    e = check_ca(ab_config_str(c, "tracing.ca"), ab_buf_str(ca), err);
    if (e != AB_ERR_OK)
        return e;
    e = ab_exporter_check_headers(ab_buf_str(headers), err);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "tracing.headers: %s", ab_config_str(c, "tracing.headers"));
    return e;
}

static void init_texts(ab_buf *ca, ab_buf *headers)
{
    ab_buf_init(ca, FILE_MAX);
    ab_buf_init_secret(headers, FILE_MAX);
}

static void wipe_texts(ab_buf *ca, ab_buf *headers)
{
    ab_buf_fini(ca);
    ab_buf_wipe(headers);
}

ab_err ab_tracing_check(const ab_config *config, ab_error *err)
{
    ab_buf ca, headers;
    if (is_off(config))
        return AB_ERR_OK;
    init_texts(&ca, &headers);
    ab_err e = read_config(config, &ca, &headers, err);
    wipe_texts(&ca, &headers);
    return e;
}

static ab_err make(const ab_config *c, ab_exporter_env *env, ab_tracing *out, ab_error *err)
{
    env->url = ab_config_str(c, "tracing.endpoint");
    ab_err e = ab_exporter_new(env, &out->exporter, err);
    if (e != AB_ERR_OK) {
        ab_error_prefix(err, "tracing");
        return e;
    }
    out->tracer =
        ab_tracer_new(out->exporter, env->clock, (uint64_t)ab_config_int(c, "tracing.one-in"));
    if (out->tracer != NULL)
        return AB_ERR_OK;
    ab_tracing_fini(out);
    return ab_fail(err, AB_ERR_NOMEM, "out of memory");
}

ab_err ab_tracing_init(const ab_config *config, ab_exporter_env env, ab_tracing *out, ab_error *err)
{
    ab_buf ca, headers;
    *out = (ab_tracing){0};
    if (is_off(config))
        return AB_ERR_OK;
    init_texts(&ca, &headers);
    ab_err e = read_config(config, &ca, &headers, err);
    if (e == AB_ERR_OK) {
        if (ab_config_str(config, "tracing.ca") != NULL)
            env.ca = ab_buf_str(&ca);
        env.headers = ab_buf_str(&headers);
        e = make(config, &env, out, err);
    }
    wipe_texts(&ca, &headers);
    return e;
}

void ab_tracing_fini(ab_tracing *t)
{
    ab_tracer_free(t->tracer);
    ab_exporter_free(t->exporter);
    *t = (ab_tracing){0};
}
