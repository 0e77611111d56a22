/* SPDX-License-Identifier: Apache-2.0 */
#include "services/sender.h"

#include <stdlib.h>

struct sending {
    ab_sender *sender;
    ab_outgoing *outgoing;
};

void ab_sender_init(ab_sender *p, const ab_sender *values)
{
    *p = *values;
    ab_link_init(&p->in_unsent);
}

static void free_if_over(ab_sender *p)
{
    if (p->in_flight == 0)
        free(p);
}

static void sent(void *arg, ab_err code, const ab_error *err)
{
    struct sending *s = arg;
    ab_sender *p = s->sender;
    ab_outgoing *g = s->outgoing;
    free(s);
    p->in_flight--;
    if (p->outbox == NULL) {
        free_if_over(p);
        return;
    }
    ab_traces_sent(p->traces, p->agent, ab_outgoing_event(g), code);
    if (ab_err_class_of(code) == AB_CLASS_PERMANENT) {
        ab_error why = {0};
        if (err != NULL)
            why = *err;
        if (why.text[0] == '\0')
            (void)ab_fail(&why, code, "%s", ab_err_text(code));
        /* The event must live while it is told about. */
        ab_event *event = ab_event_ref(ab_outgoing_event(g));
        ab_outbox_done(p->outbox, g, code, ab_clock_mono_ms(p->clock));
        p->unsendable(p->arg, p->agent, event, &why);
        ab_event_unref(event);
    } else {
        ab_outbox_done(p->outbox, g, code, ab_clock_mono_ms(p->clock));
    }
    ab_sender_run(p);
}

/* @return false when nothing more can be sent now */
static bool send_one(ab_sender *p, ab_outgoing *g)
{
    struct sending *s = malloc(sizeof(*s));
    ab_err e = AB_ERR_NOMEM;
    if (s != NULL) {
        *s = (struct sending){p, g};
        e = ab_transport_send(p->transport, p->agent, AB_LANE_STATE, ab_outgoing_event(g), 0, sent,
                              s);
    }
    if (e == AB_ERR_OK) {
        p->in_flight++;
        return true;
    }
    free(s);
    ab_outbox_return(p->outbox, g);
    return false;
}

void ab_sender_abandon(ab_sender *p)
{
    p->outbox = NULL;
    ab_link_remove(&p->in_unsent);
    free_if_over(p);
}

void ab_sender_run(ab_sender *p)
{
    int64_t now = ab_clock_mono_ms(p->clock);
    ab_outgoing *g = ab_outbox_next(p->outbox, now);
    while (g != NULL && send_one(p, g))
        g = ab_outbox_next(p->outbox, now);
    if (p->unsent != NULL && !ab_outbox_is_idle(p->outbox))
        ab_list_append(p->unsent, &p->in_unsent);
}

void ab_sender_run_all(ab_link *unsent)
{
    ab_link due;
    ab_link_init(&due);
    ab_list_move_all(unsent, &due);
    for (ab_link *l = ab_list_pop(&due); l != NULL; l = ab_list_pop(&due))
        ab_sender_run(AB_LINK_OF(l, ab_sender, in_unsent));
}
