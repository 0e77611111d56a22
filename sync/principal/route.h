/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose an Application is.
 */
#pragma once

#include "sync/principal/state.h"

/** The agent that it belongs to by what it says now; absent: nobody's. */
ab_str ab_principal_route(const ab_principal *p, const ab_object *hub);
/** It belongs to this agent now. @return NOMEM */
AB_MUST_USE ab_err ab_principal_assign(ab_principal_app *app, ab_str agent);
/** This agent may have it still. @return NOMEM */
AB_MUST_USE ab_err ab_principal_note_former(ab_principal_app *app, const struct agent_records *of);
/** May other agents have it still? */
bool ab_principal_is_moving(const ab_principal_app *app);
/** That of one of app->formers. Borrowed. */
const struct agent_records *ab_principal_former(ab_link *link);
/** Forget one of these. @return it, to be left; NULL when there is none */
struct agent_records *ab_principal_pop_former(ab_principal_app *app);
/** Its agent is served no more. */
void ab_principal_park(ab_principal_app *app);
/** End what other agents still have of an Application, once the one whose it is has it queued. */
void ab_principal_finish_move(ab_principal_app *app);
