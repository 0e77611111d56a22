/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests that users leave on an object: .operation (sync), the refresh annotation, a phase set to
 * Terminating. A request gets an id that is kept on the object, so that it is one command however
 * often it is looked at, and is sent until the agent has answered.
 */
#include "sync/principal_priv.h"

#include "schema/attributes.h"

#include <stdio.h>
#include <string.h>

/* The id is kept as "<uuid>:<digest of the request>"; it counts only for that very request. */
static void note_marked(struct request *r, ab_jsonv what, ab_str mark)
{
    ab_digest now, then;
    r->asked = ab_json_present(what);
    r->id[0] = '\0';
    if (!r->asked || mark.len != 36 + 1 + AB_DIGEST_HEX - 1 || mark.ptr[36] != ':' ||
        ab_json_digest(what, &now) != AB_ERR_OK ||
        ab_digest_parse((ab_str){mark.ptr + 37, mark.len - 37}, &then) != AB_ERR_OK ||
        !ab_digest_eq(&now, &then))
        return;
    snprintf(r->id, sizeof(r->id), "%.36s", mark.ptr);
}

/* A terminate is about one run of an operation: its id follows from the object and the start of
 * that run. */
static void note_terminate(struct request *r, const ab_object *hub)
{
    ab_jsonv state = ab_json_get(ab_object_field(hub, "status"), "operationState");
    ab_digest digest;
    char text[512], hex[AB_DIGEST_HEX];
    r->asked = ab_json_is(ab_json_get(state, "phase"), "Terminating");
    r->id[0] = '\0';
    if (!r->asked)
        return;
    int n = snprintf(text, sizeof(text), "terminate %.*s %.*s", AB_STR_ARG(ab_object_uid(hub)),
                     AB_STR_ARG(ab_json_raw(ab_json_get(state, "startedAt"))));
    if (n < 0 || (size_t)n >= sizeof(text) ||
        ab_digest_of((ab_str){text, (size_t)n}, &digest) != AB_ERR_OK)
        return;
    ab_digest_format(&digest, hex);
    snprintf(r->id, sizeof(r->id), "%s", hex);
}

void ab_principal_note_requests(ab_principal_app *app, const ab_object *hub)
{
    note_marked(&app->operation, ab_object_field(hub, "operation"),
                ab_object_annotation(hub, AB_ANN_OPERATION_ID));
    note_marked(&app->refresh, ab_json_get(ab_object_meta(hub, "annotations"), AB_ANN_REFRESH),
                ab_object_annotation(hub, AB_ANN_REFRESH_ID));
    note_terminate(&app->terminate, hub);
}

struct mark {
    char text[36 + 1 + AB_DIGEST_HEX];
};

static ab_err make_mark(ab_jsonv what, struct mark *out)
{
    char uuid[37], hex[AB_DIGEST_HEX];
    ab_digest digest;
    ab_err e = ab_uuid(uuid);
    if (e == AB_ERR_OK)
        e = ab_json_digest(what, &digest);
    if (e != AB_ERR_OK)
        return e;
    ab_digest_format(&digest, hex);
    snprintf(out->text, sizeof(out->text), "%s:%s", uuid, hex);
    return AB_ERR_OK;
}

static bool is_unmarked(const struct request *r)
{
    return r->asked && r->id[0] == '\0';
}

bool ab_principal_has_unmarked(const ab_principal_app *app)
{
    return !app->deleting && (is_unmarked(&app->operation) || is_unmarked(&app->refresh));
}

void ab_principal_mark_requests(ab_principal_app *app, const ab_object *hub)
{
    struct mark operation, refresh;
    ab_app_edit edit = {0};
    ab_err e = AB_ERR_OK;
    if (!ab_principal_has_unmarked(app))
        return;
    if (is_unmarked(&app->operation)) {
        e = make_mark(ab_object_field(hub, "operation"), &operation);
        edit.annotations[edit.annotation_count].name = AB_ANN_OPERATION_ID;
        edit.annotations[edit.annotation_count++].value = ab_str_of(operation.text);
    }
    if (e == AB_ERR_OK && is_unmarked(&app->refresh)) {
        e = make_mark(ab_json_get(ab_object_meta(hub, "annotations"), AB_ANN_REFRESH), &refresh);
        edit.annotations[edit.annotation_count].name = AB_ANN_REFRESH_ID;
        edit.annotations[edit.annotation_count++].value = ab_str_of(refresh.text);
    }
    if (e != AB_ERR_OK)
        ab_principal_fail(app, e, NULL);
    else
        ab_principal_apply(app, hub, &edit, PSTEP_MARK);
}

static void send_request(ab_principal_app *app, const ab_object *hub, const struct request *r,
                         ab_type type)
{
    char subject[AB_OBJECT_KEY_MAX];
    if (!r->asked || r->id[0] == '\0' || strcmp(r->id, r->answered) == 0)
        return;
    ab_event_draft draft = {.data = ab_json_raw(ab_object_json(hub))};
    ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(type));
    ab_principal_address(app->principal, ab_str_of(app->key), &draft, subject);
    ab_event_set_text(&draft, AB_CE_PRINCIPALUID, app->principal->env.uid);
    ab_err e = ab_writer_command(app->peer->writer, ab_str_of(r->id), ab_str_of(app->key), &draft);
    if (e != AB_ERR_OK)
        AB_ERROR(app->principal->env.log, SYNC, "cannot queue a command",
                 AB_KV("object", (const char *)app->key), AB_KV("why", ab_err_text(e)));
    app->principal->env.effects.wake(app->principal->env.effects.arg, app->peer->name);
}

void ab_principal_send_requests(ab_principal_app *app, const ab_object *hub)
{
    if (app->deleting || !ab_principal_is_open(app))
        return;
    send_request(app, hub, &app->operation, AB_TYPE_SET_OPERATION);
    send_request(app, hub, &app->terminate, AB_TYPE_TERMINATE_OPERATION);
    send_request(app, hub, &app->refresh, AB_TYPE_REFRESH);
}

ab_err ab_principal_end_command(struct peer *peer, ab_str key, ab_str id, void *delivery)
{
    const ab_principal_effects *fx = &peer->principal->env.effects;
    char subject[AB_OBJECT_KEY_MAX];
    char command[sizeof(AB_KEY_COMMAND) + AB_EVENT_ATTR_NAME_MAX];
    snprintf(command, sizeof(command), AB_KEY_COMMAND "%.*s", AB_STR_ARG(id));
    ab_event_draft draft = {0};
    ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(AB_TYPE_SET_OPERATION));
    ab_principal_address(peer->principal, key, &draft, subject);
    /* Also when our log does not have it: an answer that came again stays in the agent's log until
     * it hears of the end. */
    ab_err e = ab_writer_end_anyway(peer->writer, ab_str_of(command), key, &draft, delivery);
    fx->wake(fx->arg, peer->name);
    return e;
}
