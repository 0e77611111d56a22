/* SPDX-License-Identifier: Apache-2.0
 *
 * Which status an Application of the hub shows, and how new the object is that shows it.
 */
#include "sync/principal/app/app_priv.h"

#include "schema/attributes.h"

#include <stdlib.h>

void ab_principal_app_forget_newest(ab_principal_app *app)
{
    free(app->newest);
    app->newest = NULL;
}

/* The object as it was read or written: what is written next must find this resourceVersion. */
void ab_principal_app_note_newest(ab_principal_app *app, const ab_object *object)
{
    ab_principal_app_forget_newest(app);
    app->outdated = false;
    /* Out of memory, the one that was shown last makes the write be refused, and read again. */
    if (app->version == NULL || !ab_str_is(ab_object_version(object), app->version))
        app->newest = ab_str_dup(ab_object_version(object));
}

ab_str ab_principal_app_newest(const ab_principal_app *app)
{
    return ab_str_of(app->newest != NULL ? app->newest : app->version);
}

/* A stamp from before there were moves names no agent. @return false when there is no stamp of the
 * same agent */
static bool parse_stamp(const ab_principal_app *app, ab_str text, ab_stamp *out)
{
    return ab_stamp_parse(text, out) &&
           (out->agent.ptr == NULL ? !app->principal->env.destination_mapping
                                   : ab_str_is(out->agent, app->agent));
}

/* What is seen may be older than what we wrote last. */
void ab_principal_app_note_status(ab_principal_app *app, const ab_object *object)
{
    ab_stamp stamp;
    bool same = app->uid != NULL && ab_str_is(ab_object_uid(object), app->uid);
    if (!same) {
        app->status_version = (ab_version){0};
        app->status_hash = (ab_digest){0};
    }
    if (!parse_stamp(app, ab_object_annotation(object, AB_ANN_STATUS_VERSION), &stamp) ||
        ab_version_cmp(stamp.version, app->status_version) < 0)
        return;
    app->status_version = stamp.version;
    app->status_hash = stamp.hash;
}
