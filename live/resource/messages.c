/* SPDX-License-Identifier: Apache-2.0
 *
 * What was taken is moved out when half of what is held has been, so that a byte moves once.
 */
#include "live/resource/messages.h"

#include <assert.h>

/* What the other end may send ahead (a window of the stream), and a message that is not whole. */
#define WAITING_MAX (8u * 1024 * 1024)

void ab_resource_messages_init(ab_resource_messages *m)
{
    m->taken = 0;
    ab_buf_init_secret(&m->bytes, WAITING_MAX);
}

void ab_resource_messages_fini(ab_resource_messages *m)
{
    ab_buf_fini(&m->bytes);
}

ab_err ab_resource_messages_feed(ab_resource_messages *m, ab_str bytes)
{
    ab_buf_put(&m->bytes, bytes);
    return ab_buf_status(&m->bytes);
}

ab_err ab_resource_messages_next(const ab_resource_messages *m, ab_str *out)
{
    size_t held = m->bytes.len - m->taken;
    *out = AB_STR_NONE;
    if (held < AB_RESOURCE_MESSAGE_HEAD)
        return AB_ERR_OK;
    const unsigned char *head = (const unsigned char *)m->bytes.ptr + m->taken;
    size_t len = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
    if (len > AB_RESOURCE_MESSAGE_MAX)
        return AB_ERR_TOOBIG;
    if (held - AB_RESOURCE_MESSAGE_HEAD >= len)
        *out = (ab_str){m->bytes.ptr + m->taken + AB_RESOURCE_MESSAGE_HEAD, len};
    return AB_ERR_OK;
}

void ab_resource_messages_drop(ab_resource_messages *m, ab_str message)
{
    assert(m->bytes.len - m->taken >= AB_RESOURCE_MESSAGE_HEAD + message.len);
    m->taken += AB_RESOURCE_MESSAGE_HEAD + message.len;
    size_t left = m->bytes.len - m->taken;
    if (left > m->taken)
        return;
    memcpy(m->bytes.ptr, m->bytes.ptr + m->taken, left);
    m->bytes.ptr[left] = '\0';
    m->bytes.len = left;
    m->taken = 0;
}

void ab_resource_messages_put(ab_buf *out, ab_str message)
{
    assert(message.len <= AB_RESOURCE_MESSAGE_MAX);
    for (int shift = 24; shift >= 0; shift -= 8)
        ab_buf_putc(out, (char)(message.len >> shift & 0xff));
    ab_buf_put(out, message);
}
