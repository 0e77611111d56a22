/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/page/viewers.h"

#include "net/timer.h"
#include "services/principal/page/rows.h"

#include <stdlib.h>
#include <sys/queue.h>

#define TURN_MS    250
#define TURNS      4  /* in which each agent is looked at once */
#define TURN_MIN   64 /* agents that are looked at in a turn at least */
#define ALIVE      60 /* turns after which a viewer who was sent nothing is sent an empty line */
#define EVENT_ROWS 64 /* agents in one event */
#define EVENT_MAX  (8u * 1024 * 1024)

typedef struct viewer {
    LIST_ENTRY(viewer) link;
    ab_page_viewers *all;
    ab_https_request *request;
    uint64_t seen;  /* it knows all changes up to this one */
    bool begun;     /* it was told that all agents follow */
    unsigned quiet; /* turns in which it was sent nothing */
    ab_resource_grant grant;
} viewer;

struct ab_page_viewers {
    ab_page_source source;
    uv_timer_t *turn;
    ab_page_rows *rows; /* NULL while nobody looks */
    LIST_HEAD(, viewer) viewers;
    size_t count;
    ab_buf principal; /* as it was last told */
};

/* --- what is sent --- */

/* FULL: it is sent again when there is room. */
static ab_err send_event(viewer *v, const ab_buf *event)
{
    ab_err e = ab_buf_status(event);
    if (e == AB_ERR_OK)
        e = ab_https_send(v->request, ab_buf_str(event));
    if (e == AB_ERR_OK)
        v->quiet = 0;
    else if (e != AB_ERR_FULL)
        ab_https_abort(v->request);
    return e;
}

static ab_err send_begin(viewer *v)
{
    ab_buf event = ab_buf_up_to(EVENT_MAX);
    ab_buf_puts(&event, "event: principal\ndata: ");
    ab_buf_put(&event, ab_buf_str(&v->all->principal));
    ab_buf_puts(&event, "\n\nevent: begin\ndata: {}\n\n");
    ab_err e = send_event(v, &event);
    v->begun = e == AB_ERR_OK;
    v->seen = 0;
    ab_buf_fini(&event);
    return e;
}

static ab_err send_rows(viewer *v, const ab_page_row *row)
{
    uint64_t seen = v->seen;
    ab_buf event = ab_buf_up_to(EVENT_MAX);
    ab_buf_puts(&event, "event: agents\ndata: [");
    for (size_t i = 0; i < EVENT_ROWS && row != NULL; i++, row = ab_page_row_next(row)) {
        if (i > 0)
            ab_buf_putc(&event, ',');
        ab_buf_put(&event, ab_page_row_text(row));
        seen = ab_page_row_number(row);
    }
    ab_buf_puts(&event, "]\n\n");
    ab_err e = send_event(v, &event);
    if (e == AB_ERR_OK)
        v->seen = seen;
    ab_buf_fini(&event);
    return e;
}

static void send_changes(viewer *v)
{
    ab_err e = v->begun ? AB_ERR_OK : send_begin(v);
    const ab_page_row *row = e == AB_ERR_OK ? ab_page_rows_after(v->all->rows, v->seen) : NULL;
    while (row != NULL && send_rows(v, row) == AB_ERR_OK)
        row = ab_page_rows_after(v->all->rows, v->seen);
}

static void send_to_all(const ab_page_viewers *all, const ab_buf *event)
{
    viewer *v;
    LIST_FOREACH(v, &all->viewers, link)
    {
        if (v->begun && send_event(v, event) != AB_ERR_OK)
            v->begun = false; /* it is told everything again when it has room */
    }
}

static void tell_principal(ab_page_viewers *all)
{
    ab_buf now = ab_buf_up_to(EVENT_MAX);
    ab_buf event = ab_buf_up_to(EVENT_MAX);
    all->source.write_principal(all->source.arg, &now);
    if (ab_buf_status(&now) == AB_ERR_OK &&
        !ab_str_eq(ab_buf_str(&now), ab_buf_str(&all->principal))) {
        ab_buf_clear(&all->principal);
        ab_buf_put(&all->principal, ab_buf_str(&now));
        ab_buf_printf(&event, "event: principal\ndata: %.*s\n\n", AB_STR_ARG(ab_buf_str(&now)));
        send_to_all(all, &event);
    }
    ab_buf_fini(&now);
    ab_buf_fini(&event);
}

/* A comment; a viewer that has gone without a word is found by it. */
static void keep_alive(viewer *v)
{
    if (++v->quiet >= ALIVE && ab_https_send(v->request, AB_STR(":\n\n")) != AB_ERR_FULL)
        v->quiet = 0;
}

static void on_turn(uv_timer_t *timer)
{
    ab_page_viewers *all = timer->data;
    viewer *v;
    size_t share = ab_page_rows_count(all->rows) / TURNS + 1;
    ab_page_rows_refresh(all->rows, share < TURN_MIN ? TURN_MIN : share);
    tell_principal(all);
    LIST_FOREACH(v, &all->viewers, link)
    {
        send_changes(v);
        keep_alive(v);
    }
}

/* --- who looks --- */

struct filling {
    ab_page_rows *rows;
    ab_err e;
};

static void fill_row(void *arg, ab_str agent)
{
    struct filling *f = arg;
    if (f->e == AB_ERR_OK)
        f->e = ab_page_rows_add(f->rows, agent);
}

/* The first one has come. */
static ab_err begin(ab_page_viewers *all)
{
    struct filling f = {ab_page_rows_new(all->source.write_agent, all->source.arg), AB_ERR_OK};
    if (f.rows == NULL)
        return AB_ERR_NOMEM;
    all->source.each(all->source.arg, fill_row, &f);
    if (f.e != AB_ERR_OK) {
        ab_page_rows_free(f.rows);
        return f.e;
    }
    all->rows = f.rows;
    uv_timer_start(all->turn, on_turn, 0, TURN_MS);
    return AB_ERR_OK;
}

/* The last one has gone. */
static void end(ab_page_viewers *all)
{
    uv_timer_stop(all->turn);
    ab_page_rows_free(all->rows);
    all->rows = NULL;
    ab_buf_clear(&all->principal);
}

static void on_writable(void *arg)
{
    send_changes(arg);
}

static void on_over(void *arg, ab_err why, unsigned close_code)
{
    viewer *v = arg;
    (void)why;
    (void)close_code;
    LIST_REMOVE(v, link);
    if (--v->all->count == 0)
        end(v->all);
    ab_resource_grant_fini(&v->grant);
    free(v);
}

static bool may_go_on(void *arg)
{
    viewer *v = arg;
    return ab_resource_grant_holds(&v->grant);
}

static const ab_https_handler handler = {
    .on_writable = on_writable, .may_go_on = may_go_on, .on_over = on_over};

void ab_page_viewers_take(ab_page_viewers *all, ab_https_request *request,
                          ab_resource_identities *ids, ab_str authorization)
{
    static const ab_http_field fields[] = {
        {{"content-type", 12}, {"text/event-stream", 17}},
        {{"cache-control", 13}, {"no-store", 8}},
    };
    viewer *v = calloc(1, sizeof(*v));
    if (v == NULL || (all->count == 0 && begin(all) != AB_ERR_OK)) {
        free(v);
        return;
    }
    *v = (viewer){.all = all, .request = request};
    ab_resource_grant_take(&v->grant, ids, authorization, "*");
    LIST_INSERT_HEAD(&all->viewers, v, link);
    all->count++;
    ab_https_take(request, &handler, v);
    if (ab_https_answer(request, 200, fields, 2, -1) != AB_ERR_OK)
        ab_https_abort(request);
}

void ab_page_viewers_note(ab_page_viewers *all, ab_str agent, bool served)
{
    if (all->rows == NULL)
        return;
    if (served) {
        /* Without memory it is missing until the page is loaded again. */
        (void)!ab_page_rows_add(all->rows, agent);
        return;
    }
    ab_page_rows_remove(all->rows, agent);
    ab_buf event = ab_buf_up_to(EVENT_MAX);
    ab_buf_printf(&event, "event: gone\ndata: [\"%.*s\"]\n\n", AB_STR_ARG(agent));
    send_to_all(all, &event);
    ab_buf_fini(&event);
}

/* --- life --- */

ab_page_viewers *ab_page_viewers_new(uv_loop_t *loop, const ab_page_source *source)
{
    ab_page_viewers *all = calloc(1, sizeof(*all));
    uv_timer_t *turn = all == NULL ? NULL : ab_timer_new(loop, all);
    if (turn == NULL) {
        free(all);
        return NULL;
    }
    *all = (ab_page_viewers){.source = *source, .turn = turn};
    ab_buf_init(&all->principal, EVENT_MAX);
    LIST_INIT(&all->viewers);
    return all;
}

void ab_page_viewers_free(ab_page_viewers *all)
{
    if (all == NULL)
        return;
    ab_timer_free(all->turn);
    ab_buf_fini(&all->principal);
    free(all);
}
