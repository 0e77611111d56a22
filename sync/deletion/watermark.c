/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/deletion/watermark.h"

#include <stdio.h>
#include <string.h>

#define SENT_TEXT ((AB_WATERMARK_RUNS_MAX + 1) * AB_VERSION_TEXT)
/* No agent is called so: they are not DNS labels. */
#define WRITE_ID "write_id"
#define OWN_UID  "configmap_uid"

/* --- what is covered --- */

bool ab_watermark_covers(const ab_watermark_sent *sent, ab_version version)
{
    bool covered = ab_version_cmp(version, sent->all) <= 0;
    for (size_t i = 0; i < sent->count; i++)
        covered |=
            sent->runs[i].epoch == version.epoch && ab_version_cmp(version, sent->runs[i]) <= 0;
    return covered && !ab_version_is_none(version);
}

bool ab_watermark_is_empty(const ab_watermark_sent *sent)
{
    return ab_version_is_none(sent->all) && sent->count == 0;
}

static ab_version *run_of(ab_watermark_sent *sent, uint64_t epoch)
{
    for (size_t i = 0; i < sent->count; i++)
        if (sent->runs[i].epoch == epoch)
            return &sent->runs[i];
    if (sent->count == AB_WATERMARK_RUNS_MAX) {
        memmove(sent->runs, sent->runs + 1, sizeof(sent->runs) - sizeof(sent->runs[0]));
        sent->count--;
    }
    sent->runs[sent->count] = (ab_version){.epoch = epoch};
    return &sent->runs[sent->count++];
}

void ab_watermark_add_run(ab_watermark_sent *sent, ab_version version)
{
    ab_version *run = run_of(sent, version.epoch);
    if (version.version > run->version)
        *run = version;
}

void ab_watermark_merge(ab_watermark_sent *sent, const ab_watermark_sent *other)
{
    if (ab_version_cmp(other->all, sent->all) > 0)
        sent->all = other->all;
    for (size_t i = 0; i < other->count; i++)
        ab_watermark_add_run(sent, other->runs[i]);
}

/* --- what this run knows --- */

static bool has_epoch(const ab_watermark_run *run, uint64_t epoch)
{
    for (size_t i = 0; i < AB_WATERMARK_EPOCHS_MAX; i++)
        if (run->epochs[i] == epoch)
            return true;
    return false;
}

void ab_watermark_note_epoch(ab_watermark_run *run, uint64_t epoch)
{
    if (!has_epoch(run, epoch))
        run->epochs[run->epoch_count++ % AB_WATERMARK_EPOCHS_MAX] = epoch;
}

void ab_watermark_note_version(ab_watermark_run *run, ab_version version)
{
    if (ab_version_cmp(version, run->newest) > 0)
        run->newest = version;
}

void ab_watermark_note_queued(ab_watermark_run *run, ab_version version)
{
    run->queued = version;
    ab_watermark_note_version(run, version);
}

bool ab_watermark_proves(const ab_watermark_sent *sent, const ab_watermark_run *run,
                         ab_version version)
{
    return run->resynced || ab_watermark_covers(sent, version) ||
           (!ab_version_is_none(version) && has_epoch(run, version.epoch));
}

void ab_watermark_distrust(ab_watermark_run *run)
{
    *run = (ab_watermark_run){.distrusted = true};
}

ab_watermark_claim ab_watermark_claim_of(const ab_watermark_run *run)
{
    ab_watermark_claim claim = {.all = run->all, .queued = run->queued};
    if (run->resynced && ab_version_cmp(run->newest, claim.all) > 0)
        claim.all = run->newest;
    return claim;
}

void ab_watermark_rejoin(ab_watermark_run *run)
{
    run->all = ab_watermark_claim_of(run).all;
    run->newest = (ab_version){0};
    run->resynced = false;
}

void ab_watermark_cover(ab_watermark_sent *sent, ab_watermark_claim claim)
{
    if (ab_version_cmp(claim.all, sent->all) > 0)
        *sent = (ab_watermark_sent){.all = claim.all};
    if (!ab_version_is_none(claim.queued) && !ab_watermark_covers(sent, claim.queued))
        ab_watermark_add_run(sent, claim.queued);
}

/* --- names --- */

void ab_watermark_name(size_t part, char out[AB_WATERMARK_NAME_MAX])
{
    if (part == 0)
        snprintf(out, AB_WATERMARK_NAME_MAX, AB_WATERMARK_NAME);
    else
        snprintf(out, AB_WATERMARK_NAME_MAX, AB_WATERMARK_NAME "-%zu", part);
}

size_t ab_watermark_number(ab_str name)
{
    char own[AB_WATERMARK_NAME_MAX];
    uint64_t part = 0;
    size_t head = sizeof(AB_WATERMARK_NAME "-") - 1;
    if (ab_str_starts(name, AB_WATERMARK_NAME "-") &&
        ab_str_to_u64((ab_str){name.ptr + head, name.len - head}, &part) != AB_ERR_OK)
        return AB_WATERMARK_PARTS_MAX;
    if (part >= AB_WATERMARK_PARTS_MAX)
        return AB_WATERMARK_PARTS_MAX;
    ab_watermark_name((size_t)part, own);
    return ab_str_is(name, own) ? (size_t)part : AB_WATERMARK_PARTS_MAX;
}

/* --- reading --- */

/* Cut what is before the next space off `rest`. */
static ab_str next_word(ab_str *rest)
{
    const char *space = memchr(rest->ptr, ' ', rest->len);
    size_t len = space == NULL ? rest->len : (size_t)(space - rest->ptr);
    ab_str word = {rest->ptr, len};
    len += space != NULL;
    *rest = (ab_str){rest->ptr + len, rest->len - len};
    return word;
}

/* @return false when it cannot be read */
static bool parse_sent(ab_str text, ab_watermark_sent *out)
{
    ab_version version;
    *out = (ab_watermark_sent){0};
    if (ab_version_parse(next_word(&text), &out->all) != AB_ERR_OK)
        return false;
    while (text.len > 0) {
        if (ab_version_parse(next_word(&text), &version) != AB_ERR_OK)
            return false;
        ab_watermark_add_run(out, version);
    }
    return true;
}

ab_str ab_watermark_id(const ab_object *object)
{
    if (object == NULL)
        return AB_STR("");
    ab_str id = ab_span_plain(ab_span_get(ab_object_field(object, "data"), WRITE_ID));
    return id.len > 0 && id.len < AB_WATERMARK_ID_MAX ? id : AB_STR("");
}

static ab_str own_uid(const ab_object *object)
{
    return ab_span_plain(ab_span_get(ab_object_field(object, "data"), OWN_UID));
}

bool ab_watermark_is_bound(const ab_object *object)
{
    return ab_str_eq(own_uid(object), ab_object_uid(object));
}

bool ab_watermark_is_copy(const ab_object *object)
{
    return own_uid(object).len > 0 && !ab_watermark_is_bound(object);
}

ab_err ab_watermark_read(const ab_object *object,
                         ab_err (*line)(void *arg, ab_str agent, const ab_watermark_sent *sent),
                         void *arg)
{
    cJSON *data = NULL;
    ab_watermark_sent sent;
    ab_str text = ab_span_raw(ab_object_field(object, "data"));
    ab_err e = ab_doc_parse(text, AB_SPAN_SIZE_MAX, &data, NULL);
    if (e == AB_ERR_NOMEM)
        return e;
    e = AB_ERR_OK;
    for (const cJSON *v = cJSON_IsObject(data) ? data->child : NULL; v != NULL && e == AB_ERR_OK;
         v = v->next)
        if (cJSON_IsString(v) && strcmp(v->string, WRITE_ID) != 0 && v->valuestring[0] != '\0' &&
            parse_sent(ab_str_of(v->valuestring), &sent))
            e = line(arg, ab_str_of(v->string), &sent);
    cJSON_Delete(data);
    return e;
}

/* --- writing --- */

static void add_text(ab_watermark_draft *d, cJSON *object, const char *name, const char *text)
{
    d->complete = cJSON_AddStringToObject(object, name, text) != NULL && d->complete;
}

void ab_watermark_begin(ab_watermark_draft *d, size_t part, const char *namespace, const char *id,
                        const char *uid)
{
    char name[AB_WATERMARK_NAME_MAX];
    *d = (ab_watermark_draft){.doc = cJSON_CreateObject(), .complete = true};
    add_text(d, d->doc, "apiVersion", "v1");
    add_text(d, d->doc, "kind", "ConfigMap");
    cJSON *metadata = cJSON_AddObjectToObject(d->doc, "metadata");
    ab_watermark_name(part, name);
    add_text(d, metadata, "name", name);
    add_text(d, metadata, "namespace", namespace);
    if (part > 0)
        add_text(d, cJSON_AddObjectToObject(metadata, "labels"), AB_WATERMARK_LABEL, "true");
    d->data = cJSON_AddObjectToObject(d->doc, "data");
    add_text(d, d->data, WRITE_ID, id);
    if (uid != NULL)
        add_text(d, d->data, OWN_UID, uid);
}

static void format_sent(const ab_watermark_sent *sent, char out[SENT_TEXT])
{
    ab_version_format(sent->all, out);
    for (size_t i = 0; i < sent->count; i++) {
        size_t len = strlen(out);
        out[len] = ' ';
        ab_version_format(sent->runs[i], out + len + 1);
    }
}

void ab_watermark_add(ab_watermark_draft *d, const char *agent, const ab_watermark_sent *sent)
{
    char text[SENT_TEXT];
    if (ab_watermark_is_empty(sent))
        return;
    format_sent(sent, text);
    add_text(d, d->data, agent, text);
}

ab_err ab_watermark_finish(ab_watermark_draft *d, ab_object **out)
{
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_err e = ab_doc_finish(d->doc, d->complete, &text);
    if (e == AB_ERR_OK)
        e = ab_object_parse(ab_buf_str(&text), out, NULL);
    ab_buf_fini(&text);
    return e;
}
