/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/grpc/wire.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was read and is written must be read as the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_str bytes = {(const char *)data, size};
    ab_grpc_login login, again;
    ab_grpc_grant grant;
    ab_str text;
    if (ab_grpc_read_grant(bytes, &grant) != ab_grpc_read_text(bytes, &text))
        abort();
    if (ab_grpc_read_login(bytes, &login) != AB_ERR_OK)
        return 0;
    ab_buf out;
    ab_buf_init(&out, size * 2 + 64);
    ab_grpc_write_login(&login, &out);
    if (ab_buf_status(&out) != AB_ERR_OK ||
        ab_grpc_read_login(ab_buf_str(&out), &again) != AB_ERR_OK ||
        !ab_str_eq(login.method, again.method) || !ab_str_eq(login.version, again.version) ||
        login.credential_count != again.credential_count)
        abort();
    ab_buf_fini(&out);
    return 0;
}
