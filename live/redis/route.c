/* SPDX-License-Identifier: Apache-2.0 */
#include "live/redis/route.h"

static const char *const families[] = {"app|managed-resources|", "app|resources-tree|"};

/* NAMESPACE_APP or APP. */
static bool split_name(ab_str name, ab_redis_key *out)
{
    ab_str app = name;
    ab_str space = ab_str_cut(&app, '_');
    bool spaced = app.ptr != NULL;
    out->name = name;
    out->space = spaced ? space : AB_STR_NONE;
    out->app = spaced ? app : name;
    return ab_str_is_dns_subdomain(out->app) && (!spaced || ab_str_is_dns_label(space));
}

bool ab_redis_key_parse(ab_str key, ab_redis_key *out)
{
    if (key.ptr == NULL || key.len > AB_REDIS_KEY_MAX)
        return false;
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        ab_str tail = ab_str_after(key, families[i]);
        if (tail.ptr == NULL)
            continue;
        const char *bar = memchr(tail.ptr, '|', tail.len);
        if (bar == NULL)
            return false;
        size_t len = (size_t)(bar - tail.ptr);
        out->family = (ab_str){key.ptr, key.len - tail.len};
        out->rest = ab_str_skip(tail, len);
        return split_name((ab_str){tail.ptr, len}, out);
    }
    return false;
}

bool ab_redis_route_is_pattern(ab_str pattern)
{
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        if (ab_str_starts(pattern, families[i]))
            return true;
    }
    return ab_str_is(pattern, "app|*");
}

ab_str ab_redis_route_find(const ab_redis_agents *agents, ab_str key)
{
    ab_redis_key k;
    if (!ab_redis_key_parse(key, &k))
        return AB_STR_NONE;
    if (agents->agent_of_app != NULL)
        return agents->agent_of_app(agents->arg, k.space, k.app);
    return k.space.ptr == NULL ? AB_STR_NONE : agents->agent_of_namespace(agents->arg, k.space);
}

void ab_redis_route_put_key(const ab_redis_agents *agents, ab_str key, ab_buf *out)
{
    ab_redis_key k;
    if (agents->agent_of_app != NULL || !ab_redis_key_parse(key, &k)) {
        ab_buf_put(out, key);
        return;
    }
    ab_buf_put(out, k.family);
    ab_buf_put(out, k.app);
    ab_buf_put(out, k.rest);
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
}

void ab_redis_route_put_path(const ab_redis_agents *agents, ab_str key, ab_buf *out)
{
    ab_buf name = ab_buf_up_to(AB_REDIS_KEY_MAX);
    ab_redis_route_put_key(agents, key, &name);
    ab_buf_putc(out, '/');
    for (size_t i = 0; i < name.len; i++) {
        if (is_plain(name.ptr[i]))
            ab_buf_putc(out, name.ptr[i]);
        else
            ab_buf_printf(out, "%%%02X", (unsigned)(unsigned char)name.ptr[i]);
    }
    ab_buf_fini(&name);
}

static int hex_of(char c)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *at = c == '\0' ? NULL : strchr(digits, c);
    return at == NULL ? -1 : (int)(at - digits);
}

/* @return bytes of the path that were read; 0: not well-formed */
static size_t read_byte(ab_str path, ab_buf *out)
{
    if (is_plain(path.ptr[0])) {
        ab_buf_putc(out, path.ptr[0]);
        return 1;
    }
    if (path.ptr[0] != '%' || path.len < 3 || hex_of(path.ptr[1]) < 0 || hex_of(path.ptr[2]) < 0)
        return 0;
    ab_buf_putc(out, (char)(hex_of(path.ptr[1]) * 16 + hex_of(path.ptr[2])));
    return 3;
}

ab_err ab_redis_route_read_path(ab_str path, ab_buf *out)
{
    ab_redis_key key;
    size_t start = out->len;
    if (path.len == 0 || path.ptr[0] != '/')
        return AB_ERR_PARSE;
    for (size_t at = 1; at < path.len;) {
        size_t n = read_byte(ab_str_skip(path, at), out);
        if (n == 0)
            return AB_ERR_PARSE;
        at += n;
    }
    if (ab_buf_status(out) != AB_ERR_OK)
        return ab_buf_status(out);
    return ab_redis_key_parse(ab_str_skip(ab_buf_str(out), start), &key) ? AB_ERR_OK : AB_ERR_PARSE;
}
