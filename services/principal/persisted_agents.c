/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/persisted_agents.h"

#include "base/core/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)1 << 20)

static void put(ab_persisted_agents *s, ab_str agent)
{
    if (ab_map_put(s->agents, agent, s, NULL) != AB_ERR_OK)
        AB_ERROR(s->log, MAIN, "out of memory", AB_KV("agent", agent));
}

static void parse(ab_persisted_agents *s, ab_str text)
{
    bool first = true;
    while (text.len > 0) {
        ab_str line = ab_str_cut(&text, '\n');
        if (first && line.len < sizeof(s->principal))
            snprintf(s->principal, sizeof(s->principal), "%.*s", AB_STR_ARG(line));
        else if (!first && ab_str_is_dns_label(line))
            put(s, line);
        first = false;
    }
}

ab_err ab_persisted_agents_init(ab_persisted_agents *s, uv_loop_t *loop, const char *path,
                                ab_log *log, ab_error *err)
{
    s->loop = loop;
    s->log = log;
    s->path = strdup(path);
    s->agents = ab_map_new();
    if (s->path == NULL || s->agents == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    ab_buf text = ab_buf_up_to(FILE_MAX);
    ab_err e = ab_file_read(path, &text, NULL, err);
    if (e == AB_ERR_OK)
        parse(s, ab_buf_str(&text));
    ab_buf_fini(&text);
    s->former = ab_map_count(s->agents);
    return e == AB_ERR_NOTFOUND ? AB_ERR_OK : e;
}

void ab_persisted_agents_add(ab_persisted_agents *s, const char *agent)
{
    if (ab_map_find(s->agents, ab_str_of(agent)) != NULL)
        return;
    put(s, ab_str_of(agent));
    s->dirty = true;
}

void ab_persisted_agents_drop(ab_persisted_agents *s, const char *agent)
{
    s->dirty = ab_map_take(s->agents, ab_str_of(agent)) != NULL || s->dirty;
}

bool ab_persisted_agents_assign(ab_persisted_agents *s, const char *principal)
{
    bool same = strcmp(s->principal, principal) == 0;
    bool ours = same || s->principal[0] == '\0';
    ab_map *none = ours ? NULL : ab_map_new();
    if (none != NULL) {
        ab_map_free(s->agents, NULL);
        s->agents = none;
        s->former = 0;
    }
    snprintf(s->principal, sizeof(s->principal), "%s", principal);
    s->dirty = s->dirty || !same;
    return ours;
}

static void write_text(const ab_persisted_agents *s, ab_buf *out)
{
    ab_buf_printf(out, "%s\n", s->principal);
    for (ab_map_iter i = ab_map_first(s->agents); i.entry != NULL; ab_map_next(&i))
        ab_buf_printf(out, "%.*s\n", AB_STR_ARG(i.key));
}

/* The worker has a text of its own: the loop thread goes on changing the set. */
struct ab_persisted_agents_write {
    uv_work_t work;
    ab_persisted_agents *persisted;
    ab_buf text;
    ab_err code;
    ab_error err;
};

static void write_free(struct ab_persisted_agents_write *w)
{
    ab_buf_fini(&w->text);
    free(w);
}

static void run_write(uv_work_t *work)
{
    struct ab_persisted_agents_write *w = work->data;
    w->code = ab_file_replace(w->persisted->path, ab_buf_str(&w->text), &w->err);
}

static void fail(ab_persisted_agents *s, ab_err code, const ab_error *err)
{
    s->dirty = true;
    AB_ERROR(s->log, MAIN, "cannot remember which agents are served",
             AB_KV("why", err->text[0] == '\0' ? ab_err_text(code) : (const char *)err->text));
}

static void after_write(uv_work_t *work, int status)
{
    struct ab_persisted_agents_write *w = work->data;
    ab_persisted_agents *s = w->persisted;
    (void)status; /* never cancelled */
    s->write = NULL;
    if (w->code != AB_ERR_OK)
        fail(s, w->code, &w->err);
    write_free(w);
}

void ab_persisted_agents_save(ab_persisted_agents *s)
{
    if (!s->dirty || s->write != NULL || s->principal[0] == '\0')
        return;
    struct ab_persisted_agents_write *w = calloc(1, sizeof(*w));
    if (w == NULL) {
        fail(s, AB_ERR_NOMEM, &(ab_error){0});
        return;
    }
    *w = (struct ab_persisted_agents_write){.persisted = s, .work.data = w};
    ab_buf_init(&w->text, FILE_MAX);
    write_text(s, &w->text);
    ab_err e = ab_buf_status(&w->text);
    if (e == AB_ERR_OK && uv_queue_work(s->loop, &w->work, run_write, after_write) != 0)
        e = AB_ERR_NOMEM;
    s->dirty = false;
    if (e == AB_ERR_OK) {
        s->write = w;
        return;
    }
    fail(s, e, &w->err);
    write_free(w);
}

static void wait_for_write(const ab_persisted_agents *s)
{
    while (s->write != NULL)
        (void)uv_run(s->loop, UV_RUN_ONCE);
}

void ab_persisted_agents_fini(ab_persisted_agents *s)
{
    if (s->agents != NULL) {
        wait_for_write(s);
        ab_persisted_agents_save(s);
        wait_for_write(s);
    }
    ab_map_free(s->agents, NULL);
    free(s->path);
    *s = (ab_persisted_agents){0};
}
