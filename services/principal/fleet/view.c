/* SPDX-License-Identifier: Apache-2.0
 *
 * Written straight into the buffer: a tree of 3,000 agents would cost the loop more than its text.
 */
#include "services/principal/fleet/view.h"

#include "base/json/span.h"
#include "schema/attributes.h"

#include <inttypes.h>
#include <stdio.h>

/* Absent is null. */
static void put_text(ab_spanw *w, const char *name, ab_str text)
{
    ab_spanw_key(w, ab_str_of(name));
    if (text.ptr == NULL)
        ab_spanw_raw(w, AB_STR_NONE);
    else /* a text that was cut may end in the middle of a character */
        ab_spanw_str(w, ab_str_is_utf8(text) ? text : AB_STR("(not UTF-8)"));
}

static void put_bool(ab_spanw *w, const char *name, bool value)
{
    ab_spanw_key_raw(w, name, value ? AB_STR("true") : AB_STR("false"));
}

static void put_number(ab_spanw *w, const char *name, size_t value)
{
    ab_spanw_key_int(w, name, (int64_t)value);
}

static void put_null(ab_spanw *w, const char *name)
{
    put_text(w, name, AB_STR_NONE);
}

/* 0: null. */
static void put_time(ab_spanw *w, const char *name, int64_t wall_us)
{
    char text[AB_TIME_TEXT];
    ab_time_format_ms(wall_us, text);
    put_text(w, name, wall_us == 0 ? AB_STR_NONE : ab_str_of(text));
}

static void put_time_ms(ab_spanw *w, const char *name, int64_t wall_ms)
{
    put_time(w, name, wall_ms * 1000);
}

static void put_age(ab_spanw *w, int64_t age_ms)
{
    char text[32];
    int64_t ms = age_ms > 0 ? age_ms : 0;
    snprintf(text, sizeof(text), "%" PRId64 ".%03d", ms / 1000, (int)(ms % 1000));
    ab_spanw_key_raw(w, "age_seconds", ab_str_of(text));
}

/* --- the principal --- */

static void put_readiness(ab_spanw *w, const service *s)
{
    ab_buf why = ab_buf_up_to(4096);
    bool ready = ab_service_is_ready(&s->base, &why);
    put_bool(w, "ready", ready);
    put_text(w, "why", ready ? AB_STR_NONE : ab_buf_str(&why));
    ab_buf_fini(&why);
}

static void put_principal(ab_spanw *w, const service *s)
{
    const ab_config *c = s->base.daemon->config;
    ab_spanw_object(w);
    put_text(w, "version", AB_STR(AB_VERSION));
    put_text(w, "uid", s->uid[0] == '\0' ? AB_STR_NONE : ab_str_of(s->uid));
    put_text(w, "transport", ab_str_of(ab_config_str(c, "transport")));
    put_text(w, "mapping", ab_str_of(ab_config_str(c, "mapping")));
    put_time(w, "started", ab_fleet_started_us(s->fleet));
    put_readiness(w, s);
    ab_spanw_object_end(w);
}

/* --- an agent --- */

/* @param ages  also how old it is, which changes by itself */
static void put_count(ab_spanw *w, const service *s, const char *agent, ab_direction direction,
                      bool ages)
{
    const char *name = direction == AB_DOWN ? "down" : "up";
    if (!ab_changes_are_known(s->changes, agent, direction)) {
        put_null(w, name);
        return;
    }
    const ab_pending *pending = ab_changes_of(s->changes, agent, direction);
    ab_spanw_key_object(w, name);
    put_number(w, "count", ab_pending_count(pending));
    put_time_ms(w, "oldest", ab_pending_since_ms(pending));
    if (ages)
        put_age(w, ab_pending_age_ms(pending));
    ab_spanw_object_end(w);
}

static void put_pending(ab_spanw *w, const service *s, const char *agent, bool ages)
{
    ab_spanw_key_object(w, "pending");
    put_count(w, s, agent, AB_DOWN, ages);
    put_count(w, s, agent, AB_UP, ages);
    ab_spanw_object_end(w);
}

static void put_held(ab_spanw *w, const service *s, const char *agent)
{
    size_t count = ab_principal_held(s->machine, agent);
    const char *token = ab_holds_token(s->holds, agent);
    if (count == 0) {
        put_null(w, "held");
        return;
    }
    ab_spanw_key_object(w, "held");
    put_number(w, "count", count);
    put_text(w, "token", ab_str_of(token == NULL || token[0] == '\0' ? NULL : token));
    ab_spanw_object_end(w);
}

static void put_applications(ab_spanw *w, const service *s, const char *agent)
{
    ab_app_counts counts;
    ab_principal_app_counts(s->machine, agent, &counts);
    ab_spanw_key_object(w, "applications");
    put_number(w, "count", counts.all);
    ab_spanw_key_object(w, "sync");
    for (unsigned i = 0; i < AB_APP_SYNCS; i++)
        if (counts.sync[i] > 0)
            put_number(w, ab_app_sync_name(i), counts.sync[i]);
    ab_spanw_object_end(w);
    ab_spanw_key_object(w, "health");
    for (unsigned i = 0; i < AB_APP_HEALTHS; i++)
        if (counts.health[i] > 0)
            put_number(w, ab_app_health_name(i), counts.health[i]);
    ab_spanw_object_end(w);
    ab_spanw_object_end(w);
}

static void put_certificate(ab_spanw *w, const service *s, const char *agent)
{
    int64_t expires_s = 0;
    const char *id = ab_recipients_show(s->recipients, agent, &expires_s);
    if (id == NULL) {
        put_null(w, "certificate");
        return;
    }
    ab_spanw_key_object(w, "certificate");
    put_text(w, "sha256", ab_str_of(id));
    put_time(w, "expires", expires_s * 1000000);
    ab_spanw_object_end(w);
}

static void put_agent(ab_spanw *w, const service *s, const char *name, const ab_fleet_agent *a,
                      bool ages)
{
    ab_spanw_object(w);
    put_text(w, "name", ab_str_of(name));
    put_text(w, "mode", ab_str_of(a->mode));
    put_text(w, "claimed_mode", ab_str_of(a->claimed));
    put_bool(w, "connected", a->connected);
    put_time(w, "since", a->since_us);
    put_text(w, "version", a->version[0] == '\0' ? AB_STR_NONE : ab_str_of(a->version));
    put_pending(w, s, name, ages);
    put_held(w, s, name);
    put_applications(w, s, name);
    put_number(w, "secrets_waiting", ab_principal_secrets_waiting(s->machine, name));
    put_text(w, "refused", ab_str_of(a->refused));
    put_certificate(w, s, name);
    ab_spanw_object_end(w);
}

void ab_fleet_view_write(const service *s, ab_buf *out)
{
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_key(&w, AB_STR("principal"));
    put_principal(&w, s);
    ab_spanw_key_array(&w, "agents");
    for (ab_map_iter i = ab_map_first(ab_fleet_agents(s->fleet)); i.entry != NULL; ab_map_next(&i))
        put_agent(&w, s, i.key.ptr, i.value, true);
    ab_spanw_array_end(&w);
    ab_spanw_object_end(&w);
}

/* --- what a page is told as it changes --- */

void ab_fleet_view_write_principal(const service *s, ab_buf *out)
{
    ab_spanw w = ab_spanw_to(out);
    put_principal(&w, s);
}

void ab_fleet_view_write_figures(const service *s, ab_str agent, ab_buf *out)
{
    const ab_fleet_agent *a = ab_fleet_find(s->fleet, agent);
    ab_spanw w = ab_spanw_to(out);
    if (a != NULL)
        put_agent(&w, s, ab_map_at((void *)(uintptr_t)a).key.ptr, a, false);
}

/* --- its objects --- */

/* With so much of what an agent reports, all objects fit into an answer of the control socket. */
#define MESSAGE_MAX 1024
#define REASON_MAX  4096

struct listing {
    ab_spanw *w;
    const service *s;
    const char *name; /* the agent's */
    const ab_fleet_agent *agent;
    const char *direction;
    size_t count;
    size_t left_out;
};

/* @return false: no more are written */
static bool count_one(struct listing *l)
{
    bool written = l->count < AB_FLEET_OBJECTS_MAX;
    l->count++;
    l->left_out += !written;
    return written;
}

static void put_name(ab_spanw *w, ab_str key)
{
    ab_str kind = AB_STR("command"), namespace = AB_STR_NONE;
    ab_str name = ab_str_after(key, AB_KEY_COMMAND);
    if (name.ptr == NULL && ab_object_key_split(key, &kind, &namespace, &name) != AB_ERR_OK) {
        kind = namespace = AB_STR_NONE;
        name = key;
    }
    put_text(w, "kind", kind);
    put_text(w, "namespace", namespace);
    put_text(w, "name", name);
}

/* All but its age. */
static void begin_object(const struct listing *l, ab_str key, const char *action, const char *state,
                         ab_str reason)
{
    ab_spanw_object(l->w);
    put_text(l->w, "direction", ab_str_of(l->direction));
    put_name(l->w, key);
    put_text(l->w, "action", ab_str_of(action));
    put_text(l->w, "state", ab_str_of(state));
    put_text(l->w, "reason", reason);
}

static const char *connection_text(const ab_fleet_agent *a)
{
    if (a->connected)
        return "";
    return a->since_us == 0 ? "; the agent has not connected since the principal started"
                            : "; the agent is disconnected";
}

/* What an agent reports may be long. Characters stay whole. */
static ab_str cut(ab_str text)
{
    size_t len = text.len < MESSAGE_MAX ? text.len : MESSAGE_MAX;
    while (len < text.len && len > 0 && ((unsigned char)text.ptr[len] & 0xc0) == 0x80)
        len--;
    return (ab_str){text.ptr, len};
}

/* What is known of a deferral, after what is said already. */
static void put_deferral(const struct listing *l, ab_str key, ab_buf *reason)
{
    bool ours = false;
    ab_str why = ab_principal_why_deferred(l->s->machine, l->name, key, &ours);
    ab_buf_puts(reason, ours ? "cannot be sent" : "the agent cannot apply it");
    if (why.ptr != NULL)
        ab_buf_printf(reason, ": %.*s%s", AB_STR_ARG(cut(why)),
                      why.len > MESSAGE_MAX ? " [...]" : "");
}

static const char *judge_down(const struct listing *l, const ab_pending_item *item, ab_buf *reason)
{
    bool durable = (l->s->base.transport->ops->caps & AB_CAP_DURABLE) != 0;
    const ab_outbox *outbox = ab_principal_outbox(l->s->machine, l->name);
    const char *state = "unacknowledged";
    if (ab_str_starts(item->key, AB_KEY_COMMAND)) {
        ab_buf_puts(reason, "asked of the agent, and not answered yet");
        state = "unanswered";
    } else if (outbox != NULL && ab_outbox_has(outbox, item->key)) {
        ab_buf_puts(reason, durable ? "not in the agent's topic yet" : "not sent yet");
        state = "unsent";
    } else if (item->held || item->written) {
        ab_buf_puts(reason, durable ? "in the agent's topic, and not acknowledged"
                                    : "not acknowledged by the agent");
    } else {
        put_deferral(l, item->key, reason);
        return "deferred";
    }
    ab_buf_puts(reason, connection_text(l->agent));
    if (item->deferred) {
        ab_buf_puts(reason, "; before this change: ");
        put_deferral(l, item->key, reason);
    }
    return state;
}

static void put_item(const struct listing *l, const ab_pending_item *item, const char *state,
                     const ab_buf *reason)
{
    bool command = ab_str_starts(item->key, AB_KEY_COMMAND);
    begin_object(l, item->key,
                 command      ? "command"
                 : item->ends ? "delete"
                              : "update",
                 state, ab_buf_str(reason));
    put_time_ms(l->w, "since", item->since_ms);
    put_age(l->w, item->age_ms);
    ab_spanw_object_end(l->w);
}

static bool put_down(void *arg, const ab_pending_item *item)
{
    struct listing *l = arg;
    if (!count_one(l))
        return true;
    ab_buf reason = ab_buf_up_to(REASON_MAX);
    const char *state = judge_down(l, item, &reason);
    put_item(l, item, state, &reason);
    ab_buf_fini(&reason);
    return true;
}

static bool put_up(void *arg, const ab_pending_item *item)
{
    struct listing *l = arg;
    if (!count_one(l))
        return true;
    ab_buf reason = ab_buf_up_to(REASON_MAX);
    ab_buf_puts(&reason, "received, and not written to the control plane's store yet");
    put_item(l, item, "received", &reason);
    ab_buf_fini(&reason);
    return true;
}

static void put_waiting(void *arg, ab_str key, const char *why)
{
    struct listing *l = arg;
    (void)why;
    if (!count_one(l))
        return;
    begin_object(l, key, "update", "waits-for-certificate",
                 AB_STR("the agent has no certificate that Secrets can be sealed to"));
    put_null(l->w, "since");
    put_null(l->w, "age_seconds");
    ab_spanw_object_end(l->w);
}

static void put_held_object(void *arg, ab_str key, const char *why)
{
    struct listing *l = arg;
    if (!count_one(l))
        return;
    begin_object(l, key, "delete", "held", ab_str_of(why));
    put_null(l->w, "since");
    put_null(l->w, "age_seconds");
    ab_spanw_object_end(l->w);
}

/* @return how many were left out */
static size_t put_objects(ab_spanw *w, const service *s, const char *name, const ab_fleet_agent *a)
{
    struct listing l = {.w = w, .s = s, .name = name, .agent = a};
    const ab_pending *down = ab_changes_of(s->changes, name, AB_DOWN);
    const ab_pending *up = ab_changes_of(s->changes, name, AB_UP);
    ab_spanw_key_array(w, "objects");
    l.direction = ab_str_is(ab_str_of(a->mode), "autonomous") ? "up" : "down";
    ab_principal_each_held(s->machine, name, put_held_object, &l);
    l.direction = "down";
    ab_principal_each_secret_waiting(s->machine, name, put_waiting, &l);
    if (down != NULL)
        ab_pending_each(down, put_down, &l);
    l.direction = "up";
    if (up != NULL)
        ab_pending_each(up, put_up, &l);
    ab_spanw_array_end(w);
    return l.left_out;
}

ab_err ab_fleet_view_write_agent(const service *s, ab_str agent, ab_buf *out)
{
    const ab_fleet_agent *a = ab_fleet_find(s->fleet, agent);
    if (a == NULL)
        return AB_ERR_NOTFOUND;
    const char *name = ab_map_at((void *)(uintptr_t)a).key.ptr;
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_key(&w, AB_STR("principal"));
    put_principal(&w, s);
    ab_spanw_key(&w, AB_STR("agent"));
    put_agent(&w, s, name, a, true);
    size_t left_out = put_objects(&w, s, name, a);
    put_number(&w, "objects_left_out", left_out);
    ab_spanw_object_end(&w);
    return AB_ERR_OK;
}
