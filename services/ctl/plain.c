/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/plain.h"

bool ab_ctl_is_c1_control(const char *at, size_t len)
{
    return len >= 2 && (unsigned char)at[0] == 0xc2 && ((unsigned char)at[1] & 0xe0) == 0x80;
}

void ab_ctl_make_plain(char *text, size_t len, bool lines)
{
    for (size_t i = 0; i < len; i++) {
        bool is_control = (unsigned char)text[i] < ' ' || text[i] == 0x7f;
        if (ab_ctl_is_c1_control(text + i, len - i))
            text[i] = text[i + 1] = ' ';
        else if (is_control && !(lines && text[i] == '\n'))
            text[i] = ' ';
    }
}
