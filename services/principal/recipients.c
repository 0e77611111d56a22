/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/recipients_priv.h"

#include "base/core/file.h"
#include "base/crypto/pem.h"
#include "base/crypto/revoked.h"
#include "services/service.h"

#include <stdlib.h>
#include <string.h>

/* Files, and certificates that wait, that are looked at in one tick. */
#define LOOKS_MAX 100
/* Certificates that are judged again in one tick, each for a signature. */
#define JUDGED_MAX 20

static void entry_fini(void *value)
{
    struct entry *e = value;
    ab_link_remove(&e->with_file);
    ab_link_remove(&e->unchecked);
    ab_link_remove(&e->stale);
    ab_seal_recipient_free(e->given);
    ab_seal_recipient_free(e->told);
    free(e->file);
    free(e->text);
}

static ab_err check_ca(const ab_recipients *r, const ab_buf *ca, ab_error *err)
{
    STACK_OF(X509) *authorities = NULL;
    bool none = ab_pem_certs(ab_buf_str(ca), &authorities) == AB_ERR_PARSE;
    sk_X509_pop_free(authorities, X509_free);
    return none ? ab_fail(err, AB_ERR_CONFIG, "%s: not a PEM file of certificates", r->ca_file)
                : AB_ERR_OK;
}

/* On failure nothing has changed. */
static ab_err read_ca(ab_recipients *r, ab_error *err)
{
    ab_buf ca = ab_buf_up_to(AB_PEM_MAX);
    r->ca_seen = ab_file_stamp_of(r->ca_file);
    ab_err e = ab_file_read_named(r->ca_file, &ca, err);
    if (e == AB_ERR_OK && r->ca.len > 0) /* one that is being written is read again when whole */
        e = check_ca(r, &ca, err);
    if (e != AB_ERR_OK) {
        ab_buf_fini(&ca);
        return e;
    }
    ab_buf_fini(&r->ca);
    r->ca = ca;
    return AB_ERR_OK;
}

/* What this option says; unset: what logins over gRPC go by. */
static const char *own_or_login(const ab_config *config, const char *own, const char *login)
{
    const char *value = ab_config_str(config, own);
    return value != NULL ? value : ab_config_str(config, login);
}

static ab_err read_rule(ab_recipients *r, const ab_config *config, ab_error *err)
{
    const char *rule = own_or_login(config, "secrets.identity", "grpc.auth.mtls.identity");
    ab_err e = ab_identity_rule_new(ab_str_of(rule), &r->identity, err);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "secrets.identity, or grpc.auth.mtls.identity where it is unset");
    return e == AB_ERR_INVALID ? AB_ERR_CONFIG : e;
}

static ab_err read_files(ab_recipients *r, const ab_config *config, ab_error *err)
{
    const char *ca = ab_service_file(config, "secrets.ca", "ca");
    r->ca_file = ca == NULL ? NULL : strdup(ca);
    if (ca != NULL && r->ca_file == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    ab_err e = ca == NULL ? AB_ERR_OK : read_ca(r, err);
    if (e != AB_ERR_OK)
        return e;
    e = ab_revoked_file_open(own_or_login(config, "secrets.revoked", "grpc.auth.revoked"),
                             &r->revoked, err);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "the revoked certificates");
    return e == AB_ERR_OK || e == AB_ERR_NOMEM ? e : AB_ERR_CONFIG;
}

ab_err ab_recipients_new(const ab_config *config, ab_log *log, ab_metrics *metrics,
                         const ab_clock *clock, ab_recipients **out, ab_error *err)
{
    ab_recipients *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    *r = (ab_recipients){.log = log, .metrics = metrics, .clock = clock, .entries = ab_map_new()};
    ab_link_init(&r->with_file);
    ab_link_init(&r->unchecked);
    ab_link_init(&r->stale);
    ab_buf_init(&r->ca, AB_PEM_MAX);
    ab_err e = r->entries != NULL ? AB_ERR_OK : ab_fail(err, AB_ERR_NOMEM, "out of memory");
    if (e == AB_ERR_OK)
        e = read_rule(r, config, err);
    if (e == AB_ERR_OK)
        e = read_files(r, config, err);
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
    ab_map_free(r->entries, entry_fini);
    ab_buf_fini(&r->ca);
    ab_identity_rule_free(r->identity);
    ab_revoked_file_fini(&r->revoked);
    free(r->ca_file);
    free(r);
}

static struct entry *entry_for(ab_recipients *r, const char *agent)
{
    struct entry *e = ab_map_make(r->entries, ab_str_of(agent), sizeof(*e));
    if (e == NULL || e->agent != NULL)
        return e;
    e->agent = ab_map_at(e).key.ptr;
    ab_link_init(&e->with_file);
    ab_link_init(&e->unchecked);
    ab_link_init(&e->stale);
    return e;
}

/* --- given by the operator --- */

/* Without a file there is none; a revoked one is none either. */
static ab_err read_given(const ab_recipients *r, const char *agent, const char *file,
                         ab_seal_recipient **out, ab_error *err)
{
    *out = NULL;
    if (file == NULL)
        return AB_ERR_OK;
    ab_buf pem = ab_buf_up_to(AB_PEM_MAX);
    ab_err e = ab_file_read_named(file, &pem, err);
    if (e == AB_ERR_OK)
        e = ab_seal_recipient_new(ab_buf_str(&pem), AB_STR_NONE, NULL, agent, out, err);
    ab_buf_fini(&pem);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "certificate of agent %s", agent);
    else
        *out = ab_recipient_unless_revoked(r, agent, *out);
    return e;
}

ab_err ab_recipients_check(const ab_config *config, ab_error *err)
{
    ab_recipients *r = NULL;
    ab_err e = ab_recipients_new(config, NULL, NULL, &ab_clock_real, &r, err);
    if (e == AB_ERR_OK && ab_config_str(config, "secrets.ca") != NULL &&
        (e = check_ca(r, &r->ca, err)) != AB_ERR_OK)
        ab_error_prefix(err, "secrets.ca");
    for (size_t i = 0; e == AB_ERR_OK && i < ab_config_count(config, "agents"); i++) {
        ab_seal_recipient *given = NULL;
        e = read_given(r, ab_config_field(config, "agents", i, "name"),
                       ab_config_field(config, "agents", i, "certificate"), &given, err);
        ab_seal_recipient_free(given);
    }
    ab_recipients_free(r);
    return e;
}

ab_err ab_recipients_configure(ab_recipients *r, const char *agent, const char *file, ab_error *err)
{
    ab_seal_recipient *recipient = NULL;
    struct entry *entry = entry_for(r, agent);
    char *copy = file == NULL ? NULL : strdup(file);
    ab_file_stamp seen = ab_file_stamp_of(file);
    bool made = entry != NULL && (file == NULL || copy != NULL);
    ab_err e = made ? read_given(r, agent, file, &recipient, err)
                    : ab_fail(err, AB_ERR_NOMEM, "out of memory");
    if (e != AB_ERR_OK) {
        free(copy);
        return e;
    }
    const ab_recipient_used before = ab_recipient_used_now(entry);
    free(entry->file);
    entry->file = copy;
    if (copy != NULL)
        ab_list_append(&r->with_file, &entry->with_file);
    else
        ab_link_remove(&entry->with_file);
    entry->seen = seen;
    ab_seal_recipient_free(entry->given);
    entry->given = recipient;
    (void)ab_recipient_note_change(r, entry, &before);
    return AB_ERR_OK;
}

/* --- told by the agent --- */

bool ab_recipients_offer(ab_recipients *r, const char *agent, const char *certificate)
{
    struct entry *entry = entry_for(r, agent);
    char *text = certificate[0] == '\0' ? NULL : strdup(certificate);
    if (entry == NULL || text == NULL) {
        free(text);
        return false;
    }
    free(entry->text);
    entry->text = text;
    if (ab_recipient_may_check(r, entry))
        return ab_recipient_check_told(r, entry);
    ab_list_append(&r->unchecked, &entry->unchecked);
    return false;
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
    AB_WARN(r->log, MAIN, "cannot reload secrets.ca", AB_KV("why", err.text));
    return false;
}

static bool renew_revoked(ab_recipients *r)
{
    ab_error err = {0};
    bool changed = false;
    if (ab_revoked_file_renew(&r->revoked, &changed, &err) != AB_ERR_OK)
        AB_WARN(r->log, MAIN, "cannot read the revoked certificates; still using the previous list",
                AB_KV("why", err.text));
    return changed;
}

static void renew_given(const ab_recipients *r, struct entry *entry)
{
    ab_error err = {0};
    ab_seal_recipient *recipient = NULL;
    ab_file_stamp now = ab_file_stamp_of(entry->file);
    if (ab_file_stamp_eq(&now, &entry->seen))
        return;
    entry->seen = now;
    if (read_given(r, entry->agent, entry->file, &recipient, &err) != AB_ERR_OK) {
        AB_WARN(r->log, MAIN, "cannot load the new certificate; still using the previous one",
                AB_KV("why", err.text));
        return;
    }
    ab_seal_recipient_free(entry->given);
    entry->given = recipient;
}

/* What is revoked goes; what is revoked no more comes back: it is read or judged again for it. */
static void drop_revoked(ab_recipients *r, struct entry *entry)
{
    if (entry->file != NULL && entry->given == NULL)
        entry->seen = (ab_file_stamp){0};
    if (entry->in_vain)
        ab_recipient_set_due(r, entry, false);
    bool told = entry->told != NULL;
    entry->given = ab_recipient_unless_revoked(r, entry->agent, entry->given);
    entry->told = ab_recipient_unless_revoked(r, entry->agent, entry->told);
    entry->in_vain = entry->in_vain || (told && entry->told == NULL);
}

/* What costs a signature or a file waits for its turn, of however many agents there are. */
static void change_all(ab_recipients *r, bool other_ca, bool other_revoked,
                       void (*changed)(void *arg, const char *agent), void *arg)
{
    for (ab_map_iter i = ab_map_first(r->entries); i.entry != NULL; ab_map_next(&i)) {
        struct entry *entry = i.value;
        const ab_recipient_used before = ab_recipient_used_now(entry);
        if (other_revoked)
            drop_revoked(r, entry);
        if (other_ca && entry->text != NULL)
            ab_recipient_set_due(r, entry, true);
        if (ab_recipient_note_change(r, entry, &before))
            changed(arg, entry->agent);
    }
}

static void judge_some(ab_recipients *r, void (*changed)(void *arg, const char *agent), void *arg)
{
    for (size_t n = 0; n < JUDGED_MAX && ab_link_is_in_use(&r->stale); n++) {
        struct entry *entry = AB_LINK_OF(ab_list_pop(&r->stale), struct entry, stale);
        ab_recipient_judge_again(r, entry);
        if (!entry->switched)
            continue;
        entry->switched = false;
        changed(arg, entry->agent);
    }
}

/* Those that have waited longest: however many agents there are, a tick looks at a few files. */
static void renew_some(ab_recipients *r, void (*changed)(void *arg, const char *agent), void *arg)
{
    const ab_link *first = r->with_file.next;
    for (size_t n = 0; n < LOOKS_MAX && ab_link_is_in_use(&r->with_file); n++) {
        ab_link *next = r->with_file.next;
        if (n > 0 && next == first)
            return;
        struct entry *entry = AB_LINK_OF(next, struct entry, with_file);
        const ab_recipient_used before = ab_recipient_used_now(entry);
        ab_list_append(&r->with_file, next);
        renew_given(r, entry);
        if (ab_recipient_note_change(r, entry, &before))
            changed(arg, entry->agent);
    }
}

/* Of each the one that it told last, so that who has stopped has the certificate that it uses. */
static void check_some(ab_recipients *r, void (*changed)(void *arg, const char *agent), void *arg)
{
    const int64_t now_ms = ab_clock_mono_ms(r->clock);
    for (size_t n = 0; n < LOOKS_MAX && ab_link_is_in_use(&r->unchecked); n++) {
        struct entry *entry = AB_LINK_OF(r->unchecked.next, struct entry, unchecked);
        ab_list_append(&r->unchecked, &entry->unchecked);
        if (now_ms < entry->checks.until_ms || !ab_recipient_may_check(r, entry))
            continue;
        entry->held--; /* this one is checked after all */
        if (ab_recipient_check_told(r, entry))
            changed(arg, entry->agent);
    }
}

void ab_recipients_reload(ab_recipients *r, void (*changed)(void *arg, const char *agent),
                          void *arg)
{
    bool other_ca = renew_ca(r);
    bool other_revoked = renew_revoked(r);
    if (other_ca || other_revoked)
        change_all(r, other_ca, other_revoked, changed, arg);
    judge_some(r, changed, arg);
    renew_some(r, changed, arg);
    check_some(r, changed, arg);
}

void ab_recipients_block(ab_recipients *r, const ab_revoked *blocked,
                         void (*changed)(void *arg, const char *agent), void *arg)
{
    r->blocked = blocked;
    change_all(r, false, true, changed, arg);
    judge_some(r, changed, arg);
}

void ab_recipients_forget(ab_recipients *r, const char *agent)
{
    struct entry *entry = ab_map_find(r->entries, ab_str_of(agent));
    if (entry == NULL)
        return;
    entry_fini(entry);
    ab_map_drop(r->entries, entry);
}

/* That no change has taken the right from since. */
static const ab_seal_recipient *find(const ab_recipients *r, const char *agent)
{
    struct entry *entry = ab_map_find(r->entries, ab_str_of(agent));
    if (entry == NULL)
        return NULL;
    if (entry->other_ca)
        ab_recipient_judge_again(r, entry);
    return ab_recipient_in_use(entry);
}

const char *ab_recipients_id(void *arg, const char *agent)
{
    const ab_seal_recipient *recipient = find(arg, agent);
    return recipient == NULL ? NULL : ab_seal_recipient_id(recipient);
}

const char *ab_recipients_show(const ab_recipients *r, const char *agent, int64_t *expires_s)
{
    const struct entry *entry = ab_map_find(r->entries, ab_str_of(agent));
    const ab_seal_recipient *recipient = entry == NULL ? NULL : ab_recipient_in_use(entry);
    if (recipient == NULL)
        return NULL;
    *expires_s = ab_seal_recipient_expires_s(recipient);
    return ab_seal_recipient_id(recipient);
}

ab_err ab_recipients_seal(void *arg, const char *agent, const ab_seal_binding *binding,
                          ab_str payload, ab_buf *out, ab_error *err)
{
    const ab_seal_recipient *recipient = find(arg, agent);
    if (recipient == NULL)
        return ab_fail(err, AB_ERR_DENIED, "agent %s has no certificate", agent);
    return ab_seal(recipient, binding, payload, out, err);
}
