/* SPDX-License-Identifier: Apache-2.0
 *
 * The principal's half of a resync (docs/protocol.md): it begins each, tells the agent which of its
 * reports, or of its objects, it holds, and corrects what the agent holds of its desired states.
 * Only here is anything ended at a managed agent that no log says: object by object, when it is
 * proved to be gone.
 */
#include "sync/principal/principal_priv.h"

#include "schema/attributes.h"
#include "sync/object/kind.h"

#include <stdio.h>

#define ANSWER_MS      30000
#define ASKS_APART_MS  1000
#define RETRY_FIRST_MS 5000
#define RETRY_MAX_MS   600000

bool ab_principal_is_control(const ab_event *event)
{
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    return ab_str_is(key, AB_KEY_RESYNC) || ab_str_starts(key, AB_KEY_INVENTORY);
}

static int64_t now_ms(const ab_principal *p)
{
    return ab_clock_mono_ms(p->env.clock);
}

static void wake(const struct peer *peer)
{
    const ab_effects *fx = &peer->principal->env.effects;
    fx->wake(fx->arg, peer->name);
}

static void send(struct peer *peer, ab_resync *r)
{
    r->id = ab_str_of(ab_resync_session_id(peer->resync.session));
    ab_err e = ab_resync_send(peer->writer, r, peer->principal->env.uid);
    if (e != AB_ERR_OK)
        AB_ERROR(peer->principal->env.log, SYNC, "cannot send a resync step",
                 AB_KV("agent", peer->name), AB_KV("why", ab_err_text(e)));
    wake(peer);
}

/* --- what we hold of the agent's --- */

static ab_err hold_error(const char *about, const ab_digest *hash, ab_inventory *inv)
{
    char key[sizeof(AB_KEY_ERROR) + AB_OBJECT_KEY_MAX];
    snprintf(key, sizeof(key), AB_KEY_ERROR "%s", about);
    return ab_inventory_add(inv, &(ab_inventory_entry){.key = ab_str_of(key), .hash = *hash});
}

static ab_err hold_app(const ab_principal_app *app, ab_inventory *inv)
{
    ab_err e = AB_ERR_OK;
    if (!app->exists)
        return e;
    /* One that nobody reported is named too: whoever has none says so then. */
    if (app->has_status || !ab_digest_is_none(&app->status_hash))
        e = ab_inventory_add(inv, &(ab_inventory_entry){.key = ab_str_of(app->key),
                                                        .version = app->status_version,
                                                        .hash = app->status_hash});
    if (e != AB_ERR_OK || app->error == NULL || app->error_ours)
        return e;
    return hold_error(app->key, &app->error_hash, inv);
}

static ab_err hold_mirror(const struct mirror *m, ab_inventory *inv)
{
    ab_inventory_entry entry = {.key = ab_str_of(m->key)};
    if (!ab_mirror_held(m, &entry.version, &entry.hash))
        return AB_ERR_OK;
    ab_err e = ab_inventory_add(inv, &entry);
    if (e != AB_ERR_OK || m->error == NULL || m->error_ours)
        return e;
    return hold_error(m->key, &m->error_hash, inv);
}

static ab_err hold_shared_error(const struct peer *peer, ab_str theirs,
                                const struct shared_error *error, ab_inventory *inv)
{
    char key[AB_OBJECT_KEY_MAX];
    bool is_key = ab_principal_shared_key(peer, theirs, key);
    return is_key ? hold_error(key, &error->hash, inv) : AB_ERR_OK;
}

static ab_err hold_reports(const struct peer *peer, ab_inventory *inv)
{
    ab_err e = AB_ERR_OK;
    for (ab_list_iter i = ab_list_first(&peer->records->apps); i.link != NULL && e == AB_ERR_OK;
         ab_list_next(&i))
        e = hold_app(AB_LINK_OF(i.link, ab_principal_app, in_records), inv);
    for (ab_map_iter i = ab_map_first(peer->errors); i.entry != NULL && e == AB_ERR_OK;
         ab_map_next(&i))
        e = hold_shared_error(peer, i.key, i.value, inv);
    return e;
}

static ab_err hold_mirrors(const struct peer *peer, ab_inventory *inv)
{
    ab_err e = AB_ERR_OK;
    for (ab_list_iter i = ab_list_first(&peer->records->mirrors); i.link != NULL && e == AB_ERR_OK;
         ab_list_next(&i))
        e = hold_mirror(AB_LINK_OF(i.link, struct mirror, in_records), inv);
    return e;
}

static ab_err hold(const struct peer *peer, ab_inventory *inv)
{
    ab_err e = peer->mode == AB_MANAGED ? hold_reports(peer, inv) : hold_mirrors(peer, inv);
    return e == AB_ERR_OK ? ab_inventory_divide(inv, 0) : e;
}

/* --- what the agent is to hold --- */

/* Is it what a managed agent holds of ours? An autonomous one holds nothing but answers. */
static bool is_desired(const struct peer *peer, ab_str key)
{
    return peer->mode == AB_MANAGED && ab_principal_is_object(key);
}

struct expected {
    const struct peer *peer;
    ab_inventory *inv;
    ab_err status;
};

static void add_expected(void *arg, ab_str key)
{
    struct expected *s = arg;
    ab_inventory_entry entry = {.key = key};
    if (s->status != AB_ERR_OK || !is_desired(s->peer, key) ||
        !ab_writer_find(s->peer->writer, key, &entry.hash))
        return;
    s->status = ab_inventory_add(s->inv, &entry);
}

/* --- beginning and ending one --- */

/* What came and is not dealt with yet would look as if the agent had to say it again. */
static bool is_dealt_with(const struct peer *peer)
{
    return peer->caught_up && peer->held == NULL && ab_agent_records_are_done(peer->records);
}

static bool is_ripe(const struct peer *peer)
{
    return peer->mode != 0 && peer->heard && peer->principal->listed &&
           ab_writer_is_ready(peer->writer) && is_dealt_with(peer);
}

/* NULL: it waits for something that ab_principal_resync_sort is called for. */
static ab_link *queue_of(const struct peer *peer)
{
    ab_principal *p = peer->principal;
    const struct peer_resync *r = &peer->resync;
    if (r->session != NULL)
        return &p->resyncs.running;
    if (r->why == NULL)
        return r->was_held && p->env.resync_ms > 0 ? &p->resyncs.periodic : NULL;
    if (r->at > now_ms(p))
        return &p->resyncs.retrying;
    return is_ripe(peer) ? &p->resyncs.ripe : NULL;
}

void ab_principal_resync_sort(struct peer *peer)
{
    struct peer_resync *r = &peer->resync;
    ab_link *queue = queue_of(peer);
    if (queue == NULL)
        ab_link_remove(&r->in_queue);
    else if (queue != r->queue)
        ab_list_append(queue, &r->in_queue);
    if (queue != r->queue && queue == &peer->principal->resyncs.periodic)
        r->next_at = now_ms(peer->principal) + peer->principal->env.resync_ms;
    r->queue = queue;
}

static void close_session(struct peer *peer)
{
    if (peer->resync.session == NULL)
        return;
    ab_resync_session_free(peer->resync.session);
    peer->resync.session = NULL;
    peer->principal->resyncs.under_way--;
    ab_principal_resync_sort(peer);
}

void ab_principal_resyncs_init(ab_principal *p)
{
    ab_link_init(&p->resyncs.running);
    ab_link_init(&p->resyncs.ripe);
    ab_link_init(&p->resyncs.retrying);
    ab_link_init(&p->resyncs.periodic);
}

void ab_principal_resync_init(struct peer *peer)
{
    ab_link_init(&peer->resync.in_queue);
    ab_backoff_init(&peer->resync.backoff, RETRY_FIRST_MS, RETRY_MAX_MS);
}

void ab_principal_resync_stop(struct peer *peer)
{
    close_session(peer);
}

void ab_principal_resync_fini(struct peer *peer)
{
    close_session(peer);
    ab_link_remove(&peer->resync.in_queue);
}

static void retry_later(struct peer *peer, const char *why)
{
    struct peer_resync *r = &peer->resync;
    close_session(peer);
    r->why = why;
    r->at = now_ms(peer->principal) + ab_backoff_next(&r->backoff);
    ab_principal_resync_sort(peer);
}

static ab_err open_session(struct peer *peer)
{
    char id[37];
    ab_err e = ab_uuid(id);
    ab_inventory *mine = e == AB_ERR_OK ? ab_inventory_new() : NULL;
    if (mine == NULL)
        return AB_ERR_NOMEM;
    e = hold(peer, mine);
    if (e != AB_ERR_OK) {
        ab_inventory_free(mine);
        return e;
    }
    peer->resync.session = ab_resync_session_new(ab_str_of(id), mine);
    if (peer->resync.session == NULL)
        return AB_ERR_NOMEM;
    peer->principal->resyncs.under_way++;
    return AB_ERR_OK;
}

static ab_err begin(struct peer *peer)
{
    struct peer_resync *r = &peer->resync;
    ab_resync step = {.step = AB_RESYNC_BEGIN,
                      .confirm = peer->mode == AB_AUTONOMOUS && peer->sweep.guard.confirmed,
                      .namespace = ab_str_of(peer->principal->env.namespace)};
    ab_resync_end_pages(peer->writer);
    if (peer->mode ==
        AB_MANAGED) /* it is asked when the agent has answered: have it read by then */
        (void)ab_principal_watermark_ask(peer);
    ab_err e = open_session(peer);
    if (e == AB_ERR_OK)
        e = ab_resync_session_summary(r->session, &step.summary);
    if (e != AB_ERR_OK)
        return e;
    AB_DEBUG(peer->principal->env.log, SYNC, "resync begins", AB_KV("agent", peer->name),
             AB_KV("why", r->why));
    r->why = NULL;
    r->pages_sent = r->corrected = r->judged = r->unsent = false;
    r->since = ab_writer_newest(peer->writer);
    r->begun_at = now_ms(peer->principal);
    r->deadline = r->begun_at + ANSWER_MS;
    ab_principal_resync_sort(peer);
    send(peer, &step);
    return AB_ERR_OK;
}

static void end(struct peer *peer)
{
    struct peer_resync *r = &peer->resync;
    send(peer, &(ab_resync){.step = AB_RESYNC_END});
    ab_resync_end_pages(peer->writer);
    r->was_held = true;
    close_session(peer);
    ab_backoff_reset(&r->backoff);
    r->at = 0;
    peer->sweep.guard.confirmed = false;
    ab_metric_add(peer->principal->metrics.resyncs, 1);
    AB_INFO(peer->principal->env.log, SYNC, "up to date with the agent",
            AB_KV("agent", peer->name));
    ab_principal_watermark_note_resync(peer);
    ab_principal_resync_go(peer->principal);
}

void ab_principal_resync_due(struct peer *peer, const char *why)
{
    peer->resync.why = why;
    peer->resync.at = 0;
    ab_principal_resync_sort(peer);
    ab_principal_resync_go(peer->principal);
}

ab_err ab_principal_resync(ab_principal *p, const char *agent, const char *why)
{
    if (agent != NULL && ab_principal_peer(p, ab_str_of(agent)) == NULL)
        return AB_ERR_NOTFOUND;
    for (ab_map_iter i = ab_map_first(p->peers); i.entry != NULL; ab_map_next(&i))
        if (agent == NULL || ab_str_is(i.key, agent))
            ab_principal_resync_due(i.value, why);
    return AB_ERR_OK;
}

static struct peer *first(const ab_link *queue)
{
    return ab_link_is_in_use(queue) ? AB_LINK_OF(queue->next, struct peer, resync.in_queue) : NULL;
}

void ab_principal_resync_go(ab_principal *p)
{
    for (struct peer *peer = first(&p->resyncs.ripe);
         peer != NULL && p->resyncs.under_way < p->env.resyncs_max;
         peer = first(&p->resyncs.ripe)) {
        ab_principal_resync_sort(peer); /* something may have come in between */
        if (peer->resync.queue == &p->resyncs.ripe && begin(peer) != AB_ERR_OK)
            retry_later(peer, peer->resync.why);
    }
}

static void check_answers(const ab_principal *p, int64_t now)
{
    for (ab_list_iter i = ab_list_first(&p->resyncs.running); i.link != NULL; ab_list_next(&i)) {
        struct peer *peer = AB_LINK_OF(i.link, struct peer, resync.in_queue);
        if (now >= peer->resync.deadline)
            retry_later(peer, "no answer");
    }
}

static void check_retries(const ab_principal *p)
{
    for (ab_list_iter i = ab_list_first(&p->resyncs.retrying); i.link != NULL; ab_list_next(&i))
        ab_principal_resync_sort(AB_LINK_OF(i.link, struct peer, resync.in_queue));
}

static void check_period(const ab_principal *p, int64_t now)
{
    for (struct peer *peer = first(&p->resyncs.periodic);
         peer != NULL && now >= peer->resync.next_at; peer = first(&p->resyncs.periodic)) {
        peer->resync.why = "period";
        ab_principal_resync_sort(peer);
    }
}

void ab_principal_resync_tick(ab_principal *p)
{
    int64_t now = now_ms(p);
    check_answers(p, now);
    check_retries(p);
    check_period(p, now);
    ab_principal_resync_go(p);
}

/* --- corrections --- */

/* Is the object to be at the agent? */
static enum verdict judge(const struct peer *peer, ab_str key)
{
    const ab_principal *p = peer->principal;
    const ab_principal_app *app = ab_principal_find(p, key);
    if (ab_mirror_exists(p, key))
        return NOT_KNOWN_YET; /* it is being handed over */
    if (app == NULL || !app->exists)
        return ab_principal_shared_verdict(peer, key);
    if (app->peer == peer)
        return FOR_IT;
    return app->moved ? NOT_KNOWN_YET : NOT_FOR_IT; /* it stays until it has arrived elsewhere */
}

static bool is_on_its_way(const struct peer *peer, ab_str key)
{
    return !peer->resync.raised && (ab_writer_queued_since(peer->writer, key, peer->resync.since) ||
                                    ab_outbox_has(ab_writer_outbox(peer->writer), key));
}

static void send_again(struct peer *peer, ab_str key)
{
    ab_principal_app *app = ab_principal_find(peer->principal, key);
    ab_writer_repeat(peer->writer, key);
    if (app == NULL)
        ab_principal_shared_requeue(peer, key);
    else
        app->requeued = app->exists;
}

/* Not while the log is gone through: it may change. What was answered and stands all the same, in a
 * store that was restored for one, is asked again: the agent has its record of it. */
static void advance_apps(const struct peer *peer)
{
    for (ab_list_iter i = ab_list_first(&peer->records->apps); i.link != NULL; ab_list_next(&i)) {
        ab_principal_app *app = AB_LINK_OF(i.link, ab_principal_app, in_records);
        if (ab_requests_forget_answers(&app->requests))
            app->requeued = app->exists;
        if (app->requeued)
            ab_principal_advance(app);
    }
}

/* --- commands --- */

static void end_command(const struct peer *peer, ab_str key)
{
    ab_event_draft draft = {0};
    ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(AB_TYPE_SET_OPERATION));
    ab_event_set_text(&draft, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_APPLICATION));
    if (ab_writer_end_anyway(peer->writer, key, key, &draft, NULL) != AB_ERR_OK)
        AB_ERROR(peer->principal->env.log, SYNC, "out of memory", AB_KV("agent", peer->name));
}

/* The agent has an answer standing to a command that was ended. */
static void end_answered(const struct peer *peer, ab_str key)
{
    if (!ab_writer_has_key(peer->writer, key) && !is_on_its_way(peer, key))
        end_command(peer, key);
}

static bool asks(const struct requests *requests, ab_str id)
{
    const struct request *all[] = {&requests->operation, &requests->refresh, &requests->terminate};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i]->asked && ab_str_is(id, all[i]->id) && !ab_str_is(id, all[i]->answered))
            return true;
    return false;
}

static bool requeue_asking_app(const struct agent_records *r, ab_str id)
{
    for (ab_list_iter i = ab_list_first(&r->apps); i.link != NULL; ab_list_next(&i)) {
        ab_principal_app *app = AB_LINK_OF(i.link, ab_principal_app, in_records);
        if (asks(&app->requests, id)) {
            app->requeued = app->exists;
            return true;
        }
    }
    return false;
}

static bool does_mirror_ask(const struct agent_records *r, ab_str id)
{
    for (ab_list_iter i = ab_list_first(&r->mirrors); i.link != NULL; ab_list_next(&i)) {
        const struct mirror *m = AB_LINK_OF(i.link, struct mirror, in_records);
        if (m->exists && m->is_mirror && asks(&m->requests, id))
            return true;
    }
    return false;
}

/* Who asks for this command still is looked at again. @return false when nobody does */
static bool requeue_asker(const struct peer *peer, ab_str id)
{
    return peer->mode == AB_MANAGED ? requeue_asking_app(peer->records, id)
                                    : does_mirror_ask(peer->records, id);
}

/* A command that stands in the log may have been answered into a log that was lost. */
static void ask_again(void *arg, ab_str key)
{
    const struct peer *peer = arg;
    char copy[sizeof(AB_KEY_COMMAND) + AB_EVENT_ATTR_NAME_MAX]; /* ending it frees the log's own */
    snprintf(copy, sizeof(copy), "%.*s", AB_STR_ARG(key));
    if (ab_writer_queued_since(peer->writer, key, peer->resync.since))
        return;
    if (requeue_asker(peer, ab_str_of(copy + sizeof(AB_KEY_COMMAND) - 1)))
        ab_writer_repeat_command(peer->writer, ab_str_of(copy));
    else
        end_command(peer, ab_str_of(copy));
}

/* --- all of it --- */

struct correction {
    struct peer *peer;
    size_t missing;                /* here, and proved to have been deleted */
    size_t unproved;               /* missing, and not */
    char first[AB_OBJECT_KEY_MAX]; /* of these */
    bool end;
};

static void note_unproved(struct correction *c, ab_str key)
{
    if (c->unproved++ == 0)
        snprintf(c->first, sizeof(c->first), "%.*s", AB_STR_ARG(key));
}

static void check_held(void *arg, const ab_inventory_entry *theirs)
{
    struct correction *c = arg;
    ab_digest ours;
    if (ab_str_starts(theirs->key, AB_KEY_COMMAND))
        end_answered(c->peer, theirs->key);
    if (!is_desired(c->peer, theirs->key) || is_on_its_way(c->peer, theirs->key))
        return;
    if (ab_writer_find(c->peer->writer, theirs->key, &ours)) {
        if (!c->end && !ab_digest_eq(&ours, &theirs->hash))
            send_again(c->peer, theirs->key);
        return;
    }
    if (judge(c->peer, theirs->key) != NOT_FOR_IT) {
        c->peer->resync.unsent = true;
        return;
    }
    if (!ab_deletion_is_allowed(ab_principal_judge_unsent(c->peer, theirs->key, theirs->version))) {
        note_unproved(c, theirs->key);
        return;
    }
    c->missing++;
    if (c->end)
        ab_principal_end_anyway(c->peer, theirs->key);
}

/* Said, and not held. */
static void check_missing(void *arg, ab_str key)
{
    const struct correction *c = arg;
    const ab_resync_session *s = c->peer->resync.session;
    if (is_desired(c->peer, key) && ab_resync_session_covers(s, key) &&
        ab_resync_session_find(s, key) == NULL && !is_on_its_way(c->peer, key))
        send_again(c->peer, key);
}

/* One deletion: what the log still has, and what only the agent has. */
static void end_missing(struct peer *peer, size_t missing)
{
    struct correction c = {.peer = peer, .end = true};
    ab_principal_sweep(peer);
    size_t held = peer->sweep.done ? 0 : peer->sweep.guard.held;
    if ((missing > 0 || held == 0) &&
        ab_principal_may_end(peer, missing + held, ab_resync_session_count(peer->resync.session)))
        ab_resync_session_each(peer->resync.session, check_held, &c);
}

/* All pages are in hand. Without the whole store, and its watermark, nothing is known to be gone.
 */
static void correct(struct peer *peer)
{
    const ab_principal *p = peer->principal;
    bool may_end = p->synced && (peer->sweep.guard.confirmed || ab_principal_watermark_ask(peer));
    struct correction c = {.peer = peer};
    ab_resync_session_each(peer->resync.session, check_held, &c);
    ab_writer_each(peer->writer, "", check_missing, &c);
    ab_writer_each(peer->writer, AB_KEY_COMMAND, ask_again, peer);
    peer->resync.corrected = true;
    advance_apps(peer);
    ab_mirror_requeue_agent(peer->records);
    if (peer->mode != AB_MANAGED)
        return;
    peer->proof.again = !may_end;
    peer->resync.judged = may_end;
    if (!may_end)
        return;
    ab_principal_watermark_hold(peer, &peer->proof.agent, c.unproved, c.first);
    end_missing(peer, c.missing);
}

static void go_on(struct peer *peer)
{
    struct peer_resync *r = &peer->resync;
    r->deadline = now_ms(peer->principal) + ANSWER_MS;
    if (!r->corrected && ab_resync_session_is_complete(r->session))
        correct(peer);
    if (r->corrected && !r->pages_sent)
        end(peer);
}

/* --- what the agent says --- */

static void take_page(struct peer *peer, const ab_event *event)
{
    ab_error err = {0};
    ab_resync_page *page = NULL;
    const char *why = NULL;
    if (ab_resync_page_decode(ab_event_data(event), &page, &err) != AB_ERR_OK)
        why = err.text;
    else if (peer->resync.session == NULL)
        why = "belongs to no running resync";
    else
        why = ab_resync_session_take(peer->resync.session, page);
    if (why != NULL)
        AB_DEBUG(peer->principal->env.log, SYNC, "resync page skipped",
                 AB_KV("agent", (const char *)peer->name), AB_KV("why", why));
    ab_resync_page_free(page);
    if (why == NULL)
        go_on(peer);
}

static ab_err compare_summary(struct peer *peer, const ab_resync_summary *summary)
{
    struct expected s = {.peer = peer, .inv = ab_inventory_new()};
    if (s.inv == NULL)
        return AB_ERR_NOMEM;
    ab_writer_each(peer->writer, "", add_expected, &s);
    ab_err e = s.status;
    if (e == AB_ERR_OK)
        e = ab_resync_session_compare(peer->resync.session, summary, s.inv);
    ab_inventory_free(s.inv);
    return e;
}

static void take_answer(struct peer *peer, const ab_resync *answer)
{
    struct peer_resync *r = &peer->resync;
    r->raised = ab_writer_exceed(peer->writer, answer->summary.newest);
    ab_principal_watermark_epoch(peer);
    ab_principal_watermark_note_version(peer, answer->summary.newest);
    ab_err e = compare_summary(peer, &answer->summary);
    if (e == AB_ERR_OK)
        e = ab_resync_send_pages(peer->writer, r->session, &answer->want);
    if (e == AB_ERR_INVALID)
        return; /* answered already */
    if (e != AB_ERR_OK) {
        retry_later(peer, ab_err_text(e));
        return;
    }
    r->pages_sent = answer->want.count > 0;
    if (peer->mode == AB_AUTONOMOUS)
        ab_principal_note_held(peer, answer->held);
    ab_resync want = {.step = AB_RESYNC_WANT, .want = ab_resync_session_want(r->session)};
    if (want.want.count > 0)
        send(peer, &want);
    wake(peer);
    go_on(peer);
}

static void take_step(struct peer *peer, const ab_event *event)
{
    ab_error err = {0};
    ab_resync *r = NULL;
    if (ab_resync_decode(ab_event_data(event), &r, &err) != AB_ERR_OK) {
        AB_WARN(peer->principal->env.log, SYNC, "unreadable resync step skipped",
                AB_KV("agent", peer->name), AB_KV("why", (const char *)err.text));
        return;
    }
    const ab_resync_session *s = peer->resync.session;
    bool ours =
        s != NULL && ab_writer_is_ready(peer->writer) && ab_str_is(r->id, ab_resync_session_id(s));
    if (r->step == AB_RESYNC_ASK) {
        close_session(peer); /* it has forgotten the one that may be under way */
        peer->resync.why = "the agent asks for a resync";
        peer->resync.at = peer->resync.begun_at + ASKS_APART_MS;
        ab_principal_resync_sort(peer);
        ab_principal_resync_go(peer->principal);
    } else if (ours && r->step == AB_RESYNC_ANSWER) {
        take_answer(peer, r);
    } else if (ours && r->step == AB_RESYNC_TAKEN) {
        peer->resync.pages_sent = false;
        go_on(peer);
    }
    ab_resync_free(r);
}

void ab_principal_control(struct peer *peer, const ab_event *event)
{
    if (ab_event_data(event).ptr == NULL)
        return;
    if (ab_str_is(ab_event_attr(event, AB_CE_PARTITIONKEY), AB_KEY_RESYNC))
        take_step(peer, event);
    else if (ab_writer_is_ready(peer->writer))
        take_page(peer, event);
}
