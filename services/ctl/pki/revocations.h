/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of a list of revoked certificates (base/crypto/revoked.h), changed so that all else in
 * it stays as its owner wrote it. Each fingerprint that is added here has a line before it that
 * says whose it is. Pure; any thread.
 */
#pragma once

#include "base/core/text_lines.h"
#include "base/crypto/certificate.h"
#include "base/json/document.h"

/* Upper-case hex digits and the NUL. */
#define AB_FINGERPRINT_TEXT (2 * AB_FINGERPRINT_BYTES + 1)

/* A certificate's subject, and what is noted of a revocation, each with the NUL. */
#define AB_REVOCATION_SUBJECT 512
#define AB_REVOCATION_NOTE    (AB_REVOCATION_SUBJECT + 64)

/* An entry. Borrowed from the text. */
typedef struct {
    uint8_t hash[AB_FINGERPRINT_BYTES];
    ab_str note; /* whose it is, as ab_revocations_add wrote; absent: another wrote it */
    ab_str all;  /* what it takes up, with its line ends */
} ab_revocation;

void ab_fingerprint_format(const uint8_t hash[AB_FINGERPRINT_BYTES], char out[AB_FINGERPRINT_TEXT]);

/** Append to an array what "revoked" shows of an entry: its `fingerprint`, and its `note` unless it
 * is absent. @return NOMEM */
AB_MUST_USE ab_err ab_revocations_put_row(const uint8_t hash[AB_FINGERPRINT_BYTES], ab_str note,
                                          cJSON *rows, ab_error *err);

/** The next entry of a text. `lines` begins as {text}. @return false: there is no further one */
bool ab_revocations_next(ab_text_lines *lines, ab_revocation *out);
/** Is the fingerprint in the text? */
bool ab_revocations_has(ab_str text, const uint8_t hash[AB_FINGERPRINT_BYTES]);
/** Whose certificate was revoked, and that it was now; one line. @param subject  "": not known */
void ab_revocations_note(const char *subject, char out[AB_REVOCATION_NOTE]);
/** Append an entry to a text. @param note  whose it is, a line */
void ab_revocations_add(ab_buf *text, const uint8_t hash[AB_FINGERPRINT_BYTES], const char *note);
/** Append the text without the entries of this fingerprint. @return how many there were */
size_t ab_revocations_drop(ab_str text, const uint8_t hash[AB_FINGERPRINT_BYTES], ab_buf *out);
