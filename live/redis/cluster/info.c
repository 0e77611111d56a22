/* SPDX-License-Identifier: Apache-2.0
 *
 * Agents are in one of two lists: those that changed, and those that are written, in the order in
 * which they have to be written again. Each tick takes a few from the front of both.
 */
#include "live/redis/cluster/info.h"

#include "base/core/list.h"
#include "base/core/map.h"
#include "base/json/document.h"

#include <stdlib.h>
#include <zlib.h>

#define TICK_MS     250
#define TICK_WRITES 25 /* 100 a second: 3,000 agents in half a minute */
#define REFRESH_MS  (3 * 60 * 1000)
#define EXPIRY_S    "600"
#define QUEUED_MAX  (256u * 1024) /* a redis that takes no more gets no more */
#define TEXT_MAX    4096
#define SERVER_MAX  1024
#define GZIP_BITS   (15 + 16) /* 16: with gzip's header */
#define GZIP_MEMORY 1

struct ab_redis_cluster_info {
    ab_redis_cluster_info_options o;
    char *version;
    ab_redis_client *client;
    uv_timer_t timer;
    ab_map *agents;
    ab_link changed;
    ab_link written;
    bool has_failed; /* and it was logged */
};

typedef struct {
    ab_link link; /* of changed or written */
    char *server;
    bool connected;
    int64_t contact_us; /* wall clock, when the state was set */
    int64_t refresh_ms; /* when to write again */
    bool has_counts;
    ab_redis_cluster_counts counts;
} cluster;

/* ---- what is written ---- */

static void put_key(const ab_redis_cluster_info *c, const char *server, ab_buf *out)
{
    ab_buf_printf(out, "cluster|info|%s|%s%s", server, c->version, c->o.gzip ? ".gz" : "");
}

/* @return NULL: out of memory */
static cJSON *to_json(const cluster *k, ab_str agent, const char *when)
{
    char message[160];
    cJSON *info = cJSON_CreateObject();
    cJSON *state = cJSON_AddObjectToObject(info, "connectionState");
    snprintf(message, sizeof(message), "Agent: '%.*s' is %s with principal", AB_STR_ARG(agent),
             k->connected ? "connected" : "disconnected");
    bool ok =
        ab_doc_add_str(state, "status", k->connected ? AB_STR("Successful") : AB_STR("Failed"));
    ok = ok && ab_doc_add_str(state, "message", ab_str_of(message));
    ok = ok && ab_doc_add_str(state, "attemptedAt", ab_str_of(when));
    cJSON *cache = cJSON_AddObjectToObject(info, "cacheInfo");
    if (k->has_counts) {
        ok = ok && ab_doc_add_i64(cache, "resourcesCount", k->counts.resources);
        ok = ok && ab_doc_add_i64(cache, "apisCount", k->counts.apis);
        ok = ok && ab_doc_add_str(cache, "lastCacheSyncTime", ab_str_of(when));
    }
    ok = ok && ab_doc_add_i64(info, "applicationsCount", k->counts.applications);
    if (ok)
        return info;
    cJSON_Delete(info);
    return NULL;
}

static ab_err put_gzip(ab_str text, ab_buf *out)
{
    z_stream z = {0};
    if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, GZIP_BITS, GZIP_MEMORY, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return AB_ERR_NOMEM;
    size_t room = deflateBound(&z, (uLong)text.len);
    char *to = ab_buf_extend(out, room);
    if (to != NULL) {
        z.next_in = (z_const Bytef *)(uintptr_t)text.ptr;
        z.avail_in = (uInt)text.len;
        z.next_out = (Bytef *)to;
        z.avail_out = (uInt)room;
        int rc = deflate(&z, Z_FINISH);
        out->len -= z.avail_out;
        if (rc != Z_STREAM_END)
            out->status = AB_ERR_NOMEM;
    }
    deflateEnd(&z);
    return ab_buf_status(out);
}

static ab_err put_value(const ab_redis_cluster_info *c, const cluster *k, ab_str agent, ab_buf *out)
{
    char when[AB_TIME_TEXT];
    /* The last contact of one that is connected is now. */
    ab_time_format_seconds(k->connected ? ab_clock_wall_us(c->o.clock) : k->contact_us, when);
    cJSON *info = to_json(k, agent, when);
    char *text = info == NULL ? NULL : cJSON_PrintUnformatted(info);
    cJSON_Delete(info);
    if (text == NULL)
        return AB_ERR_NOMEM;
    ab_err e = AB_ERR_OK;
    if (c->o.gzip)
        e = put_gzip(ab_str_of(text), out);
    else
        ab_buf_puts(out, text);
    cJSON_free(text);
    return e == AB_ERR_OK ? ab_buf_status(out) : e;
}

static bool can_write(const ab_redis_cluster_info *c)
{
    return ab_redis_client_is_up(c->client) && ab_redis_client_queued(c->client) < QUEUED_MAX;
}

static void write_cluster(ab_redis_cluster_info *c, cluster *k)
{
    ab_buf key = ab_buf_up_to(TEXT_MAX);
    ab_buf value = ab_buf_up_to(TEXT_MAX);
    put_key(c, k->server, &key);
    ab_err e = put_value(c, k, ab_map_at(k).key, &value);
    if (e == AB_ERR_OK && ab_buf_status(&key) == AB_ERR_OK) {
        ab_str args[] = {AB_STR("SET"), ab_buf_str(&key), ab_buf_str(&value), AB_STR("EX"),
                         AB_STR(EXPIRY_S)};
        ab_redis_client_send(c->client, args, 5);
    }
    ab_buf_fini(&key);
    ab_buf_fini(&value);
    k->refresh_ms = ab_clock_mono_ms(c->o.clock) + REFRESH_MS;
    ab_list_append(&c->written, &k->link);
}

/* A redis that is away for long is told nothing of those that went meanwhile: what was written for
 * them has expired. */
static void erase(const ab_redis_cluster_info *c, const char *server)
{
    if (!can_write(c))
        return;
    ab_buf key = ab_buf_up_to(TEXT_MAX);
    put_key(c, server, &key);
    ab_str args[] = {AB_STR("DEL"), ab_buf_str(&key)};
    if (ab_buf_status(&key) == AB_ERR_OK)
        ab_redis_client_send(c->client, args, 2);
    ab_buf_fini(&key);
}

/* @return false: there is nothing to write now */
static bool write_next(ab_redis_cluster_info *c, int64_t now_ms)
{
    if (ab_link_is_in_use(&c->changed)) {
        write_cluster(c, AB_LINK_OF(c->changed.next, cluster, link));
        return true;
    }
    if (!ab_link_is_in_use(&c->written))
        return false;
    cluster *k = AB_LINK_OF(c->written.next, cluster, link);
    if (k->refresh_ms > now_ms)
        return false;
    write_cluster(c, k);
    return true;
}

static void on_tick(uv_timer_t *timer)
{
    ab_redis_cluster_info *c = timer->data;
    int64_t now_ms = ab_clock_mono_ms(c->o.clock);
    if (!ab_redis_client_is_up(c->client)) {
        if (ab_map_count(c->agents) > 0)
            ab_redis_client_need(c->client);
        return;
    }
    for (int i = 0; i < TICK_WRITES && can_write(c); i++) {
        if (!write_next(c, now_ms))
            return;
    }
}

/* ---- the redis ---- */

/* One that was away may have lost everything. */
static void on_up(void *arg)
{
    ab_redis_cluster_info *c = arg;
    c->has_failed = false;
    ab_list_move_all(&c->written, &c->changed);
}

static void report(ab_redis_cluster_info *c, const char *reason)
{
    if (!c->has_failed)
        AB_WARN(c->o.log, LIVE, "cannot write the state of clusters to redis",
                AB_KV("error", reason));
    c->has_failed = true;
}

static void on_reply(void *arg, const ab_resp_piece *piece)
{
    ab_str rest = piece->bytes;
    ab_str value;
    char type;
    char text[256];
    if (!piece->begins || !ab_resp_take(&rest, &type, &value) || type != '-')
        return;
    snprintf(text, sizeof(text), "%.*s", AB_STR_ARG(value));
    report(arg, text);
}

static bool on_down(void *arg, const ab_error *why)
{
    ab_redis_cluster_info *c = arg;
    report(c, why->text);
    return ab_map_count(c->agents) > 0;
}

static const ab_redis_client_ops ops = {on_up, on_reply, on_down};

/* ---- agents ---- */

/* What was written for the agent goes. */
static void forget_server(const ab_redis_cluster_info *c, cluster *k)
{
    erase(c, k->server);
    free(k->server);
    k->server = NULL;
}

static ab_err set_server(ab_redis_cluster_info *c, cluster *k, ab_str server)
{
    if (k->server != NULL && ab_str_is(server, k->server))
        return AB_ERR_OK;
    char *copy = ab_str_dup(server);
    if (copy == NULL)
        return AB_ERR_NOMEM;
    if (k->server != NULL)
        forget_server(c, k);
    k->server = copy;
    return AB_ERR_OK;
}

ab_err ab_redis_cluster_info_set(ab_redis_cluster_info *c, ab_str agent, ab_str server,
                                 bool connected)
{
    if (!ab_str_is_dns_label(agent) || server.len == 0 || server.len > SERVER_MAX ||
        !ab_str_is_printable(server))
        return AB_ERR_INVALID;
    cluster *k = ab_map_make(c->agents, agent, sizeof(*k));
    if (k == NULL)
        return AB_ERR_NOMEM;
    bool is_new = k->server == NULL;
    if (is_new)
        ab_link_init(&k->link);
    if (set_server(c, k, server) != AB_ERR_OK) {
        if (is_new)
            ab_map_drop(c->agents, k);
        return AB_ERR_NOMEM;
    }
    k->connected = connected;
    k->contact_us = ab_clock_wall_us(c->o.clock);
    ab_list_append(&c->changed, &k->link);
    return AB_ERR_OK;
}

void ab_redis_cluster_info_count(ab_redis_cluster_info *c, ab_str agent,
                                 const ab_redis_cluster_counts *counts)
{
    cluster *k = ab_map_find(c->agents, agent);
    if (k == NULL)
        return;
    k->has_counts = true;
    k->counts = *counts;
    ab_list_append(&c->changed, &k->link);
}

void ab_redis_cluster_info_remove(ab_redis_cluster_info *c, ab_str agent)
{
    cluster *k = ab_map_find(c->agents, agent);
    if (k == NULL)
        return;
    forget_server(c, k);
    ab_link_remove(&k->link);
    ab_map_drop(c->agents, k);
}

/* ---- begin and end ---- */

static void on_timer_closed(uv_handle_t *handle)
{
    ab_redis_cluster_info *c = handle->data;
    free(c->version);
    free(c);
}

ab_err ab_redis_cluster_info_new(const ab_redis_cluster_info_options *options,
                                 ab_redis_cluster_info **out, ab_error *err)
{
    ab_redis_cluster_info *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for redis");
    c->o = *options;
    c->version = strdup(options->version);
    c->agents = ab_map_new();
    ab_link_init(&c->changed);
    ab_link_init(&c->written);
    uv_timer_init(options->loop, &c->timer);
    c->timer.data = c;
    ab_err e = c->version != NULL && c->agents != NULL
                   ? AB_ERR_OK
                   : ab_fail(err, AB_ERR_NOMEM, "out of memory for redis");
    if (e == AB_ERR_OK)
        e = ab_redis_client_new(options->loop, options->log, &options->redis, &ops, c, &c->client,
                                err);
    if (e != AB_ERR_OK) {
        ab_redis_cluster_info_close(c);
        return e;
    }
    uv_timer_start(&c->timer, on_tick, TICK_MS, TICK_MS);
    *out = c;
    return AB_ERR_OK;
}

void ab_redis_cluster_info_close(ab_redis_cluster_info *c)
{
    if (c == NULL)
        return;
    ab_redis_client_close(c->client);
    c->client = NULL;
    if (c->agents != NULL) {
        for (ab_map_iter i = ab_map_first(c->agents); i.entry != NULL; ab_map_next(&i))
            free(((cluster *)i.value)->server);
    }
    ab_map_free(c->agents, NULL);
    uv_close((uv_handle_t *)&c->timer, on_timer_closed);
}
