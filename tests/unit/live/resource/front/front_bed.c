/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/live/resource/front/front_bed.h"

#include "live/resource/service.h"
#include "tests/unit/live/sockets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ----- the agent ----- */

asked *bed_last(bed *b)
{
    assert_true(b->agent.count > 0);
    return &b->agent.items[b->agent.count - 1];
}

void bed_answer(asked *a, int status, const char *text)
{
    assert_non_null(a->stream);
    assert_int_equal(ab_live_stream_answer(a->stream, status, NULL, 0), AB_ERR_OK);
    assert_int_equal(ab_live_stream_send(a->stream, ab_str_of(text)), AB_ERR_OK);
}

void bed_flood(asked *a, size_t bytes)
{
    assert_int_equal(ab_live_stream_answer(a->stream, 200, NULL, 0), AB_ERR_OK);
    asked_flood(a, bytes);
}

void bed_lose_agent(bed *b)
{
    ab_live_hub_disconnected(b->ends.hub, "w1");
}

/* ----- life ----- */

static void write_tokens(bed *b)
{
    static const char text[] = TOKEN_ANY " *\n" TOKEN_W1 " w1\n";
    snprintf(b->tokens, sizeof(b->tokens), "/tmp/ab-front-XXXXXX");
    int fd = mkstemp(b->tokens);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    close(fd);
}

int bed_start(void **state)
{
    const ab_tls plain = {.insecure = true};
    bed *b = calloc(1, sizeof(*b));
    *state = b;
    b->services[0] = (ab_live_service){AB_RESOURCE_SERVICE, asked_serve, &b->agent};
    b->services[1] = (ab_live_service){AB_RESOURCE_EXEC_SERVICE, asked_serve, &b->agent};
    joined_open(&b->ends, b->services);
    write_tokens(b);
    b->lines = logged_open(&b->ends.clock, &b->log);
    const ab_resource_front_env env = {.loop = &b->ends.loop,
                                       .host = "127.0.0.1",
                                       .tls = &plain,
                                       .tokens = b->tokens,
                                       .clock = &b->ends.clock,
                                       .hub = b->ends.hub,
                                       .log = b->log,
                                       .metrics = b->ends.metrics};
    assert_int_equal(ab_resource_front_start(&env, &b->front, NULL), AB_ERR_OK);
    return 0;
}

int bed_stop(void **state)
{
    bed *b = *state;
    ab_resource_front_free(b->front);
    int rc = joined_close(&b->ends);
    ab_log_free(b->log);
    assert_int_equal(fclose(b->lines), 0);
    unlink(b->tokens);
    free(b);
    return rc;
}

/* ----- clients ----- */

int bed_dial(const bed *b)
{
    return sockets_dial(ab_https_server_port(b->front->server));
}

size_t bed_offer(bed *b, int fd, ab_str bytes)
{
    return sockets_offer(&b->ends, fd, bytes);
}

void bed_send(bed *b, int fd, const char *text)
{
    sockets_send(&b->ends, fd, ab_str_of(text));
}

void bed_read(bed *b, int fd, const char *text, ab_buf *out)
{
    sockets_read(&b->ends, fd, text, out);
}

int bed_ask(bed *b, const char *method, const char *target)
{
    char head[1024];
    size_t before = b->agent.count;
    int fd = bed_dial(b);
    snprintf(head, sizeof(head), "%s %s HTTP/1.1\r\n" AS_W1 "\r\n", method, target);
    bed_send(b, fd, head);
    JOINED_WAIT(&b->ends, b->agent.count == before + 1);
    return fd;
}

int bed_begin(bed *b, const char *target, const char *text)
{
    ab_buf out;
    ab_buf_init(&out, 65536);
    int fd = bed_ask(b, "GET", target);
    bed_answer(bed_last(b), 200, text);
    bed_read(b, fd, text, &out);
    ab_buf_fini(&out);
    return fd;
}

void bed_refused(bed *b, const char *head, ab_buf *out)
{
    ab_buf_clear(out);
    int fd = bed_dial(b);
    bed_send(b, fd, head);
    bed_read(b, fd, "\"code\":", out);
    close(fd);
    ab_buf_putc(out, '\0');
}
