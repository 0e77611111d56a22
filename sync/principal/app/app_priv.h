/* SPDX-License-Identifier: Apache-2.0
 *
 * What the sources of this folder do with an Application.
 */
#pragma once

#include "sync/principal/app/app.h"

/* What an effect is for. */
enum app_purpose {
    FOR_HEAD,       /* the head, or to look at the object */
    FOR_REQUEST_ID, /* writing a request's id */
    FOR_CLEAR,      /* writing the object without a finished request, or without finalizers */
};

/* status.c: which status an Application shows */
/** Learn which report the object's status is from, unless a newer one is known. */
void ab_principal_app_note_status(ab_principal_app *app, const ab_object *object);
/** The object as it was read or written: what is written next must find this resourceVersion. */
void ab_principal_app_note_newest(ab_principal_app *app, const ab_object *object);
/** It is the one that the store has shown last. */
void ab_principal_app_forget_newest(ab_principal_app *app);
/** The resourceVersion that the object has, as far as is known. */
ab_str ab_principal_app_newest(const ab_principal_app *app);

/* down.c: state that goes to the agent */
/** Is it to the agent what the store has shown? What was read may be newer; said, it would be said
 * before what the store shows next. */
bool ab_principal_app_is_as_watched(const ab_principal_app *app, const ab_object *hub);
/** Queue the object as it is now, if the log says something else. */
void ab_principal_app_state(ab_principal_app *app, const ab_object *hub);

/* up.c: what comes from the agent, and what the object in hand asks for */
/** Send what the object asks for, when the agent takes events. `may_write`: nothing else is under
 * way, so that new requests can be given their id. */
void ab_principal_app_ask(ab_principal_app *app, const ab_object *hub, bool may_write);
/** Deal with the head, as far as that is possible without the object; else read it. */
void ab_principal_app_work(ab_principal_app *app, ab_task *head);
/** The object is in hand, for the head task or to look at it. */
void ab_principal_app_with(ab_principal_app *app, ab_object *hub);
/** The object that the head task is about is gone. */
void ab_principal_app_without(ab_principal_app *app);
