/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/fleet/view.h"

#include <time.h>

static cJSON *make_request(const char *what, const char *agent)
{
    cJSON *doc = cJSON_CreateObject();
    if (ab_doc_add_str(doc, "do", ab_str_of(what)) &&
        (agent == NULL || ab_doc_add_str(doc, "agent", ab_str_of(agent))))
        return doc;
    cJSON_Delete(doc);
    return NULL;
}

/* Of a document without its list it would be said that there is nothing. */
static int ask(const ab_ctl *ctl, cJSON *request, const char *list, cJSON **answer)
{
    cJSON *doc = NULL;
    int code = ab_ctl_ask(ctl, request, &doc);
    if (code == AB_CTL_OK && !cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(doc, list))) {
        cJSON_Delete(doc);
        return ab_ctl_fail(AB_CTL_FAILED, "the response has no \"%s\": is it a principal's?", list);
    }
    *answer = doc;
    return code;
}

int ab_ctl_ask_fleet(const ab_ctl *ctl, cJSON **answer)
{
    return ask(ctl, make_request("fleet", NULL), "agents", answer);
}

int ab_ctl_ask_agent(const ab_ctl *ctl, const char *agent, cJSON **answer)
{
    return ask(ctl, make_request("agent", agent), "objects", answer);
}

/* --- cells --- */

static const cJSON *pending_of(const cJSON *agent, const char *direction)
{
    const cJSON *pending = cJSON_GetObjectItemCaseSensitive(agent, "pending");
    return cJSON_GetObjectItemCaseSensitive(pending, direction);
}

static void put_count(const cJSON *agent, const char *direction, ab_buf *cell)
{
    int64_t count;
    if (ab_doc_i64(pending_of(agent, direction), "count", &count) == AB_ERR_OK)
        ab_buf_printf(cell, "%lld", (long long)count);
    else
        ab_buf_putc(cell, '?');
}

static void put_oldest(const cJSON *agent, const char *direction, ab_buf *cell)
{
    int64_t count;
    const cJSON *pending = pending_of(agent, direction);
    const cJSON *age = cJSON_GetObjectItemCaseSensitive(pending, "age_seconds");
    if (ab_doc_i64(pending, "count", &count) == AB_ERR_OK && count > 0 && cJSON_IsNumber(age))
        ab_ctl_put_age(age->valuedouble, cell);
}

void ab_ctl_put_down(const cJSON *agent, ab_buf *cell)
{
    put_count(agent, "down", cell);
}

void ab_ctl_put_down_age(const cJSON *agent, ab_buf *cell)
{
    put_oldest(agent, "down", cell);
}

void ab_ctl_put_up(const cJSON *agent, ab_buf *cell)
{
    put_count(agent, "up", cell);
}

void ab_ctl_put_up_age(const cJSON *agent, ab_buf *cell)
{
    put_oldest(agent, "up", cell);
}

void ab_ctl_put_connected(const cJSON *agent, ab_buf *cell)
{
    bool connected = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(agent, "connected"));
    bool heard = ab_doc_text(agent, "since").ptr != NULL;
    ab_buf_puts(cell, connected ? "yes" : heard ? "no" : "never");
}

void ab_ctl_put_held(const cJSON *agent, ab_buf *cell)
{
    int64_t count;
    const cJSON *held = cJSON_GetObjectItemCaseSensitive(agent, "held");
    if (ab_doc_i64(held, "count", &count) == AB_ERR_OK)
        ab_buf_printf(cell, "%lld", (long long)count);
}

void ab_ctl_put_since(const cJSON *agent, ab_buf *cell)
{
    struct tm at = {0};
    const char *since = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(agent, "since"));
    if (since != NULL && strptime(since, "%Y-%m-%dT%H:%M:%S", &at) != NULL)
        ab_ctl_put_age(difftime(time(NULL), timegm(&at)), cell);
}
