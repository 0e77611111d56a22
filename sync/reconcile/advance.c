/* SPDX-License-Identifier: Apache-2.0
 *
 * What comes next for a record.
 */
#include "sync/reconcile/trace_priv.h"

bool ab_reconcile_may_advance(const ab_record *r)
{
    return r->step == AB_STEP_IDLE && !r->reconciler->stopped &&
           r->inbox.retry_at <= ab_reconcile_now(r);
}

static bool finish(ab_record *r)
{
    ab_reconcile_succeeded(r);
    if (r->type->finished != NULL)
        r->type->finished(r);
    ab_reconcile_finish_head(r);
    return true;
}

/* One round. @return true when another may follow at once */
static bool advance_once(ab_record *r)
{
    const ab_record_type *t = r->type;
    ab_task *head = r->inbox.head;
    if (!ab_reconcile_may_advance(r))
        return false;
    if (ab_inbox_head_superseded(&r->inbox)) {
        ab_reconcile_finish_head(r);
        return true;
    }
    if (head != NULL && !head->begun && !ab_task_is_command(head->type)) {
        r->reverting = NULL; /* what is written from now on is for the head */
        t->begin(r, head);
        return ab_reconcile_may_advance(r);
    }
    if (!t->is_as_desired(r))
        return t->reconcile(r) && ab_reconcile_may_advance(r);
    r->is_deferred = false;
    r->reverting = NULL;
    if (head != NULL && head->begun)
        return finish(r);
    if (head != NULL)
        return t->execute(r) && ab_reconcile_may_advance(r);
    r->inbox.failing_since = 0; /* nothing is tried */
    if (t->rest != NULL && r->rest_at <= ab_reconcile_now(r))
        t->rest(r);
    return false;
}

static bool is_over(const ab_record *r)
{
    return r->type->is_over != NULL && r->step == AB_STEP_IDLE && r->inbox.head == NULL &&
           r->type->is_over(r);
}

void ab_reconcile_tend_later(ab_record *r)
{
    ab_list_append(&r->reconciler->due, &r->in_due);
}

void ab_reconcile_tend(ab_record *r)
{
    if (r->type->count != NULL)
        r->type->count(r);
    if (r->inbox.retry_at != 0 || r->rest_at != 0 || is_over(r))
        ab_reconcile_tend_later(r);
}

void ab_reconcile_advance(ab_record *r)
{
    while (advance_once(r))
        ;
    ab_reconcile_tend(r);
}

void ab_reconcile_abandon(ab_record *r)
{
    while (r->inbox.head != NULL)
        ab_reconcile_finish_head(r);
    ab_inbox_succeeded(&r->inbox);
    r->is_abandoned = r->step != AB_STEP_IDLE;
    ab_reconcile_tend(r);
}

ab_err ab_reconcile_deliver(ab_record *r, const ab_task *task)
{
    const ab_effects *fx = r->reconciler->effects;
    void *superseded;
    ab_task received = *task;
    ab_reconcile_trace_received(r, &received);
    ab_err e = ab_inbox_push(&r->inbox, &received, &superseded);
    if (e != AB_ERR_OK)
        return e;
    if (superseded != NULL)
        fx->ack(fx->arg, superseded);
    r->inbox.retry_at = 0; /* it may be what puts things right */
    ab_reconcile_advance(r);
    return AB_ERR_OK;
}

static void tick(ab_record *r)
{
    int64_t now = ab_reconcile_now(r);
    bool retry = r->inbox.retry_at != 0 && r->inbox.retry_at <= now;
    if (is_over(r)) {
        r->type->free(r);
        return;
    }
    if (retry)
        r->inbox.retry_at = 0;
    if (retry || (r->rest_at != 0 && r->rest_at <= now))
        ab_reconcile_advance(r);
    else
        ab_reconcile_tend(r);
}

void ab_reconciler_tick(ab_reconciler *r)
{
    ab_link due;
    ab_link_init(&due);
    ab_list_move_all(&r->due, &due);
    for (ab_link *l = ab_list_pop(&due); l != NULL; l = ab_list_pop(&due))
        tick(AB_LINK_OF(l, ab_record, in_due));
}
