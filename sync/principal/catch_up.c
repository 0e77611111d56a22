/* SPDX-License-Identifier: Apache-2.0
 *
 * What an agent is to have and our log does not have is sent to it. Without a log that outlives us
 * that would be everything at each start, although the agent has nearly all of it: so it is
 * compared first. Changes of the hub do not wait for that, and neither does anything when the
 * comparison does not come.
 */
#include "sync/principal/mirror/mirror.h"
#include "sync/principal/principal_priv.h"

/* From when the agent can be sent something; a comparison with an agent takes some round trips, and
 * eight of them are under way at a time. */
#define COMPARE_MS 20000

void ab_principal_compare_first(ab_principal *p)
{
    p->compare_first = true;
}

static int64_t now_ms(const struct peer *peer)
{
    return ab_clock_mono_ms(peer->principal->env.clock);
}

static void send_missing(struct peer *peer)
{
    peer->compare_by = 0;
    for (ab_list_iter i = ab_list_first(&peer->records->apps); i.link != NULL; ab_list_next(&i)) {
        ab_principal_app *app = AB_LINK_OF(i.link, ab_principal_app, in_records);
        if (!app->exists)
            continue;
        app->requeued = app->requeued || ab_requests_are_any(ab_principal_requests(app)) ||
                        ab_principal_is_moving(app) ||
                        !ab_writer_has(peer->writer, ab_str_of(app->key), &app->desired);
        ab_reconcile_advance(&app->record);
    }
}

void ab_principal_catch_up(struct peer *peer)
{
    if (!peer->principal->compare_first || peer->mode != AB_MANAGED) {
        send_missing(peer);
        return;
    }
    peer->compare_by = now_ms(peer) + COMPARE_MS;
    ab_principal_watch(peer);
}

bool ab_principal_is_all_queued(const ab_principal *p, const char *agent)
{
    const struct peer *peer = ab_principal_peer(p, ab_str_of(agent));
    return peer != NULL && p->listed && peer->mode != 0 && ab_writer_is_ready(peer->writer) &&
           peer->compare_by == 0;
}

/* What of it is another version is sent all the same: the comparison sees that it differs. */
static void learn(void *arg, const ab_inventory_entry *theirs)
{
    struct peer *peer = arg;
    const ab_principal *p = peer->principal;
    const ab_principal_app *app = ab_principal_find(p, theirs->key);
    if (app == NULL || !app->exists || app->peer != peer || ab_mirror_exists(p, theirs->key) ||
        ab_writer_has_key(peer->writer, theirs->key))
        return;
    if (ab_writer_suppose(peer->writer, theirs->key, &theirs->hash) != AB_ERR_OK)
        AB_ERROR(p->env.log, SYNC, "out of memory", AB_KV("agent", peer->name));
    else if (ab_digest_eq(&theirs->hash, &app->desired))
        ab_principal_confirm_owned(peer, theirs->key);
}

void ab_principal_catch_up_compared(struct peer *peer)
{
    if (peer->compare_by == 0)
        return;
    ab_resync_each(&peer->resync.turn.resync, learn, peer);
    send_missing(peer);
}

bool ab_principal_catch_up_tick(struct peer *peer)
{
    bool late = peer->compare_by != 0 && now_ms(peer) >= peer->compare_by;
    if (late)
        send_missing(peer);
    return late;
}
