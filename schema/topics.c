/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/topics.h"

#include "base/core/buf.h"

#include <stdio.h>
#include <string.h>

static bool is_legal(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

static bool is_legal_prefix(const char *prefix)
{
    const char *c = prefix;
    while (is_legal(*c))
        c++;
    return c != prefix && *c == '\0';
}

/** Keep the name only when it was not cut. */
static bool fits(int written, char out[AB_TOPIC_NAME_MAX])
{
    if (written > 0 && written < AB_TOPIC_NAME_MAX)
        return true;
    out[0] = '\0';
    return false;
}

bool ab_topic_format(const char *prefix, ab_direction direction, const char *agent, bool live,
                     char out[AB_TOPIC_NAME_MAX])
{
    out[0] = '\0';
    if (!is_legal_prefix(prefix) || !ab_str_is_dns_label(ab_str_of(agent)))
        return false;
    int n = snprintf(out, AB_TOPIC_NAME_MAX, "%s.%s.%s.%s", prefix,
                     direction == AB_DOWN ? "down" : "up", agent, live ? "live" : "state");
    return fits(n, out);
}

/** Move past `word` when `*at` begins with it. */
static bool skip(const char **at, const char *word)
{
    size_t len = strlen(word);
    if (strncmp(*at, word, len) != 0)
        return false;
    *at += len;
    return true;
}

bool ab_topic_parse(const char *prefix, const char *topic, ab_direction *direction, char agent[64],
                    bool *live)
{
    const char *at = topic;
    if (!is_legal_prefix(prefix) || strlen(topic) >= AB_TOPIC_NAME_MAX || !skip(&at, prefix))
        return false;
    bool down = skip(&at, ".down.");
    if (!down && !skip(&at, ".up."))
        return false;
    ab_str label = {at, strcspn(at, ".")};
    at += label.len;
    bool is_live = strcmp(at, ".live") == 0;
    if ((!is_live && strcmp(at, ".state") != 0) || !ab_str_is_dns_label(label))
        return false;
    *direction = down ? AB_DOWN : AB_UP;
    *live = is_live;
    memcpy(agent, label.ptr, label.len);
    agent[label.len] = '\0';
    return true;
}

static bool format_group(const char *prefix, const char *agent, const char *ending,
                         char out[AB_TOPIC_NAME_MAX])
{
    out[0] = '\0';
    if (!is_legal_prefix(prefix) || !ab_str_is_dns_label(ab_str_of(agent)))
        return false;
    return fits(snprintf(out, AB_TOPIC_NAME_MAX, "%s.agent.%s%s", prefix, agent, ending), out);
}

bool ab_group_agent(const char *prefix, const char *agent, char out[AB_TOPIC_NAME_MAX])
{
    return format_group(prefix, agent, "", out);
}

bool ab_group_agent_live(const char *prefix, const char *agent, char out[AB_TOPIC_NAME_MAX])
{
    return format_group(prefix, agent, ".live", out);
}

bool ab_group_principal(const char *prefix, char out[AB_TOPIC_NAME_MAX])
{
    out[0] = '\0';
    if (!is_legal_prefix(prefix))
        return false;
    return fits(snprintf(out, AB_TOPIC_NAME_MAX, "%s.principal", prefix), out);
}
