/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/principal/principal_priv.h"

#include "schema/attributes.h"
#include "sync/kind/kind.h"
#include "sync/principal/mirror/owner.h"

#include <stdio.h>
#include <stdlib.h>

static bool is_served(const ab_principal *p, const ab_object *o)
{
    ab_str ns = ab_object_namespace(o);
    return !p->env.destination_mapping || ab_str_is(ns, p->env.namespace) ||
           (p->env.namespaces != NULL && ab_patterns_match(p->env.namespaces, ns));
}

ab_str ab_principal_route(const ab_principal *p, const ab_object *hub)
{
    if (ab_mirror_is_one(hub) || !ab_kind_is_synchronised(hub) || !is_served(p, hub))
        return AB_STR_NONE;
    if (!p->env.destination_mapping)
        return ab_object_namespace(hub);
    ab_str name =
        ab_span_plain(ab_span_path(ab_object_field(hub, "spec"), "destination", "name", NULL));
    return name.len == 0 || ab_str_is(name, AB_NAME_LOCAL_CLUSTER) ? AB_STR_NONE : name;
}

/* What the former agent said and is asked for means nothing any more. */
static void forget_agent(ab_principal_app *app)
{
    ab_reconcile_abandon(&app->record);
    ab_principal_defer(app, DEFERRED_BY_AGENT, false);
    ab_principal_defer(app, DEFERRED_UNSENDABLE, false);
    app->peer = NULL;
    app->status_version = (ab_version){0};
    app->status_hash = (ab_digest){0};
    ab_principal_forget_requests(app);
    app->error_due = app->error != NULL;
    free(app->error);
    app->error = NULL;
    app->error_ours = false;
}

/* An agent that may have the Application still, although it is another's. */
struct former {
    ab_link in_app;
    struct agent_records *records;
};

bool ab_principal_is_moving(const ab_principal_app *app)
{
    return ab_link_is_in_use(&app->formers);
}

ab_err ab_principal_note_former(ab_principal_app *app, const struct agent_records *of)
{
    for (ab_list_iter i = ab_list_first(&app->formers); i.link != NULL; ab_list_next(&i))
        if (AB_LINK_OF(i.link, struct former, in_app)->records == of)
            return AB_ERR_OK;
    struct former *f = calloc(1, sizeof(*f));
    if (f == NULL)
        return AB_ERR_NOMEM;
    ab_link_init(&f->in_app);
    f->records = ab_agent_records_use(app->principal, ab_str_of(of->name));
    ab_list_append(&app->formers, &f->in_app);
    return AB_ERR_OK;
}

const struct agent_records *ab_principal_former(ab_link *link)
{
    return AB_LINK_OF(link, struct former, in_app)->records;
}

struct agent_records *ab_principal_pop_former(ab_principal_app *app)
{
    ab_link *l = ab_list_pop(&app->formers);
    if (l == NULL)
        return NULL;
    struct former *f = AB_LINK_OF(l, struct former, in_app);
    struct agent_records *r = f->records;
    free(f);
    return r;
}

ab_err ab_principal_assign(ab_principal_app *app, ab_str agent)
{
    struct agent_records *former = app->records;
    if (former != NULL && ab_str_is(agent, former->name))
        return AB_ERR_OK;
    struct agent_records *r = ab_agent_records_use(app->principal, agent);
    if (r == NULL)
        return AB_ERR_NOMEM;
    if (former != NULL && ab_principal_note_former(app, former) != AB_ERR_OK) {
        ab_agent_records_leave(r);
        return AB_ERR_NOMEM;
    }
    if (former != NULL) {
        forget_agent(app);
        ab_app_counts_set(&former->shown, &app->shown, NULL);
    }
    ab_list_append(&r->apps, &app->in_records);
    app->records = r;
    app->agent = r->name;
    app->peer = r->peer;
    ab_agent_records_leave(former);
    return AB_ERR_OK;
}

void ab_principal_park(ab_principal_app *app)
{
    forget_agent(app);
    app->requeued = app->exists;
    ab_principal_finish_move(app);
}

/* --- moves --- */

static void end_command_of(struct peer *peer, const ab_principal_app *app, const struct request *r)
{
    char key[sizeof(AB_KEY_COMMAND) + sizeof(r->id)];
    snprintf(key, sizeof(key), AB_KEY_COMMAND "%s", r->id);
    if (r->id[0] == '\0' || !ab_writer_has_key(peer->writer, ab_str_of(key)))
        return;
    if (ab_principal_end_command(peer, ab_str_of(app->key), ab_str_of(r->id), NULL) != AB_ERR_OK)
        AB_ERROR(app->principal->env.log, SYNC, "out of memory");
}

static void leave_agent(struct peer *peer, const ab_principal_app *app)
{
    if (app->exists) /* else it is swept, once it is proved to be gone */
        ab_principal_end(peer, ab_str_of(app->key), app->peer == NULL);
    const struct requests *r = ab_principal_requests(app);
    end_command_of(peer, app, &r->operation);
    end_command_of(peer, app, &r->refresh);
    end_command_of(peer, app, &r->terminate);
}

void ab_principal_finish_move(ab_principal_app *app)
{
    bool has_assigned = app->exists && app->peer != NULL;
    if (!ab_principal_is_moving(app) ||
        (has_assigned && !(ab_principal_is_open(app) &&
                           ab_writer_has(app->peer->writer, ab_str_of(app->key), &app->desired))))
        return;
    for (struct agent_records *r = ab_principal_pop_former(app); r != NULL;
         r = ab_principal_pop_former(app)) {
        /* One whose writer is not ready now is swept when it is. */
        if (r->peer != NULL && ab_principal_takes_state(r->peer) &&
            (!has_assigned || r->peer != app->peer))
            leave_agent(r->peer, app);
        ab_agent_records_leave(r);
    }
}
