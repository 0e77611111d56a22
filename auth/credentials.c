/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's side: what to log in with.
 */
#include "auth/auth.h"

#include "auth/file.h"
#include "base/core/text_lines.h"

static ab_err take_line(ab_auth_login *l, const char *path, ab_error *err)
{
    ab_text_lines lines = {.rest = ab_buf_str(&l->secret)};
    ab_str password = AB_STR_NONE;
    (void)ab_text_lines_next(&lines, &password);
    ab_str user = ab_str_cut(&password, ':');
    if (password.ptr == NULL)
        return ab_fail(err, AB_ERR_CONFIG,
                       "grpc.auth.userpass.file: %s: expected user:password in the first line",
                       path);
    l->credentials[0] = (ab_auth_credential){AB_STR("clientid"), user};
    l->credentials[1] = (ab_auth_credential){AB_STR("clientsecret"), password};
    l->credential_count = 2;
    return AB_ERR_OK;
}

ab_err ab_auth_login_open(const ab_config *config, ab_auth_login *out, ab_error *err)
{
    const char *path = ab_config_str(config, "grpc.auth.userpass.file");
    *out = (ab_auth_login){.method = ab_str_of(ab_config_str(config, "grpc.auth.method"))};
    ab_buf_init_secret(&out->secret, 64 * 1024);
    if (!ab_str_is(out->method, "userpass"))
        return AB_ERR_OK;
    if (path == NULL || path[0] == '\0')
        return ab_fail(
            err, AB_ERR_CONFIG,
            "grpc.auth.userpass.file is not set: give the file with this agent's user:password");
    ab_err e = ab_file_read(path, &out->secret, NULL, err);
    if (e == AB_ERR_OK)
        return take_line(out, path, err);
    ab_error_prefix(err, "grpc.auth.userpass.file");
    return e == AB_ERR_NOMEM ? e : AB_ERR_CONFIG;
}

void ab_auth_login_fini(ab_auth_login *l)
{
    ab_buf_wipe(&l->secret);
    *l = (ab_auth_login){0};
}
