/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of revoked certificates: a SHA-256 fingerprint of 64 hex digits a line, in any case,
 * with or without colons, or just as `openssl x509 -noout -fingerprint -sha256` prints it. Comments
 * begin with #.
 */
#pragma once

#include "base/core/buf.h"
#include "base/core/file_stamp.h"
#include "base/crypto/certificate.h"

typedef struct {
    uint8_t (*hashes)[AB_FINGERPRINT_BYTES]; /* sorted */
    size_t count;
} ab_revoked;

/** A fingerprint in any form that the list may have it in. @param out  untouched on failure
 *  @return false: it is none */
bool ab_fingerprint_parse(ab_str text, uint8_t out[AB_FINGERPRINT_BYTES]);
/** Read a list. @param out  owned by the caller; untouched on failure
 *  @return PARSE with the line; NOMEM */
AB_MUST_USE ab_err ab_revoked_parse(ab_str text, ab_revoked *out, ab_error *err);
/** Read the list that a file holds, of 8 MiB at most. @param out  owned by the caller; untouched on
 *  failure. @return PARSE with path and line; those of ab_file_read */
AB_MUST_USE ab_err ab_revoked_read(const char *path, ab_revoked *out, ab_error *err);
void ab_revoked_fini(ab_revoked *r);
/** Do both have the same fingerprints, each as often? */
bool ab_revoked_same(const ab_revoked *a, const ab_revoked *b);
bool ab_revoked_has(const ab_revoked *r, const uint8_t hash[AB_FINGERPRINT_BYTES]);

/* The list of a file that may change. Zero-initialised: no file, none is revoked. */
typedef struct {
    char *path; /* NULL: none */
    ab_file_stamp seen;
    ab_revoked list;
} ab_revoked_file;

/** Read the list for the first time. @param path  copied; NULL: there is no file
 *  @param out  untouched on failure; ab_revoked_file_fini
 *  @return as ab_revoked_read */
AB_MUST_USE ab_err ab_revoked_file_open(const char *path, ab_revoked_file *out, ab_error *err);
/** Read it again if the file is another one than before. What cannot be read is not tried again
 * until the file changes once more; the list stays as it was.
 *  @param changed  whether it was read @return as ab_revoked_read */
AB_MUST_USE ab_err ab_revoked_file_renew(ab_revoked_file *f, bool *changed, ab_error *err);
void ab_revoked_file_fini(ab_revoked_file *f);

/* Whom to ask whether a certificate is revoked. Zero-initialised: none is. */
typedef struct {
    bool (*has)(void *arg, const uint8_t fingerprint[AB_FINGERPRINT_BYTES]);
    void *arg;
} ab_revoked_ask;
