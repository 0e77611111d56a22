/* SPDX-License-Identifier: Apache-2.0
 *
 * A log that argocd-agent's principal has asked for: what the spoke answers, in messages of data.
 * One that is followed with timestamps goes on when its call was lost, as argocd-agent's does: by
 * another call of the same request, from the second of the last line on. How many of those lines
 * the principal had got nobody knows, so they come again.
 */
#include "live/resource/logs.h"
#include "live/gopeer/principal/principal_priv.h"
#include "live/resource/service.h"

#include <stdlib.h>

/* So long argocd-agent tries to go on. */
#define GIVE_UP_MS 30000

typedef struct {
    ab_gopeer_reply reply; /* first */
    ab_link held;          /* p->held: its call was lost */
    int64_t give_up_ms;    /* when it has been without one for too long; 0: it has sent something */
    char *target;
    ab_resource_map map; /* of `target` */
    bool resumable;
    ab_resource_logs lines; /* where it is */
} log_reply;

static void free_reply(ab_gopeer_reply *r)
{
    log_reply *l = (log_reply *)r;
    ab_link_remove(&l->held);
    ab_gopeer_reply_fini(r);
    ab_resource_logs_fini(&l->lines);
    free(l->target);
    free(l);
}

/* ----- what the spoke answers ----- */

static bool on_lost(ab_gopeer_reply *r)
{
    log_reply *l = (log_reply *)r;
    int64_t now_ms = ab_clock_mono_ms(r->p->env.clock);
    if (l->give_up_ms == 0)
        l->give_up_ms = now_ms + GIVE_UP_MS;
    if (!l->resumable || now_ms >= l->give_up_ms)
        return false;
    if (!ab_link_is_in_use(&l->held))
        ab_list_append(&r->p->held, &l->held);
    ab_gopeer_reply_close(r);
    return true;
}

static void on_data(ab_gopeer_reply *r, ab_str bytes)
{
    log_reply *l = (log_reply *)r;
    l->give_up_ms = 0;
    ab_buf whole = ab_buf_up_to(2u * AB_RESOURCE_LINE_MAX);
    ab_err e = l->resumable ? ab_resource_logs_feed(&l->lines, bytes, &whole) : AB_ERR_OK;
    if (e == AB_ERR_CONFLICT && on_lost(r)) {
        ab_buf_fini(&whole);
        return; /* lines are missing: it is asked for again */
    }
    if (e != AB_ERR_OK) {
        ab_gopeer_reply_end(r, AB_STR("the log cannot be read"));
    } else {
        ab_str data = l->resumable ? ab_buf_str(&whole) : bytes;
        if (data.len > 0)
            ab_gopeer_reply_put(r, (ab_gopeer_side_message){.data = data});
        ab_gopeer_reply_flush(r);
    }
    ab_buf_fini(&whole);
}

/* What has no newline. */
static void on_end(ab_gopeer_reply *r)
{
    log_reply *l = (log_reply *)r;
    ab_str rest = ab_buf_str(&l->lines.line);
    if (rest.len > 0)
        ab_gopeer_reply_put(r, (ab_gopeer_side_message){.data = rest});
}

/* ----- going on ----- */

static const ab_gopeer_reply_use use = {.kind = AB_SIDE_LOGS,
                                        .on_data = on_data,
                                        .on_end = on_end,
                                        .on_lost = on_lost,
                                        .free = free_reply};

static void ask(log_reply *l, ab_str target)
{
    (void)ab_gopeer_reply_ask(&l->reply, &(ab_live_request){.service = AB_STR(AB_RESOURCE_SERVICE),
                                                            .method = AB_STR("GET"),
                                                            .path = target});
}

/* @return false: it cannot yet */
static bool go_on(log_reply *l)
{
    if (ab_gopeer_reply_open(&l->reply) != AB_ERR_OK)
        return false;
    ab_link_remove(&l->held);
    ab_buf target = ab_buf_up_to(2u * AB_RESOURCE_TARGET_MAX);
    ab_resource_logs_resume(&l->lines, &l->map, &target);
    l->lines.resumed = false;
    ask(l, ab_buf_str(&target));
    ab_buf_fini(&target);
    return true;
}

void ab_gopeer_principal_resume_logs(ab_gopeer_principal *p)
{
    int64_t now_ms = ab_clock_mono_ms(p->env.clock);
    for (ab_list_iter i = ab_list_first(&p->held); i.link != NULL; ab_list_next(&i)) {
        log_reply *l = AB_LINK_OF(i.link, log_reply, held);
        if ((!p->connected || !go_on(l)) && now_ms >= l->give_up_ms)
            free_reply(&l->reply);
    }
}

void ab_gopeer_principal_drop_logs(ab_gopeer_principal *p)
{
    while (ab_link_is_in_use(&p->held))
        free_reply(&AB_LINK_OF(p->held.next, log_reply, held)->reply);
}

/* ----- the request ----- */

static ab_err read_request(log_reply *l, ab_str data, ab_error *err)
{
    ab_buf target = ab_buf_up_to(AB_RESOURCE_TARGET_MAX);
    ab_err e = ab_gopeer_wire_read_logs(data, &target, err);
    if (e == AB_ERR_OK)
        l->target = ab_buf_take(&target);
    ab_buf_fini(&target);
    if (e != AB_ERR_OK)
        return e;
    /* What cannot be read is the spoke's to refuse. */
    l->resumable =
        ab_resource_map_read(AB_STR("GET"), ab_str_of(l->target), &l->map, NULL) == AB_ERR_OK &&
        ab_resource_logs_can_resume(&l->map);
    return AB_ERR_OK;
}

void ab_gopeer_principal_take_logs(ab_gopeer_principal *p, const char *id, ab_str data)
{
    ab_error err = {0};
    log_reply *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return; /* whoever asks has a deadline */
    ab_link_init(&l->held);
    ab_resource_logs_init(&l->lines, ab_clock_wall_us(p->env.clock));
    if (ab_gopeer_reply_init(&l->reply, &use, p, id) != AB_ERR_OK)
        free_reply(&l->reply);
    else if (read_request(l, data, &err) == AB_ERR_OK)
        ask(l, ab_str_of(l->target));
    else
        ab_gopeer_reply_end(&l->reply, ab_str_of(err.text));
}
