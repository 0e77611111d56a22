/* SPDX-License-Identifier: Apache-2.0
 *
 * The server of the fleet page: who asks for what. The files of the page say nothing about the
 * fleet and are given to everybody who reaches the address; what is below /api/ is not.
 */
#include "services/principal/page/page.h"

#include "services/principal/page/access.h"
#include "services/principal/page/answer.h"
#include "services/principal/page/assets.h"
#include "services/principal/page/viewers.h"

#include <stdio.h>
#include <stdlib.h>

#define CONNECTIONS_MAX 256
#define JSON_MAX        (64u * 1024 * 1024)
#define ALL_MS          1000 /* how old an answer about all agents may be */

static const char agents_path[] = "/api/agents/";

struct ab_page {
    ab_page_access access;
    ab_page_source source;
    ab_resource_identities *ids; /* NULL: no tokens */
    ab_page_viewers *viewers;
    ab_page_answer *all; /* of /api/agents */
    ab_https_server *server;
};

/* Scripts, styles and data come from here and nowhere else, and nobody may put the page in a frame.
 */
#define POLICY                                                                                     \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "                \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static void on_over(void *arg, ab_err why, unsigned close_code)
{
    (void)arg;
    (void)why;
    (void)close_code;
}

static const ab_https_handler answered = {.on_over = on_over};

static void reply(ab_https_request *r, int status, const char *type, ab_str body)
{
    const ab_http_field fields[] = {
        {AB_STR("content-type"), ab_str_of(type)},
        {AB_STR("content-security-policy"), AB_STR(POLICY)},
        {AB_STR("x-content-type-options"), AB_STR("nosniff")},
        {AB_STR("referrer-policy"), AB_STR("no-referrer")},
        {AB_STR("cache-control"), AB_STR("no-store")},
        {AB_STR("www-authenticate"), AB_STR("Bearer")},
    };
    size_t count = sizeof(fields) / sizeof(fields[0]) - (status != 401);
    ab_https_take(r, &answered, NULL);
    if (ab_https_answer(r, status, fields, count, (int64_t)body.len) != AB_ERR_OK)
        return;                    /* the client has gone */
    (void)!ab_https_send(r, body); /* as above; the queue of a new answer has room */
    ab_https_finish(r);
}

static void refuse(ab_https_request *r, int status, const char *why)
{
    char text[160];
    int len = snprintf(text, sizeof(text), "{\"error\":\"%s\"}", why);
    reply(r, status, "application/json", (ab_str){text, (size_t)len});
}

static void refuse_agent(ab_https_request *r)
{
    reply(r, 404, "application/json",
          AB_STR("{\"error\":\"no such agent\",\"code\":\"not-found\"}"));
}

static void reply_json(ab_https_request *r, const ab_buf *json)
{
    if (ab_buf_status(json) != AB_ERR_OK)
        refuse(r, 500, "the answer is too large or memory ran out");
    else if (json->len == 0)
        refuse_agent(r);
    else
        reply(r, 200, "application/json", ab_buf_str(json));
}

static void show_agent(const ab_page *p, ab_https_request *r, ab_str name)
{
    char agent[AB_RESOURCE_AGENT_MAX];
    if (!ab_str_is_dns_label(name) || name.len >= sizeof(agent)) {
        refuse_agent(r);
        return;
    }
    snprintf(agent, sizeof(agent), "%.*s", AB_STR_ARG(name));
    ab_buf json = ab_buf_up_to(JSON_MAX);
    p->source.write_objects(p->source.arg, agent, &json);
    reply_json(r, &json);
    ab_buf_fini(&json);
}

/* By which it was let in; absent: by a certificate, or by nothing. */
static ab_str token_of(const ab_page *p, const ab_https_info *info)
{
    return p->ids == NULL || info->certificate != NULL
               ? AB_STR_NONE
               : ab_http_head_find(info->head, "authorization");
}

static void serve_api(const ab_page *p, ab_https_request *r, const ab_https_info *info)
{
    ab_str path = info->head->path;
    int status = ab_page_access_judge(&p->access, p->ids, info);
    if (info->revoked)
        refuse(r, 403,
               "the client certificate is revoked, or the list of the revoked ones has not been "
               "read yet");
    else if (status == 401)
        refuse(r, status, "show a token of fleet.tokens that is for all agents (*)");
    else if (status != 200)
        refuse(r, status,
               "without fleet.tokens or fleet.tls.ca the page answers to localhost only");
    else if (ab_str_is(path, "/api/stream") && ab_str_is(info->head->method, "GET"))
        ab_page_viewers_take(p->viewers, r, p->ids, token_of(p, info));
    else if (ab_str_is(path, "/api/stream"))
        refuse(r, 405, "the stream has no end: GET only");
    else if (ab_str_is(path, "/api/agents"))
        reply_json(r, ab_page_answer_get(p->all));
    else if (ab_str_starts(path, agents_path))
        show_agent(p, r, ab_str_after(path, agents_path));
    else
        refuse(r, 404, "not found: try /api/agents, /api/agents/NAME or /api/stream");
}

static void on_request(void *arg, ab_https_request *r, const ab_https_info *info)
{
    const ab_page *p = arg;
    ab_str path = info->head->path;
    const ab_page_asset *asset = ab_page_asset_find(path);
    if (!ab_str_is(info->head->method, "GET") && !ab_str_is(info->head->method, "HEAD"))
        refuse(r, 405, "the page only shows: GET and HEAD");
    else if (asset != NULL)
        reply(r, 200, asset->type, (ab_str){(const char *)asset->bytes, asset->len});
    else if (ab_str_starts(path, "/api/"))
        serve_api(p, r, info);
    else
        refuse(r, 404, "not found: the page is at /");
}

/* --- life --- */

ab_err ab_page_check(const ab_config *config, ab_error *err)
{
    ab_page_access access;
    ab_resource_identities *ids = NULL;
    if (ab_config_str(config, "fleet.listen") == NULL)
        return AB_ERR_OK;
    ab_err e = ab_page_access_read(config, &access, err);
    if (e != AB_ERR_OK || access.tls.insecure)
        return e;
    e = ab_tls_check(&access.tls, true, err);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "fleet.tls");
    if (e != AB_ERR_OK || access.tokens == NULL)
        return e;
    e = ab_resource_identities_new(access.tokens, &ab_clock_real, NULL, &ids, err);
    ab_resource_identities_free(ids);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "fleet.tokens");
    return e;
}

static ab_err start_server(ab_page *p, uv_loop_t *loop, ab_log *log, ab_error *err)
{
    const ab_https_limits limits = {.connections = CONNECTIONS_MAX};
    const ab_https_options options = {.host = p->access.at.host,
                                      .port = p->access.at.port,
                                      .tls = &p->access.tls,
                                      .limits = &limits,
                                      .on_request = on_request,
                                      .arg = p,
                                      .revoked = p->source.revoked,
                                      .log = log};
    ab_err e = ab_https_server_start(loop, &options, &p->server, err);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "fleet.listen");
    else
        AB_INFO(log, HTTP, "serving the fleet page", AB_KV("address", p->access.at.host),
                AB_KV("port", ab_https_server_port(p->server)));
    return e;
}

ab_err ab_page_start(uv_loop_t *loop, const ab_config *config, const ab_clock *clock, ab_log *log,
                     const ab_page_source *source, ab_page **out, ab_error *err)
{
    *out = NULL;
    if (ab_config_str(config, "fleet.listen") == NULL)
        return AB_ERR_OK;
    ab_page *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    p->source = *source;
    p->viewers = ab_page_viewers_new(loop, source);
    p->all = ab_page_answer_new(loop, &(ab_page_answer_source){.keep_ms = ALL_MS,
                                                               .most = JSON_MAX,
                                                               .write = source->write_all,
                                                               .arg = source->arg});
    ab_err e = p->viewers == NULL || p->all == NULL ? ab_fail(err, AB_ERR_NOMEM, "out of memory")
                                                    : ab_page_access_read(config, &p->access, err);
    if (e == AB_ERR_OK && p->access.tokens != NULL)
        e = ab_resource_identities_new(p->access.tokens, clock, log, &p->ids, err);
    if (e == AB_ERR_OK)
        e = start_server(p, loop, log, err);
    if (e != AB_ERR_OK)
        ab_page_free(p);
    else
        *out = p;
    return e;
}

void ab_page_note(ab_page *p, ab_str agent, bool served)
{
    if (p == NULL)
        return;
    ab_page_viewers_note(p->viewers, agent, served);
    ab_page_answer_forget(p->all);
}

void ab_page_free(ab_page *p)
{
    if (p == NULL)
        return;
    ab_https_server_free(p->server);
    ab_page_viewers_free(p->viewers);
    ab_page_answer_free(p->all);
    ab_resource_identities_free(p->ids);
    free(p);
}
