/* SPDX-License-Identifier: Apache-2.0
 *
 * RESP2 and RESP3, what redis speaks: where a request or a reply ends, whatever the pieces in which
 * its bytes come. Nothing is kept here, and no tree is built, since nearly all of it is passed on
 * as it came. What fits into AB_RESP_WHOLE_MAX bytes is handed out whole, so that it can be looked
 * at; what is longer is handed out in pieces as it comes, so that a value of tens of MB costs no
 * memory. A length that no client of Argo CD needs is refused when it is announced.
 *
 * hiredis is not used (decision 0035). Strings without an announced length ("$?") are refused:
 * redis does not send them.
 */
#pragma once

#include "base/core/buf.h"

#define AB_RESP_WHOLE_MAX      (64u * 1024)
#define AB_RESP_REQUEST_BULK   (256u * 1024 * 1024) /* bytes of one argument */
#define AB_RESP_REPLY_BULK     (512u * 1024 * 1024) /* what redis itself can hold */
#define AB_RESP_REQUEST_ARGS   (1024u * 1024)       /* redis has the same */
#define AB_RESP_REPLY_ELEMENTS (256u * 1024 * 1024)
#define AB_RESP_REPLY_DEPTH    32u

typedef enum {
    AB_RESP_COMMAND, /* an array of bulk strings */
    AB_RESP_INLINE,  /* a line of text: see ab_resp_put_inline */
    AB_RESP_EMPTY,   /* of no words: redis does not answer it */
} ab_resp_kind;

/* Some bytes of a request or a reply. */
typedef struct {
    ab_str bytes;      /* borrowed from what was scanned; empty: more is needed */
    bool begins;       /* with them it begins */
    bool ends;         /* and ends */
    ab_resp_kind kind; /* of a request */
} ab_resp_piece;

/* Zeroed: nothing was scanned. */
typedef struct {
    size_t at;          /* scanned since the last piece */
    uint64_t data_left; /* bytes of the argument that is being scanned */
    uint32_t args_left; /* that are not scanned to their end */
    bool in_data;       /* an argument, or its end of line, follows */
    bool is_split;      /* the beginning was handed out */
} ab_resp_requests;

typedef struct {
    size_t at;
    uint64_t data_left;
    bool in_data;
    bool is_split;
    uint8_t depth;
    uint32_t attributes;                /* bit n: level n holds attributes */
    uint32_t left[AB_RESP_REPLY_DEPTH]; /* elements that follow, by level */
} ab_resp_replies;

/**
 * Scan requests.
 *
 * @param bytes  all that came behind the last piece; what was given before and not handed out
 *               comes again, at the same place in the stream
 * @param out    the next piece
 * @param why    on failure: static text, as redis words it
 * @return PARSE, TOOBIG: nothing can be scanned afterwards
 */
AB_MUST_USE ab_err ab_resp_requests_next(ab_resp_requests *r, ab_str bytes, ab_resp_piece *out,
                                         const char **why);
/** The same for replies, with pushes among them. */
AB_MUST_USE ab_err ab_resp_replies_next(ab_resp_replies *r, ab_str bytes, ab_resp_piece *out,
                                        const char **why);

/**
 * Take one element from the front of bytes that were scanned.
 *
 * @param rest   what is left of them afterwards
 * @param type   its first byte
 * @param value  of an aggregate: how many elements it has, as text; absent for a null
 * @return false: there is not a whole one, and nothing is changed
 */
bool ab_resp_take(ab_str *rest, char *type, ab_str *value);
/** Take the line with the length of a bulk string, which may not have come as a whole.
 *  @return its length; -1: it is something else, and nothing is changed */
int64_t ab_resp_take_length(ab_str *rest);

/** Append a line of text as the array that it stands for, its quotes resolved as redis does it.
 *  @return PARSE: quotes are not balanced, `out` is to be dropped; NOMEM or TOOBIG, which `out` has
 *          too. OK with nothing appended: there are no words */
AB_MUST_USE ab_err ab_resp_put_inline(ab_buf *out, ab_str line);
/** Append the head of an aggregate, or of a bulk string: the type and a number. */
void ab_resp_put_head(ab_buf *out, char type, uint64_t count);
void ab_resp_put_bulk(ab_buf *out, ab_str value);
/** Append an array of bulk strings. */
void ab_resp_put_command(ab_buf *out, const ab_str *args, size_t count);
/** Append "-ERR argobus: text", in one line. @param text  what is not printable becomes a "?" */
void ab_resp_put_error(ab_buf *out, ab_str text);
