/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conformance/transport/grpc_intruder.h"

#include "transport/grpc/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define TOKEN_MAX 65536

typedef struct {
    const ab_grpc_intruder *as;
    ab_metrics *metrics;
    ab_rpc_client *rpc;
    ab_rpc_call *call;
    ab_buf token;
    bool ended;
    ab_rpc_status status;
} intruder;

static void on_end(void *arg, ab_rpc_status status, ab_str text)
{
    intruder *i = arg;
    (void)text;
    i->ended = true;
    i->status = status;
}

static const ab_rpc_handler frames = {.on_end = on_end};

static void call(intruder *i)
{
    const char *instance = i->as->instance;
    const ab_rpc_field metadata[] = {
        {AB_STR(AB_GRPC_META_TOKEN), ab_buf_str(&i->token)},
        {AB_STR(AB_GRPC_META_VERSION), AB_STR(AB_VERSION)},
        {AB_STR(AB_GRPC_META_INSTANCE), ab_str_of(instance == NULL ? "" : instance)},
    };
    const ab_rpc_begin begin = {.path = AB_GRPC_LIVE_FRAMES,
                                .metadata = i->as->agent == NULL ? metadata + 1 : metadata,
                                .metadata_count =
                                    (i->as->agent == NULL ? 2u : 3u) - (instance == NULL ? 1 : 0)};
    assert_int_equal(ab_rpc_call_begin(i->rpc, &begin, &frames, i, &i->call), AB_ERR_OK);
}

static void on_granted(void *arg, ab_rpc_status status, ab_str text, ab_str response)
{
    intruder *i = arg;
    ab_pb_arena arena;
    ab_grpc_grant grant;
    (void)text;
    assert_int_equal(status, AB_RPC_OK);
    assert_int_equal(ab_grpc_read_grant(response, &arena, &grant), AB_ERR_OK);
    ab_buf_put(&i->token, grant.access);
    ab_pb_arena_wipe(&arena);
    call(i);
}

static void log_in(intruder *i)
{
    const ab_grpc_login login = {.method = AB_STR("userpass"),
                                 .mode = AB_STR("managed"),
                                 .version = AB_STR(AB_VERSION),
                                 .credentials = {{AB_STR("clientid"), ab_str_of(i->as->agent)},
                                                 {AB_STR("clientsecret"), AB_STR("secret")}},
                                 .credential_count = 2};
    const ab_rpc_begin begin = {.path = AB_GRPC_AUTHENTICATE};
    ab_buf request;
    ab_buf_init(&request, TOKEN_MAX);
    ab_grpc_write_login(&login, &request);
    assert_int_equal(ab_rpc_unary(i->rpc, &begin, ab_buf_str(&request), on_granted, i), AB_ERR_OK);
    ab_buf_fini(&request);
}

static void on_link(void *arg, ab_rpc_link link, const ab_error *err)
{
    intruder *i = arg;
    (void)err;
    if (link == AB_RPC_UP && i->as->agent == NULL)
        call(i);
    else if (link == AB_RPC_UP)
        log_in(i);
}

ab_rpc_status ab_grpc_intrude(ab_ends *ends, const ab_grpc_intruder *as)
{
    intruder i = {.as = as, .metrics = ab_metrics_new()};
    const ab_rpc_env env = {&ends->loop, ends->log, i.metrics, &ab_clock_real};
    const ab_tls plain = {.insecure = true};
    const ab_rpc_client_events events = {on_link, &i};
    ab_buf_init(&i.token, TOKEN_MAX);
    assert_int_equal(ab_rpc_client_new(&env, "127.0.0.1", as->port, &plain, &ab_rpc_default_limits,
                                       &events, &i.rpc, NULL),
                     AB_ERR_OK);
    ab_rpc_client_start(i.rpc);
    AB_UNTIL(ends, i.ended);
    ab_rpc_client_free(i.rpc);
    for (int n = 0; n < 10; n++) /* its handles close */
        uv_run(&ends->loop, UV_RUN_NOWAIT);
    ab_metrics_free(i.metrics);
    ab_buf_wipe(&i.token);
    return i.status;
}
