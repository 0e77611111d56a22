/* SPDX-License-Identifier: Apache-2.0
 *
 * The callback is told nothing but a text of ours, sasl.oauthbearer.config: so that text says where
 * tokens come from, as JSON, and the callback shares nothing with another thread.
 */
#include "transport/kafka/settings/oauth.h"

#include "base/core/clock.h"
#include "base/core/file.h"
#include "base/json/document.h"
#include "net/http/client.h"
#include "transport/kafka/settings/oauth_token.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 10000L
#define SECRET_MAX 4096
#define FORM_MAX   4096

/* Members of the text, in the words of the options. */
static const char *const members[] = {"token-file",         "endpoint", "client-id",
                                      "client-secret-file", "scope",    "ca"};

static const char *option(const ab_config *c, const char *member)
{
    char name[64];
    snprintf(name, sizeof(name), "kafka.sasl.oauth.%s", member);
    return ab_config_str(c, name);
}

bool ab_kafka_oauth_is_wanted(const ab_config *config)
{
    return strcmp(ab_config_str(config, "kafka.sasl.mechanism"), "OAUTHBEARER") == 0;
}

/* --- a token --- */

static ab_err read_secret(const char *path, char **out, ab_error *err)
{
    ab_buf text = ab_buf_secret_up_to(SECRET_MAX);
    ab_err e = ab_file_read_named(path, &text, err);
    if (e == AB_ERR_OK) {
        ab_str secret = ab_buf_str(&text);
        while (secret.len > 0 && strchr("\r\n", secret.ptr[secret.len - 1]) != NULL)
            secret.len--;
        *out = ab_str_dup(secret);
        e = *out != NULL ? AB_ERR_OK : ab_fail(err, AB_ERR_NOMEM, "out of memory");
    }
    ab_buf_wipe(&text);
    return e;
}

static ab_err read_token(const char *path, ab_oauth_token *out, ab_error *err)
{
    ab_buf text = ab_buf_secret_up_to(AB_OAUTH_TOKEN_MAX);
    ab_err e = ab_file_read_named(path, &text, err);
    if (e == AB_ERR_OK) {
        e = ab_oauth_token_read(ab_buf_str(&text), out, err);
        if (e != AB_ERR_OK)
            ab_error_prefix(err, "%s", path);
    }
    ab_buf_wipe(&text);
    return e;
}

static size_t on_data(char *data, size_t size, size_t count, void *arg)
{
    ab_buf *answer = arg;
    ab_buf_put(answer, (ab_str){data, size * count});
    return ab_buf_status(answer) == AB_ERR_OK ? size * count : 0;
}

/* RFC 6749 section 2.3.1: both are encoded as in a form before they become a user and a password.
 */
static void set_credentials(CURL *curl, const char *id, const char *secret)
{
    char *user = curl_easy_escape(curl, id, 0), *password = curl_easy_escape(curl, secret, 0);
    curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    curl_easy_setopt(curl, CURLOPT_USERNAME, user);
    curl_easy_setopt(curl, CURLOPT_PASSWORD, password);
    if (password != NULL)
        explicit_bzero(password, strlen(password));
    curl_free(user);
    curl_free(password);
}

static void set_form(CURL *curl, const char *scope)
{
    char form[FORM_MAX];
    char *escaped = scope == NULL ? NULL : curl_easy_escape(curl, scope, 0);
    snprintf(form, sizeof(form), "grant_type=client_credentials%s%s",
             escaped == NULL ? "" : "&scope=", escaped == NULL ? "" : escaped);
    curl_easy_setopt(curl, CURLOPT_COPYPOSTFIELDS, form);
    curl_free(escaped);
}

/* The HTTP status, 0 when there was none, which `err` explains. */
static long post(CURL *curl, const cJSON *from, const char *secret, ab_buf *answer, ab_error *err)
{
    char why[CURL_ERROR_SIZE] = "";
    long status = 0;
    curl_easy_setopt(curl, CURLOPT_URL, ab_doc_text(from, "endpoint").ptr);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");
    if (ab_doc_text(from, "ca").ptr != NULL)
        curl_easy_setopt(curl, CURLOPT_CAINFO, ab_doc_text(from, "ca").ptr);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "argobus/" AB_VERSION);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    set_credentials(curl, ab_doc_text(from, "client-id").ptr, secret);
    set_form(curl, ab_doc_text(from, "scope").ptr);
    CURLcode code = curl_easy_perform(curl);
    ab_http_hide_proxy(why);
    if (code != CURLE_OK)
        ab_fail(err, AB_ERR_UNAVAILABLE, "%s", why[0] != '\0' ? why : curl_easy_strerror(code));
    else
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static ab_err ask(const cJSON *from, const char *secret, ab_oauth_token *out, ab_error *err)
{
    CURL *curl = curl_easy_init();
    if (curl == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    ab_buf answer = ab_buf_secret_up_to(AB_OAUTH_TOKEN_MAX);
    long status = post(curl, from, secret, &answer, err);
    ab_err e = status == 0
                   ? err->code
                   : ab_oauth_token_take(ab_buf_str(&answer), ab_doc_text(from, "client-id").ptr,
                                         ab_clock_wall_us(&ab_clock_real) / 1000, out, err);
    if (status != 0 && e != AB_ERR_OK)
        ab_error_prefix(err, "HTTP %ld", status);
    ab_buf_wipe(&answer);
    curl_easy_cleanup(curl);
    return e;
}

static ab_err fetch(const cJSON *from, ab_oauth_token *out, ab_error *err)
{
    char *secret = NULL;
    const char *file = ab_doc_text(from, "token-file").ptr;
    if (file != NULL)
        return read_token(file, out, err);
    ab_err e = read_secret(ab_doc_text(from, "client-secret-file").ptr, &secret, err);
    if (e == AB_ERR_OK) {
        e = ask(from, secret, out, err);
        if (e != AB_ERR_OK)
            ab_error_prefix(err, "%s", ab_doc_text(from, "endpoint").ptr);
        explicit_bzero(secret, strlen(secret));
    }
    free(secret);
    return e;
}

/* --- for librdkafka --- */

static void refresh(rd_kafka_t *rk, const char *text, void *opaque)
{
    char why[512] = "";
    ab_error err = {0};
    cJSON *from = NULL;
    ab_oauth_token token = {0};
    (void)opaque;
    ab_err e = ab_doc_parse(ab_str_of(text), FORM_MAX * 4, &from, &err);
    if (e == AB_ERR_OK)
        e = fetch(from, &token, &err);
    if (e == AB_ERR_OK &&
        rd_kafka_oauthbearer_set_token(rk, token.text, token.expires_ms, token.name, NULL, 0, why,
                                       sizeof(why)) != RD_KAFKA_RESP_ERR_NO_ERROR)
        e = ab_fail(&err, AB_ERR_INVALID, "%s", why);
    if (e != AB_ERR_OK) {
        ab_error_prefix(&err, "no token for kafka.sasl.mechanism OAUTHBEARER");
        (void)rd_kafka_oauthbearer_set_token_failure(rk, err.text);
    }
    ab_oauth_token_fini(&token);
    cJSON_Delete(from);
}

static ab_err check(const ab_config *c, ab_error *err)
{
    const char *file = option(c, "token-file"), *url = option(c, "endpoint");
    bool credentials = option(c, "client-id") != NULL && option(c, "client-secret-file") != NULL;
    if (file != NULL && url != NULL)
        return ab_fail(err, AB_ERR_CONFIG,
                       "kafka.sasl.oauth.token-file and kafka.sasl.oauth.endpoint are both set: "
                       "remove one of them");
    if (file == NULL && (url == NULL || !credentials))
        return ab_fail(err, AB_ERR_CONFIG,
                       "kafka.sasl.mechanism OAUTHBEARER needs kafka.sasl.oauth.endpoint, "
                       "kafka.sasl.oauth.client-id and kafka.sasl.oauth.client-secret-file, or "
                       "kafka.sasl.oauth.token-file");
    if (url != NULL && strchr(url, '@') != NULL) /* errors name the endpoint */
        return ab_fail(err, AB_ERR_CONFIG,
                       "kafka.sasl.oauth.endpoint has a user or a password in it: use "
                       "kafka.sasl.oauth.client-id and kafka.sasl.oauth.client-secret-file");
    if (url != NULL && strncmp(url, "https://", strlen("https://")) != 0)
        return ab_fail(err, AB_ERR_CONFIG,
                       "kafka.sasl.oauth.endpoint: \"%s\" does not begin with https://, and the "
                       "client's secret must not travel in clear",
                       url);
    return AB_ERR_OK;
}

static ab_err describe(const ab_config *c, ab_buf *out)
{
    cJSON *from = cJSON_CreateObject();
    bool complete = from != NULL;
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]) && complete; i++) {
        const char *value = option(c, members[i]);
        complete = value == NULL || ab_doc_add_str(from, members[i], ab_str_of(value));
    }
    return ab_doc_finish(from, complete, out);
}

ab_err ab_kafka_oauth_configure(const ab_config *config, rd_kafka_conf_t *conf, ab_error *err)
{
    char why[256];
    ab_err e = check(config, err);
    if (e != AB_ERR_OK)
        return e;
    ab_buf text = ab_buf_up_to((size_t)FORM_MAX * 4);
    e = describe(config, &text);
    if (e != AB_ERR_OK)
        ab_fail(err, e, "kafka.sasl.oauth: %s", ab_err_text(e));
    else if (rd_kafka_conf_set(conf, "sasl.mechanism", "OAUTHBEARER", why, sizeof(why)) !=
                 RD_KAFKA_CONF_OK ||
             rd_kafka_conf_set(conf, "sasl.oauthbearer.config", text.ptr, why, sizeof(why)) !=
                 RD_KAFKA_CONF_OK)
        e = ab_fail(err, AB_ERR_CONFIG, "kafka.sasl.mechanism: %s", why);
    ab_buf_fini(&text);
    if (e != AB_ERR_OK)
        return e;
    rd_kafka_conf_set_oauthbearer_token_refresh_cb(conf, refresh);
    rd_kafka_conf_enable_sasl_queue(conf, 1);
    return AB_ERR_OK;
}

void ab_kafka_oauth_begin(const ab_config *config, rd_kafka_t *rk)
{
    if (ab_kafka_oauth_is_wanted(config))
        rd_kafka_error_destroy(rd_kafka_sasl_background_callbacks_enable(rk));
}
