/* SPDX-License-Identifier: Apache-2.0
 *
 * What presence.c of the transport does at an agent that has one principal: a hello in each
 * interval, whole until the principal names its handshake, and one more at once while either side
 * lacks the other's.
 */
#include "tests/bench/fleet/shared_kafka_priv.h"

#include "schema/attributes.h"
#include "transport/hello.h"

#include <stdio.h>
#include <string.h>

/* Of an epoch, what tells two processes apart. */
#define EPOCH_OWN_BITS ((uint64_t)1023)

static void name_handshake(const ab_bench_shared_member *m, char out[AB_BENCH_HANDSHAKE])
{
    (void)snprintf(out, AB_BENCH_HANDSHAKE, "%s/0", m->instance);
}

static bool has_ours(const ab_bench_shared_member *m)
{
    char ours[AB_BENCH_HANDSHAKE];
    name_handshake(m, ours);
    return strcmp(m->heard, ours) == 0;
}

static int64_t wall_us(const ab_bench_shared_member *m)
{
    return ab_clock_wall_us(m->base.env.clock);
}

static ab_hello compose(const ab_bench_shared_member *m)
{
    ab_hello hello = {.epoch = m->epoch, .time_ms = wall_us(m) / 1000, .certificate = ""};
    (void)snprintf(hello.mode, sizeof(hello.mode), "%s", m->base.env.mode);
    (void)snprintf(hello.version, sizeof(hello.version), "%s", AB_VERSION);
    (void)snprintf(hello.instance, sizeof(hello.instance), "%s", m->instance);
    return hello;
}

static void write_json(const ab_bench_shared_member *m, const ab_hello *hello, bool whole,
                       ab_buf *out)
{
    char ours[AB_BENCH_HANDSHAKE];
    name_handshake(m, ours);
    cJSON *doc = cJSON_CreateObject();
    bool complete = ab_hello_write(hello, doc) &&
                    ab_doc_add_i64(doc, "interval_ms", m->shared->settings.heartbeat_ms) &&
                    ab_doc_add_i64(doc, "sent", m->sent) && ab_doc_add_bool(doc, "whole", whole) &&
                    ab_doc_add_i64(doc, "lost", 0) &&
                    ab_doc_add_str(doc, "handshake", ab_str_of(ours)) &&
                    ab_doc_add_str(doc, "heard", ab_str_of(m->handshake));
    ab_bench_must(ab_doc_finish(doc, complete, out), "a hello", NULL);
}

static ab_event *make_hello(const ab_bench_shared_member *m, bool whole)
{
    char source[96];
    ab_hello hello = compose(m);
    ab_event *event = NULL;
    ab_buf data;
    ab_buf_init(&data, AB_HELLO_MAX);
    write_json(m, &hello, whole, &data);
    (void)snprintf(source, sizeof(source), AB_SOURCE_AGENT "%s", m->name);
    ab_event_draft d = {.data = ab_buf_str(&data)};
    ab_event_set_u64(&d, AB_CE_WRITEREPOCH, m->epoch);
    ab_event_set_u64(&d, AB_CE_OBJVERSION, (uint64_t)wall_us(m));
    ab_event_set_u64(&d, AB_CE_LOGID, m->epoch);
    ab_bench_must(ab_hello_event(&hello, source, &d, &event), "a hello", NULL);
    ab_buf_fini(&data);
    return event;
}

static void send_hello(ab_bench_shared_member *m, ab_lane lane, ab_sent done)
{
    ab_event *hello = make_hello(m, lane == AB_LANE_LIVE && !has_ours(m));
    ab_err e = ab_bench_shared_send(m, lane, hello, done, m);
    ab_event_unref(hello);
    if (e != AB_ERR_OK)
        ab_bench_die("a hello cannot be sent", ab_err_text(e));
}

static void on_first(void *arg, ab_err code, const ab_error *err)
{
    ab_bench_shared_member *m = arg;
    const ab_transport_events *up = &m->base.env.events;
    ab_bench_must(code, "the first hello", err);
    m->ready = true;
    up->on_ready(up->arg, m->name, m->epoch);
}

void ab_bench_shared_hello_first(ab_bench_shared_member *m)
{
    uint64_t own = 0;
    for (const char *c = m->instance; *c != '\0'; c++)
        own = own * 31 + (unsigned char)*c;
    m->epoch = ((uint64_t)wall_us(m) & ~EPOCH_OWN_BITS) | (own & EPOCH_OWN_BITS);
    send_hello(m, AB_LANE_STATE, on_first);
}

static void on_spoken(void *arg, ab_err code, const ab_error *err)
{
    ab_bench_shared_member *m = arg;
    (void)code; /* the next one is due soon */
    (void)err;
    m->hello_in_flight = false;
}

static void speak(ab_bench_shared_member *m)
{
    if (!m->ready || m->hello_in_flight)
        return;
    m->hello_in_flight = true;
    m->hello_due_ms = ab_clock_mono_ms(m->base.env.clock) + m->shared->settings.heartbeat_ms;
    send_hello(m, AB_LANE_LIVE, on_spoken);
}

void ab_bench_shared_hello_tick(ab_bench_shared_member *m, int64_t now_ms)
{
    if (now_ms >= m->hello_due_ms)
        speak(m);
}

static void take(char *out, size_t room, const cJSON *from, const char *name)
{
    (void)snprintf(out, room, "%.*s", AB_STR_ARG(ab_doc_text(from, name)));
}

/* The bench deletes no topic, and no agent is refused. */
static void check(const ab_bench_shared_member *m, const cJSON *doc)
{
    int64_t lost = 0;
    if (ab_doc_i64(doc, "lost", &lost) == AB_ERR_OK && lost != 0)
        ab_bench_die(m->name, "the principal reports that the agent's log was replaced");
    if (ab_doc_text(doc, "refused").len > 0)
        ab_bench_die(m->name, "the principal refuses the agent");
}

void ab_bench_shared_hello_hear(ab_bench_shared_member *m, const ab_event *event)
{
    ab_hello hello = {0};
    ab_error err = {0};
    cJSON *doc = NULL;
    char handshake[AB_BENCH_HANDSHAKE];
    ab_bench_must(ab_hello_parse(event, &doc, &err), m->name, &err);
    ab_bench_must(ab_hello_read(doc, &hello, &err), m->name, &err);
    check(m, doc);
    bool other = strcmp(hello.instance, m->principal) != 0;
    if (!other || hello.epoch > m->principal_epoch) {
        if (other)
            m->handshake[0] = '\0';
        m->principal_epoch = hello.epoch;
        memcpy(m->principal, hello.instance, sizeof(m->principal));
        take(handshake, sizeof(handshake), doc, "handshake");
        take(m->heard, sizeof(m->heard), doc, "heard");
        if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(doc, "whole")))
            memcpy(m->handshake, handshake, sizeof(m->handshake));
        if (!has_ours(m) || strcmp(m->handshake, handshake) != 0)
            speak(m);
    }
    ab_hello_fini(&hello);
    cJSON_Delete(doc);
}
