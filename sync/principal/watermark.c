/* SPDX-License-Identifier: Apache-2.0
 *
 * What proves that an object which the store does not have was deleted: that the store is known to
 * have had it. It is, of what it has shown or what was said of it in this run, and of what was said
 * up to its watermark (sync/deletion/). The watermark follows what is said to an agent, once both
 * ends have compared what they hold and every deletion was proved: else it would hide what only the
 * agent knows of.
 */
#include "sync/principal/principal_priv.h"

static int64_t now_ms(const ab_principal *p)
{
    return ab_clock_mono_ms(p->env.clock);
}

bool ab_principal_watermark_ask(const struct peer *peer)
{
    return ab_watermark_store_check(&peer->principal->watermark, peer->line);
}

/* If it were restored from before it had that, it is to have another watermark. */
void ab_principal_watermark_note_listed(struct peer *peer)
{
    if (peer->proof.written_for_list)
        return;
    peer->proof.written_for_list = true;
    ab_watermark_store_write(&peer->principal->watermark, peer->line);
}

void ab_principal_watermark_note_resync(struct peer *peer)
{
    ab_watermark_run *run = &peer->line->run;
    /* What was not judged when all was in hand is judged in the next one, whatever was read since.
     */
    if (peer->mode != AB_MANAGED || ab_principal_is_holding(peer) || !peer->resync.judged ||
        run->distrusted)
        return;
    bool ready = peer->principal->synced && peer->sweep.done && ab_principal_watermark_ask(peer);
    peer->proof.again = !ready;
    if (!ready) {
        ab_watermark_store_await(peer->line);
        return;
    }
    bool covers_more = ab_version_cmp(run->newest, peer->line->sent.all) > 0;
    bool first = !run->resynced;
    run->resynced = true;
    if (first && covers_more)
        ab_watermark_store_write(&peer->principal->watermark, peer->line);
}

void ab_principal_watermark_hold(struct peer *peer, size_t *held, size_t count, const char *first)
{
    const ab_principal *p = peer->principal;
    bool more = count > *held;
    *held = count;
    ab_principal_show_held(peer);
    if (!more)
        return;
    peer->proof.retry_at = now_ms(p) + HELD_RETRY_MS;
    AB_ERROR(
        p->env.log, SYNC,
        "deletions held back: the store does not show that it ever had what the agent has "
        "(was it restored from a backup?): make the objects again, or delete them at the "
        "agent with argobusctl resync --agent NAME --confirm TOKEN; argobusctl deletions shows "
        "the token",
        AB_KV("agent", peer->name), AB_KV("objects", (int64_t)count), AB_KV("first", first));
}

void ab_principal_flush(ab_principal *p)
{
    ab_watermark_store_flush(&p->watermark);
}
