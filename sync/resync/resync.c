/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/resync/resync.h"

#include "schema/attributes.h"
#include "schema/catalogue.h"
#include "schema/epoch.h"

#include <stdio.h>
#include <stdlib.h>

/* Of pages in hand: they are kept until the last has come, and whoever sends them may invent what
 * they name. 200,000 objects. */
#define PAGES_BYTES_MAX ((size_t)32 * 1024 * 1024)

void ab_resync_init(ab_resync *r, const ab_resync_env *env)
{
    r->env = *env;
}

static bool is_principal(const ab_resync *r)
{
    return r->env.principal_uid != NULL;
}

static void heard_now(ab_resync *r)
{
    r->heard_at = ab_clock_mono_ms(r->env.clock);
}

/* --- to the other end --- */

static ab_event_draft draft_of(ab_type type, ab_str data)
{
    ab_event_draft draft = {.data = data};
    ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(type));
    ab_event_set_text(&draft, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_RESYNC));
    return draft;
}

static ab_err queue_message(ab_resync *r, const char *key, ab_type type, ab_resync_message *m)
{
    ab_digest digest;
    if (m->id.ptr == NULL)
        m->id = ab_str_of(r->id);
    ab_buf data = ab_buf_up_to(AB_EVENT_DATA_MAX);
    ab_resync_message_encode(m, &data);
    ab_err e = ab_buf_status(&data);
    if (e == AB_ERR_OK)
        e = ab_digest_of(ab_buf_str(&data), &digest);
    if (e == AB_ERR_OK) {
        ab_event_draft draft = draft_of(type, ab_buf_str(&data));
        if (type == AB_TYPE_RESYNC)
            ab_event_set_text(&draft, AB_CE_PRINCIPALUID, r->env.principal_uid);
        e = ab_writer_state(r->env.writer, ab_str_of(key), ab_str_of(key), &draft, &digest, NULL);
    }
    ab_buf_fini(&data);
    r->env.role->wake(r->env.arg);
    return e;
}

/* A step that is lost ends the session at the principal's deadline. */
static void send_step(ab_resync *r, ab_resync_message *m)
{
    ab_err e = queue_message(r, AB_KEY_RESYNC, AB_TYPE_RESYNC, m);
    if (e != AB_ERR_OK)
        AB_ERROR(r->env.log, SYNC, "cannot send a resync step", AB_KV("agent", r->env.agent),
                 AB_KV("why", ab_err_text(e)));
}

static ab_err send_pages(ab_resync *r, const ab_resync_want *want)
{
    char key[sizeof(AB_KEY_INVENTORY) + 8];
    ab_err e = AB_ERR_OK;
    for (size_t i = 0; i < want->count && e == AB_ERR_OK; i++) {
        size_t page = want->pages[i];
        ab_resync_message m = {.step = AB_RESYNC_PAGE, .page = page, .inventory = r->mine};
        snprintf(key, sizeof(key), AB_KEY_INVENTORY "%zu", page);
        if (page < ab_inventory_sum(r->mine).pages)
            e = queue_message(r, key, AB_TYPE_INVENTORY, &m);
    }
    return e;
}

static void end_page(void *arg, ab_str key)
{
    ab_writer *w = arg;
    ab_event_draft draft = draft_of(AB_TYPE_INVENTORY, AB_STR_NONE);
    /* One that fails is ended by the next resync. */
    ab_err e = ab_writer_end(w, key, key, &draft, NULL);
    (void)e;
}

static void end_pages(const ab_resync *r)
{
    ab_writer_each(r->env.writer, AB_KEY_INVENTORY, end_page, r->env.writer);
}

/* --- a session --- */

static void close_session(ab_resync *r)
{
    for (size_t i = 0; r->pages != NULL && i < r->theirs->summary.pages; i++)
        ab_inventory_free(r->pages[i]);
    free(r->pages);
    free(r->want);
    ab_inventory_free(r->mine);
    ab_resync_message_free(r->theirs);
    r->pages = NULL;
    r->want = NULL;
    r->mine = NULL;
    r->theirs = NULL;
    r->want_count = r->awaited = r->bytes = 0;
    r->pages_sent = false;
    r->state = AB_RESYNC_IDLE;
}

void ab_resync_stop(ab_resync *r)
{
    close_session(r);
    ab_resync_message_free(r->begin);
    r->begin = NULL;
}

static void fail_session(ab_resync *r, ab_err e)
{
    close_session(r);
    r->env.role->over(r->env.arg, ab_err_text(e));
}

/* @param m  the step that will tell it: gets what we hold */
static ab_err open_session(ab_resync *r, ab_str id, ab_resync_message *m)
{
    close_session(r);
    end_pages(r);
    snprintf(r->id, sizeof(r->id), "%.*s", AB_STR_ARG(id));
    r->mine = ab_inventory_new();
    ab_err e = r->mine == NULL ? AB_ERR_NOMEM : r->env.role->hold(r->env.arg, r->mine);
    if (e == AB_ERR_OK)
        e = ab_inventory_divide(r->mine, 0);
    if (e != AB_ERR_OK) {
        close_session(r);
        return e;
    }
    r->state = AB_RESYNC_TOLD;
    r->since = ab_writer_newest(r->env.writer);
    heard_now(r);
    m->summary = ab_inventory_sum(r->mine);
    r->env.role->tell(r->env.arg, m);
    return AB_ERR_OK;
}

/* Learn which pages differ from what they should be. `theirs` is the session's from now on. */
static ab_err compare(ab_resync *r, ab_resync_message *theirs)
{
    size_t count = theirs->summary.pages;
    ab_inventory *expected = ab_inventory_new();
    r->theirs = theirs;
    r->want = calloc(count, sizeof(*r->want));
    r->pages = calloc(count, sizeof(ab_inventory *));
    ab_err e = AB_ERR_NOMEM;
    if (expected != NULL && r->want != NULL && r->pages != NULL) {
        r->env.role->expect(r->env.arg, expected);
        e = ab_inventory_divide(expected, count);
    }
    for (size_t i = 0; i < count && e == AB_ERR_OK; i++)
        if (!ab_digest_eq(&theirs->summary.digests[i], &ab_inventory_sum(expected).digests[i]))
            r->want[r->want_count++] = (uint16_t)i;
    ab_inventory_free(expected);
    r->awaited = r->want_count;
    r->state = AB_RESYNC_COMPARED;
    return e;
}

static void end_session(ab_resync *r)
{
    if (is_principal(r))
        send_step(r, &(ab_resync_message){.step = AB_RESYNC_END});
    end_pages(r);
    r->env.role->wake(r->env.arg);
    close_session(r);
    r->env.role->over(r->env.arg, NULL);
}

/* Pages that come while our answer waits may be for an answer from before a restart: the principal
 * corrects by that, and never gets ours, whose place this step takes. */
static void send_taken(ab_resync *r)
{
    if (r->repeated && ab_outbox_has(ab_writer_outbox(r->env.writer), AB_STR(AB_KEY_RESYNC)))
        r->why = "restarted during a resync";
    send_step(r, &(ab_resync_message){.step = AB_RESYNC_TAKEN});
}

/* What has come may have been the last that was waited for. */
static void go_on(ab_resync *r)
{
    heard_now(r);
    if (r->state == AB_RESYNC_COMPARED && r->awaited == 0) {
        r->state = AB_RESYNC_CORRECTED;
        r->env.role->correct(r->env.arg);
        if (!is_principal(r) && r->state == AB_RESYNC_CORRECTED && r->want_count > 0)
            send_taken(r);
    }
    if (is_principal(r) && r->state == AB_RESYNC_CORRECTED && !r->pages_sent)
        end_session(r);
}

/* --- the agent's end --- */

static void ask(ab_resync *r)
{
    char id[37];
    if (ab_uuid(id) != AB_ERR_OK)
        return;
    send_step(r, &(ab_resync_message){
                     .step = AB_RESYNC_ASK, .id = ab_str_of(id), .why = ab_str_of(r->why)});
    r->why = NULL;
}

static void answer(ab_resync *r)
{
    ab_resync_message *begin = r->begin, m = {.step = AB_RESYNC_ANSWER};
    r->begin = NULL;
    r->why = NULL; /* the answer says all that one was to be asked for */
    r->repeated = r->id[0] == '\0' || ab_str_is(begin->id, r->id);
    r->raised = ab_writer_exceed(r->env.writer, begin->summary.newest);
    ab_err e = open_session(r, begin->id, &m);
    if (e != AB_ERR_OK)
        ab_resync_message_free(begin);
    else
        e = compare(r, begin);
    if (e != AB_ERR_OK) {
        fail_session(r, e);
        return;
    }
    m.want = (ab_resync_want){r->want_count, r->want};
    send_step(r, &m);
    go_on(r);
}

void ab_resync_go(ab_resync *r)
{
    if ((r->why == NULL && r->begin == NULL) || !r->env.role->is_ready(r->env.arg))
        return;
    if (r->begin != NULL)
        answer(r);
    else if (r->state == AB_RESYNC_IDLE)
        ask(r); /* not while one is under way: the next step of that would take its place */
}

void ab_resync_ask(ab_resync *r, const char *why)
{
    r->why = why;
    ab_resync_go(r);
}

/* --- the principal's end --- */

ab_err ab_resync_begin(ab_resync *r, const char *why)
{
    char id[37];
    ab_resync_message m = {.step = AB_RESYNC_BEGIN};
    ab_err e = ab_uuid(id);
    if (e == AB_ERR_OK)
        e = open_session(r, ab_str_of(id), &m);
    if (e != AB_ERR_OK)
        return e;
    AB_DEBUG(r->env.log, SYNC, "resync begins", AB_KV("agent", r->env.agent), AB_KV("why", why));
    send_step(r, &m);
    return AB_ERR_OK;
}

static void take_answer(ab_resync *r, const ab_event *event, ab_resync_message *m)
{
    r->raised = ab_writer_exceed(r->env.writer, m->summary.newest);
    (void)r->env.role->heard(r->env.arg, event, m);
    ab_err e = compare(r, m);
    if (e == AB_ERR_OK)
        e = send_pages(r, &m->want);
    if (e != AB_ERR_OK) {
        fail_session(r, e);
        return;
    }
    r->pages_sent = m->want.count > 0;
    if (r->want_count > 0)
        send_step(r,
                  &(ab_resync_message){.step = AB_RESYNC_WANT, .want = {r->want_count, r->want}});
    go_on(r);
}

/* --- what is received --- */

static bool is_ours(const ab_resync *r, const ab_resync_message *m)
{
    return r->state != AB_RESYNC_IDLE && ab_writer_is_ready(r->env.writer) &&
           ab_str_is(m->id, r->id);
}

static bool is_wanted(const ab_resync *r, size_t page)
{
    for (size_t i = 0; i < r->want_count; i++)
        if (r->want[i] == page)
            return true;
    return false;
}

/* Every entry must be where its key belongs: else it would be looked for on another page. */
static bool is_in_page(const ab_resync *r, const ab_resync_message *m)
{
    size_t count;
    const ab_inventory_entry *entries = ab_inventory_page(m->inventory, 0, &count);
    for (size_t i = 0; i < count; i++)
        if (ab_inventory_page_of(entries[i].key, r->theirs->summary.pages) != m->page)
            return false;
    return true;
}

/* @return NULL: it counts */
static const char *why_not(const ab_resync *r, const ab_resync_message *m)
{
    if (!is_ours(r, m))
        return "not of the running resync";
    if (!is_wanted(r, m->page))
        return "not wanted";
    if (r->pages[m->page] != NULL)
        return "here already";
    if (!ab_digest_eq(ab_inventory_sum(m->inventory).digests, &r->theirs->summary.digests[m->page]))
        return "differs from the announced summary";
    return is_in_page(r, m) ? NULL : "entries of other pages";
}

static void skip_page(const ab_resync *r, const char *why)
{
    AB_DEBUG(r->env.log, SYNC, "resync page skipped", AB_KV("agent", r->env.agent),
             AB_KV("why", why));
}

static void take_page(ab_resync *r, ab_resync_message *m)
{
    const char *why = why_not(r, m);
    if (why != NULL) {
        skip_page(r, why);
        return;
    }
    r->bytes += ab_inventory_bytes(m->inventory);
    if (r->bytes > PAGES_BYTES_MAX) {
        AB_WARN(r->env.log, SYNC, "resync ended: more objects differ than can be compared at once",
                AB_KV("agent", r->env.agent), AB_KV("bytes", r->bytes));
        fail_session(r, AB_ERR_TOOBIG);
        return;
    }
    r->pages[m->page] = m->inventory;
    m->inventory = NULL;
    r->awaited--;
    go_on(r);
}

/* @return true: the message is kept */
static bool take_from_principal(ab_resync *r, const ab_event *event, ab_resync_message *m)
{
    if (m->step == AB_RESYNC_BEGIN && r->env.role->heard(r->env.arg, event, m)) {
        ab_resync_message_free(r->begin);
        r->begin = m;
        ab_resync_go(r);
        return true;
    }
    if (m->step == AB_RESYNC_WANT && is_ours(r, m)) {
        ab_err e = send_pages(r, &m->want);
        if (e != AB_ERR_OK)
            fail_session(r, e);
    } else if (m->step == AB_RESYNC_END && is_ours(r, m)) {
        end_session(r);
        ab_resync_go(r);
    }
    return false;
}

/* Our epoch is raised above it. */
static bool is_credible(const ab_resync *r, const ab_event *event, const ab_resync_message *m)
{
    bool credible = ab_epoch_is_credible(m->summary.newest.epoch, ab_clock_wall_us(r->env.clock));
    if (!credible)
        r->env.role->refuse(r->env.arg, event,
                            "newest has an epoch that is further ahead than any can be");
    return credible;
}

/* @return true: the message is kept */
static bool take_from_agent(ab_resync *r, const ab_event *event, ab_resync_message *m)
{
    if (m->step == AB_RESYNC_ASK) {
        ab_resync_stop(r); /* it has forgotten the one that may be under way */
        (void)r->env.role->heard(r->env.arg, event, m);
    } else if (m->step == AB_RESYNC_ANSWER && is_ours(r, m) && r->state == AB_RESYNC_TOLD) {
        bool credible = is_credible(r, event, m);
        if (credible)
            take_answer(r, event, m);
        return credible;
    } else if (m->step == AB_RESYNC_ANSWER && (r->state == AB_RESYNC_IDLE || is_ours(r, m))) {
        r->env.role->late(r->env.arg); /* restarted, it may answer again, perhaps otherwise */
    } else if (m->step == AB_RESYNC_TAKEN && is_ours(r, m) && r->pages_sent) {
        r->pages_sent = false;
        go_on(r);
    }
    return false;
}

bool ab_resync_is_about(const ab_event *event)
{
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    return ab_str_is(key, AB_KEY_RESYNC) || ab_str_starts(key, AB_KEY_INVENTORY);
}

void ab_resync_take(ab_resync *r, const ab_event *event)
{
    ab_error err = {0};
    ab_resync_message *m = NULL;
    bool kept = false, is_step = ab_str_is(ab_event_attr(event, AB_CE_PARTITIONKEY), AB_KEY_RESYNC);
    if (ab_event_data(event).ptr == NULL)
        return;
    ab_err e = ab_resync_message_decode(ab_event_data(event), &m, &err);
    if (e != AB_ERR_OK && is_step)
        r->env.role->refuse(r->env.arg, event, err.text);
    else if (e != AB_ERR_OK)
        skip_page(r, err.text);
    else if (m->step == AB_RESYNC_PAGE)
        take_page(r, m);
    else if (is_principal(r))
        kept = take_from_agent(r, event, m);
    else
        kept = take_from_principal(r, event, m);
    if (!kept)
        ab_resync_message_free(m);
}

/* --- what the other side has --- */

static const ab_inventory *page_of(const ab_resync *r, ab_str key)
{
    return r->theirs == NULL ? NULL : r->pages[ab_inventory_page_of(key, r->theirs->summary.pages)];
}

bool ab_resync_covers(const ab_resync *r, ab_str key)
{
    return page_of(r, key) != NULL;
}

const ab_inventory_entry *ab_resync_find(const ab_resync *r, ab_str key)
{
    const ab_inventory *page = page_of(r, key);
    return page == NULL ? NULL : ab_inventory_find(page, key);
}

void ab_resync_each(const ab_resync *r, void (*visit)(void *arg, const ab_inventory_entry *theirs),
                    void *arg)
{
    for (size_t i = 0; i < r->want_count; i++) {
        size_t count;
        const ab_inventory_entry *entries = ab_inventory_page(r->pages[r->want[i]], 0, &count);
        for (size_t k = 0; k < count; k++)
            visit(arg, &entries[k]);
    }
}

bool ab_resync_is_on_its_way(const ab_resync *r, ab_str key, ab_str object)
{
    return !r->raised && (ab_writer_queued_since(r->env.writer, key, r->since) ||
                          ab_outbox_has(ab_writer_outbox(r->env.writer), object));
}
