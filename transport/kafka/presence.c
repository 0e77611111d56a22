/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is there. Kafka has no connection to look at, so both sides say hello on the state topic,
 * again and again under one key. A peer is there when a hello was written after we began to listen,
 * and gone after three intervals without one, or when it says that it leaves.
 */
#include "transport/kafka/kafka_priv.h"

#include "base/digest.h"
#include "base/json.h"
#include "schema/attributes.h"
#include "schema/catalogue.h"

#include <stdio.h>
#include <string.h>

#define MISSED_MAX 3
/* A hello this much older than it may be, by the clocks of two machines, is not believed. */
#define SKEW_MS   30000
#define HELLO_MAX 65536

static void write_hello(const ab_kafka_link *l, bool leaving, int64_t wall_us, ab_buf *out)
{
    const ab_kafka *k = l->kafka;
    ab_jsonw w = ab_jsonw_to(out);
    ab_jsonw_object(&w);
    ab_jsonw_key_str(&w, "mode", ab_str_of(k->base.env.mode));
    ab_jsonw_key_str(&w, "version", AB_STR(AB_VERSION));
    ab_jsonw_key_str(&w, "instance", ab_str_of(k->instance));
    ab_jsonw_key(&w, AB_STR("epoch"));
    ab_jsonw_int(&w, (int64_t)l->epoch);
    ab_jsonw_key(&w, AB_STR("interval_ms"));
    ab_jsonw_int(&w, k->settings.heartbeat_ms);
    ab_jsonw_key(&w, AB_STR("time_ms"));
    ab_jsonw_int(&w, wall_us / 1000);
    ab_jsonw_key(&w, AB_STR("leaving"));
    ab_jsonw_bool(&w, leaving);
    if (k->base.env.certificate != NULL)
        ab_jsonw_key_str(&w, "certificate", ab_str_of(k->base.env.certificate));
    ab_jsonw_object_end(&w);
}

static ab_err make_hello(const ab_kafka_link *l, bool leaving, ab_event **out)
{
    int64_t now = ab_clock_wall_us(l->kafka->base.env.clock);
    char id[37];
    char source[96];
    char at[AB_TIME_TEXT];
    ab_err e = ab_uuid(id);
    if (e != AB_ERR_OK)
        return e;
    bool principal = l->kafka->settings.role == AB_ROLE_PRINCIPAL;
    snprintf(source, sizeof(source), "%s%s", principal ? AB_SOURCE_PRINCIPAL : AB_SOURCE_AGENT,
             principal ? "" : l->name);
    ab_time_format(now, at);
    ab_buf data;
    ab_buf_init(&data, HELLO_MAX);
    write_hello(l, leaving, now, &data);
    ab_event_draft d = {.data = ab_buf_str(&data)};
    ab_event_set_text(&d, AB_CE_ID, id);
    ab_event_set_text(&d, AB_CE_SOURCE, source);
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(AB_TYPE_PING));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_HEARTBEAT));
    ab_event_set_text(&d, AB_CE_DATACONTENTTYPE, "application/json");
    ab_event_set_text(&d, AB_CE_TIME, at);
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, AB_KEY_HELLO);
    ab_event_set_u64(&d, AB_CE_WRITEREPOCH, l->epoch);
    ab_event_set_u64(&d, AB_CE_OBJVERSION, (uint64_t)now);
    ab_event_set_u64(&d, AB_CE_LOGID, l->log_id);
    e = ab_buf_status(&data);
    if (e == AB_ERR_OK)
        e = ab_event_new(&d, out, NULL);
    ab_buf_fini(&data);
    return e;
}

static void send_hello(ab_kafka_link *l, bool leaving, ab_sent done)
{
    ab_kafka *k = l->kafka;
    ab_event *hello = NULL;
    ab_kafka_send *s = NULL;
    l->peer.hello_due_ms = ab_kafka_now(k) + k->settings.heartbeat_ms;
    ab_kafka_link_ref(l);
    ab_err e = make_hello(l, leaving, &hello);
    if (e == AB_ERR_OK)
        e = ab_kafka_send_new(l, AB_LANE_STATE, hello, 0, done, l, &s);
    ab_event_unref(hello);
    if (e == AB_ERR_OK)
        e = k->producer.handle == NULL ? AB_ERR_UNAVAILABLE
                                       : ab_kafka_producer_send(&k->producer, s);
    if (e == AB_ERR_OK)
        return;
    ab_error err = {0};
    ab_fail(&err, e, "a hello cannot be sent: %s", ab_err_text(e));
    if (s != NULL)
        ab_kafka_send_drop(s);
    done(l, e, &err);
}

static void on_spoken(void *arg, ab_err code, const ab_error *err)
{
    (void)code; /* the next one is due soon */
    (void)err;
    ab_kafka_link *l = arg;
    l->peer.hello_in_flight = false;
    ab_kafka_link_unref(l);
}

static void on_announced(void *arg, ab_err code, const ab_error *err)
{
    ab_kafka_link *l = arg;
    bool awaited = l->phase == AB_LINK_READ && l->read.complete && !l->removed;
    if (awaited && code == AB_ERR_OK)
        ab_kafka_readback_announced(l);
    else if (awaited)
        ab_kafka_link_failed(l, err);
    ab_kafka_link_unref(l);
}

void ab_kafka_presence_announce(ab_kafka_link *l)
{
    send_hello(l, false, on_announced);
}

void ab_kafka_presence_speak(ab_kafka_link *l, bool leaving)
{
    /* One at a time: while no broker is there they must not pile up. */
    if (l->phase != AB_LINK_READY || (l->peer.hello_in_flight && !leaving))
        return;
    l->peer.hello_in_flight = true;
    send_hello(l, leaving, on_spoken);
}

typedef struct {
    char mode[32];
    char version[32];
    char instance[40];
    int64_t epoch;
    int64_t interval_ms;
    int64_t time_ms;
    bool leaving;
    ab_buf certificate;
} saying;

static void copy(ab_jsonv from, const char *name, char *to, size_t room)
{
    ab_str s = ab_json_plain(ab_json_get(from, name));
    snprintf(to, room, "%.*s", AB_STR_ARG(s));
}

/* Fills `out`, whose certificate is released by the caller. */
static bool understand(const ab_event *hello, saying *out)
{
    ab_json *doc = NULL;
    ab_str data = ab_event_data(hello);
    if (data.ptr == NULL || ab_json_parse(data, &doc, NULL) != AB_ERR_OK)
        return false;
    ab_jsonv v = ab_json_root(doc);
    bool ok = ab_json_i64(ab_json_get(v, "epoch"), &out->epoch) == AB_ERR_OK &&
              ab_json_i64(ab_json_get(v, "interval_ms"), &out->interval_ms) == AB_ERR_OK &&
              ab_json_i64(ab_json_get(v, "time_ms"), &out->time_ms) == AB_ERR_OK;
    copy(v, "mode", out->mode, sizeof(out->mode));
    copy(v, "version", out->version, sizeof(out->version));
    copy(v, "instance", out->instance, sizeof(out->instance));
    out->leaving = ab_json_typeof(ab_json_get(v, "leaving")) == AB_JSON_TRUE;
    ab_jsonv certificate = ab_json_get(v, "certificate");
    if (ab_json_present(certificate)) {
        ok = ok && ab_json_copy(certificate, &out->certificate) == AB_ERR_OK;
        ab_buf_putc(&out->certificate, '\0');
        ok = ok && ab_buf_status(&out->certificate) == AB_ERR_OK;
    }
    ab_json_free(doc);
    return ok && out->interval_ms > 0 && out->interval_ms <= 3600 * 1000;
}

static void gone(ab_kafka_link *l)
{
    if (!l->peer.up)
        return;
    l->peer.up = false;
    ab_metric_set(l->metrics.peer_up, 0);
    const ab_transport_events *up = &l->kafka->base.env.events;
    up->on_peer(up->arg, l->name, false, NULL);
}

static void there(ab_kafka_link *l, saying *said)
{
    ab_kafka *k = l->kafka;
    const ab_peer peer = {
        .mode = said->mode,
        .version = said->version,
        .epoch = (uint64_t)said->epoch,
        .clock_skew_ms = said->time_ms - ab_clock_wall_us(k->base.env.clock) / 1000,
        .certificate =
            ab_buf_str(&said->certificate).len > 0 ? ab_buf_str(&said->certificate).ptr : "",
    };
    bool other = strcmp(said->instance, l->peer.instance) != 0;
    if (other)
        gone(l);
    l->peer.heard_ms = ab_kafka_now(k);
    l->peer.interval_ms = said->interval_ms;
    if (l->removed || (l->peer.up && !other))
        return;
    snprintf(l->peer.instance, sizeof(l->peer.instance), "%s", said->instance);
    l->peer.up = true;
    ab_metric_set(l->metrics.peer_up, 1);
    /* So that it need not wait for our next one. */
    ab_kafka_presence_speak(l, false);
    k->base.env.events.on_peer(k->base.env.events.arg, l->name, true, &peer);
}

/* A topic that was deleted and made again may have grown past our position before we look: then
 * nothing else tells. Identities only rise, so that two writers that began one log together cannot
 * make us read it for ever. */
bool ab_kafka_presence_is_elsewhere(ab_kafka_link *l, const ab_event *hello)
{
    uint64_t log_id = 0;
    if (ab_event_attr_u64(hello, AB_CE_LOGID, &log_id) != AB_ERR_OK || log_id <= l->peer.log_id)
        return false;
    bool other = l->peer.log_id != 0;
    l->peer.log_id = log_id;
    return other;
}

void ab_kafka_presence_hear(ab_kafka_link *l, const ab_event *hello, int64_t age_ms, bool fresh)
{
    saying said = {0};
    ab_buf_init(&said.certificate, HELLO_MAX);
    if (!understand(hello, &said)) {
        ab_error err = {0};
        ab_fail(&err, AB_ERR_INVALID, "a hello that says nothing");
        ab_kafka_refused(l->kafka, l->topics[AB_KAFKA_IN_STATE], "hello", &err);
    } else if (fresh && age_ms <= MISSED_MAX * said.interval_ms + SKEW_MS) {
        if (said.leaving)
            gone(l);
        else
            there(l, &said);
    }
    ab_buf_fini(&said.certificate);
}

void ab_kafka_presence_tick(ab_kafka_link *l)
{
    int64_t now = ab_kafka_now(l->kafka);
    if (l->peer.up && now - l->peer.heard_ms > MISSED_MAX * l->peer.interval_ms)
        gone(l);
    if (!l->removed && now >= l->peer.hello_due_ms)
        ab_kafka_presence_speak(l, false);
}
