/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conformance/transport/inproc/log_priv.h"

#include "schema/attributes.h"

#include <stdlib.h>

ab_err ab_inproc_log_init(ab_inproc_log *log)
{
    TAILQ_INIT(&log->records);
    log->newest = ab_map_new();
    return log->newest == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
}

static void drop(ab_inproc_log *log, ab_inproc_record *record)
{
    if (log->next == record)
        log->next = TAILQ_NEXT(record, at);
    TAILQ_REMOVE(&log->records, record, at);
    ab_event_unref(record->event);
    free(record);
}

static void drop_all(ab_inproc_log *log)
{
    for (ab_map_iter i = ab_map_first(log->newest); i.entry != NULL; ab_map_next(&i)) {
        drop(log, i.value);
        ab_map_take(log->newest, i.key);
    }
}

void ab_inproc_log_fini(ab_inproc_log *log)
{
    if (log->newest == NULL)
        return;
    drop_all(log);
    ab_map_free(log->newest, NULL);
    log->newest = NULL;
}

void ab_inproc_log_reset(ab_inproc_log *log)
{
    drop_all(log);
    log->last_seq = 0;
    log->committed = 0;
    log->instance++;
}

ab_err ab_inproc_log_append(ab_inproc_log *log, ab_event *event)
{
    ab_inproc_record *record = calloc(1, sizeof(*record));
    if (record == NULL)
        return AB_ERR_NOMEM;
    void *older = NULL;
    ab_err e = ab_map_put(log->newest, ab_event_attr(event, AB_CE_PARTITIONKEY), record, &older);
    if (e != AB_ERR_OK) {
        free(record);
        return e;
    }
    if (older != NULL)
        drop(log, older);
    record->seq = ++log->last_seq;
    record->event = ab_event_ref(event);
    TAILQ_INSERT_TAIL(&log->records, record, at);
    if (log->next == NULL)
        log->next = record;
    uint64_t epoch = 0;
    if (ab_event_attr_u64(event, AB_CE_WRITEREPOCH, &epoch) == AB_ERR_OK && epoch > log->epoch)
        log->epoch = epoch;
    return AB_ERR_OK;
}

void ab_inproc_log_rewind(ab_inproc_log *log)
{
    log->next = TAILQ_FIRST(&log->records);
    while (log->next != NULL && log->next->seq <= log->committed)
        log->next = TAILQ_NEXT(log->next, at);
}

const ab_inproc_record *ab_inproc_log_read(ab_inproc_log *log)
{
    const ab_inproc_record *record = log->next;
    if (record != NULL)
        log->next = TAILQ_NEXT(record, at);
    return record;
}

void ab_inproc_log_commit(ab_inproc_log *log, uint64_t seq, const ab_event *event)
{
    log->committed = seq;
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    ab_inproc_record *newest = ab_map_find(log->newest, key);
    if (newest != NULL && newest->seq == seq && ab_event_data(event).ptr == NULL) {
        ab_map_take(log->newest, key);
        drop(log, newest);
    }
}
