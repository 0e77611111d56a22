/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/inbox.h"

#include "schema/attributes.h"

#include <stdlib.h>

#define RETRY_FIRST_MS 50
#define RETRY_MAX_MS   60000

bool ab_task_is_command(ab_type type)
{
    return type == AB_TYPE_SET_OPERATION || type == AB_TYPE_TERMINATE_OPERATION ||
           type == AB_TYPE_REFRESH;
}

const char *ab_task_classify(const ab_event *event, ab_direction direction, ab_mode_set mode,
                             ab_target *target, ab_type *type)
{
    ab_str target_name = ab_event_attr(event, AB_CE_DATASCHEMA);
    ab_str type_name = ab_event_attr(event, AB_CE_TYPE);
    if (!ab_target_parse(target_name.ptr, target_name.len, target) ||
        !ab_type_parse(type_name.ptr, type_name.len, type))
        return "type";
    const ab_catalogue_row *row = ab_catalogue_find(*target, *type);
    return row != NULL && ab_catalogue_allows(row, direction, mode) ? NULL : "not_allowed";
}

void ab_inbox_init(ab_inbox *in)
{
    *in = (ab_inbox){0};
    ab_backoff_init(&in->backoff, RETRY_FIRST_MS, RETRY_MAX_MS);
}

void ab_inbox_fini(ab_inbox *in)
{
    while (in->head != NULL)
        (void)ab_inbox_pop(in);
}

/* A newer state of the same key says all that an older one says. */
static bool supersedes(const ab_task *newer, const ab_task *older)
{
    return !ab_task_is_command(older->type) && !ab_task_is_command(newer->type) &&
           ab_str_eq(ab_event_attr(older->event, AB_CE_PARTITIONKEY),
                     ab_event_attr(newer->event, AB_CE_PARTITIONKEY));
}

ab_err ab_inbox_push(ab_inbox *in, const ab_task *task, void **superseded)
{
    *superseded = NULL;
    if (in->tail != NULL && !in->tail->begun && supersedes(task, in->tail)) {
        *superseded = in->tail->delivery;
        ab_event_unref(in->tail->event);
        *in->tail = *task;
        in->tail->next = NULL;
        (void)ab_event_ref(task->event);
        return AB_ERR_OK;
    }
    ab_task *t = malloc(sizeof(*t));
    if (t == NULL)
        return AB_ERR_NOMEM;
    *t = *task;
    t->next = NULL;
    (void)ab_event_ref(task->event);
    if (in->tail == NULL)
        in->head = t;
    else
        in->tail->next = t;
    in->tail = t;
    return AB_ERR_OK;
}

bool ab_inbox_head_superseded(const ab_inbox *in)
{
    const ab_task *t = in->head;
    return t != NULL && t->begun && t->next != NULL && supersedes(t->next, t);
}

void *ab_inbox_pop(ab_inbox *in)
{
    ab_task *t = in->head;
    void *delivery = t->delivery;
    in->head = t->next;
    if (in->head == NULL)
        in->tail = NULL;
    ab_event_unref(t->event);
    free(t);
    return delivery;
}

void ab_inbox_retry_after(ab_inbox *in, int64_t now_ms, int64_t ms)
{
    in->retry_at = now_ms + ms;
}

void ab_inbox_back_off(ab_inbox *in, int64_t now_ms)
{
    ab_inbox_retry_after(in, now_ms, ab_backoff_next(&in->backoff));
}

void ab_inbox_succeeded(ab_inbox *in)
{
    in->retry_at = 0;
    in->failing_since = 0;
    ab_backoff_reset(&in->backoff);
}

int64_t ab_inbox_failing_ms(ab_inbox *in, int64_t now_ms)
{
    if (in->failing_since == 0)
        in->failing_since = now_ms;
    return now_ms - in->failing_since;
}
