/* SPDX-License-Identifier: Apache-2.0 */
#include "live/redis/spoke/spoke_priv.h"

#define REASON_MAX 256

bool ab_redis_spoke_refuse(ab_live_stream *s, int status, ab_str reason)
{
    char text[REASON_MAX];
    size_t len = reason.len < sizeof(text) ? reason.len : sizeof(text);
    for (size_t i = 0; i < len; i++)
        text[i] = reason.ptr[i] >= ' ' && reason.ptr[i] <= '~' ? reason.ptr[i] : '?';
    ab_http_field field = {AB_STR("argobus-error"), {text, len}};
    if (ab_live_stream_answer(s, status, &field, len > 0) == AB_ERR_OK) {
        ab_live_stream_end(s);
        return true;
    }
    ab_live_stream_cancel(s);
    return false;
}
