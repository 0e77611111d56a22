/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/grpc/wire.h"

#include "event/codec_protobuf.h"
#include "schema/attributes.h"
#include "schema/proto/argocd_agent.pb-c.h"

bool ab_grpc_is_extension(ab_str name)
{
    static const char *const core[] = {AB_CE_ID,         AB_CE_SOURCE,         AB_CE_SPECVERSION,
                                       AB_CE_TYPE,       AB_CE_SUBJECT,        AB_CE_TIME,
                                       AB_CE_DATASCHEMA, AB_CE_DATACONTENTTYPE};
    for (size_t i = 0; i < sizeof(core) / sizeof(core[0]); i++) {
        if (ab_str_is(name, core[i]))
            return false;
    }
    return true;
}

/* ----- out ----- */

void ab_grpc_write_login(const ab_grpc_login *login, ab_buf *out)
{
    Argocdagent__Credential credentials[AB_GRPC_CREDENTIALS_MAX];
    Argocdagent__Credential *list[AB_GRPC_CREDENTIALS_MAX];
    Argocdagent__AuthRequest m = ARGOCDAGENT__AUTH_REQUEST__INIT;
    for (size_t i = 0; i < login->credential_count; i++) {
        argocdagent__credential__init(&credentials[i]);
        credentials[i].key = ab_pb_bytes(login->credentials[i].name);
        credentials[i].value = ab_pb_bytes(login->credentials[i].value);
        list[i] = &credentials[i];
    }
    m.method = ab_pb_bytes(login->method);
    m.credentials = list;
    m.n_credentials = login->credential_count;
    m.mode = ab_pb_bytes(login->mode);
    m.version = ab_pb_bytes(login->version);
    m.agent_namespace = ab_pb_bytes(login->namespace);
    ab_pb_pack(&m.base, out);
}

void ab_grpc_write_grant(const ab_grpc_grant *grant, ab_buf *out)
{
    Argocdagent__AuthResponse m = ARGOCDAGENT__AUTH_RESPONSE__INIT;
    m.access_token = ab_pb_bytes(grant->access);
    m.refresh_token = ab_pb_bytes(grant->refresh);
    m.version = ab_pb_bytes(grant->version);
    m.principal_namespace = ab_pb_bytes(grant->namespace);
    ab_pb_pack(&m.base, out);
}

void ab_grpc_write_refresh(ab_str token, ab_buf *out)
{
    Argocdagent__RefreshTokenRequest m = ARGOCDAGENT__REFRESH_TOKEN_REQUEST__INIT;
    m.refresh_token = ab_pb_bytes(token);
    ab_pb_pack(&m.base, out);
}

void ab_grpc_write_version(ab_str version, ab_buf *out)
{
    Argocdagent__VersionResponse m = ARGOCDAGENT__VERSION_RESPONSE__INIT;
    m.version = ab_pb_bytes(version);
    ab_pb_pack(&m.base, out);
}

void ab_grpc_write_push_summary(uint32_t received, ab_buf *out)
{
    Argocdagent__PushSummary m = ARGOCDAGENT__PUSH_SUMMARY__INIT;
    m.received = received > INT32_MAX ? INT32_MAX : (int32_t)received;
    ab_pb_pack(&m.base, out);
}

void ab_grpc_write_message(Io__Cloudevents__V1__CloudEvent *event, ab_buf *out)
{
    Argocdagent__StreamEvent m = ARGOCDAGENT__STREAM_EVENT__INIT;
    m.event = event;
    ab_pb_pack(&m.base, out);
}

/* Tag and length of an event; the event's length is known only when it was written. */
#define EVENT_HEAD_MAX 11

/* Append what comes before an event of `len` bytes, of which none is read. */
static void pack_event_head(size_t len, ab_buf *out)
{
    Argocdagent__StreamEventBytes m = ARGOCDAGENT__STREAM_EVENT_BYTES__INIT;
    m.event = (ProtobufCBinaryData){.len = len, .data = (uint8_t *)&m};
    ab_pb_pack_head(&m.base, ab_pb_str(m.event), out);
}

ab_err ab_grpc_write_event(const ab_event *event, ab_buf *out, ab_str *head)
{
    ab_buf_clear(out);
    (void)ab_buf_extend(out, EVENT_HEAD_MAX);
    ab_err e = ab_event_to_protobuf_head(event, out);
    if (e != AB_ERR_OK)
        return e;
    size_t end = out->len;
    pack_event_head(end - EVENT_HEAD_MAX + ab_event_data(event).len, out);
    if (ab_buf_status(out) != AB_ERR_OK)
        return ab_buf_status(out);
    size_t len = out->len - end;
    char *begin = out->ptr + EVENT_HEAD_MAX - len;
    memcpy(begin, out->ptr + end, len);
    out->len = end;
    *head = (ab_str){begin, end - EVENT_HEAD_MAX + len};
    return AB_ERR_OK;
}

void ab_grpc_write_acks(const ab_grpc_acks *acks, ab_buf *out)
{
    Argocdagent__AckList m = ARGOCDAGENT__ACK_LIST__INIT;
    m.epoch = acks->epoch;
    m.n_versions = acks->count;
    m.versions = (uint64_t *)(uintptr_t)acks->versions;
    ab_pb_pack(&m.base, out);
}

/* ----- in ----- */

static ab_err unpack(ab_pb_arena *arena, const ProtobufCMessageDescriptor *type, ab_str bytes,
                     const ProtobufCMessage **out)
{
    ab_pb_arena_init(arena, bytes.len + AB_PB_OVERHEAD);
    return ab_pb_unpack(arena, type, bytes, out);
}

static void read_credentials(const Argocdagent__AuthRequest *m, ab_grpc_login *out)
{
    for (size_t i = 0; i < m->n_credentials; i++) {
        const Argocdagent__Credential *c = m->credentials[i];
        out->credentials[i] = (ab_grpc_credential){ab_pb_str(c->key), ab_pb_str(c->value)};
    }
    out->credential_count = m->n_credentials;
}

ab_err ab_grpc_read_login(ab_str bytes, ab_pb_arena *arena, ab_grpc_login *out)
{
    const ProtobufCMessage *base = NULL;
    *out = (ab_grpc_login){0};
    ab_err e = unpack(arena, &argocdagent__auth_request__descriptor, bytes, &base);
    const Argocdagent__AuthRequest *m = (const void *)base;
    if (e != AB_ERR_OK)
        return e;
    if (m->n_credentials > AB_GRPC_CREDENTIALS_MAX)
        return AB_ERR_TOOBIG;
    out->method = ab_pb_str(m->method);
    out->mode = ab_pb_str(m->mode);
    out->version = ab_pb_str(m->version);
    out->namespace = ab_pb_str(m->agent_namespace);
    read_credentials(m, out);
    return AB_ERR_OK;
}

ab_err ab_grpc_read_grant(ab_str bytes, ab_pb_arena *arena, ab_grpc_grant *out)
{
    const ProtobufCMessage *base = NULL;
    ab_err e = unpack(arena, &argocdagent__auth_response__descriptor, bytes, &base);
    const Argocdagent__AuthResponse *m = (const void *)base;
    if (e == AB_ERR_OK)
        *out = (ab_grpc_grant){ab_pb_str(m->access_token), ab_pb_str(m->refresh_token),
                               ab_pb_str(m->version), ab_pb_str(m->principal_namespace)};
    return e;
}

ab_err ab_grpc_read_refresh(ab_str bytes, ab_pb_arena *arena, ab_str *token)
{
    const ProtobufCMessage *base = NULL;
    ab_err e = unpack(arena, &argocdagent__refresh_token_request__descriptor, bytes, &base);
    if (e == AB_ERR_OK)
        *token = ab_pb_str(((const Argocdagent__RefreshTokenRequest *)base)->refresh_token);
    return e;
}

ab_err ab_grpc_read_version(ab_str bytes, ab_pb_arena *arena, ab_str *version)
{
    const ProtobufCMessage *base = NULL;
    ab_err e = unpack(arena, &argocdagent__version_response__descriptor, bytes, &base);
    if (e == AB_ERR_OK)
        *version = ab_pb_str(((const Argocdagent__VersionResponse *)base)->version);
    return e;
}

ab_err ab_grpc_read_acks(ab_str bytes, ab_pb_arena *arena, ab_grpc_acks *out)
{
    const ProtobufCMessage *base = NULL;
    ab_err e = unpack(arena, &argocdagent__ack_list__descriptor, bytes, &base);
    const Argocdagent__AckList *m = (const void *)base;
    if (e == AB_ERR_OK)
        *out = (ab_grpc_acks){m->epoch, m->versions, m->n_versions};
    return e;
}

static ab_err read_event(ab_pb_arena *arena, ab_str bytes, ab_event **out, ab_error *err)
{
    const ProtobufCMessage *base = NULL;
    ab_err e = ab_event_unpack(arena, &argocdagent__stream_event__descriptor, bytes, &base, err);
    const Argocdagent__StreamEvent *m = (const void *)base;
    if (e != AB_ERR_OK)
        return e;
    if (m->event == NULL)
        return ab_fail(err, AB_ERR_PARSE, "a message of the stream has no event");
    return ab_event_from_message(m->event, arena, true, out, err);
}

ab_err ab_grpc_read_event(ab_str bytes, ab_event **out, ab_error *err)
{
    ab_pb_arena arena;
    ab_err e = read_event(&arena, bytes, out, err);
    ab_pb_arena_fini(&arena);
    return e;
}
