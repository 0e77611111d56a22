/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/live/redis.h"

#include "base/core/base64.h"
#include "base/core/map.h"
#include "net/address.h"

#include <stdlib.h>
#include <string.h>

#define REDIS_PORT  6379
#define DEADLINE_MS 10000
#define SERVER_MAX  1024

static const ab_option rows[] = {
    {.name = "live.redis.listen",
     .kind = AB_OPT_STRING,
     .help = "host:port where argocd-server finds the control plane's redis, with the trees and "
             "differences of agents' Applications in it; unset: there is none."},
    {.name = "live.redis.tls.cert",
     .kind = AB_OPT_FILE,
     .help = "Certificate of live.redis.listen; unset: it speaks plain TCP."},
    {.name = "live.redis.tls.key", .kind = AB_OPT_FILE, .help = "Its key."},
    {.name = "live.redis.address",
     .kind = AB_OPT_STRING,
     .deflt = "argocd-redis:6379",
     .help = "host:port of the control plane's own redis."},
    {.name = "live.redis.ca",
     .kind = AB_OPT_FILE,
     .help = "Certificate authorities (PEM) of that redis; unset: it speaks plain TCP."},
    {.name = "live.redis.username",
     .kind = AB_OPT_STRING,
     .help = "ACL user with which the principal writes the state of agents' clusters there; "
             "unset: the default user. Clients of live.redis.listen bring their own."},
    {.name = "live.redis.password-file",
     .kind = AB_OPT_FILE,
     .help = "File of that user's password; unset: there is none. Read for each connection."},
    {.name = "live.redis.cache-version",
     .kind = AB_OPT_STRING,
     .deflt = "1.8.3",
     .help = "Version in the names of Argo CD's keys, for the state of agents' clusters."},
    {.name = "live.redis.compression",
     .kind = AB_OPT_ENUM,
     .deflt = "gzip",
     .choices = "gzip|none",
     .help = "As Argo CD's --redis-compress."},
};
const ab_options ab_principal_live_redis_options = {rows, sizeof(rows) / sizeof(rows[0])};

typedef struct {
    char *server; /* NULL: not known */
    bool up;
    bool is_counted;
    ab_redis_cluster_counts counts;
} cluster;

struct ab_principal_live_redis {
    ab_live_hub *hub;
    ab_log *log;
    ab_redis_front *front;
    ab_redis_cluster_info *info;
    ab_map *clusters; /* made, by agent */
};

static ab_err ask(void *arg, const char *agent, const ab_live_request *request,
                  const ab_live_handler *handler, void *handler_arg, ab_live_stream **out,
                  ab_error *err)
{
    const ab_principal_live_redis *l = arg;
    return ab_live_hub_request(l->hub, agent, request, handler, handler_arg, out, err);
}

/* ----- options ----- */

static ab_err read_own(const ab_config *c, ab_address *at, ab_tls *tls, ab_error *err)
{
    const char *ca = ab_config_str(c, "live.redis.ca");
    *tls = (ab_tls){.insecure = ca == NULL, .ca = ca, .min_version = "1.2"};
    return ab_address_parse("live.redis.address", ab_config_str(c, "live.redis.address"),
                            REDIS_PORT, at, err);
}

static ab_err read_listen(const ab_config *c, const char *listen, ab_address *at, ab_tls *tls,
                          ab_error *err)
{
    const char *cert = ab_config_str(c, "live.redis.tls.cert");
    const char *key = ab_config_str(c, "live.redis.tls.key");
    if ((cert == NULL) != (key == NULL))
        return ab_fail(err, AB_ERR_CONFIG,
                       "live.redis.tls.cert and live.redis.tls.key must be set together");
    *tls = (ab_tls){.insecure = cert == NULL, .cert = cert, .key = key, .min_version = "1.2"};
    return ab_address_parse("live.redis.listen", listen, -1, at, err);
}

static ab_err check_tls(const ab_tls *tls, bool server, const char *option, ab_error *err)
{
    if (tls->insecure)
        return AB_ERR_OK;
    ab_err e = ab_tls_check(tls, server, err);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "%s", option);
    return e;
}

ab_err ab_principal_live_redis_check(const ab_config *config, ab_error *err)
{
    ab_address at;
    ab_tls own, tls;
    const char *listen = ab_config_str(config, "live.redis.listen");
    if (listen == NULL)
        return AB_ERR_OK;
    ab_err e = read_own(config, &at, &own, err);
    if (e == AB_ERR_OK)
        e = read_listen(config, listen, &at, &tls, err);
    if (e == AB_ERR_OK)
        e = check_tls(&own, false, "live.redis.ca", err);
    return e == AB_ERR_OK ? check_tls(&tls, true, "live.redis.tls", err) : e;
}

static ab_err start_info(ab_principal_live_redis *l, const ab_daemon *d, const ab_address *own,
                         const ab_tls *tls, ab_error *err)
{
    const ab_config *c = d->config;
    const ab_redis_cluster_info_options options = {
        .loop = d->loop,
        .log = d->log,
        .clock = d->clock,
        .redis = {.host = own->host,
                  .port = own->port,
                  .tls = *tls,
                  .username = ab_config_str(c, "live.redis.username"),
                  .password_file = ab_config_str(c, "live.redis.password-file")},
        .version = ab_config_str(c, "live.redis.cache-version"),
        .gzip = ab_config_is(c, "live.redis.compression", "gzip")};
    return ab_redis_cluster_info_new(&options, &l->info, err);
}

static ab_err start_all(ab_principal_live_redis *l, const ab_daemon *d, const char *listen,
                        const ab_redis_agents *agents, ab_error *err)
{
    ab_address own = {0}, at = {0};
    ab_redis_front_options options = {.loop = d->loop,
                                      .log = d->log,
                                      .metrics = d->metrics,
                                      .clock = d->clock,
                                      .agents = *agents,
                                      .request = ask,
                                      .arg = l,
                                      .deadline_ms = DEADLINE_MS};
    ab_err e = read_own(d->config, &own, &options.redis_tls, err);
    if (e == AB_ERR_OK)
        e = read_listen(d->config, listen, &at, &options.listen_tls, err);
    options.listen_host = at.host;
    options.listen_port = at.port;
    options.redis_host = own.host;
    options.redis_port = own.port;
    if (e == AB_ERR_OK)
        e = ab_redis_front_new(&options, &l->front, err);
    return e == AB_ERR_OK ? start_info(l, d, &own, &options.redis_tls, err) : e;
}

ab_err ab_principal_live_redis_start(const ab_daemon *daemon, ab_live_hub *hub,
                                     const ab_redis_agents *agents, ab_principal_live_redis **out,
                                     ab_error *err)
{
    const char *listen = ab_config_str(daemon->config, "live.redis.listen");
    *out = NULL;
    if (listen == NULL)
        return AB_ERR_OK;
    ab_principal_live_redis *l = calloc(1, sizeof(*l));
    if (l != NULL)
        l->clusters = ab_map_new();
    if (l == NULL || l->clusters == NULL) {
        free(l);
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    }
    l->hub = hub;
    l->log = daemon->log;
    ab_err e = start_all(l, daemon, listen, agents, err);
    if (e != AB_ERR_OK) {
        ab_principal_live_redis_free(l);
        ab_error_prefix(err, "live.redis");
        return e;
    }
    *out = l;
    return AB_ERR_OK;
}

void ab_principal_live_redis_stop(ab_principal_live_redis *l)
{
    if (l != NULL)
        ab_redis_front_stop(l->front);
}

bool ab_principal_live_redis_is_drained(const ab_principal_live_redis *l)
{
    return l == NULL || ab_redis_front_is_drained(l->front);
}

static void free_server(void *made)
{
    free(((cluster *)made)->server);
}

void ab_principal_live_redis_free(ab_principal_live_redis *l)
{
    if (l == NULL)
        return;
    ab_redis_front_close(l->front);
    ab_redis_cluster_info_close(l->info);
    ab_map_free(l->clusters, free_server);
    free(l);
}

/* ----- clusters ----- */

static void tell(const ab_principal_live_redis *l, ab_str agent, const cluster *c)
{
    if (c->server == NULL)
        return;
    ab_err e = ab_redis_cluster_info_set(l->info, agent, ab_str_of(c->server), c->up);
    if (e != AB_ERR_OK)
        AB_WARN(l->log, LIVE, "cannot show the state of an agent's cluster", AB_KV("agent", agent),
                AB_KV("error", ab_err_text(e)));
    else if (c->is_counted)
        ab_redis_cluster_info_count(l->info, agent, &c->counts);
}

static cluster *cluster_of(const ab_principal_live_redis *l, ab_str agent)
{
    cluster *c = ab_map_make(l->clusters, agent, sizeof(*c));
    if (c == NULL)
        AB_ERROR(l->log, MAIN, "out of memory", AB_KV("agent", agent));
    return c;
}

/* NULL: it has none, or there is no memory. */
static char *server_of(const ab_object *secret)
{
    ab_buf server;
    ab_str text = ab_span_plain(ab_span_get(ab_object_field(secret, "data"), "server"));
    ab_buf_init(&server, SERVER_MAX);
    bool good = text.len > 0 && ab_base64_decode(text, &server) &&
                ab_buf_status(&server) == AB_ERR_OK && server.len > 0;
    char *out = good ? ab_buf_take(&server) : NULL;
    ab_buf_fini(&server);
    return out;
}

void ab_principal_live_redis_named(ab_principal_live_redis *l, ab_str agent,
                                   const ab_object *secret)
{
    cluster *c = l == NULL ? NULL : cluster_of(l, agent);
    if (c == NULL)
        return;
    char *server = server_of(secret);
    bool same = server != NULL && c->server != NULL && strcmp(server, c->server) == 0;
    if (server == NULL || same) {
        free(server);
        return;
    }
    free(c->server);
    c->server = server;
    tell(l, agent, c);
}

void ab_principal_live_redis_presence(ab_principal_live_redis *l, const char *agent, bool up)
{
    cluster *c = l == NULL ? NULL : cluster_of(l, ab_str_of(agent));
    if (c == NULL)
        return;
    c->up = up;
    tell(l, ab_str_of(agent), c);
}

/* It may come before the cluster Secret. */
void ab_principal_live_redis_counted(ab_principal_live_redis *l, const char *agent, ab_str report)
{
    ab_redis_cluster_counts counts;
    if (l == NULL)
        return;
    ab_err e = ab_redis_cluster_counts_read(report, &counts);
    if (e != AB_ERR_OK) {
        AB_DEBUG(l->log, LIVE, "cannot read the counts of an agent's cluster",
                 AB_KV("agent", agent), AB_KV("error", ab_err_text(e)));
        return;
    }
    cluster *c = cluster_of(l, ab_str_of(agent));
    if (c == NULL)
        return;
    c->counts = counts;
    c->is_counted = true;
    ab_redis_cluster_info_count(l->info, ab_str_of(agent), &counts);
}

void ab_principal_live_redis_removed(ab_principal_live_redis *l, const char *agent)
{
    cluster *c = l == NULL ? NULL : ab_map_find(l->clusters, ab_str_of(agent));
    if (c == NULL)
        return;
    free(c->server);
    ab_map_drop(l->clusters, c);
    ab_redis_cluster_info_remove(l->info, ab_str_of(agent));
}
