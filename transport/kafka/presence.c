/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is there. Kafka has no connection to look at, so both sides say hello on their live topics,
 * again and again. A peer is there when a hello was written after we began to listen, and gone
 * after three intervals without one, or when it says that it leaves. Clocks are never compared:
 * what an age says is how much longer it is than that of the hello before.
 *
 * Nothing of this is written to a state topic, where each record counts as lag until the receiver
 * has read it. The one exception is a log that begins: its first record gives it its identity.
 *
 * A hello is whole, with the certificate, until the peer says that it has it: each names our last
 * handshake and the last one that we have of the peer. So nothing depends on one hello's arrival.
 *
 * Each hello names its process; the one that began last counts. Kafka sees to it that there is one
 * process for each agent's name (member.c). Nothing keeps two principals from writing to one agent:
 * when they say hello in turns, the agent tells.
 */
#include "transport/kafka/presence_priv.h"

#include "schema/attributes.h"
#include "transport/hello.h"
#include "transport/kafka/kafka_priv.h"
#include "transport/kafka/positions_priv.h"
#include "transport/kafka/producer_priv.h"
#include "transport/kafka/refusal_priv.h"

#include <stdio.h>
#include <string.h>

#define MISSED_MAX 3
/* A hello that was this much longer on its way than the one before says nothing of now. */
#define LATE_MS 30000
/* What a log that is new to a consumer waits at most: two fetches of half a second, and the rest of
 * a busy machine. */
#define JOIN_MS 2000
/* What the peer has written comes later than this only where it is lost, or brokers can hardly keep
 * up, whom questions about many logs would keep even more from it. */
#define CUT_MS          60000
#define INTERVAL_MAX_MS (3600 * 1000)
/* Later, the next hello says the same. */
#define HELLO_DEADLINE_MS 10000

/* When a process that was heard last then has missed too many hellos. */
static int64_t silent_at(const ab_kafka_link *l, int64_t heard_ms)
{
    return heard_ms + MISSED_MAX * l->peer.interval_ms + 1;
}

static void name_handshake(const ab_kafka *k, char out[AB_KAFKA_HANDSHAKE])
{
    snprintf(out, AB_KAFKA_HANDSHAKE, "%s/%u", k->instance, k->certificates);
}

static bool has_ours(const ab_kafka_link *l)
{
    char ours[AB_KAFKA_HANDSHAKE];
    name_handshake(l->kafka, ours);
    return strcmp(l->peer.heard, ours) == 0;
}

static ab_hello compose(const ab_kafka_link *l, bool leaving, bool whole)
{
    const ab_transport_env *env = &l->kafka->base.env;
    ab_hello hello = {.epoch = l->epoch,
                      .time_ms = ab_clock_wall_us(env->clock) / 1000,
                      .leaving = leaving,
                      .certificate = !whole || env->certificate == NULL ? "" : env->certificate};
    snprintf(hello.mode, sizeof(hello.mode), "%s", env->mode);
    snprintf(hello.version, sizeof(hello.version), "%s", AB_VERSION);
    snprintf(hello.instance, sizeof(hello.instance), "%s", l->kafka->instance);
    return hello;
}

/* The log that the peer says it writes to, when we have read the whole of what is there and it does
 * not say that it is that one: the peer's topic was replaced, and it has not noticed. The record
 * that says so may be on its way for a moment. 0: all is well, as far as we know. */
static uint64_t lost_log(const ab_kafka_link *l)
{
    if (l->in.cut_log != 0)
        return l->in.cut_log == l->peer.log_id ? l->in.cut_log : 0;
    bool read = l->in.group != NULL && l->in.whole && l->in.caught_up_at < 0;
    int64_t known_ms = ab_kafka_now(l->kafka) - l->peer.log_id_ms;
    bool lost = read && l->in.log_id < l->peer.log_id &&
                known_ms >= 2 * l->kafka->settings.heartbeat_ms + JOIN_MS;
    return lost ? l->peer.log_id : 0;
}

/* The peer has written on, and nothing of it has come to where we wait at the log's end: brokers
 * have lost the end (an unclean leader election), and a peer with nothing more to say does not
 * notice. */
static bool ends_early(const ab_kafka_link *l)
{
    const ab_kafka_inbox *in = &l->in;
    bool at_end = in->group != NULL && in->caught_up_at < 0 && in->end == in->offsets.next;
    int64_t known_ms = ab_kafka_now(l->kafka) - l->peer.sent_ms;
    return at_end && !in->paused && in->cut_log == 0 && in->offsets.next <= l->peer.sent &&
           known_ms >= CUT_MS;
}

static bool write_refusal(const ab_kafka_link *l, cJSON *doc)
{
    bool says = l->kafka->settings.role == AB_ROLE_PRINCIPAL && l->peer.refused != NULL;
    return !says || ab_doc_add_str(doc, "refused", ab_str_of(l->peer.refused));
}

static void write_json(const ab_kafka_link *l, const ab_hello *hello, bool whole, ab_buf *out)
{
    char ours[AB_KAFKA_HANDSHAKE];
    name_handshake(l->kafka, ours);
    cJSON *doc = cJSON_CreateObject();
    bool complete =
        ab_hello_write(hello, doc) &&
        ab_doc_add_i64(doc, "interval_ms", l->kafka->settings.heartbeat_ms) &&
        ab_doc_add_i64(doc, "sent", l->sent_offset) && ab_doc_add_bool(doc, "whole", whole) &&
        ab_doc_add_i64(doc, "lost", (int64_t)lost_log(l)) &&
        ab_doc_add_str(doc, "handshake", ab_str_of(ours)) &&
        ab_doc_add_str(doc, "heard", ab_str_of(l->peer.handshake)) && write_refusal(l, doc);
    ab_doc_finish(doc, complete, out);
}

static ab_err make_hello(const ab_kafka_link *l, bool leaving, bool whole, ab_event **out)
{
    char source[96];
    ab_hello hello = compose(l, leaving, whole);
    bool principal = l->kafka->settings.role == AB_ROLE_PRINCIPAL;
    snprintf(source, sizeof(source), "%s%s", principal ? AB_SOURCE_PRINCIPAL : AB_SOURCE_AGENT,
             principal ? "" : l->name);
    ab_buf data = ab_buf_up_to(AB_HELLO_MAX);
    write_json(l, &hello, whole, &data);
    ab_event_draft d = {.data = ab_buf_str(&data)};
    ab_event_set_u64(&d, AB_CE_WRITEREPOCH, l->epoch);
    ab_event_set_u64(&d, AB_CE_OBJVERSION, (uint64_t)ab_clock_wall_us(l->kafka->base.env.clock));
    ab_event_set_u64(&d, AB_CE_LOGID, l->log_id);
    ab_err e = ab_buf_status(&data);
    if (e == AB_ERR_OK)
        e = ab_hello_event(&hello, source, &d, out);
    ab_buf_fini(&data);
    return e;
}

/* `done` is called with a reference to the link, which it releases. */
static void send_hello(ab_kafka_link *l, ab_lane lane, bool leaving, ab_sent done)
{
    ab_kafka_producer *p = ab_kafka_producer_of(l, lane);
    ab_event *hello = NULL;
    ab_kafka_send *s = NULL;
    ab_kafka_link_ref(l);
    ab_err e = make_hello(l, leaving, lane == AB_LANE_LIVE && !has_ours(l), &hello);
    if (e == AB_ERR_OK)
        e = ab_kafka_send_new(l, lane, hello, HELLO_DEADLINE_MS, done, l, &s);
    ab_event_unref(hello);
    if (e == AB_ERR_OK && p == NULL)
        e = AB_ERR_UNAVAILABLE;
    if (e == AB_ERR_OK) {
        ab_kafka_producer_send(p, s);
        return;
    }
    ab_error err = {0};
    ab_fail(&err, e, "cannot send a hello: %s", ab_err_text(e));
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
    ab_kafka_link_look_at(l, l->peer.hello_due_ms);
    ab_kafka_link_unref(l);
}

void ab_kafka_presence_announce(ab_kafka_link *l, bool new_log, ab_sent done)
{
    l->peer.hello_due_ms = new_log ? 0 : ab_kafka_now(l->kafka) + l->kafka->settings.heartbeat_ms;
    send_hello(l, new_log ? AB_LANE_STATE : AB_LANE_LIVE, false, done);
}

void ab_kafka_presence_speak(ab_kafka_link *l, bool leaving)
{
    /* One at a time: while no broker is there they must not pile up. */
    if (l->phase != AB_LINK_READY || (l->peer.hello_in_flight && !leaving))
        return;
    l->peer.hello_in_flight = true;
    l->peer.hello_due_ms = ab_kafka_now(l->kafka) + l->kafka->settings.heartbeat_ms;
    send_hello(l, AB_LANE_LIVE, leaving, on_spoken);
}

void ab_kafka_presence_changed(ab_kafka *k)
{
    ab_kafka_link *l = NULL;
    k->base.certificate_is_new = false;
    k->certificates++;
    TAILQ_FOREACH(l, &k->links, at)
    {
        l->peer.hello_due_ms = 0;
        ab_kafka_link_look_at(l, 0);
    }
}

typedef struct {
    ab_hello base;
    int64_t interval_ms;
    int64_t sent; /* the offset of the last event in its log that it knows to be safe; -1 = none */
    int64_t lost; /* a log of ours that it finds replaced; 0 = none */
    bool whole;
    char handshake[AB_KAFKA_HANDSHAKE]; /* the peer's last one */
    char heard[AB_KAFKA_HANDSHAKE];     /* the last one of ours that it has */
    char refused[AB_ERROR_TEXT_MAX];    /* why we are; "" = we are not */
} saying;

static void read_text(const cJSON *from, const char *name, char *out, size_t room)
{
    snprintf(out, room, "%.*s", AB_STR_ARG(ab_doc_text(from, name)));
}

/* Fills `out`, which is released by the caller. */
static bool understand(const ab_event *event, saying *out, ab_error *err)
{
    cJSON *doc = NULL;
    if (ab_hello_parse(event, &doc, err) != AB_ERR_OK)
        return false;
    bool ok = ab_hello_read(doc, &out->base, err) == AB_ERR_OK;
    if (ab_doc_i64(doc, "lost", &out->lost) != AB_ERR_OK)
        out->lost = 0;
    if (ab_doc_i64(doc, "sent", &out->sent) != AB_ERR_OK)
        out->sent = -1;
    out->whole = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(doc, "whole"));
    read_text(doc, "handshake", out->handshake, sizeof(out->handshake));
    read_text(doc, "heard", out->heard, sizeof(out->heard));
    read_text(doc, "refused", out->refused, sizeof(out->refused));
    if (ok && (ab_doc_i64(doc, "interval_ms", &out->interval_ms) != AB_ERR_OK ||
               out->interval_ms <= 0 || out->interval_ms > INTERVAL_MAX_MS)) {
        ab_fail(err, AB_ERR_INVALID, "a hello without interval");
        ok = false;
    }
    cJSON_Delete(doc);
    return ok;
}

/* --- two of one name --- */

/* Who begins reads what is there, and takes a higher epoch. */
static bool is_duplicate(const ab_kafka_link *l, const saying *said)
{
    return l->peer.up && said->base.epoch <= l->peer.epoch &&
           strcmp(l->peer.instance, said->base.instance) != 0;
}

static void log_duplicate(ab_kafka_link *l, const saying *said)
{
    l->peer.duplicate = AB_DUPLICATE_LOGGED;
    ab_metric_set(l->metrics.duplicates, 1);
    AB_WARN(l->kafka->base.env.log, KAFKA, "two principals write to this agent; stop one of them",
            AB_KV("agent", l->name), AB_KV("counts", l->peer.instance),
            AB_KV("other", said->base.instance));
}

static void forget_duplicate(ab_kafka_link *l)
{
    if (l->peer.duplicate != AB_DUPLICATE_LOGGED)
        l->peer.duplicate = AB_DUPLICATE_NONE;
}

/* Of one that has restarted after a crash, perhaps without its log and so with a lower epoch, and
 * of one that hands over to another, only one goes on: duplicates are those that speak in turns. */
static void note_duplicate(ab_kafka_link *l, const saying *said)
{
    l->peer.duplicate_ms = ab_kafka_now(l->kafka);
    ab_kafka_link_look_at(l, silent_at(l, l->peer.duplicate_ms));
    if (said->base.leaving)
        forget_duplicate(l);
    else if (l->peer.duplicate == AB_DUPLICATE_NONE)
        l->peer.duplicate = AB_DUPLICATE_HEARD;
    else if (l->peer.duplicate == AB_DUPLICATE_ANSWERED)
        log_duplicate(l, said);
}

static void note_instance(ab_kafka_link *l, bool other)
{
    if (other)
        forget_duplicate(l);
    else if (l->peer.duplicate == AB_DUPLICATE_HEARD)
        l->peer.duplicate = AB_DUPLICATE_ANSWERED;
}

static void end_duplicate(ab_kafka_link *l)
{
    bool told = l->peer.duplicate == AB_DUPLICATE_LOGGED;
    l->peer.duplicate = AB_DUPLICATE_NONE;
    if (!told)
        return;
    ab_metric_set(l->metrics.duplicates, 0);
    AB_INFO(l->kafka->base.env.log, KAFKA, "only one process of this name is left",
            AB_KV("agent", l->name));
}

/* --- there and gone --- */

static void gone(ab_kafka_link *l)
{
    l->peer.handshake[0] = '\0';
    if (!l->peer.up)
        return;
    l->peer.up = false;
    ab_metric_set(l->metrics.peer_up, 0);
    const ab_transport_events *up = &l->kafka->base.env.events;
    up->on_peer(up->arg, l->name, false, NULL);
}

static void tell_peer(ab_kafka_link *l, const saying *said)
{
    ab_kafka *k = l->kafka;
    const ab_peer peer = {
        .mode = said->base.mode,
        .version = said->base.version,
        .epoch = said->base.epoch,
        .clock_skew_ms = said->base.time_ms - ab_clock_wall_us(k->base.env.clock) / 1000,
        .certificate = said->base.certificate,
    };
    l->peer.up = true;
    ab_kafka_positions_return(l);
    ab_metric_set(l->metrics.peer_up, 1);
    k->base.env.events.on_peer(k->base.env.events.arg, l->name, true, &peer);
}

/* What a whole hello says. */
static void shake_hands(ab_kafka_link *l, const saying *said, bool other)
{
    bool news =
        ab_hello_is_new_certificate(&said->base, &l->peer.certificate) || other || !l->peer.up;
    memcpy(l->peer.handshake, said->handshake, sizeof(l->peer.handshake));
    memcpy(l->peer.instance, said->base.instance, sizeof(l->peer.instance));
    if (news)
        tell_peer(l, said);
}

static void note_sent(ab_kafka_link *l, int64_t sent)
{
    if (sent == l->peer.sent)
        return;
    l->peer.sent = sent;
    l->peer.sent_ms = ab_kafka_now(l->kafka);
}

static void there(ab_kafka_link *l, const saying *said)
{
    bool other = strcmp(said->base.instance, l->peer.instance) != 0;
    if (other)
        gone(l);
    note_instance(l, other);
    l->peer.heard_ms = ab_kafka_now(l->kafka);
    ab_metric_set(l->metrics.last_seen, (double)ab_clock_wall_us(l->kafka->base.env.clock) / 1e6);
    l->peer.interval_ms = said->interval_ms;
    l->peer.epoch = said->base.epoch;
    note_sent(l, said->sent);
    memcpy(l->peer.heard, said->heard, sizeof(l->peer.heard));
    if (said->whole && !l->removed)
        shake_hands(l, said, other);
    ab_kafka_link_look_at(l, silent_at(l, l->peer.heard_ms));
    /* A principal refuses nobody before it knows the agent's mode. */
    if (l->kafka->settings.role == AB_ROLE_AGENT && has_ours(l))
        ab_kafka_refusal_hear(l, said->refused);
    /* So that neither need wait for the next one: the peer lacks ours, or we lack the peer's. */
    bool complete = has_ours(l) && strcmp(l->peer.handshake, said->handshake) == 0;
    if (!l->removed && !complete)
        ab_kafka_presence_speak(l, false);
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
    l->peer.log_id_ms = ab_kafka_now(l->kafka);
    return other;
}

/* It was written while nothing could be received. */
static bool is_late(const ab_kafka_link *l, const saying *said, int64_t age_ms)
{
    return l->peer.up && age_ms - l->peer.age_ms > MISSED_MAX * said->interval_ms + LATE_MS;
}

static void take(ab_kafka_link *l, const saying *said, int64_t age_ms)
{
    bool same = strcmp(said->base.instance, l->peer.instance) == 0;
    if (is_duplicate(l, said)) {
        if (l->kafka->settings.role == AB_ROLE_AGENT)
            note_duplicate(l, said);
        return;
    }
    if (same && is_late(l, said, age_ms))
        return;
    l->peer.age_ms = age_ms;
    if (said->lost > 0 && (uint64_t)said->lost == l->log_id && l->phase == AB_LINK_READY) {
        l->lost_out = true;
        ab_kafka_link_restart(l, "the peer reports that our log was replaced");
    }
    if (!l->removed && ends_early(l))
        ab_kafka_link_restart(l, "the peer has written more than its log has");
    if (!said->base.leaving)
        there(l, said);
    else if (same)
        gone(l);
}

ab_err ab_kafka_presence_hear(ab_kafka_link *l, const ab_event *hello, int64_t age_ms,
                              ab_error *err)
{
    saying said = {0};
    bool understood = understand(hello, &said, err);
    if (understood)
        take(l, &said, age_ms);
    ab_hello_fini(&said.base);
    return understood ? AB_ERR_OK : AB_ERR_INVALID;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t ab_kafka_presence_look(ab_kafka_link *l, int64_t now)
{
    const ab_kafka_presence *peer = &l->peer;
    if (peer->up && now >= silent_at(l, peer->heard_ms))
        gone(l);
    if (peer->duplicate != AB_DUPLICATE_NONE && now >= silent_at(l, peer->duplicate_ms))
        end_duplicate(l);
    if (!l->removed && now >= peer->hello_due_ms)
        ab_kafka_presence_speak(l, false);
    int64_t next = INT64_MAX;
    if (l->phase == AB_LINK_READY && !peer->hello_in_flight)
        next = peer->hello_due_ms;
    if (peer->up)
        next = earlier(next, silent_at(l, peer->heard_ms));
    if (peer->duplicate != AB_DUPLICATE_NONE)
        next = earlier(next, silent_at(l, peer->duplicate_ms));
    return next;
}
