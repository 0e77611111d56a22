/* SPDX-License-Identifier: Apache-2.0
 *
 * Events to an agent: how they name their object, and how they end.
 */
#include "sync/principal/principal_priv.h"
#include "sync/principal/shared/shared.h"

#include "schema/attributes.h"

#include <stdio.h>

void ab_principal_wake(const struct peer *peer)
{
    const ab_effects *fx = &peer->principal->env.effects;
    fx->wake(fx->arg, peer->name);
}

static void queued(struct peer *peer, ab_str key, ab_err e)
{
    if (e == AB_ERR_OK) {
        ab_principal_shared_note_queued(peer, key);
        ab_principal_wake(peer);
        ab_watermark_note_queued(&peer->line->run, ab_writer_newest(peer->writer));
        ab_watermark_store_write(&peer->principal->watermark, peer->line);
    } else
        AB_ERROR(peer->principal->env.log, SYNC, "cannot queue an event",
                 AB_KV("agent", peer->name), AB_KV("key", key), AB_KV("why", ab_err_text(e)));
}

void ab_principal_address(const ab_principal *p, ab_str key, ab_type type, ab_event_draft *draft,
                          char subject[AB_OBJECT_KEY_MAX])
{
    ab_str kind, ns, name;
    ab_event_set_text(draft, AB_CE_TYPE, ab_type_name(type));
    if (ab_object_key_split(key, &kind, &ns, &name) != AB_ERR_OK)
        return;
    const ab_kind *row = ab_kind_of(kind);
    if (row == NULL)
        return;
    snprintf(subject, AB_OBJECT_KEY_MAX, "%.*s/%.*s", AB_STR_ARG(ns), AB_STR_ARG(name));
    ab_event_set_text(draft, AB_CE_DATASCHEMA, ab_target_name(row->target));
    ab_event_set_text(draft, AB_CE_SUBJECT, subject);
    if (!row->shared && p->env.destination_mapping && ab_str_is(ns, p->env.namespace))
        ab_event_set_text(draft, AB_CE_REMAPPED, "true");
}

void ab_principal_queue(struct peer *peer, const ab_object *hub, ab_type type, ab_str payload,
                        const ab_digest *digest)
{
    char subject[AB_OBJECT_KEY_MAX], resource[AB_OBJECT_KEY_MAX];
    ab_str key = ab_str_of(ab_object_key(hub));
    snprintf(resource, sizeof(resource), "%.*s_%.*s", AB_STR_ARG(ab_object_name(hub)),
             AB_STR_ARG(ab_object_uid(hub)));
    ab_event_draft draft = {.data = payload};
    ab_principal_address(peer->principal, key, type, &draft, subject);
    ab_event_set_text(&draft, AB_CE_RESOURCEID, resource);
    ab_event_set_text(&draft, AB_CE_PRINCIPALUID, peer->principal->env.uid);
    queued(peer, key, ab_writer_state(peer->writer, key, key, &draft, digest, NULL));
}

/* A store that is restored from before it had that is to have another watermark. */
void ab_principal_confirm_owned(struct peer *peer, ab_str key)
{
    const ab_watermark_line *line = peer->line;
    bool covered =
        ab_watermark_proves(&line->sent, &line->run, ab_writer_version_of(peer->writer, key));
    if (ab_writer_confirm_owned(peer->writer, key) && !covered)
        ab_watermark_store_write(&peer->principal->watermark, peer->line);
}

void ab_principal_end(struct peer *peer, ab_str key, bool orphan)
{
    if (ab_writer_has_key(peer->writer, key))
        ab_principal_end_anyway(peer, key, orphan);
}

void ab_principal_end_anyway(struct peer *peer, ab_str key, bool orphan)
{
    char subject[AB_OBJECT_KEY_MAX];
    ab_event_draft draft = {0};
    ab_principal_address(peer->principal, key, AB_TYPE_DELETE, &draft, subject);
    ab_event_set_text(&draft, AB_CE_PRINCIPALUID, peer->principal->env.uid);
    if (orphan)
        ab_event_set_text(&draft, AB_CE_ORPHAN, "true");
    queued(peer, key, ab_writer_end_anyway(peer->writer, key, key, &draft, NULL));
    peer->resync.ended = ab_writer_newest(peer->writer);
}

void ab_principal_give_up(struct peer *peer, ab_str key)
{
    char subject[AB_OBJECT_KEY_MAX];
    ab_event_draft draft = {0};
    if (!ab_principal_is_object(key))
        return;
    ab_principal_address(peer->principal, key, AB_TYPE_RELEASE, &draft, subject);
    ab_event_set_text(&draft, AB_CE_PRINCIPALUID, peer->principal->env.uid);
    queued(peer, key, ab_writer_end(peer->writer, key, key, &draft, NULL));
}
