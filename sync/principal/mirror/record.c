/* SPDX-License-Identifier: Apache-2.0
 *
 * Mirrors as records: made, found, whose they are, and what a resync holds of them.
 */
#include "sync/principal/mirror/mirror_priv.h"

#include "sync/principal/agent_records.h"

#include <stdlib.h>

static void leave_records(struct mirror *m)
{
    if (m->records == NULL)
        return;
    ab_agent_records_count(m->records, &m->unfinished, false);
    m->records->conflict_count -= m->conflict;
    m->records->mirror_count--;
    ab_app_counts_set(&m->records->shown, &m->shown, NULL);
    ab_link_remove(&m->in_records);
    ab_agent_records_leave(m->records);
}

ab_err ab_mirror_enlist(struct mirror *m, ab_str agent)
{
    struct agent_records *r = ab_agent_records_use(m->principal, agent);
    if (r == NULL)
        return AB_ERR_NOMEM;
    leave_records(m);
    ab_list_append(&r->mirrors, &m->in_records);
    r->conflict_count += m->conflict;
    r->mirror_count++;
    m->records = r;
    m->agent = r->name;
    return AB_ERR_OK;
}

void ab_mirror_fini(void *value)
{
    struct mirror *m = value;
    leave_records(m);
    ab_record_fini(&m->record);
    free(m->next_uid);
    free(m->error);
    free(m->project);
    free(m->made);
    free(m->uid);
}

static void drop(struct mirror *m)
{
    ab_mirror_fini(m);
    ab_map_drop(m->principal->mirrors, m);
}

struct mirror *ab_mirror_for(ab_principal *p, ab_str key, ab_str agent)
{
    const ab_kind *kind = ab_kind_of_key(key);
    struct mirror *m = kind == NULL ? NULL : ab_map_make(p->mirrors, key, sizeof(*m));
    if (m == NULL || m->principal != NULL)
        return m;
    m->principal = p;
    m->kind = kind;
    m->key = ab_map_at(m).key.ptr;
    ab_record_init(&m->record, p->mirror_type, &p->reconciler, m->key);
    ab_link_init(&m->in_records);
    m->known = !p->listed; /* what is here will be seen with the rest */
    if (ab_mirror_enlist(m, agent) == AB_ERR_OK)
        return m;
    drop(m);
    return NULL;
}

/* --- what is kept --- */

ab_err ab_mirror_recall(struct mirror *m, const ab_received_state *row)
{
    ab_err e = AB_ERR_OK;
    if (ab_str_is(row->owner, m->agent)) { /* else it was another writer's */
        m->version = row->version;
        m->hash = row->hash;
        if (!row->released)
            m->source = row->ended ? MIRROR_ENDED : MIRROR_LIVE;
        e = ab_str_replace(&m->uid, row->uid);
        if (e == AB_ERR_OK)
            e = ab_str_replace(&m->made, row->owned);
    }
    m->recalled = e == AB_ERR_OK;
    return e;
}

/* A resync tells the agent of it, also when what is kept is not in memory. */
static ab_err note_over(ab_principal *p, ab_str agent, ab_version version)
{
    ab_version *newest = ab_map_make(p->over, agent, sizeof(*newest));
    if (newest == NULL)
        return AB_ERR_NOMEM;
    if (ab_version_cmp(version, *newest) > 0)
        *newest = version;
    return AB_ERR_OK;
}

/* What ended is not in memory until something is said of it, or shown: an agent may end any number
 * of objects. */
ab_err ab_principal_restore(ab_principal *p, ab_str key, const ab_received_state *received)
{
    const ab_kind *kind = ab_kind_of_key(key);
    if (kind == NULL || kind->mirroring == AB_NOT_MIRRORED || received->owner.len == 0)
        return AB_ERR_OK; /* kept by another version */
    if (received->ended || received->released)
        return note_over(p, received->owner, received->version);
    struct mirror *m = ab_mirror_for(p, key, received->owner);
    return m == NULL ? AB_ERR_NOMEM : ab_mirror_recall(m, received);
}

bool ab_mirror_is_over(const struct mirror *m)
{
    return m->recalled && m->source != MIRROR_LIVE && m->known && !m->exists;
}

bool ab_mirror_has_room(const struct agent_records *r)
{
    size_t max = r->principal->env.mirrors_max;
    return max == 0 || r->mirror_count < max;
}

/* It says again what was refused when both ends compare: no sooner than it may ask for that, for it
 * may end and publish as often as it likes. */
static void take_more(struct peer *peer)
{
    if (peer == NULL || !peer->refused_more || !ab_mirror_has_room(peer->records))
        return;
    peer->refused_more = false;
    ab_resync_queue_again(&peer->resync.turn, "there is room for more mirrors");
}

void ab_mirror_forget(struct mirror *m)
{
    struct peer *peer = m->records->peer;
    if (note_over(m->principal, ab_str_of(m->agent), m->version) != AB_ERR_OK)
        return; /* later */
    drop(m);
    take_more(peer);
}

/* --- whose it is --- */

struct peer *ab_mirror_peer(const struct mirror *m)
{
    struct peer *peer = m->records->peer;
    return peer == NULL || peer->mode == AB_MANAGED ? NULL : peer;
}

bool ab_mirror_is_of_managed(const struct mirror *m)
{
    const struct peer *peer = m->records->peer;
    return peer != NULL && peer->mode == AB_MANAGED;
}

bool ab_mirror_is_handed_over(const struct mirror *m)
{
    return ab_mirror_is_of_managed(m) && m->exists && m->is_mirror && !m->deleting;
}

bool ab_mirror_is_done(const struct mirror *m)
{
    const ab_task *head = m->record.inbox.head;
    bool saving = m->record.step == AB_STEP_SAVE; /* also that it is released */
    return !saving && (head == NULL || (head->begun && head->next == NULL));
}

bool ab_mirror_exists(const ab_principal *p, ab_str key)
{
    const struct mirror *m = ab_map_find(p->mirrors, key);
    return m != NULL && m->exists && m->is_mirror;
}

/* What is held of the agent's object: the hash is none where the object here is not known to be
 * what the agent said. @return false: nothing is */
static bool is_held(const struct mirror *m, ab_version *version, ab_digest *hash)
{
    bool exists = m->exists && m->is_mirror;
    bool behind = exists && ab_version_cmp(m->stamp, m->version) > 0;
    if (m->source != MIRROR_LIVE && !behind && !(exists && m->source == MIRROR_NONE))
        return false;
    *version = behind ? m->stamp : m->version;
    *hash = behind || m->source != MIRROR_LIVE ? (ab_digest){0} : m->hash;
    return true;
}

static void hold_mirror(const struct mirror *m, ab_inventory *inv)
{
    ab_inventory_entry entry = {.key = ab_str_of(m->key)};
    ab_inventory_note_version(inv,
                              m->version); /* nothing older takes effect, also where it ended */
    if (!is_held(m, &entry.version, &entry.hash))
        return;
    ab_inventory_add(inv, &entry);
    if (m->error != NULL && !m->error_ours)
        ab_inventory_add_error(inv, m->key, &m->error_hash);
}

void ab_mirror_hold_all(const struct agent_records *r, ab_inventory *inv)
{
    const ab_version *over = ab_map_find(r->principal->over, ab_str_of(r->name));
    if (over != NULL)
        ab_inventory_note_version(inv, *over);
    for (ab_list_iter i = ab_list_first(&r->mirrors); i.link != NULL; ab_list_next(&i))
        hold_mirror(AB_LINK_OF(i.link, struct mirror, in_records), inv);
}

bool ab_mirror_ask_for(const struct agent_records *r, ab_str id)
{
    for (ab_list_iter i = ab_list_first(&r->mirrors); i.link != NULL; ab_list_next(&i)) {
        const struct mirror *m = AB_LINK_OF(i.link, struct mirror, in_records);
        if (m->exists && m->is_mirror && ab_requests_ask_for(&m->requests, id))
            return true;
    }
    return false;
}
