/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/recipients_priv.h"

#include <math.h>
#include <string.h>

const ab_seal_recipient *ab_recipient_in_use(const struct entry *entry)
{
    return entry->file != NULL ? entry->given : entry->told;
}

ab_recipient_used ab_recipient_used_now(const struct entry *entry)
{
    ab_recipient_used now = {0};
    const ab_seal_recipient *recipient = ab_recipient_in_use(entry);
    if (recipient != NULL)
        memcpy(now.text, ab_seal_recipient_id(recipient), sizeof(now.text));
    return now;
}

static void show_expiry(const ab_recipients *r, const struct entry *entry)
{
    const ab_label label = {"agent", ab_str_of(entry->agent)};
    const ab_seal_recipient *recipient = ab_recipient_in_use(entry);
    ab_metric_set(ab_metric_get(r->metrics, AB_METRIC_GAUGE,
                                "argobus_agent_certificate_expiry_timestamp_seconds",
                                "When the certificate that an agent's Secrets are sealed to "
                                "expires, seconds since 1970; NaN: it has none any more.",
                                &label, 1),
                  recipient == NULL ? NAN : (double)ab_seal_recipient_expires_s(recipient));
}

bool ab_recipient_note_change(const ab_recipients *r, const struct entry *entry,
                              const ab_recipient_used *before)
{
    const ab_recipient_used now = ab_recipient_used_now(entry);
    if (strcmp(before->text, now.text) == 0)
        return false;
    show_expiry(r, entry);
    if (now.text[0] == '\0')
        AB_WARN(r->log, MAIN, "the agent's certificate is gone; its Secrets are not sent",
                AB_KV("agent", entry->agent), AB_KV("former", before->text));
    else if (before->text[0] == '\0')
        AB_INFO(r->log, MAIN, "sealing Secrets to the agent's certificate",
                AB_KV("agent", entry->agent), AB_KV("sha256", now.text));
    else
        AB_INFO(r->log, MAIN, "sealing Secrets to another certificate of the agent",
                AB_KV("agent", entry->agent), AB_KV("former", before->text),
                AB_KV("sha256", now.text));
    return true;
}

ab_seal_recipient *ab_recipient_unless_revoked(const ab_recipients *r, const char *agent,
                                               ab_seal_recipient *recipient)
{
    if (recipient == NULL ||
        (!ab_seal_recipient_is_revoked(recipient, &r->revoked.list) &&
         (r->blocked == NULL || !ab_seal_recipient_is_revoked(recipient, r->blocked))))
        return recipient;
    AB_WARN(r->log, MAIN, "the agent's certificate is revoked: no Secret is sealed to it",
            AB_KV("agent", agent), AB_KV("sha256", ab_seal_recipient_id(recipient)));
    ab_seal_recipient_free(recipient);
    return NULL;
}

/* One that is not trusted changes nothing: whoever can write to the log could take Secrets from an
 * agent by it. */
static void judge(const ab_recipients *r, struct entry *entry)
{
    ab_error err = {0};
    ab_seal_recipient *recipient = NULL;
    ab_link_remove(&entry->unchecked);
    entry->in_vain = true;
    ab_err e =
        r->ca_file == NULL
            ? ab_fail(&err, AB_ERR_DENIED,
                      "secrets.ca is not set: no certificate that an agent reports is trusted")
            : ab_seal_recipient_new(ab_str_of(entry->text), ab_buf_str(&r->ca), r->identity,
                                    entry->agent, &recipient, &err);
    if (e != AB_ERR_OK) {
        AB_WARN(r->log, MAIN, "the agent's certificate is not trusted: no Secret is sealed to it",
                AB_KV("agent", entry->agent), AB_KV("why", err.text),
                AB_KV("held_back", entry->held));
        entry->held = 0;
        return;
    }
    recipient = ab_recipient_unless_revoked(r, entry->agent, recipient);
    if (recipient == NULL)
        return;
    ab_seal_recipient_free(entry->told);
    entry->told = recipient;
    entry->in_vain = false;
}

/* A check costs the loop a signature, and another certificate every Secret of the agent. */
bool ab_recipient_may_check(const ab_recipients *r, struct entry *entry)
{
    if (!ab_log_quota_pass(&entry->checks, ab_clock_mono_ms(r->clock)))
        return false;
    entry->held += entry->checks.held_back;
    return true;
}

bool ab_recipient_check_told(const ab_recipients *r, struct entry *entry)
{
    const ab_recipient_used before = ab_recipient_used_now(entry);
    judge(r, entry);
    return ab_recipient_note_change(r, entry, &before);
}

void ab_recipient_set_due(ab_recipients *r, struct entry *entry, bool other_ca)
{
    entry->due = true;
    entry->other_ca = entry->other_ca || other_ca;
    ab_list_append(&r->stale, &entry->stale);
}

void ab_recipient_judge_again(const ab_recipients *r, struct entry *entry)
{
    const ab_recipient_used before = ab_recipient_used_now(entry);
    if (!entry->due)
        return;
    if (entry->other_ca) { /* nobody has said that these would trust it */
        ab_seal_recipient_free(entry->told);
        entry->told = NULL;
    }
    entry->due = entry->other_ca = false;
    if (entry->text != NULL)
        judge(r, entry);
    if (ab_recipient_note_change(r, entry, &before))
        entry->switched = true;
}
