/* SPDX-License-Identifier: Apache-2.0 */
#include "base/observe/log_quota.h"

#define INTERVAL_MS 60000

bool ab_log_quota_pass(ab_log_quota *q, int64_t now_ms)
{
    if (now_ms >= q->until_ms) {
        q->until_ms = now_ms + INTERVAL_MS;
        q->lines = 0;
    }
    if (q->lines >= AB_LOG_QUOTA_LINES) {
        q->held++;
        return false;
    }
    q->held_back = q->held;
    q->held = 0;
    q->lines++;
    return true;
}
