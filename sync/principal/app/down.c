/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/principal/app/app_priv.h"

#include "sync/principal/deferral.h"
#include "sync/principal/event.h"
#include "sync/principal/lookup.h"
#include "sync/principal/route.h"

#include <stdlib.h>

/* What kept the former content from being sent need not keep this one. */
static void forget_own_error(ab_principal_app *app)
{
    ab_principal_defer(app, DEFERRED_UNSENDABLE, false);
    if (!app->error_ours)
        return;
    free(app->error);
    app->error = NULL;
    app->error_ours = false;
    app->error_due = true;
}

static ab_err desired_of(const ab_object *hub, ab_buf *text, ab_digest *digest)
{
    ab_err e = ab_app_desired(hub, text);
    return e == AB_ERR_OK ? ab_digest_of(ab_buf_str(text), digest) : e;
}

bool ab_principal_app_is_as_watched(const ab_principal_app *app, const ab_object *hub)
{
    ab_digest digest = {{0}};
    /* The same may be another text by now, in a file: the store tells nothing of that. */
    if (ab_str_is(ab_object_version(hub), app->version))
        return true;
    ab_buf desired = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_err e = desired_of(hub, &desired, &digest);
    ab_buf_fini(&desired);
    return e == AB_ERR_OK && ab_digest_eq(&digest, &app->desired);
}

void ab_principal_app_state(ab_principal_app *app, const ab_object *hub)
{
    ab_buf desired;
    ab_digest before = app->desired;
    /* A create may adopt what stands at the agent; until a status came back nobody has done so. */
    bool create = ab_version_is_none(app->status_version);
    ab_buf_init(&desired, AB_SPAN_SIZE_MAX);
    ab_err e = desired_of(hub, &desired, &app->desired);
    if (e == AB_ERR_OK && !ab_digest_eq(&before, &app->desired))
        forget_own_error(app);
    if (e == AB_ERR_OK && ab_principal_is_open(app) &&
        ab_writer_has(app->peer->writer, ab_str_of(app->key), &app->desired))
        ab_principal_confirm_owned(app->peer, ab_str_of(app->key));
    else if (e == AB_ERR_OK && ab_principal_is_open(app))
        ab_principal_queue(app->peer, hub, create ? AB_TYPE_CREATE : AB_TYPE_SPEC_UPDATE,
                           ab_buf_str(&desired), &app->desired);
    ab_buf_fini(&desired);
    ab_principal_finish_move(app);
}
