/* SPDX-License-Identifier: Apache-2.0
 *
 * The world of pair.h with only the agent in it: the test speaks to it as a principal does, record
 * by record, and reads what it says. Each call lets everything happen that follows.
 */
#pragma once

#include "schema/catalogue.h"
#include "tests/unit/sync/world/pair.h"

/** Start the agent. */
void begin(void);

/**
 * A desired state under this key.
 * @param meta  more members of metadata, `rest` more of the object: JSON text that begins with a
 *              comma, or ""
 */
void desired(const char *key, ab_type type, const char *meta, const char *rest);
/** A changed desired state that names its uid. */
void desired_of(const char *key, const char *uid, const char *meta, const char *rest);
/** As desired state, for what is in the principal's own namespace. */
void remapped_desired(const char *key, ab_type type, const char *meta, const char *rest);
/** A desired state whose payload is this text. */
void payload(const char *key, bool remapped, const char *text);
/** The tombstone of this key. */
void end(const char *key);
/** The same, of the object with this uid, as argocd-agent's principal says it. */
void end_of(const char *key, const char *uid);
void remapped_end(const char *key);
/** A sync asked for: operation {"n":n} on the Application of this key. */
void ask_operation(const char *id, const char *key, bool remapped, int n);
/** The end of an operation asked for, of one that nothing is known of. */
void ask_terminate(const char *id, const char *key);
/** The principal ends a command. */
void end_command(const char *id, const char *key, bool remapped);
/** "<writerepoch>.<objversion>" of the last record; until the next. */
const char *last_version(void);
/** Let nothing happen until all that was sent since has been delivered, by settle. */
void hold(void);
void settle(void);

/** The newest event of this key that goes up; NULL when there is none. Borrowed. */
const ab_event *said(const char *key);
/** Does its payload have this text in it? */
bool said_with(const char *key, const char *text);
bool said_of_target(const char *key, ab_target target, bool remapped);
/** Events of the agent that were refused for this reason. */
int refused(const char *reason);

/** An object of the agent's store; NULL when it is not there. */
ab_object *at(const char *key);
/** Has it this JSON text as its member? NULL: is the member absent? */
bool has_field(const ab_object *o, const char *member, const char *json);
/** Put an object into the agent's store, by hand. */
void put(const char *key, const char *meta, const char *rest);
