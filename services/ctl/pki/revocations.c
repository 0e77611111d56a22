/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/pki/revocations.h"

#include "base/core/clock.h"
#include "base/crypto/revoked.h"

#include <stdio.h>
#include <string.h>

#define NOTE "# argobusctl: "

void ab_fingerprint_format(const uint8_t hash[AB_FINGERPRINT_BYTES], char out[AB_FINGERPRINT_TEXT])
{
    for (size_t i = 0; i < AB_FINGERPRINT_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02X", hash[i]);
}

ab_err ab_revocations_put_row(const uint8_t hash[AB_FINGERPRINT_BYTES], ab_str note, cJSON *rows,
                              ab_error *err)
{
    char hex[AB_FINGERPRINT_TEXT];
    cJSON *row = cJSON_CreateObject();
    ab_fingerprint_format(hash, hex);
    if (row != NULL && cJSON_AddItemToArray(rows, row) &&
        ab_doc_add_str(row, "fingerprint", ab_str_of(hex)) &&
        (note.ptr == NULL || ab_doc_add_str(row, "note", note)))
        return AB_ERR_OK;
    return ab_fail(err, AB_ERR_NOMEM, "out of memory");
}

bool ab_revocations_next(ab_text_lines *lines, ab_revocation *out)
{
    ab_str line, note = AB_STR_NONE;
    const char *begin = NULL;
    for (;;) {
        const char *start = lines->rest.ptr;
        if (!ab_text_lines_next(lines, &line))
            return false;
        if (ab_fingerprint_parse(line, out->hash)) {
            out->note = note;
            out->all.ptr = note.ptr == NULL ? start : begin;
            out->all.len = (size_t)(lines->rest.ptr - out->all.ptr);
            return true;
        }
        begin = start;
        note = ab_str_after(line, NOTE);
    }
}

bool ab_revocations_has(ab_str text, const uint8_t hash[AB_FINGERPRINT_BYTES])
{
    ab_text_lines lines = {.rest = text};
    ab_revocation entry;
    while (ab_revocations_next(&lines, &entry))
        if (memcmp(entry.hash, hash, AB_FINGERPRINT_BYTES) == 0)
            return true;
    return false;
}

void ab_revocations_note(const char *subject, char out[AB_REVOCATION_NOTE])
{
    char time[AB_TIME_TEXT];
    ab_time_format_seconds(ab_clock_wall_us(&ab_clock_real), time);
    snprintf(out, AB_REVOCATION_NOTE, "%s, revoked %s", subject[0] == '\0' ? "unknown" : subject,
             time);
}

void ab_revocations_add(ab_buf *text, const uint8_t hash[AB_FINGERPRINT_BYTES], const char *note)
{
    char hex[AB_FINGERPRINT_TEXT];
    ab_fingerprint_format(hash, hex);
    if (text->len > 0 && text->ptr[text->len - 1] != '\n')
        ab_buf_putc(text, '\n');
    ab_buf_printf(text, NOTE "%s\n%s\n", note, hex);
}

size_t ab_revocations_drop(ab_str text, const uint8_t hash[AB_FINGERPRINT_BYTES], ab_buf *out)
{
    ab_text_lines lines = {.rest = text};
    ab_revocation entry;
    const char *kept = text.ptr;
    size_t count = 0;
    while (ab_revocations_next(&lines, &entry)) {
        if (memcmp(entry.hash, hash, AB_FINGERPRINT_BYTES) != 0)
            continue;
        ab_buf_put(out, (ab_str){kept, (size_t)(entry.all.ptr - kept)});
        kept = entry.all.ptr + entry.all.len;
        count++;
    }
    ab_buf_put(out, (ab_str){kept, text.len - (size_t)(kept - text.ptr)});
    return count;
}
