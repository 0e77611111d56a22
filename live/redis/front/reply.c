/* SPDX-License-Identifier: Apache-2.0
 *
 * To which command a reply belongs. Two kinds of data come besides replies: what is published, and
 * in RESP3 each confirmation of a subscription, which is a push and no reply. In RESP2 both are
 * arrays, and known by their first word; other arrays cannot come to a client that has subscribed.
 */
#include "live/redis/front/front_priv.h"

static void pass(ab_redis_conn *c, const ab_resp_piece *piece)
{
    ab_redis_wire_put(c->client, piece->bytes);
    c->in_reply = !piece->ends;
}

/* ---- what is published, and confirmations ---- */

typedef struct {
    ab_str word; /* "message", "subscribe" and so on */
    ab_str name; /* channel or pattern; absent: UNSUBSCRIBE of none */
    int64_t count;
} notice;

static const char *const messages[] = {"message", "pmessage", "smessage", NULL};
static const char *const confirmations[] = {
    "subscribe", "psubscribe", "ssubscribe", "unsubscribe", "punsubscribe", "sunsubscribe", NULL};

static notice read_notice(ab_str bytes)
{
    notice n = {.count = -1};
    char type;
    ab_str value;
    uint64_t count = 0;
    if (!ab_resp_take(&bytes, &type, &value) || !ab_resp_take(&bytes, &type, &n.word) ||
        !ab_resp_take(&bytes, &type, &n.name) || !ab_resp_take(&bytes, &type, &value))
        return n;
    if (type == ':' && ab_str_to_u64(value, &count) == AB_ERR_OK)
        n.count = (int64_t)count;
    return n;
}

/* Redis counts channels and patterns together, and sharded channels apart. */
static void count_subscriptions(ab_redis_conn *c, const notice *n)
{
    if (ab_str_starts(n->word, "s") && !ab_str_is(n->word, "subscribe"))
        c->shards = n->count;
    else if (ab_str_starts(n->word, "p"))
        c->patterns = n->count - c->channels;
    else
        c->channels = n->count - c->patterns;
}

/* UNSUBSCRIBE of all is confirmed once for each, and at least once. When its first confirmation
 * comes, all that preceded it has been counted. */
static void resolve_all(const ab_redis_conn *c, ab_redis_expect *e)
{
    int64_t n = e->kind == AB_REDIS_CONFIRM_CHANNELS   ? c->channels
                : e->kind == AB_REDIS_CONFIRM_PATTERNS ? c->patterns
                                                       : c->shards;
    e->kind = AB_REDIS_CONFIRM;
    e->count = n > 1 ? (uint32_t)n : 1;
}

static bool is_confirm(const ab_redis_expect *e)
{
    return e != NULL &&
           (e->kind == AB_REDIS_CONFIRM || e->kind == AB_REDIS_CONFIRM_CHANNELS ||
            e->kind == AB_REDIS_CONFIRM_PATTERNS || e->kind == AB_REDIS_CONFIRM_SHARDS);
}

static void on_confirmation(ab_redis_conn *c, const notice *n)
{
    ab_redis_expect *e = ab_redis_front_expect_first(c);
    c->admitted = true;
    if (is_confirm(e)) {
        if (e->kind != AB_REDIS_CONFIRM)
            resolve_all(c, e);
        ab_redis_front_expect_done(c);
    }
    if (n->count < 0) { /* messages could not be told from replies any more */
        AB_DEBUG(c->front->o.log, LIVE, "a confirmation of redis is too long");
        c->ops->end(c);
        return;
    }
    count_subscriptions(c, n);
    if (ab_str_is(n->word, "subscribe"))
        ab_redis_front_sub_begin(c, n->name);
    else if (ab_str_is(n->word, "unsubscribe") && n->name.ptr != NULL)
        ab_redis_front_sub_end(c, n->name);
}

/* Is it something else than a reply? Then it was dealt with. */
static bool is_notice(ab_redis_conn *c, const ab_resp_piece *piece)
{
    bool is_subscriber =
        is_confirm(ab_redis_front_expect_first(c)) || c->channels + c->patterns + c->shards > 0;
    char type = piece->bytes.ptr[0];
    if (type != '>' && (c->is_resp3 || type != '*' || !is_subscriber))
        return false;
    notice n = read_notice(piece->bytes);
    if (n.word.ptr != NULL && ab_str_is_one_of(n.word, confirmations))
        on_confirmation(c, &n);
    else if (type != '>' && (n.word.ptr == NULL || !ab_str_is_one_of(n.word, messages)))
        return false;
    return true;
}

/* ---- replies ---- */

static void on_reset(ab_redis_conn *c)
{
    c->is_resp3 = false;
    c->channels = 0;
    c->patterns = 0;
    c->shards = 0;
    ab_redis_front_sub_end_all(c);
}

static void on_refused(ab_redis_conn *c, const ab_redis_expect *e)
{
    ab_buf *out = ab_redis_wire_out(c->client);
    if (e->kind == AB_REDIS_GARBAGE)
        ab_buf_printf(out, "-ERR Protocol error: %s\r\n", e->text);
    else
        ab_resp_put_error(out, ab_str_of(e->text));
}

/* Is the client given something else? Only what GET can say, a value or none, lets it have what an
 * agent says. */
static bool is_replaced(const ab_redis_expect *e, char type)
{
    return e->kind == AB_REDIS_REFUSED || e->kind == AB_REDIS_GARBAGE ||
           (e->kind == AB_REDIS_GET && (type == '$' || type == '_'));
}

/* The reply to the first expected command begins. @return it was passed on */
static bool on_reply(ab_redis_conn *c, ab_redis_expect *e, const ab_resp_piece *piece)
{
    char type = piece->bytes.ptr[0];
    bool is_error = type == '-' || type == '!';
    bool replaced = is_replaced(e, type);
    if (!is_error) /* RESET is everybody's, and takes the login away */
        c->admitted = e->kind != AB_REDIS_RESET;
    if (e->kind == AB_REDIS_HELLO && !is_error)
        c->is_resp3 = type == '%';
    if (e->kind == AB_REDIS_RESET && !is_error)
        on_reset(c);
    if (e->kind == AB_REDIS_MULTI && is_error && e->transaction == c->transaction)
        c->multis--;
    if (is_confirm(e)) { /* one error for the whole command */
        e->kind = AB_REDIS_CONFIRM;
        e->count = 1;
    }
    if (e->kind == AB_REDIS_REFUSED || e->kind == AB_REDIS_GARBAGE)
        on_refused(c, e);
    if (!replaced)
        pass(c, piece);
    c->is_discarding = replaced && !piece->ends;
    return !replaced;
}

/* The reply to the first expected command has come as a whole. */
static void on_reply_end(ab_redis_conn *c, const ab_redis_expect *e, bool was_passed)
{
    bool ends = e->kind == AB_REDIS_GARBAGE;
    if (e->kind == AB_REDIS_GET && !was_passed)
        ab_redis_front_get_begin(c);
    else
        ab_redis_front_expect_done(c);
    if (ends)
        c->ops->end(c);
}

static void go_on(ab_redis_conn *c, const ab_resp_piece *piece)
{
    bool was_passed = !c->is_discarding;
    if (was_passed)
        pass(c, piece);
    ab_redis_expect *e = ab_redis_front_expect_first(c);
    if (!piece->ends)
        return;
    c->is_discarding = false;
    if (c->is_notice)
        c->is_notice = false;
    else if (e != NULL)
        on_reply_end(c, e, was_passed);
}

void ab_redis_front_reply(ab_redis_conn *c, const ab_resp_piece *piece)
{
    if (!piece->begins) {
        go_on(c, piece);
        return;
    }
    if (is_notice(c, piece)) {
        pass(c, piece);
        c->is_notice = !piece->ends;
        return;
    }
    ab_redis_expect *e = ab_redis_front_expect_first(c);
    if (e == NULL) { /* such as the error before redis closes a connection */
        pass(c, piece);
        c->is_notice = !piece->ends;
        return;
    }
    bool was_passed = on_reply(c, e, piece);
    if (piece->ends)
        on_reply_end(c, e, was_passed);
}
