/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of the head, and of a record that fails.
 */
#include "sync/reconcile/trace_priv.h"

#define WAIT_MS          200
#define AWAIT_CHANGE_MS  1000
#define RETRY_REFUSED_MS 300000

int64_t ab_reconcile_now(const ab_record *r)
{
    return ab_clock_mono_ms(r->reconciler->clock);
}

static void ack(const ab_record *r, void *delivery)
{
    const ab_effects *fx = r->reconciler->effects;
    if (delivery != NULL)
        fx->ack(fx->arg, delivery);
}

/* --- the head --- */

ab_task *ab_reconcile_head(const ab_record *r)
{
    ab_task *head = r->inbox.head;
    return head != NULL && head->begun ? head : NULL;
}

/* A version is the microseconds of its writer's clock, which may be ahead of ours. */
static void measure(const ab_record *r, const ab_task *head)
{
    int64_t now_us = ab_clock_wall_us(r->reconciler->clock);
    uint64_t queued_us = head->version.version;
    bool past = now_us > 0 && queued_us < (uint64_t)now_us;
    double seconds = past ? (double)((uint64_t)now_us - queued_us) / 1e6 : 0;
    ab_metric_observe(r->reconciler->metrics.latency, seconds);
}

void ab_reconcile_finish_head(ab_record *r)
{
    if (r->inbox.head->wrote) {
        measure(r, r->inbox.head);
        ab_reconcile_trace_end(r, NULL);
    }
    ack(r, ab_inbox_pop(&r->inbox));
}

bool ab_reconcile_is_newer(ab_record *r, ab_version known)
{
    ab_task *head = r->inbox.head;
    int newer = ab_version_cmp(head->version, known);
    if (newer < 0) {
        ab_metric_add(r->reconciler->metrics.stale, 1);
        ab_reconcile_finish_head(r);
    } else if (newer == 0) { /* saved already: is it in effect? */
        head->begun = true;
        r->type->look_again(r);
    }
    return newer > 0;
}

/* --- failing --- */

void ab_reconcile_succeeded(ab_record *r)
{
    ab_inbox_succeeded(&r->inbox);
}

/* What is saved goes on being tried without its head; what is not stays the head, but no longer
 * holds the offset. */
static void release_head(ab_record *r, const ab_error *err)
{
    ab_task *head = ab_reconcile_head(r);
    bool is_saved = r->type->saved != NULL;
    if (head == NULL || (!is_saved && head->delivery == NULL))
        return;
    ab_reconcile_trace_end(r, err);
    head->wrote = false; /* it is acknowledged without being in effect */
    ab_metric_add(r->reconciler->metrics.deferred, 1);
    if (is_saved) {
        ab_reconcile_finish_head(r);
        return;
    }
    ack(r, head->delivery);
    head->delivery = NULL;
}

/* Not at each attempt: when a store fails for long, thousands of objects are tried once a minute.
 */
static void log_deferred(ab_record *r, const ab_error *err)
{
    bool is_logged = r->is_deferred && r->deferred_for == err->code;
    r->deferred_for = err->code;
    if (!is_logged)
        AB_WARN(r->reconciler->log, SYNC,
                "write deferred: the object cannot be written at the moment",
                AB_KV("object", r->key), AB_KV("why", err->text));
}

static void defer(ab_record *r, const ab_error *err)
{
    log_deferred(r, err);
    r->is_deferred = true;
    if (r->type->deferred != NULL)
        r->type->deferred(r, err);
    release_head(r, err);
}

static bool fails_too_long(ab_record *r)
{
    return ab_inbox_failing_ms(&r->inbox, ab_reconcile_now(r)) >= r->reconciler->defer_after_ms;
}

/* What changes whenever it is written must not hold back for ever either: a stale write is one more
 * failure. */
void ab_reconcile_fail(ab_record *r, ab_err code, const ab_error *err)
{
    ab_error why = {.code = code};
    if (err != NULL)
        why = *err;
    if (why.text[0] == '\0')
        (void)ab_fail(&why, code, "%s", ab_err_text(code));
    r->type->look_again(r);
    if (ab_err_class_of(code) == AB_CLASS_PERMANENT) {
        defer(r, &why);
        ab_inbox_retry_after(&r->inbox, ab_reconcile_now(r), RETRY_REFUSED_MS);
        return;
    }
    AB_DEBUG(r->reconciler->log, SYNC, "retrying later", AB_KV("object", r->key),
             AB_KV("why", why.text));
    ab_inbox_back_off(&r->inbox, ab_reconcile_now(r));
    if (fails_too_long(r))
        defer(r, &why);
}

void ab_reconcile_wait(ab_record *r)
{
    ab_inbox_retry_after(&r->inbox, ab_reconcile_now(r), WAIT_MS);
}

void ab_reconcile_await_change(ab_record *r, const char *why)
{
    ab_error err = {0};
    ab_inbox_retry_after(&r->inbox, ab_reconcile_now(r), AWAIT_CHANGE_MS);
    if (!fails_too_long(r) || (r->inbox.head == NULL && r->is_deferred))
        return;
    (void)ab_fail(&err, AB_ERR_TIMEOUT, "%s", why);
    defer(r, &err);
}

void ab_reconcile_note_revert(ab_record *r, const char *change)
{
    if (r->inbox.head == NULL && !r->is_deferred)
        r->reverting = change;
}
