/* SPDX-License-Identifier: Apache-2.0
 *
 * Authenticate and RefreshToken: authentication takes its time, and the call waits for it.
 */
#include "transport/grpc/call.h"

static ab_rpc_status status_of(ab_err code)
{
    switch (code) {
    case AB_ERR_DENIED:
        return AB_RPC_UNAUTHENTICATED;
    case AB_ERR_FULL:
        return AB_RPC_RESOURCE_EXHAUSTED;
    case AB_ERR_CLOSED:
        return AB_RPC_UNAVAILABLE;
    default:
        return AB_RPC_INTERNAL;
    }
}

static void grant(ab_grpc_call *c, const ab_auth_grant *granted, bool login)
{
    ab_buf out = ab_buf_up_to(AB_GRPC_UNARY_MAX);
    ab_grpc_grant message = {.access = granted->access, .refresh = granted->refresh};
    if (login) {
        message.version = ab_str_of(c->grpc->settings.peer_version);
        message.namespace = ab_str_of(c->grpc->base.env.namespace);
    }
    ab_grpc_write_grant(&message, &out);
    ab_rpc_welcome(c->call, granted->identity.agent);
    if (ab_grpc_call_introduce(c) != AB_ERR_OK)
        ab_rpc_cancel(c->call);
    ab_grpc_call_reply(c, &out);
}

static void checked(ab_grpc_call *c, ab_err code, const ab_auth_grant *granted, bool login)
{
    c->checking = false;
    if (c->call != NULL && granted != NULL)
        grant(c, granted, login);
    else if (c->call != NULL)
        ab_rpc_finish(c->call, status_of(code), AB_AUTH_REFUSED);
    ab_grpc_call_free(c);
}

/* Told only to the agent itself: it has shown who it is. @return false when the call was refused */
static bool is_admitted(ab_grpc_call *c, const ab_auth_identity *who)
{
    const ab_transport_events *up = &c->grpc->base.env.events;
    ab_error why = {0};
    ab_str labels = ab_rpc_field_find(c->metadata, c->metadata_count, AB_GRPC_META_LABELS);
    if (c->call == NULL || up->admits == NULL ||
        up->admits(up->arg, who->agent, who->mode, labels, &why))
        return true;
    ab_rpc_finish(c->call, AB_RPC_PERMISSION_DENIED, why.text);
    return false;
}

static void on_login(void *arg, ab_err code, const ab_error *err, const ab_auth_grant *granted)
{
    (void)err;
    ab_grpc_call *c = arg;
    if (granted != NULL && !is_admitted(c, &granted->identity)) {
        c->checking = false;
        ab_grpc_call_free(c);
        return;
    }
    checked(c, code, granted, true);
}

static void on_refreshed(void *arg, ab_err code, const ab_error *err, const ab_auth_grant *granted)
{
    (void)err;
    checked(arg, code, granted, false);
}

static void begin_check(ab_grpc_call *c, ab_err e)
{
    c->checking = e == AB_ERR_OK;
    if (e != AB_ERR_OK)
        ab_rpc_finish(c->call, status_of(e), AB_AUTH_REFUSED);
}

static void check_login(ab_grpc_call *c, const ab_grpc_login *login)
{
    ab_auth_credential credentials[AB_GRPC_CREDENTIALS_MAX];
    for (size_t i = 0; i < login->credential_count; i++)
        credentials[i] =
            (ab_auth_credential){login->credentials[i].name, login->credentials[i].value};
    const ab_auth_peer from = ab_grpc_call_describe(c);
    const ab_auth_request request = {login->method, login->mode, credentials,
                                     login->credential_count};
    begin_check(c, ab_auth_authenticate(c->grpc->server.auth, &from, &request, on_login, c));
}

static void on_authenticate(void *arg, ab_str bytes)
{
    ab_grpc_call *c = arg;
    ab_pb_arena arena;
    ab_grpc_login login;
    if (!ab_grpc_call_is_first(c, bytes))
        return;
    if (ab_grpc_read_login(bytes, &arena, &login) == AB_ERR_OK)
        check_login(c, &login);
    else
        ab_rpc_finish(c->call, AB_RPC_INVALID_ARGUMENT, "the request is not an AuthRequest");
    ab_pb_arena_wipe(&arena);
}

static void check_refresh(ab_grpc_call *c, ab_str token)
{
    const ab_auth_peer from = ab_grpc_call_describe(c);
    begin_check(c, ab_auth_refresh(c->grpc->server.auth, &from, token, on_refreshed, c));
}

static void on_refresh(void *arg, ab_str bytes)
{
    ab_grpc_call *c = arg;
    ab_pb_arena arena;
    ab_str token;
    if (!ab_grpc_call_is_first(c, bytes))
        return;
    if (ab_grpc_read_refresh(bytes, &arena, &token) == AB_ERR_OK)
        check_refresh(c, token);
    else
        ab_rpc_finish(c->call, AB_RPC_INVALID_ARGUMENT, "the request is not a RefreshTokenRequest");
    ab_pb_arena_wipe(&arena);
}

const ab_rpc_handler ab_grpc_login_authenticate = {.on_message = on_authenticate,
                                                   .on_end = ab_grpc_call_on_end};
const ab_rpc_handler ab_grpc_login_refresh = {.on_message = on_refresh,
                                              .on_end = ab_grpc_call_on_end};
