/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages out of bytes, cut in two ways, and inflated in larger and smaller steps: the same
 * messages come out, none above the limit, what is wrong is refused, and the budget is whole again.
 * The first byte says whether gzip was announced, and how to cut.
 */
#include "net/rpc/codec/message.h"

#include <assert.h>
#include <stdlib.h>

#define MESSAGE_MAX 65536u
#define BUDGET_MAX  200000u

typedef struct {
    size_t messages;
    size_t bytes;
    uint32_t sum;
    ab_err end;
    bool amid; /* the bytes end within a message */
} outcome;

static void add_message(outcome *o, ab_str message)
{
    assert(message.len <= MESSAGE_MAX);
    o->messages++;
    o->bytes += message.len;
    for (size_t i = 0; i < message.len; i++)
        o->sum = o->sum * 31 + (uint8_t)message.ptr[i];
}

static void feed(ab_rpc_reader *r, size_t allowed, ab_str piece, outcome *o)
{
    while (piece.len > 0 && o->end == AB_ERR_OK) {
        ab_str message;
        const char *why = NULL;
        *r->allowance = allowed;
        o->end = ab_rpc_reader_feed(r, &piece, &message, &why);
        assert(o->end == AB_ERR_OK || why != NULL);
        if (message.ptr == NULL)
            continue;
        assert(o->end == AB_ERR_OK);
        add_message(o, message);
        ab_rpc_reader_next(r);
    }
}

static outcome read_cut(ab_str bytes, bool gzip, size_t step)
{
    outcome o = {0};
    ab_rpc_budget budget = {.max = BUDGET_MAX};
    size_t allowance = 0;
    ab_rpc_reader r;
    ab_rpc_reader_init(&r, &budget, &allowance, MESSAGE_MAX);
    r.gzip = gzip;
    for (size_t at = 0; at < bytes.len && o.end == AB_ERR_OK; at += step) {
        size_t left = bytes.len - at;
        /* A copy of its own size, so that reading past it is seen. */
        size_t len = left < step ? left : step;
        char *piece = malloc(len);
        assert(piece != NULL);
        memcpy(piece, bytes.ptr + at, len);
        feed(&r, step * 64, (ab_str){piece, len}, &o);
        free(piece);
        assert(budget.used <= BUDGET_MAX);
    }
    o.amid = ab_rpc_reader_is_amid(&r);
    ab_rpc_reader_fini(&r);
    assert(budget.used == 0);
    return o;
}

/* For which of several faults in one message depends on how it is cut. */
static bool is_refused(const outcome *o)
{
    return o->end != AB_ERR_OK;
}

/* What was inflated past the allowance is looked at with the next byte, which does not come. */
static bool is_undecided(const outcome *o)
{
    return o->end == AB_ERR_OK && o->amid;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    ab_str bytes = {(const char *)data + 1, size - 1};
    bool gzip = (data[0] & 1) != 0;
    outcome whole = read_cut(bytes, gzip, size);
    outcome cut = read_cut(bytes, gzip, (size_t)(data[0] >> 1) + 1);
    assert(whole.messages == cut.messages && whole.bytes == cut.bytes && whole.sum == cut.sum);
    assert(is_refused(&whole) == is_refused(&cut) || is_undecided(&whole) || is_undecided(&cut));
    return 0;
}
