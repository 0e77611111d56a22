/* SPDX-License-Identifier: Apache-2.0
 *
 * A mirror, and what the sources of this folder do with it.
 */
#pragma once

#include "sync/principal/mirror/mirror.h"
#include "sync/principal/request.h"

/* What is known of a mirror's source. */
enum mirror_source { MIRROR_NONE, MIRROR_LIVE, MIRROR_ENDED };

/* What an effect is for. */
enum mirror_purpose {
    FOR_MIRROR,
    FOR_RELEASE, /* keeping that the agent's object is followed no more */
};

/* An object of an autonomous agent, and the object here for it. */
struct mirror {
    ab_record record; /* first */
    ab_principal *principal;
    const ab_kind *kind;
    const char *key;               /* the map's */
    struct agent_records *records; /* of the agent whose it is */
    const char *agent;             /* the records' name */
    ab_link in_records;
    bool unfinished;    /* counted in the records */
    ab_app_state shown; /* likewise, of an Application */

    bool recalled; /* what is kept of it is known: the next members say it */
    enum mirror_source source;
    ab_version version;
    ab_digest hash; /* of what was published, as the agent compares; none: not known */
    char *uid;      /* of the source */
    char *made;     /* uid of the object that exists here for it; NULL: not known */

    bool known; /* whether it is here is known */
    bool exists;
    bool deleting;
    bool is_mirror;  /* the object here says that it is the mirror of this agent */
    bool conflict;   /* the object here is somebody else's, or the name is another agent's */
    bool up_to_date; /* nothing is to be done about the object here */
    ab_version
        stamp;     /* that stands here, of what was not made for what is kept; none: there is none
                    */
    ab_digest hub; /* of the object here, and of its status */
    ab_digest hub_status;
    ab_digest applied; /* of what the store made of what was last written, for this source */
    ab_digest applied_status;
    struct requests requests;
    char *project;        /* of an Application: its project at the hub; NULL: not known */
    bool project_refused; /* that is not its agent's */
    char *error;          /* what the agent says is wrong with it, or why a request was refused */
    ab_digest error_hash; /* of the agent's event that reported it */
    bool error_ours;

    enum mirror_source next; /* what the source will be when it is saved */
    ab_digest next_hash;
    char *next_uid;
};

/* record.c: mirrors as records */
/** Made when it is not known. @return NULL when out of memory */
struct mirror *ab_mirror_for(ab_principal *p, ab_str key, ab_str agent);
/** It is this agent's from now on. @return NOMEM */
AB_MUST_USE ab_err ab_mirror_enlist(struct mirror *m, ab_str agent);
/** Learn what is kept of it, by its row. @return NOMEM */
AB_MUST_USE ab_err ab_mirror_recall(struct mirror *m, const ab_received_state *row);
/** Is it nothing any more but what is kept of it? It is forgotten then, and recalled if need be. */
bool ab_mirror_is_over(const struct mirror *m);
void ab_mirror_forget(struct mirror *m);
/** Is one more object of this agent mirrored? */
bool ab_mirror_has_room(const struct agent_records *r);
/** Its agent, when it is served and not known to be managed; NULL: the mirror is left alone. */
struct peer *ab_mirror_peer(const struct mirror *m);
/** Is its agent served, and managed? */
bool ab_mirror_is_of_managed(const struct mirror *m);
/** All that came of it is kept. */
bool ab_mirror_is_done(const struct mirror *m);
/** Its agent is managed now: what was its mirror is to become the hub's own object. */
bool ab_mirror_is_handed_over(const struct mirror *m);

/* name.c: whose the name of a mirrored project is */
/** May a project of `agent` be mirrored under this key? Not if a served agent with a longer name
 * could have a project of that name. True for other kinds. */
bool ab_mirror_may_have(const ab_principal *p, ab_str agent, ab_str key);
/** The same of this mirror. */
bool ab_mirror_has_name(const struct mirror *m);
/** Is the project of this name at the hub not the agent's of this Application? */
bool ab_mirror_is_project_refused(const struct mirror *m, ab_str name);
/** Is that what it was when this mirror was rendered? It may change before a write is answered. */
bool ab_mirror_is_project_judged(const struct mirror *m);
/** Whose the project under this key is may have changed; other kinds are ignored. */
void ab_mirror_project_changed(const ab_principal *p, ab_str key);
/** The mirror of an agent that is not served was deleted: who may have its name is asked for it. */
void ab_mirror_name_freed(const struct mirror *m);
/** An object was seen, or is not `here` any more. */
void ab_mirror_note_own_project(ab_principal *p, const ab_object *object, bool exists);

/* reconcile.c: reconcile the mirror with what was published */
/** No object exists here: make it. */
void ab_mirror_create(struct mirror *m);
/** The newest version that an object says it is of; none where its stamps are another agent's. */
ab_version ab_mirror_stamp(const struct mirror *m, const ab_object *hub);
/** Is its place another object's? That is counted, and said. */
void ab_mirror_set_conflict(struct mirror *m, bool conflict);
/** Keep that the agent's object is followed no more, and of it only the version. */
void ab_mirror_release(struct mirror *m);
/** Decide with the object in hand. */
void ab_mirror_decide(struct mirror *m, ab_object *hub);

/* up.c: what an autonomous agent says */
/** Take up the head. */
void ab_mirror_begin(struct mirror *m, ab_task *head);
/** What was published is kept: it is in effect. */
void ab_mirror_take_effect(struct mirror *m);
