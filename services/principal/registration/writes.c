/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing the Secrets of agents that registered themselves.
 */
#include "services/principal/registration/registration_priv.h"

#include "schema/labels.h"

#include <stdio.h>
#include <stdlib.h>

#define DATA_MAX (256u * 1024)

/* One operation of the store. */
struct op {
    ab_registration *r;
    char key[AB_OBJECT_KEY_MAX];
    char agent[64];
};

void ab_registration_count(const ab_registration *r, const char *result)
{
    const ab_label label = {"result", ab_str_of(result)};
    ab_metric_add(ab_metric_get(r->env.metrics, AB_METRIC_COUNTER, "argobus_registrations_total",
                                "Registrations by result: created, refreshed, refused, failed.",
                                &label, 1),
                  1);
}

bool ab_registration_may_log(ab_registration *r)
{
    return ab_log_quota_pass(&r->lines, ab_clock_mono_ms(r->env.clock));
}

void ab_registration_set_flag(bool *flag, bool value, size_t *counter)
{
    if (value && !*flag)
        ++*counter;
    else if (!value && *flag)
        --*counter;
    *flag = value;
}

static ab_err make_data(const ab_registration *r, const char *agent, ab_buf *out)
{
    char token[AB_AGENT_TOKEN_MAX];
    ab_err e = ab_agent_key_token(r->key, ab_str_of(agent), token);
    return e == AB_ERR_OK ? ab_registration_data(&r->form, ab_str_of(agent), token, out) : e;
}

bool ab_registration_has_current(const ab_registration *r, const char *agent,
                                 const ab_object *secret)
{
    ab_buf data = ab_buf_secret_up_to(DATA_MAX);
    bool current = make_data(r, agent, &data) == AB_ERR_OK &&
                   ab_registration_is_current(secret, ab_buf_str(&data));
    ab_buf_wipe(&data);
    return current;
}

static struct op *op_new(ab_registration *r, ab_str key, const char *agent)
{
    struct op *op = calloc(1, sizeof(*op));
    if (op == NULL)
        return NULL;
    op->r = r;
    snprintf(op->key, sizeof(op->key), "%.*s", AB_STR_ARG(key));
    snprintf(op->agent, sizeof(op->agent), "%s", agent);
    return op;
}

static void fail_write(ab_registration *r, const char *agent, ab_err code, const ab_error *err)
{
    int64_t now = ab_clock_mono_ms(r->env.clock);
    ab_registration_count(r, "failed");
    if (now >= r->retry_at) /* else it was under way when another one failed */
        r->retry_at = now + ab_backoff_next(&r->backoff);
    AB_WARN(r->env.log, MAIN,
            "cannot write the cluster Secret of an agent: the verbs create and patch on secrets "
            "may be missing (deploy/kubernetes/rbac/principal-registration.yaml)",
            AB_KV("agent", agent),
            AB_KV("why", err == NULL || err->text[0] == '\0' ? ab_err_text(code) : err->text));
}

/* A name that is taken is refused at each of its logins. */
static void log_taken(const struct op *op)
{
    if (ab_registration_may_log(op->r))
        AB_WARN(op->r->env.log, MAIN,
                "agent cannot register: a Secret of this name exists, and is not changed; give it "
                "the labels of a cluster Secret, or delete it",
                AB_KV("agent", op->agent), AB_KV("secret", op->key),
                AB_KV("held_back", op->r->lines.held_back));
}

static void on_created(void *arg, ab_err code, ab_object *object, const ab_error *err)
{
    struct op *op = arg;
    ab_registration *r = op->r;
    struct ab_registering *q = ab_map_find(r->queued, ab_str_of(op->agent));
    (void)object;
    if (code == AB_ERR_OK) {
        ab_backoff_reset(&r->backoff);
        ab_registration_count(r, "created");
        AB_INFO(r->env.log, MAIN, "agent registered itself: cluster Secret created",
                AB_KV("agent", op->agent), AB_KV("secret", op->key),
                AB_KV("mode", q == NULL ? "" : q->mode));
    } else if (code == AB_ERR_EXISTS) {
        ab_registration_count(r, "refused");
        log_taken(op);
    } else {
        fail_write(r, op->agent, code, err);
    }
    if (q != NULL && (code == AB_ERR_OK || code == AB_ERR_EXISTS))
        ab_map_drop(r->queued, q);
    else if (q != NULL)
        q->busy = false;
    free(op);
}

static void log_label(ab_registration *r, const char *agent, ab_str key)
{
    if (ab_registration_may_log(r))
        AB_WARN(r->env.log, MAIN,
                "agent may not bring this label: registration.labels does not allow it, or it is "
                "reserved",
                AB_KV("agent", agent), AB_KV("label", key), AB_KV("held_back", r->lines.held_back));
}

/* The labels that it may bring. */
static void take_labels(ab_registration *r, const char *agent, const struct ab_registering *q,
                        ab_buf *out)
{
    ab_str rest = {q->text, q->labels}, key, value;
    while (ab_labels_next(&rest, &key, &value))
        if (ab_registration_policy_takes(&r->policy, key, value))
            ab_buf_printf(out, "%s%.*s=%.*s", out->len == 0 ? "" : ",", AB_STR_ARG(key),
                          AB_STR_ARG(value));
        else
            log_label(r, agent, key);
}

static ab_err make_secret(ab_registration *r, const char *agent, const struct ab_registering *q,
                          ab_object **out)
{
    ab_buf data = ab_buf_secret_up_to(DATA_MAX);
    ab_buf labels = ab_buf_up_to(AB_LABELS_TEXT_MAX);
    take_labels(r, agent, q, &labels);
    ab_err e = ab_buf_status(&labels);
    if (e == AB_ERR_OK)
        e = make_data(r, agent, &data);
    if (e == AB_ERR_OK)
        e = ab_registration_make(&r->form, ab_str_of(agent), q->mode, ab_buf_str(&labels),
                                 ab_buf_str(&data), out);
    ab_buf_fini(&labels);
    ab_buf_wipe(&data);
    return e;
}

void ab_registration_write(ab_registration *r, const char *agent, struct ab_registering *q)
{
    const ab_store_condition condition = {.must_not_exist = true};
    ab_object *secret = NULL;
    ab_err e = make_secret(r, agent, q, &secret);
    struct op *op = e == AB_ERR_OK ? op_new(r, ab_str_of(ab_object_key(secret)), agent) : NULL;
    if (op == NULL) {
        fail_write(r, agent, e == AB_ERR_OK ? AB_ERR_NOMEM : e, NULL);
    } else {
        q->busy = true;
        ab_store_apply(r->env.store, secret, &condition, on_created, op);
    }
    ab_object_unref(secret);
}

/* The watch reports the Secret as it is now, and whether it is out of date still. */
static void end_refresh(struct op *op, ab_err code, const ab_error *err)
{
    struct ab_registered *known = ab_map_find(op->r->secrets, ab_str_of(op->key));
    bool gone = code == AB_ERR_NOTFOUND || code == AB_ERR_CONFLICT;
    if (known != NULL)
        known->busy = false;
    if (known != NULL && (code == AB_ERR_OK || gone))
        ab_registration_set_flag(&known->stale, false, &op->r->stale);
    if (code != AB_ERR_OK && !gone)
        fail_write(op->r, op->agent, code, err);
    free(op);
}

static void on_refreshed(void *arg, ab_err code, ab_object *object, const ab_error *err)
{
    const struct op *op = arg;
    (void)object;
    if (code == AB_ERR_OK) {
        ab_backoff_reset(&op->r->backoff);
        ab_registration_count(op->r, "refreshed");
        AB_INFO(op->r->env.log, MAIN, "cluster Secret of a registered agent refreshed",
                AB_KV("agent", op->agent), AB_KV("secret", op->key));
    }
    end_refresh(arg, code, err);
}

static void on_read(void *arg, ab_err code, ab_object *object, const ab_error *err)
{
    struct op *op = arg;
    ab_object *next = NULL;
    if (code != AB_ERR_OK || !ab_str_is(ab_registration_agent_of(object), op->agent)) {
        end_refresh(op, code, err);
        return;
    }
    ab_buf data = ab_buf_secret_up_to(DATA_MAX);
    ab_err e = make_data(op->r, op->agent, &data);
    bool current = e == AB_ERR_OK && ab_registration_is_current(object, ab_buf_str(&data));
    if (e == AB_ERR_OK && !current)
        e = ab_registration_refresh(object, ab_buf_str(&data), &next);
    ab_buf_wipe(&data);
    const ab_store_condition condition = {.version = ab_object_version(object), .must_exist = true};
    if (next != NULL)
        ab_store_apply(op->r->env.store, next, &condition, on_refreshed, op);
    else
        end_refresh(op, e, NULL);
    ab_object_unref(next);
}

void ab_registration_renew(ab_registration *r, ab_str key, struct ab_registered *known)
{
    struct op *op = op_new(r, key, known->agent);
    if (op == NULL)
        return;
    known->busy = true;
    r->written++;
    ab_store_get(r->env.store, ab_str_of(op->key), on_read, op);
}
