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

ab_auth_reason ab_auth_method_holds(ab_auth_method *m, const ab_auth_peer *peer,
                                    const ab_auth_identity *identity)
{
    ab_auth_check check = {0};
    if (m->ops->holds != NULL)
        return m->ops->holds(m, peer, identity);
    m->ops->begin(m, peer, NULL, &check);
    if (check.reason != AB_AUTH_NONE)
        return check.reason;
    return strcmp(check.agent, identity->agent) == 0 ? AB_AUTH_NONE : AB_AUTH_OTHER_AGENT;
}
