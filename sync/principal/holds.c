/* SPDX-License-Identifier: Apache-2.0
 *
 * Deletions that are held back for an agent: shown, and told with a token.
 */
#include "sync/principal/principal_priv.h"

#include <stdio.h>

static size_t held_at(const struct peer *peer)
{
    return peer->sweep.held.count + peer->hold.unsent.count;
}

bool ab_principal_is_holding(const struct peer *peer)
{
    return held_at(peer) > 0;
}

void ab_principal_watch(struct peer *peer)
{
    bool unknown = !ab_writer_is_ready(peer->writer) && !peer->proof.written_for_list;
    if (unknown || peer->sweep.due_at != 0 || peer->compare_by != 0 ||
        ab_principal_is_holding(peer))
        ab_list_append(&peer->principal->watched, &peer->in_watched);
}

/* It begins with a letter: 12345678 and 4e004161 are numbers in YAML unless they are quoted. */
static void make_token(struct peer *peer)
{
    char id[37];
    char *token = peer->hold.token;
    token[0] = '\0'; /* without randomness there is none */
    if (ab_uuid(id) != AB_ERR_OK)
        return;
    snprintf(token, sizeof(peer->hold.token), "%.*s", HOLD_TOKEN - 1, id);
    if (token[0] >= '0' && token[0] <= '9')
        token[0] = (char)('a' + (token[0] - '0') % 6);
}

static void report_held(struct peer *peer)
{
    const ab_effects *fx = &peer->principal->env.effects;
    ab_missing all = ab_missing_join(&peer->sweep.held, &peer->hold.unsent);
    peer->hold.others = false;
    if (ab_missing_is_same(&all, &peer->hold.told))
        return;
    peer->hold.told = all;
    peer->hold.token[0] = '\0';
    if (all.count > 0)
        make_token(peer);
    fx->held(fx->arg, peer->name, all.count, peer->hold.token);
}

void ab_principal_show_held(struct peer *peer)
{
    const ab_principal_env *env = &peer->principal->env;
    ab_label label = {"agent", ab_str_of(peer->name)};
    ab_metric_set(ab_metric_get(env->metrics, AB_METRIC_GAUGE, "argobus_deletions_held",
                                "Deletions held back: too many, or without proof.", &label, 1),
                  (double)held_at(peer));
    report_held(peer);
    ab_principal_watch(peer);
}

void ab_principal_note_held(struct peer *peer, const ab_missing *held)
{
    bool more = held->count > peer->hold.unsent.count;
    peer->hold.unsent = *held;
    ab_principal_show_held(peer);
    if (more)
        AB_ERROR(peer->principal->env.log, SYNC,
                 "deletions held back by the agent: too many objects are missing from its store; "
                 "to delete their mirrors, run argobusctl resync --agent NAME --confirm TOKEN; "
                 "argobusctl deletions shows the token",
                 AB_KV("agent", peer->name), AB_KV("missing", (int64_t)held->count));
}

void ab_principal_forget_held_names(struct peer *peer)
{
    ab_map_free(peer->hold.names, NULL);
    peer->hold.names = NULL;
}

/* One without a name is counted all the same. */
void ab_principal_name_held(struct peer *peer, ab_str key, ab_deletion why)
{
    if (peer->hold.names == NULL)
        peer->hold.names = ab_map_new();
    if (peer->hold.names == NULL || ab_map_count(peer->hold.names) == AB_RESYNC_NAMES_MAX)
        return;
    ab_deletion *kept = ab_map_make(peer->hold.names, key, sizeof(*kept));
    if (kept != NULL)
        *kept = why;
}

void ab_principal_unconfirm(struct peer *peer)
{
    peer->sweep.confirmed = peer->hold.confirmed = (ab_digest){{0}};
}

size_t ab_principal_held(const ab_principal *p, const char *agent)
{
    size_t held = 0;
    const struct peer *peer = agent == NULL ? NULL : ab_principal_peer(p, ab_str_of(agent));
    if (agent != NULL)
        return peer == NULL ? 0 : held_at(peer);
    for (ab_map_iter i = ab_map_first(p->peers); i.entry != NULL; ab_map_next(&i))
        held += held_at(i.value);
    return held;
}
