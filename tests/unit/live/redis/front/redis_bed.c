/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/live/redis/front/redis_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DEADLINE_MS 10000

/* ----- the agent ----- */

asked *bed_asked(bed *b, const char *method, const char *path)
{
    JOINED_WAIT(&b->ends, b->agent.count > b->taken);
    asked *a = &b->agent.items[b->taken++];
    assert_string_equal(a->method, method);
    assert_string_equal(a->path, path);
    return a;
}

void bed_asked_only(bed *b, size_t count)
{
    for (int i = 0; i < 50; i++)
        joined_turn(&b->ends);
    assert_int_equal(b->agent.count, count);
}

void bed_answer(asked *a, int status, const char *name, const char *value)
{
    const ab_http_field field = {ab_str_of(name), ab_str_of(value)};
    assert_non_null(a->stream);
    assert_int_equal(ab_live_stream_answer(a->stream, status, &field, name != NULL), AB_ERR_OK);
}

static void answer_length(asked *a, size_t length)
{
    char text[32];
    snprintf(text, sizeof(text), "%zu", length);
    bed_answer(a, 200, "content-length", text);
}

void bed_has(asked *a, size_t length, const char *text)
{
    answer_length(a, length);
    assert_int_equal(ab_live_stream_send(a->stream, ab_str_of(text)), AB_ERR_OK);
    if (strlen(text) >= length)
        ab_live_stream_end(a->stream);
}

void bed_flood(asked *a, size_t bytes)
{
    answer_length(a, bytes);
    asked_flood(a, bytes);
}

void bed_lose_agent(bed *b)
{
    ab_live_hub_disconnected(b->ends.hub, "w1");
    ab_live_spoke_disconnected(b->ends.spoke);
}

void bed_find_agent(bed *b)
{
    assert_int_equal(ab_live_hub_connected(b->ends.hub, "w1"), AB_ERR_OK);
}

/* ----- the front ----- */

static ab_err ask(void *arg, const char *agent, const ab_live_request *request,
                  const ab_live_handler *asking, void *handler_arg, ab_live_stream **out,
                  ab_error *err)
{
    const bed *b = arg;
    assert_true(ab_str_is(request->service, "redis"));
    return ab_live_hub_request(b->ends.hub, agent, request, asking, handler_arg, out, err);
}

static ab_str agent_of_namespace(void *arg, ab_str space)
{
    const bed *b = arg;
    bool is_served = ab_str_is(space, "w2") || (ab_str_is(space, "w1") && !b->is_removed);
    return is_served ? space : AB_STR_NONE;
}

static ab_str agent_of_app(void *arg, ab_str space, ab_str app)
{
    (void)arg;
    return ab_str_is(space, "team") && ab_str_is(app, "guestbook") ? AB_STR("w1") : AB_STR_NONE;
}

static int start(void **state, bool by_destination)
{
    bed *b = calloc(1, sizeof(*b));
    *state = b;
    b->services[0] = (ab_live_service){"redis", asked_serve, &b->agent};
    joined_open(&b->ends, b->services);
    b->lines = logged_open(&b->ends.clock, &b->log);
    ab_redis_front_options o = {.loop = &b->ends.loop,
                                .log = b->log,
                                .metrics = b->ends.metrics,
                                .clock = &b->ends.clock,
                                .listen_host = "127.0.0.1",
                                .listen_tls = {.insecure = true},
                                .redis_host = "127.0.0.1",
                                .redis_tls = {.insecure = true},
                                .agents = {.agent_of_namespace = agent_of_namespace, .arg = b},
                                .request = ask,
                                .arg = b,
                                .deadline_ms = DEADLINE_MS};
    if (by_destination)
        o.agents.agent_of_app = agent_of_app;
    b->redis = sockets_listen(&o.redis_port);
    assert_int_equal(ab_redis_front_new(&o, &b->front, NULL), AB_ERR_OK);
    return 0;
}

int bed_start(void **state)
{
    return start(state, false);
}

int bed_start_by_destination(void **state)
{
    return start(state, true);
}

int bed_stop(void **state)
{
    bed *b = *state;
    ab_redis_front_close(b->front);
    int rc = joined_close(&b->ends);
    ab_log_free(b->log);
    assert_int_equal(fclose(b->lines), 0);
    if (b->redis >= 0)
        close(b->redis);
    free(b);
    return rc;
}

/* ----- clients, and the control plane's redis ----- */

const char *bed_words(const char *line)
{
    static char texts[8][2048];
    static unsigned turn;
    char *text = texts[turn++ % 8];
    size_t count = 1;
    for (const char *c = line; *c != '\0'; c++)
        count += *c == ' ';
    int len = snprintf(text, sizeof(texts[0]), "*%zu\r\n", count);
    for (size_t n = strcspn(line, " "); count > 0; count--, n = strcspn(line, " ")) {
        len += snprintf(text + len, sizeof(texts[0]) - (size_t)len, "$%zu\r\n%.*s\r\n", n, (int)n,
                        line);
        line += n + (line[n] == ' ');
    }
    return text;
}

int bed_client(bed *b)
{
    return sockets_dial(ab_redis_front_port(b->front));
}

int bed_redis(bed *b)
{
    return sockets_accept(&b->ends, b->redis);
}

void bed_send(bed *b, int fd, const char *text)
{
    sockets_send(&b->ends, fd, ab_str_of(text));
}

void bed_expect(bed *b, int fd, const char *text)
{
    sockets_expect(&b->ends, fd, ab_str_of(text));
}

void bed_tell(bed *b, int client, int redis, const char *line)
{
    const char *text = bed_words(line);
    bed_send(b, client, text);
    bed_expect(b, redis, text);
}

int bed_begin(bed *b, const char *text, int *redis)
{
    int client = bed_client(b);
    bed_send(b, client, text);
    *redis = bed_redis(b);
    bed_expect(b, *redis, text);
    return client;
}
