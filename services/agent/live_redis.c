/* SPDX-License-Identifier: Apache-2.0 */
#include "services/agent/live_redis.h"

#include "net/address.h"

#define REDIS_PORT 6379

static const ab_option rows[] = {
    {.name = "live.redis.address",
     .kind = AB_OPT_STRING,
     .help = "host:port of the redis of this cluster's Argo CD, for example argocd-redis:6379: the "
             "control plane may read trees and differences of Applications from it; unset: it may "
             "not."},
    {.name = "live.redis.ca",
     .kind = AB_OPT_FILE,
     .help = "Certificate authorities (PEM) of that redis; unset: it speaks plain TCP."},
    {.name = "live.redis.username",
     .kind = AB_OPT_STRING,
     .help = "ACL user for it; unset: the default user."},
    {.name = "live.redis.password-file",
     .kind = AB_OPT_FILE,
     .help = "File of that user's password; unset: there is none. Read for each connection."},
    {.name = "live.redis.cache-version",
     .kind = AB_OPT_STRING,
     .deflt = "1.8.3",
     .help = "Version in the names of Argo CD's keys there, for the counts of the page of "
             "clusters."},
    {.name = "live.redis.compression",
     .kind = AB_OPT_ENUM,
     .deflt = "gzip",
     .choices = "gzip|none",
     .help = "As --redis-compress of this cluster's Argo CD."},
};
const ab_options ab_agent_live_redis_options = {rows, sizeof(rows) / sizeof(rows[0])};

/* @param at  what `out` borrows */
static ab_err read_options(const ab_config *c, ab_address *at, ab_redis_address *out, ab_error *err)
{
    const char *ca = ab_config_str(c, "live.redis.ca");
    ab_err e = ab_address_parse("live.redis.address", ab_config_str(c, "live.redis.address"),
                                REDIS_PORT, at, err);
    if (e == AB_ERR_OK)
        *out = (ab_redis_address){.host = at->host,
                                  .port = at->port,
                                  .tls = {.insecure = ca == NULL, .ca = ca, .min_version = "1.2"},
                                  .username = ab_config_str(c, "live.redis.username"),
                                  .password_file = ab_config_str(c, "live.redis.password-file")};
    return e;
}

ab_err ab_agent_live_redis_check(const ab_config *config, ab_error *err)
{
    ab_address at;
    ab_redis_address redis;
    if (ab_config_str(config, "live.redis.address") == NULL)
        return AB_ERR_OK;
    ab_err e = read_options(config, &at, &redis, err);
    if (e != AB_ERR_OK || redis.tls.insecure)
        return e;
    e = ab_tls_check(&redis.tls, false, err);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "live.redis.ca");
    return e;
}

ab_err ab_agent_live_redis_new(const ab_daemon *daemon, ab_redis_spoke **out, ab_error *err)
{
    ab_address at;
    ab_redis_address redis;
    *out = NULL;
    if (ab_config_str(daemon->config, "live.redis.address") == NULL)
        return AB_ERR_OK;
    ab_err e = read_options(daemon->config, &at, &redis, err);
    if (e == AB_ERR_OK)
        e = ab_redis_spoke_new(daemon->loop, daemon->log, &redis, out, err);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "live.redis");
    return e;
}

ab_err ab_agent_live_redis_reader_new(const ab_daemon *daemon,
                                      void (*on_counts)(void *arg,
                                                        const ab_redis_cluster_counts *counts),
                                      void *arg, ab_redis_cluster_reader **out, ab_error *err)
{
    const ab_config *c = daemon->config;
    ab_address at;
    ab_redis_cluster_reader_options options = {
        .loop = daemon->loop,
        .log = daemon->log,
        .version = ab_config_str(c, "live.redis.cache-version"),
        .gzip = ab_config_is(c, "live.redis.compression", "gzip"),
        .on_counts = on_counts,
        .arg = arg};
    *out = NULL;
    if (ab_config_str(c, "live.redis.address") == NULL)
        return AB_ERR_OK;
    ab_err e = read_options(c, &at, &options.redis, err);
    if (e == AB_ERR_OK)
        e = ab_redis_cluster_reader_new(&options, out, err);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "live.redis");
    return e;
}
