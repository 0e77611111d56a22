/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the expression of an operator and, after the first newline, as the value of the
 * header: whoever is let in is a DNS label that stands in that value, again when asked again.
 */
#include "auth/method.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t get_value(void *arg, const char *name, ab_str *first)
{
    assert(strcmp(name, "x-peer") == 0);
    *first = *(const ab_str *)arg;
    return 1;
}

static void log_in(ab_auth_method *m, ab_str value)
{
    const ab_auth_peer peer = {
        .address = "::1", .loopback = true, .metadata = get_value, .metadata_arg = &value};
    const ab_auth_request request = {.method = AB_STR("header")};
    ab_auth_check check = {0};
    ab_auth_identity identity = {0};
    m->ops->begin(m, &peer, &request, &check);
    if (check.reason != AB_AUTH_NONE)
        return;
    ab_str agent = ab_str_of(check.agent);
    assert(ab_str_is_dns_label(agent));
    assert(memmem(value.ptr, value.len, agent.ptr, agent.len) != NULL);
    memcpy(identity.agent, check.agent, sizeof(identity.agent));
    assert(ab_auth_method_holds(m, &peer, &identity) == AB_AUTH_NONE);
}

static void with_expression(char *setting, ab_str value)
{
    const char *const set[] = {"grpc.auth.header.name=X-Peer", setting};
    const ab_config_sources sources = {.set = set, .set_count = 2};
    ab_auth_method_env env = {0};
    ab_config *config = NULL;
    ab_error err = {0};
    if (ab_config_load(&ab_auth_options, 1, &sources, &config, NULL) != AB_ERR_OK)
        return;
    env.config = config;
    ab_auth_method *m = calloc(1, ab_auth_header.size);
    assert(m != NULL);
    m->ops = &ab_auth_header;
    m->env = &env;
    if (m->ops->init(m, &err) == AB_ERR_OK)
        log_in(m, value);
    else
        assert(err.text[0] != '\0');
    m->ops->fini(m);
    free(m);
    ab_config_free(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size == 0 ? NULL : memchr(data, '\n', size);
    if (end == NULL)
        return 0;
    ab_str value = {(const char *)end + 1, (size_t)(data + size - end) - 1};
    ab_buf setting;
    ab_buf_init(&setting, 1 << 20);
    ab_buf_puts(&setting, "grpc.auth.header.identity=");
    ab_buf_put(&setting, (ab_str){(const char *)data, (size_t)(end - data)});
    if (ab_buf_status(&setting) == AB_ERR_OK)
        with_expression(setting.ptr, value);
    ab_buf_fini(&setting);
    return 0;
}
