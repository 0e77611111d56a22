/* SPDX-License-Identifier: Apache-2.0 */
#include "net/rpc/rpc.h"

#include <stdlib.h>

typedef struct {
    ab_rpc_done done;
    void (*on_headers)(void *arg, const ab_rpc_field *metadata, size_t count);
    void *arg;
    ab_buf response;
    bool answered;
    ab_rpc_call *call;
} unary;

static void on_headers(void *arg, const ab_rpc_field *metadata, size_t count)
{
    const unary *u = arg;
    if (u->on_headers != NULL && u->done != NULL)
        u->on_headers(u->arg, metadata, count);
}

static void on_message(void *arg, ab_str bytes)
{
    unary *u = arg;
    if (u->answered) {
        /* Two answers are none. */
        ab_buf_clear(&u->response);
        ab_rpc_cancel(u->call);
        return;
    }
    u->answered = true;
    ab_buf_put(&u->response, bytes);
}

static void on_end(void *arg, ab_rpc_status status, ab_str text)
{
    unary *u = arg;
    if (status == AB_RPC_OK && !u->answered) {
        status = AB_RPC_INTERNAL;
        text = AB_STR("the response is missing");
    } else if (status == AB_RPC_OK && ab_buf_status(&u->response) != AB_ERR_OK) {
        status = AB_RPC_RESOURCE_EXHAUSTED;
        text = AB_STR("out of memory");
    }
    ab_str response = status == AB_RPC_OK ? ab_buf_str(&u->response) : AB_STR_NONE;
    if (u->done != NULL)
        u->done(u->arg, status, text, response);
    ab_buf_wipe(&u->response);
    free(u);
}

static const ab_rpc_handler handler = {
    .on_headers = on_headers, .on_message = on_message, .on_end = on_end};

static unary *new_unary(ab_rpc_done done, void *arg)
{
    unary *u = calloc(1, sizeof(*u));
    if (u == NULL)
        return NULL;
    u->done = done;
    u->arg = arg;
    ab_buf_init(&u->response, SIZE_MAX); /* the limit of a message bounds it */
    return u;
}

ab_err ab_rpc_unary(ab_rpc_client *client, const ab_rpc_begin *begin, ab_str request,
                    ab_rpc_done done, void *arg)
{
    unary *u = new_unary(done, arg);
    if (u == NULL)
        return AB_ERR_NOMEM;
    u->on_headers = begin->on_headers;
    ab_err e = ab_rpc_call_begin(client, begin, &handler, u, &u->call);
    if (e != AB_ERR_OK) {
        free(u);
        return e;
    }
    e = ab_rpc_send(u->call, request, begin->compress);
    if (e == AB_ERR_OK) {
        ab_rpc_half_close(u->call);
        return AB_ERR_OK;
    }
    u->done = NULL; /* the caller is told here */
    ab_rpc_cancel(u->call);
    return e;
}
