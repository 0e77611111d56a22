/* SPDX-License-Identifier: Apache-2.0
 *
 * Mirrors as records: made, found, and whose they are.
 */
#include "sync/principal/mirror_priv.h"

#include <stdlib.h>

static void leave_records(struct mirror *m)
{
    if (m->records == NULL)
        return;
    ab_agent_records_count(m->records, &m->unfinished, false);
    m->records->conflict_count -= m->conflict;
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
    m->records = r;
    m->agent = r->name;
    return AB_ERR_OK;
}

void ab_mirror_free(void *value)
{
    struct mirror *m = value;
    leave_records(m);
    ab_record_fini(&m->record);
    free(m->next_uid);
    free(m->error);
    free(m->project);
    free(m->made);
    free(m->uid);
    free(m->key);
    free(m);
}

struct mirror *ab_mirror_for(ab_principal *p, ab_str key, ab_str agent)
{
    struct mirror *m = ab_map_find(p->mirrors, key);
    if (m != NULL || ab_kind_of_key(key) == NULL)
        return m;
    m = calloc(1, sizeof(*m));
    if (m == NULL)
        return NULL;
    m->principal = p;
    m->kind = ab_kind_of_key(key);
    m->key = ab_str_dup(key);
    ab_record_init(&m->record, p->mirror_type, &p->reconciler, m->key);
    ab_link_init(&m->in_records);
    m->known = !p->listed; /* what is here will be seen with the rest */
    if (m->key == NULL || ab_mirror_enlist(m, agent) != AB_ERR_OK ||
        ab_map_put(p->mirrors, key, m, NULL) != AB_ERR_OK) {
        ab_mirror_free(m);
        return NULL;
    }
    return m;
}

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
    return head == NULL || (head->begun && head->next == NULL && m->record.step != AB_STEP_SAVE);
}

bool ab_mirror_held(const struct mirror *m, ab_version *version, ab_digest *hash)
{
    bool exists = m->exists && m->is_mirror;
    bool behind = exists && ab_version_cmp(m->stamp, m->version) > 0;
    if (m->source != MIRROR_LIVE && !behind && !(exists && m->source == MIRROR_NONE))
        return false;
    *version = behind ? m->stamp : m->version;
    *hash = behind || m->source != MIRROR_LIVE ? (ab_digest){0} : m->hash;
    return true;
}
