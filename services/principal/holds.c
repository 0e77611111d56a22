/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/holds.h"

#include "base/map.h"
#include "schema/attributes.h"

#include <inttypes.h>
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
    ab_map_free(h->agents, free);
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
static void put_about(ab_jsonw *w, const char *namespace)
{
    ab_jsonw_key(w, AB_STR("involvedObject"));
    ab_jsonw_object(w);
    ab_jsonw_key_str(w, "apiVersion", AB_STR("v1"));
    ab_jsonw_key_str(w, "kind", AB_STR("Namespace"));
    ab_jsonw_key_str(w, "name", ab_str_of(namespace));
    ab_jsonw_key_str(w, "namespace", ab_str_of(namespace));
    ab_jsonw_object_end(w);
}

static void put_times(ab_jsonw *w, const ab_clock *clock)
{
    char now[AB_TIME_TEXT];
    ab_time_format_seconds(ab_clock_wall_us(clock), now);
    ab_jsonw_key_str(w, "firstTimestamp", ab_str_of(now));
    ab_jsonw_key_str(w, "lastTimestamp", ab_str_of(now));
    ab_jsonw_key(w, AB_STR("count"));
    ab_jsonw_int(w, 1);
}

static void put_source(ab_jsonw *w)
{
    ab_jsonw_key(w, AB_STR("source"));
    ab_jsonw_object(w);
    ab_jsonw_key_str(w, "component", AB_STR("argobus-principal"));
    ab_jsonw_object_end(w);
}

static void put_metadata(ab_jsonw *w, const char *agent, const char *namespace, const char *id)
{
    char name[128];
    snprintf(name, sizeof(name), "argobus-%s.%.8s%.4s", agent, id, id + 9);
    ab_jsonw_key(w, AB_STR("metadata"));
    ab_jsonw_object(w);
    ab_jsonw_key_str(w, "name", ab_str_of(name));
    ab_jsonw_key_str(w, "namespace", ab_str_of(namespace));
    ab_jsonw_object_end(w);
}

static void write_message(const char *agent, const struct hold *hold, char *out, size_t size)
{
    if (hold->count == 0)
        snprintf(out, size, "Agent %s: no deletions are held back any more.", agent);
    else
        snprintf(out, size,
                 "Agent %s: %zu deletions are held back. Nobody observed these objects being "
                 "deleted. Make them again, or confirm: argobusctl resync --agent %s --confirm, or "
                 "annotate the agent's cluster Secret with " AB_ANN_CONFIRM "=%s",
                 agent, hold->count, agent, hold->token);
}

static void put_event(const ab_holds *h, const char *agent, const struct hold *hold, const char *id,
                      ab_buf *out)
{
    const char *namespace = h->env.by_agent ? agent : h->env.namespace;
    char message[512];
    ab_jsonw w = ab_jsonw_to(out);
    write_message(agent, hold, message, sizeof(message));
    ab_jsonw_object(&w);
    ab_jsonw_key_str(&w, "apiVersion", AB_STR("v1"));
    ab_jsonw_key_str(&w, "kind", AB_STR("Event"));
    put_metadata(&w, agent, namespace, id);
    put_about(&w, namespace);
    ab_jsonw_key_str(&w, "type", hold->count == 0 ? AB_STR("Normal") : AB_STR("Warning"));
    ab_jsonw_key_str(&w, "reason",
                     hold->count == 0 ? AB_STR("DeletionsReleased") : AB_STR("DeletionsHeld"));
    ab_jsonw_key_str(&w, "message", ab_str_of(message));
    put_times(&w, h->env.clock);
    put_source(&w);
    ab_jsonw_object_end(&w);
}

/* A folder has no Events, and a file for each would never go. */
static void write_event(ab_holds *h, const char *agent, const struct hold *hold)
{
    char id[37];
    ab_buf text;
    ab_object *event = NULL;
    if (h->store == NULL || strcmp(h->store->ops->name, "kubernetes") != 0 ||
        ab_uuid(id) != AB_ERR_OK)
        return;
    ab_buf_init(&text, 4096);
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

static struct hold *hold_of(const ab_holds *h, const char *agent)
{
    struct hold *hold = ab_map_find(h->agents, ab_str_of(agent));
    if (hold != NULL)
        return hold;
    hold = calloc(1, sizeof(*hold));
    if (hold != NULL && ab_map_put(h->agents, ab_str_of(agent), hold, NULL) == AB_ERR_OK)
        return hold;
    free(hold);
    return NULL;
}

void ab_holds_note(ab_holds *h, const char *agent, size_t count, const char *token)
{
    struct hold *hold = hold_of(h, agent);
    if (hold == NULL) {
        AB_ERROR(h->env.log, MAIN, "out of memory", AB_KV("agent", agent));
        return;
    }
    hold->count = count;
    snprintf(hold->token, sizeof(hold->token), "%s", token);
    write_event(h, agent, hold);
    schedule(h, hold);
    if (count == 0)
        free(ab_map_take(h->agents, ab_str_of(agent)));
}

void ab_holds_tick(ab_holds *h)
{
    int64_t now = ab_clock_mono_ms(h->env.clock);
    if (now < h->next_at)
        return;
    h->next_at = INT64_MAX;
    for (ab_map_iter i = ab_map_first(h->agents); i.entry != NULL; ab_map_next(&i)) {
        struct hold *hold = i.value;
        char agent[64];
        snprintf(agent, sizeof(agent), "%.*s", AB_STR_ARG(i.key));
        if (now >= hold->again_at) {
            write_event(h, agent, hold);
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
