/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/sync/core_hub.h"

#include "schema/attributes.h"
#include "sync/resync/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TICK_MS      250
#define RESYNC_MS    3600000
#define SET_ASIDE_MS 60000
#define RESYNCS_MAX  8
#define MARK_KEY     "ConfigMap/"
#define APP_KEY      "Application/"
#define PROJECT_KEY  "AppProject/"
#define SECRET_KEY   "Secret/"
#define NAMESPACE    "argocd"
#define TEXT_MAX     1024

struct ab_bench_answer {
    ab_bench_answer *next;
    ab_asker *record;
    ab_object *object;
    ab_err code;
};

static void fail(ab_bench_core_hub *h, const char *what)
{
    if (!h->failed)
        fprintf(stderr, "argobus-bench: sync.core: %s\n", what);
    h->failed = true;
}

/* --- time --- */

static int64_t mono_ms(void *arg)
{
    return *(const int64_t *)arg;
}

static int64_t wall_us(void *arg)
{
    return *(const int64_t *)arg * 1000;
}

static int64_t cpu_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t end_turn(ab_bench_core_hub *h, int64_t begun_ns)
{
    int64_t took = cpu_ns() - begun_ns;
    h->cost_ns += took;
    if (took > h->worst_ns)
        h->worst_ns = took;
    return took;
}

/* --- the store --- */

static void answer_later(ab_bench_core_hub *h, ab_bench_answer **queue, ab_asker *record,
                         ab_object *object, ab_err code)
{
    ab_bench_answer *a = malloc(sizeof(*a));
    if (a == NULL) {
        fail(h, "out of memory");
        ab_object_unref(object);
        return;
    }
    *a = (ab_bench_answer){*queue, record, object, code};
    *queue = a;
}

static void answer_all(ab_bench_core_hub *h, ab_bench_answer **queue)
{
    while (*queue != NULL) {
        ab_bench_answer *a = *queue;
        *queue = a->next;
        int64_t begun = cpu_ns();
        ab_effects_done(a->record, a->code, a->object, NULL);
        end_turn(h, begun);
        ab_object_unref(a->object);
        free(a);
    }
}

static ab_object *project(size_t number)
{
    char text[TEXT_MAX];
    ab_object *object = NULL;
    snprintf(
        text, sizeof(text),
        "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\",\"metadata\":{\"name\":"
        "\"project-%zu\",\"namespace\":\"" NAMESPACE "\",\"uid\":\"project-%zu\","
        "\"resourceVersion\":\"1\"},\"spec\":{\"sourceRepos\":[\"*\"],\"sourceNamespaces\":[\"*\"],"
        "\"destinations\":[{\"server\":\"*\",\"name\":\"*\",\"namespace\":\"*\"}]}}",
        number, number);
    return ab_object_parse(ab_str_of(text), &object, NULL) == AB_ERR_OK ? object : NULL;
}

static ab_object *application(const char *agent, size_t app)
{
    char text[TEXT_MAX];
    ab_object *object = NULL;
    snprintf(text, sizeof(text),
             "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":"
             "{\"name\":\"app-%zu\",\"namespace\":\"%s\",\"uid\":\"%s-%zu\","
             "\"resourceVersion\":\"1\"},\"spec\":{\"project\":\"default\",\"destination\":"
             "{\"server\":\"https://kubernetes.default.svc\",\"namespace\":\"default\"},"
             "\"source\":{\"repoURL\":\"https://example.com/repo\",\"path\":\"app\"}}}",
             app, agent, agent, app);
    return ab_object_parse(ab_str_of(text), &object, NULL) == AB_ERR_OK ? object : NULL;
}

/* Its version is the time. */
static ab_object *secret(const ab_bench_core_hub *h, size_t number)
{
    char text[TEXT_MAX];
    ab_object *object = NULL;
    snprintf(text, sizeof(text),
             "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"secret-%zu\","
             "\"namespace\":\"" NAMESPACE "\",\"uid\":\"secret-%zu\",\"resourceVersion\":"
             "\"%lld\",\"labels\":{\"" AB_LABEL_SECRET_TYPE "\":\"repository\"}},"
             "\"data\":{\"project\":\"cHJvamVjdC0w\"}}",
             number, number, (long long)h->ms);
    return ab_object_parse(ab_str_of(text), &object, NULL) == AB_ERR_OK ? object : NULL;
}

/* The number at the end of "Application/<agent>/app-<number>". */
static size_t number_of(ab_str key)
{
    size_t at = key.len;
    size_t number = 0;
    while (at > 0 && key.ptr[at - 1] >= '0' && key.ptr[at - 1] <= '9')
        at--;
    for (; at < key.len; at++)
        number = number * 10 + (size_t)(key.ptr[at] - '0');
    return number;
}

static ab_object *stored_mark(const ab_bench_core_hub *h, ab_str key)
{
    ab_str kind, namespace, name;
    if (ab_object_key_split(key, &kind, &namespace, &name) != AB_ERR_OK)
        return NULL;
    ab_object *mark = h->marks[ab_watermark_number(name)];
    return mark == NULL ? NULL : ab_object_ref(mark);
}

static ab_object *stored(const ab_bench_core_hub *h, ab_str key)
{
    char agent[16];
    if (ab_str_starts(key, MARK_KEY))
        return stored_mark(h, key);
    if (ab_str_starts(key, PROJECT_KEY))
        return project(number_of(key));
    if (ab_str_starts(key, SECRET_KEY))
        return secret(h, number_of(key));
    const char *from = key.ptr + sizeof(APP_KEY) - 1;
    const char *slash = memchr(from, '/', key.len - (size_t)(from - key.ptr));
    snprintf(agent, sizeof(agent), "%.*s", (int)(slash - from), from);
    return application(agent, number_of(key));
}

static void get(void *arg, ab_str key, ab_asker *record)
{
    ab_bench_core_hub *h = arg;
    ab_object *found = stored(h, key);
    answer_later(h, &h->answers, record, found, found == NULL ? AB_ERR_NOTFOUND : AB_ERR_OK);
}

static void apply(void *arg, ab_object *object, ab_str version, ab_asker *record)
{
    ab_bench_core_hub *h = arg;
    (void)version;
    if (!ab_str_is(ab_object_kind(object), "ConfigMap")) {
        fail(h, "an object is written");
        return;
    }
    size_t part = ab_watermark_number(ab_object_name(object));
    ab_object_unref(h->marks[part]);
    h->marks[part] = ab_object_ref(object);
    answer_later(h, &h->answers, record, ab_object_ref(object), AB_ERR_OK);
}

static void patch_status(void *arg, ab_str key, ab_str status, ab_str stamp,
                         const ab_precondition *must_be, ab_asker *record)
{
    ab_bench_core_hub *h = arg;
    (void)status;
    (void)stamp;
    (void)must_be;
    answer_later(h, &h->writes, record, stored(h, key), AB_ERR_OK);
}

static void ack(void *arg, void *delivery)
{
    (void)arg;
    (void)delivery;
}

static void wake(void *arg, const char *agent)
{
    ab_bench_core_hub *h = arg;
    size_t i = number_of(ab_str_of(agent));
    if (!h->agents[i].woken)
        h->woken[h->woken_count++] = i;
    h->agents[i].woken = true;
}

static void fatal(void *arg, const char *why)
{
    fail(arg, why);
}

/* --- the agents --- */

static ab_event *made(const ab_bench_core_agent *a, ab_event_draft *d, uint64_t version)
{
    char source[64];
    ab_event *event = NULL;
    snprintf(source, sizeof(source), AB_SOURCE_AGENT "%s", a->name);
    ab_event_set_text(d, AB_CE_ID, "x");
    ab_event_set_text(d, AB_CE_SOURCE, source);
    ab_event_set_u64(d, AB_CE_WRITEREPOCH, 1);
    ab_event_set_u64(d, AB_CE_OBJVERSION, version);
    return ab_event_new(d, &event, NULL) == AB_ERR_OK ? event : NULL;
}

static void deliver(ab_bench_core_hub *h, size_t agent, ab_event *event)
{
    if (event == NULL) {
        fail(h, "an event cannot be made");
        return;
    }
    int64_t begun = cpu_ns();
    ab_principal_deliver(h->principal, h->agents[agent].name, event, h);
    end_turn(h, begun);
    ab_event_unref(event);
}

static void name_object(const ab_bench_core_agent *a, size_t i, char out[64])
{
    if (i < AB_BENCH_CORE_APPS)
        snprintf(out, 64, APP_KEY "%s/app-%zu", a->name, i);
    else
        snprintf(out, 64, PROJECT_KEY NAMESPACE "/project-%zu", i - AB_BENCH_CORE_APPS);
}

static ab_err hold(const ab_bench_core_agent *a, ab_inventory *inv)
{
    char key[64];
    for (size_t i = 0; i < AB_BENCH_CORE_OBJECTS; i++) {
        name_object(a, i, key);
        ab_inventory_add(inv, &(ab_inventory_entry){.key = ab_str_of(key),
                                                    .version = a->version[i],
                                                    .hash = a->hash[i]});
    }
    return ab_inventory_divide(inv, 1);
}

/* It holds what it was sent, and wants no page: all is the same. */
static void answer_resync(ab_bench_core_hub *h, size_t agent, ab_str id)
{
    ab_event_draft d = {0};
    ab_buf text;
    ab_inventory *inv = ab_inventory_new();
    ab_buf_init(&text, AB_EVENT_DATA_MAX);
    if (inv != NULL && hold(&h->agents[agent], inv) == AB_ERR_OK)
        ab_resync_message_encode(&(ab_resync_message){.step = AB_RESYNC_ANSWER,
                                                      .id = id,
                                                      .summary = ab_inventory_sum(inv)},
                                 &text);
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(AB_TYPE_RESYNC));
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, AB_KEY_RESYNC);
    d.data = ab_buf_str(&text);
    deliver(h, agent, made(&h->agents[agent], &d, 1));
    ab_buf_fini(&text);
    ab_inventory_free(inv);
}

static void take_step(ab_bench_core_hub *h, size_t agent, const ab_event *event)
{
    ab_resync_message *step = NULL;
    if (ab_event_data(event).ptr == NULL)
        return;
    if (ab_resync_message_decode(ab_event_data(event), &step, NULL) != AB_ERR_OK)
        fail(h, "a step of a resync cannot be read");
    else if (step->step == AB_RESYNC_BEGIN)
        answer_resync(h, agent, step->id);
    else if (step->step != AB_RESYNC_END)
        fail(h, "an agent does not hold what it was sent");
    ab_resync_message_free(step);
}

static void take_state(ab_bench_core_hub *h, size_t agent, const ab_event *event)
{
    ab_bench_core_agent *a = &h->agents[agent];
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    size_t i = number_of(key) + (ab_str_starts(key, APP_KEY) ? 0 : AB_BENCH_CORE_APPS);
    if (ab_event_data(event).ptr == NULL) {
        h->deleted++;
        return;
    }
    if (i >= AB_BENCH_CORE_OBJECTS || ab_version_of(event, &a->version[i], NULL) != AB_ERR_OK ||
        ab_digest_parse(ab_event_attr(event, AB_CE_CONTENTHASH), &a->hash[i]) != AB_ERR_OK)
        fail(h, "an agent cannot read what it is sent");
}

static void take(ab_bench_core_hub *h, size_t agent, const ab_event *event)
{
    ab_str key = ab_event_attr(event, AB_CE_PARTITIONKEY);
    if (ab_str_is(key, AB_KEY_RESYNC))
        take_step(h, agent, event);
    else
        take_state(h, agent, event);
}

static void take_all(ab_bench_core_hub *h, size_t agent)
{
    ab_outbox *outbox = ab_principal_outbox(h->principal, h->agents[agent].name);
    ab_outgoing *g = ab_outbox_next(outbox, h->ms);
    for (; g != NULL; g = ab_outbox_next(outbox, h->ms)) {
        ab_event *event = ab_event_ref(ab_outgoing_event(g));
        ab_outbox_done(outbox, g, AB_ERR_OK, h->ms);
        take(h, agent, event);
        ab_event_unref(event);
    }
}

/* --- what happens --- */

/* Takes the object. */
static void list(ab_bench_core_hub *h, ab_object *object)
{
    if (object == NULL)
        fail(h, "an object cannot be made");
    else
        ab_principal_on_updated(h->principal, object);
    ab_object_unref(object);
}

void ab_bench_core_settle(ab_bench_core_hub *h)
{
    while (!h->failed && (h->answers != NULL || h->woken_count > 0)) {
        answer_all(h, &h->answers);
        if (h->woken_count == 0)
            continue;
        size_t agent = h->woken[--h->woken_count];
        h->agents[agent].woken = false;
        take_all(h, agent);
    }
}

void ab_bench_core_ready(ab_bench_core_hub *h, size_t agent)
{
    int64_t begun = cpu_ns();
    ab_principal_ready(h->principal, h->agents[agent].name, 1);
    end_turn(h, begun);
}

void ab_bench_core_report(ab_bench_core_hub *h, size_t agent)
{
    char key[64], subject[64], data[TEXT_MAX];
    const char *name = h->agents[agent].name;
    snprintf(data, sizeof(data),
             "{\"metadata\":{\"annotations\":{\"" AB_ANN_SOURCE_UID "\":\"%s-0\"}},"
             "\"status\":{\"health\":{\"status\":\"Healthy\"}}}",
             name);
    ab_event_draft d = {.data = ab_str_of(data)};
    snprintf(key, sizeof(key), APP_KEY "%s/app-0", name);
    snprintf(subject, sizeof(subject), "%s/app-0", name);
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(AB_TYPE_STATUS_UPDATE));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_APPLICATION));
    ab_event_set_text(&d, AB_CE_SUBJECT, subject);
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, key);
    deliver(h, agent, made(&h->agents[agent], &d, 2));
}

/* Takes the object. */
static void delete (ab_bench_core_hub *h, ab_object *object)
{
    if (object == NULL) {
        fail(h, "an object cannot be made");
        return;
    }
    int64_t begun = cpu_ns();
    ab_principal_on_deleted(h->principal, object, true);
    end_turn(h, begun);
    ab_object_unref(object);
}

void ab_bench_core_delete(ab_bench_core_hub *h, size_t agent, size_t app)
{
    delete (h, application(h->agents[agent].name, app));
}

void ab_bench_core_put_secret(ab_bench_core_hub *h, size_t number)
{
    int64_t begun = cpu_ns();
    list(h, secret(h, number));
    end_turn(h, begun);
}

void ab_bench_core_delete_secret(ab_bench_core_hub *h, size_t number)
{
    delete (h, secret(h, number));
}

void ab_bench_core_caught_up(ab_bench_core_hub *h, size_t agent)
{
    int64_t begun = cpu_ns();
    ab_principal_caught_up(h->principal, h->agents[agent].name);
    end_turn(h, begun);
}

void ab_bench_core_hello(ab_bench_core_hub *h, size_t agent)
{
    int64_t begun = cpu_ns();
    ab_principal_presence(h->principal, h->agents[agent].name, true);
    end_turn(h, begun);
}

int64_t ab_bench_core_tick(ab_bench_core_hub *h)
{
    h->ms += TICK_MS;
    int64_t begun = cpu_ns();
    ab_principal_tick(h->principal);
    return end_turn(h, begun);
}

void ab_bench_core_release(ab_bench_core_hub *h)
{
    answer_all(h, &h->writes);
}

/* --- beginning and end --- */

static void held(void *arg, const char *agent, size_t count, const char *token)
{
    (void)arg;
    (void)agent;
    (void)count;
    (void)token;
}

static bool start(ab_bench_core_hub *h)
{
    const ab_principal_env env = {
        .effects = {.get = get,
                    .apply = apply,
                    .patch_status = patch_status,
                    .ack = ack,
                    .wake = wake,
                    .fatal = fatal,
                    .held = held,
                    .arg = h},
        .clock = &h->clock,
        .metrics = h->metrics,
        .source = AB_SOURCE_PRINCIPAL,
        .uid = "bench",
        .namespace = NAMESPACE,
        .defer_after_ms = SET_ASIDE_MS,
        .guard = {.max = 1000, .percent = 50, .window_ms = RESYNC_MS},
        .resync_ms = RESYNC_MS,
        .resyncs_max = RESYNCS_MAX,
    };
    return ab_principal_new(&env, &h->principal) == AB_ERR_OK;
}

bool ab_bench_core_open(ab_bench_core_hub *h, size_t agents)
{
    *h = (ab_bench_core_hub){.ms = 1000, .count = agents, .metrics = ab_metrics_new()};
    h->clock = (ab_clock){mono_ms, wall_us, &h->ms};
    h->agents = calloc(agents, sizeof(*h->agents));
    h->woken = calloc(agents, sizeof(*h->woken));
    if (h->metrics == NULL || h->agents == NULL || h->woken == NULL || !start(h)) {
        fail(h, "out of memory");
        return false;
    }
    for (size_t i = 0; i < agents; i++) {
        char *name = h->agents[i].name;
        snprintf(name, sizeof(h->agents[i].name), "agent-%zu", i);
        if (ab_principal_add_agent(h->principal, name) != AB_ERR_OK)
            fail(h, "an agent cannot be added");
        ab_principal_set_mode(h->principal, name, AB_MANAGED);
        for (size_t app = 0; app < AB_BENCH_CORE_APPS; app++)
            list(h, application(name, app));
    }
    for (size_t i = 0; i < AB_BENCH_CORE_PROJECTS; i++)
        list(h, project(i));
    ab_principal_on_synced(h->principal);
    ab_bench_core_settle(h);
    return !h->failed;
}

static void drop(ab_bench_answer *queue)
{
    while (queue != NULL) {
        ab_bench_answer *next = queue->next;
        ab_object_unref(queue->object);
        free(queue);
        queue = next;
    }
}

void ab_bench_core_close(ab_bench_core_hub *h)
{
    ab_principal_free(h->principal);
    drop(h->answers);
    drop(h->writes);
    for (size_t i = 0; i < AB_WATERMARK_PARTS_MAX; i++)
        ab_object_unref(h->marks[i]);
    ab_metrics_free(h->metrics);
    free(h->agents);
    free(h->woken);
}
