/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/writer.h"

#include "base/core/map.h"
#include "schema/attributes.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A DNS label, a dot, a version and the NUL. */
#define ID_TEXT (64 + AB_VERSION_TEXT)

/* What the log says, or will when the outbox is empty, for one key. */
struct entry {
    ab_digest digest;
    ab_version version; /* none: not known */
    bool ours;          /* sent in this run */
    bool confirmed;     /* ab_writer_confirm_owned */
    bool again;         /* a command: to be queued once more */
};

struct ab_writer {
    ab_writer_env env;
    ab_map *log; /* key -> struct entry */
    ab_outbox *outbox;
    bool ready;
    uint64_t epoch;
    uint64_t begun;   /* ab_writer_begin_epoch: none older is used any more; 0: it was not called */
    uint64_t version; /* the last one given, or reserved */
    bool reserved;    /* no event has it yet */
};

ab_writer *ab_writer_new(const ab_writer_env *env)
{
    ab_writer *w = calloc(1, sizeof(*w));
    if (w == NULL)
        return NULL;
    w->env = *env;
    w->log = ab_map_new();
    w->outbox = ab_outbox_new(env->safe, env->arg);
    if (w->log == NULL || w->outbox == NULL) {
        ab_writer_free(w);
        return NULL;
    }
    return w;
}

void ab_writer_free(ab_writer *w)
{
    if (w == NULL)
        return;
    ab_map_free(w->log, NULL);
    ab_outbox_free(w->outbox);
    free(w);
}

static struct entry *entry_for(ab_writer *w, ab_str key)
{
    return ab_map_make(w->log, key, sizeof(struct entry));
}

static void drop_entry(ab_writer *w, ab_str key)
{
    struct entry *e = ab_map_find(w->log, key);
    if (e != NULL)
        ab_map_drop(w->log, e);
}

ab_err ab_writer_learn(ab_writer *w, const ab_event *head)
{
    struct entry *e = entry_for(w, ab_event_attr(head, AB_CE_PARTITIONKEY));
    if (e == NULL)
        return AB_ERR_NOMEM;
    ab_version version;
    *e = (struct entry){0};
    if (ab_version_of(head, &version, NULL) == AB_ERR_OK)
        e->version = version;
    e->digest = ab_event_content_hash(head);
    return AB_ERR_OK;
}

void ab_writer_forget_version(ab_writer *w, ab_str key)
{
    struct entry *e = ab_map_find(w->log, key);
    if (e != NULL)
        e->version = (ab_version){0};
}

void ab_writer_forget(ab_writer *w)
{
    for (ab_map_iter i = ab_map_first(w->log); i.entry != NULL; ab_map_next(&i))
        ab_map_drop(w->log, i.value);
    w->ready = false;
}

/* What waits comes behind all that the log says now; of one key in two lanes the newer counts.
 * Which content it will be is not relied on. */
static void expect(void *arg, const ab_event *event)
{
    ab_writer *w = arg;
    ab_version version = {0};
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    if (ab_version_of(event, &version, NULL) != AB_ERR_OK)
        version = (ab_version){0};
    struct entry *e = ab_map_find(w->log, key);
    bool older = e != NULL && ab_version_cmp(version, e->version) < 0;
    if (ab_event_data(event).ptr == NULL && !older)
        drop_entry(w, key);
    else if ((e = entry_for(w, key)) != NULL)
        *e = (struct entry){.version = older ? e->version : version};
}

void ab_writer_ready(ab_writer *w, uint64_t epoch)
{
    ab_outbox_each(w->outbox, expect, w);
    w->epoch = epoch > w->begun ? epoch : w->begun;
    w->ready = true;
}

void ab_writer_begin_epoch(ab_writer *w)
{
    w->begun = ++w->epoch;
}

bool ab_writer_is_ready(const ab_writer *w)
{
    return w->ready;
}

bool ab_writer_find(const ab_writer *w, ab_str key, ab_digest *out)
{
    const struct entry *e = ab_map_find(w->log, key);
    if (e != NULL)
        *out = e->digest;
    return e != NULL;
}

ab_err ab_writer_suppose(ab_writer *w, ab_str key, const ab_digest *digest)
{
    struct entry *e = entry_for(w, key);
    if (e == NULL)
        return AB_ERR_NOMEM;
    e->digest = *digest;
    return AB_ERR_OK;
}

ab_version ab_writer_newest(const ab_writer *w)
{
    return (ab_version){w->epoch, w->version};
}

bool ab_writer_queued_since(const ab_writer *w, ab_str key, ab_version version)
{
    const struct entry *e = ab_map_find(w->log, key);
    return e != NULL && e->ours &&
           e->version.version > version.version; /* versions rise whatever the epoch is */
}

bool ab_writer_exceed(ab_writer *w, ab_version version)
{
    if (ab_version_cmp(version, ab_writer_newest(w)) <= 0 || version.epoch == UINT64_MAX)
        return false;
    w->epoch = version.epoch + 1;
    return true;
}

bool ab_writer_has(const ab_writer *w, ab_str key, const ab_digest *digest)
{
    const struct entry *e = ab_map_find(w->log, key);
    return e != NULL && ab_digest_eq(&e->digest, digest);
}

void ab_writer_repeat(ab_writer *w, ab_str key)
{
    struct entry *e = ab_map_find(w->log, key);
    if (e != NULL)
        *e = (struct entry){.version = e->version, .confirmed = e->confirmed};
}

ab_version ab_writer_version_of(const ab_writer *w, ab_str key)
{
    const struct entry *e = ab_map_find(w->log, key);
    return e == NULL ? (ab_version){0} : e->version;
}

bool ab_writer_confirm_owned(ab_writer *w, ab_str key)
{
    struct entry *e = ab_map_find(w->log, key);
    if (e == NULL || e->confirmed)
        return false;
    e->confirmed = true;
    return true;
}

void ab_writer_confirm_none_owned(ab_writer *w)
{
    for (ab_map_iter i = ab_map_first(w->log); i.entry != NULL; ab_map_next(&i))
        ((struct entry *)i.value)->confirmed = false;
}

bool ab_writer_is_confirmed_owned(const ab_writer *w, ab_str key)
{
    const struct entry *e = ab_map_find(w->log, key);
    return e != NULL && e->confirmed;
}

void ab_writer_repeat_command(ab_writer *w, ab_str key)
{
    struct entry *e = ab_map_find(w->log, key);
    if (e != NULL)
        e->again = true;
}

bool ab_writer_has_key(const ab_writer *w, ab_str key)
{
    return ab_map_find(w->log, key) != NULL;
}

static void release(ab_writer *w, void *token)
{
    if (token != NULL && w->env.safe != NULL)
        w->env.safe(w->env.arg, token);
}

ab_version ab_writer_reserve(ab_writer *w)
{
    assert(w->ready);
    uint64_t now = (uint64_t)ab_clock_wall_us(w->env.clock);
    if (!w->reserved)
        w->version = now > w->version ? now : w->version + 1;
    w->reserved = true;
    return (ab_version){w->epoch, w->version};
}

/* Kafka's records have the versions in it, and not once more (event/codec_kafka.h). */
static void format_id(const ab_writer *w, ab_version version, char out[ID_TEXT])
{
    char text[AB_VERSION_TEXT];
    ab_version_format(version, text);
    snprintf(out, ID_TEXT, "%s.%s", w->env.agent, text);
}

static ab_err queue(ab_writer *w, ab_str key, ab_str lane, ab_str id, ab_event_draft *draft,
                    const ab_digest *digest, void *token)
{
    char own_id[ID_TEXT], hash[AB_DIGEST_HEX], time[AB_TIME_TEXT];
    ab_version version = ab_writer_reserve(w);
    if (id.ptr == NULL) {
        format_id(w, version, own_id);
        id = ab_str_of(own_id);
    }
    /* A record of Kafka has no header for a time in milliseconds. */
    ab_time_format_ms(ab_clock_wall_us(w->env.clock), time);
    ab_event_set(draft, AB_CE_ID, id);
    ab_event_set_text(draft, AB_CE_SOURCE, w->env.source);
    ab_event_set_text(draft, AB_CE_TIME, time);
    ab_event_set(draft, AB_CE_PARTITIONKEY, key);
    ab_event_set_u64(draft, AB_CE_WRITEREPOCH, version.epoch);
    ab_event_set_u64(draft, AB_CE_OBJVERSION, version.version);
    if (digest != NULL) {
        ab_digest_format(digest, hash);
        ab_event_set_text(draft, AB_CE_CONTENTHASH, hash);
    }
    if (draft->data.ptr != NULL)
        ab_event_set_text(draft, AB_CE_DATACONTENTTYPE, "application/json");
    if (w->env.trace != NULL)
        ab_event_set_text(draft, AB_CE_TRACEPARENT, w->env.trace->begin(w->env.trace->arg, key));
    ab_event *event;
    ab_err e = ab_event_new(draft, &event, NULL);
    if (e != AB_ERR_OK)
        return e;
    e = ab_outbox_put(w->outbox, lane, event, !ab_str_eq(key, lane), token,
                      ab_clock_mono_ms(w->env.clock));
    ab_event_unref(event);
    w->reserved = w->reserved && e != AB_ERR_OK;
    return e;
}

ab_err ab_writer_state(ab_writer *w, ab_str key, ab_str object, ab_event_draft *draft,
                       const ab_digest *digest, void *token)
{
    struct entry *entry = entry_for(w, key);
    if (entry == NULL)
        return AB_ERR_NOMEM;
    if (ab_digest_eq(&entry->digest, digest)) {
        entry->confirmed = true;
        release(w, token);
        return AB_ERR_OK;
    }
    ab_err e = queue(w, key, object, AB_STR_NONE, draft, digest, token);
    if (e == AB_ERR_OK)
        *entry = (struct entry){
            .digest = *digest, .version = ab_writer_newest(w), .ours = true, .confirmed = true};
    return e;
}

ab_err ab_writer_end(ab_writer *w, ab_str key, ab_str object, ab_event_draft *draft, void *token)
{
    if (!ab_writer_has_key(w, key)) {
        release(w, token);
        return AB_ERR_OK;
    }
    return ab_writer_end_anyway(w, key, object, draft, token);
}

ab_err ab_writer_end_anyway(ab_writer *w, ab_str key, ab_str object, ab_event_draft *draft,
                            void *token)
{
    draft->data = AB_STR_NONE;
    ab_err e = queue(w, key, object, AB_STR_NONE, draft, NULL, token);
    if (e == AB_ERR_OK)
        drop_entry(w, key);
    return e;
}

ab_err ab_writer_command(ab_writer *w, ab_str id, ab_str object, ab_event_draft *draft)
{
    char key[AB_EVENT_ATTR_NAME_MAX * 2];
    int n = snprintf(key, sizeof(key), AB_KEY_COMMAND "%.*s", AB_STR_ARG(id));
    if (n < 0 || (size_t)n >= sizeof(key))
        return AB_ERR_TOOBIG;
    const struct entry *asked = ab_map_find(w->log, ab_str_of(key));
    if (asked != NULL && !asked->again)
        return AB_ERR_OK;
    ab_err e = queue(w, ab_str_of(key), object, id, draft, NULL, NULL);
    if (e != AB_ERR_OK)
        return e;
    struct entry *entry = entry_for(w, ab_str_of(key));
    if (entry == NULL)
        return AB_ERR_NOMEM;
    *entry = (struct entry){.version = ab_writer_newest(w), .ours = true};
    return AB_ERR_OK;
}

void ab_writer_each(ab_writer *w, const char *prefix, void (*visit)(void *arg, ab_str key),
                    void *arg)
{
    char key[AB_EVENT_ATTR_VALUE_MAX + 1]; /* ending it frees the log's own */
    for (ab_map_iter i = ab_map_first(w->log); i.entry != NULL; ab_map_next(&i)) {
        if (!ab_str_starts(i.key, prefix))
            continue;
        assert(i.key.len < sizeof(key));
        memcpy(key, i.key.ptr, i.key.len + 1);
        visit(arg, (ab_str){key, i.key.len});
    }
}

ab_outbox *ab_writer_outbox(ab_writer *w)
{
    return w->outbox;
}
