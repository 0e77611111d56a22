/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests that users leave on an object: .operation (sync), the refresh annotation, a phase set to
 * Terminating. A request gets an id that is kept on the object, so that it is one command however
 * often it is looked at, and is sent until the agent has answered.
 */
#include "sync/principal/principal_priv.h"

#include "schema/attributes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The id in "<uuid>:<digest of the request>"; it counts only for that very request. @return absent
 * when it is of another, or there is none */
static ab_str id_for(const ab_digest *content, ab_str text)
{
    ab_digest then;
    bool formed = text.len == 36 + 1 + AB_DIGEST_HEX - 1 && text.ptr[36] == ':';
    if (!formed || ab_digest_parse((ab_str){text.ptr + 37, text.len - 37}, &then) != AB_ERR_OK ||
        !ab_digest_eq(content, &then))
        return AB_STR_NONE;
    return (ab_str){text.ptr, 36};
}

/* The controller of an ApplicationSet takes off what its template does not have, and would do so
 * with each further id: a request that stands keeps the one that it had. */
static void note_id(struct request *r, ab_spanv what, ab_str text)
{
    struct request before = *r;
    r->asked = ab_span_present(what);
    r->content = (ab_digest){0};
    r->id[0] = '\0';
    if (!r->asked || ab_span_digest(what, &r->content) != AB_ERR_OK)
        return;
    bool stands = before.asked && ab_digest_eq(&before.content, &r->content);
    ab_str id = id_for(&r->content, text);
    if (id.len == 0 && text.len == 0 && stands)
        id = ab_str_of(before.id);
    snprintf(r->id, sizeof(r->id), "%.*s", AB_STR_ARG(id));
}

/* A terminate is about one run of an operation: its id follows from the object and the start of
 * that run. */
static void note_terminate(struct request *r, const ab_object *hub)
{
    ab_spanv state = ab_span_get(ab_object_field(hub, "status"), "operationState");
    ab_digest digest;
    char text[512], hex[AB_DIGEST_HEX];
    r->asked = ab_span_is(ab_span_get(state, "phase"), "Terminating");
    r->id[0] = '\0';
    if (!r->asked)
        return;
    int n = snprintf(text, sizeof(text), "terminate %.*s %.*s", AB_STR_ARG(ab_object_uid(hub)),
                     AB_STR_ARG(ab_span_raw(ab_span_get(state, "startedAt"))));
    if (n < 0 || (size_t)n >= sizeof(text) ||
        ab_digest_of((ab_str){text, (size_t)n}, &digest) != AB_ERR_OK)
        return;
    ab_digest_format(&digest, hex);
    snprintf(r->id, sizeof(r->id), "%s", hex);
}

void ab_requests_note(struct requests *r, const ab_object *hub)
{
    note_id(&r->operation, ab_object_field(hub, "operation"),
            ab_object_annotation(hub, AB_ANN_OPERATION_ID));
    note_id(&r->refresh, ab_span_get(ab_object_meta(hub, "annotations"), AB_ANN_REFRESH),
            ab_object_annotation(hub, AB_ANN_REFRESH_ID));
    note_terminate(&r->terminate, hub);
}

void ab_requests_note_written(struct requests *r, const ab_object *hub)
{
    if (!ab_span_present(ab_object_field(hub, "operation")))
        r->operation.content = (ab_digest){0};
    if (!ab_span_present(ab_span_get(ab_object_meta(hub, "annotations"), AB_ANN_REFRESH)))
        r->refresh.content = (ab_digest){0};
}

bool ab_requests_are_any(const struct requests *r)
{
    return r->operation.asked || r->refresh.asked || r->terminate.asked;
}

bool ab_requests_ask_for(const struct requests *r, ab_str id)
{
    const struct request *all[] = {&r->operation, &r->refresh, &r->terminate};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i]->asked && ab_str_is(id, all[i]->id) && !ab_str_is(id, all[i]->answered))
            return true;
    return false;
}

/* --- of an Application --- */

const struct requests *ab_principal_requests(const ab_principal_app *app)
{
    static const struct requests none;
    return app->requests == NULL ? &none : app->requests;
}

void ab_principal_forget_requests(ab_principal_app *app)
{
    free(app->requests);
    app->requests = NULL;
}

static bool is_none(const struct requests *r)
{
    const struct request *all[] = {&r->operation, &r->refresh, &r->terminate};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i]->asked || all[i]->answered[0] != '\0')
            return false;
    return true;
}

void ab_principal_note_requests(ab_principal_app *app, const ab_object *hub)
{
    struct requests now = *ab_principal_requests(app);
    ab_requests_note(&now, hub);
    if (is_none(&now)) {
        ab_principal_forget_requests(app);
        return;
    }
    if (app->requests == NULL)
        app->requests = malloc(sizeof(now));
    if (app->requests != NULL)
        *app->requests = now;
    else
        AB_ERROR(app->principal->env.log, SYNC, "out of memory", AB_KV("object", app->key));
}

/* --- ids --- */

static ab_err make_id(ab_spanv what, char out[AB_REQUEST_ID_MAX])
{
    char uuid[37], hex[AB_DIGEST_HEX];
    ab_digest digest;
    ab_err e = ab_uuid(uuid);
    if (e == AB_ERR_OK)
        e = ab_span_digest(what, &digest);
    if (e != AB_ERR_OK)
        return e;
    ab_digest_format(&digest, hex);
    snprintf(out, AB_REQUEST_ID_MAX, "%s:%s", uuid, hex);
    return AB_ERR_OK;
}

static bool needs_id(const struct request *r)
{
    return r->asked && r->id[0] == '\0';
}

bool ab_requests_need_ids(const struct requests *r)
{
    return needs_id(&r->operation) || needs_id(&r->refresh);
}

ab_err ab_requests_make_ids(const struct requests *r, const ab_object *hub, struct request_ids *out)
{
    ab_err e = AB_ERR_OK;
    *out = (struct request_ids){0};
    if (needs_id(&r->operation))
        e = make_id(ab_object_field(hub, "operation"), out->operation);
    if (e == AB_ERR_OK && needs_id(&r->refresh))
        e = make_id(ab_span_get(ab_object_meta(hub, "annotations"), AB_ANN_REFRESH), out->refresh);
    return e;
}

/* Is it to be sent, unless the log has it? */
static bool is_unanswered(const struct request *r)
{
    return r->asked && r->id[0] != '\0' && strcmp(r->id, r->answered) != 0 &&
           strcmp(r->id, r->answered_before) != 0;
}

static void send_request(struct peer *peer, ab_str key, const struct request *r, ab_type type,
                         const ab_object *hub)
{
    const ab_principal *p = peer->principal;
    char subject[AB_OBJECT_KEY_MAX];
    if (!is_unanswered(r))
        return;
    ab_event_draft draft = {.data = ab_span_raw(ab_object_json(hub))};
    ab_principal_address(p, key, type, &draft, subject);
    ab_event_set_text(&draft, AB_CE_PRINCIPALUID, p->env.uid);
    ab_err e = ab_writer_command(peer->writer, ab_str_of(r->id), key, &draft);
    if (e != AB_ERR_OK)
        AB_ERROR(p->env.log, SYNC, "cannot queue a command", AB_KV("object", key),
                 AB_KV("why", ab_err_text(e)));
    ab_principal_wake(peer);
}

void ab_requests_send(const struct requests *r, struct peer *peer, ab_str key, const ab_object *hub)
{
    send_request(peer, key, &r->operation, AB_TYPE_SET_OPERATION, hub);
    ab_requests_send_terminate(r, peer, key, hub);
    send_request(peer, key, &r->refresh, AB_TYPE_REFRESH, hub);
}

void ab_requests_send_terminate(const struct requests *r, struct peer *peer, ab_str key,
                                const ab_object *hub)
{
    send_request(peer, key, &r->terminate, AB_TYPE_TERMINATE_OPERATION, hub);
}

bool ab_requests_is_terminate_unsent(const struct requests *r, const struct peer *peer)
{
    char command[sizeof(AB_KEY_COMMAND) + sizeof(r->terminate.id)];
    snprintf(command, sizeof(command), AB_KEY_COMMAND "%s", r->terminate.id);
    return is_unanswered(&r->terminate) && !ab_writer_has_key(peer->writer, ab_str_of(command));
}

/* --- answers and ends --- */

struct request *ab_requests_answered(struct requests *r, ab_str id, ab_version at)
{
    struct request *all[] = {&r->operation, &r->refresh, &r->terminate};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (!ab_str_is(id, all[i]->id))
            continue;
        if (strcmp(all[i]->answered, all[i]->id) != 0)
            memcpy(all[i]->answered_before, all[i]->answered, sizeof(all[i]->answered));
        snprintf(all[i]->answered, sizeof(all[i]->answered), "%s", all[i]->id);
        all[i]->answered_at = at;
        return all[i];
    }
    return NULL;
}

bool ab_requests_forget_answers(struct requests *r)
{
    struct request *all[] = {&r->operation, &r->refresh, &r->terminate};
    bool any = false;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (!all[i]->asked || all[i]->id[0] == '\0' || strcmp(all[i]->id, all[i]->answered) != 0)
            continue;
        all[i]->answered[0] = all[i]->answered_before[0] = '\0';
        any = true;
    }
    return any;
}

/* "<epoch>.<version>/<id>" ends with this id. */
static bool records(ab_spanv record, const char *id)
{
    ab_str text = ab_span_plain(record);
    size_t len = strlen(id);
    return len > 0 && text.len > len && text.ptr[text.len - len - 1] == '/' &&
           memcmp(text.ptr + text.len - len, id, len) == 0;
}

/* The report of this version is of after the request: the object says so, or, when it was made
 * again since, the answer came before it. */
static bool is_behind(const struct request *r, ab_version version, ab_spanv record)
{
    bool answered = r->id[0] != '\0' && strcmp(r->id, r->answered) == 0;
    return r->asked &&
           (records(record, r->id) || (answered && ab_version_cmp(version, r->answered_at) > 0));
}

static ab_spanv annotation(ab_spanv report, const char *name)
{
    return ab_span_path(report, "metadata", "annotations", name, NULL);
}

struct finished ab_requests_finished(const struct requests *r, ab_version version, ab_spanv report)
{
    return (struct finished){
        .operation = is_behind(&r->operation, version, annotation(report, AB_ANN_LAST_OPERATION)) &&
                     !ab_span_present(ab_span_get(report, "operation")),
        .refresh = is_behind(&r->refresh, version, annotation(report, AB_ANN_LAST_REFRESH)) &&
                   !ab_span_present(annotation(report, AB_ANN_REFRESH)),
    };
}

ab_err ab_principal_end_command(struct peer *peer, ab_str key, ab_str id, void *delivery)
{
    char subject[AB_OBJECT_KEY_MAX];
    char command[sizeof(AB_KEY_COMMAND) + AB_EVENT_ATTR_NAME_MAX];
    snprintf(command, sizeof(command), AB_KEY_COMMAND "%.*s", AB_STR_ARG(id));
    ab_event_draft draft = {0};
    ab_principal_address(peer->principal, key, AB_TYPE_SET_OPERATION, &draft, subject);
    /* Also when our log does not have it: an answer that came again stays in the agent's log until
     * it hears of the end. */
    ab_err e = ab_writer_end_anyway(peer->writer, ab_str_of(command), key, &draft, delivery);
    ab_principal_wake(peer);
    return e;
}
