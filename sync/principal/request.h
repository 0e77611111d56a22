/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that go to an agent, and their answers.
 */
#pragma once

#include "sync/principal/state.h"

/* A request that stands in the hub's object: .operation or the refresh annotation, and the id we
 * gave it. */
struct request {
    bool asked;
    ab_digest content;        /* of what is asked */
    char id[40];              /* "" until the object has carried one for this very content */
    char answered[40];        /* the last one that the agent answered */
    char answered_before[40]; /* and the one before: what is seen may be older than what was read */
    ab_version answered_at;   /* version of that answer */
    bool refused;             /* so the answer said */
};

/* All that one object asks for. */
struct requests {
    struct request operation, refresh, terminate;
};

/* Annotations that give new requests their id; "" where none is new. */
#define AB_REQUEST_ID_MAX (36 + 1 + AB_DIGEST_HEX)
struct request_ids {
    char operation[AB_REQUEST_ID_MAX];
    char refresh[AB_REQUEST_ID_MAX];
};

/* Which requests need stand no longer. */
struct finished {
    bool operation, refresh;
};

/** What the Application asks for; borrowed until ab_principal_note_requests. Never NULL. */
const struct requests *ab_principal_requests(const ab_principal_app *app);
/** Learn what the Application asks for. */
void ab_principal_note_requests(ab_principal_app *app, const ab_object *hub);
/** It asks for nothing, and nothing that was answered is remembered. */
void ab_principal_forget_requests(ab_principal_app *app);
/** Learn what the object asks for. */
void ab_requests_note(struct requests *r, const ab_object *hub);
/** The object was written so: what it does not ask for any more is another request when it is asked
 * for again. */
void ab_requests_note_written(struct requests *r, const ab_object *hub);
/** Is anything asked for? */
bool ab_requests_are_any(const struct requests *r);
/** Is command `id` one of those that are asked for and not answered? */
bool ab_requests_ask_for(const struct requests *r, ab_str id);
/** Does one have no id yet? */
bool ab_requests_need_ids(const struct requests *r);
/** Ids for those that have none. @return IO (no randomness), NOMEM */
AB_MUST_USE ab_err ab_requests_make_ids(const struct requests *r, const ab_object *hub,
                                        struct request_ids *out);
/** Send those that have an id and are not answered. The peer's writer must be ready. */
void ab_requests_send(const struct requests *r, struct peer *peer, ab_str key,
                      const ab_object *hub);
/** Of these the terminate alone. */
void ab_requests_send_terminate(const struct requests *r, struct peer *peer, ab_str key,
                                const ab_object *hub);
/** Is a terminate asked for that the peer's log does not have? Its writer must be ready. */
bool ab_requests_is_terminate_unsent(const struct requests *r, const struct peer *peer);
/** Command `id` was answered in the event of this version. @return the request; NULL when it stands
 * no longer */
struct request *ab_requests_answered(struct requests *r, ab_str id, ab_version at);
/** Those that were answered and stand still are to be sent again. @return true when there are any
 */
bool ab_requests_forget_answers(struct requests *r);
/** What the agent's report of this version says is executed, and taken up by Argo CD there. */
struct finished ab_requests_finished(const struct requests *r, ab_version version, ab_spanv report);
/**
 * The agent has answered command `id`: end it. The writer must be ready.
 * @param key       of the object that it is about
 * @param delivery  acknowledged when that is safe, unless an error is returned; may be NULL
 */
AB_MUST_USE ab_err ab_principal_end_command(struct peer *peer, ab_str key, ab_str id,
                                            void *delivery);
