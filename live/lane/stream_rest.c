/* SPDX-License-Identifier: Apache-2.0 */
#include "live/lane/stream.h"

#define PIECE_MAX (16u * 1024)

ab_err ab_live_stream_send_rest(ab_live_stream *s, ab_str bytes, size_t *sent)
{
    ab_err e = AB_ERR_OK;
    while (e == AB_ERR_OK && *sent < bytes.len) {
        size_t left = bytes.len - *sent;
        size_t len = left < PIECE_MAX ? left : PIECE_MAX;
        e = ab_live_stream_send(s, (ab_str){bytes.ptr + *sent, len});
        *sent += e == AB_ERR_OK ? len : 0;
    }
    return e;
}
