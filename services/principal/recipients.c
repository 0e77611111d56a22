/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/recipients.h"

#include "base/map.h"
#include "services/pem.h"
#include "services/service.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    ab_seal_recipient *given;
    ab_seal_recipient *told;
};

struct ab_recipients {
    ab_log *log;
    ab_buf ca; /* empty: what agents tell cannot be trusted */
    ab_map *entries;
};

static void entry_free(void *value)
{
    struct entry *e = value;
    ab_seal_recipient_free(e->given);
    ab_seal_recipient_free(e->told);
    free(e);
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
    ab_err e = r->entries == NULL ? ab_fail(err, AB_ERR_NOMEM, "out of memory") : AB_ERR_OK;
    if (e == AB_ERR_OK && ca != NULL)
        e = ab_pem_read(ca, &r->ca, err);
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
    free(r);
}

static struct entry *entry_for(ab_recipients *r, const char *agent)
{
    struct entry *e = ab_map_find(r->entries, ab_str_of(agent));
    if (e != NULL)
        return e;
    e = calloc(1, sizeof(*e));
    if (e == NULL || ab_map_put(r->entries, ab_str_of(agent), e, NULL) != AB_ERR_OK) {
        free(e);
        return NULL;
    }
    return e;
}

ab_err ab_recipients_give(ab_recipients *r, const char *agent, const char *file, ab_error *err)
{
    ab_seal_recipient *recipient = NULL;
    struct entry *entry = entry_for(r, agent);
    ab_buf pem;
    ab_buf_init(&pem, AB_PEM_MAX);
    ab_err e = entry == NULL ? ab_fail(err, AB_ERR_NOMEM, "out of memory") : AB_ERR_OK;
    if (e == AB_ERR_OK && file != NULL)
        e = ab_pem_read(file, &pem, err);
    if (e == AB_ERR_OK && file != NULL)
        e = ab_seal_recipient_new(ab_buf_str(&pem), AB_STR_NONE, agent, &recipient, err);
    ab_buf_fini(&pem);
    if (e != AB_ERR_OK) {
        ab_error_prefix(err, "certificate of agent %s", agent);
        return e;
    }
    ab_seal_recipient_free(entry->given);
    entry->given = recipient;
    return AB_ERR_OK;
}

static bool is_same(const ab_seal_recipient *a, const ab_seal_recipient *b)
{
    return a != NULL && strcmp(ab_seal_recipient_id(a), ab_seal_recipient_id(b)) == 0;
}

bool ab_recipients_tell(ab_recipients *r, const char *agent, const char *certificate)
{
    ab_error err = {0};
    ab_seal_recipient *recipient = NULL;
    struct entry *entry = entry_for(r, agent);
    if (entry == NULL || certificate[0] == '\0')
        return false;
    ab_err e = r->ca.len == 0 ? ab_fail(&err, AB_ERR_DENIED,
                                        "neither secrets.ca nor the transport's tls.ca is set")
                              : ab_seal_recipient_new(ab_str_of(certificate), ab_buf_str(&r->ca),
                                                      agent, &recipient, &err);
    if (e != AB_ERR_OK) {
        AB_WARN(r->log, MAIN, "an agent's certificate is not trusted: nothing is sealed to it",
                AB_KV("agent", agent), AB_KV("why", (const char *)err.text));
        return false;
    }
    bool changed = !is_same(entry->told, recipient);
    ab_seal_recipient_free(entry->told);
    entry->told = recipient;
    return changed && entry->given == NULL;
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
