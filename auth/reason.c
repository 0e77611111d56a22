/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/reason.h"

static const struct {
    const char *label;
    const char *text;
} reasons[] = {
#define REASON_ROW(name, label, text) {label, text},
    AB_AUTH_REASON_TABLE(REASON_ROW)
#undef REASON_ROW
};

const char *ab_auth_reason_label(ab_auth_reason r)
{
    return reasons[r].label;
}

const char *ab_auth_reason_text(ab_auth_reason r)
{
    return reasons[r].text;
}
