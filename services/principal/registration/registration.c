/* SPDX-License-Identifier: Apache-2.0
 *
 * `queued` are the agents that have no Secret yet, `secrets` the self-registered Secrets that the
 * watch reported: together at most registration.max. `owners` counts the Secrets of an agent. A
 * write is conditional (must not exist; has the version that was read), so a second principal or a
 * person who is quicker wins.
 */
#include "services/principal/registration/registration.h"

#include "base/core/map.h"
#include "live/resource/agent_key.h"
#include "schema/labels.h"
#include "services/principal/registration/policy.h"
#include "services/principal/registration/registration_priv.h"
#include "services/principal/registration/secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA_MAX (256u * 1024)

struct queued {
    const char *mode;
    bool busy;     /* its Secret is being created */
    bool decided;  /* the policy allows it */
    size_t labels; /* bytes of what it brings */
    char text[];   /* that */
};

/* A self-registered Secret. */
struct known {
    char agent[64];
    bool waiting;
    bool stale; /* may say other data than it is to say */
    bool busy;  /* is being read or written */
};

struct ab_registration {
    ab_registration_env env;
    ab_registration_policy policy;
    ab_registration_form form;
    char *server;
    char *namespace;
    char *ca_file; /* NULL: none */
    ab_agent_key *key;
    uint64_t key_number;
    ab_file_stamps ca_stamps;
    ab_buf ca;
    size_t max;
    ab_map *queued;  /* by agent: struct queued */
    ab_map *secrets; /* by key: struct known */
    ab_map *owners;  /* by agent: size_t, its Secrets */
    size_t stale;
    size_t waiting;
    ab_backoff backoff;
    int64_t retry_at;  /* mono_ms: nothing is written before */
    int64_t window_ms; /* when the current second began */
    size_t written;    /* in it */
};

/* One operation of the store. */
struct op {
    ab_registration *r;
    char key[AB_OBJECT_KEY_MAX];
    char agent[64];
};

/* --- life --- */

static char *dup_server(const char *server)
{
    size_t len = strlen(server);
    while (len > 0 && server[len - 1] == '/')
        len--;
    return ab_str_dup((ab_str){server, len});
}

static ab_err dup_texts(ab_registration *r, ab_error *err)
{
    const ab_config *c = r->env.config;
    const char *ca = ab_registration_ca_file(c);
    r->server = dup_server(ab_config_str(c, "registration.server"));
    r->namespace = ab_str_dup(ab_str_of(ab_config_str(c, "store.namespace")));
    r->ca_file = ca == NULL ? NULL : ab_str_dup(ab_str_of(ca));
    bool all = r->server != NULL && r->namespace != NULL && (ca == NULL || r->ca_file != NULL);
    return all ? AB_ERR_OK : ab_fail(err, AB_ERR_NOMEM, "out of memory");
}

static ab_err init(ab_registration *r, ab_error *err)
{
    const ab_config *c = r->env.config;
    ab_err e = ab_registration_policy_init(c, &r->policy, err);
    if (e == AB_ERR_OK)
        e = ab_agent_key_new(ab_config_str(c, "registration.token-key"), r->env.clock, r->env.log,
                             &r->key, err);
    if (e != AB_ERR_OK)
        return e;
    r->key_number = ab_agent_key_refresh(r->key);
    e = dup_texts(r, err);
    if (e != AB_ERR_OK)
        return e;
    ab_file_stamps_add(&r->ca_stamps, r->ca_file);
    e = ab_registration_read_ca(r->ca_file, &r->ca, err);
    if (e != AB_ERR_OK)
        return e;
    r->max = (size_t)ab_config_int(c, "registration.max");
    r->queued = ab_map_new();
    r->secrets = ab_map_new();
    r->owners = ab_map_new();
    if (r->queued == NULL || r->secrets == NULL || r->owners == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    r->form = (ab_registration_form){
        .namespace = r->namespace,
        .server = r->server,
        .ca = ab_buf_str(&r->ca),
        .by_hand = strcmp(ab_config_str(c, "registration.approval"), "manual") == 0};
    return AB_ERR_OK;
}

ab_err ab_registration_new(const ab_registration_env *env, ab_registration **out, ab_error *err)
{
    *out = NULL;
    if (!ab_config_bool(env->config, "registration.enabled"))
        return AB_ERR_OK;
    ab_registration *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    r->env = *env;
    ab_buf_init(&r->ca, AB_REGISTRATION_CA_MAX);
    ab_backoff_init(&r->backoff, 1000, 60000);
    ab_err e = init(r, err);
    if (e != AB_ERR_OK) {
        ab_registration_free(r);
        return e;
    }
    *out = r;
    return AB_ERR_OK;
}

void ab_registration_free(ab_registration *r)
{
    if (r == NULL)
        return;
    ab_map_free(r->queued, NULL);
    ab_map_free(r->secrets, NULL);
    ab_map_free(r->owners, NULL);
    ab_registration_policy_fini(&r->policy);
    ab_agent_key_free(r->key);
    ab_buf_fini(&r->ca);
    free(r->server);
    free(r->namespace);
    free(r->ca_file);
    free(r);
}

/* --- metrics --- */

static void show_waiting(const ab_registration *r)
{
    ab_metric_set(ab_metric_get(r->env.metrics, AB_METRIC_GAUGE, "argobus_registrations_waiting",
                                "Agents that registered themselves and wait for approval.", NULL,
                                0),
                  (double)r->waiting);
}

static void count(const ab_registration *r, const char *result)
{
    const ab_label label = {"result", ab_str_of(result)};
    ab_metric_add(ab_metric_get(r->env.metrics, AB_METRIC_COUNTER, "argobus_registrations_total",
                                "Registrations by result: created, refreshed, refused, failed.",
                                &label, 1),
                  1);
}

/* --- who asks --- */

static bool refuse(const ab_registration *r, const char *agent, ab_error *why, const char *reason)
{
    count(r, "refused");
    AB_WARN(r->env.log, MAIN, "agent may not register", AB_KV("agent", agent),
            AB_KV("why", reason));
    ab_fail(why, AB_ERR_DENIED, "agent %s may not register: %s", agent, reason);
    return false;
}

static bool has_secret(const ab_registration *r, const char *agent)
{
    return ab_map_find(r->owners, ab_str_of(agent)) != NULL;
}

static bool is_full(const ab_registration *r)
{
    return ab_map_count(r->queued) + ab_map_count(r->secrets) >= r->max;
}

/* @param labels  none of a text that is too long, as no agent of ours sends it */
static struct queued *enqueue(ab_registration *r, const char *agent, ab_str labels)
{
    size_t len = labels.len > AB_LABELS_TEXT_MAX ? 0 : labels.len;
    struct queued *q = ab_map_make(r->queued, ab_str_of(agent), sizeof(*q) + len);
    if (q != NULL && len > 0)
        memcpy(q->text, labels.ptr, len);
    if (q != NULL)
        q->labels = len;
    return q;
}

bool ab_registration_ask(ab_registration *r, const char *agent, const char *claimed, ab_str labels,
                         bool listed, ab_error *why)
{
    if (r == NULL || ab_map_find(r->queued, ab_str_of(agent)) != NULL || has_secret(r, agent))
        return true;
    if (listed && !ab_registration_policy_allows(&r->policy, agent))
        return refuse(r, agent, why, "its name does not match registration.names of the principal");
    if (is_full(r))
        return !listed || refuse(r, agent, why,
                                 "registration.max of the principal is reached; remove cluster "
                                 "Secrets of agents that are gone, or raise it");
    struct queued *q = enqueue(r, agent, labels);
    if (q == NULL)
        return refuse(r, agent, why, "out of memory");
    q->mode = ab_registration_policy_mode(&r->policy, claimed);
    return true;
}

/* --- what the watch says --- */

static void set_flag(bool *flag, bool value, size_t *counter)
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

static bool is_current(const ab_registration *r, const char *agent, const ab_object *secret)
{
    ab_buf data;
    ab_buf_init_secret(&data, DATA_MAX);
    bool current = make_data(r, agent, &data) == AB_ERR_OK &&
                   ab_registration_is_current(secret, ab_buf_str(&data));
    ab_buf_wipe(&data);
    return current;
}

static void note_waiting(ab_registration *r, struct known *known, bool waiting)
{
    if (waiting && !known->waiting)
        AB_WARN(r->env.log, MAIN,
                "agent waits for approval: set label " AB_LABEL_APPROVED
                " of its cluster Secret to true",
                AB_KV("agent", (const char *)known->agent));
    set_flag(&known->waiting, waiting, &r->waiting);
    show_waiting(r);
}

/* One Secret of the agent is gone. */
static void disown(ab_registration *r, const char *agent)
{
    size_t *owned = ab_map_find(r->owners, ab_str_of(agent));
    if (--*owned == 0)
        ab_map_drop(r->owners, owned);
}

void ab_registration_on_deleted(ab_registration *r, const ab_object *secret)
{
    struct known *known =
        r == NULL ? NULL : ab_map_find(r->secrets, ab_str_of(ab_object_key(secret)));
    if (known == NULL)
        return;
    set_flag(&known->stale, false, &r->stale);
    note_waiting(r, known, false);
    disown(r, known->agent);
    ab_map_drop(r->secrets, known);
}

/* NULL: out of memory. */
static struct known *make_known(ab_registration *r, ab_str agent, ab_str key)
{
    size_t *owned = ab_map_make(r->owners, agent, sizeof(*owned));
    struct known *known = owned == NULL ? NULL : ab_map_make(r->secrets, key, sizeof(*known));
    if (known != NULL) {
        snprintf(known->agent, sizeof(known->agent), "%.*s", AB_STR_ARG(agent));
        ++*owned;
    } else if (owned != NULL && *owned == 0) {
        ab_map_drop(r->owners, owned);
    }
    return known;
}

void ab_registration_on_updated(ab_registration *r, const ab_object *secret)
{
    if (r == NULL)
        return;
    ab_str agent = ab_registration_agent_of(secret);
    struct known *known = ab_map_find(r->secrets, ab_str_of(ab_object_key(secret)));
    if (known != NULL && !ab_str_is(agent, known->agent)) {
        ab_registration_on_deleted(r, secret);
        known = NULL;
    }
    if (agent.ptr == NULL)
        return;
    if (known == NULL)
        known = make_known(r, agent, ab_str_of(ab_object_key(secret)));
    if (known == NULL) {
        AB_ERROR(r->env.log, MAIN, "out of memory", AB_KV("secret", ab_object_key(secret)));
        return;
    }
    note_waiting(r, known, ab_registration_is_waiting(secret));
    set_flag(&known->stale, !is_current(r, known->agent, secret), &r->stale);
}

/* --- writes --- */

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
    count(r, "failed");
    if (now >= r->retry_at) /* else it was under way when another one failed */
        r->retry_at = now + ab_backoff_next(&r->backoff);
    AB_WARN(r->env.log, MAIN,
            "cannot write the cluster Secret of an agent: the verbs create and patch on secrets "
            "may be missing (deploy/kubernetes/rbac/principal-registration.yaml)",
            AB_KV("agent", agent),
            AB_KV("why", err == NULL || err->text[0] == '\0' ? ab_err_text(code) : err->text));
}

static void on_created(void *arg, ab_err code, ab_object *object, const ab_error *err)
{
    struct op *op = arg;
    ab_registration *r = op->r;
    struct queued *q = ab_map_find(r->queued, ab_str_of(op->agent));
    (void)object;
    if (code == AB_ERR_OK) {
        ab_backoff_reset(&r->backoff);
        count(r, "created");
        AB_INFO(r->env.log, MAIN, "agent registered itself: cluster Secret created",
                AB_KV("agent", (const char *)op->agent), AB_KV("secret", (const char *)op->key),
                AB_KV("mode", q == NULL ? "" : q->mode));
    } else if (code == AB_ERR_EXISTS) {
        count(r, "refused");
        AB_WARN(r->env.log, MAIN,
                "agent cannot register: a Secret of this name exists, and is not changed; give it "
                "the labels of a cluster Secret, or delete it",
                AB_KV("agent", (const char *)op->agent), AB_KV("secret", (const char *)op->key));
    } else {
        fail_write(r, op->agent, code, err);
    }
    if (q != NULL && (code == AB_ERR_OK || code == AB_ERR_EXISTS))
        ab_map_drop(r->queued, q);
    else if (q != NULL)
        q->busy = false;
    free(op);
}

/* The labels that it may bring. */
static void take_labels(const ab_registration *r, const char *agent, const struct queued *q,
                        ab_buf *out)
{
    ab_str rest = {q->text, q->labels}, key, value;
    while (ab_labels_next(&rest, &key, &value))
        if (ab_registration_policy_takes(&r->policy, key, value))
            ab_buf_printf(out, "%s%.*s=%.*s", out->len == 0 ? "" : ",", AB_STR_ARG(key),
                          AB_STR_ARG(value));
        else
            AB_WARN(r->env.log, MAIN,
                    "agent may not bring this label: registration.labels does not allow it, or it "
                    "is reserved",
                    AB_KV("agent", agent), AB_KV("label", key));
}

static ab_err make_secret(const ab_registration *r, const char *agent, const struct queued *q,
                          ab_object **out)
{
    ab_buf data, labels;
    ab_buf_init_secret(&data, DATA_MAX);
    ab_buf_init(&labels, AB_LABELS_TEXT_MAX);
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

static void create(ab_registration *r, const char *agent, struct queued *q)
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
    struct known *known = ab_map_find(op->r->secrets, ab_str_of(op->key));
    bool gone = code == AB_ERR_NOTFOUND || code == AB_ERR_CONFLICT;
    if (known != NULL)
        known->busy = false;
    if (known != NULL && (code == AB_ERR_OK || gone))
        set_flag(&known->stale, false, &op->r->stale);
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
        count(op->r, "refreshed");
        AB_INFO(op->r->env.log, MAIN, "cluster Secret of a registered agent refreshed",
                AB_KV("agent", (const char *)op->agent), AB_KV("secret", (const char *)op->key));
    }
    end_refresh(arg, code, err);
}

static void on_read(void *arg, ab_err code, ab_object *object, const ab_error *err)
{
    struct op *op = arg;
    ab_buf data;
    ab_object *next = NULL;
    if (code != AB_ERR_OK || !ab_str_is(ab_registration_agent_of(object), op->agent)) {
        end_refresh(op, code, err);
        return;
    }
    ab_buf_init_secret(&data, DATA_MAX);
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

/* --- the queue --- */

static bool may_write(ab_registration *r)
{
    int64_t now = ab_clock_mono_ms(r->env.clock);
    if (now - r->window_ms >= 1000) {
        r->window_ms = now;
        r->written = 0;
    }
    return now >= r->retry_at && r->written < AB_REGISTRATION_RATE;
}

static bool is_wanted(ab_registration *r, const char *agent, struct queued *q)
{
    if (r->env.is_served(r->env.arg, agent) || has_secret(r, agent))
        return false;
    if (q->decided || ab_registration_policy_allows(&r->policy, agent))
        return q->decided = true;
    (void)refuse(r, agent, NULL, "its name does not match registration.names");
    return false;
}

static void create_queued(ab_registration *r)
{
    for (ab_map_iter i = ab_map_first(r->queued); i.entry != NULL && may_write(r);
         ab_map_next(&i)) {
        struct queued *q = i.value;
        char agent[64];
        if (q->busy)
            continue;
        snprintf(agent, sizeof(agent), "%.*s", AB_STR_ARG(i.key));
        if (is_wanted(r, agent, q)) {
            r->written++;
            create(r, agent, q);
        } else {
            ab_map_drop(r->queued, q);
        }
    }
}

static void refresh_stale(ab_registration *r)
{
    for (ab_map_iter i = ab_map_first(r->secrets); i.entry != NULL && r->stale > 0 && may_write(r);
         ab_map_next(&i)) {
        struct known *known = i.value;
        struct op *op = known->stale && !known->busy ? op_new(r, i.key, known->agent) : NULL;
        if (op == NULL)
            continue;
        known->busy = true;
        r->written++;
        ab_store_get(r->env.store, ab_str_of(op->key), on_read, op);
    }
}

static void mark_all(ab_registration *r)
{
    for (ab_map_iter i = ab_map_first(r->secrets); i.entry != NULL; ab_map_next(&i)) {
        struct known *known = i.value;
        set_flag(&known->stale, true, &r->stale);
    }
}

static bool reload_ca(ab_registration *r)
{
    ab_buf ca;
    ab_error err = {0};
    if (!ab_file_stamps_changed(&r->ca_stamps))
        return false;
    ab_buf_init(&ca, AB_REGISTRATION_CA_MAX);
    if (ab_registration_read_ca(r->ca_file, &ca, &err) != AB_ERR_OK) {
        AB_WARN(r->env.log, MAIN,
                "cannot load the new CAs for cluster Secrets; still using the previous ones",
                AB_KV("why", (const char *)err.text));
        ab_buf_fini(&ca);
        return false;
    }
    ab_buf_fini(&r->ca);
    r->ca = ca;
    r->form.ca = ab_buf_str(&r->ca);
    return true;
}

void ab_registration_tick(ab_registration *r)
{
    if (r == NULL)
        return;
    uint64_t number = ab_agent_key_refresh(r->key);
    bool other_ca = reload_ca(r);
    if (other_ca || number != r->key_number)
        mark_all(r);
    r->key_number = number;
    create_queued(r);
    refresh_stale(r);
}
