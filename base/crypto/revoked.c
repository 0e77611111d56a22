/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crypto/revoked.h"

#include "base/core/file.h"
#include "base/core/hex.h"
#include "base/core/text_lines.h"

#include <stdlib.h>
#include <string.h>

#define FILE_MAX_BYTES (8u * 1024 * 1024)

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, AB_FINGERPRINT_BYTES);
}

static bool is_comment(ab_str line)
{
    return line.len > 0 && line.ptr[0] == '#';
}

bool ab_fingerprint_parse(ab_str text, uint8_t out[AB_FINGERPRINT_BYTES])
{
    uint8_t hash[AB_FINGERPRINT_BYTES];
    const char *equals = memchr(text.ptr, '=', text.len);
    if (is_comment(text))
        return false;
    if (equals != NULL)
        text = (ab_str){equals + 1, (size_t)(text.ptr + text.len - equals - 1)};
    bool colons = text.len == 3 * AB_FINGERPRINT_BYTES - 1;
    size_t step = colons ? 3 : 2;
    if (!colons && text.len != 2 * AB_FINGERPRINT_BYTES)
        return false;
    for (size_t i = 0; i < AB_FINGERPRINT_BYTES; i++) {
        const char *at = text.ptr + i * step;
        int high = ab_hex_digit(at[0]);
        int low = ab_hex_digit(at[1]);
        if (high < 0 || low < 0 || (colons && i + 1 < AB_FINGERPRINT_BYTES && at[2] != ':'))
            return false;
        hash[i] = (uint8_t)(high << 4 | low);
    }
    memcpy(out, hash, sizeof(hash));
    return true;
}

static ab_err parse_lines(ab_str text, ab_revoked *r, ab_error *err)
{
    ab_text_lines lines = {.rest = text};
    ab_str line;
    while (ab_text_lines_next(&lines, &line)) {
        if (line.len == 0 || is_comment(line))
            continue;
        if (!ab_fingerprint_parse(line, r->hashes[r->count]))
            return ab_fail(err, AB_ERR_PARSE,
                           "line %zu: expected a SHA-256 fingerprint of 64 hex digits",
                           lines.number);
        r->count++;
    }
    return AB_ERR_OK;
}

ab_err ab_revoked_parse(ab_str text, ab_revoked *out, ab_error *err)
{
    ab_revoked r = {0};
    size_t most = text.len / ((size_t)2 * AB_FINGERPRINT_BYTES) + 1;
    r.hashes = calloc(most, sizeof(*r.hashes));
    if (r.hashes == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for %zu fingerprints", most);
    ab_err e = parse_lines(text, &r, err);
    if (e != AB_ERR_OK) {
        ab_revoked_fini(&r);
        return e;
    }
    qsort(r.hashes, r.count, sizeof(*r.hashes), compare);
    *out = r;
    return AB_ERR_OK;
}

ab_err ab_revoked_read(const char *path, ab_revoked *out, ab_error *err)
{
    ab_buf text = ab_buf_up_to(FILE_MAX_BYTES);
    ab_err e = ab_file_read(path, &text, NULL, err);
    if (e == AB_ERR_OK && (e = ab_revoked_parse(ab_buf_str(&text), out, err)) != AB_ERR_OK)
        ab_error_prefix(err, "%s", path);
    ab_buf_fini(&text);
    return e;
}

void ab_revoked_fini(ab_revoked *r)
{
    free(r->hashes);
    *r = (ab_revoked){0};
}

bool ab_revoked_same(const ab_revoked *a, const ab_revoked *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->hashes, b->hashes, a->count * sizeof(*a->hashes)) == 0);
}

bool ab_revoked_has(const ab_revoked *r, const uint8_t hash[AB_FINGERPRINT_BYTES])
{
    return r->count > 0 && bsearch(hash, r->hashes, r->count, sizeof(*r->hashes), compare) != NULL;
}

/* ----- the list of a file ----- */

ab_err ab_revoked_file_open(const char *path, ab_revoked_file *out, ab_error *err)
{
    ab_revoked_file f = {0};
    if (path == NULL) {
        *out = f;
        return AB_ERR_OK;
    }
    f.seen = ab_file_stamp_of(path);
    ab_err e = ab_revoked_read(path, &f.list, err);
    if (e != AB_ERR_OK)
        return e;
    f.path = strdup(path);
    if (f.path == NULL) {
        ab_revoked_fini(&f.list);
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    }
    *out = f;
    return AB_ERR_OK;
}

ab_err ab_revoked_file_renew(ab_revoked_file *f, bool *changed, ab_error *err)
{
    ab_revoked list;
    ab_file_stamp now = ab_file_stamp_of(f->path);
    *changed = false;
    if (ab_file_stamp_eq(&now, &f->seen))
        return AB_ERR_OK;
    f->seen = now;
    ab_err e = ab_revoked_read(f->path, &list, err);
    if (e != AB_ERR_OK)
        return e;
    ab_revoked_fini(&f->list);
    f->list = list;
    *changed = true;
    return AB_ERR_OK;
}

void ab_revoked_file_fini(ab_revoked_file *f)
{
    ab_revoked_fini(&f->list);
    free(f->path);
    *f = (ab_revoked_file){0};
}
