/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the messages of a terminal, in pieces of as many bytes as the first byte says: what
 * comes out, put together again, is what went in.
 */
#include "live/resource/messages.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool take_all(ab_resource_messages *m, ab_buf *back)
{
    ab_str message;
    ab_err e = ab_resource_messages_next(m, &message);
    while (e == AB_ERR_OK && message.ptr != NULL) {
        ab_resource_messages_put(back, message);
        ab_resource_messages_drop(m, message);
        e = ab_resource_messages_next(m, &message);
    }
    return e == AB_ERR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t step = size == 0 ? 1 : 1u + data[0];
    ab_str rest = size == 0 ? AB_STR("") : (ab_str){(const char *)data + 1, size - 1};
    const char *begin = rest.ptr;
    ab_resource_messages m;
    ab_buf back;
    ab_buf_init(&back, 16u * 1024 * 1024);
    ab_resource_messages_init(&m);
    bool good = true;
    while (good && rest.len > 0) {
        size_t len = rest.len < step ? rest.len : step;
        good = ab_resource_messages_feed(&m, (ab_str){rest.ptr, len}) == AB_ERR_OK &&
               take_all(&m, &back);
        rest = (ab_str){rest.ptr + len, rest.len - len};
    }
    assert(ab_buf_status(&back) == AB_ERR_OK);
    assert(back.len == 0 || memcmp(back.ptr, begin, back.len) == 0);
    ab_resource_messages_fini(&m);
    ab_buf_fini(&back);
    return 0;
}
