/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/served.h"

#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX ((size_t)1 << 20)

static void put(ab_served *s, ab_str agent)
{
    if (ab_map_put(s->agents, agent, s, NULL) != AB_ERR_OK)
        AB_ERROR(s->log, MAIN, "out of memory", AB_KV("agent", agent));
}

static void parse(ab_served *s, ab_str text)
{
    bool first = true;
    while (text.len > 0) {
        const char *end = memchr(text.ptr, '\n', text.len);
        ab_str line = {text.ptr, end == NULL ? text.len : (size_t)(end - text.ptr)};
        if (first && line.len < sizeof(s->principal))
            snprintf(s->principal, sizeof(s->principal), "%.*s", AB_STR_ARG(line));
        else if (!first && ab_str_is_dns_label(line))
            put(s, line);
        first = false;
        size_t used = line.len + (end != NULL);
        text = (ab_str){text.ptr + used, text.len - used};
    }
}

static ab_err read_all(int fd, ab_buf *out)
{
    char part[4096];
    ssize_t n;
    while ((n = read(fd, part, sizeof(part))) > 0)
        ab_buf_put(out, (ab_str){part, (size_t)n});
    return n < 0 ? AB_ERR_IO : ab_buf_status(out);
}

ab_err ab_served_init(ab_served *s, const char *path, ab_log *log, ab_error *err)
{
    s->log = log;
    s->path = strdup(path);
    s->agents = ab_map_new();
    if (s->path == NULL || s->agents == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return AB_ERR_OK;
    if (fd < 0)
        return ab_fail_errno(err, AB_ERR_IO, errno, "%s", path);
    ab_buf text;
    ab_buf_init(&text, FILE_MAX);
    ab_err e = read_all(fd, &text);
    close(fd);
    if (e == AB_ERR_OK)
        parse(s, ab_buf_str(&text));
    else
        (void)ab_fail(err, e, "%s: %s", path, ab_err_text(e));
    ab_buf_fini(&text);
    return e;
}

void ab_served_fini(ab_served *s)
{
    ab_map_free(s->agents, NULL);
    free(s->path);
    *s = (ab_served){0};
}

void ab_served_add(ab_served *s, const char *agent)
{
    if (ab_map_find(s->agents, ab_str_of(agent)) != NULL)
        return;
    put(s, ab_str_of(agent));
    s->dirty = true;
}

void ab_served_drop(ab_served *s, const char *agent)
{
    s->dirty = ab_map_take(s->agents, ab_str_of(agent)) != NULL || s->dirty;
}

bool ab_served_claim(ab_served *s, const char *principal)
{
    bool same = strcmp(s->principal, principal) == 0;
    bool ours = same || s->principal[0] == '\0';
    ab_map *none = ours ? NULL : ab_map_new();
    if (none != NULL) {
        ab_map_free(s->agents, NULL);
        s->agents = none;
    }
    snprintf(s->principal, sizeof(s->principal), "%s", principal);
    s->dirty = s->dirty || !same;
    return ours;
}

static void write_text(const ab_served *s, ab_buf *out)
{
    ab_buf_printf(out, "%s\n", s->principal);
    for (ab_map_iter i = ab_map_first(s->agents); i.entry != NULL; ab_map_next(&i))
        ab_buf_printf(out, "%.*s\n", AB_STR_ARG(i.key));
}

/* Beside it, then in its place: after a crash it is the one or the other. */
static ab_err replace(const char *path, ab_str text, ab_error *err)
{
    char beside[4096];
    int n = snprintf(beside, sizeof(beside), "%s.new", path);
    if (n < 0 || (size_t)n >= sizeof(beside))
        return ab_fail(err, AB_ERR_IO, "%s: the path is too long", path);
    int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return ab_fail_errno(err, AB_ERR_IO, errno, "%s", beside);
    bool written = write(fd, text.ptr, text.len) == (ssize_t)text.len && fsync(fd) == 0;
    int code = written ? 0 : errno;
    close(fd);
    if (!written || rename(beside, path) != 0)
        return ab_fail_errno(err, AB_ERR_IO, written ? errno : code, "%s", beside);
    return AB_ERR_OK;
}

void ab_served_save(ab_served *s)
{
    ab_error err = {0};
    ab_buf text;
    if (!s->dirty || s->principal[0] == '\0')
        return;
    ab_buf_init(&text, FILE_MAX);
    write_text(s, &text);
    ab_err e = ab_buf_status(&text);
    if (e == AB_ERR_OK)
        e = replace(s->path, ab_buf_str(&text), &err);
    ab_buf_fini(&text);
    s->dirty = e != AB_ERR_OK;
    if (s->dirty)
        AB_ERROR(s->log, MAIN, "cannot remember which agents are served",
                 AB_KV("why", err.text[0] == '\0' ? ab_err_text(e) : (const char *)err.text));
}
