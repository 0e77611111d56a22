/* SPDX-License-Identifier: Apache-2.0
 *
 * What agents cannot do with shared objects. A shared object has no status of ours that could show
 * it: it is counted, logged, and given to whoever asks why the object is not in effect.
 */
#include "sync/principal/shared/shared.h"

#include "schema/attributes.h"
#include "sync/feedback.h"
#include "sync/kind/kind.h"
#include "sync/principal/deferral.h"
#include "sync/principal/inbound.h"
#include "sync/principal/lookup.h"

#include <stdio.h>
#include <stdlib.h>

struct shared_error {
    char *message;
    ab_digest hash; /* of the agent's event */
};

/* Of one agent: it may invent as many keys as it likes. */
#define ERRORS_MAX 1000

/* The object that an event under "error/<key>" is about. */
static ab_str object_key(const ab_event *event)
{
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    if (!ab_str_starts(key, AB_KEY_ERROR))
        return AB_STR_NONE;
    return (ab_str){key.ptr + sizeof(AB_KEY_ERROR) - 1, key.len - (sizeof(AB_KEY_ERROR) - 1)};
}

bool ab_principal_shared_is_error(const ab_event *event)
{
    const ab_kind *kind = ab_kind_of_key(object_key(event));
    ab_str type = ab_event_attr(event, AB_CE_TYPE);
    bool ended = ab_event_data(event).ptr == NULL;
    return kind != NULL && kind->shared && (ended || ab_str_is(type, ab_type_name(AB_TYPE_ERROR)));
}

static void show_count(const struct peer *peer, const ab_kind *kind)
{
    double count = 0;
    const ab_label labels[] = {{"agent", ab_str_of(peer->name)}, {"kind", ab_str_of(kind->kind)}};
    for (ab_map_iter i = ab_map_first(peer->errors); i.entry != NULL; ab_map_next(&i))
        count += ab_kind_of_key(i.key) == kind;
    ab_metric_set(ab_metric_get(peer->principal->env.metrics, AB_METRIC_GAUGE,
                                "argobus_agent_errors",
                                "Shared objects that an agent cannot apply.", labels, 2),
                  count);
}

void ab_principal_shared_error_free(void *value)
{
    struct shared_error *e = value;
    if (e == NULL)
        return;
    free(e->message);
    free(e);
}

static char *message_of(const ab_event *event)
{
    char *text = ab_feedback_text(event, "message", "");
    if (text != NULL && text[0] != '\0')
        return text;
    free(text);
    return ab_str_dup(AB_STR("error at the agent"));
}

static struct shared_error *error_of(const ab_event *event)
{
    struct shared_error *e = calloc(1, sizeof(*e));
    if (e == NULL)
        return NULL;
    e->message = message_of(event);
    e->hash = ab_event_content_hash(event);
    return e;
}

/* What the principal calls the shared object that the agent calls `theirs`. @return false when that
 * is not a key */
static bool key_at_hub(const struct peer *peer, ab_str theirs, char key[AB_OBJECT_KEY_MAX])
{
    ab_str kind, ns, name;
    if (ab_object_key_split(theirs, &kind, &ns, &name) != AB_ERR_OK)
        return false;
    snprintf(key, AB_OBJECT_KEY_MAX, "%.*s/%s/%.*s", AB_STR_ARG(kind),
             peer->principal->env.namespace, AB_STR_ARG(name));
    return true;
}

/* Do these keys name one shared object, here and at the agent? Their namespaces differ. */
static bool is_same_shared(ab_str ours, ab_str theirs)
{
    ab_str kind[2], ns, name[2];
    return ab_object_key_split(ours, &kind[0], &ns, &name[0]) == AB_ERR_OK &&
           ab_object_key_split(theirs, &kind[1], &ns, &name[1]) == AB_ERR_OK &&
           ab_str_eq(kind[0], kind[1]) && ab_str_eq(name[0], name[1]);
}

static ab_str shared_reason(const struct peer *peer, ab_str key)
{
    for (ab_map_iter i = ab_map_first(peer->errors); i.entry != NULL; ab_map_next(&i)) {
        const struct shared_error *e = i.value;
        if (is_same_shared(key, i.key))
            return ab_str_of(e->message);
    }
    return AB_STR_NONE;
}

static void tell(const struct peer *peer, ab_str key)
{
    bool deferred =
        ab_map_find(peer->unsendable, key) != NULL || shared_reason(peer, key).ptr != NULL;
    ab_principal_tell_deferred(peer->principal, peer->name, key, deferred);
}

static bool has_room(struct peer *peer, ab_str key)
{
    if (ab_map_count(peer->errors) < ERRORS_MAX || ab_map_find(peer->errors, key) != NULL)
        return true;
    if (ab_principal_may_log(peer))
        AB_WARN(peer->principal->env.log, SYNC,
                "agent reports errors of too many objects; this one is not counted",
                AB_KV("agent", peer->name), AB_KV("object", key),
                AB_KV("limit", (int64_t)ERRORS_MAX), AB_KV("held_back", peer->lines.held_back));
    return false;
}

void ab_principal_shared_note_error(struct peer *peer, const ab_event *event)
{
    char hub[AB_OBJECT_KEY_MAX];
    ab_str key = object_key(event);
    struct shared_error *e = ab_event_data(event).ptr == NULL ? NULL : error_of(event);
    void *old = NULL;
    if (e == NULL) {
        old = ab_map_take(peer->errors, key);
    } else {
        if (ab_principal_may_log(peer))
            AB_WARN(peer->principal->env.log, SYNC, "agent cannot apply an object",
                    AB_KV("agent", peer->name), AB_KV("object", key), AB_KV("why", e->message),
                    AB_KV("held_back", peer->lines.held_back));
        if (!has_room(peer, key) || ab_map_put(peer->errors, key, e, &old) != AB_ERR_OK)
            old = e;
    }
    ab_principal_shared_error_free(old);
    if (key_at_hub(peer, key, hub))
        tell(peer, ab_str_of(hub));
    show_count(peer, ab_kind_of_key(key));
}

void ab_principal_shared_note_unsendable(struct peer *peer, ab_str key, const ab_error *err)
{
    const ab_kind *kind = ab_kind_of_key(key);
    void *old = NULL;
    if (peer == NULL || kind == NULL || !kind->shared)
        return;
    char *why = ab_str_dup(ab_str_of(err->text));
    if (why == NULL || ab_map_put(peer->unsendable, key, why, &old) != AB_ERR_OK)
        free(why);
    free(old);
    tell(peer, key);
}

void ab_principal_shared_note_queued(struct peer *peer, ab_str key)
{
    char *why = ab_map_take(peer->unsendable, key);
    if (why == NULL)
        return;
    free(why);
    tell(peer, key);
}

static void hold_error(const struct peer *peer, ab_str theirs, const struct shared_error *error,
                       ab_inventory *inv)
{
    char key[AB_OBJECT_KEY_MAX];
    if (key_at_hub(peer, theirs, key))
        ab_inventory_add_error(inv, key, &error->hash);
}

void ab_principal_shared_hold_errors(const struct peer *peer, ab_inventory *inv)
{
    for (ab_map_iter i = ab_map_first(peer->errors); i.entry != NULL; ab_map_next(&i))
        hold_error(peer, i.key, i.value, inv);
}

/* --- shown --- */

ab_str ab_principal_why_deferred(const ab_principal *p, const char *agent, ab_str key, bool *ours)
{
    const struct peer *peer = ab_principal_peer(p, ab_str_of(agent));
    const ab_principal_app *app = ab_principal_find(p, key);
    *ours = app != NULL && app->error_ours;
    if (peer == NULL)
        return AB_STR_NONE;
    if (app != NULL)
        return app->error == NULL ? AB_STR_NONE : ab_str_of(app->error);
    const char *why = ab_map_find(peer->unsendable, key);
    *ours = why != NULL;
    return why == NULL ? shared_reason(peer, key) : ab_str_of(why);
}
