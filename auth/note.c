/* SPDX-License-Identifier: Apache-2.0
 *
 * What is told of logins: metrics, and lines of the log, of which no peer gets more than a few, and
 * all together, however many addresses they have, not more than a log can take.
 */
#include "auth/auth_priv.h"

static const ab_auth_allowance lines = {.burst = 10, .interval_ms = 6000};
static const ab_auth_allowance lines_of_all = {.burst = 100, .interval_ms = 600};

static void count(ab_auth *a, const char *method, const char *result)
{
    const ab_label labels[] = {{"method", ab_str_of(method)}, {"result", ab_str_of(result)}};
    ab_metric_add(ab_metric_get(a->env.metrics, AB_METRIC_COUNTER, "argobus_auth_total",
                                "Logins, token refreshes and tokens checked.", labels, 2),
                  1);
}

void ab_auth_note_success(ab_auth *a, const char *method)
{
    count(a, method, "ok");
}

/* Not a key of the limiter, which forgets one after so many addresses. */
static bool have_all_room(ab_auth *a, int64_t now_ms)
{
    int64_t ahead_ms = a->lines_paid_ms - now_ms;
    if (ahead_ms > (lines_of_all.burst - 1) * lines_of_all.interval_ms)
        return false;
    a->lines_paid_ms = now_ms + (ahead_ms > 0 ? ahead_ms : 0) + lines_of_all.interval_ms;
    return true;
}

static bool may_log(ab_auth *a, const char *address)
{
    uint8_t key[AB_AUTH_HASH_BYTES];
    int64_t now_ms = ab_clock_mono_ms(a->env.clock);
    ab_auth_limiter_key(address, AB_STR("\0log"), key);
    ab_str text = {(const char *)key, sizeof(key)};
    if (ab_auth_limiter_is_shut(&a->limiter, text, lines, now_ms))
        return false;
    ab_auth_limiter_note(&a->limiter, text, lines, now_ms);
    return have_all_room(a, now_ms);
}

void ab_auth_note_refusal(ab_auth *a, const char *address, const char *method, ab_str who,
                          ab_auth_reason reason)
{
    const ab_label label = {"reason", ab_str_of(ab_auth_reason_label(reason))};
    count(a, method, "refused");
    ab_metric_add(ab_metric_get(a->env.metrics, AB_METRIC_COUNTER, "argobus_auth_failures_total",
                                "Refused peers by reason; the peer is not told the reason.", &label,
                                1),
                  1);
    if (reason == AB_AUTH_CLOSED)
        return;
    if (!may_log(a, address)) {
        a->unlogged++;
        return;
    }
    who.len = who.len < AB_AUTH_AGENT_MAX ? who.len : AB_AUTH_AGENT_MAX - 1;
    AB_WARN(a->env.log, AUTH, "peer refused", AB_KV("address", address), AB_KV("method", method),
            AB_KV("agent", who), AB_KV("reason", ab_auth_reason_text(reason)),
            AB_KV("unlogged", a->unlogged));
    a->unlogged = 0;
}

ab_err ab_auth_fail(ab_error *err, ab_auth_reason reason)
{
    ab_err e = reason == AB_AUTH_INTERNAL                              ? AB_ERR_NOMEM
               : reason == AB_AUTH_THROTTLED || reason == AB_AUTH_BUSY ? AB_ERR_FULL
               : reason == AB_AUTH_CLOSED                              ? AB_ERR_CLOSED
                                                                       : AB_ERR_DENIED;
    return ab_fail(err, e, "%s", ab_auth_reason_text(reason));
}
