/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/method.h"

void ab_auth_check_captured(ab_auth_check *check, ab_str captured, ab_auth_reason none)
{
    check->reason = captured.ptr == NULL             ? none
                    : !ab_str_is_dns_label(captured) ? AB_AUTH_NAME
                                                     : AB_AUTH_NONE;
    if (check->reason == AB_AUTH_NONE)
        memcpy(check->agent, captured.ptr, captured.len); /* a label: at most 63, the rest zero */
}
