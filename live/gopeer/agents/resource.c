/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests to the Kubernetes API of an argocd-agent's cluster: one event asks, and one answers.
 * What the agent does not answer, although every API server has it, is answered here: /version, as
 * argocd-agent's own principal does it, and the reason of a refusal, of which only the status
 * comes.
 */
#include "live/gopeer/agents/agents_priv.h"
#include "live/gopeer/wire/wire.h"
#include "live/resource/fields.h"
#include "live/resource/service.h"

#include <stdio.h>
#include <stdlib.h>

/* Of an object or a list: more would not fit into the agent's event. */
#define ANSWER_MAX (64u * 1024 * 1024)
#define MERGE      "application/merge-patch+json"
#define VERSION                                                                                    \
    "{\"major\":\"1\",\"minor\":\"28\",\"gitVersion\":\"v1.28.5+argocd-agent\","                   \
    "\"platform\":\"linux/amd64\"}"
#define SUCCESS "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\"}"

typedef struct {
    ab_gopeer_call call; /* first */
    char *method, *target;
    char type[64]; /* of the body */
    ab_buf body;
    ab_resource_map map;
} request;

static void answer_json(request *r, ab_str body)
{
    ab_buf_put(&r->call.out, body);
    ab_gopeer_call_answer(
        &r->call, 200, (ab_http_field){AB_STR("content-type"), AB_STR("application/json")}, true);
}

/* ----- its response ----- */

static void refuse_as_told(request *r, int status)
{
    char why[128];
    snprintf(why, sizeof(why), "the argocd-agent refused it with status %d and gives no reason",
             status);
    ab_gopeer_call_refuse(&r->call, status, why);
}

static void on_response(ab_gopeer_call *call, ab_str data)
{
    request *r = (request *)call;
    ab_error err = {0};
    int status = 0;
    if (call->answered)
        return;
    ab_err e = ab_gopeer_wire_read_response(data, &status, &call->out, &err);
    if (e != AB_ERR_OK)
        ab_gopeer_call_refuse(call, 502, "the response of the argocd-agent cannot be read");
    else if (status != 200)
        refuse_as_told(r, status);
    else
        answer_json(r, call->out.len == 0 ? AB_STR(SUCCESS) : AB_STR(""));
}

/* ----- the request ----- */

static ab_err ask(request *r, ab_error *err)
{
    ab_str method = ab_str_of(r->method);
    /* Its agent reads DeleteOptions in any case. */
    bool empty = r->body.len == 0 && r->map.verb == AB_RESOURCE_DELETE;
    ab_type type = AB_TYPE_HTTP_GET;
    ab_buf data = ab_buf_secret_up_to(2u * AB_RESOURCE_BODY_MAX);
    ab_err e = ab_type_parse(method.ptr, method.len, &type) ? ab_gopeer_call_name(&r->call)
                                                            : AB_ERR_INVALID;
    if (e == AB_ERR_OK)
        e = ab_gopeer_wire_put_request(r->call.id, method, &r->map,
                                       empty ? AB_STR("{}") : ab_buf_str(&r->body), &data, err);
    if (e == AB_ERR_OK)
        e = ab_gopeer_call_ask(&r->call, AB_TARGET_RESOURCE, type, ab_buf_str(&data));
    ab_buf_wipe(&data);
    return e;
}

static ab_err check(request *r, int *status, ab_error *err)
{
    *status = 400;
    ab_err e = ab_resource_map_read(ab_str_of(r->method), ab_str_of(r->target), &r->map, err);
    if (e == AB_ERR_OK)
        e = ab_gopeer_wire_check(&r->map, status, err);
    if (e != AB_ERR_OK || r->map.verb != AB_RESOURCE_PATCH ||
        ab_str_starts(ab_str_of(r->type), MERGE))
        return e;
    *status = 415;
    return ab_fail(err, AB_ERR_UNSUPPORTED,
                   "patches other than " MERGE " are not served: this agent is an argocd-agent");
}

static void begin(request *r)
{
    ab_error err = {0};
    int status = 0;
    if (strcmp(r->target, "/version") == 0) {
        answer_json(r, AB_STR(VERSION));
        return;
    }
    if (check(r, &status, &err) != AB_ERR_OK) {
        ab_gopeer_call_refuse(&r->call, status, err.text);
        return;
    }
    ab_err e = ask(r, &err);
    if (e == AB_ERR_INVALID)
        ab_gopeer_call_refuse(&r->call, 400, err.text);
    else if (e == AB_ERR_FULL)
        ab_gopeer_call_refuse(&r->call, 429, NULL);
    else if (e != AB_ERR_OK)
        ab_gopeer_call_refuse(&r->call, 503, ab_err_text(e));
}

/* ----- the stream ----- */

static void on_data(void *arg, ab_str bytes)
{
    request *r = arg;
    ab_live_stream_consumed(r->call.stream, bytes.len);
    ab_buf_put(&r->body, bytes);
    if (ab_buf_status(&r->body) != AB_ERR_OK)
        ab_gopeer_call_refuse(&r->call, 413, "the body is longer than 3 MiB");
}

static void on_end(void *arg)
{
    request *r = arg;
    if (!r->call.answered)
        begin(r);
}

static void on_room(void *arg)
{
    request *r = arg;
    ab_gopeer_call_flush(&r->call);
}

static void free_request(request *r)
{
    ab_gopeer_call_fini(&r->call);
    ab_buf_wipe(&r->body);
    free(r->method);
    free(r->target);
    free(r);
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    (void)code, (void)err;
    free_request(arg);
}

static const ab_live_handler handler = {
    .on_data = on_data, .on_end = on_end, .on_room = on_room, .on_over = on_over};

static bool is_log(const ab_resource_map *m)
{
    return m->kind == AB_RESOURCE_OBJECTS && m->verb == AB_RESOURCE_GET &&
           ab_resource_map_is_core(m, "pods") && ab_str_is(m->subresource, "log");
}

static bool is_terminal(const ab_resource_map *m)
{
    return m->verb == AB_RESOURCE_CONNECT && ab_resource_map_is_core(m, "pods") &&
           ab_str_is(m->subresource, "exec");
}

/* It would be made with the agent's own rights, which are more. */
static bool is_impersonated(const ab_live_request *from)
{
    for (size_t i = 0; i < from->count; i++)
        if (ab_resource_fields_is_impersonation(from->fields[i].name))
            return true;
    return false;
}

/* @return false: it is none of those that have a side call */
static bool serve_by_side(void *agent, ab_live_stream *s, const ab_live_request *from)
{
    ab_resource_map map;
    if (ab_resource_map_read(from->method, from->path, &map, NULL) != AB_ERR_OK)
        return false;
    bool terminal = is_terminal(&map) && ab_str_is(from->service, AB_RESOURCE_EXEC_SERVICE);
    if (terminal)
        ab_gopeer_terminal_serve(agent, s, from, &map);
    else if (is_log(&map))
        ab_gopeer_logs_serve(agent, s, &map);
    return terminal || is_log(&map);
}

void ab_gopeer_resource_serve(void *arg, ab_live_stream *s, const ab_live_request *from)
{
    bool impersonated = is_impersonated(from);
    if (!impersonated && serve_by_side(arg, s, from))
        return;
    request *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return; /* what is not served is refused */
    ab_gopeer_call_init(&r->call, arg, s, ANSWER_MAX);
    r->call.on_response = on_response;
    r->method = ab_str_dup(from->method);
    r->target = ab_str_dup(from->path);
    ab_buf_init_secret(&r->body, AB_RESOURCE_BODY_MAX);
    snprintf(r->type, sizeof(r->type), "%.*s",
             AB_STR_ARG(ab_http_field_find(from->fields, from->count, "content-type")));
    if (r->method == NULL || r->target == NULL) {
        free_request(r);
        return;
    }
    ab_live_stream_serve(s, &handler, r);
    if (impersonated)
        ab_gopeer_call_refuse(&r->call, 403,
                              "nobody can be impersonated: this agent is an argocd-agent");
    else if (ab_str_is(from->service, AB_RESOURCE_EXEC_SERVICE))
        begin(r); /* a terminal: its stream does not end before it is answered */
}
