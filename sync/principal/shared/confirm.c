/* SPDX-License-Identifier: Apache-2.0
 *
 * Whom a Secret is for its project says, but the store shows projects and Secrets each in an order
 * of its own. A new password must not go to an agent that the project named before, and names no
 * more. So whom a Secret goes to is decided after its project was read, and that after the Secret
 * was shown.
 */
#include "sync/principal/shared/shared_priv.h"

#include "sync/kind/kind.h"
#include "sync/principal/mirror/owner.h"

#include <string.h>

/* Of one that is known to exist; NULL: there is none to ask for. */
static struct shared *project_of(const struct shared *secret)
{
    if (secret->scope == NULL)
        return NULL;
    struct shared *s = ab_principal_shared_find(secret->principal, ab_str_of(secret->scope));
    return s == NULL || !s->exists ? NULL : s;
}

void ab_principal_shared_note_version(struct shared *s)
{
    s->noted = ++s->principal->notes;
}

void ab_principal_shared_note_reading(struct shared *s)
{
    s->reading = s->principal->notes;
}

bool ab_principal_shared_is_read_in_time(struct shared *s)
{
    const struct shared *project = project_of(s);
    if (project == NULL || project->noted <= s->reading)
        return true;
    ab_principal_shared_look_again(s, false);
    return false;
}

bool ab_principal_shared_is_confirmed(const struct shared *secret)
{
    const struct shared *project = project_of(secret);
    return secret->scope == NULL ||
           (project == NULL ? secret : project)->confirmed >= secret->noted;
}

void ab_principal_shared_seek_project(struct shared *secret)
{
    struct shared *project =
        ab_principal_shared_for(secret->principal, ab_str_of(secret->scope), secret->record.type);
    if (project == NULL) {
        ab_reconcile_fail(&secret->record, AB_ERR_NOMEM, NULL);
        return;
    }
    secret->unconfirmed = true;
    project->sought = !project->exists;
    ab_principal_shared_look_again(project, false);
}

static void release_secrets(struct shared *project)
{
    const ab_principal *p = project->principal;
    for (ab_map_iter i = ab_map_first(p->shared); i.entry != NULL; ab_map_next(&i)) {
        struct shared *s = i.value;
        if (!s->unconfirmed || s->scope == NULL || strcmp(s->scope, project->key) != 0)
            continue;
        s->unconfirmed = false;
        if (!project->exists)
            s->confirmed = project->reading;
        ab_principal_shared_look_again(s, true);
    }
}

void ab_principal_shared_confirm(struct shared *project)
{
    project->confirmed = project->reading;
    release_secrets(project);
}

/* One that is not to be shared is none. */
static bool is_shared(const ab_object *hub)
{
    return hub != NULL && !ab_object_deleting(hub) && !ab_mirror_is_one(hub) &&
           ab_kind_is_synchronised(hub);
}

void ab_principal_shared_note_sought(struct shared *project, const ab_object *hub)
{
    if (is_shared(hub)) {
        ab_reconcile_await_change(&project->record,
                                  "the watch does not show this project, which exists");
        return;
    }
    project->sought = false;
    release_secrets(project);
}
