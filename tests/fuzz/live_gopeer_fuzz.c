/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the data of an argocd-agent's event of live access, and as a message of a side call.
 */
#include "live/gopeer/wire/side.h"
#include "live/gopeer/wire/wire.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_asked(ab_str text)
{
    ab_error err = {0};
    ab_gopeer_asked asked;
    ab_gopeer_redis_asked redis;
    ab_err e = ab_gopeer_wire_read_asked(text, &asked, &err);
    assert(e != AB_ERR_OK || (asked.target.len > 0 && asked.target.ptr[0] == '/'));
    ab_gopeer_wire_free_asked(&asked);
    e = ab_gopeer_wire_read_redis_asked(text, &redis, &err);
    assert(e != AB_ERR_OK || redis.what <= AB_GOPEER_REDIS_PING);
}

static void read_side_requests(ab_str text)
{
    ab_error err = {0};
    bool tty = false;
    uint32_t cols = 0, rows = 0;
    ab_buf target;
    ab_buf_init(&target, 64u * 1024);
    ab_err e = ab_gopeer_wire_read_logs(text, &target, &err);
    assert(e != AB_ERR_OK || (target.len > 0 && target.ptr[0] == '/'));
    ab_buf_clear(&target);
    e = ab_gopeer_wire_read_terminal(text, &target, &tty, &err);
    assert(e != AB_ERR_OK || (target.len > 0 && target.ptr[0] == '/'));
    e = ab_gopeer_wire_read_size(text, &cols, &rows);
    assert(e != AB_ERR_OK || (cols <= UINT16_MAX && rows <= UINT16_MAX));
    ab_buf_fini(&target);
}

/* What was read is read again from what is written of it. */
static void read_side(ab_side_kind kind, ab_str bytes)
{
    ab_pb_arena arena, again;
    ab_gopeer_side_message m, same;
    ab_buf out;
    ab_buf_init(&out, 2u * AB_GOPEER_SIDE_MAX);
    ab_err e = ab_gopeer_wire_read_side(kind, bytes, &arena, &m);
    if (e == AB_ERR_OK) {
        ab_gopeer_wire_put_side(kind, &m, &out);
        e = ab_gopeer_wire_read_side(kind, ab_buf_str(&out), &again, &same);
        assert(e == AB_ERR_OK && ab_str_eq(m.uuid, same.uuid) && ab_str_eq(m.data, same.data) &&
               ab_str_eq(m.error, same.error) && m.eof == same.eof && m.rows == same.rows);
        ab_pb_arena_fini(&again);
    }
    ab_pb_arena_fini(&arena);
    ab_buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_str text = size == 0 ? AB_STR("") : (ab_str){(const char *)data, size};
    ab_error err = {0};
    int status = 0;
    ab_buf resource;
    ab_buf_init(&resource, 1024u * 1024);
    ab_err e = ab_gopeer_wire_read_response(text, &status, &resource, &err);
    assert(e != AB_ERR_OK || (status >= 200 && status <= 599));
    ab_buf_clear(&resource);
    ab_gopeer_redis_response said;
    e = ab_gopeer_wire_read_redis(text, &said, &resource, &err);
    assert(e != AB_ERR_OK || said.what <= AB_GOPEER_REDIS_MESSAGE);
    ab_buf_fini(&resource);
    read_asked(text);
    read_side_requests(text);
    read_side(AB_SIDE_LOGS, text);
    read_side(AB_SIDE_TERMINAL, text);
    return 0;
}
