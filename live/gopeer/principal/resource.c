/* SPDX-License-Identifier: Apache-2.0
 *
 * A resource request of argocd-agent's principal: asked of the spoke, answered by one event. The
 * principal passes a body on only with status 200, and of discovery it asks for all groups at once,
 * the core group among them, which /apis does not have.
 */
#include "live/gopeer/principal/principal_priv.h"
#include "live/resource/service.h"

#include "base/json/span.h"

#include <stdio.h>
#include <stdlib.h>

/* It waits for 30 s. */
#define DEADLINE_MS 28000
#define ANSWER_MAX  (32u * 1024 * 1024)
#define CORE_GROUP                                                                                 \
    "{\"name\":\"\",\"versions\":[{\"groupVersion\":\"v1\",\"version\":\"v1\"}],"                  \
    "\"preferredVersion\":{\"groupVersion\":\"v1\",\"version\":\"v1\"}}"

typedef struct {
    ab_gopeer_principal *p;
    ab_live_stream *stream; /* NULL: not begun */
    char id[64];
    ab_gopeer_asked asked;
    size_t sent; /* of asked.body */
    int status;  /* 0: none came */
    bool responded;
    ab_buf answer;
} request;

static void free_request(request *r)
{
    ab_gopeer_principal_finish(r->p, r->id);
    ab_gopeer_wire_free_asked(&r->asked);
    ab_buf_wipe(&r->answer);
    free(r);
}

/* ----- the response ----- */

static void respond(request *r, int status, ab_str resource)
{
    if (r->responded)
        return;
    r->responded = true;
    ab_buf data = ab_buf_secret_up_to(2u * ANSWER_MAX);
    ab_gopeer_wire_put_response(r->id, status, resource, &data);
    if (ab_buf_status(&data) != AB_ERR_OK) { /* it is not text, or grows too long by escapes */
        ab_buf_clear(&data);
        ab_gopeer_wire_put_response(r->id, 500, AB_STR_NONE, &data);
    }
    ab_gopeer_principal_respond(r->p, AB_TARGET_RESOURCE, AB_TYPE_RESPONSE, r->id,
                                ab_buf_str(&data));
    ab_buf_wipe(&data);
}

static void put_groups(ab_spanv list, ab_buf *out)
{
    static const char *const groups[] = {"groups", NULL};
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_members(&w, list, groups);
    ab_spanw_key_array(&w, "groups");
    ab_spanw_raw(&w, AB_STR(CORE_GROUP));
    for (ab_spanv v = ab_span_first(ab_span_get(list, "groups")); ab_span_present(v);
         v = ab_span_next(v))
        ab_spanw_value(&w, v);
    ab_spanw_array_end(&w);
    ab_spanw_object_end(&w);
}

static void respond_groups(request *r)
{
    ab_span *doc = NULL;
    ab_buf list = ab_buf_up_to(ANSWER_MAX);
    if (ab_span_parse(ab_buf_str(&r->answer), &doc, NULL) == AB_ERR_OK)
        put_groups(ab_span_root(doc), &list);
    if (doc != NULL && ab_buf_status(&list) == AB_ERR_OK)
        respond(r, 200, ab_buf_str(&list));
    else
        respond(r, 502, AB_STR_NONE);
    ab_span_free(doc);
    ab_buf_fini(&list);
}

/* ----- the stream ----- */

static void on_answer(void *arg, int status, const ab_http_field *fields, size_t count)
{
    request *r = arg;
    (void)fields, (void)count;
    r->status = status;
}

static void on_data(void *arg, ab_str bytes)
{
    request *r = arg;
    ab_live_stream_consumed(r->stream, bytes.len);
    ab_buf_put(&r->answer, bytes);
}

static void on_end(void *arg)
{
    request *r = arg;
    bool good = r->status >= 200 && r->status < 300;
    if (r->status == 0)
        respond(r, 502, AB_STR_NONE);
    else if (!good)
        respond(r, r->status, AB_STR_NONE);
    else if (ab_buf_status(&r->answer) != AB_ERR_OK)
        respond(r, 413, AB_STR_NONE);
    else if (r->asked.is_groups)
        respond_groups(r);
    else
        respond(r, 200, ab_buf_str(&r->answer));
}

static int status_of(ab_err e)
{
    return e == AB_ERR_FULL ? 429 : e == AB_ERR_TIMEOUT ? 504 : e == AB_ERR_INVALID ? 400 : 503;
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    request *r = arg;
    (void)err;
    respond(r, code == AB_ERR_OK ? 502 : status_of(code), AB_STR_NONE);
    free_request(r);
}

static void send_body(request *r)
{
    if (ab_live_stream_send_rest(r->stream, ab_buf_str(&r->asked.body), &r->sent) == AB_ERR_OK)
        ab_live_stream_end(r->stream);
}

static void on_room(void *arg)
{
    send_body(arg);
}

static const ab_live_handler handler = {.on_answer = on_answer,
                                        .on_data = on_data,
                                        .on_end = on_end,
                                        .on_room = on_room,
                                        .on_over = on_over};

/* ----- the request ----- */

static ab_err ask(request *r)
{
    ab_error err = {0};
    bool patch = strcmp(r->asked.method, "PATCH") == 0;
    const ab_http_field fields[] = {
        {AB_STR("accept"), AB_STR("application/json")},
        {AB_STR("content-type"),
         patch ? AB_STR("application/merge-patch+json") : AB_STR("application/json")},
    };
    return ab_gopeer_principal_ask(r->p,
                                   &(ab_live_request){.service = AB_STR(AB_RESOURCE_SERVICE),
                                                      .method = ab_str_of(r->asked.method),
                                                      .path = ab_buf_str(&r->asked.target),
                                                      .fields = fields,
                                                      .count = 2,
                                                      .deadline_ms = DEADLINE_MS},
                                   &handler, r, &r->stream, &err);
}

void ab_gopeer_principal_take_resource(ab_gopeer_principal *p, const char *id, ab_str data)
{
    ab_error err = {0};
    request *r = calloc(1, sizeof(*r));
    if (r == NULL || ab_map_put(p->asked, ab_str_of(id), r, NULL) != AB_ERR_OK) {
        free(r);
        return; /* it is told by its deadline */
    }
    r->p = p;
    snprintf(r->id, sizeof(r->id), "%s", id);
    ab_buf_init_secret(&r->answer, ANSWER_MAX);
    ab_err e = ab_gopeer_wire_read_asked(data, &r->asked, &err);
    if (e != AB_ERR_OK)
        AB_DEBUG(p->env.log, LIVE, "cannot read a request of argocd-agent's principal",
                 AB_KV("error", err.text));
    int status = e == AB_ERR_OK ? 0 : 400;
    if (status == 0 && (e = ask(r)) != AB_ERR_OK)
        status = status_of(e);
    if (status == 0) {
        send_body(r);
        return;
    }
    respond(r, status, AB_STR_NONE);
    free_request(r);
}
