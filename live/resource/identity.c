/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens are kept and looked up by their SHA-256 (ab_digest), so that neither the memory shows one
 * nor the time of a look-up tells how much of one was right. A file that became unreadable changes
 * nothing: the former tokens stay, and the log says so.
 */
#include "live/resource/identity.h"

#include "base/core/digest.h"
#include "base/core/file.h"
#include "base/core/map.h"
#include "base/core/text_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX    (4u * 1024 * 1024)
#define LOOK_MS     1000 /* between two looks at the file */
#define TOKEN_BYTES 16   /* at least; fewer are guessed */

struct ab_resource_identities {
    char *path; /* NULL: none */
    const ab_clock *clock;
    ab_log *log;
    ab_file_stamps stamps;
    int64_t looked_ms;
    uint64_t loads;    /* how often it was read */
    ab_map *agents;    /* by digest: agent's name (char *) */
    ab_agent_key *key; /* NULL: none */
};

/* --- the file --- */

static ab_err digest_of(ab_str token, char out[AB_DIGEST_HEX])
{
    ab_digest digest;
    ab_err e = ab_digest_of(token, &digest);
    if (e == AB_ERR_OK)
        ab_digest_format(&digest, out);
    return e;
}

static ab_err take_line(ab_map *agents, ab_str line, ab_error *err)
{
    char digest[AB_DIGEST_HEX];
    void *old = NULL;
    size_t end = 0;
    while (end < line.len && line.ptr[end] != ' ' && line.ptr[end] != '\t')
        end++;
    size_t begin = end;
    while (begin < line.len && (line.ptr[begin] == ' ' || line.ptr[begin] == '\t'))
        begin++;
    ab_str token = {line.ptr, end};
    ab_str agent = {line.ptr + begin, line.len - begin};
    if (token.len < TOKEN_BYTES || !ab_str_is_printable(token))
        return ab_fail(err, AB_ERR_CONFIG, "a token has fewer than %d printable characters",
                       TOKEN_BYTES);
    if (!ab_str_is(agent, "*") && !ab_str_is_dns_label(agent))
        return ab_fail(err, AB_ERR_CONFIG, "after the token there is no agent's name, and no *");
    char *name = ab_str_dup(agent);
    ab_err e = name == NULL ? AB_ERR_NOMEM : digest_of(token, digest);
    if (e == AB_ERR_OK)
        e = ab_map_put(agents, ab_str_of(digest), name, &old);
    if (e != AB_ERR_OK)
        free(name);
    free(old);
    return e;
}

static ab_err take_lines(ab_map *agents, ab_str text, ab_error *err)
{
    ab_text_lines lines = {.rest = text};
    ab_str line;
    while (ab_text_lines_next(&lines, &line)) {
        ab_err e = line.len == 0 || line.ptr[0] == '#' ? AB_ERR_OK : take_line(agents, line, err);
        if (e != AB_ERR_OK) {
            ab_error_prefix(err, "line %zu", lines.number);
            return e;
        }
    }
    return AB_ERR_OK;
}

static ab_err load(ab_resource_identities *ids, ab_error *err)
{
    ab_map *agents = ab_map_new();
    if (agents == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for %s", ids->path);
    ab_buf text = ab_buf_secret_up_to(FILE_MAX);
    ab_err e = ab_file_read_named(ids->path, &text, err);
    if (e == AB_ERR_OK) {
        e = take_lines(agents, ab_buf_str(&text), err);
        if (e != AB_ERR_OK)
            ab_error_prefix(err, "%s", ids->path);
    }
    ab_buf_wipe(&text);
    if (e != AB_ERR_OK) {
        ab_map_free(agents, free);
        return e;
    }
    ab_map_free(ids->agents, free);
    ids->agents = agents;
    ids->loads++;
    return AB_ERR_OK;
}

static void reload_if_changed(ab_resource_identities *ids)
{
    ab_error err = {0};
    int64_t now = ab_clock_mono_ms(ids->clock);
    if (ids->path == NULL || now - ids->looked_ms < LOOK_MS)
        return;
    ids->looked_ms = now;
    if (!ab_file_stamps_changed(&ids->stamps))
        return;
    if (load(ids, &err) == AB_ERR_OK)
        AB_INFO(ids->log, AUTH, "tokens of live access reloaded",
                AB_KV("tokens", ab_map_count(ids->agents)));
    else
        AB_WARN(ids->log, AUTH,
                "cannot read the tokens of live access; still using the previous ones",
                AB_KV("why", err.text));
}

ab_err ab_resource_identities_new(const char *path, const ab_clock *clock, ab_log *log,
                                  ab_resource_identities **out, ab_error *err)
{
    ab_resource_identities *ids = calloc(1, sizeof(*ids));
    if (ids == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for the identities of live access");
    ids->clock = clock;
    ids->log = log;
    ids->looked_ms = ab_clock_mono_ms(clock);
    ab_err e = AB_ERR_OK;
    if (path != NULL) {
        ids->path = ab_str_dup(ab_str_of(path));
        ab_file_stamps_add(&ids->stamps, ids->path);
        e = ids->path == NULL ? AB_ERR_NOMEM : load(ids, err);
    }
    if (e != AB_ERR_OK) {
        ab_resource_identities_free(ids);
        return e;
    }
    *out = ids;
    return AB_ERR_OK;
}

void ab_resource_identities_use(ab_resource_identities *ids, ab_agent_key *key)
{
    ids->key = key;
}

void ab_resource_identities_free(ab_resource_identities *ids)
{
    if (ids == NULL)
        return;
    ab_map_free(ids->agents, free);
    ab_agent_key_free(ids->key);
    free(ids->path);
    free(ids);
}

/* --- who asks --- */

/* The credentials after "Bearer ", whose name is read without regard to case (RFC 9110 11.1). */
static ab_str bearer_of(ab_str authorization)
{
    if (authorization.len <= 7 || strncasecmp(authorization.ptr, "Bearer ", 7) != 0)
        return AB_STR_NONE;
    return (ab_str){authorization.ptr + 7, authorization.len - 7};
}

/* In the file of tokens, else made with the key. @return absent: neither */
static ab_str agent_of(const ab_resource_identities *ids, ab_str token)
{
    char digest[AB_DIGEST_HEX];
    const char *found = NULL;
    if (token.ptr == NULL)
        return AB_STR_NONE;
    if (ids->agents != NULL && digest_of(token, digest) == AB_ERR_OK)
        found = ab_map_find(ids->agents, ab_str_of(digest));
    if (found != NULL)
        return ab_str_of(found);
    return ids->key == NULL ? AB_STR_NONE : ab_agent_key_find(ids->key, token);
}

void ab_resource_identities_find(ab_resource_identities *ids, ab_str authorization,
                                 const char *common_name, char agent[AB_RESOURCE_AGENT_MAX])
{
    ab_str found = AB_STR_NONE;
    agent[0] = '\0';
    reload_if_changed(ids);
    if (authorization.ptr != NULL) {
        found = agent_of(ids, bearer_of(authorization));
    } else if (ab_str_is_dns_label(ab_str_of(common_name))) {
        found = ab_str_of(common_name);
    }
    if (found.ptr != NULL)
        (void)snprintf(agent, AB_RESOURCE_AGENT_MAX, "%.*s", AB_STR_ARG(found));
}

/* --- while a request is open --- */

#define AUTHORIZATION_MAX (32u * 1024)

/* Another one when tokens have come or gone. */
static uint64_t version_of(ab_resource_identities *ids)
{
    reload_if_changed(ids);
    return ids->loads + (ids->key == NULL ? 0 : ab_agent_key_refresh(ids->key));
}

void ab_resource_grant_take(ab_resource_grant *g, ab_resource_identities *ids, ab_str authorization,
                            const char *agent)
{
    if (authorization.ptr == NULL)
        return;
    g->ids = ids;
    g->version = version_of(ids);
    ab_buf_init_secret(&g->authorization, AUTHORIZATION_MAX);
    ab_buf_put(&g->authorization, authorization);
    (void)snprintf(g->agent, sizeof(g->agent), "%s", agent);
}

bool ab_resource_grant_holds(ab_resource_grant *g)
{
    char agent[AB_RESOURCE_AGENT_MAX];
    if (g->ids == NULL || g->version == version_of(g->ids))
        return true;
    g->version = version_of(g->ids);
    ab_resource_identities_find(g->ids, ab_buf_str(&g->authorization), "", agent);
    return strcmp(agent, g->agent) == 0;
}

void ab_resource_grant_fini(ab_resource_grant *g)
{
    ab_buf_wipe(&g->authorization);
    *g = (ab_resource_grant){0};
}
