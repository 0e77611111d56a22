/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/identity.h"

#include <stdio.h>
#include <stdlib.h>

#define NAME "argocd-agent-principal-identity"

struct ab_identity {
    ab_store *store;
    char *namespace;
    ab_log *log;
    void (*known)(void *arg, const char *uid);
    void *arg;
    char uid[37];
    bool asked; /* an answer of the store is to come */
    const ab_clock *clock;
    ab_backoff backoff;
    int64_t retry_at; /* mono_ms */
    bool found;
};

static void got(void *arg, ab_err code, ab_object *object, const ab_error *err);

static void read_it(ab_identity *id)
{
    char key[AB_OBJECT_KEY_MAX];
    snprintf(key, sizeof(key), "ConfigMap/%s/" NAME, id->namespace);
    id->asked = true;
    ab_store_get(id->store, ab_str_of(key), got, id);
}

static void complain(ab_identity *id, ab_err code, const ab_error *err)
{
    id->retry_at = ab_clock_mono_ms(id->clock) + ab_backoff_next(&id->backoff);
    AB_WARN(id->log, MAIN, "the principal's identity cannot be read or made yet",
            AB_KV("configmap", NAME), AB_KV("namespace", id->namespace),
            AB_KV("why", err == NULL || err->text[0] == '\0' ? ab_err_text(code) : err->text));
}

static void found(ab_identity *id, ab_str uid)
{
    snprintf(id->uid, sizeof(id->uid), "%.*s", AB_STR_ARG(uid));
    id->found = true;
    id->known(id->arg, id->uid);
}

static void made(void *arg, ab_err code, ab_object *object, const ab_error *err)
{
    ab_identity *id = arg;
    (void)object;
    id->asked = false;
    if (code == AB_ERR_EXISTS)
        return; /* another principal was quicker: the next tick reads what it made */
    if (code != AB_ERR_OK) {
        complain(id, code, err);
        return;
    }
    char uid[37];
    snprintf(uid, sizeof(uid), "%s", id->uid);
    found(id, ab_str_of(uid));
}

static ab_err make_it(ab_identity *id, ab_error *err)
{
    char json[1024];
    ab_object *object;
    ab_err e = ab_uuid(id->uid);
    if (e != AB_ERR_OK)
        return e;
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" NAME
             "\",\"namespace\":\"%s\"},\"data\":{\"principal-uid\":\"%s\"}}",
             id->namespace, id->uid);
    e = ab_object_parse(ab_str_of(json), &object, err);
    if (e != AB_ERR_OK)
        return e;
    ab_store_condition condition = {.must_not_exist = true};
    id->asked = true;
    ab_store_apply(id->store, object, &condition, made, id);
    ab_object_unref(object);
    return AB_ERR_OK;
}

static void got(void *arg, ab_err code, ab_object *object, const ab_error *err)
{
    ab_identity *id = arg;
    ab_error why = {0};
    id->asked = false;
    if (code == AB_ERR_NOTFOUND) {
        code = make_it(id, &why);
        if (code != AB_ERR_OK)
            complain(id, code, &why);
        return;
    }
    if (code != AB_ERR_OK) {
        complain(id, code, err);
        return;
    }
    ab_str uid = ab_span_plain(ab_span_get(ab_object_field(object, "data"), "principal-uid"));
    if (uid.len == 36) {
        found(id, uid);
        return;
    }
    (void)ab_fail(&why, AB_ERR_INVALID, "data.principal-uid is not a UUID: remove the ConfigMap");
    complain(id, AB_ERR_INVALID, &why);
}

ab_err ab_identity_new(ab_store *store, const char *namespace, const ab_clock *clock, ab_log *log,
                       void (*known)(void *arg, const char *uid), void *arg, ab_identity **out)
{
    ab_identity *id = calloc(1, sizeof(*id));
    if (id == NULL)
        return AB_ERR_NOMEM;
    *id = (ab_identity){.store = store, .clock = clock, .log = log, .known = known, .arg = arg};
    ab_backoff_init(&id->backoff, 250, 60000);
    id->namespace = ab_str_dup(ab_str_of(namespace));
    if (id->namespace == NULL) {
        free(id);
        return AB_ERR_NOMEM;
    }
    *out = id;
    read_it(id);
    return AB_ERR_OK;
}

void ab_identity_tick(ab_identity *id)
{
    if (!id->found && !id->asked && ab_clock_mono_ms(id->clock) >= id->retry_at)
        read_it(id);
}

void ab_identity_free(ab_identity *id)
{
    if (id == NULL)
        return;
    free(id->namespace);
    free(id);
}
