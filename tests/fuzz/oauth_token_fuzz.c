/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a token, and as the answer of an authorization server: what is taken has characters
 * that can be sent, and an end.
 */
#include "transport/kafka/settings/oauth_token.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(ab_err e, ab_oauth_token *t)
{
    if (e != AB_ERR_OK)
        return;
    assert(t->text[0] != '\0' && ab_str_is_printable(ab_str_of(t->text)));
    assert(strchr(t->text, ' ') == NULL && t->expires_ms > 0);
    ab_oauth_token_fini(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_error err = {0};
    ab_oauth_token t = {0};
    ab_str text = {(const char *)data, size};
    look(ab_oauth_token_read(text, &t, &err), &t);
    t = (ab_oauth_token){0};
    look(ab_oauth_token_take(text, "client", 1, &t, &err), &t);
    return 0;
}
