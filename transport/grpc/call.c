/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/grpc/call.h"

#include <stdlib.h>
#include <string.h>

void ab_grpc_call_free(ab_grpc_call *c)
{
    if (c->call != NULL || c->checking)
        return;
    TAILQ_REMOVE(&c->grpc->server.calls, c, at);
    if (c->link != NULL)
        ab_grpc_link_leave(c->link);
    free(c->texts);
    free(c->metadata);
    free(c);
}

void ab_grpc_call_join(ab_grpc_call *c, ab_grpc_link *l)
{
    c->link = l;
    ab_grpc_link_use(l);
}

static bool copy_metadata(ab_grpc_call *c, const ab_rpc_request *request)
{
    size_t bytes = 0;
    for (size_t i = 0; i < request->metadata_count; i++)
        bytes += request->metadata[i].name.len + request->metadata[i].value.len;
    c->texts = malloc(bytes + 1);
    c->metadata = calloc(request->metadata_count + 1, sizeof(*c->metadata));
    if (c->texts == NULL || c->metadata == NULL)
        return false;
    char *to = c->texts;
    for (size_t i = 0; i < request->metadata_count; i++) {
        ab_rpc_field from = request->metadata[i];
        c->metadata[i].name = (ab_str){to, from.name.len};
        c->metadata[i].value = (ab_str){to + from.name.len, from.value.len};
        memcpy(to, from.name.ptr, from.name.len);
        to += from.name.len;
        if (from.value.len > 0)
            memcpy(to, from.value.ptr, from.value.len);
        to += from.value.len;
    }
    c->metadata_count = request->metadata_count;
    return true;
}

ab_grpc_call *ab_grpc_call_accept(ab_grpc *g, ab_rpc_call *call, const ab_rpc_request *request,
                                  const ab_rpc_handler *handler)
{
    ab_grpc_call *c = calloc(1, sizeof(*c));
    if (c == NULL || !copy_metadata(c, request)) {
        if (c != NULL) {
            free(c->texts);
            free(c->metadata);
        }
        free(c);
        ab_rpc_finish(call, AB_RPC_RESOURCE_EXHAUSTED, "out of memory");
        return NULL;
    }
    c->grpc = g;
    c->call = call;
    c->peer = request->peer;
    TAILQ_INSERT_TAIL(&g->server.calls, c, at);
    ab_rpc_accept(call, handler, c);
    return c;
}

void ab_grpc_call_on_end(void *arg, ab_rpc_status status, ab_str text)
{
    (void)status;
    (void)text;
    ab_grpc_call *c = arg;
    c->call = NULL;
    ab_grpc_call_free(c);
}

static size_t find_metadata(void *arg, const char *name, ab_str *first)
{
    const ab_grpc_call *c = arg;
    size_t found = 0;
    for (size_t i = 0; i < c->metadata_count; i++) {
        if (!ab_str_is(c->metadata[i].name, name))
            continue;
        if (found++ == 0)
            *first = c->metadata[i].value;
    }
    return found;
}

ab_auth_peer ab_grpc_call_describe(ab_grpc_call *c)
{
    return (ab_auth_peer){.address = c->peer->address,
                          .loopback = c->peer->loopback,
                          .certificate = c->peer->certificate,
                          .metadata = find_metadata,
                          .metadata_arg = c};
}

bool ab_grpc_call_verify(ab_grpc_call *c)
{
    ab_str token = AB_STR_NONE;
    (void)find_metadata(c, AB_GRPC_META_TOKEN, &token);
    const ab_auth_peer from = ab_grpc_call_describe(c);
    ab_err e = ab_auth_verify(c->grpc->server.auth, &from, token, &c->identity, NULL);
    if (e == AB_ERR_OK)
        ab_rpc_welcome(c->call, c->identity.agent);
    else
        ab_rpc_finish(c->call, AB_RPC_UNAUTHENTICATED, AB_AUTH_REFUSED);
    return e == AB_ERR_OK;
}

bool ab_grpc_call_is_first(ab_grpc_call *c, ab_str bytes)
{
    bool first = !c->asked;
    c->asked = true;
    if (first && bytes.len > AB_GRPC_UNARY_MAX) {
        ab_rpc_finish(c->call, AB_RPC_INVALID_ARGUMENT, "the request is too large");
        return false;
    }
    return first;
}

ab_err ab_grpc_call_introduce(const ab_grpc_call *c)
{
    const ab_rpc_field own = {AB_STR(AB_GRPC_META_VERSION), AB_STR(AB_VERSION)};
    return ab_rpc_respond(c->call, &own, 1);
}

void ab_grpc_call_reply(const ab_grpc_call *c, ab_buf *response)
{
    if (ab_buf_status(response) == AB_ERR_OK)
        ab_rpc_reply(c->call, ab_buf_str(response), false);
    else
        ab_rpc_finish(c->call, AB_RPC_INTERNAL, "the response is too large");
    ab_buf_wipe(response);
}
