/* SPDX-License-Identifier: Apache-2.0 */
#include "live/redis/cluster/reader.h"

#include <stdlib.h>

#define READ_MS 10000
/* Argo CD's name for the cluster that it runs in. */
#define SERVER "https://kubernetes.default.svc"

struct ab_redis_cluster_reader {
    ab_redis_cluster_reader_options o;
    ab_buf key;
    ab_redis_client *client;
    uv_timer_t timer;
    ab_buf reply;   /* to the read that is under way */
    bool is_asking; /* a reply follows */
};

static void ask(ab_redis_cluster_reader *r)
{
    ab_str args[] = {AB_STR("GET"), ab_buf_str(&r->key)};
    if (r->is_asking)
        return;
    r->is_asking = true;
    ab_redis_client_send(r->client, args, 2);
}

static void on_timer(uv_timer_t *timer)
{
    ab_redis_cluster_reader *r = timer->data;
    if (ab_redis_client_is_up(r->client))
        ask(r);
    else
        ab_redis_client_need(r->client);
}

static void on_up(void *arg)
{
    ask(arg);
}

/* Nobody asked for it now: a failure is told where it can be seen, at debug level. */
static void tell_failed(const ab_redis_cluster_reader *r, const char *why)
{
    AB_DEBUG(r->o.log, LIVE, "cannot read the counts of the cluster's cache", AB_KV("why", why));
}

static void take_value(const ab_redis_cluster_reader *r, ab_str value)
{
    ab_redis_cluster_counts counts;
    ab_err e = ab_redis_cluster_counts_read_info(value, r->o.gzip, &counts);
    if (e == AB_ERR_OK)
        r->o.on_counts(r->o.arg, &counts);
    else
        tell_failed(r, ab_err_text(e));
}

static void take_reply(const ab_redis_cluster_reader *r)
{
    char type = '\0';
    ab_str value = AB_STR_NONE;
    ab_str rest = ab_buf_str(&r->reply);
    ab_err e = ab_buf_status(&r->reply);
    bool taken = e == AB_ERR_OK && ab_resp_take(&rest, &type, &value);
    if (taken && type == '$' && value.ptr != NULL)
        take_value(r, value);
    else
        tell_failed(r, e != AB_ERR_OK ? ab_err_text(e) : "there is no value");
}

static void on_reply(void *arg, const ab_resp_piece *piece)
{
    ab_redis_cluster_reader *r = arg;
    ab_buf_put(&r->reply, piece->bytes);
    if (!piece->ends)
        return;
    r->is_asking = false;
    take_reply(r);
    ab_buf_fini(&r->reply);
    ab_buf_init(&r->reply, AB_REDIS_CLUSTER_INFO_MAX);
}

static bool on_down(void *arg, const ab_error *why)
{
    ab_redis_cluster_reader *r = arg;
    r->is_asking = false;
    ab_buf_clear(&r->reply);
    tell_failed(r, why->text);
    return false; /* the timer asks again */
}

static const ab_redis_client_ops ops = {on_up, on_reply, on_down};

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

ab_err ab_redis_cluster_reader_new(const ab_redis_cluster_reader_options *options,
                                   ab_redis_cluster_reader **out, ab_error *err)
{
    ab_redis_cluster_reader *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for redis");
    r->o = *options;
    ab_buf_init(&r->reply, AB_REDIS_CLUSTER_INFO_MAX);
    ab_buf_init(&r->key, 1024);
    ab_buf_printf(&r->key, "cluster|info|" SERVER "|%s%s", options->version,
                  options->gzip ? ".gz" : "");
    uv_timer_init(options->loop, &r->timer);
    r->timer.data = r;
    ab_err e = ab_buf_status(&r->key);
    e = e == AB_ERR_OK ? ab_redis_client_new(options->loop, options->log, &options->redis, &ops, r,
                                             &r->client, err)
                       : ab_fail(err, AB_ERR_CONFIG, "the version of the cache is too long");
    if (e != AB_ERR_OK) {
        ab_redis_cluster_reader_close(r);
        return e;
    }
    uv_timer_start(&r->timer, on_timer, 0, READ_MS);
    *out = r;
    return AB_ERR_OK;
}

void ab_redis_cluster_reader_close(ab_redis_cluster_reader *r)
{
    if (r == NULL)
        return;
    ab_redis_client_close(r->client);
    ab_buf_fini(&r->key);
    ab_buf_fini(&r->reply);
    uv_close((uv_handle_t *)&r->timer, on_closed);
}
