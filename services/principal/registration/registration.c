/* SPDX-License-Identifier: Apache-2.0
 *
 * `queued` are the agents that have no Secret yet, `secrets` the self-registered Secrets that the
 * watch reported: together at most registration.max. `owners` counts the Secrets of an agent, and
 * `names` those of each other cluster. A write is conditional (must not exist; has the version that
 * was read), so a second principal or a person who is quicker wins.
 */
#include "services/principal/registration/registration.h"

#include "schema/attributes.h"
#include "schema/labels.h"
#include "services/principal/registration/registration_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    r->others = ab_map_new();
    r->names = ab_map_new();
    if (r->queued == NULL || r->secrets == NULL || r->owners == NULL || r->others == NULL ||
        r->names == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    r->form = (ab_registration_form){.namespace = r->namespace,
                                     .server = r->server,
                                     .ca = ab_buf_str(&r->ca),
                                     .by_hand = ab_config_is(c, "registration.approval", "manual")};
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
    ab_map_free(r->others, NULL);
    ab_map_free(r->names, NULL);
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

/* --- who asks --- */

static bool refuse(ab_registration *r, const char *agent, ab_error *why, const char *reason)
{
    ab_registration_count(r, "refused");
    if (ab_registration_may_log(r))
        AB_WARN(r->env.log, MAIN, "agent may not register", AB_KV("agent", agent),
                AB_KV("why", reason), AB_KV("held_back", r->lines.held_back));
    ab_fail(why, AB_ERR_DENIED, "agent %s may not register: %s", agent, reason);
    return false;
}

/* Why no agent of this name may register; NULL: it may. In namespace mapping an agent gets what is
 * in the namespace of its name, and an autonomous one writes its Applications there. In destination
 * mapping it gets what is for the cluster of its name, and of two clusters of one name Argo CD
 * serves neither, approved or not. */
static const char *find_fault(const ab_registration *r, const char *agent)
{
    if (strcmp(agent, r->namespace) == 0)
        return "its name is that of the principal's own namespace";
    if (strcmp(agent, AB_NAME_LOCAL_CLUSTER) == 0)
        return "its name is Argo CD's for the control plane's own cluster";
    if (!ab_registration_policy_allows(&r->policy, agent))
        return "its name does not match registration.names of the principal";
    return ab_map_find(r->names, ab_str_of(agent)) == NULL
               ? NULL
               : "another cluster of Argo CD has its name";
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
static struct ab_registering *enqueue(ab_registration *r, const char *agent, ab_str labels)
{
    size_t len = labels.len > AB_LABELS_TEXT_MAX ? 0 : labels.len;
    struct ab_registering *q = ab_map_make(r->queued, ab_str_of(agent), sizeof(*q) + len);
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
    const char *fault = find_fault(r, agent);
    if (listed && fault != NULL)
        return refuse(r, agent, why, fault);
    if (is_full(r))
        return !listed || refuse(r, agent, why,
                                 "registration.max of the principal is reached; remove cluster "
                                 "Secrets of agents that are gone, or raise it");
    struct ab_registering *q = enqueue(r, agent, labels);
    if (q == NULL)
        return refuse(r, agent, why, "out of memory");
    q->mode = ab_registration_policy_mode(&r->policy, claimed);
    return true;
}

/* --- what the watch says --- */

static void note_waiting(ab_registration *r, struct ab_registered *known, bool waiting)
{
    if (waiting && !known->waiting)
        AB_WARN(r->env.log, MAIN,
                "agent waits for approval: set label " AB_LABEL_APPROVED
                " of its cluster Secret to true",
                AB_KV("agent", known->agent));
    ab_registration_set_flag(&known->waiting, waiting, &r->waiting);
    show_waiting(r);
}

/* A Secret of `of`, of `bytes` in `secrets`, which `counts` counts. NULL: out of memory. */
static void *own(ab_map *secrets, ab_str key, size_t bytes, ab_map *counts, ab_str of)
{
    size_t *owned = ab_map_make(counts, of, sizeof(*owned));
    void *secret = owned == NULL ? NULL : ab_map_make(secrets, key, bytes);
    if (secret != NULL)
        ++*owned;
    else if (owned != NULL && *owned == 0)
        ab_map_drop(counts, owned);
    return secret;
}

/* One Secret of `of` is gone. */
static void disown(ab_map *counts, const char *of)
{
    size_t *owned = ab_map_find(counts, ab_str_of(of));
    if (--*owned == 0)
        ab_map_drop(counts, owned);
}

static void forget_other(ab_registration *r, ab_str key)
{
    char *name = ab_map_find(r->others, key);
    if (name == NULL)
        return;
    disown(r->names, name);
    ab_map_drop(r->others, name);
}

void ab_registration_on_deleted(ab_registration *r, const ab_object *secret)
{
    if (r == NULL)
        return;
    forget_other(r, ab_str_of(ab_object_key(secret)));
    struct ab_registered *known = ab_map_find(r->secrets, ab_str_of(ab_object_key(secret)));
    if (known == NULL)
        return;
    ab_registration_set_flag(&known->stale, false, &r->stale);
    note_waiting(r, known, false);
    disown(r->owners, known->agent);
    ab_map_drop(r->secrets, known);
}

static void log_memory(const ab_registration *r, const ab_object *secret)
{
    AB_ERROR(r->env.log, MAIN, "out of memory", AB_KV("secret", ab_object_key(secret)));
}

static void note_other(ab_registration *r, const ab_object *secret)
{
    char cluster[AB_REGISTRATION_CLUSTER_MAX];
    ab_str key = ab_str_of(ab_object_key(secret));
    forget_other(r, key);
    if (!ab_registration_cluster_of(secret, cluster))
        return;
    char *name = own(r->others, key, sizeof(cluster), r->names, ab_str_of(cluster));
    if (name != NULL)
        memcpy(name, cluster, strlen(cluster) + 1);
    else
        log_memory(r, secret);
}

void ab_registration_on_updated(ab_registration *r, const ab_object *secret)
{
    if (r == NULL)
        return;
    ab_str agent = ab_registration_agent_of(secret);
    struct ab_registered *known = ab_map_find(r->secrets, ab_str_of(ab_object_key(secret)));
    if (known != NULL && !ab_str_is(agent, known->agent)) {
        ab_registration_on_deleted(r, secret);
        known = NULL;
    }
    note_other(r, secret);
    if (agent.ptr == NULL)
        return;
    if (known == NULL)
        known = own(r->secrets, ab_str_of(ab_object_key(secret)), sizeof(*known), r->owners, agent);
    if (known == NULL) {
        log_memory(r, secret);
        return;
    }
    snprintf(known->agent, sizeof(known->agent), "%.*s", AB_STR_ARG(agent));
    note_waiting(r, known, ab_registration_is_waiting(secret));
    ab_registration_set_flag(&known->stale, !ab_registration_has_current(r, known->agent, secret),
                             &r->stale);
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

static bool is_wanted(ab_registration *r, const char *agent, struct ab_registering *q)
{
    if (r->env.is_served(r->env.arg, agent) || has_secret(r, agent))
        return false;
    const char *fault = q->decided ? NULL : find_fault(r, agent);
    q->decided = fault == NULL;
    return q->decided || refuse(r, agent, NULL, fault);
}

static void create_queued(ab_registration *r)
{
    for (ab_map_iter i = ab_map_first(r->queued); i.entry != NULL && may_write(r);
         ab_map_next(&i)) {
        struct ab_registering *q = i.value;
        char agent[64];
        if (q->busy)
            continue;
        snprintf(agent, sizeof(agent), "%.*s", AB_STR_ARG(i.key));
        if (is_wanted(r, agent, q)) {
            r->written++;
            ab_registration_write(r, agent, q);
        } else {
            ab_map_drop(r->queued, q);
        }
    }
}

static void refresh_stale(ab_registration *r)
{
    for (ab_map_iter i = ab_map_first(r->secrets); i.entry != NULL && r->stale > 0 && may_write(r);
         ab_map_next(&i)) {
        struct ab_registered *known = i.value;
        if (known->stale && !known->busy)
            ab_registration_renew(r, i.key, known);
    }
}

static void mark_all(ab_registration *r)
{
    for (ab_map_iter i = ab_map_first(r->secrets); i.entry != NULL; ab_map_next(&i)) {
        struct ab_registered *known = i.value;
        ab_registration_set_flag(&known->stale, true, &r->stale);
    }
}

static bool reload_ca(ab_registration *r)
{
    ab_error err = {0};
    if (!ab_file_stamps_changed(&r->ca_stamps))
        return false;
    ab_buf ca = ab_buf_up_to(AB_REGISTRATION_CA_MAX);
    if (ab_registration_read_ca(r->ca_file, &ca, &err) != AB_ERR_OK) {
        AB_WARN(r->env.log, MAIN,
                "cannot load the new CAs for cluster Secrets; still using the previous ones",
                AB_KV("why", err.text));
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
