/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/recipients.h"

#include "base/file.h"
#include "base/map.h"
#include "base/pem.h"
#include "services/service.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    char *agent;
    char *file;         /* NULL: none is given */
    ab_file_stamp seen; /* of it, when it was read */
    ab_seal_recipient *given;
    char *text; /* that the agent told last, trusted or not; NULL: none */
    ab_seal_recipient *told;
};

struct ab_recipients {
    ab_log *log;
    char *ca_file; /* NULL: what agents tell cannot be trusted */
    ab_file_stamp ca_seen;
    ab_buf ca;
    ab_map *entries;
};

static void entry_free(void *value)
{
    struct entry *e = value;
    ab_seal_recipient_free(e->given);
    ab_seal_recipient_free(e->told);
    free(e->agent);
    free(e->file);
    free(e->text);
    free(e);
}

/* On failure nothing has changed. */
static ab_err read_ca(ab_recipients *r, ab_error *err)
{
    ab_buf ca;
    ab_buf_init(&ca, AB_PEM_MAX);
    r->ca_seen = ab_file_stamp_of(r->ca_file);
    ab_err e = ab_file_read_named(r->ca_file, &ca, err);
    if (e != AB_ERR_OK) {
        ab_buf_fini(&ca);
        return e;
    }
    ab_buf_fini(&r->ca);
    r->ca = ca;
    return AB_ERR_OK;
}

ab_err ab_recipients_new(const ab_config *config, ab_log *log, ab_recipients **out, ab_error *err)
{
    const char *ca = ab_config_str(config, "secrets.ca");
    if (ca == NULL)
        ca = ab_service_tls(config, "ca");
    ab_recipients *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    r->log = log;
    r->entries = ab_map_new();
    ab_buf_init(&r->ca, AB_PEM_MAX);
    if (ca != NULL)
        r->ca_file = strdup(ca);
    bool made = r->entries != NULL && (ca == NULL || r->ca_file != NULL);
    ab_err e = made ? AB_ERR_OK : ab_fail(err, AB_ERR_NOMEM, "out of memory");
    if (e == AB_ERR_OK && ca != NULL)
        e = read_ca(r, err);
    if (e != AB_ERR_OK) {
        ab_recipients_free(r);
        return e;
    }
    *out = r;
    return AB_ERR_OK;
}

void ab_recipients_free(ab_recipients *r)
{
    if (r == NULL)
        return;
    ab_map_free(r->entries, entry_free);
    ab_buf_fini(&r->ca);
    free(r->ca_file);
    free(r);
}

static struct entry *entry_for(ab_recipients *r, const char *agent)
{
    struct entry *e = ab_map_find(r->entries, ab_str_of(agent));
    if (e != NULL)
        return e;
    e = calloc(1, sizeof(*e));
    if (e == NULL)
        return NULL;
    e->agent = strdup(agent);
    if (e->agent == NULL || ab_map_put(r->entries, ab_str_of(agent), e, NULL) != AB_ERR_OK) {
        entry_free(e);
        return NULL;
    }
    return e;
}

/* Without a file there is none. */
static ab_err read_given(const char *agent, const char *file, ab_seal_recipient **out,
                         ab_error *err)
{
    ab_buf pem;
    *out = NULL;
    if (file == NULL)
        return AB_ERR_OK;
    ab_buf_init(&pem, AB_PEM_MAX);
    ab_err e = ab_file_read_named(file, &pem, err);
    if (e == AB_ERR_OK)
        e = ab_seal_recipient_new(ab_buf_str(&pem), AB_STR_NONE, agent, out, err);
    ab_buf_fini(&pem);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "certificate of agent %s", agent);
    return e;
}

ab_err ab_recipients_give(ab_recipients *r, const char *agent, const char *file, ab_error *err)
{
    ab_seal_recipient *recipient = NULL;
    struct entry *entry = entry_for(r, agent);
    char *copy = file == NULL ? NULL : strdup(file);
    ab_file_stamp seen = ab_file_stamp_of(file);
    bool made = entry != NULL && (file == NULL || copy != NULL);
    ab_err e = made ? read_given(agent, file, &recipient, err)
                    : ab_fail(err, AB_ERR_NOMEM, "out of memory");
    if (e != AB_ERR_OK) {
        free(copy);
        return e;
    }
    free(entry->file);
    entry->file = copy;
    entry->seen = seen;
    ab_seal_recipient_free(entry->given);
    entry->given = recipient;
    return AB_ERR_OK;
}

static bool is_same(const ab_seal_recipient *a, const ab_seal_recipient *b)
{
    return a != NULL && strcmp(ab_seal_recipient_id(a), ab_seal_recipient_id(b)) == 0;
}

/* @return true when Secrets are sealed to another one from now on */
static bool judge(ab_recipients *r, struct entry *entry)
{
    ab_error err = {0};
    ab_seal_recipient *recipient = NULL;
    ab_err e = r->ca.len == 0 ? ab_fail(&err, AB_ERR_DENIED,
                                        "neither secrets.ca nor the transport's tls.ca is set")
                              : ab_seal_recipient_new(ab_str_of(entry->text), ab_buf_str(&r->ca),
                                                      entry->agent, &recipient, &err);
    if (e != AB_ERR_OK) {
        AB_WARN(r->log, MAIN, "an agent's certificate is not trusted: nothing is sealed to it",
                AB_KV("agent", (const char *)entry->agent), AB_KV("why", (const char *)err.text));
        return false;
    }
    bool changed = !is_same(entry->told, recipient);
    ab_seal_recipient_free(entry->told);
    entry->told = recipient;
    return changed && entry->given == NULL;
}

bool ab_recipients_tell(ab_recipients *r, const char *agent, const char *certificate)
{
    struct entry *entry = entry_for(r, agent);
    char *text = certificate[0] == '\0' ? NULL : strdup(certificate);
    if (entry == NULL || text == NULL) {
        free(text);
        return false;
    }
    free(entry->text);
    entry->text = text;
    return judge(r, entry);
}

/* --- files that change --- */

static bool renew_ca(ab_recipients *r)
{
    ab_error err = {0};
    ab_file_stamp now = ab_file_stamp_of(r->ca_file);
    if (ab_file_stamp_eq(&now, &r->ca_seen))
        return false;
    if (read_ca(r, &err) == AB_ERR_OK)
        return true;
    AB_WARN(r->log, MAIN, "the authorities of agents' certificates cannot be read again",
            AB_KV("why", (const char *)err.text));
    return false;
}

static bool renew_given(ab_recipients *r, struct entry *entry)
{
    ab_error err = {0};
    ab_seal_recipient *recipient = NULL;
    ab_file_stamp now = ab_file_stamp_of(entry->file);
    if (ab_file_stamp_eq(&now, &entry->seen))
        return false;
    entry->seen = now;
    if (read_given(entry->agent, entry->file, &recipient, &err) != AB_ERR_OK) {
        AB_WARN(r->log, MAIN, "a certificate has changed but does not load: the former is used",
                AB_KV("why", (const char *)err.text));
        return false;
    }
    bool changed = !is_same(entry->given, recipient);
    ab_seal_recipient_free(entry->given);
    entry->given = recipient;
    return changed;
}

void ab_recipients_renew(ab_recipients *r, void (*changed)(void *arg, const char *agent), void *arg)
{
    bool other_ca = renew_ca(r);
    for (ab_map_iter i = ab_map_first(r->entries); i.entry != NULL; ab_map_next(&i)) {
        struct entry *entry = i.value;
        bool other = renew_given(r, entry);
        if (other_ca && entry->text != NULL)
            other = judge(r, entry) || other;
        if (other)
            changed(arg, entry->agent);
    }
}

void ab_recipients_forget(ab_recipients *r, const char *agent)
{
    struct entry *entry = ab_map_take(r->entries, ab_str_of(agent));
    if (entry != NULL)
        entry_free(entry);
}

static const ab_seal_recipient *find(const ab_recipients *r, const char *agent)
{
    const struct entry *entry = ab_map_find(r->entries, ab_str_of(agent));
    if (entry == NULL)
        return NULL;
    return entry->given != NULL ? entry->given : entry->told;
}

const char *ab_recipients_id(void *arg, const char *agent)
{
    const ab_seal_recipient *recipient = find(arg, agent);
    return recipient == NULL ? NULL : ab_seal_recipient_id(recipient);
}

ab_err ab_recipients_seal(void *arg, const char *agent, const ab_seal_binding *binding,
                          ab_str payload, ab_buf *out, ab_error *err)
{
    const ab_seal_recipient *recipient = find(arg, agent);
    if (recipient == NULL)
        return ab_fail(err, AB_ERR_DENIED, "agent %s has no certificate", agent);
    return ab_seal(recipient, binding, payload, out, err);
}
