/* SPDX-License-Identifier: Apache-2.0
 *
 * What a command means for the order of replies. A command that is refused here is not sent: in its
 * place goes one that redis refuses too (GET without a key), so that the error has its place among
 * the replies, and a transaction that it stands in is given up.
 */
#include "live/redis/front/front_priv.h"

#include <ctype.h>
#include <stdlib.h>

#define NAME_MAX_LEN 16

static const char in_multi[] = "keys of agents cannot be read in a transaction";
static const char no_pattern[] = "channels of Applications can only be subscribed to by name";
static const char no_command[] = "the command is not possible through this proxy";

static ab_redis_expect *expect(ab_redis_conn *c, ab_redis_expect_kind kind, ab_str key)
{
    ab_redis_expect *e = calloc(1, sizeof(*e) + key.len);
    if (e == NULL) {
        c->ops->close(c);
        return NULL;
    }
    ab_link_init(&e->link);
    e->kind = kind;
    e->count = 1;
    e->key_len = key.len;
    if (key.len > 0)
        memcpy(e->key, key.ptr, key.len);
    ab_list_append(&c->expected, &e->link);
    c->expected_count++;
    return e;
}

/* Many commands in a row whose replies are passed on need one note. */
static void expect_pass(ab_redis_conn *c)
{
    if (ab_link_is_in_use(&c->expected)) {
        ab_redis_expect *last = AB_LINK_OF(c->expected.prev, ab_redis_expect, link);
        if (last->kind == AB_REDIS_PASS) {
            last->count++;
            c->expected_count++;
            return;
        }
    }
    (void)expect(c, AB_REDIS_PASS, AB_STR_NONE);
}

static void refuse(ab_redis_conn *c, ab_redis_expect_kind kind, const char *text)
{
    ab_redis_expect *e = expect(c, kind, AB_STR_NONE);
    if (e == NULL)
        return;
    e->text = text;
    ab_redis_wire_put(c->server, AB_STR("*1\r\n$3\r\nGET\r\n"));
}

void ab_redis_front_command_refuse(ab_redis_conn *c, const char *why)
{
    c->in_garbage = true;
    refuse(c, AB_REDIS_GARBAGE, why);
}

/* ---- the commands that matter; each passes on or refuses ---- */

typedef struct {
    ab_str bytes;   /* the whole command */
    ab_str args;    /* behind its name */
    uint32_t count; /* of them */
} command;

static void pass(ab_redis_conn *c, const command *m)
{
    ab_redis_wire_put(c->server, m->bytes);
}

static void end_transaction(ab_redis_conn *c)
{
    c->multis = 0;
    c->transaction++;
}

static void on_get(ab_redis_conn *c, const command *m)
{
    ab_str rest = m->args;
    ab_str key = AB_STR_NONE;
    char type;
    bool is_agents = m->count == 1 && ab_resp_take(&rest, &type, &key) &&
                     ab_redis_route_find(&c->front->o.agents, key).ptr != NULL;
    if (is_agents && c->multis > 0) {
        refuse(c, AB_REDIS_REFUSED, in_multi);
        return;
    }
    if (is_agents)
        (void)expect(c, AB_REDIS_GET, key);
    else
        expect_pass(c);
    pass(c, m);
}

static void expect_confirm(ab_redis_conn *c, const command *m, ab_redis_expect_kind all)
{
    ab_redis_expect *e = expect(c, m->count == 0 ? all : AB_REDIS_CONFIRM, AB_STR_NONE);
    if (e != NULL && m->count > 0)
        e->count = m->count;
    pass(c, m);
}

/* In a transaction these are queued like any other command, and confirmed by EXEC. */
static void on_subscribe(ab_redis_conn *c, const command *m)
{
    if (c->multis > 0)
        refuse(c, AB_REDIS_REFUSED, no_command);
    else
        expect_confirm(c, m, AB_REDIS_PASS); /* of nothing: one error */
}

/* An agent is asked for one channel at a time: a pattern of such channels would stay silent. */
static void on_psubscribe(ab_redis_conn *c, const command *m)
{
    ab_str rest = m->args;
    ab_str pattern;
    char type;
    for (uint32_t i = 0; i < m->count && ab_resp_take(&rest, &type, &pattern); i++) {
        if (ab_redis_route_is_pattern(pattern)) {
            refuse(c, AB_REDIS_REFUSED, no_pattern);
            return;
        }
    }
    on_subscribe(c, m);
}

static void on_unsubscribe(ab_redis_conn *c, const command *m)
{
    if (c->multis > 0)
        refuse(c, AB_REDIS_REFUSED, no_command);
    else
        expect_confirm(c, m, AB_REDIS_CONFIRM_CHANNELS);
}

static void on_punsubscribe(ab_redis_conn *c, const command *m)
{
    if (c->multis > 0)
        refuse(c, AB_REDIS_REFUSED, no_command);
    else
        expect_confirm(c, m, AB_REDIS_CONFIRM_PATTERNS);
}

static void on_sunsubscribe(ab_redis_conn *c, const command *m)
{
    if (c->multis > 0)
        refuse(c, AB_REDIS_REFUSED, no_command);
    else
        expect_confirm(c, m, AB_REDIS_CONFIRM_SHARDS);
}

/* In a transaction its reply, which has the protocol, would be within that of EXEC. */
static void on_hello(ab_redis_conn *c, const command *m)
{
    if (c->multis > 0) {
        refuse(c, AB_REDIS_REFUSED, no_command);
        return;
    }
    (void)expect(c, AB_REDIS_HELLO, AB_STR_NONE);
    pass(c, m);
}

static void on_reset(ab_redis_conn *c, const command *m)
{
    end_transaction(c);
    (void)expect(c, AB_REDIS_RESET, AB_STR_NONE);
    pass(c, m);
}

static void on_multi(ab_redis_conn *c, const command *m)
{
    ab_redis_expect *e = expect(c, AB_REDIS_MULTI, AB_STR_NONE);
    if (e != NULL)
        e->transaction = c->transaction;
    c->multis++;
    pass(c, m);
}

static void on_exec(ab_redis_conn *c, const command *m)
{
    end_transaction(c);
    expect_pass(c);
    pass(c, m);
}

static void on_impossible(ab_redis_conn *c, const command *m)
{
    (void)m;
    refuse(c, AB_REDIS_REFUSED, no_command);
}

static void to_upper(ab_str word, char out[NAME_MAX_LEN + 1])
{
    size_t len = word.len <= NAME_MAX_LEN ? word.len : 0;
    for (size_t i = 0; i < len; i++)
        out[i] = (char)toupper((unsigned char)word.ptr[i]);
    out[len] = '\0';
}

/* Unless its first word is `refused`. */
static void pass_others(ab_redis_conn *c, const command *m, const char *refused)
{
    char word[NAME_MAX_LEN + 1];
    ab_str rest = m->args;
    ab_str what;
    char type;
    if (ab_resp_take(&rest, &type, &what)) {
        to_upper(what, word);
        if (strcmp(word, refused) == 0) {
            on_impossible(c, m);
            return;
        }
    }
    expect_pass(c);
    pass(c, m);
}

static void on_client(ab_redis_conn *c, const command *m)
{
    pass_others(c, m, "REPLY");
}

/* A script that is debugged says more than one reply, and takes the next commands for its own. */
static void on_script(ab_redis_conn *c, const command *m)
{
    pass_others(c, m, "DEBUG");
}

static const struct {
    const char *name;
    void (*handle)(ab_redis_conn *c, const command *m);
} commands[] = {
    {"GET", on_get},
    {"SUBSCRIBE", on_subscribe},
    {"PSUBSCRIBE", on_psubscribe},
    {"SSUBSCRIBE", on_subscribe},
    {"UNSUBSCRIBE", on_unsubscribe},
    {"PUNSUBSCRIBE", on_punsubscribe},
    {"SUNSUBSCRIBE", on_sunsubscribe},
    {"HELLO", on_hello},
    {"RESET", on_reset},
    {"MULTI", on_multi},
    {"EXEC", on_exec},
    {"DISCARD", on_exec},
    {"CLIENT", on_client},
    {"SCRIPT", on_script},
    {"MONITOR", on_impossible},
    {"SYNC", on_impossible},
    {"PSYNC", on_impossible},
    {"REPLCONF", on_impossible}, /* some of it has no reply */
};

/* @return NULL: it does not matter here */
static void (*handler_of(ab_str name))(ab_redis_conn *c, const command *m)
{
    char upper[NAME_MAX_LEN + 1];
    to_upper(name, upper);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(upper, commands[i].name) == 0)
            return commands[i].handle;
    }
    return NULL;
}

/* The beginning of a command, or all of it. */
static void begin_command(ab_redis_conn *c, ab_str bytes, bool is_whole)
{
    command m = {.bytes = bytes, .args = bytes};
    char type;
    ab_str head;
    ab_str name;
    uint64_t count = 0;
    if (!ab_resp_take(&m.args, &type, &head) || ab_str_to_u64(head, &count) != AB_ERR_OK ||
        !ab_resp_take(&m.args, &type, &name)) {
        expect_pass(c);
        pass(c, &m);
        return;
    }
    m.count = (uint32_t)count - 1;
    void (*handler)(ab_redis_conn *, const command *) = handler_of(name);
    if (handler == NULL) {
        expect_pass(c);
        pass(c, &m);
    } else if (is_whole) {
        handler(c, &m);
    } else {
        ab_redis_front_command_refuse(c, "too long a request for this command");
    }
}

static void inline_command(ab_redis_conn *c, ab_str line)
{
    ab_buf array = ab_buf_up_to(16 * (size_t)AB_RESP_WHOLE_MAX);
    ab_err e = ab_resp_put_inline(&array, line);
    if (e == AB_ERR_PARSE)
        ab_redis_front_command_refuse(c, "unbalanced quotes in request");
    else if (e != AB_ERR_OK)
        c->ops->close(c);
    else if (array.len > 0)
        begin_command(c, ab_buf_str(&array), true);
    ab_buf_fini(&array);
}

void ab_redis_front_command(ab_redis_conn *c, const ab_resp_piece *piece)
{
    if (piece->kind == AB_RESP_EMPTY)
        return;
    if (piece->kind == AB_RESP_INLINE)
        inline_command(c, piece->bytes);
    else if (piece->begins)
        begin_command(c, piece->bytes, piece->ends);
    else
        ab_redis_wire_put(c->server, piece->bytes);
}
