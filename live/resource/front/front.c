/* SPDX-License-Identifier: Apache-2.0
 *
 * A request is taken in any case, so that each of its ends, refusals too, is one in the audit log.
 * See front.h.
 */
#include "live/resource/front/front.h"

#include "live/resource/front/front_priv.h"
#include "live/resource/status.h"
#include "net/timer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes held of one request: what a stream lets be sent ahead, and a line of a log. */
#define HELD_MAX (8u * 1024 * 1024)

/* --- which agent --- */

/* @return 0, or the status to refuse it with */
static int find_agent(ab_resource_front_request *r, ab_str named, ab_error *err)
{
    char identity[AB_RESOURCE_AGENT_MAX];
    (void)snprintf(identity, sizeof(identity), "%s", r->agent);
    if (strcmp(identity, "*") == 0) {
        r->agent[0] = '\0';
        if (named.ptr == NULL) {
            (void)ab_fail(err, AB_ERR_INVALID, "the path must begin with /agents/NAME");
            return 400;
        }
        (void)snprintf(r->agent, sizeof(r->agent), "%.*s", AB_STR_ARG(named));
    } else if (named.ptr != NULL && !ab_str_is(named, identity)) {
        (void)ab_fail(err, AB_ERR_DENIED, "this identity may reach agent %s only", identity);
        return 403;
    }
    return 0;
}

static ab_resource_front_kind kind_of(const ab_resource_map *m)
{
    if (m->verb == AB_RESOURCE_CONNECT)
        return AB_RESOURCE_FRONT_TERMINAL;
    if (m->verb == AB_RESOURCE_WATCH)
        return AB_RESOURCE_FRONT_WATCH;
    return ab_resource_map_is_core(m, "pods") && ab_str_is(m->subresource, "log")
               ? AB_RESOURCE_FRONT_LOG
               : AB_RESOURCE_FRONT_REQUEST;
}

/* --- the request --- */

/* @return 0, or the status to refuse it with */
static int read_request(ab_resource_front_request *r, const ab_https_info *info, ab_error *err)
{
    ab_str authorization = ab_http_head_find(info->head, "authorization");
    ab_str named, rest;
    if (info->revoked) {
        (void)ab_fail(err, AB_ERR_DENIED,
                      "the client certificate is revoked, or the list of the revoked ones has not "
                      "been read yet");
        r->who = "certificate";
        return 403;
    }
    ab_resource_identities_find(r->front->identities, authorization, info->common_name, r->agent);
    r->who = authorization.ptr != NULL ? "token" : "certificate";
    if (r->agent[0] == '\0') {
        (void)ab_fail(err, AB_ERR_DENIED,
                      "no identity: send a token of live.resource.tokens, or a client certificate "
                      "with an agent's name");
        r->who = "none";
        return 401;
    }
    r->known = true;
    ab_resource_grant_take(&r->grant, r->front->identities, authorization, r->agent);
    if (ab_resource_map_split_agent(ab_str_of(r->target), &named, &rest, err) != AB_ERR_OK) {
        r->agent[0] = '\0';
        return 400;
    }
    int refused = find_agent(r, named, err);
    if (refused == 0 && ab_resource_map_read(ab_str_of(r->method), rest, &r->map, err) != AB_ERR_OK)
        refused = 400;
    r->mapped = refused == 0;
    return refused;
}

static ab_err copy_request(ab_resource_front_request *r, const ab_https_info *info)
{
    const ab_http_head *head = info->head;
    ab_buf target = ab_buf_up_to(2u * AB_RESOURCE_TARGET_MAX);
    ab_buf_put(&target, head->path);
    if (head->query.ptr != NULL) {
        ab_buf_putc(&target, '?');
        ab_buf_put(&target, head->query);
    }
    ab_err e = ab_buf_status(&target);
    r->method = ab_str_dup(head->method);
    r->target = ab_buf_take(&target);
    for (size_t i = 0; i < head->field_count; i++) {
        if (ab_resource_fields_is_asked(head->fields[i].name))
            ab_resource_fields_add(&r->fields, head->fields[i].name, head->fields[i].value);
    }
    if (e == AB_ERR_OK)
        e = ab_resource_fields_seal(&r->fields);
    return r->method == NULL || (r->target == NULL && e == AB_ERR_OK) ? AB_ERR_NOMEM : e;
}

static ab_resource_front_request *new_request(ab_resource_front *front, ab_https_request *http,
                                              bool websocket)
{
    ab_resource_front_request *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return NULL;
    r->front = front;
    r->http = http;
    r->who = "none";
    r->begun_ns = uv_hrtime();
    ab_resource_fields_init(&r->fields);
    ab_resource_logs_init(&r->logs, ab_clock_wall_us(front->env.clock));
    ab_buf_init_secret(&r->up, HELD_MAX);
    ab_buf_init_secret(&r->down, HELD_MAX);
    ab_buf_init_secret(&r->message, AB_RESOURCE_MESSAGE_MAX);
    ab_resource_messages_init(&r->messages);
    ab_https_take(http,
                  websocket ? &ab_resource_front_terminal_handler : &ab_resource_front_handler, r);
    return r;
}

static void on_request(void *arg, ab_https_request *http, const ab_https_info *info)
{
    ab_error err = {0};
    int refused = 0;
    ab_resource_front_request *r = new_request(arg, http, info->websocket);
    if (r == NULL)
        return;
    ab_err e = copy_request(r, info);
    if (e != AB_ERR_OK) {
        (void)ab_fail(&err, e, "path or fields are too long, or there are too many fields");
        refused = e == AB_ERR_NOMEM ? 503 : 400;
    } else {
        refused = read_request(r, info, &err);
    }
    r->kind = r->mapped ? kind_of(&r->map) : AB_RESOURCE_FRONT_REQUEST;
    ab_resource_front_audit_begin(r);
    if (refused != 0) {
        ab_resource_front_refuse(r, refused, err.text);
        return;
    }
    r->resumable = ab_resource_logs_can_resume(&r->map);
    if (info->websocket && r->kind == AB_RESOURCE_FRONT_TERMINAL)
        ab_resource_front_open_terminal(r, info);
    else if (info->websocket)
        ab_resource_front_refuse(r, 400, "WebSockets are served for exec and attach only");
    else
        ab_resource_front_ask(r);
}

static const char *write_refusal(void *arg, int status, const char *why, ab_buf *body)
{
    (void)arg;
    ab_resource_status_put(status, why, body);
    return AB_RESOURCE_STATUS_TYPE;
}

/* --- the front --- */

static ab_err listen_to(ab_resource_front *front, ab_error *err)
{
    return ab_https_server_start(front->env.loop,
                                 &(ab_https_options){.host = front->env.host,
                                                     .port = front->env.port,
                                                     .tls = front->env.tls,
                                                     .on_request = on_request,
                                                     .write_refusal = write_refusal,
                                                     .arg = front,
                                                     .revoked = front->env.revoked,
                                                     .log = front->env.log},
                                 &front->server, err);
}

static ab_err use_key(ab_resource_front *front, ab_error *err)
{
    const ab_resource_front_env *env = &front->env;
    ab_agent_key *key = NULL;
    ab_err e = env->token_key == NULL
                   ? AB_ERR_OK
                   : ab_agent_key_new(env->token_key, env->clock, env->log, &key, err);
    ab_resource_identities_use(front->identities, key);
    return e;
}

ab_err ab_resource_front_start(const ab_resource_front_env *env, ab_resource_front **out,
                               ab_error *err)
{
    ab_resource_front *front = calloc(1, sizeof(*front));
    uv_timer_t *timer = front == NULL ? NULL : ab_timer_new(env->loop, front);
    if (timer == NULL) {
        free(front);
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for live access");
    }
    front->env = *env;
    front->held_max = AB_RESOURCE_FRONT_HELD_MAX;
    TAILQ_INIT(&front->holders);
    front->retry = timer;
    ab_resource_front_audit_init(front);
    ab_err e =
        ab_resource_identities_new(env->tokens, env->clock, env->log, &front->identities, err);
    if (e == AB_ERR_OK)
        e = use_key(front, err);
    if (e == AB_ERR_OK)
        e = listen_to(front, err);
    if (e != AB_ERR_OK) {
        ab_resource_front_free(front);
        return e;
    }
    *out = front;
    return AB_ERR_OK;
}

void ab_resource_front_stop(ab_resource_front *front)
{
    if (front == NULL)
        return;
    front->stopping = true;
    ab_https_server_drain(front->server);
    ab_resource_front_end_waiting(front);
}

bool ab_resource_front_is_drained(const ab_resource_front *front)
{
    return front == NULL || ab_https_server_busy(front->server) == 0;
}

void ab_resource_front_free(ab_resource_front *front)
{
    if (front == NULL)
        return;
    ab_https_server_free(front->server);
    ab_resource_identities_free(front->identities);
    ab_timer_free(front->retry);
    free(front);
}
