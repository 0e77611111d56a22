/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/head.h"

#include "base/core/hex.h"

#include <strings.h>

/* ---- characters ---- */

static bool is_token(ab_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] <= ' ' || s.ptr[i] > '~' || strchr("\"(),/:;<=>?@[\\]{}", s.ptr[i]) != NULL)
            return false;
    }
    return s.len > 0;
}

/* Bytes past ASCII are opaque (RFC 9110, 5.5). */
static bool is_value(ab_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

bool ab_http_field_is_good(ab_str name, ab_str value)
{
    return is_token(name) && is_value(value);
}

ab_str ab_http_trim(ab_str s)
{
    while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
        s = ab_str_skip(s, 1);
    while (s.len > 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
        s.len--;
    return s;
}

bool ab_http_is_same(ab_str a, const char *b)
{
    return a.ptr != NULL && a.len == strlen(b) && strncasecmp(a.ptr, b, a.len) == 0;
}

bool ab_http_list_has(ab_str list, const char *word)
{
    while (list.len > 0) {
        if (ab_http_is_same(ab_http_trim(ab_str_cut(&list, ',')), word))
            return true;
    }
    return false;
}

/* ---- paths ---- */

/* The byte at the front, decoded, which is skipped; -1: its encoding is wrong. */
static int next_byte(ab_str *s, bool *encoded)
{
    *encoded = s->ptr[0] == '%';
    if (!*encoded) {
        int c = (unsigned char)s->ptr[0];
        *s = ab_str_skip(*s, 1);
        return c;
    }
    int high = s->len < 3 ? -1 : ab_hex_digit(s->ptr[1]);
    int low = s->len < 3 ? -1 : ab_hex_digit(s->ptr[2]);
    if (high < 0 || low < 0)
        return -1;
    *s = ab_str_skip(*s, 3);
    return high * 16 + low;
}

static const char *byte_refusal(int c, bool encoded)
{
    if (c < 0)
        return "the path has a % without two hexadecimal digits";
    if (c == '\\' || c == '\0' || (encoded && c == '/'))
        return "the path has an encoded slash, a backslash or a NUL";
    if (!encoded && (c <= ' ' || c > '~' || strchr("\"<>^`{|}#?", c) != NULL))
        return "the path has a byte that must be encoded";
    return NULL;
}

static const char *segment_refusal(size_t len, size_t dots, bool last)
{
    if (len == 0 && !last)
        return "the path has an empty segment";
    return len > 0 && len == dots && len <= 2 ? "the path has a segment . or .." : NULL;
}

const char *ab_http_path_refusal(ab_str path)
{
    size_t len = 0;
    size_t dots = 0;
    const char *why = NULL;
    path = ab_str_after(path, "/");
    if (path.ptr == NULL)
        return "the path does not begin with a slash";
    while (path.len > 0 && why == NULL) {
        bool encoded;
        int c = next_byte(&path, &encoded);
        bool ends = c == '/' && !encoded;
        why = ends ? segment_refusal(len, dots, false) : byte_refusal(c, encoded);
        len = ends ? 0 : len + 1;
        dots = ends ? 0 : dots + (c == '.');
    }
    return why == NULL ? segment_refusal(len, dots, true) : why;
}

static bool is_query(ab_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] <= ' ' || s.ptr[i] > '~' || strchr("\"<>#", s.ptr[i]) != NULL)
            return false;
    }
    return true;
}

/* ---- heads ---- */

size_t ab_http_head_len(ab_str bytes, size_t seen)
{
    size_t from = seen < 3 ? 0 : seen - 3;
    const char *end =
        bytes.len <= from ? NULL : memmem(bytes.ptr + from, bytes.len - from, "\r\n\r\n", 4);
    return end == NULL ? 0 : (size_t)(end - bytes.ptr) + 4;
}

/* The next line, without its end; there is one. */
static ab_str next_line(ab_str *text)
{
    const char *end = memmem(text->ptr, text->len, "\r\n", 2);
    ab_str line = {text->ptr, (size_t)(end - text->ptr)};
    *text = (ab_str){end + 2, text->len - line.len - 2};
    return line;
}

static bool read_field(char *line, size_t len, ab_http_field *out)
{
    char *colon = memchr(line, ':', len);
    if (colon == NULL)
        return false;
    size_t name_len = (size_t)(colon - line);
    out->name = (ab_str){line, name_len};
    out->value = ab_http_trim((ab_str){colon + 1, len - name_len - 1});
    if (!ab_http_field_is_good(out->name, out->value))
        return false;
    for (size_t i = 0; i < name_len; i++)
        line[i] = (char)(line[i] >= 'A' && line[i] <= 'Z' ? line[i] - 'A' + 'a' : line[i]);
    return true;
}

/* @return 0, or the status of a refusal */
static int read_fields(char *bytes, ab_str text, ab_http_head *out, const char **why)
{
    const char *begin = bytes;
    while (text.len > 2) {
        ab_str line = next_line(&text);
        if (out->field_count == AB_HTTP_FIELDS_MAX) {
            *why = "there are too many header fields";
            return 431;
        }
        if (!read_field(bytes + (line.ptr - begin), line.len, &out->fields[out->field_count])) {
            *why = "a header field is invalid";
            return 400;
        }
        out->field_count++;
    }
    return 0;
}

ab_str ab_http_field_find(const ab_http_field *fields, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (ab_str_is(fields[i].name, name))
            return fields[i].value;
    }
    return AB_STR_NONE;
}

ab_str ab_http_head_find(const ab_http_head *head, const char *name)
{
    return ab_http_field_find(head->fields, head->field_count, name);
}

static size_t count_fields(const ab_http_head *head, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < head->field_count; i++)
        count += ab_str_is(head->fields[i].name, name);
    return count;
}

/* How long the body is. */
static int read_framing(ab_http_head *out, const char **why)
{
    uint64_t length = 0;
    size_t lengths = count_fields(out, "content-length");
    size_t codings = count_fields(out, "transfer-encoding");
    out->length_bytes = -1;
    *why = "the length of the body is not clear";
    if (lengths > 1 || codings > 1 || (lengths > 0 && codings > 0))
        return 400;
    if (lengths > 0) {
        ab_str text = ab_http_head_find(out, "content-length");
        if (ab_str_to_u64(text, &length) != AB_ERR_OK || length > INT64_MAX)
            return 400;
        out->length_bytes = (int64_t)length;
    }
    out->chunked = codings > 0;
    if (codings > 0 && !ab_http_is_same(ab_http_head_find(out, "transfer-encoding"), "chunked"))
        return 501;
    out->close = ab_http_list_has(ab_http_head_find(out, "connection"), "close");
    return 0;
}

static int read_request_line(ab_str line, ab_http_head *out, const char **why)
{
    const char *space = memchr(line.ptr, ' ', line.len);
    const char *last = memrchr(line.ptr, ' ', line.len);
    *why = "the request line is invalid";
    if (space == NULL || space == last)
        return 400;
    out->method = (ab_str){line.ptr, (size_t)(space - line.ptr)};
    out->path = (ab_str){space + 1, (size_t)(last - space - 1)};
    ab_str version = {last + 1, line.len - (size_t)(last + 1 - line.ptr)};
    out->query = out->path;
    out->path = ab_str_cut(&out->query, '?');
    if (!is_token(out->method) || !is_query(out->query) || !ab_str_starts(version, "HTTP/"))
        return 400;
    *why = "only HTTP/1.1 is supported";
    out->old = ab_str_is(version, "HTTP/1.0");
    return out->old || ab_str_is(version, "HTTP/1.1") ? 0 : 505;
}

/* What HTTP/1.0 does not have, and another program may read in its way. */
static int check_old(ab_http_head *head, const char **why)
{
    head->close = true;
    *why = "HTTP/1.0 has no transfer codings";
    return head->chunked ? 400 : 0;
}

int ab_http_head_read_request(char *bytes, size_t len, ab_http_head *out, const char **why)
{
    ab_str text = {bytes, len};
    out->field_count = 0;
    out->query = AB_STR_NONE;
    int status = read_request_line(next_line(&text), out, why);
    if (status == 0)
        status = read_fields(bytes + (text.ptr - bytes), text, out, why);
    if (status == 0)
        status = read_framing(out, why);
    if (status == 0 && out->old)
        status = check_old(out, why);
    if (status != 0)
        return status;
    size_t hosts = count_fields(out, "host");
    *why = "the request needs exactly one Host";
    if (hosts != 1 && !(out->old && hosts == 0))
        return 400;
    *why = ab_http_path_refusal(out->path);
    return *why == NULL ? 0 : 400;
}

const char *ab_http_head_read_answer(char *bytes, size_t len, ab_http_head *out)
{
    uint64_t status = 0;
    const char *why = NULL;
    ab_str text = {bytes, len};
    ab_str line = next_line(&text);
    out->field_count = 0;
    if (!ab_str_starts(line, "HTTP/1.1 ") || line.len < 12 ||
        ab_str_to_u64((ab_str){line.ptr + 9, 3}, &status) != AB_ERR_OK)
        return "the response is not HTTP/1.1";
    out->status = (int)status;
    if (read_fields(bytes + (text.ptr - bytes), text, out, &why) != 0 ||
        read_framing(out, &why) != 0)
        return why;
    return NULL;
}
