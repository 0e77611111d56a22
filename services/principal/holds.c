/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/holds.h"

#include "base/core/map.h"
#include "base/json/document.h"
#include "schema/attributes.h"

#include <stdio.h>
#include <stdlib.h>

#define AGAIN_MS 1800000

struct hold {
    size_t count;
    char token[16];
    int64_t again_at; /* mono_ms: when the Event is written again */
};

struct ab_holds {
    ab_holds_env env;
    ab_store *store;
    ab_map *agents; /* name -> struct hold */
    int64_t next_at;
    bool refused; /* the last Event was, and that was logged */
};

ab_holds *ab_holds_new(const ab_holds_env *env)
{
    ab_holds *h = calloc(1, sizeof(*h));
    if (h == NULL)
        return NULL;
    h->env = *env;
    h->next_at = INT64_MAX;
    h->agents = ab_map_new();
    if (h->agents != NULL)
        return h;
    free(h);
    return NULL;
}

void ab_holds_free(ab_holds *h)
{
    if (h == NULL)
        return;
    ab_map_free(h->agents, NULL);
    free(h);
}

void ab_holds_use(ab_holds *h, ab_store *store)
{
    h->store = store;
}

/* --- Events --- */

static void on_written(void *arg, ab_err code, ab_object *object, const ab_error *err)
{
    ab_holds *h = arg;
    (void)object;
    if (code != AB_ERR_OK && !h->refused)
        AB_WARN(h->env.log, MAIN,
                "cannot write an Event about deletions that are held back: grant the verb create "
                "on events",
                AB_KV("why", err == NULL ? ab_err_text(code) : (const char *)err->text));
    h->refused = code != AB_ERR_OK;
}

/* A Namespace as the object of an Event has itself as its namespace: else the Event would have to
 * be in "default", where nobody looks. */
static bool add_about(cJSON *event, const char *namespace)
{
    cJSON *about = cJSON_AddObjectToObject(event, "involvedObject");
    return ab_doc_add_str(about, "apiVersion", AB_STR("v1")) &&
           ab_doc_add_str(about, "kind", AB_STR("Namespace")) &&
           ab_doc_add_str(about, "name", ab_str_of(namespace)) &&
           ab_doc_add_str(about, "namespace", ab_str_of(namespace));
}

static bool add_times(cJSON *event, const ab_clock *clock)
{
    char now[AB_TIME_TEXT];
    ab_time_format_seconds(ab_clock_wall_us(clock), now);
    return ab_doc_add_str(event, "firstTimestamp", ab_str_of(now)) &&
           ab_doc_add_str(event, "lastTimestamp", ab_str_of(now)) &&
           ab_doc_add_i64(event, "count", 1);
}

static bool add_source(cJSON *event)
{
    cJSON *source = cJSON_AddObjectToObject(event, "source");
    return ab_doc_add_str(source, "component", AB_STR("argobus-principal"));
}

static bool add_metadata(cJSON *event, const char *agent, const char *namespace, const char *id)
{
    char name[128];
    cJSON *metadata = cJSON_AddObjectToObject(event, "metadata");
    snprintf(name, sizeof(name), "argobus-%s.%.8s%.4s", agent, id, id + 9);
    return ab_doc_add_str(metadata, "name", ab_str_of(name)) &&
           ab_doc_add_str(metadata, "namespace", ab_str_of(namespace));
}

static void write_message(const char *agent, const struct hold *hold, char *out, size_t size)
{
    if (hold->count == 0)
        snprintf(out, size, "Agent %s: no deletions are held back any more.", agent);
    else
        snprintf(out, size,
                 "Agent %s: %zu deletions are held back. Nobody observed these objects being "
                 "deleted. Make them again, or confirm: argobusctl resync --agent %s --confirm %s, "
                 "or annotate the agent's cluster Secret with " AB_ANN_CONFIRM "=%s",
                 agent, hold->count, agent, hold->token, hold->token);
}

static bool add_what(cJSON *event, const char *agent, const struct hold *hold)
{
    char message[512];
    bool over = hold->count == 0;
    write_message(agent, hold, message, sizeof(message));
    return ab_doc_add_str(event, "type", over ? AB_STR("Normal") : AB_STR("Warning")) &&
           ab_doc_add_str(event, "reason",
                          over ? AB_STR("DeletionsReleased") : AB_STR("DeletionsHeld")) &&
           ab_doc_add_str(event, "message", ab_str_of(message));
}

static void put_event(const ab_holds *h, const char *agent, const struct hold *hold, const char *id,
                      ab_buf *out)
{
    const char *namespace = h->env.by_agent ? agent : h->env.namespace;
    cJSON *event = cJSON_CreateObject();
    bool complete = ab_doc_add_str(event, "apiVersion", AB_STR("v1")) &&
                    ab_doc_add_str(event, "kind", AB_STR("Event")) &&
                    add_metadata(event, agent, namespace, id) && add_about(event, namespace) &&
                    add_what(event, agent, hold) && add_times(event, h->env.clock) &&
                    add_source(event);
    (void)ab_doc_finish(event, complete, out);
}

/* A folder has no Events, and a file for each would never go. */
static void write_event(ab_holds *h, const char *agent, const struct hold *hold)
{
    char id[37];
    ab_object *event = NULL;
    if (h->store == NULL || strcmp(h->store->ops->name, "kubernetes") != 0 ||
        ab_uuid(id) != AB_ERR_OK)
        return;
    ab_buf text = ab_buf_up_to(4096);
    put_event(h, agent, hold, id, &text);
    ab_store_condition condition = {.must_not_exist = true};
    if (ab_buf_status(&text) == AB_ERR_OK &&
        ab_object_parse(ab_buf_str(&text), &event, NULL) == AB_ERR_OK)
        ab_store_apply(h->store, event, &condition, on_written, h);
    ab_object_unref(event);
    ab_buf_fini(&text);
}

/* --- what is held --- */

static void schedule(ab_holds *h, struct hold *hold)
{
    hold->again_at = ab_clock_mono_ms(h->env.clock) + AGAIN_MS;
    if (hold->again_at < h->next_at)
        h->next_at = hold->again_at;
}

void ab_holds_note(ab_holds *h, const char *agent, size_t count, const char *token)
{
    struct hold *hold = ab_map_make(h->agents, ab_str_of(agent), sizeof(*hold));
    if (hold == NULL) {
        AB_ERROR(h->env.log, MAIN, "out of memory", AB_KV("agent", agent));
        return;
    }
    hold->count = count;
    snprintf(hold->token, sizeof(hold->token), "%s", token);
    write_event(h, agent, hold);
    schedule(h, hold);
    if (count == 0)
        ab_map_drop(h->agents, hold);
}

void ab_holds_forget(ab_holds *h, const char *agent)
{
    struct hold *hold = ab_map_find(h->agents, ab_str_of(agent));
    if (hold != NULL)
        ab_map_drop(h->agents, hold);
}

void ab_holds_tick(ab_holds *h)
{
    int64_t now = ab_clock_mono_ms(h->env.clock);
    if (now < h->next_at)
        return;
    h->next_at = INT64_MAX;
    for (ab_map_iter i = ab_map_first(h->agents); i.entry != NULL; ab_map_next(&i)) {
        struct hold *hold = i.value;
        if (now >= hold->again_at) {
            write_event(h, i.key.ptr, hold);
            hold->again_at = now + AGAIN_MS;
        }
        if (hold->again_at < h->next_at)
            h->next_at = hold->again_at;
    }
}

void ab_holds_show(const ab_holds *h, ab_buf *out)
{
    for (ab_map_iter i = ab_map_first(h->agents); i.entry != NULL; ab_map_next(&i)) {
        const struct hold *hold = i.value;
        ab_buf_printf(out, "%sagent %.*s: %zu deletions are held back, confirm with %s",
                      out->len > 0 ? "\n" : "", AB_STR_ARG(i.key), hold->count, hold->token);
    }
}

const char *ab_holds_token(const ab_holds *h, const char *agent)
{
    const struct hold *hold = ab_map_find(h->agents, ab_str_of(agent));
    return hold == NULL ? NULL : hold->token;
}
