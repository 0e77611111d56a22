/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/grpc/wire.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads each message that bytes may be; what was read and is written must be read as the same. */
static void check_login(ab_str bytes, const ab_grpc_login *login)
{
    ab_buf out;
    ab_pb_arena arena;
    ab_grpc_login again;
    ab_buf_init(&out, bytes.len * 2 + 64);
    ab_grpc_write_login(login, &out);
    if (ab_buf_status(&out) != AB_ERR_OK ||
        ab_grpc_read_login(ab_buf_str(&out), &arena, &again) != AB_ERR_OK ||
        !ab_str_eq(login->method, again.method) || !ab_str_eq(login->version, again.version) ||
        login->credential_count != again.credential_count)
        abort();
    ab_pb_arena_wipe(&arena);
    ab_buf_fini(&out);
}

static void check_texts(ab_str bytes)
{
    ab_pb_arena arena;
    ab_grpc_grant grant;
    ab_str text;
    if (ab_grpc_read_grant(bytes, &arena, &grant) == AB_ERR_OK && grant.access.ptr == NULL)
        abort();
    ab_pb_arena_wipe(&arena);
    if (ab_grpc_read_refresh(bytes, &arena, &text) == AB_ERR_OK && text.ptr == NULL)
        abort();
    ab_pb_arena_wipe(&arena);
    if (ab_grpc_read_version(bytes, &arena, &text) == AB_ERR_OK && text.ptr == NULL)
        abort();
    ab_pb_arena_fini(&arena);
}

static void check_acks(ab_str bytes)
{
    ab_pb_arena arena;
    ab_grpc_acks acks;
    if (ab_grpc_read_acks(bytes, &arena, &acks) == AB_ERR_OK && acks.count > bytes.len)
        abort();
    ab_pb_arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_str bytes = {(const char *)data, size};
    ab_pb_arena arena;
    ab_grpc_login login;
    ab_event *event = NULL;
    check_texts(bytes);
    check_acks(bytes);
    if (ab_grpc_read_event(bytes, &event, NULL) == AB_ERR_OK)
        ab_event_unref(event);
    if (ab_grpc_read_login(bytes, &arena, &login) == AB_ERR_OK)
        check_login(bytes, &login);
    ab_pb_arena_wipe(&arena);
    return 0;
}
