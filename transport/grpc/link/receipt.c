/* SPDX-License-Identifier: Apache-2.0
 *
 * What the senders of events are told of them, on both lanes: each exactly once, by a run of the
 * link and never from inside a send.
 */
#include "transport/grpc/link/link_priv.h"

#include <stdlib.h>

ab_grpc_receipt *ab_grpc_receipt_new(const ab_grpc_link *l, ab_event *event, int64_t deadline_ms,
                                     ab_sent done, void *arg)
{
    ab_grpc_receipt *r = malloc(sizeof(*r));
    if (r == NULL)
        return NULL;
    int64_t now_ms = deadline_ms <= 0 ? 0 : ab_clock_mono_ms(l->env->env->clock);
    *r = (ab_grpc_receipt){.done = done,
                           .arg = arg,
                           .event = ab_event_ref(event),
                           .deadline_ms = deadline_ms <= 0 ? INT64_MAX : now_ms + deadline_ms};
    return r;
}

static void free_receipt(ab_grpc_receipt *r)
{
    ab_event_unref(r->event);
    free(r);
}

bool ab_grpc_receipt_fits(const ab_grpc_link *l, const ab_grpc_receipt *r)
{
    size_t bytes = ab_event_size(r->event);
    return bytes <= l->env->message_max &&
           (l->peer.message_max == 0 || bytes <= l->peer.message_max);
}

ab_grpc_receipt *ab_grpc_receipt_take(struct ab_grpc_receipts *list)
{
    ab_grpc_receipt *r = STAILQ_FIRST(list);
    if (r != NULL)
        STAILQ_REMOVE_HEAD(list, at);
    return r;
}

void ab_grpc_receipt_finish(ab_grpc_link *l, ab_grpc_receipt *r, ab_err code)
{
    r->code = code;
    STAILQ_INSERT_TAIL(&l->finished, r, at);
}

static void tell(ab_grpc_receipt *r)
{
    ab_error err = {0};
    if (r->code != AB_ERR_OK)
        ab_fail(&err, r->code, "event not sent: %s", ab_err_text(r->code));
    r->done(r->arg, r->code, r->code == AB_ERR_OK ? NULL : &err);
    free_receipt(r);
}

void ab_grpc_receipt_report(ab_grpc_link *l)
{
    struct ab_grpc_receipts due = STAILQ_HEAD_INITIALIZER(due);
    ab_grpc_receipt *r = NULL;
    STAILQ_CONCAT(&due, &l->finished);
    while ((r = ab_grpc_receipt_take(&due)) != NULL)
        tell(r);
}

void ab_grpc_receipt_fini(ab_grpc_link *l)
{
    ab_grpc_receipt *r = NULL;
    while ((r = ab_grpc_receipt_take(&l->finished)) != NULL)
        free_receipt(r);
}
