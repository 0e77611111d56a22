/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conformance/transport/ends.h"

#include "schema/attributes.h"
#include "schema/catalogue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_MAX_MS 120000 /* a busy machine may take long */
#define TICK_MS     20
#define LOG_MAX     65536
#define TAIL_MAX    6000

static void copy_text(char *out, size_t room, ab_str text)
{
    assert_true(text.len < room);
    if (text.len > 0)
        memcpy(out, text.ptr, text.len);
    out[text.len] = '\0';
}

/* Upcalls */

ab_end_peer *ab_end_peer_of(ab_end *end, const char *agent)
{
    for (size_t i = 0; i < end->peer_count; i++) {
        if (strcmp(end->peers[i].agent, agent) == 0)
            return &end->peers[i];
    }
    assert_true(end->peer_count < AB_END_PEERS_MAX);
    ab_end_peer *peer = &end->peers[end->peer_count++];
    copy_text(peer->agent, sizeof(peer->agent), ab_str_of(agent));
    return peer;
}

/* The peer that an upcall is about; an upcall after `stopped` breaks the contract. */
static ab_end_peer *told(void *arg, const char *agent)
{
    ab_end *end = arg;
    if (end->stopped)
        end->late++;
    return ab_end_peer_of(end, agent);
}

static uint64_t number_of(const ab_event *event, const char *attribute)
{
    uint64_t number = 0;
    if (ab_event_attr_u64(event, attribute, &number) != AB_ERR_OK)
        return 0;
    return number;
}

static void on_event(void *arg, ab_delivery *delivery)
{
    ab_end *end = arg;
    ab_end_peer *peer = told(end, delivery->agent);
    assert_true(end->receipt_count < AB_END_RECEIPT_MAX);
    ab_receipt *r = &end->receipts[end->receipt_count++];
    copy_text(r->agent, sizeof(r->agent), ab_str_of(delivery->agent));
    copy_text(r->key, sizeof(r->key), ab_event_attr(delivery->event, AB_CE_PARTITIONKEY));
    copy_text(r->type, sizeof(r->type), ab_event_attr(delivery->event, AB_CE_TYPE));
    r->lane = delivery->lane;
    r->epoch = number_of(delivery->event, AB_CE_WRITEREPOCH);
    r->version = number_of(delivery->event, AB_CE_OBJVERSION);
    r->tombstone = ab_event_data(delivery->event).ptr == NULL;
    r->event = ab_event_ref(delivery->event);
    r->delivery = delivery;
    if (r->lane == AB_LANE_STATE && ++peer->open > peer->most_open)
        peer->most_open = peer->open;
    if (!end->keep)
        ab_end_ack(end, end->receipt_count - 1, AB_VERDICT_APPLIED);
}

static void on_peer(void *arg, const char *agent, bool up, const ab_peer *peer)
{
    ab_end_peer *p = told(arg, agent);
    assert_true(up == (peer != NULL));
    p->up = up;
    p->ups += up ? 1 : 0;
    p->downs += up ? 0 : 1;
    if (peer == NULL)
        return;
    copy_text(p->mode, sizeof(p->mode), ab_str_of(peer->mode));
    copy_text(p->version, sizeof(p->version), ab_str_of(peer->version));
    p->peer_epoch = peer->epoch;
}

static void on_written(void *arg, const char *agent, ab_event *head)
{
    ab_end_peer *peer = told(arg, agent);
    assert_true(peer->head_count < sizeof(peer->heads) / sizeof(peer->heads[0]));
    ab_head *h = &peer->heads[peer->head_count++];
    copy_text(h->key, sizeof(h->key), ab_event_attr(head, AB_CE_PARTITIONKEY));
    h->epoch = number_of(head, AB_CE_WRITEREPOCH);
    h->version = number_of(head, AB_CE_OBJVERSION);
    h->has_data = ab_event_data(head).ptr != NULL;
}

static void on_ready(void *arg, const char *agent, uint64_t epoch)
{
    ab_end_peer *peer = told(arg, agent);
    peer->ready++;
    assert_true(epoch > peer->epoch);
    peer->epoch = epoch;
}

static void on_gap(void *arg, const char *agent, ab_gap gap)
{
    ab_end_peer *peer = told(arg, agent);
    peer->gaps[gap]++;
    if (gap == AB_GAP_RECREATED)
        peer->head_count = 0;
}

static void on_caught_up(void *arg, const char *agent)
{
    told(arg, agent)->caught_up++;
}

static void on_writable(void *arg, const char *agent)
{
    told(arg, agent)->writable++;
}

static void on_displaced(void *arg, bool displaced)
{
    ((ab_end *)arg)->displaced = displaced;
}

static void on_fatal(void *arg, const ab_error *err)
{
    ab_end *end = arg;
    end->fatal++;
    end->fatal_error = *err;
}

/* Ends together */

static void log_to_memory(ab_ends *ends, const char *levels)
{
    ends->log_fd = memfd_create("log", MFD_CLOEXEC);
    assert_true(ends->log_fd > 0);
    ab_err e = ab_log_new(ends->log_fd, levels, AB_LOG_TEXT, &ab_clock_real, &ends->log, NULL);
    assert_int_equal(e, AB_ERR_OK);
}

/* The end of what was logged, where a test fails. cmocka's print_error cuts it. */
static void print_log(const ab_ends *ends)
{
    char tail[TAIL_MAX];
    off_t size = ends->log_fd > 0 ? lseek(ends->log_fd, 0, SEEK_END) : 0;
    off_t from = size > TAIL_MAX ? size - TAIL_MAX : 0;
    ssize_t len = size > 0 ? pread(ends->log_fd, tail, TAIL_MAX, from) : 0;
    (void)fwrite(tail, 1, len > 0 ? (size_t)len : 0, stderr);
}

ab_wait ab_wait_begin(ab_ends *ends)
{
    return (ab_wait){ends, ab_clock_mono_ms(&ab_clock_real) + WAIT_MAX_MS};
}

void ab_wait_once(ab_wait *wait, const char *condition, const char *file, int line)
{
    if (ab_clock_mono_ms(&ab_clock_real) > wait->until_ms) {
        print_error("did not come true in time: %s\n", condition);
        print_log(wait->ends);
        _fail(file, line);
    }
    uv_run(&wait->ends->loop, UV_RUN_ONCE);
    for (size_t i = 0; i < AB_ENDS_MAX; i++) {
        const ab_end *end = wait->ends->all[i];
        if (end != NULL && end->fatal > 0 && strstr(condition, "fatal") == NULL) {
            print_error("on_fatal: %s\n", end->fatal_error.text);
            print_log(wait->ends);
            _fail(file, line);
        }
    }
}

static void on_tick(uv_timer_t *tick)
{
    (void)tick;
}

ab_ends *ab_ends_open(const ab_ends_fixture *fixture)
{
    ab_ends *ends = calloc(1, sizeof(*ends));
    assert_non_null(ends);
    ends->fixture = fixture;
    ends->clock = &ab_clock_real;
    assert_int_equal(uv_loop_init(&ends->loop), 0);
    assert_int_equal(uv_timer_init(&ends->loop, &ends->tick), 0);
    assert_int_equal(uv_timer_start(&ends->tick, on_tick, TICK_MS, TICK_MS), 0);
    const char *levels = getenv("AB_TEST_LOG");
    if (levels != NULL)
        assert_int_equal(ab_log_new(2, levels, AB_LOG_TEXT, &ab_clock_real, &ends->log, NULL), 0);
    else
        log_to_memory(ends, "info");
    fixture->open(ends);
    return ends;
}

void ab_ends_set(ab_ends *ends, const char *fmt, ...)
{
    assert_true(ends->setting_count < AB_ENDS_SETTINGS);
    va_list args;
    va_start(args, fmt);
    int len = vasprintf(&ends->settings[ends->setting_count], fmt, args);
    va_end(args);
    assert_true(len > 0);
    ends->setting_count++;
}

bool ab_ends_can(ab_ends *ends, unsigned cap)
{
    return (ends->fixture->ops(ends)->caps & cap) != 0;
}

void ab_ends_capture_log(ab_ends *ends)
{
    ab_log_free(ends->log);
    ends->log = NULL;
    if (ends->log_fd > 0)
        close(ends->log_fd);
    log_to_memory(ends, "warn");
}

size_t ab_ends_logged(const ab_ends *ends, const char *text)
{
    size_t count = 0;
    char all[LOG_MAX];
    ssize_t len = pread(ends->log_fd, all, sizeof(all) - 1, 0);
    assert_true(len >= 0);
    all[len] = '\0';
    for (const char *at = strstr(all, text); at != NULL; at = strstr(at + 1, text))
        count++;
    return count;
}

static void free_end(ab_end *end)
{
    for (size_t i = 0; i < end->receipt_count; i++)
        ab_event_unref(end->receipts[i].event);
    for (size_t i = 0; i < AB_ENDS_MAX; i++) {
        if (end->ends->all[i] == end)
            end->ends->all[i] = NULL;
    }
    ab_transport_free(end->transport);
    ab_metrics_free(end->metrics);
    ab_config_free(end->config);
    free(end);
}

static void on_stopped(void *arg)
{
    ab_end *end = arg;
    end->stopped = true;
}

void ab_end_stop(ab_end *end)
{
    ab_ends *ends = end->ends;
    if (end->stopping)
        fail_msg("%s", "this end was told to stop before, and did not");
    end->stopping = true;
    ab_transport_close(end->transport);
    ab_transport_stop(end->transport, 5000, on_stopped, end);
    AB_UNTIL(ends, end->stopped);
    uv_run(&ends->loop, UV_RUN_NOWAIT);
    assert_int_equal(end->late, 0);
    free_end(end);
}

void ab_ends_close(ab_ends *ends)
{
    for (size_t i = 0; i < AB_ENDS_MAX; i++) {
        if (ends->all[i] != NULL)
            ab_end_stop(ends->all[i]);
    }
    ends->fixture->close(ends);
    uv_close((uv_handle_t *)&ends->tick, NULL);
    uv_run(&ends->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&ends->loop), 0);
    for (size_t i = 0; i < ends->setting_count; i++)
        free(ends->settings[i]);
    ab_log_free(ends->log);
    if (ends->log_fd > 0)
        close(ends->log_fd);
    free(ends);
}

int ab_ends_setup(void **state)
{
    *state = ab_ends_open(*state);
    return 0;
}

int ab_ends_teardown(void **state)
{
    ab_ends_close(*state);
    return 0;
}

/* One end */

static ab_config *load_config(ab_ends *ends)
{
    ab_config_sources sources = {.set = (const char *const *)ends->settings,
                                 .set_count = ends->setting_count};
    ab_config *config = NULL;
    ab_error err = {0};
    if (ab_config_load(ends->fixture->tables, ends->fixture->table_count, &sources, &config,
                       &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
    return config;
}

static ab_transport_env env_of(ab_end *end)
{
    bool principal = end->role == AB_ROLE_PRINCIPAL;
    return (ab_transport_env){
        .loop = &end->ends->loop,
        .config = end->config,
        .log = end->ends->log,
        .metrics = end->metrics,
        .clock = end->ends->clock,
        .role = end->role,
        .agent = principal ? NULL : end->name,
        .mode = principal ? "" : "managed",
        .replay = end->ends->replay,
        .events = {.on_event = on_event,
                   .on_peer = on_peer,
                   .on_written = on_written,
                   .on_ready = on_ready,
                   .on_gap = on_gap,
                   .on_caught_up = on_caught_up,
                   .on_writable = on_writable,
                   .on_displaced = on_displaced,
                   .on_fatal = on_fatal,
                   .arg = end},
    };
}

static void enlist(ab_ends *ends, ab_end *end)
{
    for (size_t i = 0; i < AB_ENDS_MAX; i++) {
        if (ends->all[i] == NULL) {
            ends->all[i] = end;
            return;
        }
    }
    fail_msg("more than %d ends", AB_ENDS_MAX);
}

ab_err ab_end_try(ab_ends *ends, const char *name, ab_end **out, ab_error *err)
{
    ab_end *end = calloc(1, sizeof(*end));
    assert_non_null(end);
    end->ends = ends;
    end->role = name[0] == '\0' ? AB_ROLE_PRINCIPAL : AB_ROLE_AGENT;
    copy_text(end->name, sizeof(end->name), ab_str_of(name));
    if (ends->fixture->before != NULL)
        ends->fixture->before(ends, name);
    end->config = load_config(ends);
    end->metrics = ab_metrics_new();
    assert_non_null(end->metrics);
    ab_transport_env env = env_of(end);
    ab_err e = ab_transport_new_with(ends->fixture->ops(ends), &env, &end->transport, err);
    if (e != AB_ERR_OK) {
        free_end(end);
        return e;
    }
    *out = end;
    return AB_ERR_OK;
}

static ab_end *make(ab_ends *ends, const char *name)
{
    ab_end *end = NULL;
    ab_error err = {0};
    if (ab_end_try(ends, name, &end, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
    return end;
}

static ab_end *begin(ab_ends *ends, ab_end *end)
{
    ab_error err = {0};
    if (ab_transport_start(end->transport, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
    enlist(ends, end);
    return end;
}

ab_end *ab_end_principal(ab_ends *ends, const char *agents)
{
    ab_end *end = make(ends, "");
    while (*agents != '\0') {
        char agent[64];
        size_t len = strcspn(agents, ",");
        copy_text(agent, sizeof(agent), (ab_str){agents, len});
        assert_int_equal(ab_transport_add_agent(end->transport, agent, NULL), AB_ERR_OK);
        agents += agents[len] == ',' ? len + 1 : len;
    }
    return begin(ends, end);
}

ab_end *ab_end_agent(ab_ends *ends, const char *name)
{
    return begin(ends, make(ends, name));
}

void ab_ends_pair(ab_ends *ends, ab_end **principal, ab_end **agent)
{
    *principal = ab_end_principal(ends, "w1");
    *agent = ab_end_agent(ends, "w1");
    const ab_end_peer *up = ab_end_peer_of(*principal, "w1");
    const ab_end_peer *down = ab_end_peer_of(*agent, "w1");
    AB_UNTIL(ends, up->up && down->up);
    AB_UNTIL(ends, up->ready > 0 && down->ready > 0);
}

bool ab_end_says(const ab_end *end, const char *text)
{
    ab_buf why;
    ab_buf_init(&why, 4096);
    bool said = !ab_transport_ready(end->transport, &why) && why.ptr != NULL &&
                strstr(why.ptr, text) != NULL;
    ab_buf_fini(&why);
    return said;
}

void ab_end_ack(ab_end *end, size_t receipt, ab_verdict verdict)
{
    assert_true(receipt < end->receipt_count);
    ab_receipt *r = &end->receipts[receipt];
    assert_non_null(r->delivery);
    if (r->lane == AB_LANE_STATE)
        ab_end_peer_of(end, r->agent)->open--;
    ab_delivery *delivery = r->delivery;
    r->delivery = NULL;
    ab_transport_ack(end->transport, delivery, verdict);
}

const ab_receipt *ab_end_newest(const ab_end *end, const char *agent, const char *key)
{
    for (size_t i = end->receipt_count; i > 0; i--) {
        const ab_receipt *r = &end->receipts[i - 1];
        if (strcmp(r->agent, agent) == 0 && strcmp(r->key, key) == 0)
            return r;
    }
    return NULL;
}

size_t ab_end_count(const ab_end *end, const char *key)
{
    size_t count = 0;
    for (size_t i = 0; i < end->receipt_count; i++)
        count += key == NULL || strcmp(end->receipts[i].key, key) == 0 ? 1 : 0;
    return count;
}

double ab_end_refused(ab_end *end, const char *reason)
{
    const ab_label label = {"reason", ab_str_of(reason)};
    return ab_metric_value(ab_metric_get(end->metrics, AB_METRIC_COUNTER,
                                         "argobus_events_refused_total",
                                         "Received events that were not accepted.", &label, 1));
}

/* Sending */

static void on_sent(void *arg, ab_err code, const ab_error *err)
{
    ab_sending *sending = arg;
    if (sending == NULL)
        return;
    assert_true(code == AB_ERR_OK || (err != NULL && err->text[0] != '\0'));
    sending->finished++;
    sending->code = code;
}

const char *ab_end_source(const ab_end *end, char out[96])
{
    if (end->role == AB_ROLE_AGENT)
        snprintf(out, 96, "%s%s", AB_SOURCE_AGENT, end->name);
    else
        snprintf(out, 96, "%s", AB_SOURCE_PRINCIPAL);
    return out;
}

/* The upcall that has the epoch is filed under the agent's name at both roles. */
static uint64_t epoch_of(ab_end *end, const char *agent)
{
    return ab_end_peer_of(end, agent == NULL ? end->name : agent)->epoch;
}

ab_err ab_end_send_event(ab_end *end, const char *agent, ab_lane lane, ab_event *event,
                         int64_t deadline_ms, ab_sending *sending)
{
    ab_err e = ab_transport_send(end->transport, agent, lane, event, deadline_ms, on_sent, sending);
    if (sending != NULL)
        sending->accepted = e;
    return e;
}

ab_err ab_end_send(ab_end *end, const char *agent, const ab_draft *draft, ab_sending *sending)
{
    ab_event_draft d = {0};
    char own[96];
    ab_end_source(end, own);
    ab_event_set_text(&d, AB_CE_ID, draft->key);
    ab_event_set_text(&d, AB_CE_SOURCE, draft->source == NULL ? own : draft->source);
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(AB_TYPE_SPEC_UPDATE));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_APPLICATION));
    ab_event_set_text(&d, AB_CE_DATACONTENTTYPE, "application/json");
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, draft->key);
    ab_event_set_u64(&d, AB_CE_WRITEREPOCH, epoch_of(end, agent));
    ab_event_set_u64(&d, AB_CE_OBJVERSION, draft->version);
    d.data = draft->data;
    ab_event *event = NULL;
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    ab_err e = ab_end_send_event(end, agent, AB_LANE_STATE, event, 0, sending);
    ab_event_unref(event);
    return e;
}

bool ab_end_try_put(ab_end *end, const char *agent, const char *key, uint64_t version)
{
    const ab_draft draft = {.key = key, .version = version, .data = AB_STR("{\"a\":1}")};
    return ab_end_send(end, agent, &draft, NULL) == AB_ERR_OK;
}

void ab_end_put(ab_end *end, const char *agent, const char *key, uint64_t version)
{
    assert_true(ab_end_try_put(end, agent, key, version));
}

unsigned ab_end_fill(ab_end *end, const char *agent, size_t bytes, ab_sending *sending)
{
    static const char filler[64 * 1024] = {' '};
    assert_true(bytes <= sizeof(filler));
    for (unsigned n = 1; n < AB_END_RECEIPT_MAX; n++) {
        char key[32];
        snprintf(key, sizeof(key), "fill/%u", n);
        const ab_draft draft = {.key = key, .version = n, .data = {filler, bytes}};
        ab_err e = ab_end_send(end, agent, &draft, sending);
        if (e == AB_ERR_FULL)
            return n - 1;
        assert_int_equal(e, AB_ERR_OK);
    }
    fail_msg("never FULL");
    return 0;
}

static bool is_safe(const ab_sending *s)
{
    return s->finished > 0 && s->code == AB_ERR_OK;
}

static bool is_under_way(const ab_sending *s)
{
    return s->finished == 0 && s->accepted == AB_ERR_OK;
}

bool ab_end_put_until_safe(ab_end *end, const char *agent, const char *key, uint64_t version,
                           ab_sending *sending)
{
    if (is_safe(sending) || is_under_way(sending))
        return is_safe(sending);
    *sending = (ab_sending){0};
    const ab_draft draft = {.key = key, .version = version, .data = AB_STR("{\"a\":1}")};
    (void)ab_end_send(end, agent, &draft, sending);
    return false;
}

ab_err ab_end_live_data(ab_end *end, const char *agent, const char *id, ab_str data,
                        int64_t deadline_ms, ab_sending *sending)
{
    ab_event_draft d = {0};
    char own[96];
    ab_event_set_text(&d, AB_CE_ID, id);
    ab_event_set_text(&d, AB_CE_SOURCE, ab_end_source(end, own));
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(AB_TYPE_HTTP_GET));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_RESOURCE));
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, id);
    d.data = data;
    ab_event *event = NULL;
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    ab_err e = ab_end_send_event(end, agent, AB_LANE_LIVE, event, deadline_ms, sending);
    ab_event_unref(event);
    return e;
}

ab_err ab_end_live(ab_end *end, const char *agent, const char *id, int64_t deadline_ms,
                   ab_sending *sending)
{
    return ab_end_live_data(end, agent, id, AB_STR("{}"), deadline_ms, sending);
}

static bool live_until_safe(ab_end *end, const char *agent, const char *id, ab_sending *sending)
{
    if (is_safe(sending) || is_under_way(sending))
        return is_safe(sending);
    *sending = (ab_sending){0};
    (void)ab_end_live(end, agent, id, 60000, sending);
    return false;
}

/* The transport gives a live event up after ten seconds; a busy machine may take longer. */
void ab_ends_pass_live(ab_ends *ends, ab_end *from, const char *agent, ab_end *to, const char *id)
{
    ab_sending sending = {.accepted = AB_ERR_UNAVAILABLE};
    AB_UNTIL(ends, live_until_safe(from, agent, id, &sending));
    AB_UNTIL(ends, ab_end_count(to, id) > 0);
}
