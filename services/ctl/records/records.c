/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/records/records.h"

#include "schema/attributes.h"
#include "schema/topics.h"
#include "services/ctl/output.h"
#include "services/ctl/pki/options.h"
#include "services/ctl/records/describe.h"
#include "services/ctl/records/log.h"

#include <stdio.h>
#include <string.h>

#define LAST     20
#define LAST_MAX 10000

/* --- cells --- */

static void put_number(const cJSON *record, const char *member, ab_buf *cell)
{
    int64_t number;
    if (ab_doc_i64(record, member, &number) == AB_ERR_OK)
        ab_buf_printf(cell, "%lld", (long long)number);
}

static void put_offset(const cJSON *record, ab_buf *cell)
{
    put_number(record, "offset", cell);
}

/* The last word of the type says it, the rest is the same for all. */
static void put_type(const cJSON *record, ab_buf *cell)
{
    ab_str type = ab_doc_text(cJSON_GetObjectItemCaseSensitive(record, "attributes"), AB_CE_TYPE);
    const char *dot = type.ptr == NULL ? NULL : strrchr(type.ptr, '.');
    ab_ctl_put_member(record, "error", cell);
    if (type.ptr != NULL)
        ab_buf_puts(cell, dot == NULL ? type.ptr : dot + 1);
}

static void put_bytes(const cJSON *record, ab_buf *cell)
{
    put_number(record, "bytes", cell);
}

static const ab_ctl_column columns[] = {{"WAY", "direction", NULL}, {"OFFSET", NULL, put_offset},
                                        {"TIME", "time", NULL},     {"TYPE", NULL, put_type},
                                        {"KEY", "key", NULL},       {"BYTES", NULL, put_bytes}};
static const ab_ctl_table table = {columns, sizeof(columns) / sizeof(*columns),
                                   "the topics have no records"};

/* --- reading --- */

typedef struct {
    cJSON *records;
    const char *direction;
    bool complete; /* no memory ran out */
} collecting;

static bool on_record(void *arg, const rd_kafka_message_t *m)
{
    collecting *c = arg;
    cJSON *record = ab_record_describe(c->direction, m);
    c->complete = record != NULL && cJSON_AddItemToArray(c->records, record);
    if (!c->complete)
        cJSON_Delete(record);
    return c->complete;
}

static int read_topics(ab_check_client *client, const char *agent, int64_t last, cJSON *records)
{
    static const struct {
        const char *name;
        ab_direction direction;
    } ways[] = {{"down", AB_DOWN}, {"up", AB_UP}};
    char topic[AB_TOPIC_NAME_MAX];
    ab_error err = {0};
    ab_err e = AB_ERR_OK;
    collecting c = {.records = records, .complete = true};
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways) && e == AB_ERR_OK && c.complete; i++) {
        c.direction = ways[i].name;
        if (!ab_topic_format(client->settings.prefix, ways[i].direction, agent, false, topic))
            return ab_ctl_fail(AB_CTL_USAGE, "\"%s\" is not a name of an agent", agent);
        e = ab_log_read(client, topic, last, on_record, &c, &err);
    }
    if (e != AB_ERR_OK)
        return ab_ctl_fail(e == AB_ERR_NOTFOUND ? AB_CTL_NOT_FOUND : AB_CTL_UNREACHABLE, "%s",
                           err.text);
    return c.complete ? AB_CTL_OK : ab_ctl_fail(AB_CTL_FAILED, "out of memory");
}

static int show(const ab_ctl *ctl, const ab_setup *setup, const char *agent, int64_t last)
{
    ab_check_client client;
    ab_error err = {0};
    cJSON *doc = cJSON_CreateObject();
    cJSON *records = cJSON_AddArrayToObject(doc, "records");
    int code = AB_CTL_OK;
    if (ab_check_client_open(setup, AB_KAFKA_READER, &client, &err) != AB_ERR_OK)
        code = ab_ctl_fail(AB_CTL_USAGE, "%s", err.text);
    else if (records == NULL)
        code = ab_ctl_fail(AB_CTL_FAILED, "out of memory");
    if (code == AB_CTL_OK)
        code = read_topics(&client, agent, last, records);
    if (code == AB_CTL_OK)
        code = ab_ctl_show(ctl, doc, records, &table);
    ab_check_client_fini(&client);
    cJSON_Delete(doc);
    return code;
}

static int read_last(const ab_ctl *ctl, int64_t *out)
{
    uint64_t value = LAST;
    const char *given = ab_ctl_value(ctl, "last");
    if (given != NULL &&
        (ab_str_to_u64(ab_str_of(given), &value) != AB_ERR_OK || value == 0 || value > LAST_MAX))
        return ab_ctl_fail(AB_CTL_USAGE, "--last: \"%s\" is not a number from 1 to %d", given,
                           LAST_MAX);
    *out = (int64_t)value;
    return AB_CTL_OK;
}

static int run(const ab_ctl *ctl)
{
    ab_error err = {0};
    ab_setup setup;
    int64_t last = LAST;
    int code = read_last(ctl, &last);
    if (code != AB_CTL_OK)
        return code;
    ab_err e = ab_setup_read(ctl, ctl->operands[0], &setup, &err);
    if (e != AB_ERR_OK)
        return ab_pki_end(e, &err);
    const char *agent = setup.is_agent ? setup.agent : ctl->operands[1];
    if (!setup.is_kafka)
        code =
            ab_ctl_fail(AB_CTL_USAGE, "%s: there are no topics with transport: grpc", setup.file);
    else if (setup.is_agent && ctl->operand_count > 1)
        code = ab_ctl_fail(AB_CTL_USAGE,
                           "records agent: unexpected operand \"%s\"; its topics are "
                           "those of agent.name",
                           ctl->operands[1]);
    else if (agent == NULL)
        code = ab_ctl_fail(AB_CTL_USAGE, "records principal: needs the name of an agent");
    else
        code = show(ctl, &setup, agent, last);
    ab_setup_fini(&setup);
    return code;
}

static const ab_ctl_flag flags[] = {
    {"config", "FILE", "configuration of the program; also -c"},
    {"last", "COUNT", "how many offsets back from the end of each topic; 20"},
};

const ab_ctl_command ab_ctl_records = {
    .name = "records",
    .operands = "agent | principal AGENT",
    .operands_min = 1,
    .operands_max = 2,
    .summary = "Show the newest records of an agent's topics, without secrets",
    .examples = "  argobusctl records principal w1 -c principal.yaml\n"
                "  argobusctl records agent -c agent.yaml --last 1 -o yaml\n",
    .flags = flags,
    .flag_count = sizeof(flags) / sizeof(*flags),
    .shows = true,
    .run = run,
};
