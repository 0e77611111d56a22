/* SPDX-License-Identifier: Apache-2.0
 *
 * A request as a line of words, which people type and old clients send. Words may be quoted: in
 * double quotes a backslash begins an escape (\n \r \t \b \a \xHH), in single ones it only
 * protects a single quote. Behind a closing quote there must be a blank.
 */
#include "live/redis/resp.h"

#include "base/core/hex.h"

#include <ctype.h>

static bool is_blank(char c)
{
    return c == '\0' || isspace((unsigned char)c) != 0;
}

static char escaped(char c)
{
    static const char names[] = "nrtba";
    static const char values[] = "\n\r\t\b\a";
    const char *at = c == '\0' ? NULL : strchr(names, c);
    return at == NULL ? c : values[at - names];
}

/* What a backslash within double quotes begins. @return bytes that it takes */
static size_t put_escape(ab_buf *word, ab_str text)
{
    if (text.len >= 4 && text.ptr[1] == 'x' && ab_hex_digit(text.ptr[2]) >= 0 &&
        ab_hex_digit(text.ptr[3]) >= 0) {
        ab_buf_putc(word, (char)(ab_hex_digit(text.ptr[2]) * 16 + ab_hex_digit(text.ptr[3])));
        return 4;
    }
    ab_buf_putc(word, escaped(text.ptr[1]));
    return 2;
}

/* From a quote to the one that closes it. @return bytes; 0: it is not closed, or a word goes on
 * behind it */
static size_t put_quoted(ab_buf *word, ab_str text)
{
    char quote = text.ptr[0];
    size_t at = 1;
    while (at < text.len && text.ptr[at] != quote) {
        ab_str rest = {text.ptr + at, text.len - at};
        if (quote == '"' && rest.ptr[0] == '\\' && rest.len > 1) {
            at += put_escape(word, rest);
        } else if (quote == '\'' && rest.len > 1 && rest.ptr[0] == '\\' && rest.ptr[1] == '\'') {
            ab_buf_putc(word, '\'');
            at += 2;
        } else {
            ab_buf_putc(word, rest.ptr[0]);
            at++;
        }
    }
    bool closed = at < text.len && (at + 1 == text.len || is_blank(text.ptr[at + 1]));
    return closed ? at + 1 : 0;
}

/* @return bytes of the word that begins the text; 0: quotes are not balanced */
static size_t put_word(ab_buf *word, ab_str text)
{
    size_t at = 0;
    while (at < text.len && !is_blank(text.ptr[at])) {
        if (text.ptr[at] != '"' && text.ptr[at] != '\'') {
            ab_buf_putc(word, text.ptr[at++]);
            continue;
        }
        size_t n = put_quoted(word, (ab_str){text.ptr + at, text.len - at});
        if (n == 0)
            return 0;
        at += n;
    }
    return at;
}

static ab_err put_words(ab_buf *bulks, ab_buf *word, ab_str line, size_t *count)
{
    size_t at = 0;
    while (at < line.len) {
        if (is_blank(line.ptr[at])) {
            at++;
            continue;
        }
        ab_buf_clear(word);
        size_t n = put_word(word, (ab_str){line.ptr + at, line.len - at});
        if (n == 0)
            return AB_ERR_PARSE;
        ab_resp_put_bulk(bulks, ab_buf_str(word));
        at += n;
        (*count)++;
    }
    return ab_buf_status(word);
}

ab_err ab_resp_put_inline(ab_buf *out, ab_str line)
{
    size_t count = 0;
    /* A word of one byte takes two of the line. */
    ab_buf bulks = ab_buf_up_to(8 * (size_t)AB_RESP_WHOLE_MAX);
    ab_buf word = ab_buf_up_to(AB_RESP_WHOLE_MAX);
    ab_err e = put_words(&bulks, &word, line, &count);
    if (e == AB_ERR_OK && count > 0) {
        ab_resp_put_head(out, '*', count);
        ab_buf_put(out, ab_buf_str(&bulks));
        e = ab_buf_status(&bulks) != AB_ERR_OK ? ab_buf_status(&bulks) : ab_buf_status(out);
    }
    ab_buf_fini(&bulks);
    ab_buf_fini(&word);
    return e;
}
