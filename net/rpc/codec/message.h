/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages and the bytes they travel in: a flag, the length in four bytes, and the message, which
 * is gzip where the flag says so.
 *
 * A reader takes bytes as they come. What a message announces is never allocated before it comes,
 * gzip is inflated while it comes and stops at the limit, and all that is kept counts against a
 * budget that the calls of a server or client share. A few bytes may inflate to very many: how many
 * it may be before others have their turn is an allowance, which whoever feeds renews.
 */
#pragma once

#include "base/core/buf.h"
#include "net/rpc/codec/budget.h"

#include <zlib.h>

#define AB_RPC_PREFIX 5

typedef struct {
    ab_rpc_budget *budget; /* borrowed */
    size_t *allowance;     /* bytes that may still be inflated now; borrowed */
    size_t max;            /* bytes of one message, inflated */
    bool gzip;             /* the peer has said that it may compress */
    uint8_t prefix[AB_RPC_PREFIX];
    size_t prefix_len;
    size_t left; /* bytes of the message that are still to come */
    char *body;
    size_t len;
    size_t room;        /* of `body`; counted in the budget */
    z_stream *inflater; /* counted in the budget */
    bool inflated;      /* gzip's end was seen */
} ab_rpc_reader;

void ab_rpc_reader_init(ab_rpc_reader *r, ab_rpc_budget *budget, size_t *allowance, size_t max);
void ab_rpc_reader_fini(ab_rpc_reader *r);
/**
 * Read on, up to the end of one message, or until the allowance is used up.
 *
 * @param in       what was read is taken off its front; something is left without a message when
 *                 there is no allowance for it
 * @param message  set when a message is whole, else absent; borrowed until ab_rpc_reader_next, and
 *                 no longer than the bytes that `in` borrows
 * @param why      on failure: static text for the peer
 * @return TOOBIG: past the limit; FULL: past the budget; PARSE: broken gzip or prefix;
 *         UNSUPPORTED: compressed, which was not announced; NOMEM. It is of no use afterwards
 */
AB_MUST_USE ab_err ab_rpc_reader_feed(ab_rpc_reader *r, ab_str *in, ab_str *message,
                                      const char **why);
/** Release the message that feed gave out. */
void ab_rpc_reader_next(ab_rpc_reader *r);
/** The bytes so far end within a message. */
bool ab_rpc_reader_is_amid(const ab_rpc_reader *r);

/** Write the prefix of a message of `len` bytes. */
void ab_rpc_prefix_put(uint8_t out[AB_RPC_PREFIX], bool compressed, size_t len);

/** Compress by gzip what two parts are together. The state is large, and therefore one that all
 *  calls share.
 *  @param z     NULL at first: it is made then
 *  @param room  bytes that `out` has
 *  @return how many bytes it came to; 0: they do not fit, or there is no memory */
size_t ab_rpc_compress(z_stream **z, const ab_str parts[2], uint8_t *out, size_t room);
void ab_rpc_compress_free(z_stream *z);
